//! Which controllers `--controllers` switches on.

use pumice_controllers::list::{ControllerOptions, DEFAULT_SELECTION, NAMES, controllers, select};

fn selected(text: &str) -> Vec<&'static str> {
    let entries: Vec<String> = text.split(',').map(str::to_owned).collect();
    let found = select(&entries).expect("names that exist");
    found.into_iter().map(|one| one.name).collect()
}

fn all_but(left_out: &[&str]) -> Vec<&'static str> {
    let mut all = NAMES.to_vec();
    all.retain(|name| !left_out.contains(name));
    all
}

#[test]
fn the_default_is_all_but_sharding() {
    assert_eq!(
        selected(DEFAULT_SELECTION),
        all_but(&["sharding-controller"])
    );
    assert_eq!(selected("*"), NAMES);
    assert_eq!(selected(""), NAMES, "an empty list is all");
}

#[test]
fn a_list_of_what_is_not_wanted_leaves_the_others_on() {
    let without = all_but(&["gc-controller", "queue-controller"]);
    assert_eq!(selected("-gc-controller,-queue-controller"), without);
    assert_eq!(selected("*,-gc-controller,-queue-controller"), without);
}

#[test]
fn named_ones_alone_are_on_and_the_first_entry_decides() {
    let two = ["job-controller", "queue-controller"];
    assert_eq!(selected("queue-controller,+job-controller"), two);
    assert_eq!(
        selected("job-controller,-job-controller"),
        ["job-controller"]
    );
    assert_eq!(
        selected("-job-controller,job-controller"),
        [""; 0],
        "not only names that are not wanted, and no *"
    );
    assert_eq!(selected(" job-controller , "), ["job-controller"]);
}

#[test]
fn a_name_that_does_not_exist_is_refused_with_those_that_do() {
    let error = select(&["*".to_owned(), "-jobs".to_owned()]).expect_err("no such name");
    assert!(error.contains("\"-jobs\""), "{error}");
    assert!(NAMES.iter().all(|name| error.contains(name)), "{error}");
}

#[test]
fn every_controller_has_the_name_it_is_listed_by() {
    let options = ControllerOptions::default();
    for one in controllers() {
        if let Some(make) = one.make {
            assert_eq!(make(&options).name(), one.name);
        }
    }
}
