//! HAMi: a device plugin that is slow to answer, and the types of chips, edited while the scheduler
//! runs.

use anyhow::Result;
use pumice_e2e::{DevicePlugins, Lab, LabGuard, PluginSetup, Scheduler};
use serde_json::{Value, json};

use super::{HELD, add_node, chips_of, create, hami_node, hami_pod, is_told, setup};
use crate::devices::all_get_their_own;
use crate::{LIMIT, QUIET, wait_bound, wait_running};

/// Writes the device configuration: the type 310P with one template of this size.
fn write_types(lab: &LabGuard, memory: &str) -> Result<()> {
    let text = format!(
        "vnpus:\n- chipName: 310P3\n  commonWord: Ascend310P\n  resourceName: \
         huawei.com/Ascend310P\n  resourceMemoryName: huawei.com/Ascend310P-memory\n  \
         memoryAllocatable: 21527\n  memoryCapacity: 24576\n  aiCore: 8\n  aiCPU: 7\n  templates:\n  \
         - {{name: part, memory: {memory}, aiCore: 1, aiCPU: 1}}\n"
    );
    let map = json!({
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"namespace": "kube-system", "name": "hami-scheduler-device"},
        "data": {"device-config.yaml": Value::from(text)},
    });
    lab.cluster().apply(&map.to_string())
}

/// What the pod gets that asks for 3000 MiB.
fn place(lab: &LabGuard, scheduler: &Scheduler, name: &str) -> Result<String> {
    create(lab, &hami_pod(name, 3000))?;
    chips_of(lab, scheduler, name, HELD)
}

#[test]
fn types_of_chips_are_followed_and_the_next_pod_waits_for_the_plugin() -> Result<()> {
    let lab = Lab::take()?;
    write_types(&lab, "4000")?;
    add_node(&lab, &hami_node("hami", 2))?;
    let plugins = DevicePlugins::start(&lab, PluginSetup::default())?;
    let scheduler = Scheduler::start(lab.cluster(), &setup()?)?;
    assert_eq!(place(&lab, &scheduler, "a")?, "hami-0,Ascend310P,4000,0:;");

    write_types(&lab, "5000")?;
    std::thread::sleep(QUIET);
    assert_eq!(place(&lab, &scheduler, "b")?, "hami-0,Ascend310P,5000,0:;");

    write_types(&lab, "[")?;
    scheduler.eventually(LIMIT, "the log says what is wrong", || {
        let log = scheduler.log();
        let told = log.contains("kube-system/hami-scheduler-device is not taken");
        Ok(told.then_some(()))
    })?;
    // The last good one stays.
    assert_eq!(place(&lab, &scheduler, "c")?, "hami-0,Ascend310P,5000,0:;");
    wait_running(&lab, &scheduler, "", 3)?;

    plugins.stop();
    create(&lab, &hami_pod("slow-0", 3000))?;
    wait_bound(&lab, &scheduler, "slow-", 1)?;
    create(&lab, &hami_pod("slow-1", 3000))?;
    is_told(&lab, &scheduler, "slow-1", &["device plugin"])?;
    assert_eq!(lab.bound("slow-")?.len(), 1);
    plugins.restart();
    wait_running(&lab, &scheduler, "slow-", 2)?;
    all_get_their_own(&scheduler, &plugins, 5)
}
