//! Parquet: a flat table in one file, uncompressed, each column in one page a group of rows.
//!
//! ```text
//!  PAR1 │ rows 1 … 20,000: a page a column │ … │ FileMetaData │ length of that, 4 bytes │ PAR1
//! ```
//!
//! Written by hand, since the package that has all of the format is many times what else this program is made of: four types
//! of columns, plain values, and Thrift's compact protocol for what describes them
//! (the specification is `parquet.thrift` of Apache Parquet). Tests read it with a reader of their own; others have read it.

use std::io::Write;

use super::sheet::{CellValue, ColumnKind, HistorySheet};

const MAGIC: &[u8] = b"PAR1";

/// Rows of one group.
const GROUP_ROWS: usize = 20_000;

/// Types of values.
const INT64: i64 = 2;
const DOUBLE: i64 = 5;
const BYTE_ARRAY: i64 = 6;

/// A value is there, or may be missing.
const REQUIRED: i64 = 0;
const OPTIONAL: i64 = 1;

/// What values mean: text, milliseconds since the epoch.
const UTF8: i64 = 0;
const TIMESTAMP_MILLIS: i64 = 9;

/// How values, and whether they are there, are written.
const PLAIN: i64 = 0;
const RLE: i64 = 3;

/// The sheet as a file.
pub(super) fn write(out: &mut dyn Write, sheet: &HistorySheet) -> anyhow::Result<()> {
    let mut file = MAGIC.to_vec();
    let groups = sheet.rows.chunks(GROUP_ROWS);
    let groups: Vec<Vec<u8>> = groups.map(|rows| group(&mut file, sheet, rows)).collect();
    let mut data = ThriftStruct::default();
    data.whole(1, 1);
    data.structs(2, &schema(sheet));
    data.long(3, length(sheet.rows.len()));
    data.structs(4, &groups);
    data.text(6, concat!("pumice ", env!("CARGO_PKG_VERSION")));
    let data = data.end();
    file.extend(&data);
    file.extend(u32::try_from(data.len())?.to_le_bytes());
    file.extend(MAGIC);
    out.write_all(&file)?;
    Ok(())
}

fn length(length: usize) -> i64 {
    i64::try_from(length).unwrap_or(i64::MAX)
}

/// A root, and a column each.
fn schema(sheet: &HistorySheet) -> Vec<Vec<u8>> {
    let mut root = ThriftStruct::default();
    root.text(4, "history");
    root.whole(5, length(sheet.columns.len()));
    let column = |(name, kind): &(&str, ColumnKind)| {
        let mut column = ThriftStruct::default();
        column.whole(1, type_of(*kind));
        let is_time = *kind == ColumnKind::Time;
        column.whole(3, if is_time { OPTIONAL } else { REQUIRED });
        column.text(4, name);
        match kind {
            ColumnKind::Text => column.whole(6, UTF8),
            ColumnKind::Time => column.whole(6, TIMESTAMP_MILLIS),
            ColumnKind::Whole | ColumnKind::Number => {}
        }
        column.end()
    };
    let columns = sheet.columns.iter().map(column);
    std::iter::once(root.end()).chain(columns).collect()
}

fn type_of(kind: ColumnKind) -> i64 {
    match kind {
        ColumnKind::Text => BYTE_ARRAY,
        ColumnKind::Whole | ColumnKind::Time => INT64,
        ColumnKind::Number => DOUBLE,
    }
}

/// Writes the pages of some rows; what describes them.
fn group(file: &mut Vec<u8>, sheet: &HistorySheet, rows: &[Vec<CellValue>]) -> Vec<u8> {
    let begin = file.len();
    let columns = sheet.columns.iter().enumerate().map(|(at, (name, kind))| {
        let values = rows.iter().map(|row| &row[at]);
        let body = page(*kind, values);
        let header = page_header(body.len(), rows.len());
        let offset = length(file.len());
        let bytes = length(header.len() + body.len());
        file.extend(header);
        file.extend(body);
        let mut data = ThriftStruct::default();
        data.whole(1, type_of(*kind));
        data.wholes(2, &[PLAIN, RLE]);
        data.texts(3, &[name]);
        data.whole(4, 0);
        data.long(5, length(rows.len()));
        data.long(6, bytes);
        data.long(7, bytes);
        data.long(9, offset);
        let mut chunk = ThriftStruct::default();
        chunk.long(2, offset);
        chunk.nested(3, &data.end());
        chunk.end()
    });
    let columns: Vec<Vec<u8>> = columns.collect();
    let mut group = ThriftStruct::default();
    group.structs(1, &columns);
    group.long(2, length(file.len() - begin));
    group.long(3, length(rows.len()));
    group.end()
}

fn page_header(bytes: usize, rows: usize) -> Vec<u8> {
    let mut of_data = ThriftStruct::default();
    of_data.whole(1, length(rows));
    of_data.whole(2, PLAIN);
    of_data.whole(3, RLE);
    of_data.whole(4, RLE);
    let mut header = ThriftStruct::default();
    header.whole(1, 0);
    header.whole(2, length(bytes));
    header.whole(3, length(bytes));
    header.nested(5, &of_data.end());
    header.end()
}

/// Values one after the other; before times, which of them are there.
fn page<'a>(kind: ColumnKind, values: impl Iterator<Item = &'a CellValue>) -> Vec<u8> {
    let (mut plain, mut there) = (Vec::new(), Vec::new());
    for value in values {
        match value {
            CellValue::Text(text) => {
                plain.extend((text.len() as u32).to_le_bytes());
                plain.extend(text.as_bytes());
            }
            CellValue::Whole(number) => plain.extend(number.to_le_bytes()),
            CellValue::Number(number) => plain.extend(number.to_le_bytes()),
            CellValue::Time(at_s) => {
                there.push(at_s.is_some());
                if let Some(at_s) = at_s {
                    plain.extend(at_s.saturating_mul(1_000).to_le_bytes());
                }
            }
        }
    }
    if kind != ColumnKind::Time {
        return plain;
    }
    let mut levels = Vec::new();
    for run in there.chunk_by(|left, right| left == right) {
        // A run of one value: how often, shifted by the bit that would say that values are packed.
        varint(&mut levels, (run.len() as u64) << 1);
        levels.push(u8::from(run[0]));
    }
    let mut page = (levels.len() as u32).to_le_bytes().to_vec();
    page.extend(levels);
    page.extend(plain);
    page
}

fn varint(out: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

fn zigzag(out: &mut Vec<u8>, number: i64) {
    varint(out, ((number << 1) ^ (number >> 63)) as u64);
}

/// Types of Thrift's compact protocol.
const THRIFT_I32: u8 = 5;
const THRIFT_I64: u8 = 6;
const THRIFT_BINARY: u8 = 8;
const THRIFT_LIST: u8 = 9;
const THRIFT_STRUCT: u8 = 12;

/// A struct of Thrift's compact protocol that is being written, its fields in order.
#[derive(Default)]
struct ThriftStruct {
    bytes: Vec<u8>,
    last: u8,
}

impl ThriftStruct {
    fn field(&mut self, number: u8, kind: u8) {
        self.bytes.push((number - self.last) << 4 | kind);
        self.last = number;
    }

    fn whole(&mut self, number: u8, value: i64) {
        self.field(number, THRIFT_I32);
        zigzag(&mut self.bytes, value);
    }

    fn long(&mut self, number: u8, value: i64) {
        self.field(number, THRIFT_I64);
        zigzag(&mut self.bytes, value);
    }

    fn text(&mut self, number: u8, text: &str) {
        self.field(number, THRIFT_BINARY);
        self.put_text(text);
    }

    fn put_text(&mut self, text: &str) {
        varint(&mut self.bytes, text.len() as u64);
        self.bytes.extend(text.as_bytes());
    }

    fn nested(&mut self, number: u8, of: &[u8]) {
        self.field(number, THRIFT_STRUCT);
        self.bytes.extend(of);
    }

    fn list(&mut self, number: u8, kind: u8, length: usize) {
        self.field(number, THRIFT_LIST);
        match u8::try_from(length) {
            Ok(short @ 0..15) => self.bytes.push(short << 4 | kind),
            _ => {
                self.bytes.push(0xF0 | kind);
                varint(&mut self.bytes, length as u64);
            }
        }
    }

    fn structs(&mut self, number: u8, all: &[Vec<u8>]) {
        self.list(number, THRIFT_STRUCT, all.len());
        all.iter().for_each(|one| self.bytes.extend(one));
    }

    fn wholes(&mut self, number: u8, all: &[i64]) {
        self.list(number, THRIFT_I32, all.len());
        all.iter().for_each(|one| zigzag(&mut self.bytes, *one));
    }

    fn texts(&mut self, number: u8, all: &[&str]) {
        self.list(number, THRIFT_BINARY, all.len());
        all.iter().for_each(|one| self.put_text(one));
    }

    fn end(mut self) -> Vec<u8> {
        self.bytes.push(0);
        self.bytes
    }
}
