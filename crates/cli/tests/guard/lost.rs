//! A store that was put back to an older copy.

use std::fs;

use crate::{Place, said, text};

#[test]
fn nothing_is_allowed_on_a_store_that_was_put_back() {
    // The file is what is put back.
    let place = Place::in_file();
    let (store, copy) = (place.home.path().join("proofmark.db"), place.at("copy.db"));
    let read = || {
        let mut guarded = place.listed(&[]);
        let answer = text(&guarded.call(1, "read"));
        assert!(guarded.end().success());
        answer
    };
    assert!(read().contains("ok read"));
    fs::copy(&store, &copy).unwrap();
    assert!(read().contains("ok read"));
    for log in ["-wal", "-shm"] {
        drop(fs::remove_file(place.home.path().join(format!("proofmark.db{log}"))));
    }
    fs::copy(&copy, &store).unwrap();
    // It ends before its client can ask for anything.
    let refused = place.command(&[], &[]).output().unwrap();
    assert_eq!(refused.status.code(), Some(2), "{}", said(&refused));
    assert!(said(&refused).contains("proofmark store accept-loss"), "{}", said(&refused));
    assert_eq!(place.effects(), "read\nread\n");
    let accepted = place.proofmark(&["store", "accept-loss", "--yes"]);
    assert!(accepted.status.success(), "{}", said(&accepted));
    assert!(read().contains("ok read"));
}
