//! Functions for lists: those Kubernetes has of its own, those of CEL's extension, and the ends of a list
//! as optional values (spec/09 §3).

use std::cmp::Ordering;

use cel::common::types::{
    CelBool, CelDouble, CelInt, CelList, CelOptional, CelUInt, DYN_TYPE, LIST_TYPE, Type,
};
use cel::common::value::{CowVal, Val};
use cel::{DeclarationError, Env, ExecutionError};

use super::failure::failed;
use super::times::DurationValue;

/// What a function is given, and what it gives.
type CallArguments<'b, 'v> = Vec<CowVal<'b, 'v>>;
type CallAnswer<'b, 'v> = Result<CowVal<'b, 'v>, ExecutionError>;

/// Declares the functions. The element's type is of any kind: `list<dyn>` is the type of every list here.
pub fn declare(env: &mut Env) -> Result<(), DeclarationError> {
    cel::extensions::lists(env)?;
    let mut member = |name: &str, more: Vec<Type>, function| {
        let id = format!("list_{name}");
        env.add_member_overload(name, &id, LIST_TYPE, more, function)
    };
    member("isSorted", vec![], is_sorted)?;
    member("sum", vec![], sum)?;
    member("min", vec![], min)?;
    member("max", vec![], max)?;
    member("indexOf", vec![DYN_TYPE], index_of)?;
    member("lastIndexOf", vec![DYN_TYPE], last_index_of)?;
    member("first", vec![], first)?;
    member("last", vec![], last)?;
    member("unwrapOpt", vec![], unwrap_optionals)?;
    let lists = vec![LIST_TYPE];
    env.add_overload(
        "optional.unwrap",
        "optional_unwrap",
        lists,
        unwrap_optionals,
    )
}

/// Elements of the argument at an index, in order.
///
/// # Errors
/// It is no list.
pub fn elements<'a, 'v>(
    function: &str,
    arguments: &'a [CowVal<'_, 'v>],
    at: usize,
) -> Result<Vec<&'a (dyn Val + 'v)>, ExecutionError> {
    let list = arguments.get(at).and_then(|list| list.as_iterable());
    let list = list.ok_or_else(|| failed(function, "it needs a list".to_owned()))?;
    let (mut all, mut found) = (list.iter(), Vec::new());
    while let Some(one) = all.next() {
        found.push(one);
    }
    Ok(found)
}

/// Order of two elements of one type.
fn compare(function: &str, one: &dyn Val, other: &dyn Val) -> Result<Ordering, ExecutionError> {
    let (left, right) = (one.get_type().name(), other.get_type().name());
    let order = one.as_comparer().filter(|_| left == right);
    let order = order.and_then(|one| one.compare(other).ok());
    order.ok_or_else(|| failed(function, format!("{left} and {right} cannot be compared")))
}

/// Whether no element is less than the one before it.
fn is_sorted<'b, 'v>(arguments: CallArguments<'b, 'v>) -> CallAnswer<'b, 'v> {
    let all = elements("isSorted", &arguments, 0)?;
    for pair in all.windows(2) {
        if compare("isSorted", pair[0], pair[1])? == Ordering::Greater {
            return Ok(CowVal::owned(CelBool::from(false)));
        }
    }
    Ok(CowVal::owned(CelBool::from(true)))
}

/// Sum of numbers or durations of one type; 0 of an empty list.
fn sum<'b, 'v>(arguments: CallArguments<'b, 'v>) -> CallAnswer<'b, 'v> {
    let all = elements("sum", &arguments, 0)?;
    let Some((one, more)) = all.split_first() else {
        return Ok(CowVal::owned(CelInt::from(0)));
    };
    let types = [
        CelInt::cel_type(),
        CelUInt::cel_type(),
        CelDouble::cel_type(),
        DurationValue::cel_type(),
    ];
    if !types.contains(&one.get_type()) {
        let found = one.get_type().name();
        return Err(failed(
            "sum",
            format!("{found} is no number and no duration"),
        ));
    }
    let mut sum = one.clone_as_boxed();
    for one in more {
        let next = sum.as_adder().map(|sum| sum.add(*one));
        let next = next.ok_or_else(|| failed("sum", "it needs numbers".to_owned()))?;
        let next = next.map_err(|error| failed("sum", error.to_string()))?;
        sum = next.into_owned();
    }
    Ok(CowVal::Owned(sum))
}

/// The element that is before every other one in an order; of equal ones the first.
fn extreme<'b, 'v>(
    function: &str,
    arguments: &CallArguments<'b, 'v>,
    order: Ordering,
) -> CallAnswer<'b, 'v> {
    let mut found: Option<&(dyn Val + 'v)> = None;
    for one in elements(function, arguments, 0)? {
        found = match found {
            Some(before) if compare(function, one, before)? != order => Some(before),
            _ => Some(one),
        };
    }
    let found = found.ok_or_else(|| failed(function, "the list is empty".to_owned()))?;
    Ok(CowVal::Owned(found.clone_as_boxed()))
}

fn min<'b, 'v>(arguments: CallArguments<'b, 'v>) -> CallAnswer<'b, 'v> {
    extreme("min", &arguments, Ordering::Less)
}

fn max<'b, 'v>(arguments: CallArguments<'b, 'v>) -> CallAnswer<'b, 'v> {
    extreme("max", &arguments, Ordering::Greater)
}

fn position<'b, 'v>(at: Option<usize>) -> CallAnswer<'b, 'v> {
    let at = at.and_then(|at| i64::try_from(at).ok());
    Ok(CowVal::owned(CelInt::from(at.unwrap_or(-1))))
}

/// Index of the first element that equals a value; -1 if there is none.
fn index_of<'b, 'v>(arguments: CallArguments<'b, 'v>) -> CallAnswer<'b, 'v> {
    let all = elements("indexOf", &arguments, 0)?;
    position(all.iter().position(|one| one.equals(&*arguments[1])))
}

/// Index of the last element that equals a value; -1 if there is none.
fn last_index_of<'b, 'v>(arguments: CallArguments<'b, 'v>) -> CallAnswer<'b, 'v> {
    let all = elements("lastIndexOf", &arguments, 0)?;
    position(all.iter().rposition(|one| one.equals(&*arguments[1])))
}

fn optional<'b, 'v>(one: Option<&&(dyn Val + 'v)>) -> CowVal<'b, 'v> {
    CowVal::owned(one.map_or(CelOptional::none(), |one| {
        CelOptional::of(one.clone_as_boxed())
    }))
}

/// The first element, nothing of an empty list.
fn first<'b, 'v>(arguments: CallArguments<'b, 'v>) -> CallAnswer<'b, 'v> {
    Ok(optional(elements("first", &arguments, 0)?.first()))
}

/// The last element, nothing of an empty list.
fn last<'b, 'v>(arguments: CallArguments<'b, 'v>) -> CallAnswer<'b, 'v> {
    Ok(optional(elements("last", &arguments, 0)?.last()))
}

/// Values of those optional ones that have one.
fn unwrap_optionals<'b, 'v>(arguments: CallArguments<'b, 'v>) -> CallAnswer<'b, 'v> {
    let mut values: Vec<Box<dyn Val + 'v>> = Vec::new();
    for one in elements("unwrap", &arguments, 0)? {
        let one = one.downcast_ref::<CelOptional>().ok_or_else(|| {
            let found = one.get_type().name();
            failed("unwrap", format!("{found} is no optional value"))
        })?;
        values.extend(one.option().map(|value| value.clone_as_boxed()));
    }
    Ok(CowVal::owned(CelList::from(values)))
}
