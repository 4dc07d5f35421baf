//! Writes the licences of everything that is linked into the programs of the image, as its users may ask for them:
//!
//! ```text
//! cargo run --manifest-path tools/licences/Cargo.toml -- x86_64-unknown-linux-musl > THIRD-PARTY-LICENCES.txt
//! ```
//!
//! It asks `cargo metadata` and reads the sources that cargo has unpacked; it needs no network where the programs
//! were built before. Two runs write the same bytes.

use std::path::Path;
use std::process::ExitCode;

use pumice_licences::{linked, notices};

fn main() -> ExitCode {
    let Some(target) = std::env::args().nth(1) else {
        eprintln!("error: name the target, for example x86_64-unknown-linux-musl");
        return ExitCode::FAILURE;
    };
    let manifest = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../Cargo.toml"));
    match linked(manifest, &target).and_then(|crates| notices(&crates)) {
        Ok(text) => {
            print!("{text}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}
