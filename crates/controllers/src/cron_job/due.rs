//! Which run is due, and its Job.

use jiff::tz::{TimeZone, TimeZoneDatabase};
use jiff::{SignedDuration, Timestamp};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference};
use pumice_api::{CronJob, Job, keys};

use super::schedule::CronSchedule;
use super::text;
use crate::requester::requester;

/// Missed runs above which something is wrong.
const MAX_MISSED: usize = 100;

/// Prefixes by which a schedule may name its zone.
const ZONE_PREFIXES: [&str; 2] = ["CRON_TZ=", "TZ="];

/// When a CronJob runs.
#[derive(Clone, Debug)]
pub struct RunTimes {
    schedule: Option<CronSchedule>,
    zone: TimeZone,
    /// The zone stands in the schedule.
    is_zone_inside: bool,
}

/// Whether a run is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DueRun {
    /// Nothing is due.
    None,
    /// There was a run, which may not start any more.
    TooLate(Timestamp),
    /// This run is due, the latest of those that have not started.
    At {
        /// When the run was to start.
        run: Timestamp,
        /// More than a hundred have not started.
        too_many: bool,
    },
}

/// Reads when a CronJob runs.
///
/// # Errors
/// Reason and message of the event that says what is wrong.
pub fn read_times(
    cron_job: &CronJob,
    zones: &TimeZoneDatabase,
) -> Result<RunTimes, (&'static str, String)> {
    let written = cron_job.spec.schedule.trim();
    let prefix = ZONE_PREFIXES.iter().find_map(|p| written.strip_prefix(p));
    let (inside, fields) = match prefix {
        Some(rest) => {
            let (zone, fields) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
            (Some(zone), fields)
        }
        None => (None, written),
    };
    let outside = cron_job.spec.time_zone.as_deref();
    if inside.is_some() && outside.is_some() {
        let message = format!(
            "spec.schedule {written:?} names a time zone, and so does spec.timeZone; leave out the \
             one in the schedule"
        );
        return Err(("UnparseableSchedule", message));
    }
    let schedule = CronSchedule::parse(fields).map_err(|problem| {
        let message = format!(
            "spec.schedule {written:?} cannot be read: {problem}; nothing runs until it is changed"
        );
        ("UnparseableSchedule", message)
    })?;
    let zone = match outside.or(inside) {
        None => TimeZone::UTC,
        Some(name) => zone_of(name, zones).ok_or_else(|| {
            let message = format!(
                "there is no time zone {name:?}; write one like \"Europe/Berlin\" or \"Etc/UTC\""
            );
            ("UnknownTimeZone", message)
        })?,
    };
    Ok(RunTimes {
        schedule: Some(schedule),
        zone,
        is_zone_inside: inside.is_some(),
    })
}

fn zone_of(name: &str, zones: &TimeZoneDatabase) -> Option<TimeZone> {
    let is_named = !name.is_empty() && !name.eq_ignore_ascii_case("local");
    is_named.then(|| zones.get(name).ok())?
}

impl RunTimes {
    /// No times, in UTC.
    pub(super) fn utc() -> Self {
        Self {
            schedule: None,
            zone: TimeZone::UTC,
            is_zone_inside: false,
        }
    }

    /// What to tell the user although it works.
    pub(super) fn warning(&self) -> Option<String> {
        let message = "a time zone in spec.schedule may stop working; write it into spec.timeZone";
        self.is_zone_inside.then(|| message.to_owned())
    }

    /// The next run after now.
    pub(super) fn next_after(&self, cron_job: &CronJob, now: Timestamp) -> Option<Timestamp> {
        let start = created(cron_job);
        self.schedule.as_ref()?.next_after(start, now, &self.zone)
    }

    /// Whether a run is due now.
    pub fn due(&self, cron_job: &CronJob, now: Timestamp) -> DueRun {
        let Some(schedule) = &self.schedule else {
            return DueRun::None;
        };
        let start = created(cron_job);
        let last = cron_job.status.last_schedule_time.as_ref();
        let since = last.map_or(start, |last| last.0.max(start));
        let deadline = cron_job.spec.starting_deadline_seconds;
        let deadline = deadline.and_then(|s| now.checked_sub(SignedDuration::from_secs(s)).ok());
        let from = deadline.map_or(since, |deadline| since.max(deadline));
        let Some(run) = schedule.last_until(start, from, now, &self.zone) else {
            let late = schedule.last_until(start, since, now, &self.zone);
            return late.map_or(DueRun::None, DueRun::TooLate);
        };
        let next = |after: &Timestamp| {
            let next = schedule.next_after(start, *after, &self.zone)?;
            (next <= now).then_some(next)
        };
        let missed = std::iter::successors(next(&from), next);
        let too_many = missed.take(MAX_MISSED + 1).count() > MAX_MISSED;
        DueRun::At { run, too_many }
    }
}

fn created(cron_job: &CronJob) -> Timestamp {
    let created = cron_job.metadata.creation_timestamp.as_ref();
    created.map_or(Timestamp::UNIX_EPOCH, |created| created.0)
}

/// The Job of a run.
pub(super) fn job(cron_job: &CronJob, run: Timestamp, times: &RunTimes) -> Job {
    let meta = &cron_job.metadata;
    let template = &cron_job.spec.job_template;
    let mut annotations = template.metadata.annotations.clone().unwrap_or_default();
    let zoned = run.to_zoned(times.zone.clone());
    let scheduled = zoned.strftime("%Y-%m-%dT%H:%M:%S%:z").to_string();
    // As Go writes it.
    let scheduled = match scheduled.strip_suffix("+00:00") {
        Some(time) => format!("{time}Z"),
        None => scheduled,
    };
    annotations.insert(keys::CRON_JOB_SCHEDULED.to_owned(), scheduled);
    // Whatever the template says: its writer may write any name there.
    annotations.remove(keys::REQUESTER);
    annotations.extend(requester(meta));
    let minutes = run.as_second().div_euclid(60);
    Job {
        metadata: ObjectMeta {
            name: Some(format!("{}-{minutes}", text(&meta.name))),
            namespace: meta.namespace.clone(),
            labels: template.metadata.labels.clone(),
            annotations: Some(annotations),
            owner_references: Some(vec![OwnerReference {
                api_version: keys::BATCH_API_VERSION.to_owned(),
                kind: "CronJob".to_owned(),
                name: text(&meta.name).to_owned(),
                uid: text(&meta.uid).to_owned(),
                controller: Some(true),
                block_owner_deletion: Some(true),
            }]),
            ..ObjectMeta::default()
        },
        spec: template.spec.clone(),
        ..Job::default()
    }
}
