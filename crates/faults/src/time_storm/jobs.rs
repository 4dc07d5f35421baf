//! Jobs that say how long they run: most do as they said, some end earlier, some later, some never.

use pumice_model::object::{GroupObject, Pairs, PodObject, QueueObject};
use pumice_model::run_time::{DEFAULT_RUN_TIME, DEFAULT_RUN_TIME_LIMIT, RUN_TIME, RUN_TIME_LIMIT};

use super::TimeStorm;
use super::users::USERS;
use crate::evictions::CLASSES;
use crate::objects::{group, pod};
use crate::server::{Template, key};

/// Most jobs a storm makes.
const MAX_JOBS: u64 = 14;

fn pair(key: &str, seconds: u64) -> (String, String) {
    (key.to_owned(), format!("{seconds}s"))
}

impl TimeStorm {
    /// What queues say of those who say nothing, and the first jobs.
    pub(super) fn furnish(&mut self) {
        let server = &mut self.simulation.server;
        if let Some(queue) = server.queues.get("q").cloned()
            && self.chance.percent(40)
        {
            let mut run_times = vec![pair(DEFAULT_RUN_TIME, self.chance.between(5, 30))];
            if self.chance.percent(50) {
                run_times.push(pair(DEFAULT_RUN_TIME_LIMIT, self.chance.between(10, 40)));
            }
            let weight = self.chance.between(1, 3) as i64;
            server.put_queue(QueueObject {
                run_times,
                weight,
                ..queue
            });
        }
        (0..3).for_each(|_| self.new_timed_job());
    }

    /// Users at work.
    pub(super) fn come_and_change(&mut self) {
        match self.chance.below(100) {
            0..14 => self.new_timed_job(),
            14..18 => self.change_limit(),
            18..20 => self.change_user(),
            _ => {}
        }
    }

    fn new_timed_job(&mut self) {
        if self.jobs >= MAX_JOBS {
            return;
        }
        self.jobs += 1;
        let rng = &mut self.chance;
        let name = format!("t{}", self.jobs);
        let size = rng.between(1, 4);
        let min = rng.between(1, size);
        let cpu_milli = 500 * rng.between(1, 5) as i64;
        let card_mib = if rng.percent(25) {
            1000 * rng.between(2, 6) as i64
        } else {
            0
        };
        let class = rng.pick(&CLASSES).map_or("", |(class, _)| *class);
        let queue = if rng.percent(60) { "q" } else { "default" };
        let expected_s = rng.between(3, 40);
        let limit_s = expected_s + rng.below(expected_s);
        let limit = pair(RUN_TIME_LIMIT, limit_s);
        let mut said: Pairs = Vec::new();
        if rng.percent(75) {
            said.push(pair(RUN_TIME, expected_s));
        }
        let is_limited = rng.percent(60);
        // Most tell it on the PodGroup, some on the pods.
        let of_pods = rng.percent(30);
        if is_limited {
            said.push(limit);
            self.limited.insert(name.clone());
        }
        let length_s = match rng.below(10) {
            0..5 => Some(rng.between(1, expected_s)),
            5..7 => Some(expected_s + rng.below(2 * expected_s)),
            // It runs for ever.
            _ => None,
        };
        let created_s = i64::try_from(self.simulation.server.now_ms() / 1000).unwrap_or(0);
        let gang = GroupObject {
            priority_class: class.to_owned(),
            user: rng.pick(&USERS).copied().unwrap_or_default().to_owned(),
            annotations: if of_pods { Vec::new() } else { said.clone() },
            created_s,
            ..group(&name, min as i32, queue)
        };
        let text = format!(
            "job {name} of {}: {min} of {size} pods, {cpu_milli}m, {card_mib} MiB, queue {queue}, {class}, says {said:?}, \
             runs {length_s:?}",
            gang.user
        );
        let server = &mut self.simulation.server;
        server.put_group(gang);
        for at in 0..size {
            let member = PodObject {
                annotations: if of_pods { said.clone() } else { Vec::new() },
                ..pod(&format!("{name}-{at}"), Some(&name), cpu_milli, card_mib)
            };
            if let Some(length_s) = length_s {
                self.lengths.insert(member.name.clone(), length_s * 1000);
            }
            server.add_template(Template {
                pod: member,
                replaced: true,
            });
        }
        self.simulation.history.push(text);
    }

    /// Somebody raises or lowers the limit of a job, or takes it away.
    fn change_limit(&mut self) {
        let server = &mut self.simulation.server;
        let is_timed = |name: &&String| name.starts_with("ns/t");
        let names: Vec<String> = server.groups.keys().filter(is_timed).cloned().collect();
        let Some(mut gang) = self
            .chance
            .pick(&names)
            .and_then(|name| server.groups.get(name).cloned())
        else {
            return;
        };
        gang.annotations.retain(|(key, _)| key != RUN_TIME_LIMIT);
        if self.chance.percent(80) {
            let limit = pair(RUN_TIME_LIMIT, self.chance.between(2, 60));
            gang.annotations.push(limit);
            self.limited.insert(gang.name.clone());
        }
        let (name, said) = (&gang.name, &gang.annotations);
        let text = format!("PodGroup {name} says {said:?} by now");
        self.simulation.history.push(text);
        server.put_group(gang);
    }

    /// A waiting job names another user.
    fn change_user(&mut self) {
        let server = &mut self.simulation.server;
        let waits = |gang: &&GroupObject| {
            let of_it = |pod: &&PodObject| pod.group.as_ref() == Some(&gang.name);
            let mut members = server.pods.values().filter(of_it);
            !gang.user.is_empty() && members.all(|pod| pod.node.is_none())
        };
        let names: Vec<String> = server
            .groups
            .values()
            .filter(waits)
            .map(|gang| key(&gang.namespace, &gang.name))
            .collect();
        let user = self.chance.pick(&USERS).copied().unwrap_or_default();
        let name = self.chance.pick(&names);
        if let Some(gang) = name.and_then(|name| server.groups.get(name)).cloned() {
            let text = format!("PodGroup {} names user {user}", gang.name);
            self.simulation.history.push(text);
            // Who has not heard of it may bind it for the other one still.
            self.renamed.insert(gang.name.clone());
            let user = user.to_owned();
            server.put_group(GroupObject { user, ..gang });
        }
    }

    /// Pods of which somebody says for how long they may run, whoever made them.
    pub(super) fn is_limited(&self, pod: &PodObject) -> bool {
        let server = &self.simulation.server;
        let group = pod.group.as_ref().map(|group| key(&pod.namespace, group));
        let queue = group.and_then(|key| server.groups.get(&key));
        let queue = queue.and_then(|group| server.queues.get(&group.queue));
        let of_queue = queue.is_some_and(|queue| !queue.run_times.is_empty());
        let of_job = pod.group.as_ref();
        of_queue || of_job.is_some_and(|name| self.limited.contains(name))
    }
}
