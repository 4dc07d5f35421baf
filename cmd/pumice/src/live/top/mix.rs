//! `pumice top --mix`: what tasks ask of cards, and which free cards are of use to none.

use std::io::Write;
use std::process::ExitCode;

use pumice_engine::view::MixView;

use crate::live::scheduler::SchedulerConnection;
use crate::live::words::{HEAD, print};
use crate::output::columns;

/// Asks and prints.
pub fn run(connection: &SchedulerConnection) -> anyhow::Result<ExitCode> {
    let view = connection.open()?.get_known::<MixView>(&["mix"])?;
    print(&view, connection.output, |out, view| table(out, view))?;
    Ok(ExitCode::SUCCESS)
}

pub fn table(out: &mut dyn Write, view: &MixView) -> anyhow::Result<()> {
    if let Some(why) = &view.absent {
        writeln!(out, "{why}")?;
        return Ok(());
    }
    writeln!(out, "{HEAD}FREE CARDS{HEAD:#}")?;
    let cards = view.cards.iter().map(|cards| {
        [
            cards.card_type.clone(),
            cards.family.clone(),
            format!("{:.1}", cards.free_cards),
            format!("{:.1}", cards.useless_cards),
            format!("{:.1}%", cards.useless_percent),
        ]
    });
    columns(
        out,
        ["TYPE", "FAMILY", "FREE", "USELESS", ""],
        cards.collect(),
    )?;
    writeln!(out, "\n{HEAD}TASKS{HEAD:#}")?;
    let classes = view.classes.iter().map(|class| {
        [
            format!("{:.1}%", class.weight_percent),
            format!("{:.1}", class.usable_cards),
            format!("{:.1}%", class.useless_percent),
            class.asks.clone(),
        ]
    });
    columns(
        out,
        ["WEIGHT", "USABLE", "USELESS", "ASKS"],
        classes.collect(),
    )
}
