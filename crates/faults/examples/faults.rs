//! Many storms at once: `cargo run --release -p pumice-faults --example faults -- 100000`, from seed 0
//! or from the one given as second argument, each of every kind or of the one named as third. With
//! `--recording FILE` before them each begins at a moment of that recording, which the seed picks. Prints the first
//! broken invariant of each thread, with its seed and everything that had happened, and ends with 1 if there is
//! one.

use std::process::ExitCode;

use pumice_conf::Config;
use pumice_faults::evictions::EVICTING;
use pumice_faults::recorded_world::{RecordedMoment, recorded_moments};
use pumice_faults::shuffles::configuration;
use pumice_faults::{
    BrokenInvariant, CONFIGURATION, Summary, limiting_devices, run, run_from, run_with_claims,
    run_with_native_groups, run_with_time, run_with_topology, run_with_trees_of_groups, time_storm,
};

/// One storm by its seed.
type StormRun = fn(&Config, u64) -> Result<Summary, Box<BrokenInvariant>>;

/// Name of a kind of storms, its configuration by seed, and what runs it.
type StormKind = (&'static str, fn(u64) -> String, StormRun);

const KINDS: [StormKind; 12] = [
    ("plain", |_| CONFIGURATION.to_owned(), run),
    ("evictions", |_| EVICTING.to_owned(), run),
    ("shuffle", configuration, run),
    (
        "hyper-nodes",
        |_| CONFIGURATION.to_owned(),
        run_with_topology,
    ),
    (
        "hyper-nodes-evictions",
        |_| EVICTING.to_owned(),
        run_with_topology,
    ),
    ("claims", |_| CONFIGURATION.to_owned(), run_with_claims),
    ("claims-evictions", |_| EVICTING.to_owned(), run_with_claims),
    (
        "claims-limits",
        |_| limiting_devices(CONFIGURATION),
        run_with_claims,
    ),
    (
        "claims-limits-evictions",
        |_| limiting_devices(EVICTING),
        run_with_claims,
    ),
    ("time", time_storm::configuration, run_with_time),
    (
        "native",
        |seed| [CONFIGURATION, EVICTING][usize::from(seed % 2 == 1)].to_owned(),
        run_with_native_groups,
    ),
    (
        "trees",
        |seed| [CONFIGURATION, EVICTING][usize::from(seed % 2 == 1)].to_owned(),
        run_with_trees_of_groups,
    ),
];

/// What storms begin with.
enum StormStart {
    /// Random clusters, of all kinds or of the one of that name.
    Random(String),
    /// Moments of a recording.
    Recorded(Vec<RecordedMoment>),
}

/// Which storms.
struct StormOrder {
    start: StormStart,
    first: u64,
    count: u64,
}

impl StormStart {
    /// What one thread found.
    fn storms(&self, seeds: impl Iterator<Item = u64>) -> Option<String> {
        match self {
            Self::Random(wanted) => random_storms(seeds, wanted),
            Self::Recorded(moments) => recorded_storms(seeds, moments),
        }
    }
}

fn random_storms(seeds: impl Iterator<Item = u64>, wanted: &str) -> Option<String> {
    for seed in seeds {
        for (name, text, run) in KINDS {
            if !wanted.is_empty() && wanted != name {
                continue;
            }
            let parsed = pumice_conf::parse(&text(seed), &pumice_engine::REGISTRY);
            let Some(config) = parsed.config else {
                return Some(format!("{name}: the configuration is not valid"));
            };
            if let Err(failure) = run(&config, seed) {
                return Some(format!("{name}: {failure}"));
            }
        }
    }
    None
}

fn recorded_storms(
    mut seeds: impl Iterator<Item = u64>,
    moments: &[RecordedMoment],
) -> Option<String> {
    seeds.find_map(|seed| {
        let moment = &moments[(seed % moments.len() as u64) as usize];
        let failure = run_from(moment, seed).err()?;
        Some(format!("recording: {failure}"))
    })
}

/// What the words of the command line order.
fn order(words: &[String]) -> Result<StormOrder, String> {
    let (start, numbers) = match words {
        [flag, file, numbers @ ..] if flag == "--recording" && numbers.len() <= 2 => {
            let bytes = std::fs::read(file).map_err(|error| format!("{file}: {error}"))?;
            let moments = recorded_moments(&bytes).map_err(|error| format!("{file}: {error}"))?;
            (StormStart::Recorded(moments), numbers)
        }
        _ => {
            let wanted = words.get(2).map_or("", String::as_str);
            (StormStart::Random(wanted.to_owned()), words)
        }
    };
    let number = |at: usize| {
        numbers
            .get(at)
            .map_or(Some(0), |word| word.parse::<u64>().ok())
    };
    let is_kind = match &start {
        StormStart::Random(wanted) => {
            wanted.is_empty() || KINDS.iter().any(|(name, ..)| name == wanted)
        }
        StormStart::Recorded(_) => true,
    };
    match (number(0), number(1), is_kind) {
        (Some(count @ 1..), Some(first), true) => Ok(StormOrder {
            start,
            first,
            count,
        }),
        _ => {
            let names = KINDS.map(|(name, ..)| name).join(", ");
            Err(format!(
                "usage: faults COUNT [FIRST_SEED [KIND]], or faults --recording FILE COUNT [FIRST_SEED]; kinds: {names}"
            ))
        }
    }
}

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let StormOrder {
        start,
        first,
        count,
    } = match order(&words) {
        Ok(order) => order,
        Err(error) => {
            eprintln!("{error}");
            return ExitCode::from(2);
        }
    };
    let threads = std::thread::available_parallelism().map_or(1, std::num::NonZero::get) as u64;
    let broken = std::thread::scope(|scope| {
        let seeds = |at: u64| (first + at..first + count).step_by(threads as usize);
        let start = &start;
        let storm = |at| scope.spawn(move || start.storms(seeds(at)));
        let threads: Vec<_> = (0..threads).map(storm).collect();
        let ends = threads.into_iter().filter_map(|thread| thread.join().ok());
        ends.flatten().collect::<Vec<_>>()
    });
    broken.iter().for_each(|failure| println!("{failure}"));
    match broken.is_empty() {
        true => {
            println!("{count} seeds, no invariant broken");
            ExitCode::SUCCESS
        }
        false => ExitCode::FAILURE,
    }
}
