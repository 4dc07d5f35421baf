//! Claims of PodGroups of Kubernetes itself (spec/09 §9): pods of a group share one, which is reserved for the group.

use pumice_model::claim::ClaimGroup;
use pumice_model::object::{
    GroupObject, NativeTraits, PodObject, PodResourceClaim, ResourceClaimObject, WrittenClaim,
};
use pumice_model::{ClaimReturn, ClaimStep, Delta};

use super::claims::{claim, cluster, lines, naming, on_node, owning, steps, told};
use super::cluster::*;

pub const TRAIN: &str = "scheduling.k8s.io/train";

/// What a group says of the claim that its pods call `gpu`.
pub fn entry(claim: Option<&str>, template: Option<&str>) -> PodResourceClaim {
    PodResourceClaim {
        entry: "gpu".to_owned(),
        claim: claim.map(str::to_owned),
        template: template.map(str::to_owned),
    }
}

pub fn native(name: &str, min_member: i32, claims: &[PodResourceClaim]) -> GroupObject {
    GroupObject {
        is_native: true,
        uid: format!("uid-of-{name}"),
        native: NativeTraits {
            claims: claims.to_vec(),
            ..NativeTraits::default()
        },
        ..group(name, min_member)
    }
}

/// A group whose pods share what is made of a template, and the claim that was made for it.
fn train(min_member: i32) -> [Delta; 2] {
    let made = claim("train-gpu", &format!("uid-of-{TRAIN}"), 1);
    let group = native(TRAIN, min_member, &[entry(None, Some("template"))]);
    [told(made), group.delta()]
}

pub fn sharing(name: &str) -> PodObject {
    naming("train-gpu", Some("template"), pod(name, "1c")).group(TRAIN)
}

fn all(cluster: Cluster, objects: impl IntoIterator<Item = Delta>) -> Cluster {
    objects.into_iter().fold(cluster, Cluster::with)
}

/// For whom claims are reserved: `claim group`, or `claim` for the pod.
fn consumers(steps: &[ClaimStep]) -> Vec<String> {
    let group = |group: &ClaimGroup| format!(" {} {}", group.name, group.uid);
    let one = |step: &ClaimStep| {
        let group = step.group.as_ref().map(group).unwrap_or_default();
        format!("{}{group}", step.claim)
    };
    steps.iter().map(one).collect()
}

fn why(mut cluster: Cluster) -> String {
    assert_eq!(cluster.cycle(), Vec::<String>::new());
    cluster.why("p").1
}

#[test]
fn pods_of_a_group_share_its_claim_which_is_reserved_for_the_group() {
    let mut cluster = all(cluster(&["g0", "g1"]), train(2))
        .with(sharing("a"))
        .with(sharing("b"));
    let decisions = cluster.decide();
    let binds = decisions.binds.iter();
    let steps: Vec<_> = binds.flat_map(|bind| bind.claims.clone()).collect();
    assert_eq!(lines(&steps), ["train-gpu g0", "train-gpu g0"]);
    let reserved = format!("train-gpu train uid-of-{TRAIN}");
    assert_eq!(consumers(&steps), [reserved.clone(), reserved]);
    assert_eq!(cluster.accept(&decisions), ["a n1", "b n1"]);
}

#[test]
fn whatever_comes_first_the_claim_is_the_groups() {
    let [made, group] = train(2);
    for order in [
        [made.clone(), group.clone(), sharing("a").delta()],
        [sharing("a").delta(), group.clone(), made.clone()],
        [sharing("a").delta(), made, group],
    ] {
        let mut cluster = all(cluster(&["g0"]), order).with(sharing("b"));
        let reserved = format!("train-gpu train uid-of-{TRAIN}");
        let steps = steps(&mut cluster);
        assert_eq!(consumers(&steps), [reserved.clone(), reserved]);
    }
}

#[test]
fn a_gang_that_is_not_placed_as_a_whole_gives_its_group_nothing() {
    let mut cluster = all(cluster(&["g0"]), train(9))
        .with(claim("single", "single", 1).delta())
        .with(owning(pod("single", "1c")));
    for at in 0..9 {
        cluster.apply(sharing(&format!("m{at}")));
    }
    // Nine pods do not fit on the one node that reaches the device.
    assert_eq!(lines(&steps(&mut cluster)), ["single g0"]);
}

#[test]
fn an_entry_that_names_another_source_than_the_groups_is_the_pods_own() {
    let by_name = |name: &str| native(TRAIN, 1, &[entry(Some(name), None)]);
    let shared = |group: GroupObject| {
        let mut cluster = cluster(&["g0"])
            .with(told(claim("c", "", 1)))
            .with(group)
            .with(naming("c", None, pod("a", "1c")).group(TRAIN));
        consumers(&steps(&mut cluster))
    };
    assert_eq!(shared(by_name("c")), [format!("c train uid-of-{TRAIN}")]);
    assert_eq!(shared(by_name("d")), ["c"]);
    let template = entry(None, Some("template"));
    assert_eq!(
        shared(native(TRAIN, 1, std::slice::from_ref(&template))),
        ["c"]
    );
    let renamed = PodResourceClaim {
        entry: "net".to_owned(),
        ..entry(Some("c"), None)
    };
    assert_eq!(shared(native(TRAIN, 1, &[renamed])), ["c"]);
    // Another template, and what was made for the pod itself.
    for group in [entry(None, Some("other")), template] {
        let mut cluster = cluster(&["g0"])
            .with(told(claim("a", "a", 1)))
            .with(native(TRAIN, 1, &[group]))
            .with(owning(pod("a", "1c")).group(TRAIN));
        assert_eq!(consumers(&steps(&mut cluster)), ["a"]);
    }
    // A group of another namespace is not the pod's.
    let elsewhere = GroupObject {
        namespace: "other".to_owned(),
        ..by_name("c")
    };
    let mut cluster = cluster(&["g0"])
        .with(elsewhere)
        .with(native(TRAIN, 1, &[]))
        .with(told(claim("c", "", 1)))
        .with(naming("c", None, pod("a", "1c")).group(TRAIN));
    assert_eq!(consumers(&steps(&mut cluster)), ["c"]);
}

#[test]
fn what_is_wrong_with_the_claim_of_a_group_is_told() {
    let with = |object: Option<ResourceClaimObject>| {
        let [_, group] = train(1);
        let cluster = all(cluster(&["g0"]), object.map(told)).with(group);
        why(cluster.with(sharing("p")))
    };
    let text = with(None);
    assert!(text.contains("\"train-gpu\" not found"), "{text}");
    let text = with(Some(claim("train-gpu", "somebody", 1)));
    let expected = "\"train-gpu\" was not made for PodGroup train: it belongs to another owner";
    assert!(text.contains(expected), "{text}");
    let [made, group] = train(1);
    let unnamed = pod("p", "1c").group(TRAIN);
    let unnamed = unnamed.resource_claims([entry(None, Some("template"))]);
    let text = why(cluster(&["g0"]).with(made).with(group).with(unnamed));
    let expected =
        "entry \"gpu\" is not made yet: kube-controller-manager makes it for PodGroup train";
    assert!(text.contains(expected), "{text}");
}

#[test]
fn a_group_of_a_thousand_uses_its_claim_as_one_and_others_beside_it() {
    let mut cluster = Cluster::new()
        .with(node("n1", "2001c 9000Gi pods=3000"))
        .with(super::claims::class("true"))
        .with(on_node("n1", &["g0"]))
        .with(told(claim("c", "", 1)));
    for name in [TRAIN, "scheduling.k8s.io/other"] {
        cluster.apply(native(name, 1000, &[entry(Some("c"), None)]));
        for at in 0..1000 {
            let pod = pod(&format!("{}-{at}", &name[18..]), "1c");
            cluster.apply(naming("c", None, pod).group(name));
        }
    }
    assert_eq!(cluster.cycle().len(), 2000);
    // Two groups use it: there is room for as many pods as if two pods did.
    for at in 0..300 {
        cluster.apply(naming("c", None, pod(&format!("single-{at}"), "1m")));
    }
    assert_eq!(cluster.cycle().len(), 254);
}

/// The group's claim as it is once the group has it.
pub fn reserved(steps: &[ClaimStep], version: u64) -> ResourceClaimObject {
    ResourceClaimObject {
        allocation: steps[0].decided().cloned(),
        reserved_for: vec![format!("uid-of-{TRAIN}")],
        is_protected: true,
        version,
        ..claim("train-gpu", &format!("uid-of-{TRAIN}"), 1)
    }
}

fn failed(uid: &str) -> Delta {
    Delta::BindFailed {
        uid: uid.to_owned(),
        message: "refused".to_owned(),
        at_s: 0,
    }
}

#[test]
fn a_claim_that_a_failed_bind_left_with_the_group_keeps_its_devices() {
    let mut cluster = all(cluster(&["g0"]), train(1)).with(sharing("a"));
    let written = steps(&mut cluster);
    assert_eq!(lines(&written), ["train-gpu g0"]);
    let left = WrittenClaim {
        namespace: "ns".to_owned(),
        claim: "train-gpu".to_owned(),
        version: 7,
    };
    cluster.apply(Delta::ClaimsLeft(vec![left]));
    cluster.apply(failed("a"));
    cluster.apply(Delta::PodDelete("a".to_owned()));
    cluster.apply(told(claim("single", "single", 1)));
    cluster.apply(owning(pod("single", "1c")));
    assert_eq!(steps(&mut cluster), []);
    cluster.apply(told(reserved(&written, 7)));
    assert_eq!(steps(&mut cluster), []);
    // The group is gone, and with it the claim.
    cluster.apply(Delta::GroupDelete("ns".to_owned(), TRAIN.to_owned()));
    let gone = ("ns".to_owned(), "train-gpu".to_owned());
    cluster.apply(Delta::ResourceClaimDelete(gone.0, gone.1));
    assert_eq!(lines(&steps(&mut cluster)), ["single g0"]);
}

#[test]
fn a_failed_bind_that_wrote_nothing_leaves_the_devices_to_others() {
    let mut cluster = all(cluster(&["g0"]), train(1)).with(sharing("a"));
    assert_eq!(lines(&steps(&mut cluster)), ["train-gpu g0"]);
    cluster.apply(Delta::PodDelete("a".to_owned()));
    cluster.apply(failed("a"));
    cluster.apply(told(claim("single", "single", 1)));
    cluster.apply(owning(pod("single", "1c")));
    assert_eq!(lines(&steps(&mut cluster)), ["single g0"]);
}

#[test]
fn a_group_whose_pods_fit_nowhere_gives_back_devices_that_keep_them_from_nodes() {
    let mut first = all(cluster(&["g0"]), train(1)).with(sharing("p"));
    let left = reserved(&steps(&mut first), 7);
    let full = |pods: &[PodObject]| {
        let cluster = cluster(&["g0"])
            .with(on_node("n2", &["g0"]))
            .with(pod("big", "8c").on("n1"));
        let [_, group] = train(1);
        let cluster = cluster.with(told(left.clone())).with(group);
        let pods = pods.iter().cloned().map(ToDelta::delta);
        all(cluster, pods).decide()
    };
    let decisions = full(&[sharing("p")]);
    let expected = ClaimReturn {
        namespace: "ns".to_owned(),
        claim: "train-gpu".to_owned(),
        claim_uid: "uid-train-gpu".to_owned(),
        version: 7,
    };
    assert_eq!(decisions.device_returns, [expected]);
    // Not while another pod of the group has a place.
    let decisions = full(&[sharing("p"), sharing("q").on("n1")]);
    assert!(decisions.device_returns.is_empty());
}
