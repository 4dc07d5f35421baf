//! What changes of pages, rendered once for all who look at the same page in the same language.

use std::sync::Arc;
use std::time::Instant;

use pumice_page::{PageAddress, Source, fingerprint, live_part};

use crate::fresh::FreshAnswers;

/// Renderings kept.
const MAX_KEPT: usize = 32;
/// Bytes of all of them: a map of 20,000 nodes is some megabytes.
const MAX_KEPT_BYTES: usize = 16 << 20;

/// What changes of a page, as of some answers.
#[derive(Debug)]
pub(crate) struct Rendering {
    /// By which it is known to be what somebody looks at already.
    pub print: u64,
    /// The part of the page as HTML.
    pub html: String,
}

/// A rendering, which is told again as long as the answers of which it is made are.
struct KeptRendering {
    /// Path, query and language.
    address: String,
    until: Instant,
    rendering: Arc<Rendering>,
}

/// The latest renderings.
#[derive(Default)]
pub(crate) struct Renderings {
    kept: Vec<KeptRendering>,
}

impl Renderings {
    /// What changes of a page.
    pub fn of(
        &mut self,
        address: &PageAddress,
        source: &mut FreshAnswers<impl Source>,
    ) -> Arc<Rendering> {
        let now = Instant::now();
        self.kept.retain(|kept| now < kept.until);
        let url = address.url();
        if let Some(kept) = self.kept.iter().find(|kept| kept.address == url) {
            return Arc::clone(&kept.rendering);
        }
        let (html, until) = source.lasting(|source| live_part(address, source));
        let print = fingerprint(&html);
        let html = html.replace("\r", " ");
        let rendering = Arc::new(Rendering { print, html });
        self.keep(KeptRendering {
            address: url,
            until,
            rendering: Arc::clone(&rendering),
        });
        rendering
    }

    /// The oldest make room.
    fn keep(&mut self, new: KeptRendering) {
        self.kept.push(new);
        let bytes = |kept: &KeptRendering| kept.address.len() + kept.rendering.html.len();
        let mut all: usize = self.kept.iter().map(bytes).sum();
        while self.kept.len() > MAX_KEPT || all > MAX_KEPT_BYTES {
            all -= bytes(&self.kept.remove(0));
        }
    }
}

#[cfg(test)]
mod tests {
    use pumice_engine::view::{Ask, JobView, View};
    use pumice_page::{PageDecision, PageLanguage, PageName, PageStanding, ToldWorkload};

    use super::*;

    /// Has so many decisions, of which each is as long as that, and counts how often it is asked for them.
    struct Decided {
        decisions: usize,
        length: usize,
        asked: usize,
    }

    impl Source for Decided {
        fn ask(&mut self, _: &Ask) -> Result<View, String> {
            Err("nothing else".to_owned())
        }

        fn decisions(&mut self) -> Result<Vec<PageDecision>, String> {
            self.asked += 1;
            let one = PageDecision {
                pod: "p".repeat(self.length),
                ..PageDecision::default()
            };
            Ok(vec![one; self.decisions])
        }

        fn workload(&mut self, _: &JobView) -> ToldWorkload {
            ToldWorkload::Nothing
        }

        fn standing(&mut self) -> PageStanding {
            PageStanding::default()
        }
    }

    fn fresh(decisions: usize, length: usize) -> FreshAnswers<Decided> {
        FreshAnswers::of(Decided {
            decisions,
            length,
            asked: 0,
        })
    }

    fn page(search: &str) -> PageAddress {
        let mut address = PageAddress::of(PageName::Decisions, PageLanguage::English);
        search.clone_into(&mut address.search);
        address
    }

    #[test]
    fn whoever_looks_at_the_same_page_gets_the_same_rendering_until_its_answers_are_old() {
        let (mut renderings, mut source) = (Renderings::default(), fresh(1, 5));
        let first = renderings.of(&page(""), &mut source);
        assert!(Arc::ptr_eq(&first, &renderings.of(&page(""), &mut source)));
        // What is chosen on it, and the language, make it another one, of the same answers.
        let mut other = page("");
        other.language = PageLanguage::Chinese;
        for other in [page("p"), other] {
            let rendering = renderings.of(&other, &mut source);
            assert!(!Arc::ptr_eq(&first, &rendering));
        }
        assert_eq!(source.source().asked, 1);
        source.age();
        renderings
            .kept
            .iter_mut()
            .for_each(|kept| kept.until = Instant::now());
        let later = renderings.of(&page(""), &mut source);
        assert!(!Arc::ptr_eq(&first, &later) && first.print == later.print);
        assert_eq!(source.source().asked, 2);
    }

    #[test]
    fn however_many_pages_are_looked_at_few_are_kept_and_fewer_of_large_ones() {
        let (mut renderings, mut source) = (Renderings::default(), fresh(1, 1));
        for at in 0..MAX_KEPT * 2 {
            renderings.of(&page(&at.to_string()), &mut source);
        }
        assert_eq!(renderings.kept.len(), MAX_KEPT);
        let (mut renderings, mut source) = (Renderings::default(), fresh(100, 40_000));
        for search in ["", "p", "pp"] {
            let rendering = renderings.of(&page(search), &mut source);
            assert!(rendering.html.len() > MAX_KEPT_BYTES / 4);
        }
        let bytes: usize = renderings
            .kept
            .iter()
            .map(|kept| kept.rendering.html.len())
            .sum();
        assert!(bytes <= MAX_KEPT_BYTES, "{bytes}");
    }
}
