//! Many storms at once: `cargo run --release -p pumice-sim --example faults -- 100000`, from seed 0
//! or from the one given as second argument, each without and with evictions, both with HyperNodes too, and
//! with plugins that want pods gone. Prints the first broken invariant of each thread, with
//! its seed and everything that had happened, and ends with 1 if there is one.

use std::process::ExitCode;

use pumice_conf::Config;
use pumice_sim::faults::evictions::EVICTING;
use pumice_sim::faults::shuffles::configuration;
use pumice_sim::faults::{CONFIGURATION, run, run_with_topology};

fn parse(text: &str) -> Option<Config> {
    pumice_conf::parse(text, &pumice_engine::REGISTRY).config
}

fn shuffling(seed: u64) -> Option<Config> {
    parse(&configuration(seed))
}

fn main() -> ExitCode {
    let mut numbers = std::env::args().skip(1).map(|word| word.parse::<u64>());
    let (Some(Ok(count)), first) = (numbers.next(), numbers.next().unwrap_or(Ok(0))) else {
        eprintln!("usage: faults COUNT [FIRST_SEED]");
        return ExitCode::from(2);
    };
    let first = first.unwrap_or(0);
    let (Some(plain), Some(evicting)) = (parse(CONFIGURATION), parse(EVICTING)) else {
        eprintln!("the configuration is not valid");
        return ExitCode::from(2);
    };
    let both: [(&str, &Config); 2] = [("", &plain), ("with evictions, ", &evicting)];
    let threads = std::thread::available_parallelism().map_or(1, std::num::NonZero::get) as u64;
    let broken = std::thread::scope(|scope| {
        let seeds = |at: u64| (first + at..first + count).step_by(threads as usize);
        let storm = |at| {
            scope.spawn(move || {
                let shuffled = |seed| Some(("with shuffle, ", shuffling(seed)?));
                seeds(at).find_map(|seed| {
                    let shuffled = shuffled(seed);
                    let shuffled = shuffled.as_ref().map(|(what, config)| (*what, config));
                    let mut all = both.into_iter().chain(shuffled);
                    let plain =
                        all.find_map(|(what, config)| Some((what, run(config, seed).err()?)));
                    plain.or_else(|| {
                        let mut both = both.into_iter();
                        both.find_map(|(_, config)| {
                            Some(("with HyperNodes, ", run_with_topology(config, seed).err()?))
                        })
                    })
                })
            })
        };
        let threads: Vec<_> = (0..threads).map(storm).collect();
        let ends = threads.into_iter().filter_map(|thread| thread.join().ok());
        ends.flatten().collect::<Vec<_>>()
    });
    for (what, failure) in &broken {
        println!("{what}{failure}");
    }
    match broken.is_empty() {
        true => {
            println!("{count} seeds, no invariant broken");
            ExitCode::SUCCESS
        }
        false => ExitCode::FAILURE,
    }
}
