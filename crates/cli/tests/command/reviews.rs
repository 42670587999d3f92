//! Approving on the command line: once a person, only what waits, and only where it was asked.

use insta::assert_snapshot;
use proofmark_receipt::Json;

use crate::run::{Done, Place};
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

/// A place with two people of finance, and both to trust.
struct Finance {
    place: Place,
    people: [String; 2],
}

impl Finance {
    fn new() -> Self {
        let place = Place::new();
        assert_eq!(place.run(&["key", "new", "default"]).code, 0);
        let people = ["ann", "bob"].map(|name| {
            place.run(&["key", "new", name]);
            place.run(&["key", "show", name, "--format", "signer-id"]).stdout.trim().to_owned()
        });
        Self { place, people }
    }

    fn decide(&self, policy: &str, request: &str) -> Done {
        let (policy, request) = (self.place.file("policy.yaml", policy), self.place.file("request.json", request));
        let [ann, bob] = &self.people;
        self.place.run(&["decide", &request, "--action-policy", &policy, "--trust", ann, "--trust", bob, "--json"])
    }

    fn approve(&self, decision: &Done, who: &str) -> Done {
        let file = self.place.file("decision.json", &decision.stdout);
        self.place.run(&["approve", &file, "--key", who, "--note", "ok"])
    }
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
    let approve = ["approve", &decision, "--key", "ann", "--note", "ok", "--role", "chief"];
    let refused = finance.place.run(&approve);
    assert!(refused.code == 2 && refused.stderr.contains("finance"), "{refused:?}");
}

#[test]
fn an_approval_names_its_reviewer() {
    let finance = Finance::new();
    let approval = finance.approve(&finance.decide(POLICY, REFUND), "ann").stdout;
    let json = Json::parse(approval.as_bytes()).unwrap();
    let member = |json: &Json, name: &str| json.as_object().unwrap().get(name).unwrap().clone();
    let reviewer = ["metadata", "approval", "reviewer"].iter().fold(json, |json, name| member(&json, name));
    assert_eq!(member(&reviewer, "key").as_str(), Some(finance.people[0].as_str()));
    assert_eq!(member(&reviewer, "id").as_str(), Some(finance.people[0].as_str()));
}
