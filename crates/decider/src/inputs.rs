//! What a decider is told.

use pumice_conf::Config;
use pumice_devices::ReportPlace;
use pumice_engine::BindWait;
use pumice_model::extender::ExtenderReply;
use pumice_model::object::NodeUsage;
use pumice_model::shard::ShardView;
use pumice_model::{Delta, NoteAbout};

use crate::config_maps::{device_config_place, report_places};
use crate::decider::Decider;
use crate::effect::{Effect, LogLevel};
use crate::node_reports::ReportNews;
use crate::notes::noted;
use crate::task_mix;

impl Decider {
    /// Changes of the cluster, in order.
    pub fn apply(&mut self, deltas: Vec<Delta>) {
        for mut delta in deltas {
            if let Delta::NodeApply(node) = &mut delta {
                node.shard = self.sharing.of(&node.name);
            }
            if let Delta::QueueDelete(name) = &delta
                && (*name == "root" || *name == self.default_queue)
            {
                self.effects.push(Effect::MakeDefaultQueues);
            }
            let (is_taken, told) = self.kept.takes(&delta);
            if let Some(line) = told {
                self.effects.push(Effect::Log(line));
            }
            if !is_taken {
                continue;
            }
            self.cleanups.note(&delta);
            self.unanswered.note(&delta);
            let mix_of = task_mix::about(&delta);
            self.engine.apply(delta);
            if let Some(about) = mix_of {
                let told = task_mix::told(&self.engine, &about);
                self.effects.log(told.level, told.text);
            }
        }
        self.changed = true;
    }

    /// What an extender said.
    pub fn take_extender_reply(&mut self, reply: ExtenderReply) {
        self.engine.take_reply(reply);
        self.changed = true;
    }

    /// Every first list is complete.
    pub fn set_synced(&mut self) {
        if self.effects.is_dry() {
            // As if the queues were there that a scheduler which writes would make.
            self.engine.assume_default_queues(&self.default_queue);
        }
        self.synced = true;
        self.changed = true;
        // Nodes may have come after what was measured of them.
        let measured = self.usage.take_early();
        self.set_node_usage(measured);
    }

    /// Whether this replica may write at this moment.
    pub fn set_leader(&mut self, leader: bool) {
        if leader && !self.leader && std::mem::replace(&mut self.has_led, true) {
            self.lead_again();
        }
        if leader && !self.leader {
            self.kept.begin_term();
        }
        self.changed |= leader != self.leader;
        self.leader = leader;
    }

    /// What this replica wrote when it led before may have been overwritten since, and what waited when
    /// its term ended was given up: whatever stands is told and written again.
    fn lead_again(&mut self) {
        self.engine.tell_anew();
        self.retries.hurry();
        self.cleanups.start_over();
        self.sharing.tell_again();
    }

    /// Whether what decisions are made from is followed at this moment.
    pub fn set_followed(&mut self, followed: bool) {
        self.changed |= followed != self.followed;
        self.followed = followed;
    }

    /// Decide nothing any more. What only this process knows is written, as long as it may.
    pub fn rest(&mut self) {
        let leads = self.leader && !std::mem::replace(&mut self.resting, true);
        if leads {
            for write in self.kept.take_last_writes(&self.engine) {
                self.effects.write(write);
            }
        }
    }

    /// A valid configuration, to be used from the next cycle on.
    pub fn configure(&mut self, config: &Config) {
        self.engine.reconfigure(config);
        self.configured = true;
        self.changed = true;
        self.kept.follow(config);
        let place = device_config_place(config);
        if place != self.device_config.0 {
            // Cards must not be given away by a device configuration that is about to be replaced.
            self.device_config = (place.clone(), place.is_none());
        }
        for delta in self.reports.follow(report_places(config)) {
            self.engine.apply(delta);
        }
        self.engine.set_unread_reports(self.reports.unread());
    }

    /// The text of the device configuration at that place, or that there is none.
    pub fn set_device_config(&mut self, namespace: String, name: String, text: Option<String>) {
        let at = Some((namespace.clone(), name.clone()));
        if self.device_config.0 != at {
            // The scheduler's configuration has changed meanwhile.
            return;
        }
        self.device_config.1 = true;
        let (whose, is_there) = (format!("ConfigMap {namespace}/{name}"), text.is_some());
        let about = NoteAbout::ConfigMap(namespace.clone(), name.clone());
        self.engine.apply(Delta::DeviceConfig {
            namespace,
            name,
            text,
        });
        let problems = noted(&self.engine, &about);
        if !problems.is_empty() {
            let text = format!("{whose} is not taken: {}", problems.join("; "));
            self.effects.log(LogLevel::Warning, text);
        } else if is_there {
            let text = format!("device configuration in use: {whose}");
            self.effects.log(LogLevel::Info, text);
        }
        self.changed = true;
    }

    /// What is new of the ConfigMaps of a place that tell of the devices of nodes.
    pub fn set_node_reports(&mut self, place: &ReportPlace, news: ReportNews) {
        let Some(told) = self.reports.take(place, news) else {
            // The scheduler's configuration has changed meanwhile.
            return;
        };
        for problem in told.problems {
            self.effects.log(LogLevel::Warning, problem);
        }
        self.engine.set_unread_reports(self.reports.unread());
        for delta in told.deltas {
            self.engine.apply(delta);
        }
        self.changed = true;
    }

    /// What was measured of the use of nodes, by name.
    pub fn set_node_usage(&mut self, measured: Vec<(String, NodeUsage)>) {
        let nodes = self.engine.state().nodes();
        if let Some(problem) = self.usage.look(&measured, nodes, self.synced) {
            self.effects.log(LogLevel::Warning, problem);
        }
        for (node, usage) in measured {
            let usage = Some(usage);
            self.engine.apply(Delta::NodeUsage { node, usage });
        }
        self.changed = true;
    }

    /// The Bindings that writers hold back at this moment, by UID of the pod, and what for.
    pub fn set_bind_waits(&mut self, waits: Vec<(String, BindWait)>) {
        if self.engine.set_bind_waits(waits) {
            self.report_due = Some(self.last_cycle.0);
        }
    }

    /// The nodes of the own shard changed.
    pub fn set_shard(&mut self, view: ShardView) {
        if view.missing {
            let text = "there is no NodeShard of this scheduler's name: its last nodes are kept; \
                        see --scheduler-sharding-name";
            self.effects.log(LogLevel::Error, text.to_owned());
        }
        let nodes = self.engine.state().nodes().known();
        for moved in self.sharing.follow(view, nodes) {
            self.engine.apply(moved);
        }
        self.changed = true;
    }
}
