//! Tables: a line of names, and rows of as many values with commas between them.

use std::borrow::Cow;

use crate::problem::{RowFault, TraceProblem};

/// Words for "not known".
const UNKNOWN: [&str; 5] = ["nan", "none", "null", "na", "n/a"];

/// Columns of a table, and where in the text its rows begin.
pub struct CsvColumns<'a> {
    file: &'a str,
    names: Vec<Cow<'a, str>>,
    /// Lines before the first row.
    before: usize,
}

/// What stands in one line of a table.
pub struct CsvRow<'a> {
    /// Line, counted from 1.
    pub line: usize,
    values: Vec<Cow<'a, str>>,
}

/// Where in a row a column stands.
#[derive(Clone, Copy, Debug)]
pub struct CsvColumn {
    at: Option<usize>,
    name: &'static str,
}

/// Whether a line says something.
fn says(line: &str) -> bool {
    let line = line.trim();
    !line.is_empty() && !line.starts_with('#')
}

/// The first line that says something, and how many lines there are up to and with it.
pub fn first_line(text: &str) -> Option<(usize, &str)> {
    let mut lines = text.lines().enumerate();
    let found = lines.find(|(_, line)| says(line));
    found.map(|(at, line)| (at + 1, line.trim_start_matches('\u{feff}').trim()))
}

impl<'a> CsvColumns<'a> {
    /// The names in the first line.
    pub fn read(file: &'a str, text: &'a str) -> Self {
        let (before, line) = first_line(text).unwrap_or((0, ""));
        let names = values(line);
        Self {
            file,
            names,
            before,
        }
    }

    /// These names, in a text whose first line is a row.
    pub fn given(file: &'a str, names: &[&'a str]) -> Self {
        Self {
            file,
            names: names.iter().map(|name| Cow::Borrowed(*name)).collect(),
            before: 0,
        }
    }

    /// A column that may be missing.
    pub fn find(&self, name: &'static str) -> CsvColumn {
        let at = self.names.iter().position(|known| known == name);
        CsvColumn { at, name }
    }

    /// A column without which nothing can be read.
    ///
    /// # Errors
    /// There is none of that name.
    pub fn need(&self, name: &'static str) -> Result<CsvColumn, TraceProblem> {
        let column = self.find(name);
        if column.at.is_some() {
            return Ok(column);
        }
        let names: Vec<&str> = self.names.iter().map(AsRef::as_ref).collect();
        Err(TraceProblem {
            file: self.file.to_owned(),
            line: self.before.max(1),
            message: format!(
                "there is no column `{name}`; there are {}",
                names.join(", ")
            ),
            help: "give the file as it was published, or name its format with --trace-format"
                .to_owned(),
        })
    }

    /// Calls `take` with every row, or with why it has not as many values as there are columns.
    pub fn rows(&self, text: &'a str, mut take: impl FnMut(usize, Result<&CsvRow<'a>, RowFault>)) {
        let lines = text.lines().enumerate().skip(self.before);
        for (at, line) in lines.filter(|(_, line)| says(line)) {
            let values = values(line.trim_start_matches('\u{feff}'));
            let (has, needs) = (values.len(), self.names.len());
            if has == needs {
                let line = at + 1;
                take(line, Ok(&CsvRow { line, values }));
                continue;
            }
            let message = format!("{has} values, and there are {needs} columns");
            let help = "correct the row; a value with a comma in it stands in quotes";
            take(at + 1, Err(RowFault::new(message, help)));
        }
    }
}

impl CsvRow<'_> {
    /// What stands in a column; `None` where that is nothing, or a word for it.
    pub fn text(&self, column: CsvColumn) -> Option<&str> {
        let text: &str = self.values.get(column.at?)?;
        let is_known =
            !text.is_empty() && !UNKNOWN.iter().any(|word| text.eq_ignore_ascii_case(word));
        is_known.then_some(text)
    }

    /// What stands in a column, where something has to.
    ///
    /// # Errors
    /// Nothing does.
    pub fn needed(&self, column: CsvColumn) -> Result<&str, RowFault> {
        self.text(column).ok_or_else(|| {
            let message = format!("{} is missing", column.name);
            RowFault::new(message, "fill it in, or remove the row")
        })
    }

    /// A number that is not below 0; `None` where there is nothing.
    ///
    /// # Errors
    /// It is no such number.
    pub fn number(&self, column: CsvColumn) -> Result<Option<f64>, RowFault> {
        let Some(text) = self.text(column) else {
            return Ok(None);
        };
        let number = text.parse().ok();
        let number =
            number.filter(|number: &f64| number.is_finite() && *number >= 0.0 && *number < 1e15);
        let name = column.name;
        number.map(Some).ok_or_else(|| {
            let message = format!("{name} is {text:?}, and has to be a number that is not below 0");
            RowFault::new(message, "correct the value, or remove the row")
        })
    }

    /// A whole number that is not below 0; `0` where there is nothing.
    ///
    /// # Errors
    /// It is no such number.
    pub fn whole(&self, column: CsvColumn) -> Result<i64, RowFault> {
        let number = self.number(column)?.unwrap_or(0.0);
        if number.fract() == 0.0 {
            return Ok(number as i64);
        }
        let name = column.name;
        let message = format!("{name} is {number}, and has to be a whole number");
        Err(RowFault::new(
            message,
            "correct the value, or remove the row",
        ))
    }
}

/// The values of a line; those in quotes may have commas in them, and quotes that are written twice.
fn values(line: &str) -> Vec<Cow<'_, str>> {
    if !line.contains('"') {
        let values = line.split(',');
        return values.map(|value| Cow::Borrowed(value.trim())).collect();
    }
    let mut all = Vec::new();
    let (mut value, mut quoted) = (String::new(), false);
    let mut signs = line.chars().peekable();
    while let Some(sign) = signs.next() {
        match sign {
            '"' if quoted && signs.peek() == Some(&'"') => value.extend(signs.next()),
            '"' => quoted = !quoted,
            ',' if !quoted => all.push(Cow::Owned(std::mem::take(&mut value).trim().to_owned())),
            sign => value.push(sign),
        }
    }
    all.push(Cow::Owned(value.trim().to_owned()));
    all
}
