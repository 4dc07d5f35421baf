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
fn addresses_are_read_and_sorted_into_kinds() {
    all_hold(&[
        r#"isIP("127.0.0.1") && isIP("::1")"#,
        r#"!isIP("127.0.0.256") && !isIP(":::1")"#,
        r#"!isIP("::ffff:1.2.3.4") && !isIP("fe80::1%eth0") && !isIP("010.0.0.1")"#,
        r#"ip.isCanonical("127.0.0.1") && ip.isCanonical("2001:db8::abcd")"#,
        r#"!ip.isCanonical("2001:DB8::ABCD") && !ip.isCanonical("2001:db8::0:0:0:abcd")"#,
        r#"ip("127.0.0.1").family() == 4 && ip("::1").family() == 6"#,
        r#"ip("0.0.0.0").isUnspecified() && ip("::").isUnspecified()"#,
        r#"!ip("127.0.0.1").isUnspecified() && !ip("::1").isUnspecified()"#,
        r#"ip("127.0.0.1").isLoopback() && ip("::1").isLoopback()"#,
        r#"!ip("192.168.0.1").isLoopback() && !ip("2001:db8::abcd").isLoopback()"#,
        r#"ip("224.0.0.1").isLinkLocalMulticast() && ip("ff02::1").isLinkLocalMulticast()"#,
        r#"!ip("224.0.1.1").isLinkLocalMulticast() && !ip("fd00::1").isLinkLocalMulticast()"#,
        r#"ip("169.254.169.254").isLinkLocalUnicast() && ip("fe80::1").isLinkLocalUnicast()"#,
        r#"!ip("192.168.0.1").isLinkLocalUnicast() && !ip("fd80::1").isLinkLocalUnicast()"#,
        r#"ip("192.168.0.1").isGlobalUnicast() && ip("2001:db8::abcd").isGlobalUnicast()"#,
        r#"!ip("255.255.255.255").isGlobalUnicast() && !ip("ff00::1").isGlobalUnicast()"#,
        r#"string(ip("2001:DB8:0::1")) == "2001:db8::1""#,
        r#"ip("::1") == ip("0::1") && type(ip("::1")) == net.IP"#,
    ]);
    all_fail(&[
        (r#"ip("127.0.0.256").family() == 4"#, "ip", "no IP address"),
        (r#"ip.isCanonical("x")"#, "ip.isCanonical", "no IP address"),
        (r#"isIP(1)"#, "isIP", "int"),
        (r#""1.2.3.4".family() == 4"#, "family", "string"),
    ]);
}

#[test]
fn networks_contain_addresses_and_networks() {
    all_hold(&[
        r#"isCIDR("192.168.0.0/16") && isCIDR("192.168.0.1/16") && isCIDR("::1/128")"#,
        r#"!isCIDR("192.168.0.0/33") && !isCIDR("::1/129") && !isCIDR("1.2.3.4")"#,
        r#"!isCIDR("1.2.3.4/+4") && !isCIDR("1.2.3.4/04") && !isCIDR("::ffff:1.2.3.4/24")"#,
        r#"cidr("192.168.0.0/24").containsIP(ip("192.168.0.1"))"#,
        r#"!cidr("192.168.0.0/24").containsIP(ip("192.168.1.1"))"#,
        r#"cidr("192.168.0.0/24").containsIP("192.168.0.1")"#,
        r#"!cidr("192.168.0.0/24").containsIP("192.168.1.1")"#,
        r#"!cidr("0.0.0.0/0").containsIP("::") && cidr("0.0.0.0/0").containsIP("1.2.3.4")"#,
        r#"cidr("192.168.0.0/16").containsCIDR(cidr("192.168.10.0/24"))"#,
        r#"!cidr("192.168.1.0/24").containsCIDR(cidr("192.168.2.0/24"))"#,
        r#"cidr("192.168.0.0/16").containsCIDR("192.168.10.0/24")"#,
        r#"!cidr("192.168.1.0/24").containsCIDR("192.168.0.0/16")"#,
        r#"cidr("192.168.0.1/24").ip() == ip("192.168.0.1")"#,
        r#"cidr("::1/128").ip().family() == 6"#,
        r#"cidr("192.168.0.1/24").masked() == cidr("192.168.0.0/24")"#,
        r#"cidr("2001:db8:ffff::/33").masked() == cidr("2001:db8:8000::/33")"#,
        r#"cidr("1.2.3.4/0").masked() == cidr("0.0.0.0/0")"#,
        r#"cidr("192.168.0.1/24") != cidr("192.168.0.1/24").masked()"#,
        r#"cidr("192.168.0.0/16").prefixLength() == 16 && cidr("::1/128").prefixLength() == 128"#,
        r#"string(cidr("192.168.0.1/24")) == "192.168.0.1/24""#,
    ]);
    all_fail(&[
        (
            r#"cidr("1.2.3.4/33").prefixLength() == 1"#,
            "cidr",
            "no network",
        ),
        (
            r#"cidr("::/0").containsIP("x")"#,
            "containsIP",
            "no IP address",
        ),
        (
            r#"cidr("::/0").containsCIDR("::1")"#,
            "containsCIDR",
            "no network",
        ),
        (r#"cidr("::/0").containsIP(1)"#, "containsIP", "int"),
    ]);
}

#[test]
fn urls_are_taken_apart() {
    all_hold(&[
        r#"isURL("https://user:pass@example.com:80/path?query=val#fragment")"#,
        r#"isURL("/absolute-path") && isURL("mailto:x@y") && isURL("*")"#,
        r#"!isURL("https://a:b:c/") && !isURL("../relative-path") && !isURL("")"#,
        r#"!isURL("http://a b/") && !isURL("http://[1.2.3.4]/") && !isURL("/x%") && !isURL(":x")"#,
        r#"!isURL("http://[::1/") && !isURL("http://a:80:80/") && isURL("db://a:80,b:80/")"#,
        r#"url("/path").getScheme() == "" && url("HTTPS://example.com/").getScheme() == "https""#,
        r#"url("https://example.com:80/").getHost() == "example.com:80""#,
        r#"url("https://[::1]:80/").getHost() == "[::1]:80""#,
        r#"url("https://[::1]/").getHost() == "[::1]" && url("/path").getHost() == """#,
        r#"url("https://example.com:80/").getHostname() == "example.com""#,
        r#"url("https://[::1]:80/").getHostname() == "::1" && url("/path").getHostname() == """#,
        r#"url("https://[fe80::1%25en0]/").getHostname() == "fe80::1%en0""#,
        r#"url("https://example.com:443/").getPort() == "443""#,
        r#"url("https://example.com/").getPort() == "" && url("/path").getPort() == """#,
        r#"url("https://example.com/path").getEscapedPath() == "/path""#,
        r#"url("https://example.com/path with spaces/").getEscapedPath() == "/path%20with%20spaces/""#,
        r#"url("https://example.com/a%2fb").getEscapedPath() == "/a%2fb""#,
        r#"url("https://example.com").getEscapedPath() == """#,
        r#"url("//example.com/x").getHost() == "example.com""#,
        r#"url("https://example.com/path?k1=a&k2=b&k2=c").getQuery() == {"k1": ["a"], "k2": ["b", "c"]}"#,
        r#"url("/?key with spaces=value with spaces").getQuery() == {"key with spaces": ["value with spaces"]}"#,
        r#"url("/?a+b=c%20d&x&z=%zz#f?g=h").getQuery() == {"a b": ["c d"], "x": [""]}"#,
        r#"url("https://example.com/path?").getQuery() == {}"#,
        r#"url("https://example.com/path").getQuery() == {}"#,
        r#"url("/a") == url("/a") && url("/a") != url("/a?")"#,
    ]);
    all_fail(&[
        (r#"url("../x").getHost() == """#, "url", "absolute"),
        (r#"url("https://a:b:c/").getHost() == """#, "url", "port"),
        (
            r#"url("http://a^b/").getHost() == """#,
            "url",
            "in the host",
        ),
        (r#"url("/x#%zz").getHost() == """#, "url", "two digits"),
        (r#""/x".getHost() == """#, "getHost", "string"),
    ]);
}

#[test]
fn texts_have_named_formats() {
    for name in [
        "dns1123Label",
        "dns1123Subdomain",
        "dns1035Label",
        "qualifiedName",
        "dns1123LabelPrefix",
        "dns1123SubdomainPrefix",
        "dns1035LabelPrefix",
        "labelValue",
        "uri",
        "uuid",
        "byte",
        "date",
        "datetime",
    ] {
        all_hold(&[
            &format!(r#"format.named("{name}").value() == format.{name}()"#),
            &format!(r#"format.{name}().validate("é !").value().size() > 0"#),
        ]);
    }
    for (name, fits, does_not) in [
        ("dns1123Label", "my-label-name", "contains a space"),
        ("dns1123Subdomain", "apiextensions.k8s.io", "a..b"),
        ("dns1035Label", "my-label-name", "1a"),
        ("qualifiedName", "apiextensions.k8s.io/v1beta1", "a/b/c"),
        ("dns1123LabelPrefix", "my-label-prefix-", "-a-"),
        ("dns1123SubdomainPrefix", "mysubdomain.prefix.-", ".a-"),
        ("dns1035LabelPrefix", "my-label-prefix-", "1a-"),
        ("labelValue", "my-cool-label-Value", "my-cool-label-Value!!"),
        ("labelValue", "", "-"),
        ("uri", "http://example.com", "../x"),
        (
            "uuid",
            "123e4567-e89b-12d3-a456-426614174000",
            "123e4567-e89b",
        ),
        ("byte", "aGVsbG8=", "aGVsbG8"),
        ("date", "2021-01-01", "2020-01-32"),
        ("datetime", "2021-01-01T00:00:00Z", "2020-01-32T00:00:00Z"),
    ] {
        all_hold(&[
            &format!(r#"!format.{name}().validate("{fits}").hasValue()"#),
            &format!(r#"format.{name}().validate("{does_not}").hasValue()"#),
        ]);
    }
    let long = "a".repeat(64);
    all_hold(&[
        &format!(r#"format.dns1123Label().validate("{long}").value()[0].contains("63 bytes")"#),
        r#"!format.named("unknown").hasValue()"#,
        "format.uuid() != format.byte()",
    ]);
    all_fail(&[
        (
            r#"format.unknown().validate("x").hasValue()"#,
            "format",
            "format",
        ),
        (r#"format.uuid().validate(1).hasValue()"#, "validate", "int"),
        (
            r#"format.named("unknown").value() == format.uuid()"#,
            "value",
            "none",
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

#[test]
fn what_is_rare_is_not_written_as_go_writes_it() {
    all_hold(&[
        r#"string(1e21) == "1000000000000000000000""#,
        r#""%e".format([1.0]) == "1.000000e+00""#,
    ]);
    all_fail(&[
        (r#""%s".format([[timestamp(0)]]) == """#, "format", "google"),
        ("lists.range(-1) == []", "lists.range", "negative"),
        (
            r#"quantity("9999999999999999999999999999999999999G").isInteger()"#,
            "quantity",
            "too large",
        ),
    ]);
}

#[test]
fn a_bound_value_is_evaluated_at_once_and_domains_are_named() {
    let missing = r#"device.attributes["gpu.example.com"].missing"#;
    let used = format!("cel.bind(v, {missing}, has({missing}) && v == 'a')");
    let guarded = format!("!has({missing}) || cel.bind(v, {missing}, v == 'a')");
    assert!(holds(&used).is_err());
    assert_eq!(holds(&guarded), Ok(true));
    assert!(holds("size(device.attributes) > 0").is_err());
    assert_eq!(
        holds(r#"size(device.attributes["gpu.example.com"]) > 0"#),
        Ok(true)
    );
}
