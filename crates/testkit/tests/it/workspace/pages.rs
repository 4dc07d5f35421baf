//! Pages are as long as their readers have patience: the README is a page, ARCHITECTURE a map, and how the
//! parts work stands in `docs/internals`, each page with the files it is about. Who comes from Volcano reads first
//! what matters first.

use super::{files, read};

/// Lines of `docs/ARCHITECTURE.md` at most: what can be read in one sitting.
const MAX_MAP_LINES: usize = 300;

/// Lines of a README at most: what fits a screen or two.
const MAX_README_LINES: usize = 100;

/// A type, function or module that a page about the code names in code quotes occurs in the sources.
#[test]
fn the_readme_is_a_page_that_begins_with_a_picture_and_a_terminal() {
    for file in ["README.md", "README.zh-CN.md"] {
        let text = read(file);
        let lines = text.lines().count();
        assert!(lines <= MAX_README_LINES, "{file} is longer than a page");
        let picture = text.find("![").expect("a picture");
        let terminal = text.find("```console").expect("a terminal");
        let list = text.find("\n* ").expect("a list");
        assert!(picture < terminal && terminal < list, "{file}");
    }
}

#[test]
fn architecture_stays_a_map_and_leads_to_each_page_about_a_part() {
    let map = read("docs/ARCHITECTURE.md");
    let lines = map.lines().count();
    assert!(
        lines <= MAX_MAP_LINES,
        "{lines} lines in docs/ARCHITECTURE.md: how a part works belongs in docs/internals"
    );
    let mut pages = 0;
    for page in files(&["md"]) {
        let Some(name) = page.strip_prefix("docs/internals/") else {
            continue;
        };
        pages += 1;
        let link = format!("(internals/{name}");
        assert!(
            map.contains(&link),
            "docs/ARCHITECTURE.md leads not to {page}"
        );
    }
    assert!(pages > 10, "{pages} pages");
}

/// The line below the title. That the files exist is held with all names of files in `links`.
#[test]
fn each_page_about_a_part_begins_with_its_files() {
    for page in files(&["md"]) {
        if !page.starts_with("docs/internals/") {
            continue;
        }
        let text = read(&page);
        let begin: Vec<&str> = text
            .lines()
            .filter(|line| !line.is_empty())
            .take(2)
            .collect();
        let [title, names] = begin[..] else {
            panic!("{page} is empty");
        };
        assert!(title.starts_with("# "), "{page} begins with its title");
        let named = names.split('`').skip(1).step_by(2).next();
        let has_files =
            names.starts_with("Files: ") && named.is_some_and(|name| name.contains(['/', '.']));
        assert!(
            has_files,
            "{page}: below the title stands `Files: ` with what it is about"
        );
    }
}

#[test]
fn who_comes_from_volcano_reads_the_ten_differences_that_matter_first() {
    let page = read("docs/compatibility.md");
    let mut sections = page.split("\n## ").skip(1);
    let first = sections.next().expect("a section");
    assert!(first.starts_with("The ten differences that matter first\n"));
    let numbers: Vec<&str> = first
        .lines()
        .filter_map(|line| line.split_once(". **"))
        .map(|(number, _)| number)
        .collect();
    assert_eq!(numbers, ["1", "2", "3", "4", "5", "6", "7", "8", "9", "10"]);
    for file in files(&["md"]) {
        if let Some(name) = file.strip_prefix("docs/compatibility/") {
            let link = format!("(compatibility/{name})");
            assert!(
                page.contains(&link),
                "docs/compatibility.md leads not to {file}"
            );
        }
    }
}
