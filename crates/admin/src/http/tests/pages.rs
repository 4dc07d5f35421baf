//! What each page answers.

use super::super::serve;
use super::{Daemon, ask, endpoints, open_server, server};

const NO_PAGE: &str = "no such page; pages: /metrics /healthz /livez /readyz; with a token, on the port \
    of --secure-address: /configz /debug\n";

#[tokio::test]
async fn pages_answer_with_status_and_text() {
    let server = open_server(Daemon::default()).await;
    for (request, status, body) in [
        ("GET /healthz", 200, "ok"),
        ("GET /healthz/ping", 200, "ok"),
        ("GET /livez", 200, "ok"),
        ("GET /readyz", 200, "ok"),
        ("GET /configz", 200, "{\n  \"hash\": \"00ff\"\n}\n"),
        // Neither changes anything nor hands out everything.
        ("GET /debug/loglevel", 404, NO_PAGE),
        ("PUT /debug/loglevel?v=5", 404, NO_PAGE),
        ("GET /debug/dump", 404, NO_PAGE),
        ("GET /debug/record", 404, NO_PAGE),
        ("GET /debug/diag", 200, "{\n  \"seconds\": 5\n}\n"),
        ("PUT /debug/diag", 405, ""),
        ("GET /debug/diag/text", 200, "THREAD\n"),
        ("GET /nothing", 404, NO_PAGE),
        ("GET /debug/nothing", 404, NO_PAGE),
        ("POST /debug/decisions", 405, ""),
        ("PUT /metrics", 405, ""),
    ] {
        let reply = ask(server.address(), request).await;
        assert_eq!((reply.status, &*reply.body), (status, body), "{request}");
    }
}

#[tokio::test]
async fn metrics_are_the_text_format_of_prometheus() {
    let server = server(Daemon::default()).await;
    let reply = ask(server.address(), "GET /metrics").await;
    assert_eq!(reply.status, 200);
    let kind = "content-type: text/plain; version=0.0.4; charset=utf-8";
    assert!(reply.head.contains(kind), "{}", reply.head);
    assert!(
        reply
            .body
            .contains("# TYPE volcano_e2e_scheduling_latency_milliseconds histogram\n")
    );
    assert!(reply.body.contains("\npumice_leader 0\n"));
}

#[tokio::test]
async fn metrics_that_are_off_say_so() {
    let mut endpoints = endpoints(Daemon::default());
    endpoints.metrics = None;
    let server = serve("127.0.0.1:0", endpoints).await.expect("it listens");
    let reply = ask(server.address(), "GET /metrics").await;
    assert_eq!(reply.status, 404);
    assert!(reply.body.contains("--enable-metrics"));
}

#[tokio::test]
async fn what_is_wrong_is_said_while_the_process_is_there() {
    let server = open_server(Daemon {
        not_ready: vec!["pods are not listed".into(), "the file is not valid".into()],
        stuck: Some("no cycle for 12 s".into()),
        starting: true,
        ..Daemon::default()
    })
    .await;
    for (request, status, body) in [
        ("GET /healthz", 200, "ok"),
        ("GET /livez", 503, "no cycle for 12 s\n"),
        (
            "GET /readyz",
            503,
            "pods are not listed\nthe file is not valid\n",
        ),
        (
            "GET /debug/explain/a/b",
            503,
            "no answer at the moment: the lists are not complete\n",
        ),
    ] {
        let reply = ask(server.address(), request).await;
        assert_eq!((reply.status, &*reply.body), (status, body), "{request}");
    }
}

#[tokio::test]
async fn a_job_is_shown_by_a_name_with_slashes_too() {
    let server = open_server(Daemon::default()).await;
    for name in ["train", "scheduling.k8s.io/train"] {
        let reply = ask(server.address(), &format!("GET /debug/jobs/team-a/{name}")).await;
        assert_eq!(reply.status, 200, "{}", reply.body);
        assert!(
            reply.body.contains(&format!("name: \\\"{name}\\\"")),
            "{}",
            reply.body
        );
    }
}

#[tokio::test]
async fn a_pod_is_explained_or_said_to_be_unknown() {
    let server = open_server(Daemon::default()).await;
    let reply = ask(server.address(), "GET /debug/explain/team-a/web-0").await;
    assert!(reply.head.contains("content-type: application/json"));
    assert!(reply.body.contains("team-a"), "{}", reply.body);
    let reply = ask(server.address(), "GET /debug/explain/team-a/web-1").await;
    assert_eq!(reply.status, 404);
    assert_eq!(reply.body, "pod team-a/web-1 is not known here\n");
    let reply = ask(server.address(), "GET /debug/explain").await;
    assert_eq!(reply.status, 404);
    assert!(reply.body.starts_with("of which pod?"), "{}", reply.body);
    let reply = ask(server.address(), "GET /debug/decisions").await;
    assert!(reply.body.contains("\"node\": \"n1\""));
}

#[tokio::test]
async fn every_answer_names_the_program() {
    let server = server(Daemon::default()).await;
    for page in ["/debug", "/nothing", "/debug/explain/a/b", "/healthz"] {
        let reply = ask(server.address(), &format!("GET {page}")).await;
        assert!(
            reply.head.contains("server: pumice-scheduler/"),
            "{}",
            reply.head
        );
    }
}

#[tokio::test]
async fn pprof_says_that_there_is_none() {
    let server = open_server(Daemon::default()).await;
    for page in ["", "/", "/profile?seconds=5", "/heap", "/a/b"] {
        let reply = ask(server.address(), &format!("GET /debug/pprof{page}")).await;
        assert_eq!(reply.status, 501, "{page}");
        assert!(reply.body.contains("pprof"), "{page}");
    }
}

#[tokio::test]
async fn what_shows_all_namespaces_is_not_told_without_asking_who_it_is_even_on_this_machine() {
    let server = server(Daemon::default()).await;
    for page in [
        "/configz",
        "/debug",
        "/debug/",
        "/debug/explain/a/web-0",
        "/debug/decisions",
        "/debug/dump",
        "/debug/loglevel",
        "/debug/nothing",
    ] {
        for verb in ["GET", "PUT", "POST"] {
            let reply = ask(server.address(), &format!("{verb} {page}")).await;
            assert_eq!(reply.status, 403, "{verb} {page}");
            assert!(reply.body.contains("--secure-address"), "{}", reply.body);
        }
    }
}
