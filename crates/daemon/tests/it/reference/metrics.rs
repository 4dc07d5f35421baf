//! `docs/reference/metrics.md`: what `/metrics` shows.

use std::fmt::Write as _;

use pumice_admin::metrics::{Buckets, MetricFamily, MetricKind, REFERENCE};
use pumice_devices::FAMILIES;

use super::{cell, head, hold};

#[test]
fn the_page_of_metrics_is_what_is_registered() {
    let mut page = head(
        "Metrics",
        "What `:8080/metrics` shows with `--enable-metrics`, besides the usual `process_` families. \
         Alerts and a dashboard are in [deploy](../../deploy/README.md#monitoring).",
    );
    let own = |family: &&MetricFamily| family.name.starts_with("pumice_");
    page += "\n## As in Volcano\n\nNames, labels, units and buckets are Volcano's.\n";
    table(&mut page, REFERENCE.iter().filter(|family| !own(family)));
    page += "\n## Our own\n";
    table(&mut page, REFERENCE.iter().filter(own));
    cards(&mut page);
    hold("docs/reference/metrics.md", &page);
}

/// Gauges of shared cards, as their families have them.
fn cards(page: &mut String) {
    *page += "\n## Shared cards\n\nOf each card of the nodes, once a family of shared devices is on that has \
              them. `devID` is what the node calls the card.\n";
    *page += "\n| name | type | labels | meaning |\n|---|---|---|---|\n";
    for gauge in FAMILIES.iter().flat_map(|family| family.gauges) {
        let pod = if gauge.by_pod { ", `podName`" } else { "" };
        let (name, help) = (gauge.name, cell(gauge.help));
        let _ = writeln!(
            page,
            "| `{name}` | gauge | `NodeName`, `devID`{pod} | {help} |"
        );
    }
}

fn table<'a>(page: &mut String, families: impl Iterator<Item = &'a MetricFamily>) {
    *page += "\n| name | type | labels | meaning |\n|---|---|---|---|\n";
    for family in families {
        let kind = match family.kind {
            MetricKind::Counter => "counter".to_owned(),
            MetricKind::Gauge => "gauge".to_owned(),
            MetricKind::Histogram(Buckets { first, last, count }) => {
                format!("histogram, {count} bounds from {first} to {last}")
            }
        };
        let labels: Vec<String> = family
            .labels
            .iter()
            .map(|label| format!("`{label}`"))
            .collect();
        let help = cell(family.help);
        let _ = writeln!(
            page,
            "| `{}` | {kind} | {} | {help} |",
            family.name,
            labels.join(", ")
        );
    }
}
