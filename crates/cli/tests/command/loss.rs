//! A store that was put back to an older copy: nothing is signed on its chains until the loss is accepted, and then it is stated.

use std::fs;

use proofmark_receipt::{Json, Receipt};

use crate::run::{Done, Place, RIGHT, request};

fn verify(place: &Place) -> Done {
    let file = place.file("right.json", request(RIGHT));
    place.run(&["verify", &file, "--chain", "work", "--json"])
}

#[test]
fn an_older_copy_signs_nothing_until_the_loss_is_accepted() {
    // The file is what is put back.
    let place = Place::in_file();
    let (file, copy) = (place.home.path().join("proofmark.db"), place.path("copy.db"));
    assert_eq!(verify(&place).code, 0);
    fs::copy(&file, &copy).unwrap();
    assert_eq!(verify(&place).code, 0);
    let lost = Receipt::parse(verify(&place).stdout.trim().as_bytes()).unwrap();
    for log in ["-wal", "-shm"] {
        drop(fs::remove_file(place.home.path().join(format!("proofmark.db{log}"))));
    }
    fs::copy(&copy, &file).unwrap();

    let refused = verify(&place);
    assert_eq!((refused.code, refused.stdout.as_str()), (2, ""), "{refused:?}");
    for part in ["position 2", "ends it at position 0", "proofmark store accept-loss"] {
        assert!(refused.stderr.contains(part), "{part}: {}", refused.stderr);
    }
    let policy = crate::run::project_file("examples/decide/policy.yaml");
    let serving = place.run(&["serve", "--policy", &policy, "--listen", "127.0.0.1:0"]);
    assert_eq!(serving.code, 2, "{serving:?}");
    assert!(serving.stderr.contains("accept-loss"), "{serving:?}");
    let check = place.run(&["store", "check"]);
    assert_eq!(check.code, 1, "{check:?}");
    assert!(check.stdout.contains("behind chains work: position 2, sha256:"), "{check:?}");
    assert!(place.run(&["doctor"]).stdout.contains("this home has signed position 2"));

    let unasked = place.run(&["store", "accept-loss"]);
    assert_eq!(unasked.code, 2, "{unasked:?}");
    assert!(unasked.stderr.contains(&lost.hash().to_string()) && unasked.stderr.contains("--yes"), "{unasked:?}");
    assert_eq!(verify(&place).code, 2);
    let accepted = place.run(&["store", "accept-loss", "--yes", "--json"]);
    assert_eq!(accepted.code, 0, "{accepted:?}");
    assert!(accepted.stdout.contains("\"accepted\":true"), "{accepted:?}");

    let next = verify(&place);
    assert_eq!(next.code, 0, "{next:?}");
    let stated = Receipt::parse(next.stdout.trim().as_bytes()).unwrap().link().loss().unwrap().unwrap();
    assert_eq!((stated.position, stated.hash), (2, lost.hash()));
    let chain = place.run(&["receipt", "export", "--chain", "work"]);
    let checked = place.run_with(&["receipt", "verify", "-", "--as-chain", "--json"], &[], chain.stdout.as_bytes());
    assert_eq!(checked.code, 0, "{checked:?}");
    let whole = Json::parse(checked.stdout.lines().last().unwrap().as_bytes()).unwrap();
    let losses = whole.as_object().unwrap().get("losses").and_then(Json::as_array).unwrap();
    assert_eq!(losses.len(), 1, "{checked:?}");
    let shown = place.run_with(&["receipt", "verify", "-", "--as-chain"], &[], chain.stdout.as_bytes());
    assert!(shown.stdout.contains("loss: receipt "), "{shown:?}");
    let again = place.run(&["store", "accept-loss"]);
    assert_eq!((again.code, again.stdout.as_str()), (0, "no chain has lost anything that was signed from here\n"));
}
