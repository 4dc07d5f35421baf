//! What was used, for whoever comes after: as a text for another process, as a memory for another engine.
//!
//! ```text
//!  {"format":1,"asOf":…,"measure":"dominant"}          when uses were as they stand, and of what
//!  {"queue":"research","used":"…"}                     all of a queue, in billionths of a unit times seconds
//!  {"queue":"research","user":"ada","used":"…"}        a user of it; the one without a name has an empty one
//!  {"queue":"research","others":true,"used":"…"}       users that are not told apart
//! ```

use pumice_framework::{PluginMemory, RememberedObject};
use serde::{Deserialize, Serialize};

use super::decay::{MAX_RATE, MAX_USE, USE_BITS};
use super::ledger::{AccountOwner, UseLedger};
use crate::kept_lines::{MAX_KEPT_BYTES, line, other_format};

/// More lines of a text are not read.
const MAX_KEPT_LINES: usize = 16_384;
/// Longer names of queues and users are of nobody.
const MAX_NAME_BYTES: usize = 256;
/// How the text, and the memory, is written.
const FORMAT: u32 = 1;

/// One use, as it is kept.
#[derive(Debug, PartialEq)]
pub(super) struct KeptUse {
    pub queue: String,
    pub owner: AccountOwner,
    pub used: u128,
}

/// Uses, as they were kept.
#[derive(Debug, PartialEq)]
pub(super) struct KeptUses {
    pub as_of_s: i64,
    pub measure: String,
    pub uses: Vec<KeptUse>,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct UseHead {
    format: u32,
    as_of: i64,
    measure: String,
}

#[derive(Serialize, Deserialize)]
struct UseLine {
    queue: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    user: Option<String>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    others: bool,
    used: String,
}

/// What is known, so much of it that the text is not too long: queues first, then who used most.
pub(super) fn text(ledger: &UseLedger) -> String {
    let mut text = line(&UseHead {
        format: FORMAT,
        as_of: ledger.now_s(),
        measure: ledger.measure.mark(),
    });
    let all = ledger
        .all()
        .into_iter()
        .map(|account| (account, ledger.used(account) >> USE_BITS));
    let mut all: Vec<_> = all.filter(|(_, used)| *used > 0).collect();
    all.sort_by_key(|(account, used)| {
        (
            account.owner != AccountOwner::Queue,
            std::cmp::Reverse(*used),
        )
    });
    for (account, used) in all {
        let line = line(&UseLine {
            queue: account.queue.to_string(),
            user: match &account.owner {
                AccountOwner::User(name) => Some(name.to_string()),
                AccountOwner::Queue | AccountOwner::Others => None,
            },
            others: account.owner == AccountOwner::Others,
            used: used.to_string(),
        });
        if text.len() + line.len() <= MAX_KEPT_BYTES {
            text.push_str(&line);
        }
    }
    text
}

/// What a text says, as of a moment: a time that is still to come counts as now. Lines that cannot be are passed over.
///
/// # Errors
/// The text is none of ours.
pub(super) fn read(text: &str, now_s: i64) -> Result<KeptUses, String> {
    let mut lines = text.lines();
    let head = lines.next().unwrap_or_default();
    let head: UseHead = serde_json::from_str(head).map_err(|error| {
        format!("the first line does not say when uses were as they stand: {error}")
    })?;
    if head.format != FORMAT {
        return Err(other_format(head.format, FORMAT));
    }
    let uses = lines.take(MAX_KEPT_LINES).filter_map(|line| {
        let line: UseLine = serde_json::from_str(line).ok()?;
        let names = [Some(&line.queue), line.user.as_ref()];
        let is_short = names
            .into_iter()
            .flatten()
            .all(|name| name.len() <= MAX_NAME_BYTES);
        let used = line.used.parse::<u128>().ok().filter(|_| is_short)?;
        Some(KeptUse {
            queue: line.queue,
            owner: match (line.user, line.others) {
                (Some(user), _) => AccountOwner::User(user.into()),
                (None, true) => AccountOwner::Others,
                (None, false) => AccountOwner::Queue,
            },
            used: used.min(MAX_USE >> USE_BITS) << USE_BITS,
        })
    });
    Ok(KeptUses {
        as_of_s: head.as_of.min(now_s),
        measure: head.measure,
        uses: uses.collect(),
    })
}

/// Why a text that is not empty says nothing to a plugin with this measure, if it does not.
pub(super) fn fault(text: &str, measure: &str) -> Option<String> {
    match read(text, i64::MAX) {
        Ok(kept) if kept.measure == measure => None,
        Ok(kept) => Some(format!(
            "it is of fairshare.measure `{}`, and `{measure}` is configured",
            kept.measure
        )),
        Err(why) => Some(why),
    }
}

/// What a plugin knows beside its accounts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct UseClock {
    pub ordered_s: Option<i64>,
    pub was_waited: bool,
    pub due_s: Option<i64>,
}

/// Bits of a use that a number of a memory has.
const NUMBER_BITS: u32 = 62;

fn in_numbers(used: u128) -> [Option<i64>; 2] {
    let low = used & ((1 << NUMBER_BITS) - 1);
    [used >> NUMBER_BITS, low].map(|part| i64::try_from(part).ok())
}

fn of_numbers(high: i64, low: i64) -> u128 {
    let [high, low] = [high, low].map(|part| u128::from(part.max(0).unsigned_abs()));
    ((high << NUMBER_BITS) | low).min(MAX_USE)
}

/// All that is known, so that one who takes it in goes on exactly where this one was.
pub(super) fn memory(ledger: &UseLedger, clock: UseClock) -> PluginMemory {
    let numbers = vec![
        Some(i64::from(FORMAT)),
        Some(measure_number(&ledger.measure.mark())),
        Some(ledger.now_s()),
        Some(ledger.charged_s()),
        Some(i64::from(ledger.has_moved())),
        clock.ordered_s,
        Some(i64::from(clock.was_waited)),
        clock.due_s,
    ];
    let objects = ledger.all().into_iter().map(|account| {
        let [used, ordered] = [account.used, account.ordered].map(in_numbers);
        let rate = i64::try_from(account.rate).ok();
        let (owner, name) = match &account.owner {
            AccountOwner::Queue => (0, ""),
            AccountOwner::Others => (1, ""),
            AccountOwner::User(name) => (2, &**name),
        };
        RememberedObject {
            namespace: account.queue.to_string(),
            name: name.to_owned(),
            numbers: vec![
                used[0],
                used[1],
                ordered[0],
                ordered[1],
                rate,
                Some(account.as_of_s),
                Some(owner),
            ],
            ..RememberedObject::default()
        }
    });
    PluginMemory {
        numbers,
        objects: objects.collect(),
        ..PluginMemory::default()
    }
}

/// Takes in what one with the same measure remembered. `None` where it is of something else.
pub(super) fn resume(told: &PluginMemory, ledger: &mut UseLedger) -> Option<UseClock> {
    let is_ours = told.number(0) == Some(i64::from(FORMAT))
        && told.number(1) == Some(measure_number(&ledger.measure.mark()));
    let now_s = told.number(2).filter(|_| is_ours)?;
    ledger.restart(now_s);
    for object in &told.objects {
        let number = |at| object.number(at).unwrap_or(0);
        let owner = match number(6) {
            0 => AccountOwner::Queue,
            1 => AccountOwner::Others,
            _ => AccountOwner::User(object.name.as_str().into()),
        };
        let [used, ordered] = [0, 2].map(|at| of_numbers(number(at), number(at + 1)));
        let rate = number(4).max(0).unsigned_abs().min(MAX_RATE);
        ledger.resume(&object.namespace, owner, (used, ordered), (rate, number(5)));
    }
    ledger.go_on(told.number(3).unwrap_or(0), told.is_so(4));
    Some(UseClock {
        ordered_s: told.number(5),
        was_waited: told.is_so(6),
        due_s: told.number(7),
    })
}

/// A number that tells measures apart.
fn measure_number(text: &str) -> i64 {
    let fold = |sum: u64, byte: u8| (sum ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    (text.bytes().fold(0xcbf2_9ce4_8422_2325, fold) >> 2) as i64
}

#[cfg(test)]
mod tests {
    use super::super::decay::HalfLife;
    use super::super::measure::UseMeasure;
    use super::*;

    fn ledger() -> UseLedger {
        let mut ledger = UseLedger::new(UseMeasure::Dominant, HalfLife::of_seconds(3_600));
        ledger.restart(1_000);
        ledger
    }

    #[test]
    fn a_text_says_who_used_what_and_is_read_as_it_was_written() {
        let mut ledger = ledger();
        for (queue, owner, used) in [
            ("q", AccountOwner::Queue, 7),
            ("q", AccountOwner::User("a\"b".into()), 3),
            ("q", AccountOwner::User("".into()), 9),
            ("q", AccountOwner::Others, 1),
            ("p", AccountOwner::Queue, 8),
            ("p", AccountOwner::User("none".into()), 0),
        ] {
            ledger.bring(queue, owner, used << USE_BITS);
        }
        let text = text(&ledger);
        let expected = "{\"format\":1,\"asOf\":1000,\"measure\":\"dominant\"}\n\
                        {\"queue\":\"p\",\"used\":\"8\"}\n\
                        {\"queue\":\"q\",\"used\":\"7\"}\n\
                        {\"queue\":\"q\",\"user\":\"\",\"used\":\"9\"}\n\
                        {\"queue\":\"q\",\"user\":\"a\\\"b\",\"used\":\"3\"}\n\
                        {\"queue\":\"q\",\"others\":true,\"used\":\"1\"}\n";
        assert_eq!(text, expected);
        let read = read(&text, 2_000).expect("uses");
        assert_eq!(
            (read.as_of_s, read.measure.as_str(), read.uses.len()),
            (1_000, "dominant", 5)
        );
        let odd = KeptUse {
            queue: "q".to_owned(),
            owner: AccountOwner::User("a\"b".into()),
            used: 3 << USE_BITS,
        };
        assert_eq!(read.uses[3], odd);
    }

    #[test]
    fn the_text_is_bounded_and_has_queues_and_those_who_used_most() {
        let mut ledger = ledger();
        for at in 0..4_000 {
            let queue = format!("{at}-{}", "q".repeat(100));
            ledger.bring(&queue, AccountOwner::User("u".into()), (at + 1) << USE_BITS);
        }
        ledger.bring("last", AccountOwner::Queue, 1 << USE_BITS);
        let text = text(&ledger);
        assert!(text.len() <= MAX_KEPT_BYTES && text.len() > MAX_KEPT_BYTES / 2);
        let uses = read(&text, 2_000).expect("uses").uses;
        assert_eq!(
            (uses[0].queue.as_str(), uses[1].used >> USE_BITS),
            ("last", 4_000)
        );
    }

    #[test]
    fn of_a_text_that_somebody_wrote_nothing_counts_without_bound() {
        for text in [
            "",
            "nonsense",
            "{}",
            "{\"format\":2,\"asOf\":1,\"measure\":\"dominant\"}",
        ] {
            assert!(fault(text, "dominant").is_some(), "{text}");
        }
        let head = format!(
            "{{\"format\":1,\"asOf\":{},\"measure\":\"dominant\"}}\n",
            i64::MAX
        );
        assert_eq!(fault(&head, "dominant"), None);
        assert_eq!(
            fault(&head, "cpu=1").as_deref(),
            Some("it is of fairshare.measure `dominant`, and `cpu=1` is configured")
        );
        let line = format!("{{\"queue\":\"q\",\"used\":\"{}\"}}\n", u128::MAX);
        let long = line.replace("q\",", &format!("{}\",", "q".repeat(300)));
        let odd = "{\"queue\":\"q\",\"used\":\"-1\"}\nnonsense\n";
        let text = format!("{head}{long}{odd}{}", line.repeat(20_000));
        let read = read(&text, 1_000).expect("uses");
        assert_eq!((read.as_of_s, read.uses[0].used), (1_000, MAX_USE));
        assert!(read.uses.len() <= MAX_KEPT_LINES);
        let mut ledger = ledger();
        for one in read.uses {
            ledger.bring(&one.queue, one.owner, one.used);
        }
        assert_eq!(ledger.all()[0].used, MAX_USE);
    }
}
