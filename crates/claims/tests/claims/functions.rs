//! Functions that Kubernetes adds to CEL, with the examples of its documentation.

use super::selectors::holds;

/// Each expression holds.
pub fn all_hold(expressions: &[&str]) {
    for text in expressions {
        assert_eq!(holds(text), Ok(true), "{text}");
    }
}

/// Each expression fails with a message that has both words: mostly the function, and what is wrong.
pub fn all_fail(expressions: &[(&str, &str, &str)]) {
    for (text, function, what) in expressions {
        let problem = holds(text).expect_err(text).to_string();
        let has_both = problem.contains(function) && problem.contains(what);
        assert!(has_both, "{text}: {problem}");
    }
}

#[test]
fn versions_are_normalized_on_request() {
    all_hold(&[
        r#"semver("v1.0.0", true) == semver("1.0.0")"#,
        r#"semver("1.0", true) == semver("1.0.0")"#,
        r#"semver("01.01.01", true) == semver("1.1.1")"#,
        r#"semver("1.2.03-rc.1+b", true) == semver("1.2.3-rc.1")"#,
        r#"isSemver("v1.0", true)"#,
        r#"isSemver("00", true)"#,
        r#"!isSemver("v1.0")"#,
        r#"!isSemver("v1.0", false)"#,
        r#"!isSemver("1-rc", true)"#,
        r#"!isSemver("vv1", true)"#,
        r#"!isSemver("1..0", true)"#,
        r#"!isSemver("", true)"#,
    ]);
    all_fail(&[
        (
            r#"semver("v1", false).major() == 1"#,
            "semver",
            "no version",
        ),
        (
            r#"semver("1.0-rc", true).major() == 1"#,
            "semver",
            "no version",
        ),
        (r#"semver("1.0", 1).major() == 1"#, "semver", "int"),
    ]);
}

#[test]
fn integers_are_added_to_quantities() {
    all_hold(&[
        r#"quantity("50k").add(20) == quantity("50020")"#,
        r#"quantity("50k").sub(20000) == quantity("30k")"#,
        r#"quantity("50k").add(20).sub(quantity("100k")).sub(-50000) == quantity("20")"#,
        r#"sign(quantity("-1")) == -1"#,
    ]);
}

#[test]
fn lists_are_ordered_added_and_searched() {
    all_hold(&[
        "[1, 2, 3].isSorted()",
        r#"["a", "b", "b", "c"].isSorted()"#,
        "![2.0, 1.0].isSorted()",
        "[].isSorted()",
        "[1, 3].sum() == 4",
        "[1.0, 3.0].sum() == 4.0",
        "[1u, 3u].sum() == 4u",
        r#"[duration("1m"), duration("1s")].sum() == duration("1m1s")"#,
        "[].sum() == 0",
        "[1, 3].min() == 1",
        "[1, 3].max() == 3",
        r#"["b", "a"].max() == "b""#,
        "([0] + [].filter(x, true)).min() == 0",
        "[1, 2, 2, 3].indexOf(2) == 1",
        r#"["a", "b", "b", "c"].lastIndexOf("b") == 2"#,
        "[1.0].indexOf(1.1) == -1",
        r#"[].indexOf("string") == -1"#,
        "[1, 2, 3, 4].slice(1, 3) == [2, 3]",
        "[1, [2, 3], [4]].flatten() == [1, 2, 3, 4]",
        "[3, 2, 1].sort() == [1, 2, 3]",
        r#"["bb", "a"].sortBy(text, size(text)) == ["a", "bb"]"#,
        "[1, 2, 2, 3].distinct() == [1, 2, 3]",
        "[5, 3, 1].reverse() == [1, 3, 5]",
        "lists.range(3) == [0, 1, 2]",
        "[1, 2, 3].first().value() == 1",
        "[1, 2, 3].last() == optional.of(3)",
        "![].first().hasValue()",
        "optional.unwrap([optional.of(42), optional.none()]) == [42]",
        "[optional.of(42), optional.none()].unwrapOpt() == [42]",
    ]);
    all_fail(&[
        ("[].min() == 1", "min", "empty"),
        ("[].max() == 1", "max", "empty"),
        (r#"["a"].sum() == "a""#, "sum", "string"),
        (r#"[1, "a"].max() == 1"#, "max", "string and int"),
        ("[[1], [2]].isSorted()", "isSorted", "list"),
        ("[9223372036854775807, 1].sum() == 0", "sum", "verflow"),
        ("[1].unwrapOpt() == [1]", "unwrap", "int"),
        (r#""text".isSorted()"#, "isSorted", "string"),
    ]);
}

#[test]
fn lists_are_taken_for_sets() {
    all_hold(&[
        "sets.contains([], [])",
        "!sets.contains([], [1])",
        "sets.contains([1, 2, 3, 4], [2, 3])",
        "sets.contains([1, 2.0, 3u], [1.0, 2u, 3])",
        "sets.equivalent([], [])",
        "sets.equivalent([1], [1, 1])",
        "sets.equivalent([1, 2, 3], [3u, 2.0, 1])",
        "!sets.equivalent([1, 2], [1])",
        "!sets.intersects([1], [])",
        "sets.intersects([1], [1, 2])",
        "sets.intersects([[1], [2, 3]], [[1, 2], [2, 3.0]])",
        r#"sets.contains(["a100", "h100"], [device.attributes["gpu.example.com"].model])"#,
    ]);
    all_fail(&[
        ("sets.contains(1, [1])", "sets.contains", "int"),
        (
            r#"sets.intersects(["a"], "a")"#,
            "sets.intersects",
            "string",
        ),
    ]);
}

#[test]
fn comprehensions_have_two_variables() {
    all_hold(&[
        "[1, 2, 3].all(i, j, i < j)",
        r#"!{"hello": "world", "taco": "taco"}.all(k, v, k != v)"#,
        r#"{"h": ["hello", "hi"], "j": ["joke", "jog"]}.all(k, vals, vals.all(v, v.startsWith(k)))"#,
        r#"{"greeting": "hello"}.exists(k, v, k.startsWith("good") || v.endsWith("lo"))"#,
        "![1, 2, 4, 8, 16].exists(i, v, v == 1024 && i == 10)",
        "![1, 2, 1, 3, 1, 4].existsOne(i, v, i == 1 || v == 1)",
        "[1, 1, 2, 2, 3, 3].existsOne(i, v, i == 2 && v == 2)",
        r#"{"i": 0, "j": 1, "k": 2}.exists_one(i, v, i == "l" || v == 1)"#,
        "[1, 2, 3].transformList(i, v, (i * v) + v) == [1, 4, 9]",
        "[1, 2, 3].transformList(i, v, i % 2 == 0, (i * v) + v) == [1, 9]",
        r#"{"greeting": "hello"}.transformList(k, v, k + v) == ["greetinghello"]"#,
        "[1, 2, 3].transformMap(i, v, (i * v) + v) == {0: 1, 1: 4, 2: 9}",
        "[1, 2, 3].transformMap(i, v, i % 2 == 0, (i * v) + v) == {0: 1, 2: 9}",
        r#"{"greeting": "hello"}.transformMap(k, v, v + "!") == {"greeting": "hello!"}"#,
        r#"{"greeting": "hello"}.transformMapEntry(k, v, {v: k}) == {"hello": "greeting"}"#,
        "[1, 2, 3].transformMapEntry(i, v, v > 1, {v: i}) == {2: 1, 3: 2}",
        "[1, 2].all(i, v, [3, 4].exists(j, w, i == j && w == v + 2))",
        // Another element decides, whatever failed before.
        "[0, 1].exists(i, v, 1 / v == 1)",
        r#"device.attributes["gpu.example.com"].exists(k, v, k == "model" && v == "a100")"#,
        r#"device.attributes["gpu.example.com"].transformList(k, v, k).sort()[0] == "driverVersion""#,
    ]);
    all_fail(&[
        (
            "[1].all(i, i, true)",
            "compile",
            "two variables are named i",
        ),
        ("[1].all(i, 1, true)", "compile", "simple name"),
        ("[0].all(i, v, 1 / v == 1)", "runtime", "ivi"),
        (
            "[1, 1].transformMapEntry(i, v, {v: i}).size() == 1",
            "transformMapEntry",
            "twice",
        ),
        (
            "[0, 1].transformMapEntry(i, v, i == 0 ? {1: i} : {1u: i}).size() == 1",
            "Entry",
            "twice",
        ),
        (
            "[1].transformMapEntry(i, v, v).size() == 1",
            "transformMapEntry",
            "int is no map",
        ),
        ("true.all(i, v, true)", "two variables", "list"),
    ]);
}

#[test]
fn values_may_be_missing() {
    all_hold(&[
        r#"device.attributes["gpu.example.com"][?"nothing"].orValue("x") == "x""#,
        r#"[?device.attributes["gpu.example.com"].?nothing, "y"] == ["y"]"#,
        r#"{?"a": device.attributes["gpu.example.com"].?model}.size() == 1"#,
        "optional.of(1).optMap(x, x + 1).value() == 2",
        "!optional.of(1).optFlatMap(x, optional.none()).hasValue()",
        "optional.none().or(optional.of(1)).value() == 1",
    ]);
}
