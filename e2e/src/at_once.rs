//! Parts of one test that need nothing of each other.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use anyhow::{Result, ensure};

/// Tries all of these, as many at once as `threads` says, and gives what came of each.
///
/// # Errors
/// All that failed, each after its name.
pub fn each_at_once<N, T>(
    names: &[N],
    threads: usize,
    attempt: impl Fn(&str) -> Result<T> + Sync,
) -> Result<Vec<T>>
where
    N: AsRef<str> + Sync,
    T: Send,
{
    let next = AtomicUsize::new(0);
    let work = || {
        let mut results = Vec::new();
        while let Some(name) = names.get(next.fetch_add(1, Ordering::Relaxed)) {
            let name = name.as_ref();
            results.push(attempt(name).map_err(|error| format!("{name}: {error:#}")));
        }
        results
    };
    let results: Vec<Result<T, String>> = thread::scope(|scope| {
        let started: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        let ended = started.into_iter().map(|thread| thread.join());
        ended
            .flat_map(|result| result.unwrap_or_else(|cause| std::panic::resume_unwind(cause)))
            .collect()
    });
    let mut failures = Vec::new();
    let mut done = Vec::new();
    for result in results {
        match result {
            Ok(result) => done.push(result),
            Err(failure) => failures.push(failure),
        }
    }
    ensure!(failures.is_empty(), "{}", failures.join("\n\n"));
    Ok(done)
}
