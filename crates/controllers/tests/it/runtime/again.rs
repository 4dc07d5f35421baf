//! What waits because it failed, once the reason is gone.

use jiff::{SignedDuration, Timestamp};
use pumice_controllers::runtime::WorkQueue;

fn at(seconds: i64) -> Timestamp {
    Timestamp::from_second(seconds).expect("a time")
}

#[test]
fn what_failed_is_due_at_once_when_it_is_tried_again_and_other_things_are_not() {
    let mut queue = WorkQueue::default();
    for _ in 0..20 {
        queue.add_after_failure("failed", at(100));
    }
    queue.add("later", at(500));
    queue.add_after_failure("gone well", at(100));
    assert_eq!(queue.pop(at(101)), Some("gone well"));
    queue.forget_failures(&"gone well");
    assert_eq!(queue.pop(at(110)), None, "its pause is minutes by now");
    queue.try_again(at(110));
    assert_eq!(queue.pop(at(110)), Some("failed"));
    assert_eq!(queue.pop(at(110)), None);
    // The next failure is the first.
    assert_eq!(queue.add_after_failure("failed", at(110)), 1);
    let pause = SignedDuration::from_secs(1);
    assert!(
        queue
            .next_at()
            .is_some_and(|due| due.duration_since(at(110)) < pause)
    );
}
