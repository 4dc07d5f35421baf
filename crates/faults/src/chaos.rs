//! What happens by chance: users at work, and faults.

use pumice_model::object::{GroupObject, NodeObject, PodObject, PodPhase};

use super::Simulation;
use super::claim_oracle::MAX_BREAK_MS;
use super::drivers;
use super::evictions::CLASSES;
use super::invariant::MAX_STEP_MS;
use super::objects::{group, node, pod, queue};
use super::server::{Template, key};
use super::server_kind::{KINDS, ServerKind};
use super::shuffles;
use super::topology;

/// Most gangs a simulation makes.
pub(super) const MAX_GANGS: u64 = 10;

impl Simulation {
    /// A random small cluster, and how bad the network is.
    pub(super) fn build_cluster(&mut self) {
        let rng = &mut self.chance;
        let nodes = rng.between(2, 5);
        for at in 0..nodes {
            let cpu_milli = 1000 * rng.between(2, 6) as i64;
            let cards = if rng.percent(40) {
                rng.between(1, 2) as i64
            } else {
                0
            };
            let mut node = node(&format!("n{at}"), cpu_milli, cards);
            if self.shuffles {
                node = shuffles::in_zone(rng, node);
            }
            if self.drivers.is_some() {
                node = drivers::in_rack(node);
            }
            self.server.put_node(node);
        }
        self.server.put_queue(queue("root", 0));
        self.server.put_queue(queue("default", 0));
        let capability = if rng.percent(50) {
            1000 * rng.between(2, 8) as i64
        } else {
            0
        };
        let queue = self.limited(queue("q", capability));
        self.server.put_queue(queue);
        self.make_trouble();
        self.build_network();
        self.build_devices();
        for _ in 0..2 {
            self.new_gang();
        }
    }

    /// How bad the network is, and how long pods take to end.
    pub(super) fn make_trouble(&mut self) {
        let rng = &mut self.chance;
        if self.faults {
            let chance =
                |rng: &mut super::rng::Rng| if rng.percent(60) { rng.below(15) } else { 0 };
            self.network.chances = [chance(rng), chance(rng), chance(rng)];
            self.network.slowness_ms = [1, 50, 400, 900][rng.below(4) as usize];
        }
        if self.evicts {
            self.server.grace_ms = [0, 500, 3000, 8000][rng.below(4) as usize];
            self.network.evictions_may_fail = self.faults;
        }
    }

    /// A step of random length in which something may happen.
    pub(super) fn random_step_ms(&mut self) -> u64 {
        let longest = if self.chance.percent(5) {
            MAX_STEP_MS
        } else {
            300
        };
        self.chance.between(20, longest)
    }

    /// Users at work.
    pub(super) fn churn(&mut self) {
        if self.shuffles && self.chance.percent(60) {
            self.measure_node();
        }
        self.change_network();
        self.change_devices();
        crate::natives::change_native_api(self);
        crate::trees_of_groups::change_trees(self);
        match self.chance.below(100) {
            0..12 => self.new_gang(),
            12..15 => self.new_bare_pod(),
            15..17 => self.delete_gang(),
            17..22 => self.finish_or_delete_pod(false),
            22..26 => self.finish_or_delete_pod(true),
            26..28 => self.change_node(),
            28 => self.change_min_member(),
            29 => self.recreate_queue(),
            30 => self.foreign_pod(),
            31..34 => self.nodes_come_and_go(),
            _ => {}
        }
    }

    /// Faults.
    pub(super) fn disturb(&mut self) {
        let now_ms = self.server.now_ms();
        let slots = self.slots.len() as u64;
        let slot = self.chance.below(slots) as usize;
        match self.chance.below(200) {
            0..6 => {
                // Some are there in some simulations only.
                let kinds = KINDS.into_iter().filter(|kind| self.server.has(*kind));
                let kinds: Vec<ServerKind> = kinds.collect();
                let kind = kinds[self.chance.below(kinds.len() as u64) as usize];
                let for_ms = self.chance.between(100, MAX_BREAK_MS);
                if let Some(process) = &mut self.slots[slot].process {
                    process.watches.break_off(kind, now_ms, for_ms);
                    self.history.push(format!(
                        "slot {slot} does not follow {kind:?} for {for_ms} ms"
                    ));
                }
            }
            6..9 => {
                let down_ms = self.chance.between(200, 3000);
                self.kill(slot, down_ms);
            }
            9..11 => {
                let for_ms = self.chance.between(4_000, 20_000);
                self.cut_lease(slot, for_ms);
            }
            11..18 => self.delete_mid_bind(),
            18..20 => {
                let down_ms = self.chance.between(200, 3000);
                self.stop(slot, down_ms);
            }
            _ => {}
        }
    }

    pub(super) fn new_gang(&mut self) {
        if self.gangs >= self.most_gangs {
            return;
        }
        self.gangs += 1;
        let rng = &mut self.chance;
        let name = format!("g{}", self.gangs);
        let size = rng.between(1, 4);
        let min = rng.between(1, size);
        let queue = if rng.percent(50) { "q" } else { "default" };
        let cpu_milli = 500 * rng.between(1, 4) as i64;
        let card_mib = if rng.percent(30) {
            1000 * rng.between(2, 6) as i64
        } else {
            0
        };
        let late_group = rng.percent(20);
        let class = match self.evicts {
            true => rng.pick(&CLASSES).map_or("", |(class, _)| *class),
            false => "",
        };
        let mut gang = GroupObject {
            priority_class: class.to_owned(),
            ..group(&name, min as i32, queue)
        };
        let mut member = pod("", Some(&name), cpu_milli, card_mib);
        if self.shuffles {
            shuffles::mark(rng, &mut gang, &mut member);
        }
        if let Some(rng) = &mut self.topology {
            gang.topology = topology::request(rng);
        }
        if let Some(natives) = &mut self.natives {
            natives.mark(&mut gang, &mut member);
        }
        member.resource_claims = self.wishes(&name);
        if !late_group {
            self.server.put_group(gang.clone());
        }
        for at in 0..size {
            let pod = PodObject {
                name: format!("{name}-{at}"),
                ..member.clone()
            };
            self.server.add_template(Template {
                pod,
                replaced: true,
            });
        }
        if late_group {
            self.server.put_group(gang);
        }
        self.history.push(format!(
            "gang {}: {min} of {size} pods, {cpu_milli}m, {card_mib} MiB, queue {queue}, {class}",
            member.group.as_deref().unwrap_or_default()
        ));
    }

    fn new_bare_pod(&mut self) {
        self.bare += 1;
        let cpu_milli = 500 * self.chance.below(4) as i64;
        let mut pod = pod(&format!("bare-{}", self.bare), None, cpu_milli, 0);
        pod.resource_claims = self.wishes(&pod.name);
        let uid = self.server.make_pod(pod);
        self.history.push(format!("pod {uid}: {cpu_milli}m"));
    }

    pub(super) fn delete_gang(&mut self) {
        let keys: Vec<String> = self
            .server
            .groups
            .keys()
            .filter(|key| !key.starts_with("bad/"))
            .cloned()
            .collect();
        let Some(gone) = self.chance.pick(&keys).cloned() else {
            return;
        };
        self.history.push(format!("gang {gone} is deleted"));
        let of_it = |pod: &PodObject| {
            pod.group
                .as_ref()
                .is_some_and(|group| key(&pod.namespace, group) == gone)
        };
        self.server
            .templates
            .retain(|_, template| !of_it(&template.pod));
        let uids: Vec<String> = self
            .server
            .pods
            .values()
            .filter(|pod| of_it(pod))
            .map(|pod| pod.uid.clone())
            .collect();
        self.server.remove_group(&gone);
        for uid in uids {
            self.server.delete_pod(&uid);
        }
    }

    fn finish_or_delete_pod(&mut self, delete: bool) {
        let ours =
            |pod: &&PodObject| pod.namespace != "bad" && (delete || pod.phase == PodPhase::Running);
        let uids: Vec<String> = self
            .server
            .pods
            .values()
            .filter(ours)
            .map(|pod| pod.uid.clone())
            .collect();
        let Some(uid) = self.chance.pick(&uids).cloned() else {
            return;
        };
        match delete {
            true => {
                self.history.push(format!("{uid} is deleted"));
                self.server.delete_pod(&uid);
            }
            false => {
                self.history.push(format!("{uid} ends"));
                self.server.finish_pod(&uid);
            }
        }
    }

    fn change_node(&mut self) {
        let names: Vec<String> = self.server.nodes.keys().cloned().collect();
        let Some(name) = self.chance.pick(&names) else {
            return;
        };
        let Some(mut changed) = self.server.nodes.get(name).cloned() else {
            return;
        };
        if self.chance.percent(50) {
            changed.unschedulable = !changed.unschedulable;
        } else {
            let cpu_milli = 1000 * self.chance.between(1, 6) as i64;
            for (resource, amount) in &mut changed.allocatable {
                if resource == "cpu" {
                    *amount = cpu_milli;
                }
            }
        }
        let NodeObject {
            name,
            unschedulable,
            allocatable,
            ..
        } = &changed;
        let cpu_milli = super::oracle::amount(allocatable, "cpu");
        self.history.push(format!(
            "node {name}: {cpu_milli}m, cordoned: {unschedulable}"
        ));
        self.server.put_node(changed);
    }

    fn nodes_come_and_go(&mut self) {
        let names: Vec<String> = self.server.nodes.keys().cloned().collect();
        if names.len() > 2 && self.chance.percent(40) {
            if let Some(name) = self.chance.pick(&names).cloned() {
                self.history.push(format!("node {name} is deleted"));
                self.server.remove_node(&name);
            }
        } else if names.len() < 5 {
            let name = format!("n{}", self.chance.below(5));
            if !self.server.nodes.contains_key(&name) {
                let cards = self.chance.below(2) as i64;
                let mut new = node(&name, 1000 * self.chance.between(2, 6) as i64, cards);
                if self.drivers.is_some() {
                    new = drivers::in_rack(new);
                }
                self.history.push(format!("node {name} is added"));
                self.server.put_node(new);
            }
        }
    }

    fn change_min_member(&mut self) {
        let groups: Vec<String> = self
            .server
            .groups
            .keys()
            .filter(|key| !key.starts_with("bad/"))
            .cloned()
            .collect();
        let group = self
            .chance
            .pick(&groups)
            .and_then(|key| self.server.groups.get(key))
            .cloned();
        if let Some(mut group) = group {
            group.min_member = self.chance.between(1, 4) as i32;
            self.history
                .push(format!("gang {} needs {}", group.name, group.min_member));
            self.server.put_group(group);
        }
    }

    fn recreate_queue(&mut self) {
        match self.server.queues.get("q").cloned() {
            Some(_) => {
                self.history.push("queue q is deleted".to_owned());
                self.server.remove_queue("q");
            }
            None => {
                self.history.push("queue q is made again".to_owned());
                let queue = self.limited(queue("q", 6000));
                self.server.put_queue(queue);
            }
        }
    }

    /// Another scheduler puts a pod of its own on a node.
    fn foreign_pod(&mut self) {
        let names: Vec<String> = self.server.nodes.keys().cloned().collect();
        let Some(name) = self.chance.pick(&names).cloned() else {
            return;
        };
        self.bare += 1;
        let uid = self.server.make_pod(PodObject {
            ours: false,
            node: Some(name.clone()),
            ..pod(&format!("foreign-{}", self.bare), None, 500, 0)
        });
        self.history
            .push(format!("another scheduler binds {uid} to {name}"));
        self.oracle.note_foreign(uid, self.server.now_ms());
    }

    /// A pod, or its node, is deleted while its Binding is on its way.
    fn delete_mid_bind(&mut self) {
        let binds = self.network.binds_under_way();
        let Some((uid, node)) = self.chance.pick(&binds).cloned() else {
            return;
        };
        if self.chance.percent(70) {
            self.history
                .push(format!("{uid} is deleted while it is bound"));
            self.server.delete_pod(&uid);
        } else {
            self.history
                .push(format!("node {node} is deleted while {uid} is bound to it"));
            self.server.remove_node(&node);
        }
    }
}

impl Simulation {
    /// Objects of namespace `bad` that make no sense.
    pub(super) fn add_bad_objects(&mut self) {
        let bad_pod = |name: &str, group: Option<&str>, cpu_milli, card_mib| PodObject {
            namespace: "bad".to_owned(),
            ..pod(name, group, cpu_milli, card_mib)
        };
        let bad_group = |name: &str, min_member, queue: &str| GroupObject {
            namespace: "bad".to_owned(),
            uid: format!("bad-{name}"),
            ..group(name, min_member, queue)
        };
        self.server.put_group(bad_group("no-queue", 1, "nowhere"));
        self.server
            .put_group(bad_group("huge", i32::MAX, "nowhere"));
        self.server.put_group(bad_group("negative", -7, "nowhere"));
        let pods = [
            bad_pod("a", Some("no-queue"), 1000, 0),
            bad_pod("b", Some("huge"), i64::MAX, 0),
            bad_pod("c", Some("negative"), -1000, 0),
            bad_pod("d", Some("no-such-group"), 1000, 0),
            bad_pod("e", Some("no-queue"), 1000, i64::MAX / 1000),
        ];
        for pod in pods {
            self.server.make_pod(pod);
        }
    }
}
