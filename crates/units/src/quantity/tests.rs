use proptest::prelude::*;

use super::*;

fn nano_of(text: &str) -> i128 {
    parse(text)
        .unwrap_or_else(|error| panic!("{text}: {error}"))
        .nano
}

#[test]
fn every_suffix_has_its_factor() {
    let cases: [(&str, i128); 34] = [
        ("0", 0),
        ("-0", 0),
        ("1", NANO),
        ("+1", NANO),
        ("-1", -NANO),
        ("1n", 1),
        ("1u", 1_000),
        ("1m", MICRO),
        ("1k", 1_000 * NANO),
        ("1M", 1_000_000 * NANO),
        ("1G", 1_000_000_000 * NANO),
        ("1T", 1_000_000_000_000 * NANO),
        ("1P", 1_000_000_000_000_000 * NANO),
        ("1E", 1_000_000_000_000_000_000 * NANO),
        ("1Ki", 1024 * NANO),
        ("1Mi", (1 << 20) * NANO),
        ("1Gi", (1 << 30) * NANO),
        ("1Ti", (1 << 40) * NANO),
        ("1Pi", (1 << 50) * NANO),
        ("1Ei", (1 << 60) * NANO),
        ("1.5", 1_500_000_000),
        (".5", 500_000_000),
        ("5.", 5 * NANO),
        ("1.5Gi", 3 * (1 << 29) * NANO),
        ("0.1Ki", 102_400_000_000),
        ("1e3", 1_000 * NANO),
        ("1E3", 1_000 * NANO),
        ("1e+3", 1_000 * NANO),
        ("12.5E-1", 1_250_000_000),
        ("0e999999", 0),
        ("0.1n", 1),
        ("-0.1n", -1),
        ("1e-2000000000", 1),
        ("0.00000000000000000000000000000000000000000000001Ki", 1),
    ];
    for (text, expected) in cases {
        assert_eq!(nano_of(text), expected, "{text}");
    }
}

#[test]
fn rounding_goes_away_from_zero_and_stops_at_64_bits() {
    let cases = [
        ("1", 1000, 1),
        ("0.1m", 1, 1),
        ("1.0001", 1001, 2),
        ("-1.0001", -1001, -2),
        ("999u", 1, 1),
        ("8Ei", i64::MAX, i64::MAX),
        ("-9E", i64::MIN, -9_000_000_000_000_000_000),
        ("1e20", i64::MAX, i64::MAX),
    ];
    for (text, milli, whole) in cases {
        let quantity = parse(text).unwrap();
        assert_eq!(
            (quantity.milli_ceil(), quantity.whole_ceil()),
            (milli, whole),
            "{text}"
        );
    }
}

#[test]
fn digits_beyond_a_billionth_round_up_exactly() {
    // 2^30 × 10^-12 = 0.001073741824: three places are dropped.
    assert_eq!(nano_of("0.000000000001Gi"), 1_073_742);
    // 2^10 × 0.5 × 10^-9 is exactly 512 billionths: nothing is rounded.
    assert_eq!(nano_of("0.0000000005Ki"), 512);
    assert_eq!(nano_of("0.00000000050Ki"), 512);
    // 2^10 × 5 × 10^-11 is 51.2 billionths: what is lost lies before the first digit.
    assert_eq!(nano_of("0.00000000005Ki"), 52);
    assert_eq!(nano_of("1.0000000001"), NANO + 1);
    assert_eq!(nano_of(&format!("1.{}", "0".repeat(500))), NANO);
    assert_eq!(nano_of(&format!("1.{}1", "0".repeat(500))), NANO + 1);
}

#[test]
fn errors_say_what_is_wrong_and_give_an_example() {
    let cases = [
        ("", "the quantity is empty"),
        (".", "has no digits"),
        ("-", "has no digits"),
        ("m", "has no digits"),
        ("4GB", "\"4GB\" ends with \"GB\", which is no unit"),
        ("1e", "ends with \"e\""),
        ("1e1.5", "ends with \"e1.5\""),
        ("1e99999999999", "ends with \"e99999999999\""),
        ("1 Gi", "ends with \" Gi\""),
        ("1K", "ends with \"K\""),
        ("1.2.3", "ends with \"1.2.3\""),
        ("--1", "has no digits"),
        ("1µ", "ends with \"µ\""),
        ("1e40", "is too large"),
        ("999999999999999999999999999999999999999999", "is too large"),
    ];
    for (text, expected) in cases {
        let message = parse(text).expect_err(text).to_string();
        assert!(message.contains(expected), "{text:?}: {message}");
        assert!(message.contains("example"), "{text:?}: {message}");
    }
}

#[test]
fn stored_amounts_are_written_the_way_users_write_them() {
    let milli = [
        (500, "500m"),
        (2000, "2"),
        (0, "0"),
        (2500, "2500m"),
        (-500, "-500m"),
    ];
    for (amount, expected) in milli {
        assert_eq!(format_milli(amount), expected);
    }
    let bytes = [
        (0, "0"),
        (1000, "1000"),
        (1024, "1Ki"),
        (1536 << 20, "1536Mi"),
        (4 << 30, "4Gi"),
        ((4 << 30) + 1, "4294967297"),
        (2 << 60, "2Ei"),
    ];
    for (amount, expected) in bytes {
        assert_eq!(format_bytes(amount), expected);
    }
    assert_eq!(format_whole(110), "110");
}

fn number() -> impl Strategy<Value = String> {
    (
        "[+-]?",
        "[0-9]{0,30}",
        "(\\.[0-9]{0,30})?",
        "([numkMGTPE]|[KMGTPE]i|[eE][+-]?[0-9]{1,3})?",
    )
        .prop_map(|(sign, whole, fraction, suffix)| [sign, whole, fraction, suffix].concat())
}

proptest! {
    #[test]
    fn parsing_never_panics(text in ".*") {
        let _ = parse(&text);
    }

    #[test]
    fn parsing_what_looks_like_a_quantity_never_panics_and_its_text_reads_back(text in number()) {
        if let Ok(quantity) = parse(&text) {
            prop_assert_eq!(parse(&quantity.to_string()), Ok(quantity));
            let _ = (quantity.milli_ceil(), quantity.whole_ceil());
        }
    }

    #[test]
    fn written_amounts_read_back(amount in any::<i64>()) {
        prop_assert_eq!(parse(&format_milli(amount)), Ok(Quantity::milli(amount)));
        prop_assert_eq!(parse(&format_whole(amount)), Ok(Quantity::whole(amount)));
        prop_assert_eq!(parse(&format_bytes(amount)), Ok(Quantity::whole(amount)));
    }

    #[test]
    fn more_zeros_behind_the_point_change_nothing(
        whole in 0_i64..1 << 40,
        fraction in "[0-9]{0,20}",
        suffix in "(m|k|Ki|Gi|)",
        zeros in 0_usize..60,
    ) {
        let short = parse(&format!("{whole}.{fraction}{suffix}"));
        let long = parse(&format!("{whole}.{fraction}{}{suffix}", "0".repeat(zeros)));
        prop_assert_eq!(short, long);
    }
}
