//! Good and bad texts, and what becomes of them.

use super::*;

/// What following some texts led to.
struct Followed {
    ended: anyhow::Result<()>,
    /// Configurations handed to the deciding thread, readiness, `pumice_config_valid`.
    state: (usize, bool, bool),
    events: Vec<(Topic, Option<String>)>,
    /// `pumice_config_warnings`.
    warnings: usize,
    /// Where the device configuration is.
    place: DeviceConfigPlace,
    /// What pages show.
    in_use: Option<ConfInUse>,
}

fn follow(strict: bool, texts: &[Result<&str, &str>]) -> Followed {
    let (core, mut commands) = mpsc::channel(16);
    let status = Arc::new(DaemonStatus::default());
    status.set_synced(true);
    status.set_configuration_problem(Some("not read yet".to_owned()));
    let metrics = Arc::new(Metrics::new().expect("metrics"));
    let (notices, mut told) = mpsc::channel(64);
    let (devices, places) = cell::channel(None);
    let in_use = Arc::new(std::sync::RwLock::new(None));
    let follower = ConfFollower {
        name: "f".to_owned(),
        strict,
        core,
        devices,
        mix: cell::channel(None).0,
        kept: KeptTopic::ALL.map(|topic| (topic, cell::channel(None).0)),
        reports: cell::channel(Vec::new()).0,
        usage: cell::channel(None).0,
        status: Arc::clone(&status),
        in_use: Arc::clone(&in_use),
        metrics: Arc::clone(&metrics),
        notices,
    };
    let (sender, receiver) = mpsc::channel(16);
    for text in texts {
        let bytes = text.map(|text| text.as_bytes().into());
        let bytes = bytes.map_err(str::to_owned);
        let uid = "u".to_owned();
        sender.try_send(ConfText { bytes, uid }).expect("room");
    }
    drop(sender);
    let runtime = tokio::runtime::Builder::new_current_thread().build();
    let ended = runtime.expect("a runtime").block_on(follower.run(receiver));
    let mut taken = 0;
    while let Ok(DecideCommand::Configure { .. }) = commands.try_recv() {
        taken += 1;
    }
    let text = metrics.text().expect("text");
    let valid = text.contains("\npumice_config_valid 1\n");
    let warnings = text
        .lines()
        .find_map(|line| line.strip_prefix("pumice_config_warnings "));
    let warnings = warnings.and_then(|count| count.parse().ok()).unwrap_or(0);
    let mut events = Vec::new();
    while let Ok(notice) = told.try_recv() {
        assert_eq!(notice.uid, "u");
        events.push((notice.topic, notice.message));
    }
    Followed {
        ended,
        state: (taken, status.ready().is_ok(), valid),
        events,
        warnings,
        place: places.borrow().clone(),
        in_use: in_use.read().expect("not poisoned").clone(),
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
    let Some((Topic::InvalidConfiguration, Some(event))) = followed.events.last() else {
        panic!("{:?}", followed.events);
    };
    assert!(event.contains("stays in use"), "{event}");
    assert!(
        event.contains("line 1, column 11: ") && event.contains("fly"),
        "{event}"
    );
    assert!(!event.contains('\n'), "{event}");
}

#[test]
fn a_good_text_says_where_the_device_configuration_is() {
    let sharing = Ok(
        "actions: \"allocate\"\ntiers:\n- plugins:\n  - name: deviceshare\n    \
                      arguments:\n      deviceshare.VGPUEnable: true\n      \
                      deviceshare.KnownGeometriesCMName: x\n",
    );
    let place = Some(("kube-system".to_owned(), "x".to_owned()));
    assert_eq!(follow(false, &[GOOD]).place, None);
    assert_eq!(follow(false, &[GOOD, sharing]).place, place);
    assert_eq!(follow(false, &[sharing, BAD]).place, place);
    assert_eq!(follow(false, &[sharing, GOOD]).place, None);
}

#[test]
fn another_text_that_is_used_is_told_and_the_first_and_the_same_are_not() {
    let other = Ok("actions: \"allocate\"\ntiers: [{plugins: [{name: predicates}]}]\n");
    let told = |texts: &[Result<&str, &str>]| {
        let events = follow(false, texts).events.into_iter();
        let own = events.filter(|(topic, _)| *topic == Topic::ConfigurationInUse);
        own.map(|(_, message)| message.expect("a text"))
            .collect::<Vec<_>>()
    };
    assert_eq!(told(&[GOOD, GOOD, BAD, GOOD]), [""; 0]);
    let told = told(&[GOOD, other]);
    assert_eq!(told.len(), 1, "{told:?}");
    assert!(
        told[0].starts_with("f: changed, and in use now: "),
        "{told:?}"
    );
}

#[test]
fn what_is_wrong_is_remembered_for_pages_until_it_is_mended() {
    for (texts, refused) in [
        (&[GOOD, BAD][..], true),
        (&[GOOD, BAD, GOOD], false),
        (&[GOOD], false),
        (&[BAD], false),
    ] {
        let in_use = follow(false, texts).in_use;
        let problem = in_use.and_then(|in_use| in_use.refused);
        assert_eq!(problem.is_some(), refused, "{texts:?}");
        let told = |text: String| text.contains("stays in use") && text.contains("fly");
        assert!(problem.is_none_or(told));
    }
}

#[test]
fn what_is_told_is_taken_back_when_it_is_mended() {
    let events = follow(false, &[BAD, GOOD]).events;
    let invalid: Vec<bool> = events
        .iter()
        .filter(|(topic, _)| *topic == Topic::InvalidConfiguration)
        .map(|(_, message)| message.is_some())
        .collect();
    assert_eq!(invalid, [true, false]);
}

#[test]
fn warnings_are_told_and_counted() {
    let without_gang =
        Ok("actions: \"allocate\"\ntiers: [{plugins: [{name: predicates}, {name: nodeorder}]}]\n");
    let followed = follow(false, &[without_gang]);
    let warnings = followed
        .events
        .iter()
        .find(|(topic, _)| *topic == Topic::ConfigurationWarnings);
    let text = warnings.and_then(|(_, message)| message.as_deref());
    assert!(
        text.is_some_and(|text| text.contains("without plugin `gang`")),
        "{text:?}"
    );
    assert_eq!(followed.warnings, 1);
    assert_eq!(follow(false, &[without_gang, GOOD]).warnings, 0);
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
