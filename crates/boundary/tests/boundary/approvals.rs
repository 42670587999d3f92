//! Who approves, and what of.

use proofmark_boundary::{
    ActionPolicy, Admission, DecisionReceipt, Denial, Disposition, History, Moment, Recomputed, admits, decide, replay,
};
use proofmark_evidence::{ApprovalFact, AskedBy, Evidence, ReceiptFact, Reviewer};
use proofmark_receipt::{ReceiptId, Sha256Digest, SignerId, SigningKey, Trust};

use crate::support::{approval, causes, codes, decided, moment, now, own, policy, request, reviewer};

fn asked(environment: &str, agent: &str) -> proofmark_boundary::Request {
    request(&format!(
        "action: {{tool: wipe, class: system_change, args: {{disk: all}}}}\nagent: {{environment: {environment}, id: {agent}}}"
    ))
}

fn approving(demand: &str) -> String {
    format!("version: 1\nboundaries:\n  - id: b\n    match: {{}}\n    require:\n      - approval: {{{demand}}}\n")
}

/// An approval the server that decides signed for the caller with this id, to whom it gives the role.
fn vouched(id: &str, role: &str, of: &proofmark_boundary::Request) -> ReceiptFact {
    let mut fact = approval(9, role, of);
    fact.content = Sha256Digest::of(format!("{id} as {role}").as_bytes());
    fact.approval.as_mut().unwrap().reviewer =
        Some(Reviewer { id: id.to_owned(), key: None, roles: vec![role.to_owned()] });
    fact
}

fn holding(roles: &[&str], mut fact: ReceiptFact) -> ReceiptFact {
    let reviewer = fact.approval.as_mut().unwrap().reviewer.as_mut().unwrap();
    reviewer.roles = roles.iter().map(|role| (*role).to_owned()).collect();
    fact
}

#[test]
fn an_approval_counts_where_and_for_whom_it_was_given() {
    let (staging, production) = (asked("staging", "a"), asked("production", "a"));
    let nameless = request("action: {tool: wipe, class: system_change, args: {disk: all}}");
    let given = || vec![approval(1, "lead", &staging)];
    let whole = policy(&approving("role: lead"));
    assert_eq!(decided(&whole, &staging, given()).disposition(), Disposition::Allow);
    assert_eq!(causes(&decided(&whole, &production, given())), ["other_environment"]);
    assert_eq!(causes(&decided(&whole, &nameless, given())), ["other_environment"]);
    assert_eq!(causes(&decided(&whole, &asked("staging", "b"), given())), ["other_agent"]);
    let action = policy(&approving("role: lead, binds: [action]"));
    let agent = policy(&approving("role: lead, binds: [action, agent]"));
    assert_eq!(decided(&action, &production, given()).disposition(), Disposition::Allow);
    assert_eq!(decided(&agent, &production, given()).disposition(), Disposition::Allow);
    assert_eq!(causes(&decided(&agent, &asked("production", "b"), given())), ["other_agent"]);
}

#[test]
fn what_would_change_it_and_resuming_know_what_binds() {
    let (staging, production) = (asked("staging", "a"), asked("production", "a"));
    for (demand, admitted) in [
        ("role: lead, count: 2", false),
        ("role: lead, count: 2, binds: [action]", true),
        ("role: lead, count: 2, distinct: false", false),
        ("role: lead, count: 2, distinct: false, binds: [action, agent]", true),
    ] {
        let policy = policy(&approving(demand));
        let blocked = decided(&policy, &production, vec![]);
        assert!(!blocked.changes().is_empty(), "{demand}");
        let receipt = DecisionReceipt::draft(&blocked, &production, ReceiptId::from_random_bytes([1; 16]), None);
        let evidence = Evidence::new(vec![approval(1, "lead", &staging), approval(2, "lead", &staging)]);
        let admission = admits(&receipt, &policy, &production, &evidence, &moment(1));
        assert_eq!(admission == Admission::Admitted, admitted, "{demand}: {admission:?}");
        let allows = decide(&policy, &production, &evidence, &moment(1)).allows();
        assert_eq!(allows, admitted, "{demand}");
    }
}

/// An approval that names this key as its reviewer's.
fn naming(key: SignerId, mut fact: ReceiptFact) -> ReceiptFact {
    fact.approval.as_mut().unwrap().reviewer.as_mut().unwrap().key = Some(key);
    fact
}

#[test]
fn callers_of_a_server_are_different_people() {
    let action = asked("p", "a");
    let text = approving("role: lead, count: 2");
    let both = vec![vouched("ann", "lead", &action), vouched("bob", "lead", &action)];
    assert_eq!(decided(&policy(&text), &action, both.clone()).disposition(), Disposition::Allow);
    // A signer who is not the server gives one approval, no matter who is named in it.
    let listed = policy(&format!("{text}roles: {{lead: ['{}', '{}']}}\n", reviewer(1), reviewer(9)));
    assert_eq!(causes(&decided(&listed, &action, both.into_iter().map(own).collect())), ["same_reviewer"]);
    // The caller's own key makes one person of both ways to approve.
    let by_server = naming(reviewer(1), holding(&[], vouched("ann", "lead", &action)));
    let twice = vec![by_server, own(approval(1, "lead", &action))];
    assert_eq!(causes(&decided(&listed, &action, twice)), ["same_reviewer"]);
}

/// An approval that the server with this key has signed for its caller.
fn by_server(server: u8, id: &str, of: &proofmark_boundary::Request) -> ReceiptFact {
    ReceiptFact {
        signer: Some(reviewer(server)),
        receipt_id: format!("{id} by {server}"),
        content: Sha256Digest::of(format!("{id} {server}").as_bytes()),
        ..vouched(id, "lead", of)
    }
}

#[test]
fn a_caller_is_one_person_at_all_servers_of_an_installation() {
    let action = asked("p", "a");
    let text = approving("role: lead, count: 2");
    let (old, new) = (reviewer(8), reviewer(9));
    let callers = ["ann", "bob"].map(|id| format!("'reviewer:{id}@{old}', 'reviewer:{id}@{new}'")).join(", ");
    let listed = policy(&format!("{text}roles: {{lead: [{callers}]}}\n"));
    // Before and after its key was replaced, and of two servers with a key each: both vouch, or only the one that decides.
    for first in [by_server(8, "ann", &action), own(by_server(8, "ann", &action))] {
        let twice = decided(&listed, &action, vec![first.clone(), by_server(9, "ann", &action)]);
        assert_eq!(causes(&twice), ["same_reviewer"]);
        let both = decided(&listed, &action, vec![first, by_server(9, "bob", &action)]);
        assert_eq!(both.disposition(), Disposition::Allow);
    }
}

#[test]
fn the_keys_of_one_reviewer_are_one_person() {
    let action = asked("p", "a");
    let text = approving("role: lead, count: 2");
    let (first, second, server) = (reviewer(1), reviewer(2), reviewer(9));
    let listed = policy(&format!(
        "{text}reviewers:\n  - {{name: ann, key: ['{first}', '{second}', 'reviewer:ann@{server}'], roles: [lead]}}\n  \
         - {{name: bob, key: '{}', roles: [lead]}}\n",
        reviewer(3)
    ));
    let by = |number: u8| own(approval(number, "lead", &action));
    for twice in
        [vec![by(1), by(2)], vec![by(2), by_server(9, "ann", &action)], vec![by(1), own(by_server(9, "ann", &action))]]
    {
        assert_eq!(causes(&decided(&listed, &action, twice)), ["same_reviewer"]);
    }
    assert_eq!(decided(&listed, &action, vec![by(2), by(3)]).disposition(), Disposition::Allow);
}

#[test]
fn a_key_that_is_known_for_other_documents_approves_nothing() {
    let action = asked("p", "a");
    let known = |trust, fact| ReceiptFact { trust, ..own(fact) };
    for (count, others) in [("role: lead", vec![]), ("role: lead, count: 2", vec![own(approval(2, "lead", &action))])] {
        let listed = policy(&format!("{}roles: {{lead: ['{}', '{}']}}\n", approving(count), reviewer(1), reviewer(2)));
        for (trust, expected) in [(Trust::Untrusted, false), (Trust::Unknown, true), (Trust::Trusted, true)] {
            let facts = [vec![known(trust, approval(1, "lead", &action))], others.clone()].concat();
            assert_eq!(decided(&listed, &action, facts).allows(), expected, "{count}, {trust:?}");
        }
    }
}

#[test]
fn an_approval_is_its_signers() {
    let action = asked("p", "a");
    let text = approving("role: lead");
    let listing = |members: &str| policy(&format!("{text}roles: {{{members}}}\n"));
    let causes = |policy: &ActionPolicy, fact: ReceiptFact| causes(&decided(policy, &action, vec![fact]));
    let counts = |policy: &ActionPolicy, fact: ReceiptFact| causes(policy, fact).is_empty();
    let (ann, server) = (reviewer(1), reviewer(9));
    let by_ann = || own(approval(1, "lead", &action));
    let for_ann = || naming(ann, vouched("ann", "lead", &action));
    // Nobody is listed, so nobody can approve: neither a key that somebody made nor the key of the decider.
    let nobody = policy(&text);
    assert_eq!(causes(&nobody, by_ann()), ["role_of_nobody"]);
    assert_eq!(causes(&nobody, own(for_ann())), ["role_of_nobody"]);
    assert!(counts(&nobody, for_ann()), "the server that decides gives the role to its caller");
    let key = listing(&format!("lead: ['{ann}']"));
    assert!(counts(&key, by_ann()));
    assert_eq!(causes(&key, own(approval(2, "lead", &action))), ["signer_not_trusted"]);
    // The key that decides names her, and where nobody vouches for callers that is its own word.
    assert_eq!(causes(&key, own(for_ann())), ["signer_not_trusted"]);
    assert_eq!(causes(&key, own(naming(ann, approval(9, "lead", &action)))), ["signer_not_trusted"]);
    assert!(counts(&key, holding(&[], for_ann())), "her API key names her key, which the policy lists");
    assert_eq!(causes(&key, holding(&["owner"], vouched("bob", "lead", &action))), ["signer_not_trusted"]);
    // Only a policy that lists the very key lets it approve.
    assert!(counts(&listing(&format!("lead: ['{server}']")), own(for_ann())));
    let caller = listing(&format!("lead: ['reviewer:ann@{server}']"));
    assert!(counts(&caller, own(vouched("ann", "lead", &action))), "the policy lists the caller of another server");
    assert_eq!(causes(&caller, own(vouched("bob", "lead", &action))), ["signer_not_trusted"]);
    // A policy that takes a server's word on one caller does not take it on the holders of keys.
    let mixed = listing(&format!("lead: ['{ann}'], owner: ['reviewer:bob@{server}']"));
    assert_eq!(causes(&mixed, own(naming(ann, vouched("bob", "lead", &action)))), ["signer_not_trusted"]);
}

#[test]
fn a_reviewer_approves_in_the_roles_that_they_hold() {
    let action = asked("p", "a");
    let text = format!("{}      - approval: {{role: owner}}\n", approving("role: lead"));
    let listing = |name: &str, key: u8, roles: &str| {
        format!("  - {{name: {name}, key: '{}', roles: [{roles}]}}\n", reviewer(key))
    };
    let both = || ["lead", "owner"].map(|role| own(approval(1, role, &action))).to_vec();
    let lead = policy(&format!("{text}reviewers:\n{}{}", listing("ann", 1, "lead"), listing("bob", 2, "owner")));
    assert_eq!(causes(&decided(&lead, &action, both())), ["signer_not_trusted"]);
    let held = policy(&format!("{text}reviewers:\n{}", listing("ann", 1, "lead, owner")));
    assert_eq!(decided(&held, &action, both()).disposition(), Disposition::Allow);
}

#[test]
fn what_a_passkey_signed_is_its_holders() {
    let action = asked("p", "a");
    let passkey = |digit: &str| format!("eddsa:{}@https://a.example", digit.repeat(64));
    let signed = |digit: &str, fact| ReceiptFact { passkey: Some(passkey(digit).parse().unwrap()), ..fact };
    let listing = |demand: &str| {
        policy(&format!(
            "{}reviewers:\n  - {{name: ann, passkey: '{}', roles: [lead]}}\n  - {{name: bob, key: '{}', roles: [lead]}}\n",
            approving(demand),
            passkey("1"),
            reviewer(2)
        ))
    };
    let causes = |policy: &ActionPolicy, facts: Vec<ReceiptFact>| causes(&decided(policy, &action, facts));
    let (any, only) = (listing("role: lead"), listing("role: lead, passkey: true"));
    // This holds for every signer of the receipt around it, and for every name in the receipt.
    for around in [own(approval(9, "lead", &action)), approval(2, "lead", &action)] {
        assert!(causes(&only, vec![signed("1", around.clone())]).is_empty());
        assert_eq!(causes(&any, vec![signed("3", around)]), ["signer_not_trusted"]);
    }
    assert!(causes(&any, vec![own(approval(2, "lead", &action))]).is_empty());
    assert_eq!(causes(&only, vec![own(approval(2, "lead", &action))]), ["no_passkey"]);
    // The roles of an API key are those of its caller, and not of a passkey.
    assert_eq!(
        causes(&policy(&approving("role: lead")), vec![signed("1", vouched("ann", "lead", &action))]),
        ["role_of_nobody"]
    );
    // One assertion in two receipts is one approval.
    let two = listing("role: lead, count: 2, distinct: false");
    let again = ReceiptFact { receipt_id: "again".to_owned(), ..signed("1", approval(9, "lead", &action)) };
    assert_eq!(causes(&two, vec![signed("1", approval(9, "lead", &action)), again]), ["absent"]);
    // What would change it, and a replay, know it.
    let blocked = decided(&only, &action, vec![]);
    assert!(
        blocked.changes().iter().any(|change| change.words().contains("with a passkey")),
        "{:?}",
        blocked.changes()
    );
    let receipt = DecisionReceipt::draft(&blocked, &action, ReceiptId::from_random_bytes([1; 16]), None);
    for (fact, admitted) in
        [(signed("1", approval(9, "lead", &action)), true), (own(approval(2, "lead", &action)), false)]
    {
        let admission = admits(&receipt, &only, &action, &Evidence::new(vec![fact]), &moment(1));
        assert_eq!(admission == Admission::Admitted, admitted, "{admission:?}");
    }
    let key = SigningKey::from_seed([1; 32]);
    let allowed = decided(&only, &action, vec![signed("1", approval(9, "lead", &action))]);
    let receipt =
        DecisionReceipt::draft(&allowed, &action, ReceiptId::from_random_bytes([1; 16]), None).sign(&key).unwrap();
    let again = DecisionReceipt::parse(receipt.to_text().as_bytes()).unwrap();
    assert!(replay(&again, &action, &only, &[], &[key.signer()]).is_same());
}

#[test]
fn a_denial_answers_and_replays() {
    let action = asked("p", "a");
    let policy = policy(&approving("role: lead"));
    let denial = Denial {
        decision_id: "d1".to_owned(),
        reviewer: "ann".to_owned(),
        note: "Not on a Friday.".to_owned(),
        until: "2026-03-01T18:00:00Z".parse().unwrap(),
    };
    let moment = Moment { now: now(), history: History { denied: 5, denial: Some(denial), ..History::default() } };
    let evidence = Evidence::new(vec![approval(1, "lead", &action)]);
    let denied = decide(&policy, &action, &evidence, &moment);
    assert_eq!((denied.disposition(), codes(&denied)), (Disposition::TerminalBlock, vec!["human_denied".to_owned()]));
    assert_eq!(&*denied.reasons().next().unwrap().message, "Not on a Friday.");
    assert!(denied.spends().is_empty());
    let key = SigningKey::from_seed([1; 32]);
    let receipt =
        DecisionReceipt::draft(&denied, &action, ReceiptId::from_random_bytes([1; 16]), None).sign(&key).unwrap();
    let again = DecisionReceipt::parse(receipt.to_text().as_bytes()).unwrap();
    let replayed = replay(&again, &action, &policy, &[], &[key.signer()]);
    assert!(replayed.recomputed == Recomputed::Same && replayed.is_same(), "{replayed:?}");
}

#[test]
fn decisions_on_reviewed_actions_replay() {
    let action = asked("p", "a");
    let text = format!("{}      - approval: {{role: owner}}\n", approving("role: lead, count: 3"));
    let policy = policy(&text);
    let key = SigningKey::from_seed([1; 32]);
    let documents = vec![
        vouched("ann", "lead", &action),
        holding(&["lead"], vouched("bob", "lead", &action)),
        vouched("ann", "owner", &action),
        ReceiptFact { spent: true, spent_by: Some("d0".to_owned()), ..approval(3, "owner", &action) },
        approval(3, "lead", &asked("q", "a")),
    ];
    let decision = decided(&policy, &action, documents);
    assert_eq!(causes(&decision).len(), 1, "{:?}", causes(&decision));
    let receipt =
        DecisionReceipt::draft(&decision, &action, ReceiptId::from_random_bytes([1; 16]), None).sign(&key).unwrap();
    let again = DecisionReceipt::parse(receipt.to_text().as_bytes()).unwrap();
    let replayed = replay(&again, &action, &policy, &[], &[key.signer()]);
    assert!(replayed.is_same(), "{replayed:?}");
    let decision = decided(
        &policy,
        &action,
        vec![ReceiptFact { spent: true, spent_by: Some("decision d0".to_owned()), ..approval(3, "owner", &action) }],
    );
    let details: Vec<_> = decision.reasons().filter_map(|reason| reason.detail.clone()).collect();
    assert!(details.iter().any(|detail| detail.contains("used up before, by decision d0")), "{details:?}");
}

#[test]
fn an_approval_counts_for_what_its_reviewer_was_shown() {
    let (action, policy) = (asked("p", "a"), policy(&approving("role: lead")));
    let shown = |change: &dyn Fn(&mut ApprovalFact)| {
        let mut fact = approval(1, "lead", &action);
        change(fact.approval.as_mut().unwrap());
        decided(&policy, &action, vec![fact])
    };
    assert!(shown(&|_| ()).allows());
    // The digest of another action, none, and that of another agent, environment or asker.
    let other = asked("p", "b").subject();
    let refused: [&dyn Fn(&mut ApprovalFact); 5] = [
        &|approval| approval.shown = Some(proofmark_evidence::shown(&other, &AskedBy::default())),
        &|approval| approval.shown = None,
        &|approval| approval.asked_by.account = Some("claude".to_owned()),
        &|approval| approval.asked_by.separation = Some("host".to_owned()),
        &|approval| approval.shown = Some(approval.subject.action),
    ];
    for (number, change) in refused.iter().enumerate() {
        assert_eq!(causes(&shown(change)), ["other_action"], "{number}");
    }
    // What is refused is part of the receipt, and a replay finds it again.
    let decision = shown(&|approval| approval.shown = None);
    let receipt = DecisionReceipt::draft(&decision, &action, ReceiptId::from_random_bytes([1; 16]), None);
    assert_eq!(replay(&receipt, &action, &policy, &[], &[]).recomputed, Recomputed::Same);
}

const LIMITED: &str = "version: 1
boundaries:
  - id: pay
    match: {tool: pay}
    require:
      - approval: {role: finance}
    deny:
      - when: action.args.amount > 1000
        reason: {code: over_limit, message: Too much.}
";

#[test]
fn nobody_is_asked_for_an_approval_that_would_not_help() {
    let policy = policy(LIMITED);
    let receipt = |amount: u64| {
        let request = request(&format!("action: {{tool: pay, class: generic, args: {{amount: {amount}}}}}"));
        let decision = decided(&policy, &request, Vec::new());
        DecisionReceipt::draft(&decision, &request, ReceiptId::from_random_bytes([1; 16]), None)
    };
    let (waits, denied) = (receipt(600), receipt(2600));
    let member = |receipt: &DecisionReceipt, name: &str| receipt.document().get(name).unwrap().to_text();
    assert!(member(&waits, "safe_next_steps").contains("ask_for_approval"));
    let guidance = member(&waits, "viewer_guidance");
    assert!(guidance.contains("proofmark decision approve ID") && guidance.contains("/ui/decisions/ID"), "{guidance}");
    let steps = member(&denied, "safe_next_steps");
    assert!(steps.contains("go_on_without") && !steps.contains("ask_for_approval"), "{steps}");
}

#[test]
fn an_action_that_lacks_something_is_said_to_lack_it() {
    let policy = policy(
        "version: 1
boundaries:
  - id: deploy
    match: {}
    require: [{receipt: {any_suite: true, output: sha256(action.args.patch)}}]
",
    );
    let request = request("action: {tool: pay, class: generic, args: {amount: 1}}");
    let decision = decided(&policy, &request, Vec::new());
    let receipt = DecisionReceipt::draft(&decision, &request, ReceiptId::from_random_bytes([1; 16]), None);
    let guidance = receipt.document().get("viewer_guidance").unwrap().to_text();
    assert!(guidance.contains("on this action as it is: `action.args.patch` is absent."), "{guidance}");
}
