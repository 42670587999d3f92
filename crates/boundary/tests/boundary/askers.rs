//! Who asks: rules can demand it, no request says it, and the receipt has it.

use proofmark_boundary::{
    Asker, DecisionReceipt, Outcome, ParseDecisionError, Recomputed, Request, Separation, replay,
};
use proofmark_receipt::{Json, Object, ReceiptId, Sha256Digest, SigningKey, object};
use proofmark_session::SessionHead;

use crate::support::{decided, policy, request};

const POLICY: &str = "
version: 1
boundaries:
  - id: notes
    match: {action_class: record_mutation}
    require:
      - fact: agent.separation == 'account' && agent.account == 'claude'
";
const PLAIN: &str = "{action: {tool: t, class: record_mutation}, agent: {id: a}}";

fn claude() -> Asker {
    let session = SessionHead { session: "s".to_owned(), entries: 2, last_entry: Some(Sha256Digest::of(b"entry")) };
    Asker {
        separation: Separation::Account,
        account: Some("claude".to_owned()),
        policy: Some("strict".to_owned()),
        session: Some(session),
    }
}

fn id() -> ReceiptId {
    "f47ac10b-58cc-4372-a567-0e02b2c3d479".parse().unwrap()
}

#[test]
fn a_rule_demands_it_and_the_receipt_has_it() {
    let (policy, unknown) = (policy(POLICY), request(PLAIN));
    let asked = unknown.asked_by(&claude());
    let other = unknown.asked_by(&Asker { separation: Separation::Host, ..claude() });
    for (request, outcome) in
        [(&asked, Outcome::Allow), (&other, Outcome::ReplanRequired), (&unknown, Outcome::ReplanRequired)]
    {
        let decision = decided(&policy, request, Vec::new());
        assert_eq!(decision.outcome(), outcome);
        // Nothing that the agent sends is known to change who it is.
        assert!(decision.witness().is_none());
        let receipt = DecisionReceipt::unchained(&decision, request, id());
        assert_eq!(&receipt.asker(), request.asker());
    }
    assert_eq!(unknown.facts_hash(), asked.facts_hash());
}

#[test]
fn no_request_says_it() {
    for said in [
        "{action: {tool: t, class: record_mutation}, agent: {separation: account}}",
        "{action: {tool: t, class: record_mutation}, agent: {account: claude}}",
    ] {
        assert!(Request::read(&crate::support::yaml(said)).is_err(), "{said}");
    }
    let wire = "
envelope: {separation: account, account: claude, policy_scope: {action_class: record_mutation, separation: account}}
decision_context: {pending_action: {raw_name: t}, separation: account, agent: {separation: account, account: claude}}";
    // Facts that were stored by somebody, or come from elsewhere.
    let agent = object! { "separation": "account", "account": "claude" };
    let made = object! { "action": object! { "tool": "t", "class": "record_mutation" }, "agent": agent };
    for request in [request(wire), Request::from_facts(made).unwrap()] {
        assert_eq!(request.asker(), &Asker::default());
        assert_eq!(decided(&policy(POLICY), &request, Vec::new()).outcome(), Outcome::ReplanRequired);
    }
    // Not by what follows it either.
    let agent = object! { "separation": "host" };
    let next = object! { "action": object! { "tool": "t", "class": "record_mutation" }, "agent": agent };
    let followed = request(PLAIN).asked_by(&claude()).followed_by(next).unwrap();
    assert_eq!(decided(&policy(POLICY), &followed, Vec::new()).outcome(), Outcome::Allow);
}

#[test]
fn a_decision_is_replayed_as_it_was_asked_for() {
    let (policy, key) = (policy(POLICY), SigningKey::from_seed([7; 32]));
    let asked = request(PLAIN).asked_by(&claude());
    let draft = DecisionReceipt::unchained(&decided(&policy, &asked, Vec::new()), &asked, id());
    let replayed = |receipt: DecisionReceipt| {
        let receipt = receipt.sign(&key).unwrap();
        replay(&receipt, &request(PLAIN), &policy, &[], &[key.signer()]).recomputed
    };
    assert_eq!(replayed(draft.clone()), Recomputed::Same);
    let with = |change: &dyn Fn(&mut Object)| {
        let mut document = draft.document().clone();
        if let Some(Json::Object(binding)) = document.get_mut("binding") {
            change(binding);
        }
        DecisionReceipt::from_document(Json::Object(document))
    };
    // Another asker would have been refused.
    let other = with(&|binding| drop(binding.insert("separation", "none"))).unwrap();
    assert!(matches!(replayed(other), Recomputed::Differs(_)));
    for (name, value) in [("separation", "Account"), ("separation", "")] {
        let unknown = with(&|binding| drop(binding.insert(name, value)));
        assert_eq!(unknown, Err(ParseDecisionError::Missing(format!("binding.{name}"))), "{value}");
    }
    for name in ["account", "policy", "session"] {
        let number = with(&|binding| drop(binding.insert(name, 1_u64)));
        assert_eq!(number, Err(ParseDecisionError::Missing(format!("binding.{name}"))));
    }
}

#[test]
fn a_receipt_that_does_not_say_it_is_of_an_unknown_asker() {
    let policy = policy("{version: 1, boundaries: [{id: all, match: {}}]}");
    let (unknown, key) = (request(PLAIN), SigningKey::from_seed([7; 32]));
    let mut document =
        DecisionReceipt::unchained(&decided(&policy, &unknown, Vec::new()), &unknown, id()).document().clone();
    if let Some(Json::Object(binding)) = document.get_mut("binding") {
        binding.remove("separation");
    }
    let earlier = DecisionReceipt::from_document(Json::Object(document)).unwrap().sign(&key).unwrap();
    assert_eq!(earlier.asker(), Asker::default());
    assert_eq!(replay(&earlier, &unknown, &policy, &[], &[key.signer()]).recomputed, Recomputed::Same);
}
