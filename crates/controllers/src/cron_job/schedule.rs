//! Schedules as Kubernetes reads them: five fields of cron, or a word.
//!
//! The grammar is that of the standard parser of `robfig/cron` v3, and so are the rules for days and
//! for changes of the clock: a time that a day does not have is left out, one that it has twice is
//! taken twice.

use jiff::civil::Date;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp, ToSpan};
use pumice_units::duration::parse_go_duration;

/// Days after which a schedule that never comes is given up: five years.
const MAX_DAYS: i32 = 5 * 366;

/// Shortest pause of `@every`: Jobs are named by the minute.
const SHORTEST_EVERY: SignedDuration = SignedDuration::from_mins(1);

/// When to run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CronSchedule {
    /// At times of the wall clock.
    Clock(ClockTimes),
    /// With a pause in between.
    Every(SignedDuration),
}

/// Times of the wall clock.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClockTimes {
    minutes: FieldSet,
    hours: FieldSet,
    days: FieldSet,
    months: FieldSet,
    weekdays: FieldSet,
}

/// Numbers of one field.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct FieldSet {
    bits: u64,
    /// `*`: says nothing about the day.
    is_any: bool,
}

impl FieldSet {
    fn has(self, number: i8) -> bool {
        self.bits & 1_u64.checked_shl(number.unsigned_abs().into()).unwrap_or(0) != 0
    }
}

/// What a field may hold.
struct FieldRange {
    name: &'static str,
    least: u32,
    most: u32,
    /// Names of the numbers from `least` on.
    words: &'static [&'static str],
}

const MONTHS: [&str; 12] = [
    "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec",
];

const WEEKDAYS: [&str; 7] = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"];

const FIELDS: [FieldRange; 5] = [
    field("minute", 0, 59, &[]),
    field("hour", 0, 23, &[]),
    field("day of month", 1, 31, &[]),
    field("month", 1, 12, &MONTHS),
    field("day of week", 0, 6, &WEEKDAYS),
];

const fn field(
    name: &'static str,
    least: u32,
    most: u32,
    words: &'static [&'static str],
) -> FieldRange {
    FieldRange {
        name,
        least,
        most,
        words,
    }
}

impl CronSchedule {
    /// Reads a schedule without time zone.
    ///
    /// # Errors
    /// What is wrong with it, and what may stand there.
    pub fn parse(text: &str) -> Result<Self, String> {
        let text = text.trim();
        if let Some(word) = text.strip_prefix('@') {
            return from_word(word);
        }
        let parts: Vec<&str> = text.split_whitespace().collect();
        let [minutes, hours, days, months, weekdays] = parts[..] else {
            return Err(format!(
                "it has {} fields instead of 5: minute, hour, day of month, month, day of week",
                parts.len()
            ));
        };
        let [minute, hour, day, month, weekday] = &FIELDS;
        Ok(Self::Clock(ClockTimes {
            minutes: numbers(minutes, minute)?,
            hours: numbers(hours, hour)?,
            days: numbers(days, day)?,
            months: numbers(months, month)?,
            weekdays: numbers(weekdays, weekday)?,
        }))
    }

    /// The first run after a time. `None` if there is none within five years. Pauses are counted
    /// from `start`.
    pub fn next_after(
        &self,
        start: Timestamp,
        after: Timestamp,
        zone: &TimeZone,
    ) -> Option<Timestamp> {
        match self {
            Self::Clock(times) => times.next_after(after, zone),
            Self::Every(pause) => {
                let passed = after.duration_since(start).as_secs().max(0);
                let runs = passed / pause.as_secs().max(1) + 1;
                start
                    .checked_add(pause.checked_mul(runs.try_into().ok()?)?)
                    .ok()
            }
        }
    }

    /// The last run after a time and not after `until`.
    pub fn last_until(
        &self,
        start: Timestamp,
        after: Timestamp,
        until: Timestamp,
        zone: &TimeZone,
    ) -> Option<Timestamp> {
        match self {
            Self::Clock(times) => times.last_until(after, until, zone),
            Self::Every(pause) => {
                let runs = until.duration_since(start).as_secs() / pause.as_secs().max(1);
                let last = start.checked_add(pause.checked_mul(runs.try_into().ok()?)?);
                last.ok().filter(|last| runs > 0 && *last > after)
            }
        }
    }
}

impl ClockTimes {
    fn next_after(&self, after: Timestamp, zone: &TimeZone) -> Option<Timestamp> {
        let mut date = after.to_zoned(zone.clone()).date();
        for _ in 0..MAX_DAYS {
            let found = self.runs_of(date, zone, after).find(|run| *run > after);
            if found.is_some() {
                return found;
            }
            date = date.tomorrow().ok()?;
        }
        None
    }

    fn last_until(&self, after: Timestamp, until: Timestamp, zone: &TimeZone) -> Option<Timestamp> {
        let first = after.to_zoned(zone.clone()).date();
        let mut date = until.to_zoned(zone.clone()).date();
        for _ in 0..MAX_DAYS {
            let runs = self.runs_of(date, zone, Timestamp::MIN);
            let runs = runs.take_while(|run| *run <= until);
            if let Some(last) = runs.last() {
                return Some(last).filter(|last| *last > after);
            }
            if date <= first {
                return None;
            }
            date = date.yesterday().ok()?;
        }
        None
    }

    fn is_day(&self, date: Date) -> bool {
        let day = self.days.has(date.day());
        let weekday = self.weekdays.has(date.weekday().to_sunday_zero_offset());
        let both_said = !self.days.is_any && !self.weekdays.is_any;
        self.months.has(date.month())
            && match both_said {
                true => day || weekday,
                false => day && weekday,
            }
    }

    /// Runs of one day from the minute of `from` on, in order.
    fn runs_of(
        &self,
        date: Date,
        zone: &TimeZone,
        from: Timestamp,
    ) -> impl Iterator<Item = Timestamp> {
        let midnight = date.to_zoned(zone.clone()).ok();
        let start = midnight.map(|midnight| {
            let minute = Timestamp::from_second(from.as_second().div_euclid(60) * 60);
            let minute = minute.unwrap_or(from);
            match minute > midnight.timestamp() {
                true => minute.to_zoned(zone.clone()),
                false => midnight,
            }
        });
        let mut at = start.filter(|_| self.is_day(date));
        std::iter::from_fn(move || {
            loop {
                let now = at.take().filter(|now| now.date() == date)?;
                if !self.hours.has(now.hour()) {
                    let rest = 60 - i64::from(now.minute());
                    at = now.checked_add(rest.minutes()).ok();
                    continue;
                }
                at = now.checked_add(1.minute()).ok();
                if self.minutes.has(now.minute()) {
                    return Some(now.timestamp());
                }
            }
        })
    }
}

fn from_word(word: &str) -> Result<CronSchedule, String> {
    let fields = match word {
        "yearly" | "annually" => "0 0 1 1 *",
        "monthly" => "0 0 1 * *",
        "weekly" => "0 0 * * 0",
        "daily" | "midnight" => "0 0 * * *",
        "hourly" => "0 * * * *",
        _ => return every(word),
    };
    CronSchedule::parse(fields)
}

fn every(word: &str) -> Result<CronSchedule, String> {
    let Some(text) = word.strip_prefix("every ") else {
        return Err(format!(
            "@{word} is not known; use @hourly, @daily, @midnight, @weekly, @monthly, @yearly, \
             @annually or @every 1h30m"
        ));
    };
    let nanoseconds = parse_go_duration(text.trim())
        .map_err(|error| format!("@every {text}: {error}; write for example @every 1h30m"))?;
    // Like Kubernetes, whole seconds.
    let pause = SignedDuration::from_secs(nanoseconds / 1_000_000_000);
    if pause < SHORTEST_EVERY {
        return Err(format!(
            "@every {text} is too often; write one minute or more, since runs are named by the \
             minute"
        ));
    }
    Ok(CronSchedule::Every(pause))
}

fn numbers(text: &str, range: &FieldRange) -> Result<FieldSet, String> {
    let mut set = FieldSet::default();
    for part in text.split(',').filter(|part| !part.is_empty()) {
        let found =
            steps(part, range).map_err(|error| format!("{} {text:?}: {error}", range.name))?;
        set.bits |= found.bits;
        set.is_any |= found.is_any;
    }
    if set.bits == 0 {
        return Err(format!("{} {text:?}: there is no number", range.name));
    }
    Ok(set)
}

/// `*`, `5`, `1-5`, and each with `/2` behind it.
fn steps(part: &str, range: &FieldRange) -> Result<FieldSet, String> {
    let (whole, step) = match part.split_once('/') {
        Some((whole, step)) => (whole, Some(step)),
        None => (part, None),
    };
    let width = match step {
        None => 1,
        Some(text) => text
            .parse::<u32>()
            .ok()
            .filter(|width| *width > 0)
            .ok_or_else(|| format!("{text:?} is not a step; write a number above 0"))?,
    };
    let is_any = matches!(whole, "*" | "?");
    let (first, last) = match whole.split_once('-') {
        _ if is_any => (range.least, range.most),
        Some((first, last)) => (number(first, range)?, number(last, range)?),
        None => {
            let first = number(whole, range)?;
            (first, if step.is_some() { range.most } else { first })
        }
    };
    if first > last {
        return Err(format!("{whole:?} ends before it begins"));
    }
    let mut bits = 0;
    let mut at = first;
    while at <= last {
        bits |= 1_u64 << at;
        at = at.saturating_add(width);
    }
    Ok(FieldSet {
        bits,
        is_any: is_any && width == 1,
    })
}

fn number(text: &str, range: &FieldRange) -> Result<u32, String> {
    let lower = text.to_ascii_lowercase();
    let word = range.words.iter().position(|word| *word == lower);
    let word = word.and_then(|at| u32::try_from(at).ok());
    let number = match word {
        Some(at) => range.least + at,
        None => text
            .parse()
            .map_err(|_| format!("{text:?} is not a number"))?,
    };
    if number < range.least || number > range.most {
        let (least, most) = (range.least, range.most);
        return Err(format!("{number} is not between {least} and {most}"));
    }
    Ok(number)
}
