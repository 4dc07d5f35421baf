use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::time::Duration;

use pumice_conf::MAX_BYTES;
use tempfile::TempDir;
use tokio::sync::mpsc::Receiver;

use super::{Contents, ReadError, ReloadTimes, read, start, text_hash};

/// Told at once, and read anyway so rarely that a test which needs that fails.
const BY_EVENT: ReloadTimes = ReloadTimes {
    quiet: Duration::from_millis(10),
    poll: Duration::from_secs(3_600),
};

/// Read again and again.
const BY_POLL: ReloadTimes = ReloadTimes {
    quiet: Duration::from_millis(10),
    poll: Duration::from_millis(30),
};

fn folder() -> TempDir {
    tempfile::tempdir().expect("a folder")
}

/// The next state; a test that never gets one fails by the bound. An empty file is passed over:
/// `fs::write` makes one before it writes.
async fn next(watch: &mut Receiver<Contents>) -> Result<String, ReadError> {
    loop {
        let state = tokio::time::timeout(Duration::from_secs(60), watch.recv()).await;
        let state = state.expect("a state in time").expect("still watching");
        let state = state.map(|bytes| String::from_utf8(bytes.to_vec()).expect("UTF-8"));
        if state != Ok(String::new()) {
            return state;
        }
    }
}

/// A mount of a ConfigMap: the file is a link through `..data` to a folder with a date for a name.
struct Mount {
    folder: TempDir,
    versions: u32,
}

impl Mount {
    fn new(text: &str) -> Self {
        let mut mount = Self {
            folder: folder(),
            versions: 0,
        };
        mount.publish(text);
        symlink("..data/conf", mount.file()).expect("the link of the file");
        mount
    }

    fn file(&self) -> PathBuf {
        self.folder.path().join("conf")
    }

    /// As the kubelet does: a new folder, a new link, renamed over the old one, old folder gone.
    fn publish(&mut self, text: &str) {
        let name = |version: u32| format!("..2026_11_21_{version}");
        self.versions += 1;
        let at = |name: &str| self.folder.path().join(name);
        let version = at(&name(self.versions));
        fs::create_dir(&version).expect("a version");
        fs::write(version.join("conf"), text).expect("its file");
        symlink(name(self.versions), at("..data_tmp")).expect("its link");
        fs::rename(at("..data_tmp"), at("..data")).expect("swapped");
        if self.versions > 1 {
            fs::remove_dir_all(at(&name(self.versions - 1))).expect("the old one");
        }
    }
}

#[tokio::test]
async fn a_swap_of_a_mounted_configmap_is_seen() {
    let mut mount = Mount::new("one");
    let mut watch = start(&mount.file(), BY_EVENT);
    assert_eq!(next(&mut watch).await, Ok("one".into()));
    for text in ["two", "three"] {
        mount.publish(text);
        assert_eq!(next(&mut watch).await, Ok(text.into()));
    }
}

#[tokio::test]
async fn a_write_and_a_rename_over_the_file_are_seen() {
    let folder = folder();
    let file = folder.path().join("conf");
    fs::write(&file, "one").expect("written");
    let mut watch = start(&file, BY_EVENT);
    assert_eq!(next(&mut watch).await, Ok("one".into()));
    fs::write(&file, "two").expect("written");
    assert_eq!(next(&mut watch).await, Ok("two".into()));
    let draft = folder.path().join("draft");
    fs::write(&draft, "three").expect("written");
    fs::rename(&draft, &file).expect("renamed");
    assert_eq!(next(&mut watch).await, Ok("three".into()));
}

#[tokio::test]
async fn a_change_that_no_event_tells_of_is_found_by_reading() {
    let (here, there) = (folder(), folder());
    let target = there.path().join("real");
    fs::write(&target, "one").expect("written");
    let file = here.path().join("conf");
    symlink(&target, &file).expect("a link to another folder");
    let mut watch = start(&file, BY_POLL);
    assert_eq!(next(&mut watch).await, Ok("one".into()));
    fs::write(&target, "two").expect("written");
    assert_eq!(next(&mut watch).await, Ok("two".into()));
}

#[tokio::test]
async fn the_same_bytes_again_are_no_change() {
    let folder = folder();
    let file = folder.path().join("conf");
    fs::write(&file, "one").expect("written");
    let mut watch = start(&file, BY_POLL);
    assert_eq!(next(&mut watch).await, Ok("one".into()));
    let draft = folder.path().join("draft");
    fs::write(&draft, "one").expect("written");
    fs::rename(&draft, &file).expect("renamed");
    tokio::time::sleep(Duration::from_millis(200)).await;
    fs::write(&draft, "two").expect("written");
    fs::rename(&draft, &file).expect("renamed");
    assert_eq!(next(&mut watch).await, Ok("two".into()));
}

#[tokio::test]
async fn a_removed_file_is_an_error_until_it_is_back_with_the_same_bytes() {
    let folder = folder();
    let file = folder.path().join("conf");
    fs::write(&file, "one").expect("written");
    let mut watch = start(&file, BY_EVENT);
    assert_eq!(next(&mut watch).await, Ok("one".into()));
    fs::remove_file(&file).expect("removed");
    assert_eq!(next(&mut watch).await, Err(ReadError::NoFile(file.clone())));
    let draft = folder.path().join("draft");
    fs::write(&draft, "one").expect("written");
    fs::rename(&draft, &file).expect("renamed");
    assert_eq!(next(&mut watch).await, Ok("one".into()));
}

#[tokio::test]
async fn a_folder_that_comes_later_or_again_is_watched() {
    let outer = folder();
    let inner = outer.path().join("mount");
    let file = inner.join("conf");
    let publish = |text: &str| {
        let draft = outer.path().join("draft");
        fs::create_dir(&draft).expect("made");
        fs::write(draft.join("conf"), text).expect("written");
        fs::rename(&draft, &inner).expect("put in place");
    };
    let mut watch = start(&file, BY_POLL);
    let none = ReadError::NoFolder(file.clone(), inner.clone());
    assert_eq!(next(&mut watch).await, Err(none.clone()));
    publish("one");
    assert_eq!(next(&mut watch).await, Ok("one".into()));
    fs::rename(&inner, outer.path().join("old")).expect("moved away");
    assert_eq!(next(&mut watch).await, Err(none));
    publish("two");
    assert_eq!(next(&mut watch).await, Ok("two".into()));
}

#[tokio::test]
async fn the_watch_ends_with_its_receiver() {
    let folder = folder();
    let file = folder.path().join("conf");
    fs::write(&file, "one").expect("written");
    let mut watch = start(&file, BY_EVENT);
    assert_eq!(next(&mut watch).await, Ok("one".into()));
    drop(watch);
    let handle = tokio::runtime::Handle::current();
    while handle.metrics().num_alive_tasks() > 0 {
        tokio::task::yield_now().await;
    }
}

fn error_of(path: &Path) -> String {
    read(path).expect_err("not readable").to_string()
}

#[test]
fn what_cannot_be_read_is_said_with_the_place_and_a_way_out() {
    let folder = folder();
    let at = |name: &str| folder.path().join(name);
    fs::write(at("large"), vec![b' '; MAX_BYTES + 1]).expect("written");
    fs::write(at("full"), vec![b' '; MAX_BYTES]).expect("written");
    symlink("loop", at("loop")).expect("a link to itself");
    for (path, expected) in [
        (at("none"), "the file does not exist"),
        (at("no/folder"), "the folder "),
        (folder.path().to_owned(), "not a file"),
        (PathBuf::from("/dev/zero"), "not a file"),
        (at("large"), "larger than 4194304 bytes"),
        (at("loop"), "cannot be read: "),
        (at("full/conf"), "cannot be read: "),
    ] {
        let error = error_of(&path);
        let start = format!("{}: {expected}", path.display());
        assert!(error.starts_with(&start), "{error}");
        assert!(error.contains("\n  = help: "), "{error}");
    }
    assert_eq!(read(&at("full")).expect("readable").len(), MAX_BYTES);
}

#[test]
fn a_bare_file_name_is_looked_up_in_the_current_folder() {
    assert_eq!(super::folder(Path::new("conf")), Path::new("."));
    assert_eq!(super::folder(Path::new("a/conf")), Path::new("a"));
}

#[test]
fn the_hash_of_a_text_is_the_start_of_its_sha256_sum() {
    assert_eq!(text_hash(b"abc"), "ba7816bf8f01cfea");
    assert_eq!(text_hash(b""), "e3b0c44298fc1c14");
}
