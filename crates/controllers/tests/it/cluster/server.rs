//! The API server: versions, UIDs, preconditions, graceful deletion, garbage collection.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use jiff::Timestamp;
use pumice_controllers::runtime::{
    ApiVerb, ApiWrite, ManagedKind, ManagedRef, ManagerInput, Observed, WriteOutcome, read_object,
};
use serde_json::{Map, Value, json};

/// Says of a write whether it is refused.
type Rule = Box<dyn Fn(&ApiWrite) -> Option<WriteOutcome>>;

/// Kinds whose status is a subresource.
const WITH_STATUS: [ManagedKind; 8] = [
    ManagedKind::Job,
    ManagedKind::Queue,
    ManagedKind::CronJob,
    ManagedKind::JobFlow,
    ManagedKind::JobTemplate,
    ManagedKind::HyperNode,
    ManagedKind::Pod,
    ManagedKind::Node,
];

/// An API server in memory.
pub struct ApiServer {
    objects: BTreeMap<ManagedRef, Value>,
    version: u64,
    last_uid: u64,
    /// Time of `creationTimestamp` and `deletionTimestamp`.
    pub now: Timestamp,
    /// What watches have to tell yet, by kind.
    pub feed: BTreeMap<ManagedKind, VecDeque<ManagerInput>>,
    /// Writes that changed something or were refused, in order.
    pub log: Vec<(ApiWrite, WriteOutcome)>,
    rules: Vec<Rule>,
    /// Namespaces that are being deleted.
    pub going: BTreeSet<String>,
}

impl ApiServer {
    pub fn new(now: Timestamp) -> Self {
        Self {
            objects: BTreeMap::new(),
            version: 0,
            last_uid: 0,
            now,
            feed: BTreeMap::new(),
            log: Vec::new(),
            rules: Vec::new(),
            going: BTreeSet::new(),
        }
    }

    /// Refuses writes from now on.
    pub fn refuse(&mut self, rule: impl Fn(&ApiWrite) -> Option<WriteOutcome> + 'static) {
        self.rules.push(Box::new(rule));
    }

    /// Refuses nothing any more.
    pub fn refuse_nothing(&mut self) {
        self.rules.clear();
    }

    pub fn get(&self, of: &ManagedRef) -> Option<&Value> {
        self.objects.get(of)
    }

    /// All objects of a kind, by namespace and name.
    pub fn all(&self, kind: ManagedKind) -> Vec<&Value> {
        let of_kind = self.objects.iter().filter(|(of, _)| of.kind == kind);
        of_kind.map(|(_, object)| object).collect()
    }

    /// References of all objects of a kind.
    pub fn names(&self, kind: ManagedKind) -> Vec<ManagedRef> {
        let of_kind = self.objects.keys().filter(|of| of.kind == kind);
        of_kind.cloned().collect()
    }

    /// Creates what a user applies; panics if there is one of the name.
    pub fn apply(&mut self, kind: ManagedKind, object: Value) -> ManagedRef {
        let write = ApiWrite::create(kind, object);
        let outcome = self.create(&write.of, write_object(&write));
        assert!(matches!(outcome, WriteOutcome::Done(_)), "{outcome:?}");
        write.of
    }

    /// Changes an object in place, as a user, kubelet or scheduler does.
    pub fn edit(&mut self, of: &ManagedRef, change: impl FnOnce(&mut Value)) {
        let Some(object) = self.objects.get(of) else {
            panic!("there is no {of}");
        };
        let mut changed = object.clone();
        change(&mut changed);
        self.put(of, changed);
    }

    /// What a new list of everything says.
    pub fn list(&self) -> Vec<Observed> {
        let read = |(of, object): (&ManagedRef, &Value)| read(of.kind, object);
        self.objects.iter().filter_map(read).collect()
    }

    /// Does a write, as the real server does.
    pub fn execute(&mut self, write: &ApiWrite) -> WriteOutcome {
        let refused = self.rules.iter().find_map(|rule| rule(write));
        let outcome = match refused {
            Some(outcome) => outcome,
            None => self.carry_out(write),
        };
        self.log.push((write.clone(), outcome.clone()));
        outcome
    }

    fn carry_out(&mut self, write: &ApiWrite) -> WriteOutcome {
        let of = &write.of;
        match &write.verb {
            ApiVerb::Create(object) => self.create(of, object.clone()),
            ApiVerb::CreateWithSshKeys(object) => {
                let mut object = object.clone();
                let names = ["id_rsa", "id_rsa.pub", "id_ed25519", "id_ed25519.pub"];
                for key in names.into_iter().chain(["authorized_keys"]) {
                    object["data"][key] = json!(format!("key {}", self.last_uid));
                }
                self.create(of, object)
            }
            ApiVerb::ReplaceStatus(object) => {
                let meta = &object["metadata"];
                let wanted = meta["resourceVersion"].as_str().unwrap_or_default();
                let patch = json!({"metadata": {"resourceVersion": wanted}});
                let status = object["status"].clone();
                self.change(of, &patch, |known| known["status"] = status)
            }
            ApiVerb::Merge { patch, status } => self.patch(of, patch, *status),
            ApiVerb::MergeOwned { patch, owner } => {
                let first = self
                    .objects
                    .get(of)
                    .and_then(|known| owners(known).first().copied());
                match first == Some(owner.as_str()) {
                    true => self.patch(of, patch, false),
                    false => WriteOutcome::Absent,
                }
            }
            ApiVerb::Apply { object, status, .. } => {
                if self.objects.contains_key(of) {
                    return self.patch(of, object, *status);
                }
                self.create(of, object.clone())
            }
            ApiVerb::Delete { uid, foreground } => self.delete(of, uid, *foreground),
        }
    }

    fn create(&mut self, of: &ManagedRef, mut object: Value) -> WriteOutcome {
        if self.going.contains(&of.namespace) {
            let message = format!(
                "{} \"{}\" is forbidden: unable to create new content in namespace {} because it \
                 is being terminated",
                of.kind.path().plural,
                of.name,
                of.namespace
            );
            return refusal(403, "Forbidden", &message);
        }
        if self.objects.contains_key(of) {
            return WriteOutcome::Exists;
        }
        self.last_uid += 1;
        let meta = &mut object["metadata"];
        meta["uid"] = json!(format!("00000000-0000-4000-8000-{:012}", self.last_uid));
        meta["creationTimestamp"] = json!(seconds(self.now));
        meta["generation"] = json!(1);
        let path = of.kind.path();
        object["apiVersion"] = json!(path.api_version());
        object["kind"] = json!(path.kind);
        if WITH_STATUS.contains(&of.kind)
            && let Some(fields) = object.as_object_mut()
        {
            fields.remove("status");
        }
        self.put(of, object);
        self.answer(of)
    }

    fn patch(&mut self, of: &ManagedRef, patch: &Value, status: bool) -> WriteOutcome {
        let has_status = WITH_STATUS.contains(&of.kind);
        if status && !has_status {
            return WriteOutcome::Absent;
        }
        let mut wanted = patch.clone();
        if status {
            wanted = json!({"status": patch["status"]});
        } else if has_status && let Some(fields) = wanted.as_object_mut() {
            fields.remove("status");
        }
        if let Some(meta) = wanted["metadata"].as_object_mut() {
            meta.remove("resourceVersion");
            meta.remove("uid");
        }
        if wanted["metadata"].is_null()
            && let Some(fields) = wanted.as_object_mut()
        {
            fields.remove("metadata");
        }
        self.change(of, patch, |known| merge(known, &wanted))
    }

    /// Changes an object if `patch` names its version and UID, or none.
    fn change(
        &mut self,
        of: &ManagedRef,
        patch: &Value,
        change: impl FnOnce(&mut Value),
    ) -> WriteOutcome {
        let Some(known) = self.objects.get(of) else {
            return WriteOutcome::Absent;
        };
        let differs = |field: &str| {
            let wanted = patch["metadata"][field].as_str().unwrap_or_default();
            !wanted.is_empty() && known["metadata"][field] != wanted
        };
        if differs("uid") {
            return WriteOutcome::Absent;
        }
        if differs("resourceVersion") {
            return WriteOutcome::Outdated;
        }
        let mut changed = known.clone();
        change(&mut changed);
        if changed != *known {
            if changed["spec"] != known["spec"] {
                let generation = known["metadata"]["generation"].as_i64().unwrap_or(0);
                changed["metadata"]["generation"] = json!(generation + 1);
            }
            self.put(of, changed);
        }
        self.answer(of)
    }

    /// Deletes an object: a bound pod when its kubelet has ended it, an object with finalizers when
    /// they are gone, others at once.
    pub fn delete(&mut self, of: &ManagedRef, uid: &str, foreground: bool) -> WriteOutcome {
        let Some(known) = self.objects.get(of) else {
            return WriteOutcome::Absent;
        };
        if !uid.is_empty() && known["metadata"]["uid"] != uid {
            return WriteOutcome::Absent;
        }
        let mut changed = known.clone();
        let is_bound = of.kind == ManagedKind::Pod && known["spec"]["nodeName"].is_string();
        let finalizers = &mut changed["metadata"]["finalizers"];
        if foreground {
            merge(finalizers, &json!(["foregroundDeletion"]));
        }
        let is_held = finalizers.as_array().is_some_and(|list| !list.is_empty());
        if !is_held && !is_bound {
            self.remove(of);
            return WriteOutcome::Done(None);
        }
        if changed["metadata"]["deletionTimestamp"].is_null() {
            changed["metadata"]["deletionTimestamp"] = json!(seconds(self.now));
            self.put(of, changed);
        }
        self.collect_garbage();
        WriteOutcome::Done(None)
    }

    /// Takes out an object, and what only it owned.
    pub fn remove(&mut self, of: &ManagedRef) {
        let Some(object) = self.objects.remove(of) else {
            return;
        };
        self.version += 1;
        let uid = object["metadata"]["uid"].as_str().unwrap_or_default();
        let gone = ManagerInput::Gone {
            of: of.clone(),
            uid: uid.to_owned(),
        };
        self.feed.entry(of.kind).or_default().push_back(gone);
        self.collect_garbage();
    }

    /// Deletes what is owned by what is gone, or by what waits for what it owns.
    fn collect_garbage(&mut self) {
        let uids: BTreeMap<&str, bool> = self.objects.values().map(deletion).collect();
        let mut orphans = Vec::new();
        for (of, object) in &self.objects {
            let owners = owners(object);
            let lives = |uid: &&str| uids.get(uid) == Some(&false);
            let is_going = !object["metadata"]["deletionTimestamp"].is_null();
            if !owners.is_empty() && !is_going && !owners.iter().any(lives) {
                orphans.push(of.clone());
            }
        }
        let waits = |(of, object): (&ManagedRef, &Value)| {
            let uid = object["metadata"]["uid"].as_str()?;
            let (_, is_foreground) = deletion(object);
            let mut others = self.objects.values();
            let owns = others.any(|other| owners(other).contains(&uid));
            (is_foreground && !owns).then(|| of.clone())
        };
        let ended: Vec<ManagedRef> = self.objects.iter().filter_map(waits).collect();
        orphans.iter().for_each(|of| {
            self.delete(of, "", false);
        });
        ended.iter().for_each(|of| self.remove(of));
    }

    fn put(&mut self, of: &ManagedRef, mut object: Value) {
        self.version += 1;
        object["metadata"]["resourceVersion"] = json!(self.version.to_string());
        if let Some(seen) = read(of.kind, &object) {
            let feed = self.feed.entry(of.kind).or_default();
            feed.push_back(ManagerInput::Seen(seen));
        }
        self.objects.insert(of.clone(), object);
    }

    fn answer(&self, of: &ManagedRef) -> WriteOutcome {
        let object = self.objects.get(of);
        WriteOutcome::Done(object.and_then(|object| read(of.kind, object)))
    }
}

/// An answer of the server that refuses.
pub fn refusal(code: u16, reason: &str, message: &str) -> WriteOutcome {
    WriteOutcome::Refused {
        code,
        reason: reason.to_owned(),
        message: message.to_owned(),
    }
}

/// UID, and whether it is being deleted and waits for what it owns.
fn deletion(object: &Value) -> (&str, bool) {
    let meta = &object["metadata"];
    let finalizers = meta["finalizers"].as_array();
    let waits = finalizers.is_some_and(|all| all.contains(&json!("foregroundDeletion")));
    let is_going = !meta["deletionTimestamp"].is_null();
    (meta["uid"].as_str().unwrap_or_default(), is_going && waits)
}

fn owners(object: &Value) -> Vec<&str> {
    let owners = object["metadata"]["ownerReferences"].as_array();
    let uids = owners.into_iter().flatten();
    uids.filter_map(|owner| owner["uid"].as_str()).collect()
}

fn write_object(write: &ApiWrite) -> Value {
    match &write.verb {
        ApiVerb::Create(object) => object.clone(),
        _ => Value::Null,
    }
}

fn read(kind: ManagedKind, object: &Value) -> Option<Observed> {
    let read = read_object(kind, object.to_string().as_bytes());
    read.expect("an object of its kind")
}

/// A time as API servers write it.
pub fn seconds(time: Timestamp) -> String {
    let second = Timestamp::from_second(time.as_second());
    second.expect("a time").to_string()
}

/// JSON merge patch (RFC 7386).
pub fn merge(target: &mut Value, patch: &Value) {
    let Value::Object(fields) = patch else {
        *target = patch.clone();
        return;
    };
    if !target.is_object() {
        *target = Value::Object(Map::new());
    }
    for (key, value) in fields {
        let Some(known) = target.as_object_mut() else {
            continue;
        };
        match value {
            Value::Null => {
                known.remove(key);
            }
            value => merge(known.entry(key.clone()).or_insert(Value::Null), value),
        }
    }
}
