//! What the Ascend device plugin, NodeD and ClusterD tell of nodes in ConfigMaps (spec/05 §2.3).
//!
//! ClusterD collects what the others tell of all nodes: a ConfigMap has a map from the names of the
//! others' ConfigMaps to what they say. Without it, each node has a ConfigMap of its device plugin
//! and one of NodeD.
//!
//! Keys of JSON are the same in upper and lower case, as the decoder of the writers has it.

use serde_json::{Map, Value};

use crate::facts::NodeReport;
use crate::family::{RepeatSpec, ReportMaps, ReportPlace};
use crate::settings::Settings;
use crate::sha256;
use crate::text::shorten;

/// Namespace of ClusterD and NodeD.
pub const NAMESPACE: &str = "mindx-dl";
/// Namespace of the device plugin.
pub const PLUGIN_NAMESPACE: &str = "kube-system";

/// ConfigMaps of ClusterD with devices; the rest of the name is a number.
const CLUSTER_DEVICES: &str = "cluster-info-device-";
/// ConfigMap of ClusterD with the health of nodes.
const CLUSTER_NODES: &str = "cluster-info-node-cm";
/// ConfigMaps of device plugins; the rest of the name is the node.
const NODE_DEVICES: &str = "mindx-dl-deviceinfo-";
/// ConfigMaps of NodeD; the rest of the name is the node.
const NODE_HEALTH: &str = "mindx-dl-nodeinfo-";
/// Key of a device plugin.
const DEVICE_KEY: &str = "DeviceInfoCfg";
/// Key of NodeD.
const NODE_KEY: &str = "NodeInfo";

/// [`NodeReport::topic`]: devices, told by ClusterD.
pub const DEVICES_OF_CLUSTER: &str = "cluster-info-device";
/// [`NodeReport::topic`]: health of the node, told by ClusterD.
pub const HEALTH_OF_CLUSTER: &str = "cluster-info-node";
/// [`NodeReport::topic`]: devices, told by the device plugin.
pub const DEVICES_OF_NODE: &str = "mindx-dl-deviceinfo";
/// [`NodeReport::topic`]: health of the node, told by NodeD.
pub const HEALTH_OF_NODE: &str = "mindx-dl-nodeinfo";

/// ConfigMaps of ClusterD with devices that are followed: each has a thousand nodes or more.
const DEVICE_MAPS: u32 = 10;

/// Label of the ConfigMaps that each node has, whoever writes them.
const NODE_MAPS: &str = "mx-consumer-cim=true";

/// The ConfigMaps to follow.
pub fn places(settings: &Settings) -> Vec<ReportPlace> {
    let params = &settings.mind_cluster;
    if !params.enabled {
        return Vec::new();
    }
    if !params.use_cluster_info_manager {
        let of_nodes = |namespace| ReportPlace {
            namespace,
            maps: ReportMaps::Labelled(NODE_MAPS),
        };
        return [PLUGIN_NAMESPACE, NAMESPACE].map(of_nodes).into();
    }
    let devices = (0..DEVICE_MAPS).map(|number| format!("{CLUSTER_DEVICES}{number}"));
    let names = devices.chain([CLUSTER_NODES.to_owned()]);
    let place = |name: String| ReportPlace {
        namespace: NAMESPACE,
        maps: ReportMaps::Named(name),
    };
    names.map(place).collect()
}

/// A device plugin writes its ConfigMap every five minutes, or earlier when something has changed.
/// ClusterD is no such writer: a new time alone is no reason for it to pass on what it hears.
pub const REPEATED: RepeatSpec = RepeatSpec {
    topic: DEVICES_OF_NODE,
    written_at_s: |text| {
        let value: Value = serde_json::from_str(text).ok()?;
        written_at_s(field(&value, "DeviceInfo")?)
    },
    silent_after_s: 15 * 60,
    warning: "its device plugin has not written ConfigMap mindx-dl-deviceinfo-* for 15 minutes, which \
              it does every 5 minutes: what it told last of the NPUs stays in use; see that it runs",
};

/// `UpdateTime`; `None` if nothing has been told yet.
fn written_at_s(info: &Value) -> Option<i64> {
    let told = field(info, "UpdateTime").and_then(Value::as_i64);
    told.filter(|told| *told > 0)
}

/// What a ConfigMap says of nodes; nothing if it is none of these.
///
/// # Errors
/// What is wrong with the text of one for all nodes.
pub fn split(
    namespace: &str,
    name: &str,
    data: &[(String, String)],
) -> Result<Vec<NodeReport>, String> {
    let text = |key: &str| {
        let found = data.iter().find(|(known, _)| known == key);
        found.map(|(_, text)| text.as_str()).unwrap_or_default()
    };
    let one = |node: &str, topic, key| {
        let report = NodeReport {
            node: node.to_owned(),
            topic,
            text: text(key).to_owned(),
        };
        let says = !node.is_empty() && !report.text.trim().is_empty();
        Ok(says.then_some(report).into_iter().collect())
    };
    if namespace == PLUGIN_NAMESPACE {
        return match name.strip_prefix(NODE_DEVICES) {
            Some(node) => one(node, DEVICES_OF_NODE, DEVICE_KEY),
            None => Ok(Vec::new()),
        };
    }
    if namespace != NAMESPACE {
        return Ok(Vec::new());
    }
    if let Some(node) = name.strip_prefix(NODE_HEALTH) {
        return one(node, HEALTH_OF_NODE, NODE_KEY);
    }
    if name == CLUSTER_NODES {
        return by_node(text(name), NODE_HEALTH, HEALTH_OF_CLUSTER);
    }
    match name.starts_with(CLUSTER_DEVICES) {
        true => by_node(text(name), NODE_DEVICES, DEVICES_OF_CLUSTER),
        false => Ok(Vec::new()),
    }
}

fn by_node(text: &str, prefix: &str, topic: &'static str) -> Result<Vec<NodeReport>, String> {
    if text.trim().is_empty() {
        return Ok(Vec::new());
    }
    let value: Value = serde_json::from_str(text).map_err(|error| not_json(&error))?;
    let Value::Object(nodes) = value else {
        return Err("it is no map from nodes to what they say".to_owned());
    };
    let reports = nodes.into_iter().filter_map(|(name, value)| {
        let node = name.strip_prefix(prefix).filter(|node| !node.is_empty())?;
        Some(NodeReport {
            node: node.to_owned(),
            topic,
            text: value.to_string(),
        })
    });
    Ok(reports.collect())
}

fn not_json(error: &serde_json::Error) -> String {
    format!("it is no valid JSON: {}", shorten(&error.to_string()))
}

/// What is told of the devices of a node.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DeviceReport {
    /// Lists of devices by name of the list.
    lists: Map<String, Value>,
}

impl DeviceReport {
    /// A list; `None` if it is not told.
    pub fn list(&self, key: &str) -> Option<&str> {
        self.lists.get(key)?.as_str()
    }
}

/// Reads what is told of the devices of a node.
///
/// # Errors
/// Why it cannot be used.
pub fn devices(topic: &str, text: &str) -> Result<DeviceReport, String> {
    let value: Value = serde_json::from_str(text).map_err(|error| not_json(&error))?;
    let info = match topic {
        DEVICES_OF_NODE => {
            let info = field(&value, "DeviceInfo").ok_or("DeviceInfo is missing")?;
            verify(&value, text, "DeviceInfo")?;
            info
        }
        _ => &value,
    };
    if written_at_s(info).is_none() {
        return Err("UpdateTime is missing: nothing has been told yet".to_owned());
    }
    match field(info, "DeviceList") {
        Some(Value::Object(lists)) => Ok(DeviceReport {
            lists: lists.clone(),
        }),
        _ => Err("DeviceList is missing".to_owned()),
    }
}

/// Status of a node, as NodeD has it; `None` if it tells none.
///
/// # Errors
/// Why the text cannot be used.
pub fn health(topic: &str, text: &str) -> Result<Option<String>, String> {
    let value: Value = serde_json::from_str(text).map_err(|error| not_json(&error))?;
    let info = match topic {
        HEALTH_OF_NODE => {
            verify(&value, text, "NodeInfo")?;
            field(&value, "NodeInfo")
        }
        _ => Some(&value),
    };
    let status = info.and_then(|info| field(info, "NodeStatus"));
    Ok(status.and_then(Value::as_str).map(str::to_owned))
}

/// The value of a key, in upper or lower case.
fn field<'a>(value: &'a Value, key: &str) -> Option<&'a Value> {
    let map = value.as_object()?;
    map.get(key).or_else(|| {
        let mut fields = map.iter();
        let found = fields.find(|(known, _)| known.eq_ignore_ascii_case(key));
        found.map(|(_, value)| value)
    })
}

/// Compares the check code with the hash of what it is for, as the writer has written that. A text
/// without a check code is believed.
fn verify(value: &Value, text: &str, key: &str) -> Result<(), String> {
    let code = field(value, "CheckCode").and_then(Value::as_str);
    let Some(code) = code.filter(|code| !code.is_empty()) else {
        return Ok(());
    };
    let written = member(text, key).unwrap_or_default();
    match sha256::hex(written.as_bytes()).eq_ignore_ascii_case(code) {
        true => Ok(()),
        false => Err(format!(
            "CheckCode \"{}\" is not that of {key}: it was changed by hand or is not complete; \
             restart the writer of the ConfigMap",
            shorten(code)
        )),
    }
}

/// The text of a member of an object, without blanks between its parts; the last if there are
/// several. `text` is valid JSON.
fn member(text: &str, key: &str) -> Option<String> {
    let mut found = None;
    let mut at = 0;
    let mut depth = 0_usize;
    let mut name = None;
    while let Some(byte) = text.as_bytes().get(at) {
        match byte {
            b'"' => {
                let end = string_end(text, at);
                let said = text.get(at + 1..end.saturating_sub(1)).unwrap_or_default();
                let rest = text.get(end..).unwrap_or_default().trim_start();
                if depth == 1 && rest.starts_with(':') {
                    name = Some(said);
                }
                at = end;
                continue;
            }
            b':' if depth == 1 && name.is_some_and(|name| name.eq_ignore_ascii_case(key)) => {
                found = Some(compact(text.get(at + 1..).unwrap_or_default()));
                name = None;
            }
            b'{' | b'[' => depth += 1,
            b'}' | b']' => depth = depth.saturating_sub(1),
            _ => {}
        }
        at += 1;
    }
    found
}

/// The value a text begins with, without blanks between its parts.
fn compact(text: &str) -> String {
    let mut value = String::new();
    let mut depth = 0_usize;
    let mut at = 0;
    while let Some(byte) = text.as_bytes().get(at) {
        let end = match byte {
            b'"' => string_end(text, at),
            _ => at + 1,
        };
        match byte {
            b'}' | b']' | b',' if depth == 0 => break,
            b'{' | b'[' => depth += 1,
            b'}' | b']' => depth -= 1,
            _ => {}
        }
        if !byte.is_ascii_whitespace() {
            value.push_str(text.get(at..end).unwrap_or_default());
        }
        at = end;
    }
    value
}

/// The end of the string that begins at a place.
fn string_end(text: &str, start: usize) -> usize {
    let mut at = start + 1;
    while let Some(byte) = text.as_bytes().get(at) {
        match byte {
            b'\\' => at += 2,
            b'"' => return at + 1,
            _ => at += 1,
        }
    }
    text.len()
}
