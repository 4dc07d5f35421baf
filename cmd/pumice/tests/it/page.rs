//! `pumice ui` as a browser meets it: the real program, its pages over HTTP, over every sample.

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::replay::{blocks, file};
use crate::samples::samples;

/// A page that is served, until it is dropped.
pub struct Ui {
    child: Child,
    port: u16,
}

impl Ui {
    pub fn of(paths: &[&Path], flags: &str) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_pumice"))
            .args(["ui", "--no-open", "--listen", "0"])
            .args(flags.split_whitespace())
            .args(paths)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("the binary runs");
        let out = child.stdout.take().expect("standard output");
        let mut line = String::new();
        BufReader::new(out).read_line(&mut line).expect("a line");
        let port = line
            .split("127.0.0.1:")
            .nth(1)
            .and_then(|rest| rest.split('/').next());
        let port = port.and_then(|port| port.parse().ok());
        Self {
            child,
            port: port.expect("an address in the first line"),
        }
    }

    fn ask(&self, request: &str) -> (u16, String, String) {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).expect("a connection");
        stream.write_all(request.as_bytes()).expect("sent");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("text");
        let (head, body) = answer.split_once("\r\n\r\n").expect("a head");
        let status = head
            .split(' ')
            .nth(1)
            .and_then(|status| status.parse().ok());
        (status.expect("a status"), head.to_owned(), body.to_owned())
    }

    fn get(&self, path: &str) -> (u16, String) {
        let port = self.port;
        let request = format!("GET {path} HTTP/1.0\r\nHost: 127.0.0.1:{port}\r\n\r\n");
        let (status, _, body) = self.ask(&request);
        (status, body)
    }

    pub fn page(&self, path: &str) -> String {
        let (status, body) = self.get(path);
        assert_eq!(status, 200, "{path}: {body}");
        body
    }

    pub fn json(&self, path: &str) -> Value {
        let (status, body) = self.get(&format!("/json{path}"));
        assert_eq!(status, 200, "{path}: {body}");
        serde_json::from_str(&body).expect("JSON")
    }
}

impl Drop for Ui {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// What a reader sees of HTML: the text, titles among it, with one space wherever there are several.
fn seen(html: &str) -> String {
    let mut text = String::new();
    let mut rest = html;
    while let Some((before, after)) = rest.split_once('<') {
        text.push_str(before);
        text.push(' ');
        let (tag, after) = after.split_once('>').unwrap_or((after, ""));
        for part in tag.split("title=\"").skip(1) {
            text.push_str(part.split('"').next().unwrap_or_default());
            text.push(' ');
        }
        rest = after;
    }
    text.push_str(rest);
    let plain = [
        ("&lt;", "<"),
        ("&gt;", ">"),
        ("&quot;", "\""),
        ("&amp;", "&"),
    ];
    let text = plain
        .iter()
        .fold(text, |text, (from, to)| text.replace(from, to));
    spaced(&text)
}

fn spaced(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Every text and amount below one of these keys has to be seen.
fn tells(page: &str, view: &Value, keys: &[&str], path: &str) {
    let seen = seen(page);
    for key in keys {
        let mut leaves = Vec::new();
        leaves_of(&view[*key], &mut leaves);
        for leaf in leaves {
            assert!(
                seen.contains(&spaced(&leaf)),
                "{path}: {key}: {leaf:?} in\n{seen}"
            );
        }
    }
}

/// Every number has to be seen, but for shares that are not counted and so are 0.
fn counts(page: &str, value: &Value, path: &str) {
    let seen = seen(page);
    match value {
        Value::Number(number) if number.as_i64() != Some(0) => {
            let number = number.to_string();
            let mut words = seen.split(|letter: char| !letter.is_ascii_digit());
            assert!(
                words.any(|word| word == number),
                "{path}: {number} in\n{seen}"
            );
        }
        Value::Array(items) => items.iter().for_each(|item| counts(page, item, path)),
        Value::Object(fields) => fields.values().for_each(|item| counts(page, item, path)),
        _ => {}
    }
}

/// What a Job says has to be seen; the number of Jobs.
fn tells_workload(page: &str, view: &Value, path: &str) -> usize {
    let keys = [
        "name", "phase", "reason", "message", "restarts", "minimum", "policies",
    ];
    tells(page, view, &keys, path);
    let tasks = view["tasks"].as_array().map(Vec::as_slice);
    for task in tasks.unwrap_or_default() {
        tells(page, task, &["name", "policies"], path);
        let mut of_task = task.clone();
        of_task["name"] = Value::Null;
        counts(page, &of_task, path);
    }
    usize::from(view.is_object())
}

/// As [`tells`], and of each domain for how many pods it has room.
fn tells_domains(page: &str, view: &Value, path: &str) {
    let mut told = view.clone();
    for of in told["domains"].as_array_mut().expect("domains") {
        // Told in the words of the page.
        of["room"]["enough"] = Value::Null;
    }
    tells(page, &told, &["domains", "roomFor", "faults"], path);
    for of in view["domains"].as_array().expect("domains") {
        let Some(room) = of["room"]["pods"].as_u64() else {
            continue;
        };
        assert!(seen(page).contains(&format!(" {room} ")), "{path}: {room}");
    }
}

fn leaves_of(value: &Value, leaves: &mut Vec<String>) {
    match value {
        Value::String(text) => leaves.push(text.clone()),
        Value::Array(items) => items.iter().for_each(|item| leaves_of(item, leaves)),
        Value::Object(fields) => fields.values().for_each(|field| leaves_of(field, leaves)),
        _ => {}
    }
}

pub fn texts<'a>(list: &'a Value, key: &str) -> Vec<&'a str> {
    let rows = list.as_array().map(Vec::as_slice).unwrap_or_default();
    rows.iter().filter_map(|row| row[key].as_str()).collect()
}

/// Flags of a sample that `pumice ui` has too; `None` where another command shows the sample.
pub fn flags(sample: &Path) -> Option<String> {
    let flags = std::fs::read_to_string(sample.join("flags")).unwrap_or_default();
    (!flags.contains("--trace") && !flags.contains("--cycles")).then_some(flags)
}

/// The pages that tell of the whole cluster, and how many of them there are.
fn whole_cluster(ui: &Ui, jobs: &Value) -> usize {
    let mut pages = 1;
    let first = texts(&jobs["jobs"], "name").first().copied();
    for path in std::iter::once("/topology".to_owned())
        .chain(first.map(|name| format!("/topology?job={name}")))
    {
        tells_domains(&ui.page(&path), &ui.json(&path), &path);
        pages += 1;
    }
    let overview = ui.json("/");
    let cluster = &overview[0]["cluster"];
    tells(&ui.page("/"), cluster, &["resources", "cards"], "/");
    counts(&ui.page("/"), &cluster["cards"], "/");
    counts(&ui.page("/"), &cluster["lastHour"], "/");
    pages
}

#[test]
fn every_page_of_every_sample_says_what_the_commands_say() {
    let (mut pages, mut workloads) = (0, 0);
    for sample in samples() {
        let Some(flags) = flags(&sample) else {
            continue;
        };
        let ui = Ui::of(&[&sample], &flags);
        let jobs = ui.json("/jobs");
        for name in texts(&jobs["jobs"], "name") {
            let path = format!("/jobs/{name}");
            let keys = [
                "summary",
                "message",
                "changes",
                "warnings",
                "allocated",
                "asks",
                "queue",
                "waiting",
            ];
            let (page, view) = (ui.page(&path), ui.json(&path));
            tells(&page, &view, &keys, &path);
            workloads += tells_workload(&page, &view["workload"], &path);
            pages += 1;
        }
        tells(&ui.page("/jobs"), &jobs, &["jobs"], "/jobs");
        let queues = ui.json("/queues");
        for name in texts(&queues["queues"], "name") {
            let path = format!("/queues/{name}");
            let keys = [
                "allocated",
                "deserved",
                "capability",
                "guarantee",
                "warning",
                "state",
                "first",
            ];
            tells(&ui.page(&path), &ui.json(&path), &keys, &path);
            pages += 1;
        }
        let nodes = ui.json("/nodes");
        for name in texts(&nodes["nodes"], "name") {
            let path = format!("/nodes/{name}");
            let (page, view) = (ui.page(&path), ui.json(&path));
            tells(&page, &view, &["node", "cards", "pods"], &path);
            for pod in texts(&view["pods"], "pod") {
                let path = format!("/pods/{pod}");
                tells(
                    &ui.page(&path),
                    &ui.json(&path),
                    &["pod", "status", "node", "cards"],
                    &path,
                );
                pages += 1;
            }
            pages += 1;
        }
        tells(&ui.page("/nodes"), &nodes, &["nodes"], "/nodes");
        pages += whole_cluster(&ui, &jobs);
        tells(
            &ui.page("/decisions"),
            &ui.json("/decisions"),
            &["decisions"],
            "/decisions",
        );
    }
    assert!(pages > 500, "{pages}");
    assert!(workloads > 30, "{workloads}");
}

#[test]
fn what_somebody_writes_is_text_and_never_markup() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("page-markup");
    std::fs::create_dir_all(&folder).expect("a folder");
    let file = folder.join("pods.yaml");
    let evil = "<script>alert(1)</script>&\\\"'";
    let node = "{apiVersion: v1, kind: Node, metadata: {name: n1, annotations: {volcano.sh/node-vgpu-register: 'GPU-a,10,100,P40,true,hami-core:'}}, \
                status: {allocatable: {cpu: '4', pods: '9', volcano.sh/vgpu-number: '10', volcano.sh/vgpu-memory: '100'}}}";
    let pod = format!(
        "{{apiVersion: v1, kind: Pod, metadata: {{name: p, annotations: {{volcano.sh/vgpu-mode: \"{evil}\"}}}}, spec: \
         {{schedulerName: volcano, containers: [{{name: c, image: i, resources: {{limits: {{volcano.sh/vgpu-number: '1'}}}}}}]}}}}"
    );
    std::fs::write(&file, format!("{node}\n---\n{pod}\n")).expect("written");
    let conf = folder.join("c.conf");
    let text = "actions: \"enqueue, allocate\"\ntiers:\n- plugins:\n  - name: predicates\n  - name: deviceshare\n    arguments:\n      \
                deviceshare.VGPUEnable: true\n";
    std::fs::write(&conf, text).expect("written");
    let ui = Ui::of(&[&file], &format!("--config {}", conf.display()));
    for path in [
        "/",
        "/jobs",
        "/jobs/default/p",
        "/pods/default/p",
        "/queues/default",
    ] {
        let page = ui.page(path);
        assert!(!page.contains("<script>alert"), "{path}: {page}");
        assert!(
            seen(&page).contains("<script>alert(1)</script>"),
            "{path}: {page}"
        );
    }
    let search = "/jobs?search=%22%3E%3Cscript%3Ealert(1)%3C%2Fscript%3E";
    assert!(!ui.page(search).contains("<script>alert"));
}

#[test]
fn it_answers_to_this_machine_alone_and_a_page_may_load_nothing_from_elsewhere() {
    let sample = &samples()[0];
    let ui = Ui::of(&[sample], "");
    let port = ui.port;
    let as_host =
        |host: &str, more: &str| ui.ask(&format!("GET / HTTP/1.0\r\nHost: {host}\r\n{more}\r\n"));
    assert_eq!(as_host("evil.example", "").0, 403);
    assert_eq!(as_host(&format!("evil.example:{port}"), "").0, 403);
    let origin = "Origin: http://evil.example\r\n";
    assert_eq!(as_host(&format!("127.0.0.1:{port}"), origin).0, 403);
    let picture =
        "Sec-Fetch-Site: cross-site\r\nSec-Fetch-Mode: no-cors\r\nSec-Fetch-Dest: image\r\n";
    assert_eq!(as_host(&format!("127.0.0.1:{port}"), picture).0, 403);
    let link =
        "Sec-Fetch-Site: cross-site\r\nSec-Fetch-Mode: navigate\r\nSec-Fetch-Dest: document\r\n";
    assert_eq!(as_host(&format!("127.0.0.1:{port}"), link).0, 200);
    let (status, head, body) = as_host(&format!("localhost:{port}"), "");
    assert_eq!(status, 200);
    let head = head.to_lowercase();
    assert!(
        head.contains("content-security-policy: default-src 'none'; script-src 'self'"),
        "{head}"
    );
    assert!(head.contains("x-content-type-options: nosniff"), "{head}");
    assert!(
        !body.contains("style=") && !body.contains("onclick"),
        "{body}"
    );
    for link in body
        .split("src=\"")
        .skip(1)
        .chain(body.split("href=\"").skip(1))
    {
        assert!(link.starts_with('/') || link.starts_with('#'), "{link}");
    }
    assert_eq!(ui.get("/nothing").0, 404);
    assert_eq!(ui.get("/jobs/default/nobody").0, 404);
    assert_eq!(ui.get("/assets/nothing.js").0, 404);
    assert!(ui.page("/?lang=zh").contains("<html lang=\"zh\">"));
}

#[test]
fn a_plan_is_made_on_the_page() {
    let sample = samples()
        .into_iter()
        .find(|path| path.ends_with("gang-too-large"));
    let ui = Ui::of(&[&sample.expect("the sample")], "");
    let port = ui.port;
    let asked = |form: &str| {
        let (status, _, body) = ui.ask(&format!(
            "POST /what-if HTTP/1.0\r\nHost: 127.0.0.1:{port}\r\nContent-Type: application/x-www-form-urlencoded\r\n\
             Content-Length: {}\r\n\r\n{form}",
            form.len()
        ));
        assert_eq!(status, 200, "{body}");
        body
    };
    assert!(asked("manifests=&about=").contains("would happen if what?"));
    let wrong = asked("manifests=kind%3A+Pod&about=");
    assert!(
        wrong.contains("metadata.name: the name is missing"),
        "{wrong}"
    );
    let pod = "manifests=%7BapiVersion%3A+v1%2C+kind%3A+Pod%2C+metadata%3A+%7Bname%3A+alone%7D%2C+spec%3A+%7BschedulerName%3A+\
               volcano%2C+containers%3A+%5B%7Bname%3A+c%2C+image%3A+i%7D%5D%7D%7D&about=";
    let plan = asked(pod);
    assert!(
        plan.contains("It runs now.") && plan.contains("default/alone"),
        "{plan}"
    );
}

/// A page of a sample in one file.
fn document(sample: &Path, file: &Path) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_pumice"))
        .arg("simulate")
        .args(flags(sample).unwrap_or_default().split_whitespace())
        .arg(sample)
        .arg("--html")
        .arg(file)
        .output()
        .expect("the binary runs");
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    std::fs::read_to_string(file).expect("a page")
}

#[test]
fn a_simulation_is_a_file_that_needs_nothing_else_and_leads_nowhere_that_is_not_there() {
    let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join("page.html");
    let all: Vec<PathBuf> = samples()
        .into_iter()
        .filter(|sample| flags(sample).is_some())
        .collect();
    for sample in all.iter().step_by(5) {
        let html = document(sample, &file);
        let ids: BTreeSet<&str> = html
            .split(" id=\"")
            .skip(1)
            .filter_map(|rest| rest.split('"').next())
            .collect();
        let links = html.split(" href=\"").skip(1);
        let links: Vec<&str> = links.filter_map(|rest| rest.split('"').next()).collect();
        assert!(links.len() > 5);
        for link in links {
            let id = link
                .strip_prefix('#')
                .unwrap_or_else(|| panic!("{link} leads out"));
            assert!(ids.contains(id), "{}: {link}", sample.display());
        }
        assert!(!html.contains("<script"), "{}", sample.display());
    }
}

#[test]
fn a_recording_is_shown_as_of_a_time_with_what_was_decided_until_then() {
    let path = file("page", &blocks().concat());
    let recording = format!("--recording {}", path.display());
    let ui = Ui::of(&[], &format!("{recording} --at 1970-01-01T00:00:02Z"));
    let page = ui.page("/decisions");
    let seen = seen(&page);
    assert!(seen.contains("as of 1970-01-01T00:00:02Z"), "{seen}");
    assert!(seen.contains("ns/p1") && seen.contains("ns/p2"), "{seen}");
    assert!(!seen.contains("ns/p3"), "{seen}");
    let whole = Ui::of(&[], &recording);
    assert!(whole.page("/decisions").contains("ns/p4"));
    assert_eq!(whole.json("/nodes")["total"], 2);
    assert!(!whole.page("/").contains("/what-if"));
    let what_if = whole.page("/what-if");
    assert!(what_if.contains("of the past it is not asked"), "{what_if}");
    assert!(!what_if.contains("<textarea"), "{what_if}");
}

/// What a scheduler does with a question.
#[derive(Clone)]
enum Asked {
    /// Answers with this status and text.
    Answers(u16, String),
    /// Holds the connection and says nothing.
    IsSilent,
    /// Ends the connection.
    IsGone,
}

/// A scheduler that does as it is told; its address.
fn told_scheduler(does: Arc<Mutex<Asked>>) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address");
    std::thread::spawn(move || {
        let mut held = Vec::new();
        for stream in listener.incoming() {
            let mut stream = stream.expect("a connection");
            let mut head = [0; 4096];
            let _ = stream.read(&mut head);
            match does.lock().expect("no panic").clone() {
                Asked::Answers(status, text) => {
                    let length = text.len();
                    let head = format!(
                        "HTTP/1.1 {status} X\r\nServer: pumice-scheduler/0\r\nContent-Length: {length}\r\n\r\n"
                    );
                    let _ = stream.write_all((head + &text).as_bytes());
                }
                Asked::IsSilent => held.push(stream),
                Asked::IsGone => {}
            }
        }
    });
    format!("http://{address}")
}

/// Asks until the page has this status.
fn comes_to(ui: &Ui, status: u16) -> String {
    let until = Instant::now() + Duration::from_secs(60);
    loop {
        let (found, page) = ui.get("/nodes");
        if found == status {
            return page;
        }
        assert!(
            Instant::now() < until,
            "{found} instead of {status}: {page}"
        );
        std::thread::sleep(Duration::from_millis(100));
    }
}

#[test]
fn a_scheduler_that_says_nothing_is_told_as_that_and_the_page_goes_on_when_one_answers() {
    let nodes = Ui::of(&[&samples()[0]], "").json("/nodes").to_string();
    let answers = Asked::Answers(200, nodes);
    let does = Arc::new(Mutex::new(answers.clone()));
    let address = told_scheduler(Arc::clone(&does));
    let ui = Ui::of(&[], &format!("--server {address}"));
    let late = "no answer at the moment: the first lists of the API server are not complete";
    for (then, said) in [
        (Asked::IsSilent, "no answer within"),
        (Asked::IsGone, "connection"),
        (Asked::Answers(503, late.to_owned()), "the first lists"),
    ] {
        *does.lock().expect("no panic") = answers.clone();
        assert!(comes_to(&ui, 200).contains("sse-connect"));
        *does.lock().expect("no panic") = then;
        let page = comes_to(&ui, 503);
        assert!(page.contains("Nobody answers at the moment"), "{page}");
        assert!(page.contains(said), "{page}");
        // The way to other pages, and the stream that brings this one back.
        assert!(page.contains("sse-connect=\"/live/nodes"), "{page}");
        assert!(page.contains("href=\"/queues"), "{page}");
    }
    // What is not there is another matter.
    *does.lock().expect("no panic") = Asked::Answers(404, "node n9 is not known".to_owned());
    let page = comes_to(&ui, 404);
    assert!(page.contains("node n9 is not known"), "{page}");
}

/// A file below the build with this text.
fn written(name: &str, text: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("page-bad-input");
    std::fs::create_dir_all(&folder).expect("a folder");
    let file = folder.join(name);
    std::fs::write(&file, text).expect("written");
    file
}

const PLAIN_NODE: &str = "{apiVersion: v1, kind: Node, metadata: {name: n1}, status: {allocatable: {cpu: '4', memory: 8Gi, pods: '9'}}}";

#[test]
fn ten_thousand_queues_are_a_page_of_the_first_ones_and_each_is_found_by_its_name() {
    let queues = (0..10_000).map(|n| {
        format!("---\n{{apiVersion: scheduling.volcano.sh/v1beta1, kind: Queue, metadata: {{name: q-{n}}}, spec: {{weight: 1}}}}\n")
    });
    let text = format!("{PLAIN_NODE}\n{}", queues.collect::<String>());
    let ui = Ui::of(&[&written("queues.yaml", &text)], "");
    let all = ui.page("/queues");
    // Beside them are the two that every cluster has.
    assert!(seen(&all).contains("500 of 10002"), "{}", seen(&all));
    assert!(all.len() < 1 << 20, "{}", all.len());
    assert!(ui.page("/").len() < 1 << 20);
    let name = "q-9876";
    assert!(!all.contains(name));
    let found = ui.page(&format!("/queues?search={name}"));
    assert!(
        found.contains(&format!("href=\"/queues/{name}?")),
        "{found}"
    );
    assert!(seen(&ui.page(&format!("/queues/{name}"))).contains(name));
    assert!(seen(&ui.page("/queues?search=nobody")).contains("0 of 10002"));
}

#[test]
fn a_large_gang_is_told_in_few_words_on_every_page() {
    let group = "{apiVersion: scheduling.volcano.sh/v1beta1, kind: PodGroup, metadata: {name: big}, \
                 spec: {minMember: 2000}, status: {phase: Inqueue}}";
    let pods = (0..2_000).map(|n| {
        format!(
            "---\n{{apiVersion: v1, kind: Pod, metadata: {{name: p-{n}, annotations: {{scheduling.k8s.io/group-name: big}}}}, spec: \
             {{schedulerName: volcano, containers: [{{name: c, image: i, resources: {{requests: {{cpu: '1'}}}}}}]}}}}\n"
        )
    });
    let text = format!("{PLAIN_NODE}\n---\n{group}\n{}", pods.collect::<String>());
    let ui = Ui::of(&[&written("gang.yaml", &text)], "");
    let job = ui.page("/jobs/default/big");
    assert!(seen(&job).contains("2000"), "{}", seen(&job));
    for page in [
        "/",
        "/jobs",
        "/jobs/default/big",
        "/queues/default",
        "/pods/default/p-777",
    ] {
        let page = ui.page(page);
        assert!(page.len() < 64 << 10, "{}: {page}", page.len());
    }
}

#[test]
fn a_cluster_without_cards_and_one_with_nothing_have_every_page() {
    let nothing = "{apiVersion: v1, kind: Namespace, metadata: {name: empty}}\n";
    for (name, text, nodes) in [("plain.yaml", PLAIN_NODE, 1), ("empty.yaml", nothing, 0)] {
        let ui = Ui::of(&[&written(name, text)], "");
        for page in [
            "/",
            "/queues",
            "/jobs",
            "/nodes",
            "/nodes?by=cards",
            "/decisions",
            "/what-if",
        ] {
            assert!(seen(&ui.page(page)).contains("Pumice"), "{page}");
        }
        assert_eq!(ui.json("/nodes")["total"], nodes);
    }
}
