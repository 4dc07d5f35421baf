//! An account on paper.

use std::io::Write;

use super::super::words::{BAD, GOOD, HEAD, line};
use super::{AccountWhy, WorkloadAccount};

/// A short line that answers, then what it means, then the way down.
pub(in crate::live) fn account_table(
    out: &mut dyn Write,
    account: &WorkloadAccount,
) -> anyhow::Result<()> {
    let colour = match account.why {
        Some(_) => BAD,
        None => GOOD,
    };
    let (about, phase) = (&account.about, &account.phase);
    let state = match (&account.why, phase.as_str()) {
        (Some(AccountWhy { reason, .. }), "") => reason.clone(),
        (Some(AccountWhy { reason, .. }), phase) if reason == phase => reason.clone(),
        (Some(AccountWhy { reason, .. }), phase) => format!("{phase}: {reason}"),
        (None, phase) => phase.to_owned(),
    };
    writeln!(out, "{HEAD}{about}{HEAD:#}  {colour}{state}{colour:#}")?;
    if let Some(why) = &account.why {
        line(out, "Why", &why.message)?;
    }
    for step in &account.steps {
        line(out, step.what, &step.says)?;
    }
    Ok(())
}
