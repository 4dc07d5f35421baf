//! How long jobs ran, for whoever comes after: as a text for another process, as a memory for another engine.
//!
//! ```text
//!  {"format":1}
//!  {"namespace":"ml","user":"ada","name":"train","ran":[3600,3540]}     a kind of jobs, what was learned longest ago first
//! ```

use pumice_framework::{PluginMemory, RememberedObject};
use pumice_model::run_time::MAX_RUN_TIME_S;
use pumice_model::{JobIx, State, TaskId};
use serde::{Deserialize, Serialize};

use super::book::{MAX_RUNS, RunTimeBook};
use super::likeness::JobKind;
use super::watch::{JobWatch, WatchedJob};
use crate::kept_lines::{FormatLine, MAX_KEPT_BYTES, format_fault, line};

/// More lines of a text are not read.
const MAX_KEPT_LINES: usize = 16_384;
/// Kinds with longer names are nobody's.
const MAX_NAME_BYTES: usize = 256;
/// How the text, and the memory, is written.
const FORMAT: u32 = 1;

#[derive(Serialize, Deserialize)]
struct KindLine {
    namespace: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    user: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    name: String,
    ran: Vec<i64>,
}

/// What is known, so much of it that the text is not too long: what was learned last.
pub(super) fn text(book: &RunTimeBook) -> String {
    let head = line(&FormatLine { format: FORMAT });
    let mut length = head.len();
    let lines = book.all().into_iter().rev().map(|(kind, known)| {
        line(&KindLine {
            namespace: kind.namespace.to_string(),
            user: kind.user.to_string(),
            name: kind.stem.to_string(),
            ran: known.runs_s.iter().copied().collect(),
        })
    });
    let lines = lines.take_while(|line| {
        length += line.len();
        length <= MAX_KEPT_BYTES
    });
    let mut lines: Vec<String> = lines.collect();
    lines.push(head);
    lines.reverse();
    lines.concat()
}

/// What a text says; lines that cannot be are passed over.
pub(super) fn read(text: &str) -> RunTimeBook {
    let mut book = RunTimeBook::default();
    if fault(text).is_some() {
        return book;
    }
    for line in text.lines().skip(1).take(MAX_KEPT_LINES) {
        if let Ok(KindLine {
            namespace,
            user,
            name,
            ran,
        }) = serde_json::from_str(line)
            && [&namespace, &user, &name]
                .iter()
                .all(|name| name.len() <= MAX_NAME_BYTES)
        {
            let kind = JobKind {
                namespace: namespace.into(),
                user: user.into(),
                stem: name.into(),
            };
            note_all(&mut book, &kind, ran);
        }
    }
    book
}

/// Jobs of a kind ran that long.
fn note_all(book: &mut RunTimeBook, kind: &JobKind, ran: impl IntoIterator<Item = i64>) {
    let ran = ran.into_iter().take(MAX_RUNS);
    for run_s in ran.filter(|run_s| (1..=MAX_RUN_TIME_S).contains(run_s)) {
        book.note(kind, run_s);
    }
}

/// Why a text says nothing, if it does not.
pub fn fault(text: &str) -> Option<String> {
    format_fault(text, FORMAT)
}

/// First number of an object that is about a kind of jobs.
const KIND: i64 = 0;
/// First number of an object that is about a job of which pods have ended; these come behind it.
const JOB: i64 = 1;
/// First number of an object that is about a pod that has ended.
const POD: i64 = 2;

/// All that is known, so that one who takes it in goes on exactly where this one was.
pub(super) fn memory(book: &RunTimeBook, watch: &JobWatch, state: &State) -> PluginMemory {
    let numbers = vec![
        Some(i64::from(FORMAT)),
        watch.looked_s,
        i64::try_from(book.learned()).ok(),
    ];
    let kinds = book.all().into_iter().map(|(kind, known)| {
        let runs_s = known.runs_s.iter().map(|run_s| Some(*run_s));
        RememberedObject {
            namespace: kind.namespace.to_string(),
            name: kind.stem.to_string(),
            beside: Some(kind.user.to_string()),
            numbers: std::iter::once(Some(KIND)).chain(runs_s).collect(),
            ..RememberedObject::default()
        }
    });
    let population = state.population();
    let jobs = watch.jobs.iter();
    let mut jobs: Vec<(&JobIx, &WatchedJob)> = jobs
        .filter(|(ix, job)| population.has_job(**ix) && (job.is_over || !job.ended.is_empty()))
        .collect();
    jobs.sort_unstable_by_key(|(ix, _)| **ix);
    let jobs = jobs.into_iter().flat_map(|(ix, watched)| {
        let job = state.job(*ix);
        let of_job = RememberedObject {
            namespace: population.names().text(job.namespace).to_owned(),
            name: job.name.to_string(),
            numbers: vec![
                Some(JOB),
                Some(watched.longest_s),
                Some(i64::from(watched.is_over)),
            ],
            ..RememberedObject::default()
        };
        let mut pods: Vec<&str> = watched
            .ended
            .iter()
            .filter_map(|id| id.uid(population))
            .collect();
        pods.sort_unstable();
        let pods = pods.into_iter().map(|uid| RememberedObject {
            uid: uid.to_owned(),
            numbers: vec![Some(POD)],
            ..RememberedObject::default()
        });
        std::iter::once(of_job).chain(pods.collect::<Vec<_>>())
    });
    PluginMemory {
        numbers,
        objects: kinds.chain(jobs).collect(),
        ..PluginMemory::default()
    }
}

/// Takes in what another one remembered; `None` where that is nothing.
pub(super) fn resume(told: &PluginMemory, state: &State) -> Option<(RunTimeBook, JobWatch)> {
    if told.number(0) != Some(i64::from(FORMAT)) {
        return None;
    }
    let population = state.population();
    let (mut book, mut watch) = (RunTimeBook::default(), JobWatch::default());
    watch.looked_s = told.number(1);
    let all = population.jobs().map(|(ix, _)| ix);
    watch
        .jobs
        .extend(all.map(|ix| (ix, WatchedJob::of(state, ix))));
    let mut last = None;
    for object in &told.objects {
        match object.number(0) {
            Some(KIND) => {
                let kind = JobKind {
                    namespace: object.namespace.as_str().into(),
                    user: object.beside.as_deref().unwrap_or_default().into(),
                    stem: object.name.as_str().into(),
                };
                note_all(
                    &mut book,
                    &kind,
                    object.numbers.iter().skip(1).copied().flatten(),
                );
            }
            Some(JOB) => {
                last = population.job_by_key(&object.namespace, &object.name);
                if let Some(job) = last.and_then(|ix| watch.jobs.get_mut(&ix)) {
                    job.longest_s = object.number(1).unwrap_or(0);
                    job.is_over = object.number(2) == Some(1);
                }
            }
            _ => {
                let job = last.and_then(|ix| watch.jobs.get_mut(&ix));
                if let Some((job, id)) = job.zip(TaskId::by_uid(population, &object.uid)) {
                    job.ended.insert(id);
                }
            }
        }
    }
    book.set_learned(told.number(2).unwrap_or(0).max(0).unsigned_abs());
    Some((book, watch))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kind(stem: &str) -> JobKind {
        JobKind {
            namespace: "ns".into(),
            user: "a\"da".into(),
            stem: stem.into(),
        }
    }

    #[test]
    fn a_text_says_how_long_jobs_ran_and_is_read_as_it_was_written() {
        let mut book = RunTimeBook::default();
        book.learn(&kind("train"), 60);
        book.learn(&kind("train"), 70);
        let expected = "{\"format\":1}\n\
            {\"namespace\":\"ns\",\"user\":\"a\\\"da\",\"ran\":[60,70]}\n\
            {\"namespace\":\"ns\",\"user\":\"a\\\"da\",\"name\":\"train\",\"ran\":[60,70]}\n";
        assert_eq!(text(&book), expected);
        assert_eq!(text(&read(expected)), expected);
        assert_eq!(read(expected).learned(), 4);
    }

    #[test]
    fn the_text_is_bounded_and_has_what_was_learned_last() {
        let mut book = RunTimeBook::default();
        for at in 0..5_000 {
            let mut kind = kind(&format!("{at}-{}", "x".repeat(100)));
            kind.namespace = format!("ns-{}", at % 40).into();
            book.note(&kind, 1);
        }
        let text = text(&book);
        assert!(text.len() <= MAX_KEPT_BYTES && text.len() > MAX_KEPT_BYTES / 2);
        assert!(
            text.lines()
                .last()
                .is_some_and(|line| line.contains("4999-"))
        );
    }

    #[test]
    fn of_a_text_that_somebody_wrote_nothing_counts_without_bound() {
        for text in ["", "nonsense", "{}", "{\"format\":2}"] {
            assert!(fault(text).is_some(), "{text}");
            assert_eq!(read(text), RunTimeBook::default());
        }
        let odd = format!(
            "{{\"format\":1}}\nnonsense\n{{\"namespace\":\"{}\",\"ran\":[1]}}\n\
             {{\"namespace\":\"ns\",\"ran\":[-1,0,{},7{}]}}\n",
            "n".repeat(300),
            i64::MAX,
            ",1".repeat(1_000)
        );
        assert_eq!(fault(&odd), None);
        let read = read(&odd);
        let all = read.all();
        assert_eq!(all.len(), 1);
        assert_eq!(
            (all[0].1.runs_s[0], all[0].1.runs_s.len() <= MAX_RUNS),
            (7, true)
        );
    }
}
