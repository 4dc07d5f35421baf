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
