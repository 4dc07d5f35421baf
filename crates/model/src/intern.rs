//! Strings as small numbers: comparing two labels is comparing two integers.

use std::sync::Arc;

use crate::shared::{SharedMap, SharedVec};

/// An interned string.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Sym(u32);

/// The interner. Symbols that nobody holds any more make room for others ([`Interner::sweep`]).
pub struct Interner {
    texts: SharedVec<Arc<str>>,
    index: SharedMap<Arc<str>, Sym>,
    free: Vec<Sym>,
    /// Symbols handed out since the last sweep.
    young: usize,
}

impl Default for Interner {
    fn default() -> Self {
        let mut interner = Self {
            texts: SharedVec::default(),
            index: SharedMap::default(),
            free: Vec::new(),
            young: 0,
        };
        interner.intern("");
        interner
    }
}

impl Interner {
    /// A copy that shares with this one what neither has changed since.
    pub(crate) fn share(&mut self) -> Self {
        Self {
            texts: self.texts.share(),
            index: self.index.share(),
            free: self.free.clone(),
            young: self.young,
        }
    }

    /// Symbol of `text`, new if it was not known.
    pub fn intern(&mut self, text: &str) -> Sym {
        if let Some(&sym) = self.index.get(text) {
            return sym;
        }
        let text: Arc<str> = text.into();
        self.young += 1;
        let sym = match self.free.pop() {
            Some(sym) => {
                self.texts[sym.0 as usize] = text.clone();
                sym
            }
            None => {
                self.texts.push(text.clone());
                Sym((self.texts.len() - 1) as u32)
            }
        };
        self.index.insert(text, sym);
        sym
    }

    /// Symbols handed out since the last sweep.
    pub fn young(&self) -> usize {
        self.young
    }

    /// Number of symbols in use, as far as is known.
    pub fn len(&self) -> usize {
        self.texts.len() - self.free.len()
    }

    /// Never true: the empty text is always known.
    pub fn is_empty(&self) -> bool {
        false
    }

    /// Forgets every symbol that is not among `live`; the empty text stays. The caller names every
    /// symbol that somebody still holds.
    pub fn sweep(&mut self, live: impl Iterator<Item = Sym>) {
        let mut held = vec![false; self.texts.len()];
        held[0] = true;
        live.for_each(|sym| held[sym.0 as usize] = true);
        self.free.iter().for_each(|sym| held[sym.0 as usize] = true);
        let empty = self.texts[0].clone();
        for (at, _) in held.iter().enumerate().filter(|(_, held)| !**held) {
            let text = std::mem::replace(&mut self.texts[at], empty.clone());
            self.index.remove(&text);
            self.free.push(Sym(at as u32));
        }
        self.young = 0;
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
