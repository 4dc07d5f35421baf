//! Whether what decisions are made from is being followed.
//!
//! A kind is not followed from when its watch broke, ended, or was found not to deliver, until it is
//! open again and what had happened meanwhile has been handed on. That a watch is silent means
//! nothing: it is found out by looking (see `crate::follow`).

use std::sync::Arc;
use std::time::Duration;

use crate::follow::board::Board;

/// What decisions are made from, as it is followed now. Clones share it; the default is always
/// followed.
#[derive(Clone, Debug, Default)]
pub struct Picture {
    board: Option<Arc<Board>>,
    /// How long a kind may not be followed; zero for ever.
    grace: Duration,
}

impl Picture {
    pub(crate) fn new(board: Arc<Board>, grace: Duration) -> Self {
        let board = Some(board);
        Self { board, grace }
    }

    /// The board, where a kind may not be lost for ever.
    fn guarded(&self) -> Option<&Arc<Board>> {
        self.board.as_ref().filter(|_| !self.grace.is_zero())
    }

    /// `group/version` in which a kind was listed last.
    pub(crate) fn served_version(&self, kind: &str) -> Option<String> {
        self.board.as_ref()?.served_version(kind)
    }

    /// Kinds that protect and have not been followed for too long, with how long.
    pub fn lost(&self) -> Vec<(&'static str, Duration)> {
        let board = self.guarded();
        let mut lost = board.map_or_else(Vec::new, |board| board.lost());
        lost.retain(|(_, age)| *age >= self.grace);
        lost
    }

    /// Waits until something of it changes; for ever where nothing can.
    pub async fn changed(&self) {
        match self.guarded() {
            Some(board) => board.changed().await,
            None => std::future::pending().await,
        }
    }

    /// Waits until [`Picture::lost`] is empty.
    pub async fn followed(&self) {
        let Some(board) = self.guarded() else { return };
        board.until(|| self.lost().is_empty()).await;
    }
}
