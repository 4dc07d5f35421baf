//! What fuzzing began with and what it found, read again as every other test is run; `fuzz/run` makes up
//! more.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

#[path = "../../../../fuzz/src/decoders.rs"]
mod decoders;

use decoders::DECODERS;

fn below_fuzz(folder: &str) -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz");
    let folder = root.join(folder);
    let entries = fs::read_dir(&folder);
    let entries = entries.expect("the folder of a corpus");
    let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    paths.sort();
    paths
}

#[test]
fn every_text_that_is_kept_is_read_as_it_must_be() {
    for (name, decode) in DECODERS {
        let texts = below_fuzz(&format!("corpus/{name}"));
        assert!(texts.len() >= 3, "{name} has {} texts", texts.len());
        for text in texts {
            let bytes = fs::read(&text).expect("a file of the corpus");
            let read = std::panic::catch_unwind(|| decode(&bytes));
            assert!(read.is_ok(), "{}", text.display());
        }
    }
}

#[test]
fn every_decoder_is_a_target_with_a_corpus_and_no_other_is() {
    let stems = |folder| -> BTreeSet<String> {
        let paths = below_fuzz(folder).into_iter();
        let stem = |path: PathBuf| Some(path.file_stem()?.to_str()?.to_owned());
        paths.filter_map(stem).collect()
    };
    let decoders: BTreeSet<String> = DECODERS
        .iter()
        .map(|(name, _)| (*name).to_owned())
        .collect();
    assert_eq!(stems("fuzz_targets"), decoders);
    assert_eq!(stems("corpus"), decoders);
}
