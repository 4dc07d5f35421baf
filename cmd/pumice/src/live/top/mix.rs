//! `pumice top --mix`: what tasks ask of cards, and which free cards are of use to none.

use std::io::Write;
use std::process::ExitCode;

use pumice_engine::view::MixView;

use crate::live::scheduler::SchedulerConnection;
use crate::live::words::print;
use crate::mix_table;

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
    mix_table::free_cards(out, view)?;
    writeln!(out)?;
    mix_table::classes(out, view)
}
