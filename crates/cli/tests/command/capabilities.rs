//! A key vouches for the kinds of documents that it is trusted for, and for no others.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use proofmark_receipt::Json;

use crate::run::{Done, Place, RIGHT, request};

const KINDS: [&str; 4] = ["verification", "acceptance", "approval", "decision"];

const WORKFLOW: &str =
    "name: w\nclass: readonly\nsteps: [{id: s, terminal: true, verification: {evidence: [{path: ok, expect: true}]}}]";

/// Somebody else, whose key signs a document of every kind.
struct Other {
    place: Place,
    key: String,
    /// In the order of [`KINDS`].
    documents: [String; 4],
}

/// The action that asks for approvals of a role.
const ACTION: &str = r#"{"action": {"tool": "wipe", "class": "system_change", "args": {"disk": "all"}}}"#;

fn asking(rule: &str, reviewers: &str) -> String {
    format!("version: 1\nboundaries:\n  - id: b\n    match: {{}}\n    require: [{rule}]\n{reviewers}")
}

impl Other {
    fn new(place: &Place) -> Self {
        let other = Place::new();
        let verification = other.receipt(&request(RIGHT), &[]).to_text();
        let key = other.run(&["key", "show", "--as", "signer-id"]).stdout.trim().to_owned();
        let workflow = other.file("workflow.yaml", WORKFLOW);
        let response = other.file("response.json", r#"{"ok": true}"#);
        let accepted = other.run(&["workflow", "accept", &workflow, "--step", "s", "--response", &response, "--json"]);
        assert_eq!(accepted.code, 0, "{accepted:?}");
        let acceptance = member(&accepted.stdout, "receipt");
        let decided = other.decides(&asking("{approval: {role: lead}}", ""), &[]);
        assert_eq!(decided.code, 1, "{decided:?}");
        let approval = other.approves(&decided.stdout, "default");
        let documents = [verification, acceptance, approval, decided.stdout];
        let mut numbered = (0..).zip(documents);
        let documents = [(); 4].map(|()| {
            let (number, text): (u8, String) = numbered.next().unwrap();
            place.file(&format!("document{number}.json"), text)
        });
        Self { place: other, key, documents }
    }
}

impl Place {
    fn decides(&self, policy: &str, more: &[&str]) -> Done {
        let (policy, action) = (self.file("policy.yaml", policy), self.file("action.json", ACTION));
        self.run(&[&["decide", &action, "--policy", &policy, "--json"], more].concat())
    }

    /// The approval of a decision, which this key signs.
    fn approves(&self, decision: &str, key: &str) -> String {
        let (file, action) = (self.file("asked.json", decision), self.file("action.json", ACTION));
        let trust = format!("decision={}", signer_of(decision));
        let approved = self.run(&[
            "decision",
            "approve",
            "--yes",
            &file,
            "--request",
            &action,
            "--key",
            key,
            "--role",
            "lead",
            "--note",
            "seen",
            "--trust",
            &trust,
        ]);
        assert_eq!(approved.code, 0, "{approved:?}");
        approved.stdout
    }
}

fn member(text: &str, name: &str) -> String {
    Json::parse(text.as_bytes()).unwrap().as_object().unwrap().get(name).unwrap().to_text()
}

fn signer_of(document: &str) -> String {
    let signature = member(document, "signature");
    member(&signature, "signer_id").replace('"', "")
}

#[test]
fn a_key_is_trusted_for_the_kinds_that_it_was_added_for() {
    let place = Place::new();
    place.run(&["key", "new"]);
    let other = Other::new(&place);
    let without = place.run(&["trust", "add", "other", &other.key]);
    assert!(without.code == 2 && without.stderr.contains("--for <KINDS>"), "{without:?}");
    for kind in KINDS {
        assert_eq!(place.run(&["trust", "add", "other", &other.key, "--for", kind]).code, 0);
        let listed = place.run(&["trust", "list", "--json"]).stdout;
        assert!(listed.contains(&format!("\"for\":[\"{kind}\"]")), "{listed}");
        let documents = other.documents.each_ref().map(String::as_str);
        let checked = place.run(&[&["receipt", "verify", "--json"], &documents[..]].concat());
        let trusted = KINDS.map(|of| if of == kind { "trusted" } else { "untrusted" });
        let found: Vec<_> = checked.stdout.lines().map(|line| member(line, "trust")).collect();
        assert_eq!(found, trusted.map(|word| format!("\"{word}\"")), "{kind}: {checked:?}");
        assert_eq!(checked.code, 1, "{checked:?}");
        assert_eq!(place.run(&["trust", "remove", "other"]).code, 0);
    }
    // Named on the command line, too; a name alone stands for what it was added for.
    place.run(&["trust", "add", "other", &other.key, "--for", "verification"]);
    for (trust, document, code) in [
        ("other", 0, 0),
        ("other", 3, 1),
        ("decision=other", 3, 0),
        ("decision=other", 0, 1),
        ("acceptance,approval=other", 2, 0),
        ("acceptance,approval=other", 3, 1),
    ] {
        let checked = place.run(&["receipt", "verify", &other.documents[document], "--trust", trust]);
        assert_eq!(checked.code, code, "{trust}: {checked:?}");
    }
}

#[test]
fn who_relies_on_evidence_says_for_what_a_key_counts() {
    let place = Place::new();
    place.run(&["key", "new"]);
    let other = Other::new(&place);
    let digest = place.receipt(&request(RIGHT), &[]).hashes().output.to_string();
    let rules = [
        format!("{{receipt: {{any_suite: true, output: '\"{digest}\"'}}}}"),
        "{receipt: {kind: step_acceptance, any_suite: true, output: '\"OUTPUT\"'}}".to_owned(),
    ];
    let acceptance = fs::read_to_string(&other.documents[1]).unwrap();
    let over = proofmark_receipt::Receipt::parse(acceptance.as_bytes()).unwrap().hashes().output.to_string();
    for (rule, document, kind, wrong) in [
        (rules[0].clone(), &other.documents[0], "verification", ["approval", "acceptance,decision"]),
        (rules[1].replace("OUTPUT", &over), &other.documents[1], "acceptance", ["verification", "approval,decision"]),
    ] {
        let folder = place.path("presented");
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir(&folder).unwrap();
        fs::copy(document, folder.join("r.json")).unwrap();
        let decide = |kinds: &str| {
            let trust = format!("{kinds}={}", other.key);
            // In a store of its own: the own receipts are not asked for.
            let store = place.path("empty.db");
            let more = ["--receipt", folder.to_str().unwrap(), "--store", store.to_str().unwrap(), "--trust", &trust];
            place.decides(&asking(&rule, ""), &more)
        };
        for kinds in wrong {
            let refused = decide(kinds);
            assert!(refused.code == 1 && refused.stdout.contains("signer_not_trusted"), "{kinds}: {refused:?}");
        }
        let counted = decide(kind);
        assert_eq!(counted.code, 0, "{kind}: {counted:?}");
    }
    let bare = place.decides(&asking(&rules[0], ""), &["--trust", &other.key]);
    assert!(bare.code == 2 && bare.stderr.contains("verification="), "{bare:?}");
}

#[test]
fn a_verifiers_key_approves_nothing_whatever_a_policy_lists() {
    let place = Place::new();
    for name in ["default", "bob"] {
        place.run(&["key", "new", name]);
    }
    let other = Other::new(&place);
    let bob = place.run(&["key", "show", "bob", "--as", "signer-id"]).stdout.trim().to_owned();
    let reviewers = format!("roles: {{lead: ['{}', '{bob}']}}\n", other.key);
    let four_eyes = asking("{approval: {role: lead, count: 2}}", &reviewers);
    let asked = place.decides(&four_eyes, &[]);
    let folder = place.path("approvals");
    fs::create_dir(&folder).unwrap();
    fs::write(folder.join("other.json"), other.place.approves(&asked.stdout, "default")).unwrap();
    fs::write(folder.join("bob.json"), place.approves(&asked.stdout, "bob")).unwrap();
    let decide = || place.decides(&four_eyes, &["--receipt", folder.to_str().unwrap()]);
    for kinds in ["verification", "verification,acceptance,decision"] {
        assert_eq!(place.run(&["trust", "add", "worker", &other.key, "--for", kinds]).code, 0);
        let refused = decide();
        assert!(refused.code == 1 && refused.stdout.contains("signer_not_trusted"), "{kinds}: {refused:?}");
        assert_eq!(place.run(&["trust", "remove", "worker"]).code, 0);
    }
    // A key that the policy lists and that is known for approvals, or for nothing.
    place.run(&["trust", "add", "ann", &other.key, "--for", "approval"]);
    assert_eq!(decide().code, 0);
}

#[test]
fn what_a_key_signs_after_its_end_does_not_count() {
    let place = Place::new();
    place.run(&["key", "new"]);
    let before = place.file("before.json", place.receipt(&request(RIGHT), &[]).to_text());
    // A thief keeps the key, and the file beside it that says when it ends is not theirs.
    let stolen = place.file("stolen.pem", fs::read(place.path("home/keys/default.pem")).unwrap());
    fs::set_permissions(&stolen, fs::Permissions::from_mode(0o600)).unwrap();
    place.run(&["key", "new", "next"]);
    let ended = place.run(&["key", "end", "default", "--json"]);
    assert_eq!(ended.code, 0, "{ended:?}");
    assert!(place.run(&["key", "list"]).stdout.contains(&member(&ended.stdout, "ends").replace('"', "")));
    let after = place.file("after.json", place.receipt(&request(RIGHT), &["--key", &stolen]).to_text());
    let checked = place.run(&["receipt", "verify", "--json", &before, &after]);
    let trust: Vec<_> = checked.stdout.lines().map(|line| member(line, "trust")).collect();
    assert_eq!(trust, ["\"trusted\"", "\"untrusted\""], "{checked:?}");
    // Named by its id it ends, too.
    let id = place.run(&["key", "show", "default", "--as", "signer-id"]).stdout.trim().to_owned();
    assert_eq!(place.run(&["receipt", "verify", &after, "--trust", &id]).code, 1);
    // No command signs with it, and its end cannot be put off.
    let refused = place.run(&["verify", &place.path("request.json").display().to_string()]);
    assert!(refused.code == 2 && refused.stderr.contains("it ends at"), "{refused:?}");
    let later = place.run(&["key", "end", "default", "--at", "2999-01-01T00:00:00Z"]);
    assert!(later.code == 2 && later.stderr.contains("can only be moved to an earlier time"), "{later:?}");
    assert_eq!(place.run(&["key", "end", "default", "--at", "2020-01-01T00:00:00Z"]).code, 0);
    assert_eq!(place.run(&["receipt", "verify", &before]).code, 1);
}
