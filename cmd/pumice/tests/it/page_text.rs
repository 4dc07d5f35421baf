//! What a reader sees of the pages of each sample, as a small text beside it: the overview, the first job that waits (or
//! the first Job, or the first of all), the first node, and the topology.
//!
//! `UPDATE_EXPECT=1 cargo test -p pumice --test it page_text::` writes `expected-page.txt` anew: read the difference before
//! you believe it.

use std::path::Path;

use crate::page::{Ui, flags, texts};
use crate::samples::{differs, samples};

/// Lines kept of each page: enough to see that something is missing, few enough to be read.
const MAX_LINES: usize = 30;
/// Characters kept of a line.
const MAX_LINE: usize = 160;

/// Elements that begin a line.
const BLOCKS: [&str; 11] = [
    "h1", "h2", "h3", "p", "tr", "li", "dt", "ul", "table", "section", "article",
];

/// The text of the middle of a page, a line for each block; times are left out, since some are those of the run.
fn text(html: &str) -> String {
    let main = html.split("<main").nth(1).expect("a middle");
    let main = main.split("</main>").next().expect("an end");
    let (_, main) = main.split_once('>').expect("its tag");
    let mut lines = vec![String::new()];
    let mut rest = main;
    let mut hidden = "";
    while let Some((before, after)) = rest.split_once('<') {
        let line = lines.last_mut().expect("a line");
        match hidden {
            "" => line.push_str(before),
            "time" => line.push_str("TIME"),
            _ => {}
        }
        let (tag, after) = after.split_once('>').expect("a whole tag");
        let name = tag.split([' ', '/']).next().unwrap_or_default();
        hidden = match name {
            "time" | "title" => name,
            _ => "",
        };
        if BLOCKS.contains(&name) {
            lines.push(String::new());
        } else if !matches!(name, "b" | "a" | "small" | "span" | "time" | "") {
            lines.last_mut().expect("a line").push(' ');
        }
        if matches!(name, "td" | "th" | "dd") {
            lines.last_mut().expect("a line").push_str("| ");
        }
        rest = after;
    }
    let plain = [
        ("&lt;", "<"),
        ("&gt;", ">"),
        ("&quot;", "\""),
        ("&amp;", "&"),
    ];
    let lines = lines.iter().map(|line| {
        let line = plain
            .iter()
            .fold(line.clone(), |line, (from, to)| line.replace(from, to));
        let line = line.split_whitespace().collect::<Vec<_>>().join(" ");
        line.chars().take(MAX_LINE).collect::<String>()
    });
    let lines = lines.filter(|line| !line.trim_matches(['|', ' ']).is_empty());
    lines.take(MAX_LINES).collect::<Vec<_>>().join("\n")
}

/// The pages of a sample.
fn pages(sample: &Path, flags: &str) -> String {
    let ui = Ui::of(&[sample], flags);
    let waiting = ui.json("/jobs?show=waiting");
    let (jobs, nodes) = (ui.json("/jobs"), ui.json("/nodes"));
    let first = texts(&waiting["jobs"], "name").first().copied();
    let all = texts(&jobs["jobs"], "name");
    // Of a Job more is told than of a pod.
    let is_job = |name: &&&str| ui.json(&format!("/jobs/{name}"))["workload"].is_object();
    let first = first.or_else(|| all.iter().find(is_job).copied());
    let first = first.or_else(|| all.first().copied());
    let job = first.map(|name| format!("/jobs/{name}"));
    let node = texts(&nodes["nodes"], "name").first().copied();
    let node = node.map(|name| format!("/nodes/{name}"));
    let rest = job.into_iter().chain(node);
    let paths = std::iter::once("/".to_owned()).chain(rest);
    let paths = paths.chain(std::iter::once("/topology".to_owned()));
    let pages = paths.map(|path| format!("== {path}\n{}\n", text(&ui.page(&path))));
    pages.collect::<Vec<_>>().join("\n")
}

#[test]
fn the_pages_of_every_sample_read_as_what_stands_beside_it() {
    let mut different = Vec::new();
    let mut seen = 0;
    for sample in samples() {
        let Some(flags) = flags(&sample) else {
            continue;
        };
        seen += 1;
        if differs(&sample, "expected-page.txt", &pages(&sample, &flags)) {
            different.push(sample.display().to_string());
        }
    }
    assert!(seen > 40, "{seen}");
    assert!(different.is_empty(), "pages differ: {different:?}");
}

#[test]
fn a_page_is_told_line_by_line_without_its_marks_and_times() {
    let html = "<header>not this</header><main id=\"content\"><h1>Job <small>a&lt;b</small></h1><table><tr><th>x</th>\
                <td><time datetime=\"2026\">2026</time></td></tr></table><p></p><svg><rect></rect></svg></main>";
    assert_eq!(text(html), "Job a<b\n| x | TIME");
}
