//! The examples of `docs/guide`, as its readers would try them: configurations are checked, objects
//! are simulated on the guide's cluster under the configuration above them, and their pods are bound
//! unless the comment in the example's first line says that it waits. What `simulate` and `compare` print
//! stands below the command; `UPDATE_EXPECT=1 cargo test -p pumice --test it guide::` writes it anew.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::Value;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The pages for users: the guide's, those beside it, and those about installing.
fn pages() -> Vec<PathBuf> {
    let mut pages = Vec::new();
    for folder in ["", "docs", "docs/guide", "deploy"] {
        let entries = std::fs::read_dir(root().join(folder)).expect("a folder of pages");
        let paths = entries.map(|entry| entry.expect("an entry").path());
        pages.extend(paths.filter(|path| path.extension().is_some_and(|end| end == "md")));
    }
    pages.sort();
    pages
}

/// Pages and the text of each of their blocks of one language.
fn blocks(language: &str) -> Vec<(String, Vec<String>)> {
    let fence = format!("```{language}\n");
    let read = |page: PathBuf| {
        let text = std::fs::read_to_string(&page).expect("a page");
        let parts = text.split(&fence).skip(1);
        let blocks = parts.map(|part| part.split("```").next().unwrap_or_default().to_owned());
        (page.display().to_string(), blocks.collect())
    };
    pages().into_iter().map(read).collect()
}

/// Whether the comment in its first line says so.
fn is_said_to_wait(block: &str) -> bool {
    let first = block.lines().next().unwrap_or_default();
    first.starts_with('#') && first.contains("waits")
}

fn pumice(arguments: &[&str], input: &str) -> Output {
    let mut child = Command::new(env!("CARGO_BIN_EXE_pumice"))
        .current_dir(root())
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the binary runs");
    let mut stdin = child.stdin.take().expect("piped");
    stdin.write_all(input.as_bytes()).expect("it reads");
    drop(stdin);
    child.wait_with_output().expect("it ends")
}

fn succeeded(output: &Output, what: &str) {
    let told = String::from_utf8_lossy(&output.stderr);
    let shown = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{what}\n{told}{shown}");
}

#[test]
fn every_configuration_and_every_object_of_the_guide_works_as_written() {
    let conf = Path::new(env!("CARGO_TARGET_TMPDIR")).join("guide.conf");
    let conf_name = conf.to_str().expect("a UTF-8 path");
    let (mut configurations, mut examples) = (0, 0);
    for (page, blocks) in blocks("yaml") {
        std::fs::write(&conf, pumice_conf::CHART_CONF).expect("written");
        for block in blocks {
            if block.starts_with("actions:") {
                configurations += 1;
                std::fs::write(&conf, &block).expect("written");
                let output = pumice(&["check", "--strict", conf_name], "");
                succeeded(&output, &format!("{page}\n{block}"));
                continue;
            }
            examples += 1;
            let output = pumice(
                &[
                    "simulate",
                    "--strict",
                    "--output",
                    "json",
                    "--config",
                    conf_name,
                    "docs/guide/cluster.yaml",
                    "-",
                ],
                &block,
            );
            succeeded(&output, &format!("{page}\n{block}"));
            let report: Value = serde_json::from_slice(&output.stdout).expect("JSON");
            let count = |part: &str| report[part].as_array().map_or(0, Vec::len);
            let waits = is_said_to_wait(&block);
            assert_eq!(count("pending") > 0, waits, "{page}\n{block}\n{report:#}");
            assert_eq!(count("binds") > 0, !waits, "{page}\n{block}\n{report:#}");
        }
    }
    assert!(configurations >= 4, "{configurations} configurations");
    assert!(examples >= 6, "{examples} examples");
}

#[test]
fn commands_of_the_guide_that_need_no_cluster_run() {
    let mut run = 0;
    for (page, blocks) in blocks("sh") {
        let lines = blocks.iter().flat_map(|block| block.lines());
        for line in lines.filter(|line| line.starts_with("pumice simulate config/")) {
            run += 1;
            let page_file = Path::new(env!("CARGO_TARGET_TMPDIR")).join("guide-page.html");
            let page_file = page_file.to_str().expect("a UTF-8 path");
            let mut words: Vec<&str> = line.split(' ').skip(1).collect();
            // What a reader's folder gets is not for the tree.
            if let Some(at) = words.iter().position(|word| *word == "--html") {
                words[at + 1] = page_file;
            }
            succeeded(&pumice(&words, ""), &format!("{page}: {line}"));
        }
    }
    assert!(run > 0);
}

/// Commands of a block with the lines that stand below each.
fn steps(block: &str) -> Vec<(&str, Vec<&str>)> {
    let mut steps: Vec<(&str, Vec<&str>)> = Vec::new();
    for line in block.lines() {
        match (line.strip_prefix("$ "), steps.last_mut()) {
            (Some(command), _) => steps.push((command, Vec::new())),
            (None, Some((_, shown))) => shown.push(line),
            (None, None) => {}
        }
    }
    steps
}

/// Whether these are the lines of the output; `…` stands for any of them that are left out.
fn is_shown(shown: &[&str], output: &str) -> bool {
    if !shown.contains(&"…") {
        return output.lines().eq(shown.iter().copied());
    }
    let mut lines = output.lines();
    let mut told = shown.iter().filter(|line| **line != "…");
    told.all(|line| lines.any(|other| other == *line))
}

#[test]
fn what_simulate_and_compare_print_stands_below_the_command() {
    let (mut different, mut seen) = (Vec::new(), 0);
    for page in pages() {
        let mut text = std::fs::read_to_string(&page).expect("a page");
        for block in text.clone().split("```console\n").skip(1) {
            let block = block.split("```").next().unwrap_or_default();
            let mut now = String::new();
            let mut all_shown = true;
            for (command, shown) in steps(block) {
                let words: Vec<&str> = command.split(' ').collect();
                let ["pumice", words @ ..] = &words[..] else {
                    continue;
                };
                if !matches!(words, ["simulate" | "compare", ..]) {
                    continue;
                }
                let output = pumice(words, "");
                succeeded(&output, command);
                let output = String::from_utf8(output.stdout).expect("text");
                seen += 1;
                all_shown &= is_shown(&shown, &output);
                now.push_str(&format!("$ {command}\n{output}"));
            }
            if all_shown {
                continue;
            }
            if std::env::var_os("UPDATE_EXPECT").is_some() && !block.contains("\n…\n") {
                text = text.replace(block, &now);
                std::fs::write(&page, &text).expect("the page can be written");
            } else {
                different.push(format!("{}\n{block}\nis\n{now}", page.display()));
            }
        }
    }
    assert!(different.is_empty(), "{}", different.join("\n"));
    assert!(seen > 6, "{seen} commands");
}
