//! Rows as left-aligned columns.

use std::io::Write;

/// Left-aligned columns, two spaces apart.
pub fn columns<const N: usize>(
    out: &mut dyn Write,
    head: [&str; N],
    rows: Vec<[String; N]>,
) -> anyhow::Result<()> {
    columns_from(0, out, head, &rows)
}

/// Left-aligned columns without the `first` ones: those of namespaces where all rows have one.
pub fn columns_from<const N: usize>(
    first: usize,
    out: &mut dyn Write,
    head: [&str; N],
    rows: &[[String; N]],
) -> anyhow::Result<()> {
    let mut widths = head.map(|title| title.chars().count());
    for row in rows {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = (*width).max(cell.chars().count());
        }
    }
    let head = head.map(str::to_owned);
    for row in std::iter::once(&head).chain(rows) {
        let cells: Vec<String> = row
            .iter()
            .zip(widths)
            .skip(first)
            .map(|(cell, width)| format!("{cell:<width$}"))
            .collect();
        writeln!(out, "{}", cells.join("  ").trim_end())?;
    }
    Ok(())
}
