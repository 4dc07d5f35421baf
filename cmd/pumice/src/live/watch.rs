//! `list -w`: a table, then each row anew that has changed, as `kubectl get -w` prints them.

use std::collections::BTreeMap;
use std::io::Write;
use std::process::ExitCode;
use std::time::Duration;

use super::user::ClusterUser;

/// Time between two looks.
const PAUSE: Duration = Duration::from_secs(2);

/// A table that is looked at again and again. The last column is an age, which alone is no change;
/// a row is known by its first `KEYS` columns.
pub(super) struct WatchedTable<const N: usize, const KEYS: usize> {
    widths: [usize; N],
    known: BTreeMap<Vec<String>, [String; N]>,
}

impl<const N: usize, const KEYS: usize> WatchedTable<N, KEYS> {
    pub fn new(head: &[&str; N], rows: &[[String; N]]) -> Self {
        let mut widths = head.map(|title| title.chars().count());
        for row in rows {
            for (width, cell) in widths.iter_mut().zip(row) {
                *width = (*width).max(cell.chars().count());
            }
        }
        Self {
            widths,
            known: BTreeMap::new(),
        }
    }

    /// Rows that are new, have changed or are gone, of which the first column after the key says
    /// so.
    pub fn news(&mut self, rows: Vec<[String; N]>) -> Vec<[String; N]> {
        let key = |row: &[String; N]| row.iter().take(KEYS).cloned().collect::<Vec<_>>();
        let now: BTreeMap<Vec<String>, [String; N]> =
            rows.into_iter().map(|row| (key(&row), row)).collect();
        let is_same = |l: &[String; N], r: &[String; N]| {
            let without_age =
                |row: &[String; N]| row.iter().take(N - 1).cloned().collect::<Vec<_>>();
            without_age(l) == without_age(r)
        };
        let mut news = Vec::new();
        for (key, row) in &now {
            let before = self.known.get(key);
            if before.is_none_or(|before| !is_same(before, row)) {
                news.push(row.clone());
            }
        }
        for (key, row) in &self.known {
            if !now.contains_key(key) {
                let mut gone = row.clone();
                if let Some(cell) = gone.get_mut(KEYS) {
                    "(deleted)".clone_into(cell);
                }
                news.push(gone);
            }
        }
        self.known = now;
        news
    }

    fn print(&self, out: &mut dyn Write, row: &[String; N]) -> std::io::Result<()> {
        let cells: Vec<String> = row
            .iter()
            .zip(self.widths)
            .map(|(cell, width)| format!("{cell:<width$}"))
            .collect();
        writeln!(out, "{}", cells.join("  ").trim_end())
    }
}

/// Shows the rows until whoever looks has seen enough.
pub(super) fn watch<const N: usize, const KEYS: usize>(
    user: &ClusterUser,
    head: [&str; N],
    mut look: impl FnMut() -> anyhow::Result<Vec<[String; N]>>,
) -> anyhow::Result<ExitCode> {
    let mut rows = look()?;
    let mut table = WatchedTable::<N, KEYS>::new(&head, &rows);
    let mut out = anstream::stdout();
    table.print(&mut out, &head.map(str::to_owned))?;
    loop {
        for row in table.news(rows) {
            table.print(&mut out, &row)?;
        }
        user.pause(PAUSE);
        rows = look()?;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(name: &str, phase: &str, age: &str) -> [String; 3] {
        [name, phase, age].map(str::to_owned)
    }

    #[test]
    fn a_row_is_shown_again_when_it_has_changed_and_not_for_its_age() {
        let first = vec![row("a", "Pending", "1s"), row("b", "Running", "9s")];
        let mut table = WatchedTable::<3, 1>::new(&["NAME", "PHASE", "AGE"], &first);
        assert_eq!(table.news(first.clone()), first);
        let older = vec![row("a", "Pending", "3s"), row("b", "Running", "11s")];
        assert!(table.news(older).is_empty());
        let changed = vec![row("a", "Running", "5s")];
        let expected = [row("a", "Running", "5s"), row("b", "(deleted)", "11s")];
        assert_eq!(table.news(changed), expected);
    }
}
