//! The manager: what it looks at, when, and what it never does.

mod again;
mod objects;
mod probes;

use jiff::{SignedDuration, Timestamp};
use pumice_api::Queue;
use pumice_controllers::runtime::{
    ApiVerb, ApiWrite, Controller, ManagedKind, ManagedRef, Manager, ManagerInput, ManagerOutput,
    ObjectCache, ObjectChange, Observed, Reconciliation, WriteId, WriteOutcome,
};
use serde_json::json;

/// Gives every queue the label `seen: yes`.
struct Labelling;

impl Controller for Labelling {
    fn name(&self) -> &'static str {
        "labelling"
    }

    fn concerned(&mut self, change: ObjectChange<'_>, _: &ObjectCache) -> Vec<ManagedRef> {
        vec![change.of.clone()]
    }

    fn reconcile(&mut self, of: &ManagedRef, cache: &ObjectCache, _: Timestamp) -> Reconciliation {
        let Some(queue) = cache.queue(&of.name) else {
            return Reconciliation::nothing();
        };
        if queue.metadata.labels.is_some() {
            return Reconciliation::nothing();
        }
        let patch = json!({"metadata": {"labels": {"seen": "yes"}}});
        let verb = ApiVerb::Merge {
            patch,
            status: false,
        };
        Reconciliation {
            writes: vec![ApiWrite {
                of: of.clone(),
                verb,
            }],
            ..Reconciliation::default()
        }
    }
}

fn queue(version: u64, is_labelled: bool) -> Observed {
    let mut queue = Queue::default();
    queue.metadata.name = Some("q".to_owned());
    queue.metadata.uid = Some("u1".to_owned());
    queue.metadata.resource_version = Some(version.to_string());
    queue.metadata.labels = is_labelled.then(|| {
        [("seen".to_owned(), "yes".to_owned())]
            .into_iter()
            .collect()
    });
    Observed::Queue(Box::new(queue))
}

fn at(milliseconds: i64) -> Timestamp {
    Timestamp::UNIX_EPOCH + SignedDuration::from_millis(milliseconds)
}

fn manager() -> Manager {
    let mut manager = Manager::new(vec![Box::new(Labelling)]);
    manager.tell(ManagerInput::Seen(queue(1, false)), at(0));
    manager.tell(ManagerInput::Synced, at(0));
    manager
}

fn writes(orders: &[ManagerOutput]) -> Vec<WriteId> {
    let id = |order: &ManagerOutput| match order {
        ManagerOutput::Write(id, _) => Some(*id),
        ManagerOutput::Event(_) | ManagerOutput::Probe(..) => None,
    };
    orders.iter().filter_map(id).collect()
}

fn one(orders: &[ManagerOutput]) -> WriteId {
    let all = writes(orders);
    assert_eq!(all.len(), 1, "{orders:?}");
    all[0]
}

#[test]
fn nothing_is_looked_at_before_every_kind_was_listed() {
    let mut manager = Manager::new(vec![Box::new(Labelling)]);
    manager.tell(ManagerInput::Seen(queue(1, false)), at(0));
    assert!(manager.work(at(0)).is_empty());
    assert_eq!(manager.next_at(), None);
    manager.tell(ManagerInput::Synced, at(0));
    assert_eq!(writes(&manager.work(at(0))).len(), 1);
}

#[test]
fn what_a_write_made_is_known_from_its_answer_and_not_done_again() {
    let mut manager = manager();
    let id = one(&manager.work(at(0)));
    // A change that comes while the write is under way does not start a second one.
    manager.tell(ManagerInput::Seen(queue(2, false)), at(1));
    assert!(manager.work(at(1)).is_empty());
    let done = WriteOutcome::Done(Some(queue(3, true)));
    manager.tell(ManagerInput::Ended(id, done), at(2));
    assert!(manager.work(at(2)).is_empty());
    // What the watch tells later of the time before is not believed.
    manager.tell(ManagerInput::Seen(queue(2, false)), at(3));
    assert!(manager.work(at(3)).is_empty());
    assert_eq!(manager.next_at(), None);
}

#[test]
fn after_a_failure_it_waits_longer_each_time() {
    let mut manager = manager();
    let mut now = 0;
    let mut pauses = Vec::new();
    for _ in 0..4 {
        let id = one(&manager.work(at(now)));
        let refused = WriteOutcome::Refused {
            code: 422,
            reason: "Invalid".to_owned(),
            message: "no".to_owned(),
        };
        manager.tell(ManagerInput::Ended(id, refused), at(now));
        assert!(manager.work(at(now)).is_empty());
        let next = manager.next_at().expect("tried again").as_millisecond();
        pauses.push(next - now);
        now = next;
    }
    assert_eq!(pauses, [5, 10, 20, 40]);
}

#[test]
fn a_write_that_changes_nothing_is_not_repeated_without_a_pause() {
    let mut manager = manager();
    let id = one(&manager.work(at(0)));
    // The server took it, and dropped the field.
    let done = WriteOutcome::Done(Some(queue(2, false)));
    manager.tell(ManagerInput::Ended(id, done), at(0));
    assert!(manager.work(at(0)).is_empty());
    let next = manager.next_at().expect("tried again");
    assert!(next > at(0));
    one(&manager.work(next));
}

#[test]
fn an_answer_that_comes_after_the_end_of_the_object_does_not_bring_it_back() {
    let mut manager = manager();
    let id = one(&manager.work(at(0)));
    let of = ManagedRef::global(ManagedKind::Queue, "q");
    let uid = "u1".to_owned();
    manager.tell(ManagerInput::Gone { of, uid }, at(1));
    let done = WriteOutcome::Done(Some(queue(3, false)));
    manager.tell(ManagerInput::Ended(id, done), at(2));
    assert!(manager.work(at(2)).is_empty());
    assert!(manager.cache().queue("q").is_none());
}

#[test]
fn what_a_new_list_does_not_name_is_gone() {
    let mut manager = manager();
    manager.work(at(0));
    let (kind, there) = (ManagedKind::Queue, std::iter::empty().collect());
    manager.tell(ManagerInput::ListBegins(kind), at(1));
    manager.tell(ManagerInput::Listed { kind, there }, at(1));
    assert!(manager.cache().queue("q").is_none());
}

fn named(name: &str, version: u64) -> Observed {
    let mut queue = Queue::default();
    queue.metadata.name = Some(name.to_owned());
    queue.metadata.uid = Some(format!("uid-{name}"));
    queue.metadata.resource_version = Some(version.to_string());
    Observed::Queue(Box::new(queue))
}

#[test]
fn a_list_takes_out_what_it_lacks_but_not_what_was_made_while_it_was_under_way() {
    let mut manager = Manager::new(Vec::new());
    for name in ["stays", "goes"] {
        manager.tell(ManagerInput::Seen(named(name, 1)), at(0));
    }
    manager.tell(ManagerInput::ListBegins(ManagedKind::Queue), at(1));
    // The answer of a create overtakes the list, which is older.
    manager.tell(ManagerInput::Seen(named("new", 9)), at(2));
    manager.tell(ManagerInput::Seen(named("stays", 1)), at(2));
    let there = [ManagedRef::global(ManagedKind::Queue, "stays")];
    let listed = |there: &[ManagedRef]| ManagerInput::Listed {
        kind: ManagedKind::Queue,
        there: there.iter().cloned().collect(),
    };
    manager.tell(listed(&there), at(3));
    let is_known = |manager: &Manager, name: &str| manager.cache().queue(name).is_some();
    assert!(is_known(&manager, "stays") && is_known(&manager, "new"));
    assert!(!is_known(&manager, "goes"));
    // In the next list it would have to be.
    manager.tell(ManagerInput::ListBegins(ManagedKind::Queue), at(4));
    manager.tell(listed(&there), at(5));
    assert!(!is_known(&manager, "new"));
}
