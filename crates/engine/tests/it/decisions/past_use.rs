//! Who used less lately goes first, and what is known of it outlives configurations, copies and processes (spec/13).

use pumice_engine::Engine;
use pumice_engine::view::{Ask, JobUseView, PastUseView, View};
use pumice_fixtures::Dice;
use pumice_model::{Delta, KeptTopic};

use super::cluster::*;

const CONF: &str = "actions: \"enqueue, allocate, backfill\"\n\
    tiers: [{plugins: [{name: priority}, {name: gang}, {name: predicates}, \
    {name: fairshare, arguments: {fairshare.users: said, fairshare.measure: cpu=1, fairshare.halfLife: 1h}}]}]\n";

const OTHER: &str = "actions: \"enqueue, allocate, backfill\"\n\
    tiers: [{plugins: [{name: priority}, {name: gang}, {name: predicates}]}]\n";

fn config(text: &str) -> pumice_conf::Config {
    let parsed = pumice_conf::parse(text, &pumice_engine::REGISTRY);
    parsed.config.expect("a configuration")
}

/// A job of one pod of one core.
fn comes(cluster: &mut Cluster, name: &str, user: &str, created_s: i64) {
    cluster.apply(group(name, 1).user(user).created_s(created_s));
    cluster.apply(
        pod(&format!("{name}-0"), "1c")
            .group(name)
            .created_s(created_s),
    );
}

fn cycle(cluster: &mut Cluster, now_s: i64) -> Vec<String> {
    let decisions = cluster.engine.cycle(now_s);
    cluster.accept(&decisions)
}

fn uses(engine: &Engine) -> PastUseView {
    match engine.known().view(&Ask::Queues) {
        Ok(View::Queues(view)) => view.past_use.expect("a plugin keeps it"),
        other => unreachable!("{other:?}"),
    }
}

fn of_job(engine: &Engine, name: &str) -> Option<JobUseView> {
    let (namespace, name) = ("ns".to_owned(), name.to_owned());
    match engine.known().view(&Ask::Job { namespace, name }) {
        Ok(View::Job(view)) => view.past_use,
        other => unreachable!("{other:?}"),
    }
}

/// Two cores: `ada` has had one for an hour, and `bob` the other for a moment; both want more.
fn contested() -> Cluster {
    let mut cluster = Cluster::under(CONF).with(node("n1", "2c 8Gi pods=9"));
    comes(&mut cluster, "a", "ada", 1);
    assert_eq!(cycle(&mut cluster, 10), ["a-0 n1"]);
    comes(&mut cluster, "b", "bob", 2);
    assert_eq!(cycle(&mut cluster, 3_600), ["b-0 n1"]);
    comes(&mut cluster, "a2", "ada", 3);
    comes(&mut cluster, "b2", "bob", 4);
    assert_eq!(cycle(&mut cluster, 3_670), [""; 0]);
    cluster
}

#[test]
fn the_user_who_used_less_has_the_next_place_though_his_job_came_later() {
    let mut cluster = contested();
    let line = of_job(&cluster.engine, "a2").map(|of| of.to_string());
    let expected = "user ada used 0.73 h weighted units, 1 of 2 users of the queue less";
    assert_eq!(line.as_deref(), Some(expected));
    cluster.engine.apply(Delta::PodDelete("a-0".to_owned()));
    assert_eq!(cycle(&mut cluster, 3_680), ["b2-0 n1"]);
}

#[test]
fn what_is_known_outlives_configurations_and_is_known_to_copies() {
    let mut cluster = contested();
    let before = uses(&cluster.engine);
    assert_eq!(before.users[0].user.as_deref(), Some("ada"));
    let mut copy = cluster.engine.fork().wake(&config(CONF));
    copy.cycle(3_670);
    assert_eq!(uses(&copy), before);
    cluster.engine.reconfigure(&config(CONF));
    cluster.engine.cycle(3_670);
    assert_eq!(uses(&cluster.engine), before);
}

#[test]
fn the_next_process_goes_on_from_what_was_kept_and_nonsense_is_nothing() {
    let cluster = contested();
    let before = uses(&cluster.engine);
    let text = cluster.engine.known().text_to_keep(KeptTopic::Use);
    assert_ne!(cluster.engine.known().last_kept(KeptTopic::Use), Some(0));
    let heard = |text: &str| Delta::KeptText {
        topic: KeptTopic::Use,
        namespace: "volcano-system".to_owned(),
        name: "used".to_owned(),
        text: Some(text.to_owned()),
    };
    // Nobody runs there, so what is known is from the text alone.
    let mut next = Cluster::under(CONF).with(node("n1", "2c 8Gi pods=9"));
    next.engine.apply(heard(&text));
    next.engine.cycle(3_670);
    let used = |view: &PastUseView| view.users.iter().map(|user| user.used_hours).sum::<f64>();
    assert!((used(&uses(&next.engine)) - used(&before)).abs() < 0.005);
    let mut other = Cluster::under(CONF).with(node("n1", "2c 8Gi pods=9"));
    other.engine.apply(heard("nonsense"));
    other.engine.cycle(3_670);
    assert_eq!(used(&uses(&other.engine)), 0.0);
    let quiet = Cluster::under(OTHER);
    assert_eq!(quiet.engine.known().last_kept(KeptTopic::Use), None);
    assert_eq!(quiet.engine.known().text_to_keep(KeptTopic::Use), "");
}

/// Pods come, run and end; cores are short. What is decided under sleep is what trying everybody decides.
#[test]
fn jobs_that_sleep_get_what_they_would_get_if_all_were_tried() {
    for seed in 0..30 {
        let mut dice = Dice(seed);
        let start = || Cluster::under(CONF).with(node("n1", "6c 8Gi pods=99"));
        let (mut asleep, mut awake) = (start(), start());
        asleep.engine.set_full_check_interval_s(Some(i64::MAX));
        awake.engine.set_full_check_interval_s(None);
        let (mut now_s, mut bound, mut woken) = (10, 0, 0);
        for step in 0..60 {
            now_s += 1 + dice.below(90) as i64;
            let name = format!("j{step}");
            let user = ["ada", "bob", "eve", ""][dice.below(4) as usize];
            let ends = dice.below(3) == 0;
            for cluster in [&mut asleep, &mut awake] {
                comes(cluster, &name, user, now_s);
                if ends {
                    cluster.first_bound_ends();
                }
            }
            let [one, all] = [&mut asleep, &mut awake].map(|cluster| cycle(cluster, now_s));
            assert_eq!(one, all, "seed {seed}, step {step}");
            bound += one.len();
            woken += usize::from(asleep.engine.plugins_wake_at_s().is_some());
        }
        assert!(bound > 10 && woken > 10, "{bound} {woken}");
    }
}
