//! `Allocate` of ascend-device-plugin (HAMi), one plugin for each type of chips (spec/05 §3.9).

use std::collections::BTreeMap;

use super::{AllocateAnswer, AllocateCall, AllocateRefusal, Grant, ListedPod};

/// Node the pod was bound to.
pub const NODE: &str = "hami.io/vgpu-node";
/// When; a pod without it is not looked at.
pub const BIND_TIME: &str = "hami.io/bind-time";
/// How far it is.
pub const PHASE: &str = "hami.io/bind-phase";
/// Phase of a pod the plugin has not served.
pub const ALLOCATING: &str = "allocating";
/// Phase of a pod that was served.
pub const SUCCESS: &str = "success";
/// Phase of a pod that could not be served.
pub const FAILED: &str = "failed";
/// Node annotation that names the next pod, and is removed after it.
pub const LOCK: &str = "hami.io/mutex.lock";

/// Key of the chips not handed out yet.
pub fn to_allocate(word: &str) -> String {
    format!("hami.io/{word}-devices-to-allocate")
}

/// Key of the chips of the pod, for ever.
pub fn allocated(word: &str) -> String {
    format!("hami.io/{word}-devices-allocated")
}

/// Answers a call of the plugin of a type. `pods` are all pods of the cluster in the order of the
/// API server's list; `lock` is the value of [`LOCK`].
pub fn allocate(
    word: &str,
    pods: &[ListedPod],
    lock: Option<&str>,
    call: &AllocateCall,
) -> AllocateAnswer {
    match guess(pods, lock, call) {
        Some(pod) => serve(word, pod, call),
        None => AllocateAnswer {
            result: Err(AllocateRefusal::NobodyWaits),
            guessed: None,
            changes: BTreeMap::new(),
            unlocks: None,
        },
    }
}

/// The pod whose turn it is.
fn guess<'a>(
    pods: &'a [ListedPod],
    lock: Option<&str>,
    call: &AllocateCall,
) -> Option<&'a ListedPod> {
    let named = lock.and_then(|lock| {
        let mut fields = lock.split(',').skip(1);
        Some((fields.next()?, fields.next()?))
    });
    if let Some((namespace, name)) = named {
        let is_it = |pod: &&ListedPod| pod.namespace == namespace && pod.name == name;
        return pods.iter().find(is_it);
    }
    pods.iter().find(|pod| {
        let value = |key: &str| pod.annotations.get(key).map(String::as_str);
        pod.phase == "Pending"
            && value(BIND_TIME).is_some()
            && matches!(value(PHASE), Some(ALLOCATING | SUCCESS))
            && value(NODE) == Some(&call.node)
    })
}

fn serve(word: &str, pod: &ListedPod, call: &AllocateCall) -> AllocateAnswer {
    let left = pod.annotations.get(&to_allocate(word));
    let left = left.map_or("", String::as_str);
    let Some((next, rest)) = next_of(left) else {
        return failed(pod, AllocateRefusal::NothingLeft);
    };
    let Some(grants) = grants(next) else {
        let text = format!("{next:?} has too few fields");
        return failed(pod, AllocateRefusal::Crash(text));
    };
    if grants.len() as u64 != call.ids {
        let listed = grants.len();
        return failed(pod, AllocateRefusal::OtherCount { listed });
    }
    let changes = [
        (to_allocate(word), rest),
        (PHASE.to_owned(), SUCCESS.to_owned()),
    ];
    AllocateAnswer {
        result: Ok(grants),
        guessed: Some(pod.uid.clone()),
        changes: changes.into(),
        unlocks: Some(LOCK),
    }
}

/// The first element with chips, and the text without it.
fn next_of(text: &str) -> Option<(&str, String)> {
    let elements: Vec<&str> = text.split(';').collect();
    let at = elements.iter().position(|element| !element.is_empty())?;
    Some((elements[at], elements[at + 1..].join(";")))
}

/// The chips of an element; none if one of them cannot be read.
fn grants(element: &str) -> Option<Vec<Grant>> {
    let pieces = element.split(':').filter(|piece| !piece.is_empty());
    let grant = |piece: &str| {
        let fields: Vec<&str> = piece.split(',').collect();
        Some(Grant {
            id: (*fields.first()?).to_owned(),
            memory: fields.get(2)?.parse().ok()?,
            cores: fields.get(3)?.parse().ok()?,
        })
    };
    pieces.map(grant).collect()
}

fn failed(pod: &ListedPod, refusal: AllocateRefusal) -> AllocateAnswer {
    AllocateAnswer {
        result: Err(refusal),
        guessed: Some(pod.uid.clone()),
        changes: [(PHASE.to_owned(), FAILED.to_owned())].into(),
        unlocks: Some(LOCK),
    }
}

/// What the scheduler has written for a container: what it is to get. `at` counts containers with
/// chips of the type.
pub fn promised(word: &str, pod: &ListedPod, at: usize) -> Vec<Grant> {
    let text = pod.annotations.get(&allocated(word));
    let elements = text.map_or("", String::as_str).split(';');
    let element = elements.filter(|element| !element.is_empty()).nth(at);
    element.and_then(grants).unwrap_or_default()
}

/// Serves every container of the pod with these annotations.
pub(super) fn serve_all(annotations: &mut BTreeMap<String, String>) {
    let waits = annotations
        .get(PHASE)
        .is_some_and(|phase| phase == ALLOCATING);
    if !waits || !annotations.contains_key(NODE) {
        return;
    }
    let (start, end) = ("hami.io/", "-devices-to-allocate");
    for (key, left) in annotations.iter_mut() {
        if key.starts_with(start) && key.ends_with(end) {
            left.clear();
        }
    }
    annotations.insert(PHASE.to_owned(), SUCCESS.to_owned());
}
