use std::collections::BTreeSet;

use axum::Router;
use pumice_engine::view::{Ask, JobView, View};
use pumice_page::{PageDecision, PageStanding, PlansAsked, Source, ToldWorkload};
use pumice_page_server::{PageDesk, PageVisitors, PlanForm, PlanningSource, router, serve};
use pumice_plan::PlanView;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

/// Has an answer to nothing, since nobody is there or since there is nothing.
struct Silent {
    unanswered: bool,
    says: &'static str,
}

impl Source for Silent {
    fn ask(&mut self, _: &Ask) -> Result<View, String> {
        Err(self.says.to_owned())
    }

    fn decisions(&mut self) -> Result<Vec<PageDecision>, String> {
        match self.unanswered {
            true => Err(self.says.to_owned()),
            false => Ok(vec![PageDecision {
                pod: "ns/p".to_owned(),
                node: "n1".to_owned(),
                ..PageDecision::default()
            }]),
        }
    }

    fn workload(&mut self, _: &JobView) -> ToldWorkload {
        ToldWorkload::Nothing
    }

    fn standing(&mut self) -> PageStanding {
        PageStanding {
            of: "here".to_owned(),
            is_live: true,
            plans: PlansAsked::ByCommand,
            unanswered: self.unanswered,
            ..PageStanding::default()
        }
    }
}

impl PlanningSource for Silent {
    fn plan(&mut self, _: &PlanForm) -> Result<PlanView, String> {
        Err("not here".to_owned())
    }
}

/// Serves below `/ui` for whom somebody else has judged; the port.
async fn below_a_path(unanswered: bool) -> u16 {
    let source = Silent {
        unanswered,
        says: "no answer\n  = help: wait",
    };
    let desk = PageDesk::start_with(|| Some(source)).expect("a thread");
    let pages = router("/ui", PageVisitors::Judged, desk);
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let port = listener.local_addr().expect("an address").port();
    tokio::spawn(serve(listener, Router::new().nest_service("/ui", pages)));
    port
}

/// Everything that comes until the other side ends.
async fn get(port: u16, path: &str) -> (u16, String) {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).await.expect("open");
    let request = format!("GET {path} HTTP/1.0\r\nHost: pumice.example.com\r\n\r\n");
    stream.write_all(request.as_bytes()).await.expect("sent");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.expect("text");
    let status = answer
        .split(' ')
        .nth(1)
        .and_then(|status| status.parse().ok());
    (status.expect("a status"), answer)
}

/// Addresses that a page names.
fn addresses(page: &str) -> BTreeSet<String> {
    let attributes = [
        "href=\"",
        "src=\"",
        "action=\"",
        "hx-post=\"",
        "sse-connect=\"",
    ];
    let found = attributes
        .iter()
        .flat_map(|attribute| page.split(attribute).skip(1));
    let found = found.filter_map(|rest| rest.split('"').next());
    found.map(|url| url.replace("&amp;", "&")).collect()
}

#[tokio::test]
async fn below_a_path_every_link_script_and_stream_leads_below_it_and_is_answered() {
    let port = below_a_path(false).await;
    let mut asked = 0;
    for page in [
        "/ui",
        "/ui/",
        "/ui/decisions",
        "/ui/jobs?search=a",
        "/ui/what-if",
    ] {
        let (_, text) = get(port, page).await;
        for url in addresses(&text) {
            if url.starts_with('#') {
                continue;
            }
            assert!(url.starts_with("/ui/"), "{page}: {url}");
            if url.contains("/live/") {
                continue;
            }
            let (status, answer) = get(port, &url).await;
            let is_told = status == 200 || answer.contains("no answer");
            assert!(is_told, "{page}: {url}: {status} {answer}");
            asked += 1;
        }
    }
    assert!(asked > 30, "{asked}");
    let (status, text) = get(port, "/ui/decisions").await;
    assert!(status == 200 && text.contains("/ui/pods/ns/p"), "{text}");
    assert!(text.contains("sse-connect=\"/ui/live/decisions?"), "{text}");
    assert!(text.contains("cache-control: no-store"), "{text}");
    assert!(
        text.contains("content-security-policy: default-src 'none'"),
        "{text}"
    );
}

#[tokio::test(start_paused = true)]
async fn whoever_only_looks_has_to_ask_again_after_a_while() {
    let port = below_a_path(false).await;
    let (status, stream) = get(port, "/ui/live/decisions?lang=en&seen=0").await;
    assert_eq!(status, 200);
    assert!(stream.contains("retry: 500"), "{stream}");
    assert_eq!(stream.matches("event: page").count(), 1, "{stream}");
    assert!(stream.contains("x-accel-buffering: no"), "{stream}");
}

#[tokio::test]
async fn what_nobody_can_tell_at_the_moment_is_not_called_absent_and_the_page_goes_on() {
    let port = below_a_path(true).await;
    for page in ["/ui/nodes", "/ui/decisions", "/ui/jobs/a/b"] {
        let (status, text) = get(port, page).await;
        assert_eq!(status, 503, "{page}");
        assert!(text.contains("Nobody answers at the moment"), "{text}");
        assert!(text.contains("no answer<br>"), "{text}");
        assert!(text.contains("sse-connect=\"/ui/live/"), "{text}");
    }
    assert_eq!(get(port, "/ui/json/nodes").await.0, 503);
    let there = below_a_path(false).await;
    assert_eq!(get(there, "/ui/nodes/n9").await.0, 404);
    assert_eq!(get(there, "/ui/json/nodes/n9").await.0, 404);
    assert_eq!(get(there, "/ui/nothing").await.0, 404);
}

#[tokio::test]
async fn where_plans_are_asked_by_commands_there_is_no_form_but_the_commands() {
    let port = below_a_path(false).await;
    for (language, words) in [("en", "these commands do"), ("zh", "请使用命令")] {
        let (status, page) = get(port, &format!("/ui/what-if?lang={language}")).await;
        assert_eq!(status, 200);
        assert!(page.contains(words), "{page}");
        assert!(page.contains("<code>pumice plan -f FILE</code>"), "{page}");
        assert!(
            !page.contains("<textarea") && !page.contains("hx-post"),
            "{page}"
        );
    }
}
