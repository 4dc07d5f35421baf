//! Lists of nodes, as traces bring them: Alibaba's of 2023 and 2020, Philly's, and Pumice's own.

use pumice_units::quantity;

use crate::csv::{CsvColumns, CsvRow, first_line};
use crate::problem::{RowFault, TraceProblem};

/// Most nodes that one row may stand for.
pub const MAX_ALIKE: i64 = 100_000;

const MIB: i64 = 1 << 20;
const GIB: f64 = (1u64 << 30) as f64;

/// A node of a trace.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TraceMachine {
    /// Name in the trace.
    pub name: String,
    /// What it has of cpu, in thousandths of a core; `None` where that is not told.
    pub cpu_milli: Option<i64>,
    /// What it has of memory, in bytes.
    pub memory_bytes: Option<i64>,
    /// What it has of cards.
    pub cards: i64,
    /// Model of its cards; empty where it has none, or that is not told.
    pub model: String,
}

/// Columns of Alibaba's table of machines, which is published without a line of names.
const MACHINE_SPEC: [&str; 5] = ["machine", "gpu_type", "cap_cpu", "cap_mem", "cap_gpu"];

/// Reads of a row for how many nodes it stands, and what each is.
type MachineReader = fn(&CsvColumns<'_>, &CsvRow<'_>) -> Result<(i64, TraceMachine), RowFault>;

/// Reads a list of nodes.
///
/// # Errors
/// A row cannot be read: nodes are too few to leave one out unseen.
pub fn read_machines(file: &str, text: &str) -> Result<Vec<TraceMachine>, TraceProblem> {
    let problem = |line, message: String, help: &str| TraceProblem {
        file: file.to_owned(),
        line,
        message,
        help: help.to_owned(),
    };
    let Some((_, first)) = first_line(text) else {
        return Err(problem(
            0,
            "there are no nodes".to_owned(),
            "give a line of names and a row a node",
        ));
    };
    let has_names = ["sn", "cap_cpu", "machineId", "cpu"]
        .iter()
        .any(|name| first.split(',').any(|known| known.trim() == *name));
    let columns = match has_names {
        true => CsvColumns::read(file, text),
        false => CsvColumns::given(file, &MACHINE_SPEC),
    };
    let read: MachineReader = match first {
        line if line.contains("cpu_milli") => of_2023,
        line if line.contains("machineId") => of_philly,
        line if line.contains("cap_cpu") || !has_names => of_2020,
        _ => own,
    };
    let (mut machines, mut fault) = (Vec::new(), None);
    columns.rows(text, |line, row| {
        match row.and_then(|row| read(&columns, row)) {
            Ok((1, machine)) => machines.push(machine),
            Ok((count, machine)) => machines.extend((0..count).map(|at| TraceMachine {
                name: format!("{}-{at}", machine.name),
                ..machine.clone()
            })),
            Err(why) => {
                fault.get_or_insert_with(|| problem(line, why.message, why.help));
            }
        }
    });
    match fault {
        Some(fault) => Err(fault),
        None if machines.is_empty() => Err(problem(
            0,
            "there are no nodes".to_owned(),
            "give a row a node",
        )),
        None => Ok(machines),
    }
}

impl TraceMachine {
    /// A node by its amounts: `cpu=96,memory=768Gi,cards=8,model=H100`.
    ///
    /// # Errors
    /// What of the text says nothing.
    pub fn shaped(text: &str) -> Result<Self, String> {
        let mut machine = Self::default();
        for part in text.split(',') {
            let Some((key, value)) = part.split_once('=') else {
                return Err(format!("{part:?} is not of the form key=amount"));
            };
            let amount = || {
                quantity::parse(value)
                    .map_err(|_| format!("{key} is {value:?}, which is no amount"))
            };
            match key.trim() {
                "cpu" => machine.cpu_milli = Some(amount()?.milli_ceil()),
                "memory" => machine.memory_bytes = Some(amount()?.whole_ceil()),
                "cards" => machine.cards = amount()?.whole_ceil(),
                "model" => value.trim().clone_into(&mut machine.model),
                other => return Err(format!("{other:?} is none of cpu, memory, cards, model")),
            }
        }
        Ok(machine)
    }
}

fn of_2023(columns: &CsvColumns<'_>, row: &CsvRow<'_>) -> Result<(i64, TraceMachine), RowFault> {
    let machine = TraceMachine {
        name: row.needed(columns.find("sn"))?.to_owned(),
        cpu_milli: Some(row.whole(columns.find("cpu_milli"))?),
        memory_bytes: Some(row.whole(columns.find("memory_mib"))?.saturating_mul(MIB)),
        cards: row.whole(columns.find("gpu"))?,
        model: row
            .text(columns.find("model"))
            .unwrap_or_default()
            .to_owned(),
    };
    Ok((1, machine))
}

fn of_2020(columns: &CsvColumns<'_>, row: &CsvRow<'_>) -> Result<(i64, TraceMachine), RowFault> {
    let number = |name| {
        row.number(columns.find(name))
            .map(|number| number.unwrap_or(0.0))
    };
    let kind = row.text(columns.find("gpu_type")).unwrap_or_default();
    let machine = TraceMachine {
        name: row.needed(columns.find("machine"))?.to_owned(),
        cpu_milli: Some((number("cap_cpu")? * 1000.0) as i64),
        memory_bytes: Some((number("cap_mem")? * GIB) as i64),
        cards: row.whole(columns.find("cap_gpu"))?,
        model: if kind == "CPU" {
            String::new()
        } else {
            kind.to_owned()
        },
    };
    Ok((1, machine))
}

fn of_philly(columns: &CsvColumns<'_>, row: &CsvRow<'_>) -> Result<(i64, TraceMachine), RowFault> {
    let machine = TraceMachine {
        name: row.needed(columns.find("machineId"))?.to_owned(),
        cards: row.whole(columns.find("number of GPUs"))?,
        model: row
            .text(columns.find("single GPU mem"))
            .unwrap_or_default()
            .to_owned(),
        ..TraceMachine::default()
    };
    Ok((1, machine))
}

fn own(columns: &CsvColumns<'_>, row: &CsvRow<'_>) -> Result<(i64, TraceMachine), RowFault> {
    let amount = |name: &'static str| match row.text(columns.find(name)) {
        None => Ok(None),
        Some(text) => quantity::parse(text).map(Some).map_err(|_| {
            let message = format!("{name} is {text:?}, which is no amount");
            RowFault::new(message, "write it as Kubernetes does: 96, 768Gi")
        }),
    };
    let count = row
        .text(columns.find("count"))
        .map(|_| row.whole(columns.find("count")));
    let count = count.transpose()?.unwrap_or(1);
    if count > MAX_ALIKE {
        let message = format!("count is {count}, more than {MAX_ALIKE}");
        return Err(RowFault::new(message, "correct the number"));
    }
    let machine = TraceMachine {
        name: row.needed(columns.find("name"))?.to_owned(),
        cpu_milli: amount("cpu")?.map(quantity::Quantity::milli_ceil),
        memory_bytes: amount("memory")?.map(quantity::Quantity::whole_ceil),
        cards: row.whole(columns.find("cards"))?,
        model: row
            .text(columns.find("model"))
            .unwrap_or_default()
            .to_owned(),
    };
    Ok((count, machine))
}
