//! `ssh`: pods of a Job log in to each other without a password, by one pair of keys.

use std::fmt::Write as _;

use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::{
    KeyToPath, Pod, ProjectedVolumeSource, SecretProjection, Volume, VolumeProjection,
};
use pumice_api::Job;
use serde_json::{Value, json};

use super::super::problem::{JobProblem, JobProblems, add};
use super::super::{name, namespace, owner, task_name};
use super::entry::{Asked, JobPlugin, PodPlace, spec};
use super::flags::{FlagKind, FlagSpec};
use super::hosts;
use super::pods::mount;
use crate::runtime::{ApiVerb, ApiWrite, ManagedKind, ManagedRef};

pub(super) struct Ssh;

const FLAGS: [FlagSpec; 4] = [
    FlagSpec::new(KEY_PATH, FlagKind::Text(HOME_OF_ROOT)),
    FlagSpec::new(PRIVATE_KEY, FlagKind::Hidden),
    FlagSpec::new(PUBLIC_KEY, FlagKind::Hidden),
    FlagSpec::new("ssh-port", FlagKind::Port(22)),
];
const KEY_PATH: &str = "ssh-key-file-path";
const PRIVATE_KEY: &str = "ssh-private-key";
const PUBLIC_KEY: &str = "ssh-public-key";

const HOME_OF_ROOT: &str = "/root/.ssh";
/// Folder of the files within the volume.
const FOLDER: &str = ".ssh";
const FILES: [&str; 4] = ["id_rsa", "id_rsa.pub", "authorized_keys", "config"];
/// The pair once more, for programs that go by the name of the file. A Secret has it only if the
/// keys in it were made here: not one with keys of the user, nor one that Volcano made.
const BY_TYPE: [&str; 2] = ["id_ed25519", "id_ed25519.pub"];

impl JobPlugin for Ssh {
    fn name(&self) -> &'static str {
        "ssh"
    }

    fn flags(&self) -> &'static [FlagSpec] {
        &FLAGS
    }

    fn problems(&self, asked: &Asked<'_>, problems: &mut JobProblems) {
        let flags = &asked.flags;
        let path = flags.text(KEY_PATH);
        if !path.starts_with('/') || path.contains(':') {
            let at = flags.given_at(KEY_PATH).unwrap_or_default();
            let message = format!("{path:?} is no absolute path without ':'");
            add(problems, format!("{}[{at}]", asked.path), message);
        }
        let pair = [(PRIVATE_KEY, PUBLIC_KEY), (PUBLIC_KEY, PRIVATE_KEY)];
        for (given, missing) in pair {
            if let (Some(at), None) = (flags.given_at(given), flags.given_at(missing)) {
                let message = format!(
                    "\"--{given}\" is one half of a pair: write \"--{missing}\" too, or none of \
                     them for a new pair"
                );
                add(problems, format!("{}[{at}]", asked.path), message);
            }
        }
        if !hosts::is_label(&secret(asked.job)) {
            let message = format!(
                "plugin ssh makes the volume {:?}: use at most 59 lower-case letters, digits and \
                 '-'",
                secret(asked.job)
            );
            add(problems, "metadata.name", message);
        }
    }

    fn objects(&self, asked: &Asked<'_>) -> Vec<ApiWrite> {
        let job = asked.job;
        let [private, public, authorized, config] = FILES;
        let of = ManagedRef::new(ManagedKind::Secret, namespace(job), &secret(job));
        let with = |data: Value| {
            json!({
                "apiVersion": "v1", "kind": "Secret",
                "metadata": {"name": secret(job), "namespace": namespace(job),
                    "ownerReferences": [owner(job)]},
                "data": data,
            })
        };
        let hosts = base64(&ssh_config(asked));
        let own = asked.flags.text(PRIVATE_KEY);
        let verb = if own.is_empty() {
            ApiVerb::CreateWithSshKeys(with(json!({config: hosts})))
        } else {
            let known = base64(asked.flags.text(PUBLIC_KEY));
            ApiVerb::Create(with(json!({
                private: base64(own), public: known, authorized: known, config: hosts,
            })))
        };
        vec![ApiWrite { of, verb }]
    }

    fn prepare(&self, asked: &Asked<'_>, _: PodPlace<'_>, pod: &mut Pod) -> Result<(), JobProblem> {
        let files = |files: &[&str], optional: Option<bool>| VolumeProjection {
            secret: Some(SecretProjection {
                name: secret(asked.job),
                items: Some(files.iter().map(|file| item(file)).collect()),
                optional,
            }),
            ..VolumeProjection::default()
        };
        let path = asked.flags.text(KEY_PATH);
        // Elsewhere it is for users other than root, who have to read it.
        let mode = if path == HOME_OF_ROOT { 0o600 } else { 0o644 };
        let volume = Volume {
            name: secret(asked.job),
            projected: Some(ProjectedVolumeSource {
                sources: Some(vec![files(&FILES, None), files(&BY_TYPE, Some(true))]),
                default_mode: Some(mode),
                ..ProjectedVolumeSource::default()
            }),
            ..Volume::default()
        };
        mount(spec(pod), volume, path, Some(FOLDER));
        Ok(())
    }
}

fn item(file: &str) -> KeyToPath {
    KeyToPath {
        key: file.to_owned(),
        path: format!("{FOLDER}/{file}"),
        ..KeyToPath::default()
    }
}

fn secret(job: &Job) -> String {
    format!("{}-ssh", name(job))
}

fn base64(text: &str) -> Value {
    json!(ByteString(text.as_bytes().to_vec()))
}

/// What `ssh` reads of the pods of the Job: a pattern a task, so that it stays true whatever the
/// replicas are, and the Secret is never written again. `ssh` takes the first pattern that fits: a
/// task whose name begins as another's comes before that one.
fn ssh_config(asked: &Asked<'_>) -> String {
    let mut text = "StrictHostKeyChecking no\nUserKnownHostsFile /dev/null\n".to_owned();
    let port = asked.flags.number("ssh-port");
    let job = asked.job;
    let mut tasks: Vec<_> = job.spec.tasks.iter().collect();
    tasks.sort_by_key(|task| {
        let length = task_name(task).len();
        (hosts::own_host(task).is_none(), std::cmp::Reverse(length))
    });
    for task in tasks {
        let subdomain = hosts::subdomain(job, task);
        let pattern = match hosts::own_host(task) {
            Some(host) => host.to_owned(),
            // Not a name that has its subdomain already.
            None => format!("{}-{}-* !*.*", name(job), task_name(task)),
        };
        // Writing to a String cannot fail.
        let _ = writeln!(
            text,
            "Host {pattern}\n  HostName %h.{subdomain}\n  Port {port}"
        );
    }
    text
}
