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
    /// How long a kind may not be followed.
    grace: Duration,
}

impl Picture {
    pub(super) fn new(board: Arc<Board>, grace: Duration) -> Self {
        let board = Some(board).filter(|_| !grace.is_zero());
        Self { board, grace }
    }

    /// Kinds that protect and have not been followed for too long, with how long.
    pub fn lost(&self) -> Vec<(&'static str, Duration)> {
        let board = self.board.as_ref();
        let mut lost = board.map_or_else(Vec::new, |board| board.lost());
        lost.retain(|(_, age)| *age >= self.grace);
        lost
    }

    /// Waits until something of it changes; for ever where nothing can.
    pub async fn changed(&self) {
        match &self.board {
            Some(board) => board.changed().await,
            None => std::future::pending().await,
        }
    }

    /// Waits until [`Picture::lost`] is empty.
    pub async fn followed(&self) {
        let Some(board) = &self.board else { return };
        board.until(|| self.lost().is_empty()).await;
    }
}
