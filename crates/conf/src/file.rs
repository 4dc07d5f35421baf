//! Finds the configuration in what was given: a plain file, or manifests with a ConfigMap.
//!
//! ```text
//! text ─► documents ─┬─ plain: the first document is the configuration
//!                    └─ Kubernetes objects: data["volcano-scheduler.conf"] of the one ConfigMap
//! ```

use crate::check;
use crate::config::Config;
use crate::diagnostic::CheckOutcome;
use crate::diagnostic::{Findings, TextRange};
use crate::nearest::nearest;
use crate::registry::Registry;
use pumice_yaml::TextOrigin;
use pumice_yaml::node::{Data, MapEntry, YamlNode};
use pumice_yaml::scalar::{Scalar, resolve, shorten};
use pumice_yaml::tree::{self, Budget, TreeError, TreeErrorKind};

/// The key of the ConfigMap under which the configuration text is stored.
pub const CONF_KEY: &str = "volcano-scheduler.conf";

/// Largest accepted input in bytes. A ConfigMap has at most 1 MiB in a cluster; manifests around it, such as
/// those that install Volcano with its definitions of resources, have more.
pub const MAX_BYTES: usize = 4 << 20;

/// Nodes of all documents of a file together, so that many small alias bombs do not add up.
const MAX_FILE_NODES: usize = 4 * Budget::CONF.nodes;

/// Checks a configuration given as bytes; see [`parse`].
///
/// A byte order mark at the start is skipped. Bytes that are not UTF-8 are an error with the
/// place of the first of them, and so is an input larger than [`MAX_BYTES`].
#[must_use]
pub fn parse_bytes(bytes: &[u8], registry: &Registry) -> CheckOutcome {
    if bytes.len() > MAX_BYTES {
        return too_large(bytes.len());
    }
    match std::str::from_utf8(bytes) {
        Ok(text) => parse(text, registry),
        Err(error) => {
            let lossy = String::from_utf8_lossy(bytes);
            let start = error.valid_up_to();
            let byte = bytes.get(start).copied().unwrap_or_default();
            let mut found = Findings::default();
            found
                .error(
                    "E0002-not-utf8",
                    TextRange { start, end: start },
                    format!("the byte 0x{byte:02x} is not valid UTF-8"),
                )
                .help("save the file in the UTF-8 encoding");
            // The replacement characters stand behind the place only, so offsets agree up to it.
            finish(None, vec![(TextOrigin::whole(&lossy), found)])
        }
    }
}

/// Checks a configuration.
///
/// `text` is the configuration itself, or manifests (also `kind: List`, several documents, JSON)
/// with exactly one ConfigMap that holds it under [`CONF_KEY`]. Lines and columns of the findings
/// are those of `text` in both cases.
#[must_use]
pub fn parse(text: &str, registry: &Registry) -> CheckOutcome {
    if text.len() > MAX_BYTES {
        return too_large(text.len());
    }
    let mut found = Findings::default();
    let scan = Scan::read(text, true, &mut found);
    if !scan.is_manifest {
        let config = scan.check_plain(registry, &mut found);
        return finish(config, vec![(TextOrigin::whole(text), found)]);
    }
    let Some(first) = scan.confs.first() else {
        scan.report_absent(&mut found);
        return finish(None, vec![(TextOrigin::whole(text), found)]);
    };
    for other in &scan.confs[1..] {
        found
            .error(
                "E0009-several-configurations",
                other,
                "a second scheduler configuration",
            )
            .see("the first one is at", first.location.offset)
            .help("give one configuration at a time");
    }
    let (config, inner, inner_found) = check_scalar(text, first, registry, &mut found);
    finish(
        config,
        vec![(TextOrigin::whole(text), found), (inner, inner_found)],
    )
}

/// Checks a configuration that is a string of an already read document (`data` of a ConfigMap).
///
/// `source` is the text the node was read from; findings carry its lines and columns.
#[must_use]
pub fn parse_node(source: &str, node: &YamlNode<'_>, registry: &Registry) -> CheckOutcome {
    let mut found = Findings::default();
    let (config, inner, inner_found) = check_scalar(source, node, registry, &mut found);
    finish(
        config,
        vec![(TextOrigin::whole(source), found), (inner, inner_found)],
    )
}

/// Checks the text of a scalar; findings of the inner text come back with their own source.
fn check_scalar<'a>(
    file: &'a str,
    node: &YamlNode<'_>,
    registry: &Registry,
    found: &mut Findings,
) -> (Option<Config>, TextOrigin<'a>, Findings) {
    let source = TextOrigin::inside(file, node);
    let mut inner = Findings::default();
    let text = match resolve(node) {
        Some(Ok(Scalar::Str(text))) => text,
        Some(Ok(Scalar::Null)) => "",
        _ => {
            found
                .error(
                    "E0015-not-a-text",
                    node,
                    format!("`{CONF_KEY}` must be a text, not {}", node.describe()),
                )
                .help(format!("put `|` behind the key: `{CONF_KEY}: |`"));
            return (None, source, inner);
        }
    };
    if text.len() > MAX_BYTES {
        report_size(text.len(), &mut inner);
        return (None, source, inner);
    }
    let config = Scan::read(text, false, &mut inner).check_plain(registry, &mut inner);
    (config, source, inner)
}

fn too_large(bytes: usize) -> CheckOutcome {
    let mut found = Findings::default();
    report_size(bytes, &mut found);
    finish(None, vec![(TextOrigin::whole(""), found)])
}

fn report_size(bytes: usize, found: &mut Findings) {
    let message = format!("the file has {bytes} bytes; at most {MAX_BYTES} are read");
    found
        .error("E0001-too-large", TextRange { start: 0, end: 0 }, message)
        .help("give only the scheduler configuration or its ConfigMap");
}

fn finish(config: Option<Config>, parts: Vec<(TextOrigin<'_>, Findings)>) -> CheckOutcome {
    let mut diagnostics = Vec::new();
    for (source, found) in parts {
        let findings = found.into_sorted().into_iter();
        diagnostics.extend(findings.map(|finding| finding.diagnostic(&source)));
    }
    diagnostics.sort_by_key(|found| (found.line, found.column));
    let outcome = CheckOutcome {
        config,
        diagnostics,
    };
    let config = if outcome.has_errors() {
        None
    } else {
        outcome.config
    };
    CheckOutcome { config, ..outcome }
}

/// What the documents of a text are.
#[derive(Default)]
struct Scan<'a> {
    /// The first document that is not a Kubernetes object.
    plain: Option<YamlNode<'a>>,
    /// A document behind it.
    extra: Option<TextRange>,
    /// True when a document could not be read.
    broken: bool,
    /// True when a document is a Kubernetes object.
    is_manifest: bool,
    /// The configurations inside ConfigMaps.
    confs: Vec<YamlNode<'a>>,
    /// Data keys of ConfigMaps without configuration, for the message.
    other_keys: Vec<String>,
    /// The first such ConfigMap.
    config_map: Option<TextRange>,
}

impl<'a> Scan<'a> {
    fn read(text: &'a str, may_be_manifest: bool, found: &mut Findings) -> Self {
        let mut scan = Self::default();
        let mut documents = tree::documents(text, Budget::CONF);
        while let Some(document) = documents.next() {
            match document {
                Err(error) => {
                    scan.broken = true;
                    report_tree_error(&error, found);
                    if !matches!(error.kind, TreeErrorKind::Syntax(_)) {
                        break;
                    }
                }
                Ok(node) if node.is_null() => {}
                Ok(node) if may_be_manifest && is_object(&node) => {
                    scan.is_manifest = true;
                    scan.collect(node);
                }
                Ok(node) if scan.plain.is_none() => scan.plain = Some(node),
                Ok(node) => scan.extra = scan.extra.or(Some(TextRange::from(&node))),
            }
            if documents.total_nodes() > MAX_FILE_NODES {
                scan.broken = true;
                let message = format!("more than {MAX_FILE_NODES} values, aliases expanded");
                let end = TextRange {
                    start: text.len(),
                    end: text.len(),
                };
                found.error("E0005-too-complex", end, message);
                break;
            }
        }
        scan
    }

    fn check_plain(self, registry: &Registry, found: &mut Findings) -> Option<Config> {
        if let Some(extra) = self.extra {
            found
                .warn(
                    "W0010-extra-document",
                    extra,
                    "only the first document is read",
                )
                .help("remove the `---` in front of it, or the document");
        }
        match self.plain {
            Some(_) if self.broken => None,
            Some(document) => Some(check::check(&document, registry, found)),
            None => {
                if !self.broken {
                    found
                        .error(
                            "E0007-empty-file",
                            TextRange { start: 0, end: 0 },
                            "the configuration is empty",
                        )
                        .help(
                            "start with `actions: \"enqueue, allocate, backfill\"` and a list \
                             of `tiers`",
                        );
                }
                None
            }
        }
    }

    /// Takes the configurations out of an object or a list of objects.
    fn collect(&mut self, node: YamlNode<'a>) {
        let place = TextRange::from(&node);
        let Data::Map(entries) = node.data else {
            return;
        };
        let kind = entries
            .iter()
            .rfind(|entry| entry.key.text() == Some("kind"));
        let kind = kind.and_then(|entry| entry.value.text()).map(str::to_owned);
        for entry in entries {
            let items_or_data = (entry.key.text(), entry.value.data);
            match items_or_data {
                (Some("items"), Data::List(items)) => {
                    items.into_iter().for_each(|item| self.collect(item));
                }
                (Some("data"), Data::Map(data)) if kind.as_deref().is_none_or(is_config_map) => {
                    self.collect_data(data, place);
                }
                _ => {}
            }
        }
    }

    fn collect_data(&mut self, data: Vec<MapEntry<'a>>, place: TextRange) {
        // Volcano's chart names the key after a configurable file, `volcano-scheduler-ci.conf`.
        let similar = |key: &str| key.starts_with("volcano-scheduler") && key.ends_with(".conf");
        let exact = data
            .iter()
            .rposition(|entry| entry.key.text() == Some(CONF_KEY));
        let wanted = exact.or_else(|| {
            data.iter()
                .rposition(|entry| entry.key.text().is_some_and(similar))
        });
        for (index, entry) in data.into_iter().enumerate() {
            if Some(index) == wanted {
                self.confs.push(entry.value);
            } else if self.other_keys.len() < 20 && wanted.is_none() {
                self.config_map = self.config_map.or(Some(place));
                self.other_keys.extend(entry.key.text().map(shorten));
            }
        }
    }

    fn report_absent(&self, found: &mut Findings) {
        if self.broken {
            return;
        }
        let place = self.config_map.unwrap_or(TextRange { start: 0, end: 0 });
        let message = format!("no ConfigMap holds `{CONF_KEY}`");
        let near = nearest(CONF_KEY, self.other_keys.iter().map(String::as_str));
        let help = match near {
            Some(key) => format!("rename the key `{key}` to `{CONF_KEY}`"),
            None => format!("put the configuration under `data` as `{CONF_KEY}: |`"),
        };
        found
            .error("E0008-no-configuration", place, message)
            .help(help);
    }
}

fn is_config_map(kind: &str) -> bool {
    kind == "ConfigMap"
}

/// True for what `kubectl apply` would take, and for a ConfigMap whose head was cut off.
fn is_object(node: &YamlNode<'_>) -> bool {
    let text = |key: &str| node.get(key).is_some_and(|value| value.text().is_some());
    let holds_conf = |data: &YamlNode<'_>| data.get(CONF_KEY).is_some();
    text("kind")
        && (text("apiVersion") || node.get("data").is_some() || node.get("items").is_some())
        || text("apiVersion") && node.get("metadata").is_some()
        || node.get("data").is_some_and(holds_conf)
}

fn report_tree_error(error: &TreeError, found: &mut Findings) {
    let place = TextRange::from(error.location);
    match &error.kind {
        TreeErrorKind::Syntax(text) => {
            let finding = found.error("E0004-yaml-syntax", place, format!("not YAML: {text}"));
            if text.contains("tab") {
                finding.help("indent with spaces");
            }
        }
        TreeErrorKind::ControlCharacter(_) => {
            found.error("E0003-control-character", place, error.kind.to_string());
        }
        TreeErrorKind::RecursiveAlias | TreeErrorKind::BadMerge => {
            found.error("E0004-yaml-syntax", place, error.kind.to_string());
        }
        TreeErrorKind::TooDeep(_)
        | TreeErrorKind::TooManyNodes(_)
        | TreeErrorKind::TooMuchText(_) => {
            found.error("E0005-too-complex", place, error.kind.to_string());
        }
    }
}
