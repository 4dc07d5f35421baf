//! Functions that take lists for sets: how often and in which order a value is in one does not matter
//! (spec/09 §3).

use cel::common::types::{CelBool, LIST_TYPE};
use cel::common::value::{CowVal, Val};
use cel::{DeclarationError, Env, ExecutionError};

use super::lists::elements;

/// Declares `sets.contains`, `sets.equivalent` and `sets.intersects`.
pub fn declare(env: &mut Env) -> Result<(), DeclarationError> {
    let two = || vec![LIST_TYPE, LIST_TYPE];
    env.add_overload("sets.contains", "list_sets_contains_list", two(), contains)?;
    env.add_overload(
        "sets.equivalent",
        "list_sets_equivalent_list",
        two(),
        equivalent,
    )?;
    env.add_overload(
        "sets.intersects",
        "list_sets_intersects_list",
        two(),
        intersects,
    )
}

fn has(all: &[&dyn Val], value: &dyn Val) -> bool {
    all.iter().any(|one| one.equals(value))
}

fn has_all(all: &[&dyn Val], values: &[&dyn Val]) -> bool {
    values.iter().all(|value| has(all, *value))
}

/// Whether every element of the second list is in the first.
fn contains<'b, 'v>(arguments: Vec<CowVal<'b, 'v>>) -> Result<CowVal<'b, 'v>, ExecutionError> {
    let all = elements("sets.contains", &arguments, 0)?;
    let values = elements("sets.contains", &arguments, 1)?;
    Ok(CowVal::owned(CelBool::from(has_all(&all, &values))))
}

/// Whether each list has every element of the other.
fn equivalent<'b, 'v>(arguments: Vec<CowVal<'b, 'v>>) -> Result<CowVal<'b, 'v>, ExecutionError> {
    let one = elements("sets.equivalent", &arguments, 0)?;
    let other = elements("sets.equivalent", &arguments, 1)?;
    let both = has_all(&one, &other) && has_all(&other, &one);
    Ok(CowVal::owned(CelBool::from(both)))
}

/// Whether the lists have an element in common.
fn intersects<'b, 'v>(arguments: Vec<CowVal<'b, 'v>>) -> Result<CowVal<'b, 'v>, ExecutionError> {
    let one = elements("sets.intersects", &arguments, 0)?;
    let other = elements("sets.intersects", &arguments, 1)?;
    let some = other.iter().any(|value| has(&one, *value));
    Ok(CowVal::owned(CelBool::from(some)))
}
