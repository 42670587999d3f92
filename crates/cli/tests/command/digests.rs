//! `metadata.environment`: the digest of what the tests could import.

use std::fs;

use proofmark_receipt::{Json, Object, Receipt};

use crate::environments::environment;
use crate::run::Place;

const TEST: &str = "import unittest\nclass It(unittest.TestCase):\n    def test_it(self):\n        pass\n";

fn verify(place: &Place, command: &[&str]) -> Object {
    let done = place.run(&[&["verify", "--dir", "p", "--json", "--"], command].concat());
    let receipt = Receipt::parse(done.stdout.trim().as_bytes()).unwrap_or_else(|error| panic!("{error}: {done:?}"));
    receipt.metadata().get("environment").and_then(Json::as_object).unwrap().clone()
}

fn digest(found: &Object) -> String {
    let digest = found.get("digest").and_then(Json::as_str).unwrap();
    assert!(digest.starts_with("sha256:"), "{found:?}");
    digest.to_owned()
}

#[test]
fn the_digest_covers_every_byte_of_the_packages_and_no_others() {
    const UNITTEST: [&str; 4] = ["python3", "-m", "unittest", "discover"];
    let place = Place::new();
    place.file("p/test_it.py", TEST);
    let packages = environment(&place, "p/.venv", false);
    place.file(&format!("{packages}/a.py"), "x = 1\n");
    place.file(&format!("{packages}/a-1.0.dist-info/METADATA"), "");
    let first = verify(&place, &UNITTEST);
    let named = |found: &Object| (found.get("from").cloned(), found.get("packages").cloned());
    assert_eq!(named(&first), (Some(Json::from("venv")), Some(Json::from(1_u64))));
    assert_eq!(verify(&place, &UNITTEST), first);
    // What the program stores of the interpreter's library is believed only with its signature.
    let stored: Vec<_> =
        fs::read_dir(place.path("home/cache/digests")).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert!(!stored.is_empty());
    for path in stored {
        let text = fs::read_to_string(&path).unwrap();
        let at = text.find("\"digest\":\"sha256:").unwrap() + 17;
        let other = if text.as_bytes()[at] == b'0' { "1" } else { "0" };
        fs::write(&path, format!("{}{other}{}", &text[..at], &text[at + 1..])).unwrap();
    }
    assert_eq!(verify(&place, &UNITTEST), first);
    let mut seen = vec![digest(&first)];
    let mut differs = |what: &str| {
        let found = digest(&verify(&place, &UNITTEST));
        assert!(!seen.contains(&found), "{what}");
        seen.push(found);
    };
    place.file(&format!("{packages}/a.py"), "x = 2\n");
    differs("a changed byte");
    place.file(&format!("{packages}/of_nobody.pth"), "");
    differs("a file of no distribution");
    fs::rename(place.path(&format!("{packages}/a-1.0.dist-info")), place.path(&format!("{packages}/a-1.1.dist-info")))
        .unwrap();
    differs("another version");
    // Work that changes is in another digest.
    place.file("p/more.py", "");
    assert_eq!(digest(&verify(&place, &UNITTEST)), *seen.last().unwrap());
}

#[test]
fn packages_of_node_are_covered_and_what_is_not_known_is_said() {
    let place = Place::new();
    place.file("p/it.test.js", "require('node:test').test('it', () => {});\n");
    place.file("p/run.sh", "true\n");
    let none = verify(&place, &["node", "--test"]);
    assert_eq!(none.get("from"), Some(&Json::from("none")), "{none:?}");
    place.file("p/node_modules/@a/b/package.json", "{}");
    place.file("p/node_modules/@a/b/node_modules/c/package.json", "{}");
    place.file("p/node_modules/@a/b/node_modules/c/lib/package.json", "{}");
    place.file("p/node_modules/.cache/x", "1");
    let one = verify(&place, &["node", "--test"]);
    assert_eq!((one.get("from"), one.get("packages")), (Some(&Json::from("host")), Some(&Json::from(2_u64))));
    // The command does not see caches.
    place.file("p/node_modules/.cache/x", "2");
    assert_eq!(verify(&place, &["node", "--test"]), one);
    place.file("p/node_modules/@a/b/index.js", "");
    assert_ne!(digest(&verify(&place, &["node", "--test"])), digest(&one));
    let unknown = verify(&place, &["bash", "run.sh"]);
    assert_eq!(unknown.get("digest"), Some(&Json::from("unknown")), "{unknown:?}");
    assert!(unknown.get("why").is_some(), "{unknown:?}");
}
