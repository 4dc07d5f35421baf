//! A trace of a GPU cluster: CSV files as the Alibaba cluster trace of 2023 has them.

use std::path::Path;

use anyhow::{Context, bail, ensure};

use super::super::arguments::TaskMix;
use super::super::cluster::next;

/// A GPU is so many parts.
pub const WHOLE: i64 = 1000;

/// A node of the trace, with so many GPUs of a model.
pub struct TraceNode {
    pub name: String,
    pub cpu_milli: i64,
    pub memory_mib: i64,
    pub gpus: i64,
    pub model: String,
}

/// A task of the trace, and what it asks for.
#[derive(Clone)]
pub struct TraceTask {
    pub cpu_milli: i64,
    pub memory_mib: i64,
    /// GPUs it asks for, each of them so much.
    pub gpus: i64,
    pub gpu_milli: i64,
    /// Models that may do; any, if there are none.
    pub models: Vec<String>,
    /// Seconds from its start to its end.
    pub lasts_s: i64,
}

impl TraceTask {
    /// What it asks of GPUs in all, in thousandths of one.
    pub fn demand_milli(&self) -> i64 {
        self.gpus * self.gpu_milli
    }
}

/// Nodes, and tasks to draw from.
pub struct Trace {
    pub nodes: Vec<TraceNode>,
    tasks: Vec<TraceTask>,
    /// By how often they come.
    coming: Lots,
    /// By how many of them there are at any time.
    present: Lots,
}

/// Chances of tasks to be drawn: up to and with each.
struct Lots(Vec<f64>);

impl Lots {
    fn of(weights: impl Iterator<Item = f64>) -> Self {
        let sums = weights.scan(0.0, |sum, weight| {
            *sum += weight;
            Some(*sum)
        });
        Self(sums.collect())
    }

    fn sum(&self) -> f64 {
        self.0.last().copied().unwrap_or(0.0)
    }

    fn draw(&self, random: &mut u64) -> usize {
        let point = uniform(random) * self.sum();
        let at = self.0.partition_point(|weight| *weight <= point);
        at.min(self.0.len() - 1)
    }
}

/// A number from 0 to below 1.
pub fn uniform(random: &mut u64) -> f64 {
    // 53 bits: as many as the fraction of a number has.
    (next(random) >> 11) as f64 / (1u64 << 53) as f64
}

impl Trace {
    /// Reads both files.
    ///
    /// # Errors
    /// What cannot be read: file, line, column and text.
    pub fn read(nodes: &Path, tasks: &Path, mix: TaskMix) -> anyhow::Result<Self> {
        let nodes = TraceTable::read(nodes)?.rows(|row| {
            Ok(TraceNode {
                name: row.text("sn")?.to_owned(),
                cpu_milli: row.number("cpu_milli")?,
                memory_mib: row.number("memory_mib")?,
                gpus: row.number("gpu")?,
                model: row.text("model")?.to_owned(),
            })
        })?;
        let tasks = TraceTable::read(tasks)?.rows(|row| {
            // Lists of the trace without required models leave the column out.
            let models = row.text("gpu_spec").unwrap_or_default().split('|');
            let times = row.number("deletion_time").ok();
            let times = times.zip(row.number("creation_time").ok());
            let gpu_milli = row.number("gpu_milli")?;
            ensure!(
                gpu_milli <= WHOLE,
                "{}: gpu_milli {gpu_milli} is more than a GPU",
                row.place()
            );
            Ok(TraceTask {
                cpu_milli: row.number("cpu_milli")?,
                memory_mib: row.number("memory_mib")?,
                gpus: row.number("num_gpu")?,
                gpu_milli,
                models: models
                    .filter(|model| !model.is_empty())
                    .map(str::to_owned)
                    .collect(),
                lasts_s: times.map_or(0, |(end, start)| i64::max(0, end - start)),
            })
        })?;
        ensure!(!nodes.is_empty(), "there are no nodes");
        let weights = weights(&tasks, mix);
        let demand = tasks.iter().any(|task| task.demand_milli() > 0);
        let sum: f64 = weights.iter().sum();
        ensure!(sum > 0.0 && demand, "no task asks for a GPU");
        let lasting = weights.iter().zip(&tasks);
        let lasting = lasting.map(|(weight, task)| weight * task.lasts_s as f64);
        Ok(Self {
            nodes,
            coming: Lots::of(weights.iter().copied()),
            present: Lots::of(lasting),
            tasks,
        })
    }

    /// All GPUs, in thousandths of one.
    pub fn capacity_milli(&self) -> i64 {
        self.nodes.iter().map(|node| node.gpus * WHOLE).sum()
    }

    /// A task that comes, drawn with replacement.
    pub fn draw(&self, random: &mut u64) -> &TraceTask {
        &self.tasks[self.coming.draw(random)]
    }

    /// A task that is there at some moment, and how many more seconds it lasts.
    pub fn draw_present(&self, random: &mut u64) -> (&TraceTask, f64) {
        let task = &self.tasks[self.present.draw(random)];
        (task, uniform(random) * task.lasts_s as f64)
    }

    /// Seconds between two tasks at which they ask for as much GPU time as there is.
    pub fn interval_s(&self) -> f64 {
        let mut before = 0.0;
        let shares = self.coming.0.iter().map(|weight| {
            let own = weight - before;
            before = *weight;
            own / self.coming.sum()
        });
        let work = self.tasks.iter().zip(shares);
        let work =
            work.map(|(task, share)| share * task.demand_milli() as f64 * task.lasts_s as f64);
        work.sum::<f64>() / self.capacity_milli() as f64
    }
}

/// How often each task comes.
fn weights(tasks: &[TraceTask], mix: TaskMix) -> Vec<f64> {
    let demand = |asks: fn(&TraceTask) -> bool| -> i64 {
        let those = tasks.iter().filter(|task| asks(task));
        those.map(TraceTask::demand_milli).sum()
    };
    let count = |asks: fn(&TraceTask) -> bool| tasks.iter().filter(|task| asks(task)).count();
    let several = |task: &TraceTask| task.gpus > 1;
    let share = |task: &TraceTask| task.gpus == 1 && task.gpu_milli < WHOLE;
    let any = |task: &TraceTask| task.gpus > 0;
    let of_several = (demand(any) - demand(several)) as f64 / demand(several).max(1) as f64;
    let of_shares = count(any) as f64 / count(share).max(1) as f64;
    let of_none = count(any) as f64 / (3 * count(|task| task.gpus == 0)).max(1) as f64;
    let weight = |task: &TraceTask| match mix {
        TaskMix::Several if several(task) => of_several,
        TaskMix::Shares if share(task) => of_shares,
        TaskMix::Shares if any(task) => 0.0,
        TaskMix::CpuHeavy if !any(task) => of_none,
        _ => 1.0,
    };
    tasks.iter().map(weight).collect()
}

/// A file with a line of names, and rows of as many values.
struct TraceTable {
    file: String,
    text: String,
}

struct TraceRow<'a> {
    file: &'a str,
    line: usize,
    names: &'a [&'a str],
    values: Vec<&'a str>,
}

impl TraceTable {
    fn read(path: &Path) -> anyhow::Result<Self> {
        let text = std::fs::read_to_string(path);
        Ok(Self {
            file: path.display().to_string(),
            text: text.with_context(|| format!("cannot read {}", path.display()))?,
        })
    }

    fn rows<T>(&self, read: impl Fn(&TraceRow) -> anyhow::Result<T>) -> anyhow::Result<Vec<T>> {
        let mut lines = self.text.lines().enumerate();
        let names = lines.next().map_or("", |(_, line)| line);
        let names: Vec<&str> = names.split(',').map(str::trim).collect();
        let lines = lines.filter(|(_, line)| !line.trim().is_empty());
        let rows = lines.map(|(at, line)| {
            let row = TraceRow {
                file: &self.file,
                line: at + 1,
                names: &names,
                values: line.split(',').map(str::trim).collect(),
            };
            let (has, needs) = (row.values.len(), names.len());
            ensure!(
                has == needs,
                "{}: {has} values, and {needs} names in line 1",
                row.place()
            );
            read(&row)
        });
        rows.collect()
    }
}

impl TraceRow<'_> {
    fn place(&self) -> String {
        format!("{}:{}", self.file, self.line)
    }

    fn text(&self, name: &str) -> anyhow::Result<&str> {
        match self.names.iter().position(|known| *known == name) {
            Some(at) => Ok(self.values[at]),
            None => bail!("{}: line 1 names no column {name}", self.file),
        }
    }

    fn number(&self, name: &str) -> anyhow::Result<i64> {
        let text = self.text(name)?;
        let number = text.parse().ok().filter(|number| *number >= 0);
        number.with_context(|| {
            format!(
                "{}: {name} is {text:?}, and has to be a whole number",
                self.place()
            )
        })
    }
}
