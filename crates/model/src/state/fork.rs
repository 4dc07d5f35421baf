//! A copy of the cluster, for questions: what would happen if.

use super::State;

/// A fork may be asked on another thread.
const fn is_sent<T: Send>() {}
const _: () = is_sent::<State>();

impl State {
    /// A copy that goes its own way from here on. What there is most of, tasks and jobs, is shared until one side changes
    /// it, so a copy costs a fraction of the population; `pumice bench fork` measures it.
    pub fn fork(&mut self) -> Self {
        Self {
            names: self.names.share(),
            resources: self.resources.clone(),
            named_by_queues: self.named_by_queues.clone(),
            nodes: self.nodes.share(),
            shapes: self.shapes.clone(),
            topology: self.topology.clone(),
            network: self.network.clone(),
            reserved: self.reserved.clone(),
            volumes: self.volumes.clone(),
            resource_claims: self.resource_claims.clone(),
            devices: self.devices.clone(),
            answers: self.answers.clone(),
            numatopologies: self.numatopologies.clone(),
            cpus_stale: self.cpus_stale,
            cpu_requests: self.cpu_requests.clone(),
            cpu_requests_limit: self.cpu_requests_limit,
            tasks: self.tasks.share(),
            jobs: self.jobs.share(),
            queues: self.queues.clone(),
            task_by_uid: self.task_by_uid.share(),
            job_by_key: self.job_by_key.clone(),
            queue_by_name: self.queue_by_name.clone(),
            priority_classes: self.priority_classes.clone(),
            default_queue: self.default_queue,
            group_controller: self.group_controller.clone(),
            lost: self.lost.clone(),
            holds: self.holds.clone(),
            allowances: self.allowances.clone(),
            spared: self.spared.clone(),
            evictions: self.evictions.clone(),
            endings: self.endings.clone(),
            in_doubt: self.in_doubt,
            sub_jobs_stale: self.sub_jobs_stale.clone(),
            queues_stale: self.queues_stale,
            knows_admissions: self.knows_admissions,
            appearances_stale: self.appearances_stale,
            counts_stale: self.counts_stale,
            journal: self.journal.clone(),
            rules_gone: self.rules_gone,
        }
    }
}
