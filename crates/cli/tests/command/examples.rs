//! The examples that the program writes.

use std::fs;
use std::os::unix::fs::symlink;

use crate::run::Place;

#[test]
fn examples_are_not_written_through_a_link_that_nobody_named() {
    let place = Place::new();
    fs::create_dir(place.path("elsewhere")).unwrap();
    symlink(place.path("elsewhere"), place.path("examples")).unwrap();
    let refused = place.run(&["examples"]);
    assert!(refused.code == 2 && refused.stderr.contains("`examples`: it is a link"), "{refused:?}");
    assert_eq!(fs::read_dir(place.path("elsewhere")).unwrap().count(), 0);
    // A person who names the link wants what it leads to.
    assert_eq!(place.run(&["examples", "examples"]).code, 0);
    assert!(place.path("elsewhere/sort.json").is_file());
}

#[test]
fn examples_tell_programs_what_became_of_each_file() {
    let place = Place::new();
    fs::create_dir(place.path("given")).unwrap();
    fs::write(place.path("given/sort.json"), "mine").unwrap();
    let done = place.run(&["examples", "given", "--json"]);
    assert_eq!(done.code, 0, "{done:?}");
    assert!(done.stdout.starts_with(r#"{"folder":"given","files":["#), "{done:?}");
    assert!(done.stdout.contains(r#"{"path":"sort.json","state":"exists"}"#), "{done:?}");
    assert!(done.stdout.contains(r#"{"path":"fizzbuzz.yaml","state":"created"}"#), "{done:?}");
    assert_eq!(fs::read_to_string(place.path("given/sort.json")).unwrap(), "mine");
}
