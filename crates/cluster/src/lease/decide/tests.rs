use super::*;

fn s(seconds: u64) -> Mono {
    Mono(Duration::from_secs(seconds))
}

fn settings() -> ElectionSettings {
    ElectionSettings::new("me")
}

fn record(holder: &str, stamp: i64) -> LeaseRecord {
    LeaseRecord {
        holder: holder.to_owned(),
        duration: Some(Duration::from_secs(15)),
        renewed_us: Some(stamp),
        transitions: 0,
    }
}

fn standby(at: u64) -> CandidateView {
    let mut observed = CandidateView::default();
    observed.saw(Some(record("other", 1)), s(at));
    observed.read_again(s(at + 1));
    observed
}

fn holder(sent: u64) -> CandidateView {
    let mut observed = CandidateView::default();
    observed.held(record("me", 1), s(sent), s(sent));
    observed
}

fn wait(seconds: u64) -> ElectionStep {
    ElectionStep::Wait(Duration::from_secs(seconds))
}

#[test]
fn a_newcomer_reads_first() {
    assert_eq!(
        decide(&CandidateView::default(), &settings(), s(0)),
        ElectionStep::Read
    );
}

#[test]
fn a_missing_lease_is_created() {
    let mut observed = CandidateView::default();
    observed.saw(None, s(0));
    assert_eq!(decide(&observed, &settings(), s(0)), ElectionStep::Create);
}

/// When what was seen free at second 110 may be taken, if it is looked at in between.
fn pause_from_110() -> u64 {
    110 + RELEASE_PAUSE.as_secs()
}

#[test]
fn a_lease_that_somebody_gives_back_is_taken_after_a_pause_whatever_its_record_says() {
    for seconds in [None, Some(1), Some(15)] {
        let mut observed = standby(100);
        let mut released = record("", 2);
        released.duration = seconds.map(Duration::from_secs);
        observed.saw(Some(released), s(110));
        observed.read_again(s(200));
        let free = pause_from_110();
        assert_eq!(decide(&observed, &settings(), s(free - 1)), wait(1));
        assert_eq!(decide(&observed, &settings(), s(free)), ElectionStep::Take);
    }
}

#[test]
fn a_lease_that_was_given_back_and_deleted_is_made_after_that_pause() {
    let mut observed = standby(100);
    observed.saw(Some(record("", 2)), s(110));
    observed.saw(None, s(111));
    observed.read_again(s(200));
    let free = pause_from_110();
    assert_eq!(decide(&observed, &settings(), s(free - 1)), wait(1));
    assert_eq!(
        decide(&observed, &settings(), s(free)),
        ElectionStep::Create
    );
}

#[test]
fn what_was_given_back_before_anything_was_listed_is_taken_at_once() {
    let mut observed = CandidateView::default();
    observed.saw(Some(record("", 1)), s(110));
    let unsure = decide(&observed, &settings(), s(110));
    assert_ne!(unsure, ElectionStep::Take, "it may be newer than the lists");
    observed.lists_follow();
    assert_eq!(decide(&observed, &settings(), s(110)), ElectionStep::Take);
    observed.saw(Some(record("", 1)), s(111));
    assert_eq!(decide(&observed, &settings(), s(111)), ElectionStep::Take);
}

#[test]
fn what_is_given_back_after_the_lists_began_is_waited_for() {
    let befores = [None, Some(record("other", 1)), Some(record("", 1))];
    for before in befores {
        let mut observed = CandidateView::default();
        observed.saw(before, s(100));
        observed.lists_follow();
        observed.saw(Some(record("", 3)), s(110));
        observed.read_again(s(200));
        let free = pause_from_110();
        assert_eq!(decide(&observed, &settings(), s(free - 1)), wait(1));
        assert_eq!(decide(&observed, &settings(), s(free)), ElectionStep::Take);
    }
}

#[test]
fn our_own_lease_without_a_term_is_taken_at_once() {
    let mut observed = CandidateView::default();
    observed.saw(Some(record("me", 1)), s(0));
    assert_eq!(decide(&observed, &settings(), s(0)), ElectionStep::Take);
}

#[test]
fn a_standby_takes_over_exactly_at_expiry_by_its_own_clock() {
    let observed = standby(100);
    let at = |seconds| decide(&observed, &settings(), s(seconds));
    assert_eq!(at(100), wait(1));
    assert_eq!(at(101), ElectionStep::Read);
    assert_eq!(at(114), ElectionStep::Read);
    assert_eq!(at(115), ElectionStep::Take);
}

#[test]
fn a_standby_wakes_at_expiry_when_its_next_look_is_later() {
    let mut observed = standby(100);
    observed.read_again(s(130));
    assert_eq!(decide(&observed, &settings(), s(113)), wait(2));
}

#[test]
fn any_change_of_the_record_starts_the_wait_anew() {
    let changes: [fn(&mut LeaseRecord); 4] = [
        |r| r.renewed_us = Some(2),
        |r| r.renewed_us = Some(-7),
        |r| r.holder = "third".to_owned(),
        |r| r.transitions = 1,
    ];
    for change in changes {
        let mut observed = standby(100);
        let mut changed = record("other", 1);
        change(&mut changed);
        observed.saw(Some(changed), s(110));
        observed.read_again(s(200));
        assert_eq!(decide(&observed, &settings(), s(115)), wait(10));
    }
}

#[test]
fn an_unchanged_record_does_not_start_the_wait_anew() {
    let mut observed = standby(100);
    observed.saw(Some(record("other", 1)), s(114));
    assert_eq!(decide(&observed, &settings(), s(115)), ElectionStep::Take);
}

#[test]
fn the_holders_own_duration_counts_and_ours_where_it_has_none() {
    for (duration, free) in [(Some(30), 130), (None, 115)] {
        let mut observed = CandidateView::default();
        let mut other = record("other", 1);
        other.duration = duration.map(Duration::from_secs);
        observed.saw(Some(other), s(100));
        observed.read_again(s(1000));
        assert_eq!(decide(&observed, &settings(), s(free - 1)), wait(1));
        assert_eq!(decide(&observed, &settings(), s(free)), ElectionStep::Take);
    }
}

#[test]
fn a_standby_waits_for_the_term_of_a_holder_whose_lease_was_deleted() {
    let mut observed = standby(100);
    observed.saw(None, s(105));
    observed.read_again(s(200));
    assert_eq!(decide(&observed, &settings(), s(105)), wait(10));
    assert_eq!(decide(&observed, &settings(), s(115)), ElectionStep::Create);
}

#[test]
fn a_failed_take_over_is_tried_again_after_a_pause() {
    let mut observed = standby(100);
    observed.failed(s(115), Duration::from_secs(2));
    assert_eq!(decide(&observed, &settings(), s(115)), wait(2));
    assert_eq!(decide(&observed, &settings(), s(117)), ElectionStep::Take);
}

#[test]
fn a_lost_race_is_read_again_at_once() {
    let mut observed = standby(100);
    observed.conflict();
    assert_eq!(decide(&observed, &settings(), s(115)), ElectionStep::Read);
}

#[test]
fn the_holder_renews_every_retry_period() {
    let observed = holder(100);
    assert_eq!(decide(&observed, &settings(), s(100)), wait(2));
    assert_eq!(decide(&observed, &settings(), s(102)), ElectionStep::Renew);
}

#[test]
fn the_holder_pauses_after_a_failure_but_not_beyond_its_deadline() {
    let mut observed = holder(100);
    observed.failed(s(109), Duration::from_secs(2));
    assert_eq!(decide(&observed, &settings(), s(109)), wait(1));
    let lost = ElectionStep::Lost(Loss::Deadline);
    assert_eq!(decide(&observed, &settings(), s(110)), lost);
}

#[test]
fn a_holder_whose_update_conflicts_looks_before_it_gives_up() {
    let mut observed = holder(100);
    observed.conflict();
    assert_eq!(decide(&observed, &settings(), s(102)), ElectionStep::Read);
    observed.saw(Some(record("me", 9)), s(102));
    assert_eq!(decide(&observed, &settings(), s(102)), ElectionStep::Renew);
}

#[test]
fn a_holder_that_finds_another_or_nothing_has_lost() {
    let cases = [
        (Some(record("other", 3)), Loss::Taken),
        (Some(record("", 3)), Loss::Taken),
        (None, Loss::Deleted),
    ];
    for (found, loss) in cases {
        let mut observed = holder(100);
        observed.saw(found, s(101));
        assert_eq!(
            decide(&observed, &settings(), s(101)),
            ElectionStep::Lost(loss)
        );
    }
}

#[test]
fn after_the_term_a_candidate_goes_on_from_what_it_knows() {
    let mut observed = holder(100);
    observed.drop_term();
    assert_eq!(decide(&observed, &settings(), s(110)), ElectionStep::Take);
    observed.saw(Some(record("other", 3)), s(110));
    observed.read_again(s(200));
    assert_eq!(decide(&observed, &settings(), s(110)), wait(15));
}
