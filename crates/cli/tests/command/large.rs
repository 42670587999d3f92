//! `verify --dir` of projects with large files, which are not held in memory.

use std::process::Command;

use proofmark_receipt::{Receipt, Sha256Digest, Verdict};

use crate::owner_tests::{commit, git};
use crate::run::{Done, Place};

fn receipt(done: &Done) -> Receipt {
    Receipt::parse(done.stdout.trim().as_bytes()).unwrap_or_else(|error| panic!("{error}: {done:?}"))
}

/// Bytes that differ from place to place.
fn fixture(seed: u64, bytes: usize) -> Vec<u8> {
    let mut state = seed;
    let step = |_| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (state >> 33) as u8
    };
    (0..bytes).map(step).collect()
}

/// A test that compares the files with their digests.
fn test_of(files: &[(&str, &[u8])]) -> String {
    let digests = files.iter().map(|(path, content)| format!("{path:?}: {:?}", Sha256Digest::of(content).bare_hex()));
    format!(
        "import hashlib, unittest
class T(unittest.TestCase):
    def test(self):
        for path, digest in {{{}}}.items():
            with open(path, 'rb') as file:
                self.assertEqual(hashlib.sha256(file.read()).hexdigest(), digest)
        with open('a.bin', 'ab') as file:
            file.write(b'the copy is the command\\'s')
",
        digests.collect::<Vec<_>>().join(", ")
    )
}

#[test]
fn large_files_are_what_the_tests_find_and_what_is_signed() {
    let (a, b, small) = (fixture(1, 3_000_001), fixture(2, 256 << 10), fixture(3, (256 << 10) - 1));
    let files = [("a.bin", a.as_slice()), ("data/b.bin", b.as_slice()), ("small.bin", small.as_slice())];
    let place = Place::new();
    files.iter().for_each(|(path, content)| drop(place.file(&format!("p/{path}"), content)));
    place.file("p/test_a.py", test_of(&files));
    git(&place, &["init", "-q"]);
    commit(&place);
    let verify = |options: &[&str]| {
        let words = ["--", "python3", "-m", "unittest"];
        receipt(&place.run(&[&["verify", "--dir", "p", "--json"], options, &words].concat()))
    };
    let folder = verify(&[]);
    assert_eq!(folder.verdict(), Verdict::Pass, "{}", folder.to_text());
    let paths = ["a.bin", "data/b.bin", "small.bin", "test_a.py"];
    let listed = Command::new("sha256sum").args(paths).current_dir(place.path("p")).output().unwrap().stdout;
    assert_eq!(folder.hashes().output, Sha256Digest::of(&listed));
    assert_eq!(std::fs::read(place.path("p/a.bin")).unwrap(), a);
    let tree = verify(&["--tree", "HEAD"]);
    assert_eq!((tree.verdict(), &tree.hashes().output), (Verdict::Pass, &folder.hashes().output));
    // Held files are the owner's at any size, and another content of theirs is another suite.
    let tests_from = |place: &Place| {
        let options = ["--tests-from", "main", "--config", "settings.yaml"];
        place.file("settings.yaml", "command: python3 -m unittest\ntests: [data/]\n");
        receipt(&place.run(&[&["verify", "--dir", "p", "--json"], &options[..]].concat()))
    };
    let owner = tests_from(&place);
    place.file("p/data/b.bin", fixture(4, 256 << 10));
    let held = tests_from(&place);
    assert_eq!((held.verdict(), &held.hashes().tests), (Verdict::Pass, &owner.hashes().tests), "{}", held.to_text());
    assert!(held.to_text().contains(r#""path":"data/b.bin","change":"changed""#), "{}", held.to_text());
    assert_eq!(verify(&[]).verdict(), Verdict::Fail);
    commit(&place);
    let other = tests_from(&place);
    assert_eq!(other.verdict(), Verdict::Fail, "{}", other.to_text());
    assert_ne!(other.hashes().tests, owner.hashes().tests);
}

/// Only the caller of a folder has content that a digest names.
#[test]
fn a_request_cannot_name_content_by_a_digest() {
    let place = Place::new();
    let digest = Sha256Digest::of(b"").bare_hex();
    let request = format!(
        r#"{{"output":{{"files":{{"a.sh":{{"sha256":"{digest}"}}}}}},
        "verification":{{"kind":"test_suite","mode":"command","command":["bash","a.sh"]}}}}"#
    );
    let done = place.run(&["verify", &place.file("request.json", request)]);
    assert!(done.code == 2 && done.stderr.contains("unknown field"), "{done:?}");
}
