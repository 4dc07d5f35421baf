//! Groups that have claims of their own, which their pods share (spec/09 §9).

use std::collections::BTreeMap;

use pumice_model::Delta;
use pumice_model::object::{GroupObject, PodObject, PodResourceClaim, ResourceClaimObject};

use super::rng::Rng;

/// Some groups have a claim that their pods name, by name or by template; some have another one of that name.
pub(super) fn share(rng: &mut Rng, all: &mut [Delta]) {
    let mut groups: Vec<GroupObject> = Vec::new();
    let mut names: BTreeMap<(String, String), Vec<(String, String)>> = BTreeMap::new();
    for object in &*all {
        match object {
            Delta::GroupApply(group) => groups.push((**group).clone()),
            Delta::PodApply(pod) => {
                let Some(group) = &pod.group else { continue };
                let key = (pod.namespace.clone(), group.clone());
                let by_name = pod
                    .resource_claims
                    .iter()
                    .filter(|one| one.template.is_none());
                let named = by_name.filter_map(|one| Some((one.entry.clone(), one.claim.clone()?)));
                names.entry(key).or_default().extend(named);
            }
            _ => {}
        }
    }
    for group in groups {
        let named = names.get(&(group.namespace.clone(), group.name.clone()));
        let Some((entry, claim)) = named.and_then(|named| named.first()).cloned() else {
            continue;
        };
        let way = rng.below(6);
        if way == 0 {
            continue;
        }
        let is_by_template = way < 3 && !claim.starts_with("everybody");
        for object in all.iter_mut() {
            match object {
                Delta::GroupApply(known) if known.uid == group.uid => {
                    known.native.claims = vec![PodResourceClaim {
                        entry: entry.clone(),
                        claim: (!is_by_template).then(|| match way {
                            5 => "another".to_owned(),
                            _ => claim.clone(),
                        }),
                        template: is_by_template.then(|| "group".to_owned()),
                    }];
                }
                Delta::PodApply(pod) if is_of(pod, &group) && is_by_template => {
                    let entries = pod.resource_claims.iter_mut();
                    let entries = entries.filter(|one| one.claim.as_ref() == Some(&claim));
                    entries.for_each(|one| one.template = Some("group".to_owned()));
                }
                Delta::ResourceClaimApply(known)
                    if known.namespace == group.namespace && known.name == claim =>
                {
                    let owner = is_by_template.then_some(&*group.uid);
                    reserve(rng, known, owner, (way < 5).then_some(&*group.uid));
                }
                _ => {}
            }
        }
    }
}

fn is_of(pod: &PodObject, group: &GroupObject) -> bool {
    pod.namespace == group.namespace && pod.group.as_ref() == Some(&group.name)
}

/// The claim of a group: mostly it is reserved for the group in place of one pod.
fn reserve(
    rng: &mut Rng,
    claim: &mut ResourceClaimObject,
    owner: Option<&str>,
    group: Option<&str>,
) {
    if let Some(owner) = owner.filter(|_| claim.owner_uid.is_empty()) {
        claim.owner_uid = owner.to_owned();
    }
    if let (Some(group), Some(user)) = (group, claim.reserved_for.first_mut())
        && !rng.one_in(4)
    {
        *user = group.to_owned();
    }
}
