//! Queues and configurations of the plugin `capacity`.

use pumice_model::object::{Amounts, QueueObject, QueueState};

use super::super::rng::Rng;
use super::super::{GPU, MIB};
use super::Entry;

/// Plugins by tier. `proportion` is there at times, though nobody asks it then.
pub const TIERS: [&[Entry]; 2] = [
    &[
        ("priority", 6, &["enableJobStarving", "enablePreemptable"]),
        (
            "gang",
            5,
            &[
                "enablePreemptable",
                "enableReclaimable",
                "enableJobStarving",
            ],
        ),
        ("conformance", 3, &["enablePreemptable"]),
    ],
    &[
        ("overcommit", 2, &[]),
        ("drf", 2, &["enablePreemptable"]),
        ("predicates", 10, &[]),
        (
            "capacity",
            12,
            &[
                "enableReclaimable",
                "enablePreemptive",
                "enabledAllocatable",
                "enableJobEnqueued",
                "enableQueueOrder",
            ],
        ),
        ("proportion", 3, &["enableReclaimable"]),
        ("nodeorder", 3, &[]),
    ],
];

/// Says whether the queues of `capacity` are a tree, and how far up it reclaims.
pub fn argue(rng: &mut Rng, text: &mut String) {
    let entry = "  - name: capacity\n";
    let Some(at) = text.find(entry) else { return };
    let mut more = String::new();
    if !rng.one_in(3) {
        more.push_str("    enableHierarchy: true\n");
    }
    if !rng.one_in(3) {
        let level = rng.pick(&["-1", "0", "1", "1", "2", "3"]);
        more.push_str("    arguments:\n      ancestorReclaimLevel: ");
        more.push_str(level);
        more.push('\n');
    }
    text.insert_str(at + entry.len(), &more);
}

/// Names of queues to pick one from for a job: of those with others below them, which take none, fewer.
pub fn names_for_jobs(queues: &[QueueObject]) -> Vec<String> {
    let has_children = |name: &str| queues.iter().any(|queue| queue.parent == name);
    let leaves = queues.iter().filter(|queue| !has_children(&queue.name));
    let leaves: Vec<&QueueObject> = leaves.filter(|queue| queue.name != "root").collect();
    if leaves.len() == queues.len() {
        return queues.iter().map(|queue| queue.name.clone()).collect();
    }
    let all = leaves.iter().copied().cycle().take(5 * leaves.len());
    all.chain(queues).map(|queue| queue.name.clone()).collect()
}

/// Queues, most of them in a tree.
pub fn queues(rng: &mut Rng, odd: bool) -> Vec<QueueObject> {
    let mut names = vec!["default", "q1", "q2", "q3", "q4", "q5"];
    names.truncate(rng.between(2, 6));
    let mut queues: Vec<QueueObject> = Vec::new();
    for name in &names {
        let above: Vec<&str> = queues.iter().map(|queue| queue.name.as_str()).collect();
        let parent = match rng.below(4) {
            0 => "",
            1 => "root",
            _ if odd && rng.one_in(6) => rng.pick(&["missing", "q1", "q2", "q3"]),
            _ if above.is_empty() => "",
            _ => rng.pick(&above),
        };
        let parent = parent.to_owned();
        queues.push(queue(rng, odd, name, parent));
    }
    if rng.one_in(4) {
        let parent = rng.pick(&["", "", "q1"]).to_owned();
        queues.push(queue(rng, false, "root", parent));
    }
    queues
}

fn queue(rng: &mut Rng, odd: bool, name: &str, parent: String) -> QueueObject {
    let mut queue = QueueObject {
        name: name.to_owned(),
        created_s: rng.pick(&[0, 10]),
        weight: 1,
        priority: rng.pick(&[0, 0, 0, 5]),
        reclaimable: !rng.one_in(8),
        parent,
        ..QueueObject::default()
    };
    if !rng.one_in(6) {
        queue.deserved = amounts(rng, &[1000, 2000, 4000, 6000], 2);
    }
    if rng.one_in(5) {
        queue.guarantee = amounts(rng, &[500, 1000, 2000], 4);
    }
    if rng.one_in(4) {
        queue.capability = amounts(rng, &[0, 4000, 6000, 8000], 4);
    }
    if odd && rng.one_in(10) {
        queue.state = rng.pick(&[QueueState::Closed, QueueState::Closing]);
    }
    queue
}

/// cpu, and others where one in `odds` says so.
fn amounts(rng: &mut Rng, cpu: &[i64], odds: usize) -> Amounts {
    let mut amounts = Amounts::default();
    if !rng.one_in(8) {
        amounts.push(("cpu".to_owned(), rng.pick(cpu)));
    }
    if rng.one_in(odds) {
        let memory = rng.pick(&[512, 1024, 2048, 4096]) * MIB;
        amounts.push(("memory".to_owned(), memory));
    }
    if rng.one_in(2 * odds) {
        amounts.push((GPU.to_owned(), rng.pick(&[1000, 2000])));
    }
    if rng.one_in(4 * odds) {
        amounts.push(("pods".to_owned(), rng.pick(&[1, 3, 6])));
    }
    if rng.one_in(6 * odds) {
        let memory = rng.pick(&[10_000, 20_000]) * 1000;
        amounts.push(("volcano.sh/vgpu-memory".to_owned(), memory));
    }
    amounts.sort();
    amounts
}
