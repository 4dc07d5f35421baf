//! `pumice bench packing`, on traces so small that their outcome can be told by hand.

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Output};

use serde_json::Value;

const NODES: &str = "sn,cpu_milli,memory_mib,gpu,model\none,8000,8192,2,A\ntwo,8000,8192,1,B\n";
const NAMES: &str =
    "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,creation_time,deletion_time\n";

/// What the command prints of a trace in a folder of this name.
fn packing(name: &str, nodes: &str, tasks: &str, more: &[&str]) -> Output {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    fs::create_dir_all(&folder).expect("a folder");
    fs::write(folder.join("nodes.csv"), nodes).expect("nodes");
    fs::write(folder.join("tasks.csv"), format!("{NAMES}{tasks}")).expect("tasks");
    Command::new(env!("CARGO_BIN_EXE_pumice"))
        .current_dir(&folder)
        .args([
            "bench",
            "packing",
            "--nodes",
            "nodes.csv",
            "--pods",
            "tasks.csv",
        ])
        .args(["--draws", "2", "--output", "json"])
        .args(more)
        .output()
        .expect("the binary runs")
}

fn figures(output: &Output) -> Value {
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{error}");
    let all: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    all[0].clone()
}

fn error(output: &Output) -> String {
    assert!(!output.status.success());
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Percent given out once 1, 34, 67 and 100 percent have arrived.
fn given_out(figures: &Value) -> [f64; 4] {
    [1, 34, 67, 100].map(|arrived| {
        let share = figures["given_out"][arrived - 1].as_f64().expect("a share");
        (share * 10.0).round() / 10.0
    })
}

#[test]
fn whole_gpus_fill_all_nodes() {
    let output = packing("packing-whole", NODES, "a,1000,1024,1,1000,,0,1\n", &[]);
    assert_eq!(given_out(&figures(&output)), [33.3, 66.7, 100.0, 100.0]);
}

#[test]
fn a_task_goes_to_its_models_alone() {
    let output = packing("packing-models", NODES, "a,1000,1024,1,1000,B|C,0,1\n", &[]);
    assert_eq!(given_out(&figures(&output)), [33.3; 4]);
}

#[test]
fn a_rest_too_small_for_any_task_is_given_to_nobody() {
    let output = packing(
        "packing-rests",
        NODES,
        "a,1000,1024,1,600,,0,1\n",
        &["--until", "200"],
    );
    let figures = figures(&output);
    let last = figures["given_out"].as_array().and_then(|all| all.last());
    assert_eq!(last.and_then(Value::as_f64), Some(60.0));
}

#[test]
fn tasks_that_end_make_room() {
    let tasks = "a,1000,1024,1,1000,,0,100\n";
    let output = packing("packing-ends", NODES, tasks, &["--departures"]);
    assert_eq!(figures(&output)["rejected"][0].as_f64(), Some(0.0));
}

#[test]
fn a_picture_has_a_curve_with_the_name_of_its_configuration() {
    let tasks = "a,1000,1024,1,1000,,0,1\n";
    let output = packing("packing-picture", NODES, tasks, &["--svg", "curve.svg"]);
    assert!(output.status.success());
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("packing-picture");
    let picture = fs::read_to_string(folder.join("curve.svg")).expect("a picture");
    assert!(
        picture.contains("polyline") && picture.contains(">documented<"),
        "{picture}"
    );
}

#[test]
fn what_is_wrong_with_a_trace_is_said_with_its_place() {
    let wrong = [
        (
            NODES,
            "a,1000,1024,1,many,,0,1\n",
            "tasks.csv:2: gpu_milli is \"many\", and has to be a whole number",
        ),
        (
            NODES,
            "a,1000,1024,1,1500,,0,1\n",
            "tasks.csv:2: gpu_milli 1500 is more than a GPU",
        ),
        (
            NODES,
            "a,1000\n",
            "tasks.csv:2: 2 values, and 8 names in line 1",
        ),
        (NODES, "a,1000,1024,0,0,,0,1\n", "no task asks for a GPU"),
        (
            "sn,cpu_milli\none,1\n",
            "a,1000,1024,1,1000,,0,1\n",
            "nodes.csv: line 1 names no column memory_mib",
        ),
        (
            "sn,cpu_milli,memory_mib,gpu,model\n",
            "a,1000,1024,1,1000,,0,1\n",
            "there are no nodes",
        ),
    ];
    for (nodes, tasks, expected) in wrong {
        let told = error(&packing("packing-wrong", nodes, tasks, &[]));
        assert!(told.contains(expected), "{told}");
    }
}
