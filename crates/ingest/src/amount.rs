//! Quantities to stored units and back (spec/01 §3.1, units of [`pumice_model::resource`]).

use k8s_openapi::apimachinery::pkg::api::resource::Quantity as WireQuantity;
use pumice_api::ResourceList;
use pumice_api::request::Exact;
use pumice_model::object::Amounts;
use pumice_model::resource::{MAX_AMOUNT, Unit, unit_of};
use pumice_units::quantity::{self, Quantity};

use crate::problem::{ObjectProblems, Path};

/// What an amount that cannot be read, or is out of range, counts as: more than there is of anything. In sums it
/// stays more than any amount in range makes.
const UNREADABLE: Quantity = Quantity::whole(1 << 62);

/// Reads a resource list exactly. Names the scheduler does not count are checked and left out. What cannot be read
/// is told, and is more than there is, for objects that count all the same.
pub(crate) fn exact<'a>(
    list: Option<&'a ResourceList>,
    path: Path<'_>,
    problems: &mut ObjectProblems,
) -> Exact<'a> {
    let mut amounts = Exact::new();
    for (name, text) in list.into_iter().flatten() {
        let path = path.field(name);
        let amount = one(text, path, problems);
        let Some(unit) = unit_of(name) else { continue };
        let in_range = |amount: &Quantity| in_unit(*amount, unit) <= MAX_AMOUNT;
        if amount.is_some_and(|amount| !in_range(&amount)) {
            too_large(&text.0, path, problems);
        }
        amounts.insert(name.as_str(), amount.filter(in_range).unwrap_or(UNREADABLE));
    }
    amounts
}

fn one(text: &WireQuantity, path: Path<'_>, problems: &mut ObjectProblems) -> Option<Quantity> {
    match quantity::parse(&text.0) {
        Ok(amount) if amount.is_negative() => {
            let message = format!("{:?} is negative", text.0);
            problems.add(
                path,
                message,
                "write 0 or more, for example \"500m\" or \"4Gi\"",
            );
            None
        }
        Ok(amount) => Some(amount),
        Err(error) => {
            problems.add(path, error.what(), error.help());
            None
        }
    }
}

fn too_large(text: &str, path: Path<'_>, problems: &mut ObjectProblems) {
    let message = format!("{text:?} is more than the scheduler can count exactly");
    problems.add(
        path,
        message,
        "write less than 2^53 bytes or thousandths, for example \"4Ti\"",
    );
}

fn in_unit(amount: Quantity, unit: Unit) -> i64 {
    match unit {
        Unit::Milli => amount.milli_ceil(),
        Unit::Whole => amount.whole_ceil(),
    }
}

/// Exact amounts in stored units, rounded up once. Sums of amounts that are each in range may be
/// out of range: that is a problem of `path`, and they are as much as can be counted.
pub(crate) fn stored(
    amounts: &Exact<'_>,
    path: Path<'_>,
    problems: &mut ObjectProblems,
) -> Amounts {
    let mut out = Amounts::with_capacity(amounts.len());
    for (name, amount) in amounts {
        let Some(unit) = unit_of(name) else { continue };
        let value = in_unit(*amount, unit);
        if value > MAX_AMOUNT && *amount < UNREADABLE {
            too_large(&amount.to_string(), path.field(name), problems);
        }
        out.push(((*name).to_owned(), value.min(MAX_AMOUNT)));
    }
    out
}

/// A resource list in stored units.
pub(crate) fn amounts(
    list: Option<&ResourceList>,
    path: Path<'_>,
    problems: &mut ObjectProblems,
) -> Amounts {
    stored(&exact(list, path, problems), path, problems)
}

/// A resource list in thousandths, with every name as it is written; what is more than can be counted
/// is as much as can be.
pub(crate) fn thousandths(
    list: Option<&ResourceList>,
    path: Path<'_>,
    problems: &mut ObjectProblems,
) -> Amounts {
    let mut out = Amounts::new();
    for (name, text) in list.into_iter().flatten() {
        if let Some(amount) = one(text, path.field(name), problems) {
            out.push((name.clone(), amount.milli_ceil()));
        }
    }
    out
}

/// Text of an amount in stored units: cpu `500m` or `2`, memory `4Gi`, pods `110`, others `2`.
pub fn quantity_text(name: &str, amount: i64) -> String {
    match unit_of(name) {
        Some(Unit::Milli) => quantity::format_milli(amount),
        Some(Unit::Whole) if name != "pods" => quantity::format_bytes(amount),
        Some(Unit::Whole) | None => quantity::format_whole(amount),
    }
}

/// Amounts in stored units as a resource list.
pub fn resource_list(amounts: &[(String, i64)]) -> ResourceList {
    let text =
        |(name, amount): &(String, i64)| (name.clone(), WireQuantity(quantity_text(name, *amount)));
    amounts.iter().map(text).collect()
}
