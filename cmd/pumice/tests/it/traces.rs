//! `pumice simulate --trace`: what it prints, writes and refuses.

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Output};

use serde_json::Value;

const TRACE: &str = "submit,duration,members,cpu,memory,cards,queue\n\
                     0,100,1,8,64Gi,6,a\n10,50,2,8,64Gi,4,b\n20,50,1,8,64Gi,1,b\n";
const FILL: &str = "actions: \"enqueue, allocate, backfill\"\ntiers:\n- plugins:\n  - name: gang\n  - name: predicates\n  - name: binpack\n";
const LIKE: [&str; 4] = ["--nodes", "1", "--like", "cpu=96,memory=768Gi,cards=8"];

/// A folder with a trace and a configuration.
fn folder(name: &str) -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    fs::create_dir_all(&folder).expect("a folder");
    fs::write(folder.join("trace.csv"), TRACE).expect("a trace");
    fs::write(folder.join("fill.conf"), FILL).expect("a configuration");
    folder
}

fn simulate(folder: &PathBuf, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_pumice"))
        .current_dir(folder)
        .arg("simulate")
        .args(arguments)
        .output()
        .expect("the binary runs")
}

fn error(output: &Output) -> String {
    assert_eq!(output.status.code(), Some(2));
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn configurations_stand_side_by_side_and_the_same_input_gives_the_same_bytes() {
    let folder = folder("trace-compare");
    let table = [
        "--trace",
        "trace.csv",
        "--config",
        "fill.conf",
        "--config",
        "fill.conf",
    ];
    let arguments: Vec<&str> = table.into_iter().chain(LIKE).collect();
    let output = simulate(&folder, &arguments);
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let heads = text
        .lines()
        .find(|line| line.starts_with("FIGURE"))
        .expect("heads");
    assert_eq!(heads.matches("fill.conf").count(), 2, "{text}");
    assert_eq!(simulate(&folder, &arguments).stdout, output.stdout);
}

#[test]
fn scripts_get_all_figures_with_their_curves() {
    let folder = folder("trace-json");
    let json = ["--trace", "trace.csv", "--output", "json"];
    let arguments: Vec<&str> = json.into_iter().chain(LIKE).collect();
    let output = simulate(&folder, &arguments);
    let report: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(report["trace"]["jobs"], 3);
    let run = &report["runs"][0];
    assert_eq!(
        (&run["ended"], &run["makespanSeconds"]),
        (&Value::from(3), &Value::from(150))
    );
    assert_eq!(run["waitSeconds"]["max"], 90.0);
    let curve = run["curves"]["waiting"].as_array().expect("a curve");
    assert!(curve.len() > 50, "{}", curve.len());
}

#[test]
fn a_page_needs_nothing_but_itself() {
    let folder = folder("trace-page");
    let html = ["--trace", "trace.csv", "--html", "page.html"];
    let arguments: Vec<&str> = html.into_iter().chain(LIKE).collect();
    assert!(simulate(&folder, &arguments).status.success());
    let page = fs::read_to_string(folder.join("page.html")).expect("a page");
    assert!(
        page.contains("<svg")
            && page.contains("polyline")
            && page.contains("Queues under built-in")
    );
    let elsewhere = page.replace("http://www.w3.org/2000/svg", "");
    for word in ["<script", "http", "src=", "@import", "url("] {
        assert!(!elsewhere.contains(word), "{word}");
    }
}

#[test]
fn what_cannot_be_run_is_refused_with_what_to_do() {
    let folder = folder("trace-refused");
    fs::write(folder.join("other.csv"), "a,b\n1,2\n").expect("a file");
    fs::write(folder.join("binary.csv"), b"submit,duration\n\xff\xfe\n").expect("a file");
    fs::write(
        folder.join("nodes.csv"),
        "sn,cpu_milli,memory_mib,gpu,model\nn,x,1,1,V\n",
    )
    .expect("a file");
    let like = |like: &'static str| vec!["--trace", "trace.csv", "--nodes", "1", "--like", like];
    let refused = [
        (
            vec!["--trace", "other.csv"],
            "other.csv:1: this is no trace that is known",
        ),
        (
            vec!["--trace", "binary.csv"],
            "binary.csv:2: this is no text",
        ),
        (
            vec!["--trace", "trace.csv", "--trace-format", "helios"],
            "there is no column `gpu_num`",
        ),
        (
            vec!["--trace", "trace.csv"],
            "a trace needs nodes, and there are none",
        ),
        (
            vec!["--trace", "trace.csv", "--trace-nodes", "nodes.csv"],
            "nodes.csv:2: cpu_milli is \"x\"",
        ),
        (
            like("n9"),
            "--like: no node of the manifests is called \"n9\"",
        ),
        (
            like("gpus=8"),
            "--like: \"gpus\" is none of cpu, memory, cards, model",
        ),
        (
            vec!["--trace", "trace.csv", "--until", "soon"],
            "--until: \"soon\"",
        ),
        (
            vec![
                "--config",
                "fill.conf",
                "--config",
                "fill.conf",
                "trace.csv",
            ],
            "a second configuration",
        ),
    ];
    for (arguments, message) in refused {
        let error = error(&simulate(&folder, &arguments));
        assert!(error.contains(message), "{arguments:?}: {error}");
        assert!(error.contains("= help: "), "{arguments:?}: {error}");
    }
}

#[test]
fn rows_that_are_left_out_are_told_and_strict_minds_them() {
    let folder = folder("trace-strict");
    fs::write(
        folder.join("trace.csv"),
        format!("{TRACE}30,x,1,1,1Gi,1,b\n"),
    )
    .expect("a trace");
    let arguments: Vec<&str> = ["--trace", "trace.csv"].into_iter().chain(LIKE).collect();
    let output = simulate(&folder, &arguments);
    assert!(output.status.success());
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(
        error.contains("warning: trace.csv:5: the row is left out: duration is \"x\""),
        "{error}"
    );
    let strict: Vec<&str> = arguments.into_iter().chain(["--strict"]).collect();
    assert_eq!(simulate(&folder, &strict).status.code(), Some(1));
}

#[test]
fn a_made_up_trace_can_be_written_and_run() {
    let folder = folder("trace-made");
    let made = Command::new(env!("CARGO_BIN_EXE_pumice"))
        .current_dir(&folder)
        .args([
            "bench", "trace", "--jobs", "50", "--nodes", "4", "--write", "made.csv",
        ])
        .status();
    assert!(made.expect("the binary runs").success());
    let output = simulate(
        &folder,
        &[
            "--trace",
            "made.csv",
            "--nodes",
            "40",
            "--like",
            "cpu=128,memory=1Ti,cards=8",
            "--strict",
        ],
    );
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(
        text.starts_with("50 jobs of made.csv (pumice)\n40 nodes"),
        "{text}"
    );
}
