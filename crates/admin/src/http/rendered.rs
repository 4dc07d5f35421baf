//! The text of `/metrics`, made at most once a second whoever asks how often.

use std::sync::Arc;
use std::time::Duration;

use axum::body::Bytes;
use tokio::sync::Mutex;
use tokio::time::Instant;

use crate::metrics::MetricsPage;

/// How long a text is the answer: scrapes are seconds apart.
const HOLDS: Duration = Duration::from_secs(1);

/// A source of metrics with its latest text.
pub struct RenderedMetrics {
    source: Arc<dyn MetricsPage>,
    /// Held while a text is made, so that those who ask meanwhile get the same one.
    latest: Mutex<Option<(Instant, Bytes)>>,
}

impl RenderedMetrics {
    /// Metrics that this source makes.
    #[must_use]
    pub fn new(source: Arc<dyn MetricsPage>) -> Arc<Self> {
        Arc::new(Self {
            source,
            latest: Mutex::default(),
        })
    }

    /// The text, a second old at most.
    ///
    /// # Errors
    /// It cannot be made: why.
    pub(super) async fn text(&self) -> Result<Bytes, String> {
        let mut latest = self.latest.lock().await;
        if let Some((made, text)) = &*latest
            && made.elapsed() < HOLDS
        {
            return Ok(text.clone());
        }
        let source = Arc::clone(&self.source);
        // Tens of thousands of series take a while to write, which other requests need not wait for.
        let text = tokio::task::spawn_blocking(move || source.text()).await;
        let text = text.map_err(|error| error.to_string())?;
        let text = Bytes::from(text.map_err(|error| error.to_string())?);
        *latest = Some((Instant::now(), text.clone()));
        Ok(text)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    #[derive(Default)]
    struct Counted(AtomicUsize);

    impl MetricsPage for Counted {
        fn text(&self) -> Result<String, prometheus::Error> {
            let nth = self.0.fetch_add(1, Ordering::Relaxed);
            Ok(format!("text {nth}"))
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_text_is_made_once_a_second_however_many_ask() {
        let counted = Arc::new(Counted::default());
        let rendered = RenderedMetrics::new(Arc::clone(&counted) as _);
        let mut all = tokio::task::JoinSet::new();
        for _ in 0..100 {
            let rendered = Arc::clone(&rendered);
            all.spawn(async move { rendered.text().await });
        }
        for text in all.join_all().await {
            assert_eq!(text.as_deref(), Ok(&b"text 0"[..]));
        }
        tokio::time::advance(HOLDS / 2).await;
        assert_eq!(rendered.text().await.as_deref(), Ok(&b"text 0"[..]));
        tokio::time::advance(HOLDS / 2).await;
        assert_eq!(rendered.text().await.as_deref(), Ok(&b"text 1"[..]));
        assert_eq!(counted.0.load(Ordering::Relaxed), 2);
    }
}
