//! `docs/guide/first-hour.md`, walked from top to bottom on a real API server: files are saved as the
//! page says, and every command prints what stands below it. Ages, times, UIDs and the widths of
//! columns may differ. `UPDATE_EXPECT=1 cargo test -p pumice-e2e first_hour` writes what is shown
//! anew, in the translation too.
//!
//! What needs no cluster is tried by the tests of `pumice`, what needs containers by nobody.

use std::path::Path;
use std::time::Duration;

use anyhow::{Result, ensure};
use pumice_e2e::{
    Controllers, Lab, NodeShape, Options, Page, PageBlock, PageStep, PortForwarder, Scheduler,
    Setup, eventually, renews, scratch, timeless,
};
use serde_json::json;

const PAGE: &str = "docs/guide/first-hour.md";

const WORKSPACE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/..");

/// The scheduler's pod.
const POD: &str = "volcano-scheduler-0";

/// Words of commands that only look, and are run again until they show what the page shows.
const LOOKS: [&str; 8] = [
    " get ",
    " view ",
    " list",
    " explain ",
    " describe ",
    " queues",
    " cards",
    " top",
];

/// Longest wait for what a command shows. Kubernetes' garbage collector looks for new kinds each half
/// minute, so in a cluster as young as this the pods of a deleted Job go as much later.
const PATIENCE: Duration = Duration::from_secs(120);

/// Pause before something is looked at whose text is to be renewed.
const SETTLED: Duration = Duration::from_secs(6);

/// A cluster as kind makes it with two workers, with everything installed and running.
struct NewCluster {
    // Dropped before the cluster.
    _scheduler: Scheduler,
    _controllers: Controllers,
    _forwarder: PortForwarder,
    lab: Lab,
}

impl NewCluster {
    fn start() -> Result<Self> {
        let lab = Lab::start(Options::default())?;
        lab.cluster().install_policies()?;
        let configure = "kubectl apply -f deploy/once/configuration.yaml";
        lab.cluster().shell(Path::new(WORKSPACE), configure)?;
        let forwarder = PortForwarder::start(lab.cluster())?;
        let mut control = forwarder.node("kind-control-plane");
        let taint = json!({"key": "node-role.kubernetes.io/control-plane", "effect": "NoSchedule"});
        control["spec"] = json!({"taints": [taint]});
        lab.rest().create("/api/v1/nodes", &control)?;
        let worker = NodeShape {
            cpu: "8",
            memory: "16Gi",
            ..NodeShape::default()
        };
        for name in ["kind-worker", "kind-worker2"] {
            lab.rest().create("/api/v1/nodes", &worker.object(name))?;
        }
        let controllers = Controllers::start(lab.cluster(), &Setup::default())?;
        let scheduler = leader(&lab)?;
        Ok(Self {
            _scheduler: scheduler,
            _controllers: controllers,
            _forwarder: forwarder,
            lab,
        })
    }
}

/// The scheduler as `install.yaml` starts it, in a pod of the control plane's node.
fn leader(lab: &Lab) -> Result<Scheduler> {
    let map = "volcano-system/volcano-scheduler-configmap";
    let setup = Setup {
        flags: vec![format!("--scheduler-configmap={map}")],
        ..Setup::default()
    };
    Scheduler::start_in_pod(lab.cluster(), POD, "kind-control-plane", setup)
}

/// Whether it has commands, and those need a cluster.
fn asks_a_cluster(block: &PageBlock) -> bool {
    block.language == "console" && !block.text.starts_with("$ pumice simulate")
}

/// What stands in such blocks of a page.
fn consoles(page: &Page) -> impl Iterator<Item = String> {
    let blocks = page.blocks().into_iter().filter(asks_a_cluster);
    blocks.map(|block| block.text)
}

/// What a command prints; one that looks is run again until that is what the page shows.
fn printed(lab: &Lab, folder: &Path, step: &PageStep) -> Result<String> {
    let run = || lab.cluster().shell(folder, &step.command);
    let is_look = LOOKS.iter().any(|word| step.command.contains(word));
    if !is_look {
        // Who deletes a queue may have to wait until what was in it is gone.
        return eventually(PATIENCE, &step.command, || run().map(Some));
    }
    if renews() {
        std::thread::sleep(SETTLED);
        return run();
    }
    let expected = timeless(&step.shown);
    let mut last = String::new();
    let seen = eventually(PATIENCE, &step.command, || {
        last = run()?;
        Ok((timeless(&last) == expected).then(|| last.clone()))
    });
    // The caller tells the difference.
    Ok(seen.unwrap_or(last))
}

#[test]
fn every_command_of_the_first_hour_prints_what_stands_below_it() -> Result<()> {
    let page = Page::read(PAGE)?;
    let cluster = NewCluster::start()?;
    let folder = scratch("first-hour")?;
    let mut walked = 0;
    for block in page.blocks() {
        if let Some(name) = block.file_name() {
            std::fs::write(folder.join(name), &block.text)?;
        }
        if !asks_a_cluster(&block) {
            continue;
        }
        let mut now = String::new();
        for step in block.steps() {
            walked += 1;
            let printed = printed(&cluster.lab, &folder, &step)?;
            let is_shown = timeless(&printed) == timeless(&step.shown);
            ensure!(
                is_shown || renews(),
                "$ {}\n{printed}\nbut {PAGE} shows\n{}",
                step.command,
                step.shown
            );
            let text = if is_shown { &step.shown } else { &printed };
            now.push_str(&format!("$ {}\n{text}", step.command));
        }
        if now != block.text {
            Page::renew(&block.text, &now)?;
        }
    }
    ensure!(walked > 15, "{walked} commands");
    Ok(())
}

/// What no simulation prints is shown there as the first hour has seen it.
#[test]
fn the_page_about_gpus_shows_what_the_first_hour_shows() -> Result<()> {
    let of_first_hour: Vec<String> = consoles(&Page::read(PAGE)?).collect();
    let mut seen = 0;
    for text in consoles(&Page::read("docs/guide/gpus.md")?) {
        seen += 1;
        ensure!(of_first_hour.contains(&text), "not in {PAGE}:\n{text}");
    }
    ensure!(seen > 0, "no command that asks a cluster");
    Ok(())
}
