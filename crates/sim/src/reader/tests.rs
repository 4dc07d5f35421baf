use super::{DeviceMap, InputObjects, InputSource, locate_fields};
use crate::manifest::Manifest;
use crate::problem::InputPlace;

fn source(text: impl AsRef<[u8]>) -> InputSource {
    InputSource {
        name: "f".to_owned(),
        bytes: text.as_ref().to_vec(),
    }
}

fn read(text: impl AsRef<[u8]>) -> InputObjects {
    let mut input = InputObjects::default();
    input.read(&source(text)).expect("text");
    input
}

/// `Kind name at line:column` of every object.
fn objects(input: &InputObjects) -> Vec<String> {
    let line = |item: &super::InputItem| {
        let (kind, meta) = match &item.object {
            Manifest::Node(node) => ("Node", &node.metadata),
            Manifest::Pod(pod) => ("Pod", &pod.metadata),
            Manifest::Queue(queue) => ("Queue", &queue.metadata),
            _ => ("other", &Default::default()),
        };
        let name = meta.name.clone().unwrap_or_default();
        format!("{kind} {name} at {}:{}", item.place.line, item.place.column)
    };
    input.items.iter().map(line).collect()
}

fn problems(input: &InputObjects) -> Vec<String> {
    input.problems.iter().map(ToString::to_string).collect()
}

#[test]
fn a_list_of_mixed_kinds_gives_its_items() {
    let text = "\
apiVersion: v1
kind: List
items:
- {apiVersion: v1, kind: Node, metadata: {name: n1}}
- apiVersion: v1
  kind: List
  items:
  - {apiVersion: v1, kind: Pod, metadata: {name: nested}}
- {apiVersion: v1, kind: Event}
metadata: {resourceVersion: \"\"}
";
    let input = read(text);
    assert_eq!(objects(&input), ["Node n1 at 4:3", "Pod nested at 8:5"]);
    assert_eq!(input.ignored.get("Event"), Some(&1));
    assert!(input.problems.is_empty());
}

#[test]
fn items_of_a_typed_list_need_no_kind() {
    let text = "{apiVersion: v1, kind: NodeList, items: [{metadata: {name: a}}]}";
    assert_eq!(objects(&read(text)), ["Node a at 1:42"]);
    let text = "{apiVersion: scheduling.volcano.sh/v1beta1, kind: QueueList, items: [{metadata: \
                {name: q}}]}";
    assert_eq!(objects(&read(text)), ["Queue q at 1:70"]);
}

#[test]
fn a_broken_item_of_a_list_is_set_aside_alone() {
    let text = "\
kind: List
items:
- {apiVersion: v1, kind: Node, metadata: {name: [n]}}
- 5
- {metadata: {name: x}}
- {apiVersion: v1, kind: Node, metadata: {name: m}}
";
    let input = read(text);
    assert_eq!(objects(&input), ["Node m at 6:3"]);
    let found: Vec<String> = input
        .problems
        .iter()
        .map(|p| format!("{}: {}", p.place, p.message))
        .collect();
    assert_eq!(
        found,
        [
            "f:3:49: metadata.name: expected a string, found a list",
            "f:4:3: expected an object with apiVersion and kind, found the whole number `5`",
            "f:5:3: an item of the List has no `kind`",
        ]
    );
}

#[test]
fn json_is_read_as_well() {
    let text = r#"{"kind": "List", "items": [{"apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": "p", "labels": {"a": "\u00e9"}}}]}"#;
    assert_eq!(objects(&read(text)), ["Pod p at 1:28"]);
}

#[test]
fn a_list_without_items_is_empty_and_no_problem() {
    for text in [
        "{kind: List, items: []}",
        "{kind: List, apiVersion: v1, items: null}",
    ] {
        let input = read(text);
        assert!(
            input.items.is_empty() && input.problems.is_empty(),
            "{text}"
        );
    }
}

#[test]
fn the_configuration_is_taken_out_of_a_list() {
    let text = "kind: List\nitems:\n- kind: ConfigMap\n  apiVersion: v1\n  data:\n    \
                volcano-scheduler.conf: |\n      actions: allocate\n";
    assert_eq!(read(text).config.expect("a configuration").place.line, 3);
}

#[test]
fn a_config_map_without_configuration_has_no_effect() {
    let input = read("{kind: ConfigMap, apiVersion: v1, data: {key: value}}");
    assert_eq!(input.ignored.get("ConfigMap"), Some(&1));
}

#[test]
fn device_configurations_are_kept_by_namespace_and_name() {
    let text = "kind: ConfigMap\nmetadata: {name: a, namespace: kube-system}\ndata:\n  \
                device-config.yaml: |\n    nvidia: {}\n  volcano-scheduler.conf: |\n    actions: \
                allocate\n---\nkind: ConfigMapList\nitems:\n- metadata: {name: a}\n  data: \
                {device-config.yaml: \"\"}\n- metadata: {name: b}\n  data: {key: value}\n";
    let input = read(text);
    let shown = |map: &DeviceMap| {
        let (namespace, name, text) = (&map.namespace, &map.name, &map.text);
        format!("{namespace}/{name} at {}: {text:?}", map.place.line)
    };
    let maps: Vec<_> = input.device_maps.iter().map(shown).collect();
    let expected = [
        "kube-system/a at 1: \"nvidia: {}\\n\"",
        "default/a at 11: \"\"",
    ];
    assert_eq!(maps, expected);
    assert!(input.config.is_some() && input.problems.is_empty());
    assert_eq!(input.ignored.get("ConfigMap"), Some(&1));
}

#[test]
fn device_configurations_that_cannot_be_taken_are_told() {
    let text = "kind: ConfigMap\nmetadata: {name: a}\ndata: {device-config.yaml: nvidia}\n---\n\
                kind: ConfigMap\nmetadata: {name: a}\ndata: {device-config.yaml: twice}\n---\n\
                kind: ConfigMap\nmetadata: {name: b}\ndata: {device-config.yaml: {a: 1}}\n---\n\
                kind: ConfigMap\ndata: {device-config.yaml: nameless}\n";
    let input = read(text);
    assert_eq!(input.device_maps.len(), 1);
    let found = problems(&input);
    for (found, expected) in found.iter().zip([
        "error: f:5:1: ConfigMap a: given twice: the first one is at f:1:1",
        "error: f:11:28: ConfigMap b: data.device-config.yaml is a map, not a text",
        "error: f:13:1: ConfigMap: the ConfigMap has no metadata.name",
    ]) {
        assert!(found.starts_with(expected), "{found}");
    }
    assert_eq!(found.len(), 3, "{found:?}");
}

#[test]
fn kinds_of_other_groups_are_not_taken_for_ours() {
    let input = read("{apiVersion: e.com/v1, kind: Job}\n---\n{apiVersion: e.com/v1, kind: Pod}\n");
    assert!(input.items.is_empty());
    assert_eq!(input.ignored.values().sum::<u64>(), 2);
}

#[test]
fn documents_with_bytes_that_are_no_text_are_left_out_at_their_place() {
    let mut bytes = b"kind: Node\napiVersion: v1\nmetadata: {name: a}\n---\nkind: \xff\n".to_vec();
    bytes.extend(b"---\nkind: Node\napiVersion: v1\nmetadata: {name: b}\n");
    let input = read(&bytes);
    assert_eq!(objects(&input), ["Node a at 1:1", "Node b at 7:1"]);
    let found = problems(&input);
    assert_eq!(found.len(), 1);
    assert!(
        found[0].starts_with("error: f:5:7: the byte 0xff is not valid UTF-8"),
        "{found:?}"
    );
}

#[test]
fn a_source_without_any_text_is_an_error() {
    let error = InputObjects::default()
        .read(&source(b"\xff\xfe"))
        .expect_err("no text");
    assert_eq!((error.place.line, error.place.column), (1, 1));
}

#[test]
fn fields_of_several_objects_are_found_in_one_reading() {
    let text = "kind: List\nitems:\n- kind: A\n  spec: {x: 1}\n- kind: B\n  spec:\n    y: 2\n";
    let at = |line, column| InputPlace {
        file: "f".to_owned(),
        line,
        column,
    };
    let (mut one, mut two, mut three) = (at(3, 3), at(5, 3), at(9, 9));
    let mut wanted = [
        (&mut one, "spec.x"),
        (&mut two, "spec.y"),
        (&mut three, "spec.z"),
    ];
    locate_fields(&source(text), &mut wanted);
    assert_eq!([one, two, three], [at(4, 13), at(7, 8), at(9, 9)]);
}
