//! Questions to pods, and the configuration.

use jiff::Timestamp;
use pumice_controllers::runtime::{
    Controller, ManagedKind, ManagedRef, Manager, ManagerInput, ManagerOutput, ObjectCache,
    ObjectChange, PodProbe, ProbeId, ProbeOutcome, Reconciliation,
};

use super::{at, queue};

fn probe() -> PodProbe {
    PodProbe {
        address: "10.0.0.7".to_owned(),
        port: 22,
        http: None,
    }
}

/// Asks until it holds; says how often it looked by when it wants to look again.
#[derive(Default)]
struct Asking {
    looks: i64,
    holds: bool,
}

impl Controller for Asking {
    fn name(&self) -> &'static str {
        "asking"
    }

    fn concerned(&mut self, change: ObjectChange<'_>, _: &ObjectCache) -> Vec<ManagedRef> {
        vec![change.of.clone()]
    }

    fn reconcile(&mut self, _: &ManagedRef, _: &ObjectCache, _: Timestamp) -> Reconciliation {
        self.looks += 1;
        let probes = if self.holds { vec![] } else { vec![probe()] };
        Reconciliation {
            probes,
            again_at: Some(at(1_000_000 + self.looks)),
            ..Reconciliation::default()
        }
    }

    fn probed(&mut self, _: &ManagedRef, _: &PodProbe, outcome: &ProbeOutcome, _: Timestamp) {
        self.holds = *outcome == ProbeOutcome::Holds;
    }

    fn configured(&mut self, _: &ManagedRef, _: &str, text: &str) -> Vec<ManagedRef> {
        vec![ManagedRef::global(ManagedKind::Queue, text)]
    }
}

#[test]
fn a_probe_is_asked_once_at_a_time_until_it_holds() {
    let mut manager = Manager::new(vec![Box::new(Asking::default())]);
    manager.tell(ManagerInput::Seen(queue(1, false)), at(0));
    manager.tell(ManagerInput::Synced, at(0));
    assert_eq!(
        manager.work(at(0)),
        [ManagerOutput::Probe(ProbeId(1), probe())]
    );

    manager.tell(ManagerInput::Seen(queue(2, false)), at(1));
    assert_eq!(manager.work(at(1)), [], "it is under way");

    let fails = ProbeOutcome::Fails("connection refused".to_owned());
    manager.tell(ManagerInput::Probed(ProbeId(1), fails), at(2));
    assert_eq!(
        manager.work(at(2)),
        [ManagerOutput::Probe(ProbeId(2), probe())]
    );

    let holds = ProbeOutcome::Holds;
    manager.tell(ManagerInput::Probed(ProbeId(1), holds.clone()), at(3));
    assert_eq!(manager.work(at(3)), [], "an answer nobody waits for");
    manager.tell(ManagerInput::Probed(ProbeId(2), holds), at(4));
    assert_eq!(manager.work(at(4)), []);
    assert_eq!(manager.next_at(), Some(at(1_000_004)), "four looks");
}

#[test]
fn what_a_configuration_concerns_is_looked_at() {
    let mut manager = Manager::new(vec![Box::new(Asking::default())]);
    manager.tell(ManagerInput::Synced, at(0));
    let configured = ManagerInput::Configured {
        at: ManagedRef::new(ManagedKind::ConfigMap, "volcano-system", "c"),
        uid: "u".to_owned(),
        text: "q".to_owned(),
    };
    manager.tell(configured, at(1));
    assert_eq!(
        manager.work(at(1)),
        [ManagerOutput::Probe(ProbeId(1), probe())]
    );
}
