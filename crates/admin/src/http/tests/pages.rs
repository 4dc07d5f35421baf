//! What each page answers.

use std::net::SocketAddr;

use axum::extract::connect_info::MockConnectInfo;

use super::super::{routes, serve};
use super::{Daemon, ask, endpoints, exchange, server};

const NO_PAGE: &str = "no such page; pages: /metrics /healthz /livez /readyz /configz /debug\n";

#[tokio::test]
async fn pages_answer_with_status_and_text() {
    let server = server(Daemon::default()).await;
    for (request, status, body) in [
        ("GET /healthz", 200, "ok"),
        ("GET /healthz/ping", 200, "ok"),
        ("GET /livez", 200, "ok"),
        ("GET /readyz", 200, "ok"),
        ("GET /configz", 200, "{\n  \"hash\": \"00ff\"\n}\n"),
        ("GET /debug/loglevel", 200, "3\n"),
        ("GET /debug/diag", 200, "{\n  \"seconds\": 5\n}\n"),
        ("PUT /debug/diag", 200, "{\n  \"seconds\": 7\n}\n"),
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
    let server = server(Daemon {
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
async fn a_pod_is_explained_or_said_to_be_unknown() {
    let server = server(Daemon::default()).await;
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
async fn debug_lists_its_pages_and_each_of_them_answers() {
    let server = server(Daemon::default()).await;
    for path in ["/debug", "/debug/"] {
        let reply = ask(server.address(), &format!("GET {path}")).await;
        let index: serde_json::Value = serde_json::from_str(&reply.body).expect("JSON");
        assert_eq!(index["program"], "pumice-scheduler");
        for page in index["pages"].as_array().expect("a list") {
            let path = page["path"].as_str().expect("a path");
            let path = path.replace("{pod}", "web-0").replace(['{', '}'], "");
            let reply = ask(server.address(), &format!("GET {path}")).await;
            assert_eq!(reply.status, 200, "{path}");
            assert!(!reply.body.is_empty(), "{path}");
        }
    }
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
async fn the_log_level_changes_by_query_or_body() {
    let endpoints = endpoints(Daemon::default());
    let level = endpoints.level.clone();
    let server = serve("127.0.0.1:0", endpoints).await.expect("it listens");
    let reply = ask(server.address(), "PUT /debug/loglevel?v=5").await;
    assert_eq!((reply.status, &*reply.body), (200, "5\n"));
    assert_eq!(level.get(), 5);

    let put = |body: &str| {
        format!(
            "PUT /debug/loglevel HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\
             Content-Length: {}\r\n\r\n{body}",
            body.len()
        )
    };
    let long = "1".repeat(2_000);
    for (body, status, expected) in [
        ("4\n", 200, 4),
        ("-1", 400, 4),
        ("", 400, 4),
        (&long, 413, 4),
    ] {
        let stream = tokio::net::TcpStream::connect(server.address()).await;
        let reply = exchange(stream.expect("connected"), &put(body)).await;
        assert_eq!((reply.status, level.get()), (status, expected), "{body:?}");
    }
}

#[tokio::test]
async fn pprof_says_that_there_is_none() {
    let server = server(Daemon::default()).await;
    for page in ["", "/", "/profile?seconds=5", "/heap", "/a/b"] {
        let reply = ask(server.address(), &format!("GET /debug/pprof{page}")).await;
        assert_eq!(reply.status, 501, "{page}");
        assert!(reply.body.contains("pprof"), "{page}");
    }
}

/// The pages, as a client at this address gets them.
async fn server_for_client(client: &str, open: bool) -> SocketAddr {
    let client: SocketAddr = client.parse().expect("an address");
    let mut endpoints = endpoints(Daemon::default());
    endpoints.debug_open = open;
    let router = routes::router(endpoints).layer(MockConnectInfo(client));
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await;
    let listener = listener.expect("it listens");
    let address = listener.local_addr().expect("an address");
    tokio::spawn(async move { axum::serve(listener, router).await });
    address
}

#[tokio::test]
async fn debug_pages_answer_clients_on_the_same_machine_only_unless_opened() {
    for (client, open, status) in [
        ("127.0.0.1:1", false, 200),
        ("127.9.9.9:1", false, 200),
        ("[::1]:1", false, 200),
        ("[::ffff:127.0.0.1]:1", false, 200),
        ("10.0.0.7:1", false, 403),
        ("[::ffff:10.0.0.7]:1", false, 403),
        ("[2001:db8::1]:1", false, 403),
        ("10.0.0.7:1", true, 200),
    ] {
        let address = server_for_client(client, open).await;
        for page in ["explain/a/web-0", "decisions", "loglevel"] {
            let reply = ask(address, &format!("GET /debug/{page}")).await;
            assert_eq!(reply.status, status, "{client} {page}");
            assert_eq!(reply.body.contains("port-forward"), status == 403);
        }
        assert_eq!(ask(address, "GET /readyz").await.status, 200, "{client}");
        assert_eq!(ask(address, "GET /metrics").await.status, 200, "{client}");
        assert_eq!(ask(address, "GET /configz").await.status, 200, "{client}");
    }
}
