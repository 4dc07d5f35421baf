//! Who is asked at each point.

use pumice_conf::Enabled;

use super::Member;
use crate::plugin::Plugin;

/// Plugins that have a point and have it switched on: tier and position, in the order they are asked.
pub(super) type PluginsOfPoint = Vec<(usize, usize)>;

/// Who is asked, by point.
#[derive(Clone, Default)]
pub(super) struct Points {
    pub(super) job_order: PluginsOfPoint,
    pub(super) queue_order: PluginsOfPoint,
    pub(super) task_order: PluginsOfPoint,
    pub(super) sub_job_order: PluginsOfPoint,
    pub(super) domain_score: PluginsOfPoint,
    pub(super) nodes_rest: PluginsOfPoint,
    pub(super) network_settings: PluginsOfPoint,
    pub(super) job_ready: PluginsOfPoint,
    pub(super) sub_job_ready: PluginsOfPoint,
    pub(super) job_pipelined: PluginsOfPoint,
    pub(super) sub_job_pipelined: PluginsOfPoint,
    pub(super) job_valid: PluginsOfPoint,
    pub(super) job_starving: PluginsOfPoint,
    pub(super) admission: PluginsOfPoint,
    pub(super) overused: PluginsOfPoint,
    pub(super) allocatable: PluginsOfPoint,
    pub(super) signatures: PluginsOfPoint,
    pub(super) node_filters: PluginsOfPoint,
    pub(super) node_scores: PluginsOfPoint,
    pub(super) domain_filters: PluginsOfPoint,
    pub(super) candidate_scores: PluginsOfPoint,
    pub(super) ledgers: PluginsOfPoint,
    pub(super) task_mix: PluginsOfPoint,
    pub(super) keeps_places: PluginsOfPoint,
    pub(super) keeps_use: PluginsOfPoint,
    pub(super) estimates_run_times: PluginsOfPoint,
    pub(super) weighs_jobs: PluginsOfPoint,
    pub(super) user_room: PluginsOfPoint,
    pub(super) preemptable: PluginsOfPoint,
    pub(super) reclaimable: PluginsOfPoint,
    pub(super) victim_tasks: PluginsOfPoint,
    pub(super) time_limits: PluginsOfPoint,
    pub(super) reclaimer: PluginsOfPoint,
    pub(super) queue_distance: PluginsOfPoint,
    pub(super) bind_steps: PluginsOfPoint,
    pub(super) queue_views: PluginsOfPoint,
    pub(super) job_shares: PluginsOfPoint,
    pub(super) job_consent: PluginsOfPoint,
    pub(super) questions: PluginsOfPoint,
}

impl Points {
    /// What only reports, validity, ledgers and settings have no switch.
    pub(super) fn new(tiers: &[Vec<Member>]) -> Self {
        let who = |has: fn(&dyn Plugin) -> bool, is_on: fn(&Enabled) -> bool| {
            let members = tiers.iter().enumerate().flat_map(|(tier, members)| {
                let places = members.iter().enumerate();
                places.map(move |(at, member)| ((tier, at), member))
            });
            let asked =
                members.filter(|(_, member)| has(&*member.plugin) && is_on(&member.enabled));
            asked.map(|(place, _)| place).collect::<PluginsOfPoint>()
        };
        Self {
            job_order: who(|p| p.as_job_order().is_some(), |on| on.job_order),
            queue_order: who(|p| p.as_queue_order().is_some(), |on| on.queue_order),
            task_order: who(|p| p.as_task_order().is_some(), |on| on.task_order),
            sub_job_order: who(|p| p.as_sub_job_order().is_some(), |on| on.sub_job_order),
            domain_score: who(|p| p.as_domain_score().is_some(), |on| on.hyper_node_order),
            nodes_rest: who(|p| p.as_nodes_rest().is_some(), |on| on.hyper_node_order),
            network_settings: who(|p| p.as_network_settings().is_some(), |_| true),
            job_ready: who(|p| p.as_job_ready().is_some(), |on| on.job_ready),
            sub_job_ready: who(|p| p.as_job_ready().is_some(), |on| on.sub_job_ready),
            job_pipelined: who(|p| p.as_job_pipelined().is_some(), |on| on.job_pipelined),
            sub_job_pipelined: who(
                |p| p.as_job_pipelined().is_some(),
                |on| on.sub_job_pipelined,
            ),
            job_valid: who(|p| p.as_job_valid().is_some(), |_| true),
            job_starving: who(|p| p.as_job_starving().is_some(), |on| on.job_starving),
            admission: who(|p| p.as_admission().is_some(), |on| on.job_enqueued),
            overused: who(|p| p.as_overused().is_some(), |on| on.overused),
            allocatable: who(|p| p.as_allocatable().is_some(), |on| on.allocatable),
            signatures: who(
                |p| p.as_class_signature().is_some(),
                |on| on.predicate || on.node_order,
            ),
            node_filters: who(|p| p.as_node_filters().is_some(), |on| on.predicate),
            node_scores: who(|p| p.as_node_scores().is_some(), |on| on.node_order),
            domain_filters: who(|p| p.as_domain_filters().is_some(), |on| on.predicate),
            candidate_scores: who(|p| p.as_candidate_scores().is_some(), |on| on.node_order),
            ledgers: who(|p| p.as_ledgers().is_some(), |_| true),
            task_mix: who(|p| p.as_task_mix().is_some(), |_| true),
            keeps_places: who(|p| p.as_keeps_places().is_some(), |_| true),
            keeps_use: who(|p| p.as_keeps_use().is_some(), |_| true),
            estimates_run_times: who(|p| p.as_estimates_run_times().is_some(), |_| true),
            user_room: who(|p| p.as_user_room().is_some(), |_| true),
            weighs_jobs: who(|p| p.as_weighs_jobs().is_some(), |_| true),
            preemptable: who(|p| p.as_victims().is_some(), |on| on.preemptable),
            reclaimable: who(|p| p.as_victims().is_some(), |on| on.reclaimable),
            victim_tasks: who(|p| p.as_victim_tasks().is_some(), |on| on.victim),
            time_limits: who(|p| p.as_time_limits().is_some(), |on| on.victim),
            reclaimer: who(|p| p.as_reclaimer().is_some(), |on| on.preemptive),
            queue_distance: who(|p| p.as_queue_distance().is_some(), |on| on.reclaimable),
            bind_steps: who(|p| p.as_bind_steps().is_some(), |on| on.predicate),
            queue_views: who(|p| p.as_queue_views().is_some(), |_| true)
                .into_iter()
                .filter(|(tier, at)| tiers[*tier][*at].views)
                .collect(),
            job_shares: who(|p| p.as_job_shares().is_some(), |_| true),
            job_consent: who(|p| p.as_job_consent().is_some(), |on| on.job_ready),
            questions: who(|p| p.as_extender_questions().is_some(), |_| true),
        }
    }
}
