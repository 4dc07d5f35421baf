//! ConfigMaps that tell of the devices of nodes: what each of them told last, so that what it does not
//! tell any more is taken back.

use std::collections::{BTreeMap, BTreeSet};

use pumice_devices::{ReportPlace, families};
use pumice_model::Delta;

use crate::silent_nodes::SilentNodes;

/// Texts of a ConfigMap by key.
pub type ReportData = Vec<(String, String)>;

/// What is new of the ConfigMaps of a place.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub enum ReportNews {
    /// All there are: name and texts.
    All(Vec<(String, ReportData)>),
    /// One is new or has changed, or is gone.
    One(String, Option<ReportData>),
    /// They cannot be read: what is told of that to those who wait for what they tell of.
    Unread(String),
}

/// What follows from news.
#[derive(Default)]
pub(crate) struct ReportChanges {
    pub(crate) deltas: Vec<Delta>,
    /// What could not be read.
    pub(crate) problems: Vec<String>,
}

/// Nodes and topics a ConfigMap tells of.
type NodeTopics = BTreeSet<(String, &'static str)>;

/// What is followed, and what each ConfigMap tells of.
#[derive(Default)]
pub(crate) struct NodeReports {
    /// Places that cannot be read at this moment, and what is told of that.
    unread: BTreeMap<ReportPlace, String>,
    /// By place and name of the ConfigMap.
    places: BTreeMap<ReportPlace, BTreeMap<String, NodeTopics>>,
    /// Those that should tell something again.
    pub(crate) silent: SilentNodes,
}

impl NodeReports {
    /// Follows these places from now on. What others told is taken back.
    pub(crate) fn follow(&mut self, places: Vec<ReportPlace>) -> Vec<Delta> {
        let old = std::mem::take(&mut self.places);
        self.unread.retain(|place, _| places.contains(place));
        for place in places {
            let known = old.get(&place).cloned().unwrap_or_default();
            self.places.insert(place, known);
        }
        let gone = old.into_values().flat_map(BTreeMap::into_values).flatten();
        let gone: Vec<_> = gone.collect();
        gone.into_iter()
            .filter_map(|told| self.taken_back(told))
            .collect()
    }

    /// Takes news in; `None` if nobody follows that place any more.
    pub(crate) fn take(&mut self, place: &ReportPlace, news: ReportNews) -> Option<ReportChanges> {
        let known = self.places.get(place)?;
        let mut changes = ReportChanges::default();
        self.unread.remove(place);
        match news {
            ReportNews::Unread(why) => {
                self.unread.insert(place.clone(), why);
            }
            ReportNews::One(name, data) => self.take_one(place, name, data, &mut changes),
            ReportNews::All(maps) => {
                let names: BTreeSet<&String> = maps.iter().map(|(name, _)| name).collect();
                let gone = known.keys().filter(|name| !names.contains(name));
                let gone: Vec<String> = gone.cloned().collect();
                for name in gone {
                    self.take_one(place, name, None, &mut changes);
                }
                for (name, data) in maps {
                    self.take_one(place, name, Some(data), &mut changes);
                }
            }
        }
        Some(changes)
    }

    /// What is told of the places that cannot be read.
    pub(crate) fn unread(&self) -> Vec<String> {
        self.unread.values().cloned().collect()
    }

    fn take_one(
        &mut self,
        place: &ReportPlace,
        name: String,
        data: Option<ReportData>,
        changes: &mut ReportChanges,
    ) {
        let data = data.unwrap_or_default();
        let namespace = place.namespace;
        let reports = families::node_reports(namespace, &name, &data).unwrap_or_else(|why| {
            changes.problems.push(format!(
                "ConfigMap {namespace}/{name}: what it tells of nodes is not taken: {why}"
            ));
            Vec::new()
        });
        for report in &reports {
            let spec = families::repeated(report.topic);
            let overdue = spec.and_then(|spec| {
                let at = (spec.written_at_s)(&report.text)?;
                Some(at.saturating_add(spec.silent_after_s))
            });
            self.silent
                .told((report.node.clone(), report.topic), overdue);
        }
        let told: NodeTopics = reports
            .iter()
            .map(|report| (report.node.clone(), report.topic))
            .collect();
        let maps = self.places.entry(place.clone()).or_default();
        let before = match told.is_empty() {
            true => maps.remove(&name),
            false => maps.insert(name, told.clone()),
        };
        let gone = before.unwrap_or_default().into_iter();
        let gone: Vec<_> = gone.filter(|of| !told.contains(of)).collect();
        let gone = gone.into_iter();
        let gone: Vec<Delta> = gone.filter_map(|of| self.taken_back(of)).collect();
        changes.deltas.extend(gone);
        changes
            .deltas
            .extend(reports.into_iter().map(|report| Delta::NodeReport {
                node: report.node,
                topic: report.topic.to_owned(),
                text: Some(report.text),
            }));
    }

    /// A ConfigMap does not tell this any more. Nothing happens if another does: ClusterD moves nodes
    /// from one to the other.
    fn taken_back(&mut self, told: (String, &'static str)) -> Option<Delta> {
        let mut all = self.places.values().flat_map(BTreeMap::values);
        if all.any(|others| others.contains(&told)) {
            return None;
        }
        self.silent.told(told.clone(), None);
        Some(Delta::NodeReport {
            node: told.0,
            topic: told.1.to_owned(),
            text: None,
        })
    }
}

#[cfg(test)]
mod tests {
    use pumice_devices::Settings;

    use super::*;

    /// The places with ClusterD, or with ConfigMaps of each node.
    fn places(with_cluster_d: bool) -> Vec<ReportPlace> {
        let mut settings = Settings::default();
        settings.mind_cluster.enabled = true;
        settings.mind_cluster.use_cluster_info_manager = with_cluster_d;
        families::report_places(&settings)
    }

    fn of_node(node: &str, text: &str) -> (String, ReportData) {
        let data = vec![("DeviceInfoCfg".to_owned(), text.to_owned())];
        (format!("mindx-dl-deviceinfo-{node}"), data)
    }

    /// A ConfigMap of ClusterD that tells of these nodes.
    fn of_cluster_d(number: u32, nodes: &[&str]) -> (String, Option<ReportData>) {
        let name = format!("cluster-info-device-{number}");
        let told = nodes
            .iter()
            .map(|node| format!("\"mindx-dl-deviceinfo-{node}\":{number}"));
        let text = format!("{{{}}}", told.collect::<Vec<_>>().join(","));
        (name.clone(), Some(vec![(name, text)]))
    }

    /// What follows from news, as `node: text`.
    fn follows(reports: &mut NodeReports, place: &ReportPlace, news: ReportNews) -> Vec<String> {
        let changes = reports.take(place, news).expect("it is followed");
        assert_eq!(changes.problems, [""; 0]);
        told(changes.deltas)
    }

    fn told(deltas: Vec<Delta>) -> Vec<String> {
        let text = |delta| match delta {
            Delta::NodeReport { node, text, .. } => {
                format!("{node}: {}", text.as_deref().unwrap_or("-"))
            }
            other => panic!("{other:?}"),
        };
        deltas.into_iter().map(text).collect()
    }

    #[test]
    fn what_a_list_does_not_have_any_more_is_taken_back() {
        let mut reports = NodeReports::default();
        let places = places(false);
        assert_eq!(reports.follow(places.clone()), []);
        let [plugins, node_d] = &places[..] else {
            panic!("{places:?}");
        };
        let all = |nodes: &[&str]| {
            ReportNews::All(nodes.iter().map(|node| of_node(node, "{}")).collect())
        };
        let first = follows(&mut reports, plugins, all(&["a", "b"]));
        assert_eq!(first, ["a: {}", "b: {}"]);
        assert_eq!(follows(&mut reports, node_d, all(&[])), [""; 0]);
        assert_eq!(
            follows(&mut reports, plugins, all(&["b", "c"])),
            ["a: -", "b: {}", "c: {}"]
        );
        let (name, data) = of_node("b", "{ }");
        let changed = ReportNews::One(name.clone(), Some(data));
        assert_eq!(follows(&mut reports, plugins, changed), ["b: { }"]);
        let emptied = ReportNews::One(name.clone(), Some(of_node("b", " ").1));
        assert_eq!(follows(&mut reports, plugins, emptied.clone()), ["b: -"]);
        assert_eq!(follows(&mut reports, plugins, emptied), [""; 0]);
        let gone = ReportNews::One(of_node("c", "").0, None);
        assert_eq!(follows(&mut reports, plugins, gone), ["c: -"]);
    }

    #[test]
    fn who_is_not_followed_any_more_is_not_heard_and_what_it_told_is_taken_back() {
        let mut reports = NodeReports::default();
        let (nodes, cluster_d) = (places(false), places(true));
        reports.follow(nodes.clone());
        let news = ReportNews::All(vec![of_node("a", "{}")]);
        assert!(reports.take(&nodes[0], news.clone()).is_some());
        assert_eq!(reports.follow(nodes.clone()), []);
        assert_eq!(told(reports.follow(cluster_d)), ["a: -"]);
        assert!(reports.take(&nodes[0], news).is_none());
    }

    #[test]
    fn a_node_that_moves_from_one_config_map_to_the_other_stays_known() {
        let mut reports = NodeReports::default();
        let places = places(true);
        reports.follow(places.clone());
        let mut take = |number: u32, nodes: &[&str]| {
            let (name, data) = of_cluster_d(number, nodes);
            let place = &places[number as usize];
            follows(&mut reports, place, ReportNews::One(name, data))
        };
        take(0, &["a", "b"]);
        assert_eq!(take(1, &["b", "c"]), ["b: 1", "c: 1"]);
        assert_eq!(take(0, &["a"]), ["a: 0"]);
        assert_eq!(take(1, &["c"]), ["b: -", "c: 1"]);
    }

    #[test]
    fn a_config_map_that_cannot_be_read_tells_of_no_node() {
        let mut reports = NodeReports::default();
        let places = places(true);
        reports.follow(places.clone());
        let (name, data) = of_cluster_d(0, &["a"]);
        follows(
            &mut reports,
            &places[0],
            ReportNews::One(name.clone(), data),
        );
        let broken = vec![(name.clone(), "{".to_owned())];
        let news = ReportNews::One(name, Some(broken));
        let changes = reports.take(&places[0], news).expect("it is followed");
        assert!(changes.problems[0].contains("mindx-dl/cluster-info-device-0"));
        assert_eq!(told(changes.deltas), ["a: -"]);
    }
}
