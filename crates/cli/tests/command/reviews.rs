//! Approving on the command line: once a person, only what waits, and only where it was asked.

use insta::assert_snapshot;
use proofmark_evidence::{Approval, Reviewer, shown_of};
use proofmark_keys::Keyring;
use proofmark_receipt::{Json, ReceiptId, Timestamp};
use proofmark_store::{NewReceipt, Store, Tenant};

use crate::run::{Done, Place, project_file};
use crate::transcript::Transcript;

const POLICY: &str = "version: 1
boundaries:
  - id: refund
    match: {}
    require:
      - approval: {role: finance}
";

const REFUND: &str = r#"{"action": {"tool": "refund", "class": "system_change", "args": {"amount": 200}},
    "agent": {"id": "bot", "environment": "staging"}}"#;

/// A place with two people of finance.
pub(crate) struct Finance {
    pub(crate) place: Place,
    pub(crate) people: [String; 2],
}

impl Finance {
    pub(crate) fn new() -> Self {
        let place = Place::new();
        assert_eq!(place.run(&["key", "new", "default"]).code, 0);
        let people = ["ann", "bob"].map(|name| {
            place.run(&["key", "new", name]);
            place.run(&["key", "show", name, "--as", "signer-id"]).stdout.trim().to_owned()
        });
        Self { place, people }
    }

    pub(crate) fn decide(&self, policy: &str, request: &str) -> Done {
        let [ann, bob] = &self.people;
        let policy = format!("{policy}roles: {{finance: ['{ann}', '{bob}']}}\n");
        let (policy, request) = (self.place.file("policy.yaml", policy), self.place.file("request.json", request));
        self.place.run(&["decide", &request, "--policy", &policy, "--trust", ann, "--trust", bob, "--json"])
    }

    fn approve(&self, decision: &Done, who: &str) -> Done {
        let file = self.place.file("decision.json", &decision.stdout);
        self.place.run(&["decision", "approve", "--yes", &file, "--key", who, "--note", "ok"])
    }
}

pub(crate) fn member(json: &Json, name: &str) -> Json {
    json.as_object().unwrap().get(name).unwrap().clone()
}

#[test]
fn a_decision_is_approved_once_by_one_person_and_never_when_it_allowed() {
    let finance = Finance::new();
    let blocked = finance.decide(POLICY, REFUND);
    assert_eq!(blocked.code, 1, "{blocked:?}");
    assert_eq!(finance.approve(&blocked, "ann").code, 0);
    let twice = finance.approve(&blocked, "ann");
    assert_eq!(twice.code, 2, "{twice:?}");
    let allowed = finance.decide(POLICY, REFUND);
    assert_eq!(allowed.code, 0, "{allowed:?}");
    let decision = Json::parse(allowed.stdout.as_bytes()).unwrap();
    let id = decision.as_object().unwrap().get("decision_id").unwrap().as_str().unwrap().to_owned();
    let again = finance.decide(POLICY, REFUND);
    assert_eq!(again.code, 1, "{again:?}");
    assert!(again.stdout.contains("\"cause\":\"spent\"") && again.stdout.contains(&id), "{again:?}");
    let refused = finance.approve(&allowed, "ann");
    assert_eq!(refused.code, 2, "{refused:?}");
    let late = finance.approve(&blocked, "bob");
    assert_eq!(late.code, 2, "{late:?}");
    assert_eq!(finance.decide(POLICY, REFUND).code, 1);
    let mut transcript = Transcript::new(&finance.place);
    transcript.add("approved twice by one reviewer", &twice);
    transcript.add("approved after it was allowed", &refused);
    transcript.add("approved after the action was allowed", &late);
    assert_snapshot!(transcript.text);
}

#[test]
fn a_decision_two_people_approved_is_allowed_once() {
    let finance = Finance::new();
    let blocked = finance.decide(POLICY, REFUND);
    assert_eq!((finance.approve(&blocked, "ann").code, finance.approve(&blocked, "bob").code), (0, 0));
    assert_eq!(finance.decide(POLICY, REFUND).code, 0);
    let again = finance.decide(POLICY, REFUND);
    assert!(again.code == 1 && again.stdout.contains("\"cause\":\"spent\""), "{again:?}");
}

#[test]
fn a_denied_action_is_blocked_although_another_person_approves_it() {
    let finance = Finance::new();
    let blocked = finance.decide(POLICY, REFUND);
    let id = member(&Json::parse(blocked.stdout.as_bytes()).unwrap(), "decision_id").as_str().unwrap().to_owned();
    let deny = |who: &str, more: &[&str]| {
        finance.place.run(
            &[
                &["decision", "deny", "--yes", &id[..8], "--key", who, "--note", "fraud \u{202e} ##vso[task.complete]"],
                more,
            ]
            .concat(),
        )
    };
    let denied = deny("ann", &["--json"]);
    assert_eq!(denied.code, 0, "{denied:?}");
    assert!(!denied.stdout.contains('\u{202e}') && !denied.stdout.contains("##vso["), "{denied:?}");
    let denial = Json::parse(denied.stdout.as_bytes()).unwrap();
    let said =
        ["decision_id", "verdict", "reviewer", "note"].map(|name| member(&denial, name).as_str().unwrap().to_owned());
    assert_eq!(said, [&id, "denied", &finance.people[0], "fraud \u{202e} ##vso[task.complete]"]);
    let counts =
        ["until", "reviewed_at"].map(|name| member(&denial, name).as_str().unwrap().parse::<Timestamp>().unwrap());
    assert_eq!(counts[0].unix_millis() - counts[1].unix_millis(), 8 * 3_600_000);

    let approved = finance.approve(&blocked, "bob");
    assert_eq!(approved.code, 2, "{approved:?}");
    assert_eq!(finance.place.run(&["decision", "list", "--waiting", "--json"]).stdout, "");
    let again = finance.decide(POLICY, REFUND);
    assert!(again.code == 1 && again.stdout.contains("\"denial\""), "{again:?}");
    // An agent can give any name.
    let other = finance.decide(POLICY, &REFUND.replace("bot", "tob"));
    assert!(other.code == 1 && other.stdout.contains("\"denial\""), "{other:?}");

    let twice = deny("ann", &[]);
    assert_eq!(twice.code, 2, "{twice:?}");
    let late = deny("bob", &["--expires", "31d"]);
    assert!(late.code == 2 && late.stderr.contains("the longest is 30 days"), "{late:?}");
    let words = deny("bob", &["--expires", "2d"]);
    assert!(words.code == 0 && words.stdout.starts_with(&format!("denied {} by bob, until ", &id[..8])), "{words:?}");
}

#[test]
fn a_denial_is_of_a_stored_decision_that_its_reader_has_seen() {
    let finance = Finance::new();
    let blocked = finance.decide(POLICY, REFUND);
    let deny = |file: &str, more: &[&str]| {
        finance.place.run(&[&["decision", "deny", "--yes", file, "--key", "ann", "--note", "no"], more].concat())
    };
    // Its id is that of a stored decision, and its action is another.
    let forged = finance.place.file(
        "forged.json",
        blocked.stdout.replace("\"action_class\":\"system_change\"", "\"action_class\":\"generic\""),
    );
    let refused = deny(&forged, &[]);
    assert!(refused.code == 2 && refused.stderr.contains("content_hash"), "{refused:?}");
    let file = finance.place.file("decision.json", &blocked.stdout);
    let elsewhere = finance.place.path("other.db");
    Store::open(&elsewhere).unwrap();
    let unknown = deny(&file, &["--store", elsewhere.to_str().unwrap()]);
    assert!(unknown.code == 2 && unknown.stderr.contains("none with this id"), "{unknown:?}");
    assert_eq!(deny(&file, &["--note", " "]).code, 2);
    finance.approve(&blocked, "ann");
    let allowed = finance.decide(POLICY, REFUND);
    assert_eq!(allowed.code, 0, "{allowed:?}");
    for decision in [&blocked, &allowed] {
        let file = finance.place.file("decision.json", &decision.stdout);
        let late = deny(&file, &[]);
        assert!(late.code == 2 && late.stderr.contains("nothing to review"), "{late:?}");
    }
}

#[test]
fn json_of_an_approval_is_harmless_in_logs_and_still_verifies() {
    let finance = Finance::new();
    let file = finance.place.file("decision.json", &finance.decide(POLICY, REFUND).stdout);
    let note = "fine\u{202e} ##[error]no \u{9b}2J";
    let approved =
        finance.place.run(&["decision", "approve", "--yes", &file, "--key", "ann", "--note", note, "--json"]);
    assert_eq!(approved.code, 0, "{approved:?}");
    assert!(!approved.stdout.contains(['\u{202e}', '\u{9b}']) && !approved.stdout.contains("##["), "{approved:?}");
    let verified = finance.place.run(&["receipt", "verify", &finance.place.file("approval.json", &approved.stdout)]);
    assert_eq!(verified.code, 0, "{verified:?}");
}

#[test]
fn what_was_approved_in_staging_is_not_allowed_in_production() {
    let finance = Finance::new();
    assert_eq!(finance.approve(&finance.decide(POLICY, REFUND), "ann").code, 0);
    let elsewhere = finance.decide(POLICY, &REFUND.replace("staging", "production"));
    assert!(elsewhere.code == 1 && elsewhere.stdout.contains("other_environment"), "{elsewhere:?}");
    let other = finance.decide(POLICY, &REFUND.replace("bot", "tob"));
    assert!(other.code == 1 && other.stdout.contains("other_agent"), "{other:?}");
    let loose = POLICY.replace("role: finance", "role: finance, binds: [action]");
    assert_eq!(finance.decide(&loose, &REFUND.replace("staging", "production")).code, 0);
}

#[test]
fn a_role_that_is_not_asked_for_is_refused() {
    let finance = Finance::new();
    let decision = finance.place.file("decision.json", finance.decide(POLICY, REFUND).stdout);
    let approve = ["decision", "approve", "--yes", &decision, "--key", "ann", "--note", "ok", "--role", "chief"];
    let refused = finance.place.run(&approve);
    assert!(refused.code == 2 && refused.stderr.contains("finance"), "{refused:?}");
}

#[test]
fn an_agent_with_a_shell_approves_nothing() {
    let finance = Finance::new();
    let place = &finance.place;
    let blocked = finance.decide(POLICY, REFUND);
    // With a key that it makes.
    place.run(&["key", "new", "agent"]);
    assert_eq!(finance.approve(&blocked, "agent").code, 0);
    // With the key that decides, which lies there unencrypted, in Ann's name and with her key.
    assert_eq!(finance.approve(&blocked, "default").code, 0);
    let key = Keyring::new(place.home.path()).load("default", None).unwrap();
    let ann = Reviewer { id: "ann".to_owned(), key: finance.people[0].parse().ok(), roles: vec!["finance".to_owned()] };
    let now = proofmark_verifier::now();
    let decision = Json::parse(blocked.stdout.as_bytes()).unwrap();
    let approval = Approval {
        reviewer: Some(ann),
        role: "finance".to_owned(),
        note: "ok".to_owned(),
        expires_at: Timestamp::from_unix_millis(now.unix_millis() + 3_600_000),
        scope: None,
        shown: shown_of(member(&decision, "binding").as_object().unwrap()),
    };
    let id = ReceiptId::from_random_bytes([7; 16]);
    let forged = approval.draft(decision.as_object().unwrap(), id, now).unwrap().sign(&key).unwrap();
    let store = Store::open(place.home.store()).unwrap();
    store.of(&Tenant::LOCAL).submit(NewReceipt::single(forged)).wait().unwrap();
    let again = finance.decide(POLICY, REFUND);
    assert!(again.code == 1 && again.stdout.matches("signer_not_trusted").count() >= 3, "{again:?}");
    // Nor where nobody is listed, as in the policies of the examples.
    let policy = place.file("nobody.yaml", POLICY);
    let request = place.file("request.json", REFUND);
    let nobody = place.run(&["decide", &request, "--policy", &policy, "--json"]);
    assert!(nobody.code == 1 && nobody.stdout.contains("role_of_nobody"), "{nobody:?}");
    for example in ["decide", "guard", "agent"] {
        let linted = place.run(&["lint", &project_file(&format!("examples/{example}/policy.yaml"))]);
        assert!(linted.code == 1 && linted.stdout.contains("role-of-nobody"), "{example}: {linted:?}");
    }
}

#[test]
fn an_approval_names_its_reviewer() {
    let finance = Finance::new();
    let approval = finance.approve(&finance.decide(POLICY, REFUND), "ann").stdout;
    let json = Json::parse(approval.as_bytes()).unwrap();
    let reviewer = ["metadata", "approval", "reviewer"].iter().fold(json, |json, name| member(&json, name));
    assert_eq!(member(&reviewer, "key").as_str(), Some(finance.people[0].as_str()));
    assert_eq!(member(&reviewer, "id").as_str(), Some(finance.people[0].as_str()));
}

#[test]
fn the_queue_is_narrowed_to_what_a_key_can_give_to_an_environment_and_to_an_amount() {
    let finance = Finance::new();
    // Of somebody else: nobody of finance can approve it.
    let policy = POLICY.replace("match: {}", "match: {tool: refund}")
        + "  - {id: deploy, match: {tool: deploy}, require: [{approval: {role: lead}}]}\n";
    let deploy = r#"{"action": {"tool": "deploy", "class": "system_change"}, "agent": {"environment": "staging"}}"#;
    for request in [REFUND, &REFUND.replace("200", "20").replace("staging", "production"), deploy] {
        assert_eq!(finance.decide(&policy, request).code, 1);
    }
    let policy = finance.place.file("policy.yaml", POLICY);
    assert_eq!(
        finance.place.run(&["reviewer", "add", "ann", "--key", "ann", "--role", "finance", "--policy", &policy]).code,
        0
    );
    let listed = |options: &[&str]| {
        let done = finance.place.run(&[&["decision", "list", "--json"][..], options].concat());
        assert_eq!(done.code, 0, "{done:?}");
        done.stdout.lines().count()
    };
    let mine = ["--mine", "--key", "ann", "--policy", &policy];
    assert_eq!((listed(&["--waiting"]), listed(&mine)), (3, 2));
    assert_eq!(listed(&["--mine", "--key", "bob", "--policy", &policy]), 0);
    assert_eq!(listed(&["--waiting", "--environment", "staging"]), 2);
    assert_eq!((listed(&["--amount", "20"]), listed(&["--amount", "20.5"])), (2, 1));
    assert_eq!(listed(&[&mine[..], &["--environment", "production", "--limit", "1"]].concat()), 1);
    for wrong in [&["--mine"][..], &["--amount", "NaN"], &["--key", "ann"]] {
        assert_eq!(finance.place.run(&[&["decision", "list"][..], wrong].concat()).code, 2, "{wrong:?}");
    }
}

/// Another key of a listed name is the same person: two of their approvals are those of one.
#[test]
fn a_second_key_is_one_of_the_same_person() {
    let place = Place::new();
    let policy = POLICY.replace("role: finance", "role: finance, count: 2");
    let policy = place.file("policy.yaml", format!("{policy}# the end\n"));
    for key in ["default", "ann", "laptop", "bob"] {
        assert_eq!(place.run(&["key", "new", key]).code, 0);
    }
    let add = |name: &str, key: &str, more: &[&str]| {
        place.run(&[&["reviewer", "add", name, "--key", key, "--policy", &policy][..], more].concat())
    };
    let nobody = add("ann", "ann", &[]);
    assert!(nobody.code == 2 && nobody.stderr.contains("no role was named"), "{nobody:?}");
    assert_eq!(add("ann", "ann", &["--role", "finance"]).code, 0);
    let second = add("ann", "laptop", &[]);
    assert!(second.code == 0 && second.stdout.contains("added another key of ann"), "{second:?}");
    for (key, more, why) in
        [("laptop", &[][..], "the policy has it"), ("bob", &["--role", "lead"], "does not give them the role `lead`")]
    {
        let refused = add("ann", key, more);
        assert!(refused.code == 2 && refused.stderr.contains(why), "{refused:?}");
    }
    assert_eq!(add("bob", "bob", &["--role", "finance"]).code, 0);
    assert!(std::fs::read_to_string(&policy).unwrap().contains("# the end"));
    let decide = || {
        let request = place.file("request.json", REFUND);
        place.run(&["decide", &request, "--policy", &policy, "--json"])
    };
    let decision = place.file("decision.json", decide().stdout);
    let approve = |key: &str| {
        let words = ["decision", "approve", &decision, "--key", key, "--note", "checked", "--yes"];
        assert_eq!(place.run(&words).code, 0, "{key}");
    };
    approve("ann");
    approve("laptop");
    assert_eq!(decide().code, 1, "one person approved twice");
    approve("bob");
    assert_eq!(decide().code, 0);
}
