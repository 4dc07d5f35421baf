//! What actions decide in a small cluster, both as texts.

use expect_test::Expect;
use pumice_actions::Kernel;
use pumice_conf::{Registry, parse};
use pumice_fixtures::Cluster;
use pumice_framework::{Evicts, ReasonTable, Session, Unobserved};

static REGISTRY: Registry = Registry {
    plugins: pumice_plugins::SPECS,
    actions: pumice_actions::SPECS,
};

/// One cycle of these actions (`enqueue, allocate`) under these plugins (`priority gang / predicates`, a slash between
/// tiers, what a plugin is told behind it: `gang enablePreemptable:false`) in that cluster ([`Cluster::of`]) decides what is expected: who is admitted, who goes by which action for whom,
/// who gets a node, and who waits for one.
pub fn check(actions: &str, plugins: &str, cluster: &str, expect: &Expect) {
    let tiers = plugins.split('/').map(|tier| {
        let words = tier.split_whitespace();
        let lines = words.map(|word| match word.split_once(':') {
            None => format!("  - name: {word}\n"),
            Some((field, value)) => format!("    {field}: {value}\n"),
        });
        format!("- plugins:\n{}", lines.collect::<String>())
    });
    let conf = format!(
        "actions: \"{actions}\"\ntiers:\n{}",
        tiers.collect::<String>()
    );
    let parsed = parse(&conf, &REGISTRY);
    let config = parsed.config.expect("a configuration");
    let mut reasons = ReasonTable::default();
    let mut plugins = pumice_plugins::build(&config, &mut reasons);
    let mut kernel = Kernel::new(reasons);
    let mut state = Cluster::of(cluster).state();
    kernel.begin_cycle(&state);
    let names = &config.actions;
    let has = |name: &str| names.iter().any(|known| known == name);
    let mut session = Session::open(&mut state, &mut plugins, has("enqueue"), 0, &mut Unobserved);
    session.evicts = Evicts {
        preempt: has("preempt") || has("gangpreempt"),
        reclaim: has("reclaim") || has("gangreclaim"),
        reclaim_passes_marks: false,
    };
    session.wake(Default::default(), true);
    for name in names {
        let action = pumice_actions::find(name).expect("an action of the list");
        let arguments = config.configuration(name).cloned().unwrap_or_default();
        (action.run)(&mut session, &mut kernel, &arguments);
    }
    expect.assert_eq(&decided(&session));
}

/// A line each, in the order of the decisions.
fn decided(session: &Session<'_>) -> String {
    let state = &*session.state;
    let task = |ix| &*state.task(ix).name;
    let job = |ix| state.population().job_key(ix);
    let node = |ix| &state.nodes().object(ix).name;
    let plan = &session.plan;
    let admitted = session.admitted.iter().map(|ix| format!("+ {}", job(*ix)));
    let going = plan.evictions.iter().map(|one| {
        let by = one.by.map(|ix| format!(" for {}", job(ix)));
        let by = by.unwrap_or_default();
        format!("- {} by {}{by}", task(one.task), one.reason)
    });
    let bound = plan.binds.iter();
    let bound = bound.map(|one| format!("{} on {}", task(one.task), node(one.node)));
    let waiting = plan.nominations.iter();
    let waiting = waiting.map(|(ix, at)| format!("{} waits for {}", task(*ix), node(*at)));
    let lines = admitted.chain(going).chain(bound).chain(waiting);
    lines.map(|line| line + "\n").collect()
}
