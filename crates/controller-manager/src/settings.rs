//! Flags, checked together: what the process runs with.

use anyhow::{bail, ensure};
use pumice_controllers::list::{self, ControllerOptions, ListedController};
use pumice_process::flags::feature_gate;

use crate::flags::{ControllerCommandLine, ControllerFlags};

/// Every gate of Volcano's controllers.
const GATES: [&str; 9] = [
    "WorkLoadSupport",
    "VolcanoJobSupport",
    "PodDisruptionBudgetsSupport",
    "QueueCommandSync",
    "PriorityClass",
    "ResourceTopology",
    "CronVolcanoJobSupport",
    "CSIStorage",
    "SchedulingGatesQueueAdmission",
];

/// What the process runs with.
#[derive(Debug)]
pub struct ControllerSettings {
    /// Flags as they were given.
    pub flags: ControllerFlags,
    /// The controllers that run.
    pub controllers: Vec<ListedController>,
    /// What they are made with.
    pub options: ControllerOptions,
    /// What the user should know; logged once.
    pub warnings: Vec<String>,
}

impl ControllerSettings {
    /// Checks a command line.
    ///
    /// # Errors
    /// The first thing that is wrong, with the flag and what to write instead.
    pub fn check(line: ControllerCommandLine) -> anyhow::Result<Self> {
        let ControllerCommandLine { flags, idle } = line;
        let mut warnings: Vec<String> = idle
            .iter()
            .map(|(name, why)| format!("--{name} has no effect: {why}"))
            .collect();
        flags.lease.check(&mut warnings)?;
        ensure!(
            flags.ours.concurrent_pods > 0,
            "--concurrent-pods is 0: write how many pods may be made at a time, for example 64"
        );
        let names = &flags.controlling.scheduler_name;
        ensure!(
            names.iter().all(|name| !name.is_empty()),
            "--scheduler-name is empty: name the scheduler whose pods get PodGroups"
        );
        let mut options = ControllerOptions {
            scheduler_names: names.clone(),
            inherit_owner_annotations: flags.controlling.inherit_owner_annotations,
            unguarded_queue_commands: flags.ours.unguarded_queue_commands,
            ..ControllerOptions::default()
        };
        let selected = list::select(&flags.controlling.controllers);
        let mut controllers = selected.map_err(anyhow::Error::msg)?;
        let gates = &flags.controlling.feature_gates;
        for entry in gates.iter().filter(|entry| !entry.trim().is_empty()) {
            let (name, on) = feature_gate(entry)?;
            if !GATES.contains(&name) {
                bail!(
                    "--feature-gates: there is no gate {name:?}; write NAME=true or NAME=false, of {}",
                    GATES.join(", ")
                );
            }
            match name {
                "WorkLoadSupport" => options.workloads = on,
                "QueueCommandSync" => options.queue_commands = on,
                "CronVolcanoJobSupport" => options.cron_jobs = on,
                "VolcanoJobSupport" if !on => controllers.retain(|c| c.name != "job-controller"),
                "SchedulingGatesQueueAdmission" if !on => {
                    controllers.retain(|c| c.name != "queue-gate-controller");
                }
                "VolcanoJobSupport" | "SchedulingGatesQueueAdmission" => {}
                other => warnings.push(format!("feature gate {other} has no effect")),
            }
        }
        if !options.cron_jobs {
            controllers.retain(|controller| controller.name != "cronjob-controller");
        }
        Ok(Self {
            flags,
            controllers,
            options,
            warnings,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(words: &[&str]) -> anyhow::Result<ControllerSettings> {
        let words = ["pumice-controllers"].iter().chain(words);
        let line = ControllerCommandLine::read(words.map(Into::into)).expect("words that fit");
        ControllerSettings::check(line)
    }

    #[test]
    fn what_is_wrong_is_said_with_what_is_allowed() {
        for (word, said) in [
            ("--controllers=jobs", "job-controller"),
            ("--feature-gates=Jobs=true", "VolcanoJobSupport"),
            ("--feature-gates=PriorityClass", "PriorityClass=true"),
            ("--concurrent-pods=0", "--concurrent-pods"),
            ("--leader-elect-renew-deadline=20s", "renew-deadline"),
            ("--scheduler-name=", "--scheduler-name"),
        ] {
            let error = check(&[word]).expect_err(word).to_string();
            assert!(error.contains(said), "{word}: {error}");
        }
    }

    #[test]
    fn gates_switch_controllers_and_their_parts_off() {
        let gates = "--feature-gates=VolcanoJobSupport=false,CronVolcanoJobSupport=f,\
                     WorkLoadSupport=0,QueueCommandSync=false,PriorityClass=true,\
                     SchedulingGatesQueueAdmission=false";
        let settings = check(&[gates]).expect("gates that exist");
        let on = |name: &str| settings.controllers.iter().any(|one| one.name == name);
        assert!(on("queue-controller") && !on("job-controller") && !on("cronjob-controller"));
        assert!(!on("queue-gate-controller"));
        assert!(!settings.options.workloads && !settings.options.queue_commands);
        assert_eq!(
            settings.warnings,
            ["feature gate PriorityClass has no effect"]
        );
    }
}
