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
fn of_tasks_that_end_as_many_are_rejected_as_queueing_theory_says() {
    let tasks = "a,1000,1024,1,1000,,0,100\n";
    let check = |load: &str, rejected: f64| {
        let more = ["--departures", "--load", load, "--until", "100000"];
        let figures = figures(&packing("packing-ends", NODES, tasks, &more));
        let of = |name: &str| figures["steady"][0][name].as_f64().expect("a share");
        let offered = load.parse::<f64>().expect("a number");
        let in_use = offered * (1.0 - rejected / 100.0);
        for (name, expected) in [
            ("rejected", rejected),
            ("unavoidable", rejected),
            ("in_use", in_use),
        ] {
            let share = of(name);
            assert!(
                (share - expected).abs() < 3.0,
                "{load} {name}: {share}, not {expected}"
            );
        }
    };
    // Three GPUs, and tasks that each take one: what Erlang's formula says of three lines.
    check("100", 34.6);
    check("200", 59.0);
    check("33", 6.25);
}

#[test]
fn a_cluster_with_departures_begins_as_it_is_after_long() {
    // One in a thousand tasks runs for so long that it holds a GPU nearly always.
    let mut tasks = "long,1000,1024,1,1000,,0,1000000\n".to_owned();
    for number in 0..1_000 {
        tasks.push_str(&format!("short-{number},1000,1024,1,1000,,0,1\n"));
    }
    let more = ["--departures", "--until", "1000"];
    let figures = figures(&packing("packing-long", NODES, &tasks, &more));
    let in_use = figures["steady"][0]["in_use"].as_f64().expect("a share");
    assert!(in_use > 60.0, "{in_use}");
}

#[test]
fn a_written_mix_is_told_to_the_plugin_and_read_with_its_lines() {
    let conf = "actions: \"allocate\"\ntiers:\n- plugins:\n  - name: predicates\n  - name: deviceshare\n    arguments:\n      \
                deviceshare.VGPUEnable: true\n      deviceshare.SchedulePolicy: fragmentation\n  - name: fragmentation\n";
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("packing-mix");
    fs::create_dir_all(&folder).expect("a folder");
    fs::write(folder.join("some.conf"), conf).expect("a configuration");
    let told = |mix: &str, more: &[&str]| {
        fs::write(folder.join("mix"), mix).expect("a mix");
        let more = [&["--mix", "mix"], more].concat();
        packing("packing-mix", NODES, "a,1000,1024,1,600,,0,1\n", &more)
    };
    let class = "# a comment\n- 3 cpu=1 volcano.sh/vgpu-number=1 volcano.sh/vgpu-memory=24000\n";
    let with = &["--config", "some.conf"];
    assert_eq!(given_out(&figures(&told(class, with)))[3], 60.0);
    let wrong = error(&told(&format!("{class}nonsense\n"), with));
    assert!(wrong.contains("mix: line 3: `nonsense`"), "{wrong}");
    // Others are measured beside it as they are.
    let plain = conf.replace("  - name: fragmentation\n", "");
    let plain = plain.replace("SchedulePolicy: fragmentation", "SchedulePolicy: binpack");
    fs::write(folder.join("plain.conf"), plain).expect("a configuration");
    let both = told(class, &["--config", "plain.conf", "--config", "some.conf"]);
    assert_eq!(figures(&both)["config"], "plain.conf");
    let neither = error(&told(class, &["--config", "plain.conf"]));
    assert!(
        neither.contains("plain.conf: there is no plugin"),
        "{neither}"
    );
    let nobody = error(&told(class, &[]));
    assert!(
        nobody.contains("no plugin fragmentation that --mix"),
        "{nobody}"
    );
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
