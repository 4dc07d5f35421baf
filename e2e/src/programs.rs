//! The programs under test: the control plane (Go, built and kept here) and our own.

use std::collections::hash_map::DefaultHasher;
use std::fs::{self, File};
use std::hash::Hasher;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use anyhow::{Context, Result, anyhow, bail};

/// Sources of the control plane.
const SOURCE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/apiserver");

/// The version that Kubernetes' own build would write into the binary. Feature gates are emulated
/// for it, so a build without it would behave like another release.
const KUBERNETES: [&str; 3] = ["v1.36.1", "1", "36"];

/// `target/e2e` of the build this program comes from: binaries and folders of runs.
///
/// # Errors
/// When the running program is not below a target folder, or the folder cannot be made.
pub fn store() -> Result<PathBuf> {
    let target = profile_folder()?.parent().map(Path::to_owned);
    let store = target
        .ok_or_else(|| anyhow!("the profile's folder has no parent"))?
        .join("e2e");
    fs::create_dir_all(&store).with_context(|| format!("make the folder {}", store.display()))?;
    Ok(store)
}

/// The folder of this build's profile, such as `target/debug`.
fn profile_folder() -> Result<PathBuf> {
    let program = std::env::current_exe().context("find the running program")?;
    let folder = program.parent().context("the program has a folder")?;
    let is_nested = folder.file_name().is_some_and(|name| name == "deps");
    let profile = if is_nested {
        folder.parent()
    } else {
        Some(folder)
    };
    profile
        .map(Path::to_owned)
        .ok_or_else(|| anyhow!("{} is not in a target folder", program.display()))
}

/// One of our own programs, from the same build as the running one.
///
/// # Errors
/// When it was not built: with the command that builds it.
pub fn ours(name: &str) -> Result<PathBuf> {
    let path = profile_folder()?.join(name);
    if !path.exists() {
        let release = if path.iter().any(|part| part == "release") {
            " --release"
        } else {
            ""
        };
        bail!(
            "{} does not exist; build it first: cargo build{release} --workspace --bins",
            path.display()
        );
    }
    Ok(path)
}

/// The control plane, built when this source has not been built before (minutes on a cold cache).
///
/// # Errors
/// Without Go, or when the build fails: with the compiler's output.
pub fn control_plane() -> Result<PathBuf> {
    static BUILT: OnceLock<Result<PathBuf, String>> = OnceLock::new();
    let built = BUILT.get_or_init(|| build().map_err(|error| format!("{error:#}")));
    built.clone().map_err(|error| anyhow!(error))
}

fn build() -> Result<PathBuf> {
    let store = store()?;
    let lock = File::create(store.join("build.lock")).context("open the lock of the build")?;
    lock.lock().context("wait for another build")?;
    let program = store.join(format!("control-plane-{:016x}", fingerprint()?));
    if program.exists() {
        return Ok(program);
    }
    eprintln!("building kube-apiserver, etcd and kubectl; this takes some minutes once");
    let unfinished = program.with_extension("unfinished");
    let output = Command::new("go")
        .current_dir(SOURCE)
        .args(["build", "-trimpath", "-buildvcs=false", "-ldflags"])
        .arg(link_flags())
        .arg("-o")
        .arg(&unfinished)
        .arg(".")
        .output()
        .context("run go; install Go 1.26 or later")?;
    if !output.status.success() {
        bail!(
            "go build failed:\n{}",
            String::from_utf8_lossy(&output.stderr)
        );
    }
    fs::rename(&unfinished, &program)?;
    Ok(program)
}

fn link_flags() -> String {
    let mut flags = "-s -w".to_owned();
    for package in [
        "k8s.io/component-base/version",
        "k8s.io/client-go/pkg/version",
    ] {
        for (name, value) in ["gitVersion", "gitMajor", "gitMinor"]
            .iter()
            .zip(KUBERNETES)
        {
            flags.push_str(&format!(" -X {package}.{name}={value}"));
        }
    }
    flags
}

/// Of everything the binary is made from: sources, module versions, the toolchain.
fn fingerprint() -> Result<u64> {
    let version = Command::new("go")
        .current_dir(SOURCE)
        .arg("version")
        .output()
        .context("run go; install Go 1.26 or later")?;
    let mut hasher = DefaultHasher::new();
    hasher.write(&version.stdout);
    hasher.write(link_flags().as_bytes());
    let entries: Result<Vec<_>, _> = fs::read_dir(SOURCE)?.collect();
    let mut files: Vec<PathBuf> = entries?.iter().map(fs::DirEntry::path).collect();
    files.sort();
    for file in files {
        hasher.write(file.file_name().unwrap_or_default().as_encoded_bytes());
        hasher.write(&fs::read(&file)?);
    }
    Ok(hasher.finish())
}
