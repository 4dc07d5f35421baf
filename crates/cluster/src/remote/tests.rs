//! Finding the leader, and what stands in the way.

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

use super::*;
use pumice_scripted::{Answer, Seen, Server};

fn options() -> RemoteOptions {
    RemoteOptions {
        lease_namespace: "volcano-system".to_owned(),
        lease_name: "volcano".to_owned(),
        ..RemoteOptions::default()
    }
}

fn lease(holder: &str) -> Value {
    json!({
        "apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
        "metadata": {"name": "volcano", "namespace": "volcano-system"},
        "spec": {"holderIdentity": holder},
    })
}

fn pod(name: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": name, "namespace": "volcano-system"},
        "spec": {"serviceAccountName": "vs", "containers": [{"name": "scheduler", "args": ["--secure-address=:9090"]}]},
    })
}

fn pods() -> Value {
    json!({"apiVersion": "v1", "kind": "PodList", "metadata": {}, "items": []})
}

/// A token of ours that lives for as short as can be.
fn token(seen: &Seen) -> Answer {
    let spec = json!({"audiences": ["pumice.sh"], "expirationSeconds": 600});
    assert_eq!(seen.body["spec"], spec);
    let mut object = seen.body.clone();
    object["status"] = json!({"token": "t", "expirationTimestamp": "2026-11-27T00:00:00Z"});
    Answer::Json(201, object)
}

/// Answers the requests in question.
async fn cluster(
    lease: impl Fn() -> Answer + Send + 'static,
    pod: impl Fn() -> Answer + Send + 'static,
    forward: impl Fn() -> Answer + Send + 'static,
) -> Remote {
    let answer = move |seen: &Seen| match &seen.path {
        path if path.contains("/leases/") => lease(),
        path if path.contains("/portforward") => forward(),
        path if path.contains("/serviceaccounts/vs-explain/token") => token(seen),
        path if path.contains("/pods/") => pod(),
        _ => Answer::Json(200, pods()),
    };
    Remote::with(Server::start(answer).await.client(), options())
}

fn missing() -> Answer {
    Answer::Json(
        404,
        json!({"kind": "Status", "code": 404, "reason": "NotFound", "message": ""}),
    )
}

fn denied() -> Answer {
    Answer::Json(
        403,
        json!({"kind": "Status", "code": 403, "reason": "Forbidden", "message": "jane must not"}),
    )
}

#[tokio::test]
async fn the_leader_is_the_pod_that_holds_the_lease() {
    let found = || Answer::Json(200, pod("vs-0"));
    let remote = cluster(|| Answer::Json(200, lease("vs-0_1f3a")), found, missing).await;
    let leader = remote.leader().await.expect("there is one");
    let expected = SchedulerPod {
        namespace: "volcano-system".to_owned(),
        pod: "vs-0".to_owned(),
        port: 9090,
        account: "vs".to_owned(),
    };
    assert_eq!(leader, expected);
}

#[tokio::test]
async fn a_standby_is_the_first_pod_that_is_ready() {
    let named = |name: &str, ready: &str| {
        let mut pod = pod(name);
        pod["status"] = json!({"conditions": [{"type": "Ready", "status": ready}]});
        pod
    };
    let ready = [
        named("vs-0", "False"),
        named("vs-2", "True"),
        named("vs-1", "True"),
    ];
    for (items, expected) in [(&ready[..], Some("vs-1")), (&ready[..1], None)] {
        let list = json!({"metadata": {}, "items": items});
        let answer = move |seen: &Seen| {
            assert!(
                seen.path
                    .ends_with("/pods?&labelSelector=app%3Dvolcano-scheduler"),
                "{}",
                seen.path
            );
            Answer::Json(200, list.clone())
        };
        let remote = Remote::with(Server::start(answer).await.client(), options());
        let found = remote.standby().await.expect("an answer");
        assert_eq!(found.map(|pod| pod.pod).as_deref(), expected);
    }
}

#[tokio::test]
async fn what_stands_in_the_way_is_said_with_what_to_do() {
    let held = || Answer::Json(200, lease("vs-0_1f3a"));
    let free = || Answer::Json(200, lease(""));
    type Reply = fn() -> Answer;
    let cases: [(Reply, Reply, &str); 5] = [
        (missing, missing, "there is no Lease volcano-system/volcano"),
        (free, missing, "nobody holds the Lease"),
        (
            held,
            missing,
            "held by \"vs-0_1f3a\", but namespace volcano-system has no such pod",
        ),
        (
            denied,
            missing,
            "grant the verb get on leases of coordination.k8s.io",
        ),
        (
            held,
            denied,
            "grant the verbs get and list on pods in namespace volcano-system",
        ),
    ];
    for (lease, pod, expected) in cases {
        let error = cluster(lease, pod, missing).await.leader().await;
        let error = error.expect_err("not found").to_string();
        assert!(error.contains(expected), "{error}");
    }
}

#[tokio::test]
async fn a_forward_that_is_denied_names_the_rule() {
    let held = || Answer::Json(200, lease("vs-0_1f3a"));
    let found = || Answer::Json(200, pod("vs-0"));
    for (answer, expected) in [
        (
            denied as fn() -> Answer,
            "get and create on pods/portforward",
        ),
        (
            missing,
            "port 9090 of pod volcano-system/vs-0 cannot be reached",
        ),
    ] {
        let remote = cluster(held, found, answer).await;
        let leader = remote.leader().await.expect("there is one");
        let error = remote.ask(&leader, PageRequest::read("/debug")).await;
        let error = error.expect_err("refused").to_string();
        assert!(error.contains(expected), "{error}");
        if error.starts_with("not permitted") {
            let command = "kubectl -n volcano-system create rolebinding YOU-explain \
                           --role=volcano-scheduler-explain --user=YOU";
            assert!(error.contains(command), "{error}");
            for right in [
                "a Lease",
                "pods",
                "pods/portforward",
                "serviceaccounts/token",
            ] {
                assert!(error.contains(right), "{right}: {error}");
            }
        }
    }
}

/// Serves one connection with this answer.
async fn serve(answer: &'static str) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = format!("http://{}", listener.local_addr().expect("bound"));
    tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.expect("a client");
        let mut request = [0; 1024];
        let read = stream.read(&mut request).await.expect("a request");
        assert!(request[..read].starts_with(b"GET /debug/top HTTP/1.1\r\n"));
        stream.write_all(answer.as_bytes()).await.expect("sent");
    });
    address
}

#[tokio::test]
async fn a_page_is_read_at_an_address() {
    let address = serve(
        "HTTP/1.1 503 Service Unavailable\r\nServer: pumice-scheduler/1\r\nContent-Length: 2\r\n\r\nno",
    )
    .await;
    let page = ask_at(&address, PageRequest::read("/debug/top"))
        .await
        .expect("an answer");
    assert_eq!((page.status, page.body.as_str()), (503, "no"));
}

#[tokio::test]
async fn somebody_elses_answer_is_told_apart() {
    let address =
        serve("HTTP/1.1 404 Not Found\r\nContent-Length: 18\r\n\r\n404 page not found").await;
    let error = ask_at(&address, PageRequest::read("/debug/top"))
        .await
        .expect_err("not ours");
    assert_eq!(error, RemoteError::NotPumice { who: address });
    for address in ["https://127.0.0.1:1", "http://", "::"] {
        let error = ask_at(address, PageRequest::read("/debug/top"))
            .await
            .expect_err("no address");
        assert!(
            matches!(error, RemoteError::Address { .. }),
            "{address}: {error}"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn whoever_has_little_patience_is_told_sooner_that_nobody_answers() {
    let patience = Duration::from_secs(4);
    let silent = Server::start(|_| Answer::Silence).await;
    let hurried = RemoteOptions {
        patience: Some(patience),
        ..options()
    };
    let remote = Remote::with(silent.client(), hurried);
    let error = remote.leader().await.expect_err("no answer").to_string();
    assert!(error.contains("no answer within 4s"), "{error}");
    let address = silent.url();
    let asked = PageRequest::read("/debug/top").within(patience);
    let error = ask_at(&address, asked).await.expect_err("no answer");
    assert!(error.to_string().contains("no answer within 4s"), "{error}");
}
