//! What the allowed actions of a kind may come to together.

use proofmark_boundary::{
    ActionPolicy, Asker, Cases, Change, Counted, Decision, DecisionReceipt, Disposition, History, Moment, Recomputed,
    Request, decide, explain_policy, limit_keys, replay,
};
use proofmark_evidence::{Evidence, ReceiptFact};
use proofmark_receipt::{Json, ReceiptId, SigningKey};

use crate::support::{approval, codes, now, policy, request, yaml};

/// A limit on payments, with what is inserted.
fn paying(limit: &str, rest: &str) -> ActionPolicy {
    policy(&format!(
        "version: 1
boundaries:
  - id: payments
    match: {{action_class: record_mutation, tool: pay}}
    require:
      - limit: {{{limit}}}
{rest}"
    ))
}

fn daily() -> ActionPolicy {
    paying("id: paid, sum: action.args.amount, per: [recipient], window: 1d, max: 1000", "")
}

fn pay(amount: &str) -> Request {
    to(amount, "Ann")
}

fn to(amount: &str, recipient: &str) -> Request {
    request(&format!(
        "action: {{tool: pay, class: record_mutation, args: {{amount: {amount}}}, recipient: {recipient}}}"
    ))
}

/// Decides where each key of the policy's limits has counted so much.
fn after(policy: &ActionPolicy, request: &Request, used: &str, documents: Vec<ReceiptFact>) -> Decision {
    let keys = limit_keys(policy, request);
    let counted = keys.iter().map(|key| Counted {
        used: used.parse().unwrap(),
        total: "5000".parse().unwrap(),
        actions: 7,
        ..Counted::nothing(key.key)
    });
    let history = History { counted: counted.collect(), ..History::default() };
    decide(policy, request, &Evidence::new(documents), &Moment { now: now(), history })
}

/// What the decision adds, by limit.
fn added(decision: &Decision) -> Vec<Option<String>> {
    decision.limits().iter().map(|limit| limit.amount.map(|amount| amount.to_string())).collect()
}

#[test]
fn what_was_paid_before_counts() {
    let policy = daily();
    assert!(policy.warnings().is_empty(), "{:?}", policy.warnings());
    let within = after(&policy, &pay("90"), "910", Vec::new());
    assert!(within.allows());
    assert_eq!(added(&within), [Some("90".to_owned())]);
    assert_eq!(within.limits()[0].action().unwrap().total.to_string(), "5090");
    let over = after(&policy, &pay("90.01"), "910", Vec::new());
    assert_eq!(over.disposition(), Disposition::HumanReview);
    assert_eq!(codes(&over), ["limit_reached"]);
    let reason = over.reasons().next().unwrap();
    assert_eq!(reason.cause, Some("limit"));
    let detail = reason.detail.as_deref().unwrap();
    assert_eq!(detail, "910 of 1000 are used within 1 day, 90 are left, and this one is 90.01.");
    assert_eq!(added(&over), [None]);
}

#[test]
fn what_is_left_would_be_allowed() {
    let over = after(&daily(), &pay("900"), "910", Vec::new());
    let words: Vec<&str> = over.changes().iter().map(Change::words).collect();
    assert!(words.len() == 1 && words[0].contains("90"), "{words:?}");
    assert!(over.witness().is_some());
}

#[test]
fn another_recipient_is_promised_nothing() {
    let policy = paying(
        "id: paid, sum: action.args.amount, per: [recipient], max: 1000",
        "      - fact: action.recipient == 'Bob'\n",
    );
    let over = after(&policy, &pay("90"), "10", Vec::new());
    assert!(!over.allows());
    assert!(over.witness().is_none(), "nobody knows what Bob was paid: {:?}", over.changes());
}

#[test]
fn what_cannot_be_counted_is_not_allowed() {
    let policy = paying(
        "id: paid, sum: action.args.amount, per: [recipient], max: 1000",
        "        unless: {approval: {role: lead}}\n",
    );
    let list = |count: usize| (0..count).map(|n| format!("r{n}")).collect::<Vec<_>>().join(", ");
    for (amount, recipient) in [
        ("-1", "Ann"),
        ("'90'", "Ann"),
        ("1e15", "Ann"),
        ("0.0000000001", "Ann"),
        ("[90]", "Ann"),
        ("90", "{name: Ann}"),
        ("90", "[]"),
        ("90", "null"),
        ("90", &format!("[{}]", list(65))),
        ("90", &"x".repeat(4_097)),
    ] {
        let request = to(amount, recipient);
        for documents in [Vec::new(), vec![approval(1, "lead", &request)]] {
            let decision = after(&policy, &request, "0", documents);
            assert!(!decision.allows(), "{amount} to {recipient}");
        }
    }
    assert!(after(&policy, &to("90", &format!("[{}]", list(64))), "0", Vec::new()).allows());
    // Nothing is known of it, which is not nothing.
    assert!(!crate::support::decided(&policy, &pay("90"), Vec::new()).allows());
}

#[test]
fn nobody_brings_a_count_of_their_own() {
    let policy = daily();
    let with = "{action: {tool: pay, class: record_mutation, args: {amount: 1}, recipient: Ann},
                 limits: {paid: {used: 0, left: 1000}}}";
    match Request::read(&yaml(with)) {
        Ok(request) => assert!(!crate::support::decided(&policy, &request, Vec::new()).allows()),
        Err(error) => assert!(error.to_string().contains("limits"), "{error}"),
    }
    let mut facts = pay("1").facts().clone();
    facts.insert("limits", yaml("{paid: {used: 0, left: 1000}}"));
    let request = Request::from_facts(facts).unwrap();
    assert!(!crate::support::decided(&policy, &request, Vec::new()).allows());
    assert!(!after(&policy, &request, "1000", Vec::new()).allows());
}

#[test]
fn an_approval_allows_more_and_counts() {
    let policy = paying("id: paid, sum: action.args.amount, max: 1000", "        unless: {approval: {role: lead}}\n");
    let request = pay("90");
    let lifted = after(&policy, &request, "1000", vec![approval(1, "lead", &request)]);
    assert!(lifted.allows());
    assert_eq!(added(&lifted), [Some("90".to_owned())]);
}

#[test]
fn spellings_of_one_recipient_are_counted_together_and_recipients_apart() {
    let policy = daily();
    let keys = |recipient: &str| -> Vec<String> {
        limit_keys(&policy, &to("1", recipient)).iter().map(|key| key.key.to_string()).collect()
    };
    assert_eq!(keys("Ann"), keys("' ann '"));
    assert_eq!(keys("Ann"), keys("\"A\\u200bnn\""));
    assert_eq!(keys("Ann"), keys("[Ann, ann]"));
    assert_eq!(keys("ann@x.com"), keys("'Ann Lee <ANN@x.Com>'"));
    assert_eq!(keys("'bob@x.com, ann@x.com'"), [keys("ann@x.com"), keys("bob@x.com")].concat());
    assert_ne!(keys("Ann"), keys("Bob"));
    assert_eq!(keys("[Ann, Bob]"), [keys("Ann"), keys("Bob")].concat());
    // A renamed limit begins a new count, another bound does not.
    let other = paying("id: spent, sum: action.args.amount, per: [recipient], max: 1000", "");
    let wider = paying("id: paid, sum: action.args.amount, per: [recipient], window: 2d, max: 5", "");
    let key = |policy: &ActionPolicy| limit_keys(policy, &pay("1"))[0].key;
    assert_ne!(key(&daily()), key(&other));
    assert_eq!(key(&daily()), key(&wider));
}

#[test]
fn the_largest_count_of_several_recipients_decides() {
    let policy = daily();
    let both = to("90", "[Ann, Bob]");
    let keys = limit_keys(&policy, &both);
    let counted = keys
        .iter()
        .zip(["0", "950"])
        .map(|(key, used)| Counted { used: used.parse().unwrap(), ..Counted::nothing(key.key) });
    let history = History { counted: counted.collect(), ..History::default() };
    let decision = decide(&policy, &both, &Evidence::default(), &Moment { now: now(), history });
    assert!(!decision.allows());
}

#[test]
fn the_smallest_count_of_several_recipients_is_that_of_a_stranger() {
    let known = paying("id: known, sum: count, per: [recipient], min: 1", "");
    let both = to("90", "[Ann, Bob]");
    let decided = |counts: [&str; 2]| {
        let counted = limit_keys(&known, &both)
            .into_iter()
            .zip(counts)
            .map(|(key, used)| Counted { used: used.parse().unwrap(), ..Counted::nothing(key.key) });
        let history = History { counted: counted.collect(), ..History::default() };
        decide(&known, &both, &Evidence::default(), &Moment { now: now(), history }).allows()
    };
    assert!(decided(["1", "3"]));
    assert!(!decided(["0", "3"]) && !decided(["3", "0"]));
}

#[test]
fn limits_together_count_an_action_under_a_number_of_values() {
    let policy = paying(
        "id: one, sum: count, per: [recipient], max: 9",
        "      - limit: {id: two, sum: count, per: [recipient], max: 9}\n",
    );
    let list = |count: usize| format!("[{}]", (0..count).map(|n| format!("r{n}")).collect::<Vec<_>>().join(", "));
    assert!(after(&policy, &to("1", &list(32)), "0", Vec::new()).allows());
    assert!(!after(&policy, &to("1", &list(33)), "0", Vec::new()).allows());
}

#[test]
fn actions_are_counted_and_can_be_asked_for() {
    let once = paying("id: refunds, sum: count, per: [action.args.order], max: 1", "");
    let refund = request("action: {tool: pay, class: record_mutation, args: {order: A-1}}");
    assert!(after(&once, &refund, "0", Vec::new()).allows());
    assert!(!after(&once, &refund, "1", Vec::new()).allows());
    let known = paying("id: known, sum: count, per: [recipient], min: 1", "        unless: {approval: {role: lead}}\n");
    let first = after(&known, &pay("1"), "0", Vec::new());
    assert_eq!(codes(&first), ["too_few_before"]);
    let detail = first.reasons().next().unwrap().detail.as_deref().unwrap();
    assert_eq!(detail, "0 of 1 that have to come before it are counted in all.");
    let approved = after(&known, &pay("1"), "0", vec![approval(1, "lead", &pay("1"))]);
    assert_eq!(added(&approved), [Some("1".to_owned())]);
    assert!(after(&known, &pay("1"), "1", Vec::new()).allows());
}

#[test]
fn a_session_is_counted_by_the_name_that_the_decider_knows() {
    let policy = paying("id: calls, sum: count, per: [session, agent], max: 3", "");
    let request = request("{action: {tool: pay, class: record_mutation}, agent: {id: a}}");
    assert!(limit_keys(&policy, &request).is_empty());
    let head = proofmark_session::SessionHead { session: "s".to_owned(), entries: 0, last_entry: None };
    let asked = request.asked_by(&Asker { session: Some(head), ..Asker::default() });
    assert_eq!(limit_keys(&policy, &asked).len(), 1);
    assert!(after(&policy, &asked, "2", Vec::new()).allows());
    let policy = paying("id: calls, sum: count, per: [account], max: 3", "");
    assert!(limit_keys(&policy, &asked).is_empty());
    let asked = request.asked_by(&Asker { account: Some("laptop".to_owned()), ..Asker::default() });
    assert_eq!(limit_keys(&policy, &asked)[0].of.to_text(), "{\"account\":\"laptop\"}");
}

#[test]
fn rules_read_what_was_counted() {
    let policy = paying(
        "id: paid, sum: action.args.amount, max: 1000",
        "    warn:\n      - {when: limits.paid.used > 800, reason: {code: nearly, message: Nearly all is used.}}\n",
    );
    assert_eq!(codes(&after(&policy, &pay("1"), "900", Vec::new())), ["nearly"]);
    assert!(codes(&after(&policy, &pay("1"), "100", Vec::new())).is_empty());
}

#[test]
fn a_decision_says_what_was_counted_and_replays() {
    let policy = daily();
    let (request, key) = (pay("90"), SigningKey::from_seed([1; 32]));
    for used in ["910", "990"] {
        let decision = after(&policy, &request, used, Vec::new());
        let id = ReceiptId::from_random_bytes([1; 16]);
        let receipt = DecisionReceipt::draft(&decision, &request, id, None).sign(&key).unwrap();
        let again = DecisionReceipt::parse(receipt.to_text().as_bytes()).unwrap();
        assert_eq!(replay(&again, &request, &policy, &[], &[key.signer()]).recomputed, Recomputed::Same);
        let limits = receipt.document().get("binding").and_then(|binding| binding.as_object()?.get("limits"));
        let limit = limits.and_then(Json::as_array).unwrap()[0].as_object().unwrap();
        let text = |name: &str| limit.get(name).and_then(Json::as_str).unwrap_or_default();
        assert_eq!([text("id"), text("max"), text("window"), text("used")], ["paid", "1000", "within 1 day", used]);
        assert_eq!(limit.get("of").map(Json::to_text).unwrap(), "{\"action.recipient\":\"ann\"}");
    }
}

#[test]
fn cases_say_what_was_used() {
    let cases = |used: &str| {
        let text = format!(
            "cases:
  - name: one
    request: {{action: {{tool: pay, class: record_mutation, args: {{amount: 90}}, recipient: Ann}}}}
    {used}
    expect: {{outcome: allow}}"
        );
        Cases::read(&yaml(&text)).map(|cases| cases.cases[0].run(&daily()).differences)
    };
    assert!(cases("now: 2026-03-01T12:00:00Z").unwrap().is_empty());
    assert!(cases("used: {paid: 910}").unwrap().is_empty());
    assert_eq!(
        cases("used: {paid: 911}").unwrap(),
        ["outcome is `allow`"].map(|_| "outcome is `replan_required`, expected `allow`")
    );
    assert!(cases("used: {spent: 911}").unwrap()[0].contains("`spent`"));
    assert!(cases("used: {paid: -1}").is_err());
}

#[test]
fn limits_are_read_strictly() {
    let error = |limit: &str| {
        let text = format!(
            "version: 1\nboundaries:\n  - id: payments\n    match: {{tool: pay}}\n    require:\n      - limit: {{{limit}}}\n"
        );
        ActionPolicy::read(&yaml(&text)).unwrap_err().to_string()
    };
    for (limit, says) in [
        ("id: a, sum: count", "neither `max` nor `min`"),
        ("sum: count, max: 1", "limit.id`: missing field"),
        ("id: a-b, sum: count, max: 1", "letters, digits"),
        ("id: a, sum: agent.id, max: 1", "not name a number of the action"),
        ("id: a, sum: count, max: 0", "above 0"),
        ("id: a, sum: count, max: '5'", "a number"),
        ("id: a, sum: count, max: 1, per: [who]", "not name a value of the action"),
        ("id: a, sum: count, max: 1, windw: 1d", "windw"),
        ("id: a, sum: count, max: 1, per: [agent, agent.id]", "twice"),
        ("id: a, sum: count, max: 1, per: [agent.account]", "not name a value of the action"),
        ("id: a, sum: count, max: 1, per: [action.args]", "not name a value of the action"),
        ("id: a, sum: count, max: 1, per: [action.nosuch]", "nosuch"),
        ("id: a, sum: action.nosuch, min: 1", "nosuch"),
        ("id: a, sum: action.tool, max: 1", "action.tool"),
        ("id: in, sum: count, max: 1", "limits.in"),
        ("id: a, sum: count, max: 1, window: soon", "soon"),
    ] {
        let said = error(limit);
        assert!(said.contains(says), "{limit}: {said}");
    }
    let twice = "version: 1
boundaries:
  - {id: a, match: {tool: one}, require: [{limit: {id: same, sum: count, max: 1}}]}
  - {id: b, match: {tool: two}, require: [{limit: {id: same, sum: count, max: 1}}]}";
    assert!(ActionPolicy::read(&yaml(twice)).unwrap_err().to_string().contains("another limit"));
    let words = explain_policy(&daily());
    assert!(
        words.contains("the sum of `action.args.amount` for each `action.recipient` within 1 day to be at most 1000"),
        "{words}"
    );
}
