//! The table of rules is that of an API server.

use anyhow::{Context, Result, ensure};
use pumice_e2e::Lab;
use serde_json::Value;

/// Objects, and whether they are refused, as the table of rules is tested.
const JUDGED: &str = include_str!(concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../crates/wire/src/rules/judged.jsonl"
));

#[test]
fn an_api_server_judges_as_the_table_of_rules_does() -> Result<()> {
    let lab = Lab::take()?;
    for line in JUDGED.lines() {
        let judged: Value = serde_json::from_str(line)?;
        let object = judged["object"].to_string();
        let create = ["create", "--dry-run=server", "-f", "-"];
        let answer = lab.cluster().kubectl(&create, &object);
        let refused = judged["refused"].as_bool().context("refused")?;
        ensure!(answer.is_err() == refused, "{object}: {answer:?}");
    }
    Ok(())
}
