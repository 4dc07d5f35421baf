use super::written::{fault, mix_text_faults, read, text};
use crate::named_map::place_fault;

#[test]
fn a_written_class_says_how_often_it_comes_what_it_asks_and_on_which_nodes() {
    let written =
        "30 cpu=8 memory=1Ki volcano.sh/vgpu-number=1 volcano.sh/vgpu-memory=8k on gpu=A100";
    let class = read(written).expect("it can be read");
    assert_eq!(class.mass, 30);
    let amount = |name: &str, amount: i64| (name.to_owned(), amount);
    let expected = [
        amount("cpu", 8_000),
        amount("memory", 1_024),
        amount("pods", 1),
        amount("volcano.sh/vgpu-memory", 8_000_000),
        amount("volcano.sh/vgpu-number", 1_000),
    ];
    assert_eq!(class.asked.amounts, expected);
    assert_eq!(class.asked.facts.containers[0].amounts, expected[3..]);
    let labels = [("gpu".to_owned(), "A100".to_owned())];
    assert_eq!(class.asked.node_selector, labels);
    let again = format!("1 {}", text(&class.asked));
    assert_eq!(read(&again).expect("it can be read").asked, class.asked);
}

#[test]
fn what_is_wrong_with_a_written_class_is_told() {
    let wrong = [
        (
            "",
            "does not begin with how often such tasks come, a whole number from 1 to 1000000000",
        ),
        (
            "often cpu=1",
            "does not begin with how often such tasks come, a whole number from 1 to 1000000000",
        ),
        (
            "0 a.b/c=1",
            "does not begin with how often such tasks come, a whole number from 1 to 1000000000",
        ),
        ("3 cpu", "has \"cpu\", where NAME=VALUE should stand"),
        (
            "3 cpu=much a.b/c=1",
            "has cpu: \"much\" has no digits; write a number and perhaps a unit, for example \"500m\"",
        ),
        ("3 cpu=-1 a.b/c=1", "has cpu=-1, which no node has"),
        ("3 cpu=8Ei a.b/c=1", "has cpu=8Ei, which no node has"),
        (
            "3 cpu=1",
            "asks for no cards: name a resource such as volcano.sh/vgpu-number=1",
        ),
    ];
    for (text, expected) in wrong {
        assert_eq!(fault(text).as_deref(), Some(expected), "{text}");
    }
}

#[test]
fn of_a_text_each_line_is_read_by_itself_and_what_is_wrong_is_told_with_its_number() {
    let class = "1 cpu=1 volcano.sh/vgpu-number=1";
    let text = format!("# classes\n\n{class}\n  - {class}  \nnonsense\n3 cpu=1\n");
    let (count, faults) = mix_text_faults(&text);
    assert_eq!(count, 2);
    assert_eq!(faults.len(), 2, "{faults:?}");
    assert!(
        faults[0].starts_with("line 5: `nonsense` does not begin with"),
        "{faults:?}"
    );
    assert!(
        faults[1].starts_with("line 6: `3 cpu=1` asks for no cards"),
        "{faults:?}"
    );
    // Whoever writes the text makes no message without end.
    let long = format!("{} of\n", "é".repeat(300)).repeat(1_000);
    let (_, faults) = mix_text_faults(&long);
    assert_eq!(faults.len(), 21);
    assert_eq!(faults[20], "and so with 980 more lines");
    assert!(faults.iter().all(|fault| fault.len() < 250), "{faults:?}");
}

#[test]
fn a_config_map_is_named_with_its_namespace() {
    for good in ["volcano-system/task-mix", "a/b.c", "1/2"] {
        assert_eq!(place_fault(good), None, "{good}");
    }
    for bad in ["", "mix", "a/", "/b", "a/b/c", "A/b", "a/-b", "a b/c"] {
        assert!(place_fault(bad).is_some(), "{bad}");
    }
}
