//! Pictures are text, are on a page, and can be read on any ground and by those who do not see them.

use super::{files, read};

#[test]
fn every_picture_is_on_a_page_has_words_and_paints_its_own_ground() {
    let pages: Vec<String> = files(&["md"]).iter().map(|file| read(file)).collect();
    let mut seen = 0;
    for file in files(&["svg"]) {
        seen += 1;
        let name = file.rsplit('/').next().unwrap_or_default();
        let shown = pages.iter().any(|page| page.contains(&format!("/{name})")));
        assert!(shown, "{file} is on no page");
        let text = read(&file);
        for part in ["<title id=\"t\">", "<desc id=\"d\">", "viewBox="] {
            assert!(text.contains(part), "{file} has no {part}");
        }
        // Pages are light or dark; a picture in a page cannot ask which.
        let first = text
            .find("<rect")
            .and_then(|at| text[at..].split('>').next());
        let ground = first.is_some_and(|rect| rect.contains("fill=\"#ffffff\""));
        assert!(ground, "{file} does not begin with its ground");
    }
    assert!(seen >= 6, "{seen} pictures");
}
