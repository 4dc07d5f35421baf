//! Good and bad texts, and what becomes of them.

use std::sync::Mutex;

use super::*;

/// What following some texts led to.
struct Followed {
    ended: anyhow::Result<()>,
    /// Configurations handed to the deciding thread, readiness, `pumice_config_valid`.
    state: (usize, bool, bool),
    events: Vec<String>,
    /// Where the device configuration is.
    place: Place,
}

fn follow(strict: bool, texts: &[Result<&str, &str>]) -> Followed {
    let (core, mut questions) = mpsc::channel(16);
    let status = Arc::new(Status::default());
    status.set_synced(true);
    status.set_configuration_problem(Some("not read yet".to_owned()));
    let metrics = Arc::new(Metrics::new().expect("metrics"));
    let events = Arc::new(Mutex::new(Vec::new()));
    let told = Arc::clone(&events);
    let (devices, places) = cell::channel(None);
    let follower = Follower {
        name: "f".to_owned(),
        strict,
        core,
        devices,
        status: Arc::clone(&status),
        in_use: Arc::default(),
        metrics: Arc::clone(&metrics),
        event: Box::new(move |message| told.lock().expect("no panic").push(message)),
    };
    let (sender, receiver) = mpsc::channel(16);
    for text in texts {
        let text = text.map(|text| text.as_bytes().into());
        let text = text.map_err(str::to_owned);
        sender.try_send(text).expect("room");
    }
    drop(sender);
    let runtime = tokio::runtime::Builder::new_current_thread().build();
    let ended = runtime.expect("a runtime").block_on(follower.run(receiver));
    let mut taken = 0;
    while let Ok(Question::Configure { .. }) = questions.try_recv() {
        taken += 1;
    }
    let text = metrics.text().expect("text");
    let valid = text.contains("\npumice_config_valid 1\n");
    let events = events.lock().expect("no panic").clone();
    Followed {
        ended,
        state: (taken, status.ready().is_ok(), valid),
        events,
        place: places.borrow().clone(),
    }
}

const GOOD: Result<&str, &str> = Ok(DEFAULT_CONF);
const BAD: Result<&str, &str> = Ok("actions: \"fly\"\n");
const GONE: Result<&str, &str> = Err("the file does not exist");

#[test]
fn a_bad_text_changes_nothing_and_is_told() {
    let followed = follow(false, &[GOOD, BAD]);
    assert!(followed.ended.is_ok());
    assert_eq!(followed.state, (1, true, false));
    let event = followed.events.join("\n");
    assert!(
        event.contains("stays in use") && event.contains("fly"),
        "{event}"
    );
}

#[test]
fn a_good_text_says_where_the_device_configuration_is() {
    let sharing = Ok(
        "actions: \"allocate\"\ntiers:\n- plugins:\n  - name: deviceshare\n    \
                      arguments:\n      deviceshare.KnownGeometriesCMName: x\n",
    );
    let place = Some(("kube-system".to_owned(), "x".to_owned()));
    assert_eq!(follow(false, &[GOOD]).place, None);
    assert_eq!(follow(false, &[GOOD, sharing]).place, place);
    assert_eq!(follow(false, &[sharing, BAD]).place, place);
    assert_eq!(follow(false, &[sharing, GOOD]).place, None);
}

#[test]
fn a_text_that_is_as_before_again_is_valid_and_not_taken_twice() {
    assert_eq!(follow(false, &[GOOD, BAD, GOOD]).state, (1, true, true));
}

#[test]
fn without_any_good_text_the_daemon_is_not_ready() {
    for bad in [BAD, GONE] {
        let followed = follow(false, &[bad]);
        assert!(followed.ended.is_ok());
        assert_eq!(followed.state, (0, false, false));
        assert_eq!(follow(false, &[bad, GOOD]).state, (1, true, true));
    }
}

#[test]
fn a_strict_daemon_ends_at_start_and_on_reload() {
    for texts in [&[BAD][..], &[GONE], &[GOOD, BAD]] {
        let error = follow(true, texts).ended.expect_err("it ends").to_string();
        assert!(
            error.contains("--disable-default-scheduler-config"),
            "{error}"
        );
    }
}
