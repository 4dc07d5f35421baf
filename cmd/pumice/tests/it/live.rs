//! The parts of `explain`, `top`, `queues`, `cards`, `job`, `queue` and `completion` that need no cluster.

use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::{Command, Output};

const PROGRAM: &str = env!("CARGO_BIN_EXE_pumice");

fn run(program: &Path, arguments: &[&str]) -> Output {
    let command = Command::new(program)
        .args(arguments)
        .env("KUBECONFIG", "/nonexistent/kubeconfig")
        .env("HOME", "/nonexistent")
        .output();
    command.expect("it runs")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn as_a_plugin_of_kubectl_it_is_named_like_one() {
    let link = Path::new(env!("CARGO_TARGET_TMPDIR")).join("kubectl-pumice");
    let _ = std::fs::remove_file(&link);
    symlink(PROGRAM, &link).expect("a link");
    let help = run(&link, &["explain", "--help"]);
    let help = text(&help.stdout);
    assert!(help.contains("Usage: kubectl pumice explain"), "{help}");
    let help = text(&run(Path::new(PROGRAM), &["explain", "--help"]).stdout);
    assert!(help.contains("Usage: pumice explain"), "{help}");
}

#[test]
fn the_version_is_said_without_a_cluster() {
    let said = text(&run(Path::new(PROGRAM), &["version"]).stdout);
    let expected = format!("pumice {} ", env!("CARGO_PKG_VERSION"));
    assert!(said.starts_with(&expected), "{said}");
}

#[test]
fn every_shell_gets_a_script_with_the_commands() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let output = run(Path::new(PROGRAM), &["completion", shell]);
        assert_eq!(output.status.code(), Some(0), "{shell}");
        let script = text(&output.stdout);
        for command in [
            "explain", "queues", "simulate", "suspend", "close", "jobflow", "wait",
        ] {
            assert!(script.contains(command), "{shell}: {command}");
        }
    }
}

#[test]
fn without_a_cluster_it_is_said_how_to_name_one() {
    for (arguments, expected) in [
        (&["top"][..], "no cluster to ask"),
        (
            &["queues", "--kubeconfig", "/nonexistent/file"],
            "/nonexistent/file",
        ),
        (
            &["cards", "--server", "http://127.0.0.1:1"],
            "--server http://127.0.0.1:1: no answer",
        ),
        (
            &["explain", "a", "--server", "https://x"],
            "write it like http://127.0.0.1:8080",
        ),
        (&["explain", "deployment", "web"], "pod, job or queue"),
        (&["job", "list"], "no cluster to ask"),
        (&["explain", "node/c-1"], "pod, job or queue"),
        (&["job", "logs", "j"], "no cluster to ask"),
        (&["job", "wait", "j"], "no cluster to ask"),
        (&["job", "scale", "j", "-r", "3"], "no cluster to ask"),
        (&["pod", "list", "-j", "j"], "no cluster to ask"),
        (&["jobflow", "describe", "f"], "no cluster to ask"),
        (&["jobtemplate", "list"], "no cluster to ask"),
        (&["job", "run", "j", "-R", "cpu"], "is not NAME=AMOUNT"),
        (
            &["job", "run", "-f", "/nonexistent/job.yaml"],
            "/nonexistent/job.yaml: ",
        ),
        (
            &["queue", "close", "q", "-k", "/nonexistent/file"],
            "/nonexistent/file",
        ),
    ] {
        let output = run(Path::new(PROGRAM), arguments);
        let error = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {error}");
        assert!(error.contains(expected), "{arguments:?}: {error}");
        assert!(error.starts_with("error: "), "{error}");
    }
}
