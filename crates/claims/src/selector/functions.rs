//! What an expression may use: the library of CEL and all functions that Kubernetes 1.36 adds for devices
//! (spec/09 §3). Here are those for texts, quantities and versions; each other kind has its file.

use std::cmp::Ordering;
use std::sync::{Arc, LazyLock};

use cel::common::types::{CelBool, CelDouble, CelInt, CelString};
use cel::{DeclarationError, Env, ExecutionError};
use pumice_units::quantity::{self, Quantity};

use super::failure::failed;
use super::values::{QUANTITY, QuantityValue, SEMVER, VersionValue};
use super::{clock, formats, lists, macros, meter, network, patterns, sets, times, urls};

/// Everything an expression may use: the same for all.
pub fn environment() -> &'static Arc<Env> {
    static ALL: LazyLock<Arc<Env>> = LazyLock::new(|| {
        let mut env = Env::stdlib();
        let declared = declare(&mut env);
        debug_assert!(declared.is_ok(), "{declared:?}");
        Arc::new(env)
    });
    &ALL
}

fn declare(env: &mut Env) -> Result<(), DeclarationError> {
    env.add_type(QUANTITY.to_owned())?;
    env.add_type(SEMVER.to_owned())?;
    cel::add_overload!(env, fn quantity_of: (CelString) -> Result<QuantityValue>,
        name = "quantity", id = "string_to_quantity")?;
    cel::add_overload!(env, fn is_quantity: (CelString) -> CelBool,
        name = "isQuantity", id = "is_quantity_string")?;
    cel::add_overload!(env, fn version_of: (CelString) -> Result<VersionValue>,
        name = "semver", id = "string_to_semver")?;
    cel::add_overload!(env, fn is_version: (CelString) -> CelBool,
        name = "isSemver", id = "is_semver_string")?;
    cel::extensions::strings(env)?;
    patterns::declare(env)?;
    quantities(env)?;
    versions(env)?;
    macros::declare(env)?;
    lists::declare(env)?;
    sets::declare(env)?;
    network::declare(env)?;
    urls::declare(env)?;
    formats::declare(env)?;
    times::declare(env)?;
    clock::declare(env)?;
    meter::declare(env)
}

fn quantities(env: &mut Env) -> Result<(), DeclarationError> {
    cel::add_member_overload!(env, fn quantity_is_greater: (QuantityValue, QuantityValue) -> CelBool,
        name = "isGreaterThan", id = "quantity_is_greater_than")?;
    cel::add_member_overload!(env, fn quantity_is_less: (QuantityValue, QuantityValue) -> CelBool,
        name = "isLessThan", id = "quantity_is_less_than")?;
    cel::add_member_overload!(env, fn quantity_compare: (QuantityValue, QuantityValue) -> CelInt,
        name = "compareTo", id = "quantity_compare_to")?;
    cel::add_member_overload!(env, fn quantity_add: (QuantityValue, QuantityValue) -> QuantityValue,
        name = "add", id = "quantity_add")?;
    cel::add_member_overload!(env, fn quantity_sub: (QuantityValue, QuantityValue) -> QuantityValue,
        name = "sub", id = "quantity_sub")?;
    cel::add_member_overload!(env, fn quantity_add_integer: (QuantityValue, CelInt) -> QuantityValue,
        name = "add", id = "quantity_add_int")?;
    cel::add_member_overload!(env, fn quantity_sub_integer: (QuantityValue, CelInt) -> QuantityValue,
        name = "sub", id = "quantity_sub_int")?;
    cel::add_member_overload!(env, fn quantity_sign: (QuantityValue) -> CelInt,
        name = "sign", id = "quantity_sign")?;
    cel::add_overload!(env, fn quantity_sign: (QuantityValue) -> CelInt,
        name = "sign", id = "sign_of_quantity")?;
    cel::add_member_overload!(env, fn quantity_is_integer: (QuantityValue) -> CelBool,
        name = "isInteger", id = "quantity_is_integer")?;
    cel::add_member_overload!(env, fn quantity_integer: (QuantityValue) -> Result<CelInt>,
        name = "asInteger", id = "quantity_get_int")?;
    cel::add_member_overload!(env, fn quantity_float: (QuantityValue) -> CelDouble,
        name = "asApproximateFloat", id = "quantity_get_float")
}

fn versions(env: &mut Env) -> Result<(), DeclarationError> {
    cel::add_overload!(env, fn normalized_version_of: (CelString, CelBool) -> Result<VersionValue>,
        name = "semver", id = "string_bool_to_semver")?;
    cel::add_overload!(env, fn is_normalized_version: (CelString, CelBool) -> CelBool,
        name = "isSemver", id = "is_semver_string_bool")?;
    cel::add_member_overload!(env, fn version_is_greater: (VersionValue, VersionValue) -> CelBool,
        name = "isGreaterThan", id = "semver_is_greater_than")?;
    cel::add_member_overload!(env, fn version_is_less: (VersionValue, VersionValue) -> CelBool,
        name = "isLessThan", id = "semver_is_less_than")?;
    cel::add_member_overload!(env, fn version_compare: (VersionValue, VersionValue) -> CelInt,
        name = "compareTo", id = "semver_compare_to")?;
    cel::add_member_overload!(env, fn version_major: (VersionValue) -> CelInt,
        name = "major", id = "semver_major")?;
    cel::add_member_overload!(env, fn version_minor: (VersionValue) -> CelInt,
        name = "minor", id = "semver_minor")?;
    cel::add_member_overload!(env, fn version_patch: (VersionValue) -> CelInt,
        name = "patch", id = "semver_patch")
}

fn quantity_of(text: &CelString<'_>) -> Result<QuantityValue, ExecutionError> {
    let read = quantity::parse(text.inner());
    read.map(QuantityValue)
        .map_err(|error| failed("quantity", error.what()))
}

fn is_quantity(text: &CelString<'_>) -> CelBool {
    quantity::parse(text.inner()).is_ok().into()
}

fn version_of(text: &CelString<'_>) -> Result<VersionValue, ExecutionError> {
    let version = VersionValue::parse(text.inner());
    version.ok_or_else(|| failed("semver", format!("{:?} is no version", text.inner())))
}

fn is_version(text: &CelString<'_>) -> CelBool {
    VersionValue::parse(text.inner()).is_some().into()
}

fn read_version(text: &str, normalize: &CelBool) -> Option<VersionValue> {
    match normalize.inner() {
        true => VersionValue::parse_normalized(text),
        false => VersionValue::parse(text),
    }
}

fn normalized_version_of(
    text: &CelString<'_>,
    normalize: &CelBool,
) -> Result<VersionValue, ExecutionError> {
    let version = read_version(text.inner(), normalize);
    version.ok_or_else(|| failed("semver", format!("{:?} is no version", text.inner())))
}

fn is_normalized_version(text: &CelString<'_>, normalize: &CelBool) -> CelBool {
    read_version(text.inner(), normalize).is_some().into()
}

fn sign(order: Ordering) -> CelInt {
    CelInt::from(order as i64)
}

fn quantity_is_greater(one: &QuantityValue, other: &QuantityValue) -> CelBool {
    (one.0 > other.0).into()
}

fn quantity_is_less(one: &QuantityValue, other: &QuantityValue) -> CelBool {
    (one.0 < other.0).into()
}

fn quantity_compare(one: &QuantityValue, other: &QuantityValue) -> CelInt {
    sign(one.0.cmp(&other.0))
}

fn quantity_add(one: &QuantityValue, other: &QuantityValue) -> QuantityValue {
    QuantityValue(one.0.plus(other.0))
}

fn quantity_sub(one: &QuantityValue, other: &QuantityValue) -> QuantityValue {
    QuantityValue(one.0.minus(other.0))
}

fn quantity_add_integer(one: &QuantityValue, other: &CelInt) -> QuantityValue {
    QuantityValue(one.0.plus(Quantity::whole(*other.inner())))
}

fn quantity_sub_integer(one: &QuantityValue, other: &CelInt) -> QuantityValue {
    QuantityValue(one.0.minus(Quantity::whole(*other.inner())))
}

fn quantity_sign(one: &QuantityValue) -> CelInt {
    sign(one.0.cmp(&Quantity::default()))
}

fn quantity_is_integer(one: &QuantityValue) -> CelBool {
    one.0.as_whole().is_some().into()
}

fn quantity_integer(one: &QuantityValue) -> Result<CelInt, ExecutionError> {
    let whole = one.0.as_whole();
    let whole = whole.ok_or_else(|| failed("asInteger", format!("{} is no integer", one.0)))?;
    Ok(whole.into())
}

fn quantity_float(one: &QuantityValue) -> CelDouble {
    one.0.approximate().into()
}

fn version_is_greater(one: &VersionValue, other: &VersionValue) -> CelBool {
    (one.compare(other) == Ordering::Greater).into()
}

fn version_is_less(one: &VersionValue, other: &VersionValue) -> CelBool {
    (one.compare(other) == Ordering::Less).into()
}

fn version_compare(one: &VersionValue, other: &VersionValue) -> CelInt {
    sign(one.compare(other))
}

fn number(one: &VersionValue, at: usize) -> CelInt {
    CelInt::from(i64::try_from(one.numbers[at]).unwrap_or(i64::MAX))
}

fn version_major(one: &VersionValue) -> CelInt {
    number(one, 0)
}

fn version_minor(one: &VersionValue) -> CelInt {
    number(one, 1)
}

fn version_patch(one: &VersionValue) -> CelInt {
    number(one, 2)
}
