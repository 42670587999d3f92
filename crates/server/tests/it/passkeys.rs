//! Reviews over the API that a passkey has signed. The authenticator is that of the test, with a key of its own.

use ed25519_dalek::{Signer, SigningKey};
use proofmark_receipt::{Json, Object, Sha256Digest, object};
use proofmark_testing::Home;

use crate::client::{code, text};
use crate::server::{Options, Server, keys, new_key};

const PAGE: &str = "https://approvals.example";
const PAY: &str = r#"{"action": {"tool": "refund", "class": "system_change", "args": {"n": 1}}}"#;

/// A server whose policy gives a role to a passkey, with a decision that waits.
struct Desk {
    server: Server,
    agent: String,
    reviewer: String,
    _home: Home,
}

fn authenticator() -> SigningKey {
    SigningKey::from_bytes(&[9; 32])
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

impl Desk {
    fn open() -> Self {
        let home = Home::new();
        let (agent, first) = new_key("bot", "agent", "acme.shop");
        let (reviewer, second) = proofmark_server::new_key(
            "desk",
            proofmark_server::Role::Reviewer,
            "acme.shop",
            &proofmark_server::ReviewerEntry::default(),
        )
        .map(|(key, entry)| (key, entry.to_text()))
        .unwrap();
        let passkey = format!("eddsa:{}@{PAGE}", hex(authenticator().verifying_key().as_bytes()));
        let roles: Vec<_> = ["manager"].map(Json::from).into();
        let ann = object! { "name": "ann", "passkey": passkey, "roles": roles };
        let options =
            Options { keys: Some(keys(&[&first, &second])), reviewers: vec![ann.into()], ..Options::default() };
        let server = Server::with(&home, options);
        Self { server, agent, reviewer, _home: home }
    }

    fn ask(&self) -> Json {
        let (status, decision) = self.server.post("/v1/decisions", &self.agent, PAY);
        assert_eq!(status, 200, "{decision:?}");
        decision
    }

    fn path(decision: &Json) -> String {
        format!("/v1/reviews/{}", text(decision, "decision_id"))
    }

    fn statement(&self, decision: &Json, note: &str) -> Json {
        let body = object! { "note": note };
        let path = format!("{}/statement", Self::path(decision));
        let (status, statement) = self.server.post(&path, &self.reviewer, &Json::from(body).to_text());
        assert_eq!(status, 200, "{statement:?}");
        statement
    }

    /// The answer to an approval with this note and what the authenticator has signed.
    fn approve(&self, decision: &Json, note: &str, passkey: Object) -> (u16, Json) {
        let body = object! { "verdict": "approve", "note": note, "passkey": passkey };
        self.server.post(&Self::path(decision), &self.reviewer, &Json::from(body).to_text())
    }
}

/// What the authenticator signs of a statement, on a page of this origin, with these flags.
fn signed(to_sign: &Json, page: &str, flags: u8, counter: u32) -> Object {
    let statement = to_sign.as_object().unwrap().get("statement").unwrap();
    let challenge = text(to_sign, "challenge");
    let client_data =
        format!(r#"{{"type":"webauthn.get","challenge":"{challenge}","origin":"{page}","crossOrigin":false}}"#);
    let host = page.trim_start_matches("https://");
    let data = [Sha256Digest::of(host.as_bytes()).as_bytes(), &[flags][..], &counter.to_be_bytes()].concat();
    let message = [&data[..], Sha256Digest::of(client_data.as_bytes()).as_bytes()].concat();
    object! {
        "receipt_id": text(statement, "receipt_id"),
        "verified_at": text(statement, "verified_at"),
        "credential": "AQID",
        "authenticator_data": hex(&data),
        "client_data": client_data,
        "signature": hex(&authenticator().sign(&message).to_bytes()),
    }
}

#[test]
fn a_passkey_approves_over_the_api_and_the_policy_says_whose_it_is() {
    let desk = Desk::open();
    let decision = desk.ask();
    // The API key names a reviewer without a role.
    let word = r#"{"verdict": "approve", "note": "seen"}"#;
    let (status, refused) = desk.server.post(&Desk::path(&decision), &desk.reviewer, word);
    assert_eq!((status, code(&refused).as_str()), (422, "cannot_count"), "{refused:?}");
    let to_sign = desk.statement(&decision, "seen");
    let document = to_sign.as_object().unwrap().get("statement").unwrap().as_object().unwrap();
    // What is signed is the digest of exactly this.
    assert_eq!(proofmark_passkey::challenge(document), text(&to_sign, "challenge"));
    let passkey = signed(&to_sign, PAGE, 5, 1);
    let (status, reviewed) = desk.approve(&decision, "seen", passkey.clone());
    assert_eq!(status, 200, "{reviewed:?}");
    assert_eq!(text(&reviewed, "reviewer"), "ann");
    let (_, used) = desk.server.post("/v1/decisions", &desk.agent, PAY);
    assert!(matches!(text(&used, "outcome").as_str(), "allow" | "allow_with_warning"), "{used:?}");
    // The same once more, of the next decision, is of another one.
    let next = desk.ask();
    let (status, replayed) = desk.approve(&next, "seen", passkey);
    assert_eq!((status, code(&replayed).as_str()), (422, "passkey_refused"), "{replayed:?}");
}

#[test]
fn what_a_passkey_signed_otherwise_does_not_count() {
    let desk = Desk::open();
    let decision = desk.ask();
    let to_sign = desk.statement(&decision, "seen");
    let refused = |note: &str, passkey: Object| {
        let (status, refused) = desk.approve(&decision, note, passkey);
        assert_eq!((status, code(&refused).as_str()), (422, "passkey_refused"), "{refused:?}");
    };
    // Another note, another page, a user that was not verified, and a challenge of something else.
    refused("another", signed(&to_sign, PAGE, 5, 1));
    refused("seen", signed(&to_sign, "https://evil.example", 5, 1));
    refused("seen", signed(&to_sign, PAGE, 1, 1));
    let mut other = signed(&to_sign, PAGE, 5, 1);
    other.insert("receipt_id", "16fd2706-8baf-433b-82eb-8c7fada847da");
    refused("seen", other);
    for body in [
        r#"{"verdict": "approve", "note": "seen", "passkey": {}}"#,
        r#"{"verdict": "approve", "note": "seen", "passkey": "ann"}"#,
        r#"{"verdict": "deny", "note": "seen", "passkey": {}}"#,
    ] {
        let (status, refused) = desk.server.post(&Desk::path(&decision), &desk.reviewer, body);
        assert_eq!(status, 400, "{refused:?}");
    }
    // An agent has nothing to sign.
    let path = format!("{}/statement", Desk::path(&decision));
    assert_eq!(desk.server.post(&path, &desk.agent, r#"{"note": "seen"}"#).0, 403);
    assert_eq!(desk.approve(&decision, "seen", signed(&to_sign, PAGE, 5, 7)).0, 200);
    // A copy of the authenticator counts from where it was copied.
    desk.ask();
    let next = desk.ask();
    let to_sign = desk.statement(&next, "again");
    let (status, copied) = desk.approve(&next, "again", signed(&to_sign, PAGE, 5, 7));
    assert_eq!((status, code(&copied).as_str()), (422, "passkey_refused"), "{copied:?}");
}

/// A workflow names whom it asks, also where no policy of the server knows them.
#[test]
fn a_passkey_approves_an_attempt_at_a_workflow_step() {
    let desk = Desk::open();
    let passkey = format!("eddsa:{}@{PAGE}", hex(authenticator().verifying_key().as_bytes()));
    let workflow = format!(
        "name: change
class: readonly
steps: [{{id: plan, verification: {{evidence: [{{path: risk, expect: present}}], approvals: [{{role: owner, passkey: true}}]}}}}]
reviewers: [{{name: Ann, passkey: '{passkey}', roles: [owner]}}]"
    );
    let attempt = |run: &str| {
        let body = object! { "workflow": workflow.as_str(), "response": r#"{"risk": "low"}"# };
        let path = format!("/v1/steps/{run}/plan/attempts");
        desk.server.post(&path, &desk.agent, &Json::from(body).to_text()).1
    };
    let waits = |run: &str| {
        let answer = attempt(run);
        assert_eq!(text(&answer, "state"), "awaiting_approval", "{answer:?}");
        Json::from(object! { "decision_id": text(answer.as_object().unwrap().get("awaits").unwrap(), "decision") })
    };
    let (decision, other) = (waits("r1"), waits("r2"));
    let word = r#"{"verdict": "approve", "note": "seen"}"#;
    let (_, refused) = desk.server.post(&Desk::path(&decision), &desk.reviewer, word);
    assert_eq!(code(&refused), "cannot_count", "{refused:?}");
    let signed = signed(&desk.statement(&decision, "seen"), PAGE, 5, 1);
    let (_, replayed) = desk.approve(&other, "seen", signed.clone());
    assert_eq!(code(&replayed), "passkey_refused", "{replayed:?}");
    let (status, reviewed) = desk.approve(&decision, "seen", signed);
    assert_eq!((status, text(&reviewed, "reviewer").as_str()), (200, "Ann"), "{reviewed:?}");
    let accepted = attempt("r1");
    assert_eq!(text(&accepted, "state"), "accepted", "{accepted:?}");
    assert_eq!(text(&attempt("r2"), "state"), "awaiting_approval");
}
