//! Amounts of resources: what may be asked, and what of it may be limited how.

use pumice_units::quantity::{self, Quantity};
use serde_json::Value;

use super::place::FieldPlace;
use super::{BrokenRule, text_of};

/// Resources that Kubernetes itself counts by container.
const STANDARD: [&str; 3] = ["cpu", "memory", "ephemeral-storage"];

/// What a quota may count of things.
const COUNTED: [&str; 10] = [
    "pods",
    "services",
    "replicationcontrollers",
    "resourcequotas",
    "secrets",
    "configmaps",
    "persistentvolumeclaims",
    "services.nodeports",
    "services.loadbalancers",
    "requests.storage",
];

/// What a quota may hold of requests or limits, with or without that before it.
const HELD: [&str; 2] = ["requests.", "limits."];

/// Huge pages, by size.
const HUGE_PAGES: &str = "hugepages-";

/// What a list of amounts is for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum AmountsOf {
    /// `resources` of a container.
    Container,
    /// A whole pod.
    Pod,
    /// `capacity` and `allocatable` of a node.
    Node,
    /// A namespace.
    Quota,
    /// Whatever.
    Any,
}

/// `requests` and `limits` of a container or of a whole pod.
pub(super) fn requests(
    of: AmountsOf,
    value: &Value,
    at: FieldPlace<'_>,
    broken: &mut Vec<BrokenRule>,
) {
    for field in ["limits", "requests"] {
        if let Some(list) = value.get(field) {
            amounts(of, list, at.field(field), broken);
        }
    }
    let lists = (value.get("requests"), value.get("limits"));
    let of_limit = |name: &str| lists.1?.get(name).and_then(read);
    let asked = lists.0.and_then(Value::as_object).into_iter().flatten();
    let at_requests = at.field("requests");
    for (name, text) in asked {
        let Some(request) = read(text) else { continue };
        let at = at_requests.field(name);
        let is_whole = !is_shared(name);
        let shown = text_of(text).unwrap_or_default();
        match of_limit(name) {
            None if is_whole && of == AmountsOf::Container => {
                let message = format!("{shown:?} has no limit beside it");
                broken.push(BrokenRule::new(
                    at,
                    message,
                    "write the same under limits: more than was asked for cannot be used of it",
                ));
            }
            Some(limit) if request > limit => {
                let message = format!("{shown:?} is more than the limit {limit}");
                broken.push(BrokenRule::new(at, message, "lower it, or raise the limit"));
            }
            Some(limit) if is_whole && request < limit => {
                let message = format!("{shown:?} is not the limit {limit}");
                broken.push(BrokenRule::new(
                    at,
                    message,
                    "write the same for both: more than was asked for cannot be used of it",
                ));
            }
            _ => {}
        }
    }
    huge_pages(value, at, broken);
}

/// Who asks for huge pages asks for cpu or memory too.
fn huge_pages(value: &Value, at: FieldPlace<'_>, broken: &mut Vec<BrokenRule>) {
    let names = ["limits", "requests"].into_iter();
    let names = names.filter_map(|field| value.get(field)?.as_object());
    let names: Vec<&str> = names
        .flat_map(|list| list.keys().map(String::as_str))
        .collect();
    let asked = names.iter().find(|name| name.starts_with(HUGE_PAGES));
    if let Some(name) = asked
        && !names.contains(&"cpu")
        && !names.contains(&"memory")
    {
        let message = format!("{name} is asked for without cpu or memory");
        broken.push(BrokenRule::new(
            at,
            message,
            "ask for cpu or memory as well",
        ));
    }
}

/// A list of amounts.
pub(super) fn amounts(
    of: AmountsOf,
    list: &Value,
    at: FieldPlace<'_>,
    broken: &mut Vec<BrokenRule>,
) {
    for (name, text) in list.as_object().into_iter().flatten() {
        let at = at.field(name);
        if let Some((message, help)) = wrong_name(of, name) {
            broken.push(BrokenRule::new(at, message, help));
        }
        let Some(text) = text_of(text) else { continue };
        match quantity::parse(&text) {
            Err(error) => broken.push(BrokenRule::new(at, error.what(), error.help())),
            Ok(amount) if amount.is_negative() => broken.push(BrokenRule::new(
                at,
                format!("{text:?} is negative"),
                "write 0 or more, for example \"500m\" or \"4Gi\"",
            )),
            Ok(amount) if comes_whole(of, name) && is_broken_up(amount) => {
                broken.push(BrokenRule::new(
                    at,
                    format!("{text:?} is not a whole number"),
                    "write a whole number, for example \"1\": only cpu and memory come in parts; a \
                     part of a card is asked for by resources of its own, such as those of vGPU",
                ));
            }
            Ok(amount) if !matches!(of, AmountsOf::Any | AmountsOf::Quota) => {
                if let Some((shown, size)) = page_size(name)
                    && !is_multiple(amount, size)
                {
                    broken.push(BrokenRule::new(
                        at,
                        format!("{text:?} is not a number of pages of {shown}"),
                        format!("write a multiple of {shown}"),
                    ));
                }
            }
            Ok(_) => {}
        }
    }
}

/// The size of a page, of huge pages.
fn page_size(name: &str) -> Option<(&str, Quantity)> {
    let size = name.strip_prefix(HUGE_PAGES)?;
    Some((size, quantity::parse(size).ok()?))
}

fn is_multiple(amount: Quantity, size: Quantity) -> bool {
    match (amount.as_whole(), size.as_whole()) {
        (Some(amount), Some(size)) if size > 0 => amount % size == 0,
        _ => false,
    }
}

/// Whether more than was asked for may be used of a resource.
fn is_shared(name: &str) -> bool {
    !name.contains('/') && !name.starts_with(HUGE_PAGES)
}

/// Whether there is no part of one of it.
fn comes_whole(of: AmountsOf, name: &str) -> bool {
    match of {
        AmountsOf::Any => false,
        // By names of their own, which may be of storage.
        AmountsOf::Quota => COUNTED.contains(&name) && name != "requests.storage",
        _ => name.contains('/'),
    }
}

fn is_broken_up(amount: Quantity) -> bool {
    let whole = amount.whole_ceil();
    whole != i64::MAX && amount != Quantity::whole(whole)
}

fn wrong_name(of: AmountsOf, name: &str) -> Option<(String, &'static str)> {
    let is_standard = STANDARD.contains(&name) || name.starts_with(HUGE_PAGES);
    match of {
        AmountsOf::Any => None,
        AmountsOf::Pod => {
            let is_right = matches!(name, "cpu" | "memory") || name.starts_with(HUGE_PAGES);
            (!is_right).then(|| {
                let message = format!("{name} cannot be asked for by a pod as a whole");
                (
                    message,
                    "ask for it in a container; for the pod use cpu, memory, hugepages-SIZE",
                )
            })
        }
        AmountsOf::Container if !name.contains('/') => (!is_standard).then(|| {
            let message = format!("{name} is no resource of a container");
            let help = "use cpu, memory, ephemeral-storage or hugepages-SIZE, or what a device \
                        plugin offers under its full name, such as nvidia.com/gpu";
            (message, help)
        }),
        AmountsOf::Quota if !name.contains('/') => {
            let bare = HELD.iter().find_map(|held| name.strip_prefix(held));
            let bare = bare.unwrap_or(name);
            let is_held = STANDARD.contains(&bare) || bare.starts_with(HUGE_PAGES);
            (!is_held && !COUNTED.contains(&name)).then(|| {
                let message = format!("{name} is nothing that a quota counts");
                let help = "use cpu, memory, ephemeral-storage, these with requests. or limits. \
                            before them, pods, count/RESOURCE.GROUP, or requests. and the full name \
                            of a device plugin's resource";
                (message, help)
            })
        }
        AmountsOf::Container | AmountsOf::Node | AmountsOf::Quota => {
            (!pumice_api::name::is_qualified(name)).then(|| {
                let message = format!("{name:?} is not a name of a resource");
                (message, super::format::NameFormat::Qualified.help())
            })
        }
    }
}

fn read(text: &Value) -> Option<Quantity> {
    quantity::parse(&text_of(text)?).ok()
}
