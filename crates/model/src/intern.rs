//! Strings as small numbers: comparing two labels is comparing two integers.

use rustc_hash::FxHashMap;

/// An interned string.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Sym(u32);

/// The interner. Symbols are never freed: their number is bounded by the distinct names, label
/// keys and label values the cluster has shown.
#[derive(Clone, Debug)]
pub struct Interner {
    texts: Vec<std::rc::Rc<str>>,
    index: FxHashMap<std::rc::Rc<str>, Sym>,
}

impl Default for Interner {
    fn default() -> Self {
        let mut interner = Self {
            texts: Vec::new(),
            index: FxHashMap::default(),
        };
        interner.intern("");
        interner
    }
}

impl Interner {
    /// Symbol of `text`, new if it was not known.
    pub fn intern(&mut self, text: &str) -> Sym {
        if let Some(&sym) = self.index.get(text) {
            return sym;
        }
        let sym = Sym(self.texts.len() as u32);
        let text: std::rc::Rc<str> = text.into();
        self.texts.push(text.clone());
        self.index.insert(text, sym);
        sym
    }

    /// Symbol of `text`, if known.
    pub fn get(&self, text: &str) -> Option<Sym> {
        self.index.get(text).copied()
    }

    /// The text of a symbol.
    pub fn text(&self, sym: Sym) -> &str {
        &self.texts[sym.0 as usize]
    }
}
