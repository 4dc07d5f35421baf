//! The programs under test: the control plane (Go) and our own.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;

use anyhow::{Context, Result, anyhow, bail, ensure};

/// Builds the control plane unless that was done before, and prints where it is.
const BUILD: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/apiserver/build");

/// `target/e2e` of the build this program comes from: folders of runs.
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

/// Names a folder whose programs are tested in place of those of the same build: `deploy/release/try` does.
const PROGRAMS: &str = "PUMICE_E2E_PROGRAMS";

/// One of our own programs, from the same build as the running one.
///
/// # Errors
/// When it was not built: with the command that builds it.
pub fn ours(name: &str) -> Result<PathBuf> {
    if let Some(folder) = std::env::var_os(PROGRAMS) {
        let path = Path::new(&folder).join(name);
        ensure!(
            path.exists(),
            "{} does not exist; see {PROGRAMS}",
            path.display()
        );
        return Ok(path);
    }
    let path = profile_folder()?.join(name);
    if !path.exists() {
        let folder = path.parent().and_then(Path::file_name).unwrap_or_default();
        let profile = match folder.to_string_lossy() {
            // Cargo's names of the folder and of the profile differ for this one.
            folder if folder == "debug" => String::new(),
            profile => format!(" --profile {profile}"),
        };
        bail!(
            "{} does not exist; build it first: cargo build{profile} --workspace --bins",
            path.display()
        );
    }
    Ok(path)
}

/// The control plane, built when this source has not been built before (minutes on a cold cache).
///
/// # Errors
/// Without Go, or when the build fails.
pub fn control_plane() -> Result<PathBuf> {
    static BUILT: OnceLock<Result<PathBuf, String>> = OnceLock::new();
    let built = BUILT.get_or_init(|| build().map_err(|error| format!("{error:#}")));
    built.clone().map_err(|error| anyhow!(error))
}

fn build() -> Result<PathBuf> {
    let output = Command::new(BUILD)
        // How far it is, past the harness, which keeps what tests print until they end.
        .stderr(Stdio::inherit())
        .output()
        .with_context(|| format!("run {BUILD}"))?;
    if !output.status.success() {
        bail!("{BUILD} failed; its messages are above the first result of a test");
    }
    let path = String::from_utf8(output.stdout).context("a path in UTF-8")?;
    Ok(PathBuf::from(path.trim_end()))
}
