//! Times of day at which a revocable zone is open (spec/02 §14).

use jiff::civil::Time;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};

/// `22:00-06:00`: from the first time of day up to the second one, which is on the next day where it is
/// not later; equal ones are a whole day.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ZoneWindow {
    start: Time,
    end: Time,
}

impl ZoneWindow {
    /// From its text.
    ///
    /// # Errors
    /// What is wrong with it, to follow its quotation.
    pub fn parse(text: &str) -> Result<Self, String> {
        let Some((start, end)) = text.split_once('-') else {
            return Err("has no `-` between two times of day".to_owned());
        };
        Ok(Self {
            start: time_of_day(start)?,
            end: time_of_day(end)?,
        })
    }

    fn covers(&self, time: Time) -> bool {
        match self.start < self.end {
            true => self.start <= time && time < self.end,
            false => self.start <= time || time < self.end,
        }
    }

    /// Whether it is open at an instant, seconds since the epoch, by the clocks of a time zone.
    pub fn is_open(&self, at_s: i64, clocks: &TimeZone) -> bool {
        Timestamp::from_second(at_s).is_ok_and(|at| self.covers(clocks.to_datetime(at).time()))
    }

    /// The next instant after one at which clocks show where it begins or ends, or are set to another time;
    /// seconds since the epoch.
    pub fn next_edge_s(&self, after_s: i64, clocks: &TimeZone) -> Option<i64> {
        let after = Timestamp::from_second(after_s).ok()?;
        let today = clocks.to_datetime(after).date();
        let days = [Some(today), today.tomorrow().ok()].into_iter().flatten();
        let days = days.chain(today.tomorrow().and_then(|next| next.tomorrow()).ok());
        let shown = days.flat_map(|day| [self.start, self.end].map(|time| day.to_datetime(time)));
        let shown = shown.filter_map(|at| clocks.to_timestamp(at).ok());
        let set = clocks.following(after).next();
        let soon = SignedDuration::from_hours(72);
        let set = set.map(|change| change.timestamp());
        let set = set.filter(|at| at.duration_since(after) < soon);
        let edges = shown.chain(set).map(|at| at.as_second());
        edges.filter(|at_s| *at_s > after_s).min()
    }
}

/// `9:30`, `22:00`.
fn time_of_day(text: &str) -> Result<Time, String> {
    let text = text.trim();
    let number = |digits: &str, len: std::ops::RangeInclusive<usize>| {
        let is_number = len.contains(&digits.len()) && digits.bytes().all(|b| b.is_ascii_digit());
        is_number.then(|| digits.parse::<i8>().ok())?
    };
    let read = text.split_once(':').and_then(|(hour, minute)| {
        let (hour, minute) = (number(hour, 1..=2)?, number(minute, 2..=2)?);
        Time::new(hour, minute, 0, 0).ok()
    });
    read.ok_or_else(|| format!("has `{text}` where a time of day from 00:00 to 23:59 should be"))
}
