//! Scheduler configurations among the manifests: in ConfigMaps, and in the dump of a scheduler.

use std::borrow::Cow;

use pumice_conf::{CONF_KEY, CheckOutcome, Registry, parse, parse_node};
use pumice_yaml::node::{Data, YamlNode};

use super::{InputObjects, InputSource, object_name, place, text};
use crate::problem::InputPlace;

/// Name of the ConfigMap as Volcano's chart and ours install it.
const USUAL_NAME: &str = "volcano-scheduler-configmap";

/// A scheduler configuration within a ConfigMap.
#[derive(Clone, Debug)]
pub struct Embedded {
    /// Where the ConfigMap begins.
    pub place: InputPlace,
    /// `ConfigMap namespace/name`.
    pub object: String,
    node: YamlNode<'static>,
}

impl Embedded {
    /// Checks the configuration; findings carry line and column of the manifest.
    pub fn check(&self, sources: &[InputSource], registry: &Registry) -> CheckOutcome {
        let source = sources.iter().find(|source| source.name == self.place.file);
        let text = source.map(|source| text::readable(source).0);
        parse_node(&text.unwrap_or_default(), &self.node, registry)
    }

    fn is_usual(&self) -> bool {
        let name = self.object.rsplit([' ', '/']).next();
        name == Some(USUAL_NAME)
    }
}

/// The configuration a scheduler had in use when it was dumped.
#[derive(Clone, Debug)]
pub struct Dumped {
    /// Where the dump begins.
    pub place: InputPlace,
    /// Text of the configuration.
    pub text: String,
}

impl Dumped {
    /// Checks the configuration; findings carry line and column of its text.
    pub fn check(&self, registry: &Registry) -> CheckOutcome {
        parse(&self.text, registry)
    }
}

impl InputObjects {
    /// Keeps one scheduler configuration of the input: that of the usual name, else the first.
    pub(super) fn scheduler_config(&mut self, file: &str, node: &YamlNode, conf: &YamlNode) {
        let found = Embedded {
            place: place(file, node.location),
            object: object_name("ConfigMap", node),
            node: owned(conf),
        };
        let Some(kept) = &mut self.config else {
            self.config = Some(found);
            return;
        };
        let spare = if found.is_usual() && !kept.is_usual() {
            std::mem::replace(kept, found)
        } else {
            found
        };
        let message = format!(
            "a second {CONF_KEY}: that of {}, at {}, is used",
            kept.object, kept.place
        );
        self.problems.push(crate::problem::InputProblem {
            place: spare.place,
            object: spare.object,
            message,
            help: "keep only one of them, or choose with --config".to_owned(),
            kept: false,
        });
    }
}

/// A scalar that outlives the text it was read from; of a list or map, only that it is one.
fn owned(node: &YamlNode) -> YamlNode<'static> {
    let data = match &node.data {
        Data::Scalar { text, style } => Data::Scalar {
            text: Cow::Owned(text.to_string()),
            style: *style,
        },
        Data::List(_) => Data::List(Vec::new()),
        Data::Map(_) => Data::Map(Vec::new()),
    };
    YamlNode {
        location: node.location,
        end: node.end,
        tag: node.tag.clone(),
        data,
    }
}
