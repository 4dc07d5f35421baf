//! The formats, and by what each is recognised.

use crate::csv::first_line;
use crate::problem::TraceProblem;

/// A format of traces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TraceFormat {
    /// Pumice's own (`docs/guide/simulate.md`).
    Pumice,
    /// Alibaba, cluster-trace-gpu-v2020: `pai_task_table.csv`.
    Alibaba2020,
    /// Alibaba, cluster-trace-gpu-v2023: `openb_pod_list_….csv`.
    Alibaba2023,
    /// Microsoft, philly-traces: `cluster_job_log`.
    Philly,
    /// SenseTime, HeliosData: `cluster_log.csv`.
    Helios,
    /// Shanghai AI Laboratory, AcmeTrace: `trace_seren.csv`, `trace_kalos.csv`.
    Acme,
    /// The Standard Workload Format of the Parallel Workloads Archive.
    Swf,
}

/// Columns of Alibaba's table of tasks, which is published without a line of names.
pub const TASK_TABLE: [&str; 10] = [
    "job_name",
    "task_name",
    "inst_num",
    "status",
    "start_time",
    "end_time",
    "plan_cpu",
    "plan_mem",
    "plan_gpu",
    "gpu_type",
];

/// Numbers in a row of the Standard Workload Format.
pub const SWF_FIELDS: usize = 18;

impl TraceFormat {
    /// All of them, with the word by which each is named.
    pub const ALL: [(Self, &'static str); 7] = [
        (Self::Pumice, "pumice"),
        (Self::Alibaba2020, "alibaba-2020"),
        (Self::Alibaba2023, "alibaba-2023"),
        (Self::Philly, "philly"),
        (Self::Helios, "helios"),
        (Self::Acme, "acme"),
        (Self::Swf, "swf"),
    ];

    /// The word by which it is named.
    pub fn name(self) -> &'static str {
        let known = Self::ALL.iter().find(|(format, _)| *format == self);
        known.map_or("", |(_, name)| name)
    }

    /// The format whose word this is.
    pub fn by_name(name: &str) -> Option<Self> {
        let known = Self::ALL.iter().find(|(_, known)| *known == name);
        known.map(|(format, _)| *format)
    }

    /// The format of a text, by its first line.
    ///
    /// # Errors
    /// The text is empty, or begins as no trace does.
    pub fn of(file: &str, text: &str) -> Result<Self, TraceProblem> {
        let problem = |line, message: String, help: String| TraceProblem {
            file: file.to_owned(),
            line,
            message,
            help,
        };
        let Some((line, first)) = first_line(text) else {
            let help = "give a file with a line of names and a row for each job";
            return Err(problem(0, "the trace is empty".to_owned(), help.to_owned()));
        };
        recognised(first).ok_or_else(|| {
            let names = Self::ALL.map(|(_, name)| name).join(", ");
            let begin: String = first.chars().take(80).collect();
            let message = format!("this is no trace that is known; it begins with {begin:?}");
            let help = format!("name the format with --trace-format ({names}), or write it as docs/guide/simulate.md says");
            problem(line, message, help)
        })
    }
}

fn recognised(first: &str) -> Option<TraceFormat> {
    if first.starts_with(['[', '{']) {
        return Some(TraceFormat::Philly);
    }
    let numbers = first.split_whitespace();
    let numbers = numbers.filter(|word| word.parse::<f64>().is_ok()).count();
    if first.starts_with(';') || (numbers == SWF_FIELDS && !first.contains(',')) {
        return Some(TraceFormat::Swf);
    }
    let names: Vec<&str> = first
        .split(',')
        .map(|name| name.trim().trim_matches('"'))
        .collect();
    let has = |wanted: &[&str]| wanted.iter().all(|name| names.contains(name));
    let states = ["Terminated", "Failed", "Running", "Waiting", "Interrupted"];
    let is_task = names.len() == TASK_TABLE.len() && states.contains(&names[3]);
    if has(&["job_name", "task_name", "inst_num"]) || is_task {
        return Some(TraceFormat::Alibaba2020);
    }
    if has(&["cpu_milli", "num_gpu"]) {
        return Some(TraceFormat::Alibaba2023);
    }
    if has(&["submit_time", "gpu_num"]) {
        let is_helios = names.contains(&"vc");
        return Some(if is_helios {
            TraceFormat::Helios
        } else {
            TraceFormat::Acme
        });
    }
    has(&["submit", "duration"]).then_some(TraceFormat::Pumice)
}
