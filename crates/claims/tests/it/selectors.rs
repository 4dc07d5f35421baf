//! Expressions on devices, as the Kubernetes documentation has them.

use std::collections::BTreeMap;

use pumice_claims::{
    Attribute, DeviceCapacity, DeviceSelector, DraDevice, SelectorError, SelectorSteps,
};
use pumice_units::quantity;

fn gpu() -> DraDevice {
    let capacity = |text: &str| DeviceCapacity {
        value: quantity::parse(text).expect("a quantity"),
        policy: None,
    };
    DraDevice {
        name: "gpu-0".to_owned(),
        attributes: BTreeMap::from([
            ("model".to_owned(), Attribute::Text("a100".to_owned())),
            ("index".to_owned(), Attribute::Int(3)),
            ("ecc".to_owned(), Attribute::Bool(true)),
            (
                "driverVersion".to_owned(),
                Attribute::Version("1.10.0".to_owned()),
            ),
            (
                "other.org/zone".to_owned(),
                Attribute::Text("z1".to_owned()),
            ),
        ]),
        capacity: BTreeMap::from([("memory".to_owned(), capacity("40Gi"))]),
        ..DraDevice::default()
    }
}

pub fn holds(text: &str) -> Result<bool, SelectorError> {
    DeviceSelector::compile(text)?.holds("gpu.example.com", &gpu(), &SelectorSteps::default())
}

#[test]
fn what_the_documentation_shows_selects_devices() {
    for (text, expected) in [
        (r#"device.driver == "gpu.example.com""#, true),
        (r#"device.driver == "x""#, false),
        (
            r#"device.attributes["gpu.example.com"].model == "a100""#,
            true,
        ),
        (r#"device.attributes['gpu.example.com'].index > 2"#, true),
        (r#"device.attributes["gpu.example.com"].ecc"#, true),
        (r#"device.attributes["other.org"].zone == "z1""#, true),
        (r#""model" in device.attributes["gpu.example.com"]"#, true),
        (r#""model" in device.attributes["unknown.org"]"#, false),
        (
            r#"has(device.attributes["gpu.example.com"].nothing)"#,
            false,
        ),
        (
            r#"device.capacity["gpu.example.com"].memory.compareTo(quantity("10Gi")) >= 0"#,
            true,
        ),
        (
            r#"device.capacity["gpu.example.com"].memory.isLessThan(quantity("40Gi"))"#,
            false,
        ),
        (
            r#"device.capacity["gpu.example.com"].memory == quantity("40960Mi")"#,
            true,
        ),
        (
            r#"device.attributes["gpu.example.com"].driverVersion.isGreaterThan(semver("1.9.9"))"#,
            true,
        ),
        (
            r#"device.attributes["gpu.example.com"].driverVersion.minor() == 10"#,
            true,
        ),
        (
            r#"cel.bind(gpu, device.attributes["gpu.example.com"], gpu.ecc && gpu.index == 3)"#,
            true,
        ),
        (
            r#"device.attributes["gpu.example.com"].model.startsWith("a")"#,
            true,
        ),
        (
            r#"device.attributes["gpu.example.com"].model.matches("^a[0-9]+$")"#,
            true,
        ),
        (
            r#"device.attributes["gpu.example.com"].?nothing.orValue("x") == "x""#,
            true,
        ),
        ("device.allowMultipleAllocations", false),
        (
            r#"device.attributes["gpu.example.com"].model in ["h100", "a100"]"#,
            true,
        ),
    ] {
        assert_eq!(holds(text), Ok(expected), "{text}");
    }
}

#[test]
fn texts_are_changed_and_searched() {
    for (text, expected) in [
        (
            r#"device.attributes["gpu.example.com"].model.upperAscii().lowerAscii().matches("^.*a100.*$")"#,
            true,
        ),
        (
            r#"device.attributes["gpu.example.com"].model.find("[0-9]+") == "100""#,
            true,
        ),
        (
            r#"device.driver.findAll("[a-z]+", 2) == ["gpu", "example"]"#,
            true,
        ),
        (r#"size(device.driver.findAll("[a-z]+")) == 3"#, true),
        (r#"device.driver.find("[0-9]") == """#, true),
        (r#"device.driver.split(".")[1] == "example""#, true),
        (
            r#""%s-%d".format([device.driver, device.attributes["gpu.example.com"].index]).endsWith("-3")"#,
            true,
        ),
        (
            r#"device.driver.replace("gpu", "nic").substring(0, 3) == "nic""#,
            true,
        ),
    ] {
        assert_eq!(holds(text), Ok(expected), "{text}");
    }
}

#[test]
fn what_fails_says_why() {
    for (text, word) in [
        (
            "device.driver ==",
            "CEL compile error: syntax error at 1:17: mismatched input '<EOF>' expecting",
        ),
        (r#"device.attributes["gpu.example.com"].nothing"#, "nothing"),
        ("device.driver", "not true or false"),
        (r#"unknown("x")"#, "unknown"),
        (r#"quantity("much") == quantity("1")"#, "much"),
        (r#"device.driver > 3"#, "CEL runtime error"),
        (r#"device.driver.find("(") == """#, "not a valid regex"),
        // Go would take it.
        (
            r#"device.driver.matches("(\\pL{500}){500}")"#,
            "too large a regex",
        ),
        (r#"[1, 2].shuffled()"#, "shuffled"),
        (r#"device.driver.charAt(99) == "x""#, "out of range"),
    ] {
        let problem = holds(text).expect_err(text).to_string();
        assert!(problem.contains(word), "{text}: {problem}");
    }
}

#[test]
fn what_fails_is_said_in_one_line_without_the_expression() {
    let deep = format!("{}true{}", "(".repeat(100), ")".repeat(100));
    let long = format!("device.driver\n\n == == '{}'", "x".repeat(5_000));
    for (text, expected) in [
        (
            deep.as_str(),
            "CEL compile error: syntax error at 1:97: Recursion limit of 96 exceeded",
        ),
        (
            r#"device.driver.matches("(")"#,
            "CEL runtime error: Error executing function 'matches': '(' not a valid regex: unclosed group",
        ),
        (
            "device.driver.matches('a\\n{')",
            "CEL runtime error: Error executing function 'matches': 'a {' not a valid regex: unclosed \
             counted repetition",
        ),
    ] {
        let problem = holds(text).expect_err(text).to_string();
        assert_eq!(problem, expected);
    }
    let problem = holds(&long).expect_err("two operators").to_string();
    assert!(problem.len() < 300 && !problem.contains('\n'), "{problem}");
}

#[test]
fn classes_of_characters_in_patterns_are_ascii_as_in_go() {
    for (text, expected) in [
        (r#"'é'.matches(r'^\w$')"#, false),
        (r#"'a_9'.matches(r'^\w{3,63}$')"#, true),
        (r#"'a-9'.matches(r'^[\w-]+$')"#, true),
        (r#"'٣'.matches(r'\d')"#, false),
        (r#"'é'.matches(r'^[^\d\s]\W?$')"#, true),
        (r#"'a]b'.matches(r'^[]\w]+$')"#, true),
        (r#"'a b'.matches(r'^a[[:space:]\d]b$')"#, true),
        (r#"'nvidia-a100'.find(r'\ba\d+\b') == 'a100'"#, true),
        (r#"'éa'.find(r'\ba') == 'a'"#, true),
        (r#"'a\u00a0b'.matches('\\S\\s\\S')"#, false),
    ] {
        assert_eq!(holds(text), Ok(expected), "{text}");
    }
}

#[test]
fn what_would_take_too_long_is_not_begun() {
    let list = (0..200)
        .map(|n| n.to_string())
        .collect::<Vec<_>>()
        .join(",");
    let loops = |depth: usize| {
        (0..depth).fold("true".to_owned(), |inner, at| {
            format!("[{list}].all(x{at}, {inner})")
        })
    };
    assert_eq!(holds(&loops(1)), Ok(true));
    let pairs = |depth: usize| {
        (0..depth).fold("true".to_owned(), |inner, at| {
            format!("[{list}].all(i{at}, x{at}, {inner})")
        })
    };
    assert_eq!(holds(&pairs(1)), Ok(true));
    assert_eq!(
        holds(&format!("sets.contains([{list}], [{list}])")),
        Ok(true)
    );
    for text in [
        loops(4),
        pairs(4),
        // A long list of a short text, and a long text of a number.
        "lists.range(1000000).all(x, lists.range(1000000).all(y, true))".to_owned(),
        "cel.bind(n, 999999, lists.range(n).all(x, lists.range(n).all(y, true)))".to_owned(),
        format!(
            "[{list}].all(x, [{list}].all(y, string(1e300).replace('0', string(1e300)) != ''))"
        ),
        // Every element compared with every other.
        format!("[{list}].all(x, [{list}].distinct() != [])"),
        format!("[{list}].all(x, sets.equivalent([{list}], [{list}]))"),
        // Long numbers, each of them searched for all.
        format!(
            "[{list}].all(x, '%.100f%.100f%.100f'.format([1.0, 1.0, 1.0]).replace('0', '%.100f'.format([1.0])) != '')"
        ),
        // Twice as much with every name.
        names(60, "'xxxxxxxx'", "a + a", "size(a60) > 0"),
        format!("true{}", " && true".repeat(2000)),
        format!("{}true", "!".repeat(5000)),
        format!("{}true{}", "(".repeat(500), ")".repeat(500)),
        "x".repeat(11_000),
    ] {
        check_refused(&text);
    }
}

/// So many names `a1`, `a2`, … after `a0`, each with a value made of the `a` before it.
fn names(number: usize, first: &str, next: &str, result: &str) -> String {
    let bind = |at: usize| {
        let value = next.replace('a', &format!("a{}", at - 1));
        format!("cel.bind(a{at}, {value}, ")
    };
    let binds: String = (1..=number).map(bind).collect();
    let ends = ")".repeat(number);
    format!("cel.bind(a0, {first}, {binds}{result}{ends})")
}

#[track_caller]
fn check_refused(text: &str) {
    let problem = holds(text).expect_err("too long");
    assert!(matches!(problem, SelectorError::Compile(_)), "{problem}");
}

#[test]
fn nor_what_is_copied_too_often_or_goes_too_deep() {
    for text in [
        // Twice as much with every name, and copies of a long list in every round.
        names(35, "[1, 1]", "[a, a]", "true"),
        names(35, "[1, 1]", "{'x': a, 'y': a}", "true"),
        "cel.bind(a, lists.range(400000), lists.range(9000).all(i, [a].all(x, true)))".to_owned(),
        "cel.bind(a, lists.range(400000), lists.range(9000).all(i, cel.bind(b, a, true)))"
            .to_owned(),
        // Patterns compiled again and again.
        r#"lists.range(5000).all(i, 'x'.find('a') == '')"#.to_owned(),
        // Operators behind what looks like a string.
        format!("// '\ndevice{}", ".a".repeat(5_000)),
        format!("r'\\' == device{}", ".a".repeat(5_000)),
        format!("'''a' ''' == device{}", ".a".repeat(5_000)),
        format!("true{}", " in [true]".repeat(1_000)),
    ] {
        check_refused(&text);
    }
}

#[test]
fn what_users_write_is_short_enough() {
    for text in [
        "lists.range(30).all(x, lists.range(30).all(y, x + y >= 0))",
        r#"device.driver.split(",").exists(f, f.startsWith("gpu"))"#,
        r#"device.driver.split(".").exists(f, f.matches("^g[a-z]+$"))"#,
        r#"device.driver.findAll("[a-z]+").all(s, size(s) > 1)"#,
        r#""%s/%s".format([device.driver, "a"]).matches("^gpu.*/a$")"#,
    ] {
        assert_eq!(holds(text), Ok(true), "{text}");
    }
}

/// Kubernetes would go on: nobody else is waiting there. All expressions of a request have their steps together.
#[test]
fn what_goes_round_too_often_on_a_device_ends() {
    for text in [
        "lists.range(300).all(x, lists.range(100).all(y, x + y >= 0))",
        "!lists.range(200).exists(x, lists.range(100).exists(y, x + y < 0))",
        "lists.range(150).map(x, lists.range(100).map(y, x + y)) != []",
        "lists.range(150).map(x, lists.range(100).filter(y, x + y < 0)) != []",
        "!lists.range(200).exists_one(x, lists.range(100).exists_one(y, x + y < 0))",
        "lists.range(100).transformList(i, x, lists.range(100).all(y, x + y >= 0)) != []",
    ] {
        let selector = DeviceSelector::compile(text).expect("an expression");
        let steps = SelectorSteps::default();
        let mut answers = (0..20).map(|_| selector.holds("gpu.example.com", &gpu(), &steps));
        assert_eq!(answers.next(), Some(Ok(true)), "{text}");
        let Some(Err(SelectorError::Evaluate(why))) = answers.find(Result::is_err) else {
            panic!("{text} takes nothing");
        };
        assert!(why.contains("more than 300000 steps"), "{text}: {why}");
    }
}
