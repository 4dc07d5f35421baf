//! The real binary: how it starts, and what it says when it cannot.

use std::process::{Command, Output};

fn run(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_pumice-scheduler"))
        .args(arguments)
        .env_remove("KUBECONFIG")
        .env_remove("KUBERNETES_SERVICE_HOST")
        .output()
        .expect("the daemon runs")
}

#[test]
fn the_version_is_printed_and_nothing_else_is_done() {
    let output = run(&["--version", "2>&1"]);
    assert_eq!(output.status.code(), Some(0));
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(text.starts_with("pumice-scheduler "), "{text}");
}

#[test]
fn what_it_cannot_start_with_is_said_with_the_remedy() {
    let cases: [(&[&str], i32, &str); 8] = [
        (&["--no-such-flag"], 2, "--no-such-flag"),
        (&["--kubeconfig=/no/such/file"], 1, "/no/such/file"),
        (
            &["--kubeconfig=/no/such/file", "--leader-elect=false"],
            1,
            "/no/such/file",
        ),
        (&["--master=http://a b"], 1, "--master"),
        (&[], 1, "--kubeconfig or --master"),
        (&["--leader-elect-renew-deadline=20s"], 1, "renew-deadline"),
        (&["--scheduler-configmap=x"], 1, "NAMESPACE/NAME"),
        (
            &["--master=http://127.0.0.1:1", "--listen-address=here"],
            1,
            "--listen-address",
        ),
    ];
    for (arguments, code, said) in cases {
        let output = run(arguments);
        let text = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{arguments:?}: {text}");
        assert!(text.contains(said), "{arguments:?}: {text}");
    }
}
