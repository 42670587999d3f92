//! Whom a command trusts: the names of the trust store, own keys, and nobody else where signers are named.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use insta::assert_snapshot;
use proofmark_receipt::SigningKey;

use crate::run::{Place, RIGHT, request};
use crate::transcript::Transcript;

/// A place, another one with a key of its own, and a receipt that was issued there.
fn two() -> (Place, Place, String, String) {
    let (place, other) = (Place::new(), Place::new());
    let receipt = place.file("theirs.json", other.receipt(&request(RIGHT), &[]).to_text());
    let key = place.file("ci.pem", other.run(&["key", "show", "--as", "pem"]).stdout);
    (place, other, receipt, key)
}

#[test]
fn a_signer_is_trusted_by_name() {
    let (place, _, receipt, key) = two();
    place.run(&["key", "new"]);
    let mut transcript = Transcript::new(&place);
    transcript.run(&["receipt", "verify", &receipt]);
    transcript.run(&["trust", "add", "ci", &key, "--for", "verification", "--note", "the build server"]);
    transcript.run(&["trust", "list"]);
    transcript.run(&["receipt", "verify", &receipt]);
    transcript.run(&["receipt", "verify", &receipt, "--trust", "ci"]);
    transcript.run(&["receipt", "verify", &receipt, "--trust", "default"]);
    transcript.run(&["receipt", "verify", &receipt, "--trust", "nobody"]);
    transcript.run(&["trust", "add", "ci", &key, "--for", "verification"]);
    transcript.run(&["trust", "add", "again", &key, "--for", "verification"]);
    transcript.run(&["trust", "add", "../ci", &key, "--for", "verification"]);
    transcript.run(&["trust", "add", "default", &key, "--for", "verification"]);
    transcript.run(&["trust", "remove", "ci"]);
    transcript.run(&["trust", "remove", "ci"]);
    transcript.run(&["receipt", "verify", &receipt]);
    assert_snapshot!(transcript.text);
}

#[test]
fn a_name_is_never_a_file_that_somebody_placed() {
    let (place, other, receipt, _) = two();
    let theirs = other.run(&["key", "show", "--as", "pem"]).stdout;
    // A checkout brings the file; the command is run in it.
    place.file("ci", &theirs);
    let missing = place.run(&["receipt", "verify", &receipt, "--trust", "ci"]);
    assert!(missing.code == 2 && missing.stderr.contains("./ci"), "{missing:?}");
    assert_eq!(place.run(&["receipt", "verify", &receipt, "--trust", "./ci"]).code, 0);
    // Also where the name is known.
    let stranger = SigningKey::from_seed([9; 32]).signer().to_string();
    place.run(&["trust", "add", "ci", &stranger, "--for", "verification"]);
    let done = place.run(&["receipt", "verify", &receipt, "--trust", "ci"]);
    assert_eq!(done.code, 1, "{done:?}");
}

#[test]
fn a_trust_store_that_others_can_write_is_refused() {
    let (place, _, receipt, key) = two();
    place.run(&["trust", "add", "ci", &key, "--for", "verification"]);
    let store = place.path("home/trust.json");
    assert_eq!(fs::metadata(&store).unwrap().permissions().mode() & 0o777, 0o600);
    fs::set_permissions(&store, fs::Permissions::from_mode(0o666)).unwrap();
    let done = place.run(&["receipt", "verify", &receipt]);
    assert!(done.code == 2 && done.stderr.contains("trust.json"), "{done:?}");
}

#[test]
fn a_note_cannot_drive_the_terminal() {
    let (place, _, _, key) = two();
    assert_eq!(
        place.run(&["trust", "add", "ci", &key, "--for", "verification", "--note", "\u{1b}[2Jgone\u{202e}"]).code,
        0
    );
    let listed = place.run(&["trust", "list"]).stdout;
    assert!(!listed.contains('\u{1b}') && !listed.contains('\u{202e}'), "{listed:?}");
}

#[test]
fn evidence_of_a_trusted_name_counts_without_being_named() {
    let (place, other, _, key) = two();
    let (policy, action) = (
        place.file(
            "policy.yaml",
            "version: 1\nboundaries:\n  - id: b\n    match: {}\n    require:\n      - receipt: {any_suite: true, output: 'sha256(action.args.source)', max_age: 1h}\n",
        ),
        place.file(
            "action.json",
            format!(
                "{{\"action\": {{\"tool\": \"t\", \"class\": \"upload\", \"args\": {{\"source\": {}}}}}}}",
                proofmark_receipt::Json::from(RIGHT).to_text()
            ),
        ),
    );
    let folder = place.path("receipts");
    fs::create_dir(&folder).unwrap();
    fs::write(folder.join("r.json"), other.receipt(&request(RIGHT), &[]).to_text()).unwrap();
    let decide = ["decide", &action, "--policy", &policy, "--receipt", folder.to_str().unwrap(), "--json"];
    let blocked = place.run(&decide);
    assert!(blocked.code == 1 && blocked.stdout.contains("signer_not_trusted"), "{blocked:?}");
    place.run(&["trust", "add", "ci", &key, "--for", "verification"]);
    assert_eq!(place.run(&decide).code, 0);
    // Those who are named are trusted, and nobody else.
    assert_eq!(place.run(&[&decide[..], &["--trust", "default"]].concat()).code, 1);
    // Own receipts count, too.
    let own = place.receipt(&request(RIGHT), &[]);
    fs::write(folder.join("r.json"), own.to_text()).unwrap();
    place.run(&["trust", "remove", "ci"]);
    assert_eq!(place.run(&decide).code, 0);
}
