//! A scheduler that is killed while NPUs are handed out.

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use pumice_e2e::{DevicePlugins, Lab, LabGuard, PluginSetup, Scheduler};

use super::{
    CORES, HELD, add_node, annotation, hami_node, hami_pod, mind_node, mind_pod, now_s, setup,
    tell_devices,
};
use crate::deploying::grant_mindcluster_nodes;
use crate::devices::all_get_their_own;
use crate::{LIMIT, LONG, PODS, QUIET, accepted_binds, wait_running_for};

#[test]
fn a_scheduler_killed_in_the_middle_hands_no_npu_out_twice() -> Result<()> {
    let lab = Lab::take()?;
    lab.cluster().create_namespace("mindx-dl")?;
    grant_mindcluster_nodes(lab.cluster())?;
    add_node(&lab, &mind_node("mind", 2, "Ascend310P-8"))?;
    add_node(&lab, &hami_node("hami", 2))?;
    tell_devices(&lab, "mind", "", now_s(), "")?;
    let plugins = DevicePlugins::start(
        &lab,
        PluginSetup {
            delay: Duration::from_millis(200),
            ..PluginSetup::default()
        },
    )?;
    let setup = setup()?;
    let mut first = Scheduler::start(lab.cluster(), &setup)?;
    // Of each chip 8 AI cores are four vNPUs of vir02_1c; 7 AI CPUs are three of vir02.
    let mind = (0..10).map(|n| mind_pod(&format!("mind-{n}"), 2, &[]));
    let hami = (0..8).map(|n| hami_pod(&format!("hami-{n}"), 6000));
    lab.rest()
        .create_all(PODS, mind.chain(hami).collect(), 16)?;
    first.eventually(LIMIT, "some are bound", || {
        let some = lab.bound("mind-")?.len() >= 3 && lab.bound("hami-")?.len() >= 2;
        Ok(some.then_some(()))
    })?;
    first.process().kill();
    let second = Scheduler::start(lab.cluster(), &setup)?;
    wait_running_for(LONG, &lab, &second, "mind-", 8)?;
    wait_running_for(LONG, &lab, &second, "hami-", 6)?;
    all_get_their_own(&second, &plugins, 14)?;
    std::thread::sleep(QUIET);
    assert_eq!(
        (lab.bound("mind-")?.len(), lab.bound("hami-")?.len()),
        (8, 6)
    );
    no_chip_is_overfull(&lab)?;
    let binds = accepted_binds(&lab)?;
    let ours = ["mind-", "hami-"];
    let twice: Vec<_> = binds
        .iter()
        .filter(|(pod, count)| ours.iter().any(|of| pod.starts_with(of)) && **count > 1)
        .collect();
    ensure!(twice.is_empty(), "{twice:?}");
    Ok(())
}

/// What is written on the pods is no more than each chip has.
fn no_chip_is_overfull(lab: &LabGuard) -> Result<()> {
    let mut vnpus: BTreeMap<String, usize> = BTreeMap::new();
    let mut memory: BTreeMap<String, u64> = BTreeMap::new();
    for pod in lab.rest().list("/api/v1/pods")? {
        let text = annotation(&pod, CORES);
        if !text.is_empty() {
            let (chip, template) = text.split_once('-').context(text.clone())?;
            assert_eq!(template, "vir02_1c");
            *vnpus.entry(chip.to_owned()).or_default() += 1;
        }
        for device in annotation(&pod, HELD).split([';', ':']) {
            let fields: Vec<&str> = device.split(',').collect();
            if let [chip, "Ascend310P", mib, "0"] = fields[..] {
                *memory.entry(chip.to_owned()).or_default() += mib.parse::<u64>()?;
            }
        }
    }
    let four = |chip: &str| (chip.to_owned(), 4);
    assert_eq!(vnpus, ["0", "1"].map(four).into());
    let three = |chip: &str| (chip.to_owned(), 3 * 6144);
    assert_eq!(memory, ["hami-0", "hami-1"].map(three).into());
    Ok(())
}
