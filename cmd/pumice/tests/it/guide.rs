//! The examples of `docs/guide`, as its readers would try them: configurations are checked, objects
//! are simulated on the guide's cluster under the configuration above them, and their pods are bound
//! unless the example begins with `# waits`.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::Value;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Pages and the text of each of their blocks of one language.
fn blocks(language: &str) -> Vec<(String, Vec<String>)> {
    let entries = std::fs::read_dir(root().join("docs/guide")).expect("the guide");
    let mut pages: Vec<PathBuf> = entries
        .map(|entry| entry.expect("an entry").path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "md"))
        .collect();
    pages.push(root().join("deploy/README.md"));
    pages.sort();
    let fence = format!("```{language}\n");
    let read = |page: PathBuf| {
        let text = std::fs::read_to_string(&page).expect("a page");
        let parts = text.split(&fence).skip(1);
        let blocks = parts.map(|part| part.split("```").next().unwrap_or_default().to_owned());
        (page.display().to_string(), blocks.collect())
    };
    pages.into_iter().map(read).collect()
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
            let waits = block.starts_with("# waits");
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
            let words: Vec<&str> = line.split(' ').skip(1).collect();
            succeeded(&pumice(&words, ""), &format!("{page}: {line}"));
        }
    }
    assert!(run > 0);
}
