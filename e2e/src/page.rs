//! Pages of the documentation as a reader follows them: their blocks, and in those the commands with
//! what stands below each.

use std::path::{Path, PathBuf};
use std::{env, fs};

use anyhow::{Context, Result};

/// Where the workspace is.
const WORKSPACE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/..");

/// Length of a UID, and where its hyphens are.
const UID_LENGTH: usize = 36;
const UID_HYPHENS: [usize; 4] = [8, 13, 18, 23];

/// A page, by its path from the workspace's root.
pub struct Page {
    path: PathBuf,
    text: String,
}

/// A fenced block of a page.
#[derive(Clone, Debug)]
pub struct PageBlock {
    /// What stands behind its first fence.
    pub language: String,
    /// What stands between its fences.
    pub text: String,
}

/// A command of a block `console` and what the page shows below it.
#[derive(Clone, Debug)]
pub struct PageStep {
    /// The command, without its `$`.
    pub command: String,
    /// The lines below it.
    pub shown: String,
}

impl Page {
    /// Reads a page.
    ///
    /// # Errors
    /// When it is not there.
    pub fn read(path: &str) -> Result<Self> {
        let path = Path::new(WORKSPACE).join(path);
        let text = fs::read_to_string(&path).with_context(|| format!("read {}", path.display()))?;
        Ok(Self { path, text })
    }

    /// Paths of the pages of the guide.
    ///
    /// # Errors
    /// When the folder cannot be read.
    pub fn guide() -> Result<Vec<String>> {
        let mut paths = Vec::new();
        for entry in fs::read_dir(Path::new(WORKSPACE).join("docs/guide"))? {
            let name = entry?.file_name().to_string_lossy().into_owned();
            if name.ends_with(".md") {
                paths.push(format!("docs/guide/{name}"));
            }
        }
        paths.sort();
        Ok(paths)
    }

    /// Blocks of the page, from top to bottom.
    pub fn blocks(&self) -> Vec<PageBlock> {
        let mut blocks = Vec::new();
        let mut open: Option<PageBlock> = None;
        for line in self.text.lines() {
            match (line.strip_prefix("```"), open.as_mut()) {
                (Some(language), None) => {
                    open = Some(PageBlock {
                        language: language.to_owned(),
                        text: String::new(),
                    });
                }
                (Some(_), Some(_)) => blocks.extend(open.take()),
                (None, Some(block)) => {
                    block.text.push_str(line);
                    block.text.push('\n');
                }
                (None, None) => {}
            }
        }
        blocks
    }

    /// Has a block say something else on all pages of the guide that show it: translations have the
    /// same blocks.
    ///
    /// # Errors
    /// When a file cannot be written.
    pub fn renew(old: &str, new: &str) -> Result<()> {
        for path in Self::guide()? {
            let page = Self::read(&path)?;
            if page.text.contains(old) {
                fs::write(&page.path, page.text.replace(old, new))?;
            }
        }
        Ok(())
    }
}

impl PageBlock {
    /// Commands of the block: each begins with `$`, and goes on below a line that ends with a backslash
    /// or in the midst of a quoted text.
    pub fn steps(&self) -> Vec<PageStep> {
        let mut steps: Vec<PageStep> = Vec::new();
        for line in self.text.lines() {
            match (line.strip_prefix("$ "), steps.last_mut()) {
                (Some(command), _) => steps.push(PageStep {
                    command: command.to_owned(),
                    shown: String::new(),
                }),
                (None, Some(step)) if goes_on(&step.command) && step.shown.is_empty() => {
                    step.command.push('\n');
                    step.command.push_str(line);
                }
                (None, Some(step)) => {
                    step.shown.push_str(line);
                    step.shown.push('\n');
                }
                (None, None) => {}
            }
        }
        steps
    }

    /// The file as which a reader saves it: a comment in the first line names it, except for the
    /// scheduler's configuration.
    pub fn file_name(&self) -> Option<&str> {
        let first = self.text.lines().next()?;
        if first.starts_with("actions:") {
            return Some("volcano-scheduler.conf");
        }
        let mut words = first.strip_prefix("# ")?.split([' ', ':', ',']);
        words.find(|word| word.ends_with(".yaml"))
    }
}

/// Whether a shell would wait for more of this command.
fn goes_on(command: &str) -> bool {
    command.ends_with('\\') || command.matches('\'').count() % 2 == 1
}

/// Whether whoever runs the tests wants what pages show renewed.
pub fn renews() -> bool {
    env::var_os("UPDATE_EXPECT").is_some()
}

/// Lines without what differs from one run to the next: ages, times, UIDs and widths of columns.
pub fn timeless(text: &str) -> String {
    let lines = text.lines().map(|line| {
        let words: Vec<String> = line.split_whitespace().map(timeless_word).collect();
        words.join(" ")
    });
    lines.collect::<Vec<_>>().join("\n")
}

fn timeless_word(word: &str) -> String {
    let word = word.trim_end_matches([';', ',']);
    let is_age = |word: &str| {
        let ends =
            word.ends_with(['s', 'm', 'h', 'd']) && word.starts_with(|c: char| c.is_ascii_digit());
        ends && word
            .chars()
            .all(|c| c.is_ascii_digit() || "smhd".contains(c))
    };
    if is_age(word) {
        return "AGE".to_owned();
    }
    if word.parse::<jiff::Timestamp>().is_ok() || word.parse::<jiff::civil::Date>().is_ok() {
        return "TIME".to_owned();
    }
    let starts = word.char_indices().map(|(at, _)| at);
    for at in starts {
        if let Some(part) = word.get(at..at + UID_LENGTH)
            && is_uid(part)
        {
            let (before, behind) = (&word[..at], &word[at + UID_LENGTH..]);
            return format!("{before}UID{}", timeless_word(behind));
        }
    }
    word.to_owned()
}

fn is_uid(text: &str) -> bool {
    let mut letters = text.chars().enumerate();
    letters.all(|(at, letter)| match UID_HYPHENS.contains(&at) {
        true => letter == '-',
        false => letter.is_ascii_hexdigit(),
    })
}
