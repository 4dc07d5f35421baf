//! What has to be settled before the tests start: how many scenarios run at once, and that the control
//! plane is built while cargo compiles, not when the first scenario asks for it.

use std::path::Path;
use std::process::{Command, Stdio};
use std::{env, fs};

/// Scenarios at once for each core: they mostly wait, for processes to start and for what those do.
const AT_ONCE_PER_CORE: usize = 3;

/// Most scenarios at once: each has a control plane of its own, which takes 0.6 GB.
const MAX_AT_ONCE: usize = 12;

/// Builds the control plane, or says where it is.
const BUILD: &str = "apiserver/build";

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    say_how_many_at_once();
    start_control_plane();
}

/// Cargo sets this variable for the tests of this package alone, in whose harness it is the number of
/// threads. An explicit `--test-threads` goes before it.
fn say_how_many_at_once() {
    const THREADS: &str = "RUST_TEST_THREADS";
    println!("cargo::rerun-if-env-changed={THREADS}");
    let threads = env::var(THREADS).unwrap_or_else(|_| {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        (AT_ONCE_PER_CORE * cores).min(MAX_AT_ONCE).to_string()
    });
    println!("cargo::rustc-env={THREADS}={threads}");
}

/// Starts the build of a control plane that is missing, if cargo is to run tests. Nobody waits for it
/// here: the first scenario does. It ends with cargo when a user interrupts that.
fn start_control_plane() {
    println!("cargo::rerun-if-changed=apiserver");
    println!("cargo::rerun-if-env-changed=PUMICE_E2E_CACHE");
    let Ok(output) = Command::new(BUILD).arg("--path").output() else {
        return;
    };
    if !output.status.success() {
        // No such file is ever there, so this runs again with the next command, and may find Go.
        println!("cargo::rerun-if-changed=apiserver/go-is-missing");
        if runs_tests() {
            let why = String::from_utf8_lossy(&output.stderr);
            warn(&format!("the scenarios will fail: {}", why.trim()));
        }
        return;
    }
    let program = String::from_utf8_lossy(&output.stdout);
    let program = Path::new(program.trim());
    // As long as it is missing, this runs with every command of cargo's.
    println!("cargo::rerun-if-changed={}", program.display());
    if program.exists() || !runs_tests() {
        return;
    }
    // Cargo waits until nobody has its pipes any more.
    let started = Command::new(BUILD)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn();
    if started.is_ok() {
        warn(
            "kube-apiserver, etcd and kubectl are being built from their Go modules beside cargo's own \
             work, once, in about ten minutes on two cores; the scenarios wait for them. \
             The tests without them: cargo test --workspace --exclude pumice-e2e",
        );
    }
}

/// Shown to the user at once, whatever cargo does.
fn warn(text: &str) {
    println!("cargo::warning={text}");
}

/// Whether cargo was asked for tests, of which it says nothing to build scripts: checks and editors run
/// them too, and do not need ten minutes of two cores.
fn runs_tests() -> bool {
    let parent = std::os::unix::process::parent_id();
    let line = fs::read(format!("/proc/{parent}/cmdline")).unwrap_or_default();
    let line = String::from_utf8_lossy(&line).into_owned();
    let mut words = line.split('\0').skip(1);
    let command = words.find(|word| !word.starts_with(['-', '+']));
    matches!(command, Some("test" | "t" | "nextest"))
}
