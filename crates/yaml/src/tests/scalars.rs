//! Typing of scalars by YAML 1.1.

use crate::scalar::{Scalar, resolve, resolve_plain};
use crate::tree::{Budget, documents};

#[test]
fn plain_scalars_have_the_types_of_yaml_v2() {
    let table: &[(&str, Scalar<'_>)] = &[
        ("", Scalar::Null),
        ("~", Scalar::Null),
        ("null", Scalar::Null),
        ("NULL", Scalar::Null),
        ("nUll", Scalar::Str("nUll")),
        ("y", Scalar::Bool(true)),
        ("Yes", Scalar::Bool(true)),
        ("ON", Scalar::Bool(true)),
        ("True", Scalar::Bool(true)),
        ("tRue", Scalar::Str("tRue")),
        ("N", Scalar::Bool(false)),
        ("no", Scalar::Bool(false)),
        ("off", Scalar::Bool(false)),
        ("FALSE", Scalar::Bool(false)),
        ("t", Scalar::Str("t")),
        ("0", Scalar::Int(0)),
        ("-0", Scalar::Int(0)),
        ("+12", Scalar::Int(12)),
        ("1_000", Scalar::Int(1000)),
        ("0x1F", Scalar::Int(31)),
        ("-0x1f", Scalar::Int(-31)),
        ("0b101", Scalar::Int(5)),
        ("-0b11", Scalar::Int(-3)),
        ("0o17", Scalar::Int(15)),
        ("017", Scalar::Int(15)),
        ("-017", Scalar::Int(-15)),
        ("08", Scalar::Float(8.0)),
        ("0x", Scalar::Str("0x")),
        ("0x-1", Scalar::Str("0x-1")),
        ("--1", Scalar::Str("--1")),
        ("9223372036854775807", Scalar::Int(i64::MAX)),
        ("-9223372036854775808", Scalar::Int(i64::MIN)),
        ("9223372036854775808", Scalar::Uint(1 << 63)),
        (
            "18446744073709551616",
            Scalar::Float(18_446_744_073_709_551_616.0),
        ),
        ("1e3", Scalar::Float(1000.0)),
        ("1.", Scalar::Float(1.0)),
        (".5", Scalar::Float(0.5)),
        ("-1.5E-1", Scalar::Float(-0.15)),
        ("1_0.5", Scalar::Float(10.5)),
        (".", Scalar::Str(".")),
        ("1e", Scalar::Str("1e")),
        ("1e999", Scalar::Str("1e999")),
        ("inf", Scalar::Str("inf")),
        ("nan", Scalar::Str("nan")),
        ("+.inf", Scalar::Float(f64::INFINITY)),
        ("-.Inf", Scalar::Float(f64::NEG_INFINITY)),
        ("1:30", Scalar::Str("1:30")),
        ("2001-12-14", Scalar::Str("2001-12-14")),
        ("10Gi", Scalar::Str("10Gi")),
        ("1 2", Scalar::Str("1 2")),
    ];
    for (text, expected) in table {
        assert_eq!(resolve_plain(text), *expected, "{text}");
    }
    assert!(matches!(resolve_plain(".NaN"), Scalar::Float(number) if number.is_nan()));
}

#[test]
fn quotes_and_tags_decide_before_the_text() {
    let table: &[(&str, Result<Scalar<'_>, &str>)] = &[
        ("'5'", Ok(Scalar::Str("5"))),
        ("\"yes\"", Ok(Scalar::Str("yes"))),
        ("|-\n 5", Ok(Scalar::Str("5"))),
        ("!!str 5", Ok(Scalar::Str("5"))),
        ("! 5", Ok(Scalar::Str("5"))),
        ("!mine 5", Ok(Scalar::Str("5"))),
        ("!!int \"5\"", Ok(Scalar::Int(5))),
        ("!!float 5", Ok(Scalar::Float(5.0))),
        ("!!bool on", Ok(Scalar::Bool(true))),
        ("!!int five", Err("`five` cannot be read as !!int")),
        ("!!bool 1", Err("`1` cannot be read as !!bool")),
    ];
    for (text, expected) in table {
        let node = documents(text, Budget::CONF).next().unwrap().unwrap();
        let value = resolve(&node).unwrap().map_err(|error| error.to_string());
        assert_eq!(value, expected.clone().map_err(str::to_owned), "{text}");
    }
}
