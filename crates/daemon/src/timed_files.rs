//! Files that are named after the time at which they were begun: new ones, which nobody else can read.

use std::fs::File;
use std::io;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

/// How the files of one purpose are called: `PREFIX-TIME.SUFFIX`, and `PREFIX-TIME-1.SUFFIX` and so on within one second.
pub struct TimedFiles {
    /// Before the time.
    pub prefix: &'static str,
    /// What the name ends with.
    pub suffix: &'static str,
    /// Files within one second that get a name of their own.
    pub most_names: u32,
}

impl TimedFiles {
    /// A new file with mode 0600. Whatever has the name already, a link included, is left alone.
    ///
    /// # Errors
    /// All names are taken, or the folder takes no file.
    pub fn create(&self, folder: &Path, unix_s: u64) -> io::Result<(PathBuf, File)> {
        let mut taken = io::Error::from(io::ErrorKind::AlreadyExists);
        for nth in 0..self.most_names {
            let path = folder.join(self.name(unix_s, nth));
            // By the rules of open(2) a link is never followed where the file must be new.
            let created = File::options()
                .write(true)
                .create_new(true)
                .mode(0o600)
                .open(&path);
            match created {
                Ok(file) => return Ok((path, file)),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => taken = error,
                Err(error) => return Err(error),
            }
        }
        Err(taken)
    }

    /// Name of the nth file of a second.
    pub fn name(&self, unix_s: u64, nth: u32) -> String {
        let Self { prefix, suffix, .. } = self;
        match nth {
            0 => format!("{prefix}-{unix_s}.{suffix}"),
            nth => format!("{prefix}-{unix_s}-{nth}.{suffix}"),
        }
    }

    /// The time and number in a name; nothing for other files.
    pub fn age(&self, name: &str) -> Option<(u64, u32)> {
        let rest = name.strip_prefix(self.prefix)?.strip_prefix('-')?;
        let middle = rest.strip_suffix(self.suffix)?.strip_suffix('.')?;
        let (seconds, nth) = middle.split_once('-').unwrap_or((middle, "0"));
        let age = (seconds.parse().ok()?, nth.parse().ok()?);
        (self.name(age.0, age.1) == name).then_some(age)
    }
}
