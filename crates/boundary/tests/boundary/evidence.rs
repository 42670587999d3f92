//! Which receipts and approvals count.

use proofmark_boundary::{Disposition, EvidenceItem, Request, outputs_wanted};
use proofmark_evidence::{Comparison, ReceiptFact, ReceiptKind, Share, Spend};
use proofmark_receipt::{Sha256Digest, Trust, Verdict};

use crate::support::{approval, causes, decided, now, own, policy, receipt, request, reviewer};

const RECEIPT: &str = "version: 1
boundaries:
  - id: b
    match: {}
    require:
      - receipt: {any_suite: true, verdict: pass, tier: 0, output: 'sha256(action.args.patch)', max_age: 1h, single_use: true}
";

fn patching(patch: &str) -> Request {
    request(&format!("action: {{tool: apply, class: system_change, args: {{patch: {patch}}}}}"))
}

#[test]
fn a_receipt_counts_only_if_everything_about_it_is_right() {
    let policy = policy(RECEIPT);
    let request = patching("diff");
    let good = || receipt("r", "diff");
    let at = |time: &str| time.parse().unwrap();
    let bad: Vec<(ReceiptFact, &str)> = vec![
        (receipt("r", "other bytes"), "other_output"),
        (ReceiptFact { valid: false, trust: Trust::Unknown, ..good() }, "not_valid"),
        (ReceiptFact { trust: Trust::Untrusted, ..good() }, "signer_not_trusted"),
        (ReceiptFact { trust: Trust::Unknown, ..good() }, "signer_not_trusted"),
        (ReceiptFact { verdict: Verdict::Partial, ..good() }, "other_verdict"),
        (ReceiptFact { tier: 1, ..good() }, "other_tier"),
        (ReceiptFact { verified_at: at("2026-03-01T10:59:59Z"), ..good() }, "too_old"),
        (ReceiptFact { verified_at: at("2026-03-01T12:01:01Z"), ..good() }, "dated_in_the_future"),
        (ReceiptFact { spent: true, ..good() }, "spent"),
    ];
    for (fact, cause) in bad {
        let decision = decided(&policy, &request, vec![fact]);
        assert_eq!((decision.disposition(), causes(&decision)), (Disposition::LocalReplan, vec![cause]));
    }
    let none = decided(&policy, &request, Vec::new());
    assert_eq!(causes(&none), ["absent"]);
    let met = decided(&policy, &request, vec![good(), receipt("another", "other bytes")]);
    assert_eq!(met.disposition(), Disposition::Allow);
    assert_eq!(met.spends(), [Spend { receipt_id: "r".to_owned(), content: Sha256Digest::of(b"r") }]);
}

#[test]
fn what_was_proven_is_part_of_the_evidence() {
    let suite = |name: &str| Sha256Digest::of(name.as_bytes());
    let with = |field: &str| {
        policy(&format!(
            "version: 1\nboundaries: [{{id: b, match: {{}}, require: [{{receipt: {{output: 'sha256(action.args.patch)', {field}}}}}]}}]"
        ))
    };
    let pinned = format!("suite: '{}'", suite("ours"));
    let any = "any_suite: true";
    let in_process = "any_suite: true, comparison: in_process";
    let strong = "any_suite: true, strength: '>= 0.8'";
    let countered = "any_suite: true, counter_run: true";
    let locked = "any_suite: true, environment: {from: lock}";
    let packages = format!("any_suite: true, environment: '{}'", suite("packages"));
    let contradicted = "any_suite: true, counter_run: {contradicted: '>= 0.9'}";
    let tests = format!("any_suite: true, tests: '{}'", suite("tests"));
    let good = || ReceiptFact { suite: Some(suite("ours")), tests: Some(suite("tests")), ..receipt("r", "diff") };
    let table: Vec<(&str, ReceiptFact, Option<&str>)> = vec![
        (&pinned, good(), None),
        (&pinned, ReceiptFact { suite: Some(suite("the agent's")), ..good() }, Some("other_suite")),
        (&pinned, ReceiptFact { suite: None, ..good() }, Some("other_suite")),
        (any, ReceiptFact { suite: None, ..good() }, None),
        (any, ReceiptFact { kind: Some(ReceiptKind::StepAcceptance), ..good() }, Some("other_kind")),
        (any, ReceiptFact { kind: Some(ReceiptKind::Quorum), ..good() }, Some("other_kind")),
        (any, ReceiptFact { kind: None, ..good() }, Some("other_kind")),
        ("any_suite: true, kind: step_acceptance", good(), Some("other_kind")),
        (
            "any_suite: true, kind: step_acceptance",
            ReceiptFact { kind: Some(ReceiptKind::StepAcceptance), ..good() },
            None,
        ),
        (any, ReceiptFact { comparison: Some(Comparison::InProcess), ..good() }, Some("compared_in_process")),
        (any, ReceiptFact { comparison: None, ..good() }, Some("compared_in_process")),
        (in_process, ReceiptFact { comparison: Some(Comparison::InProcess), ..good() }, None),
        (in_process, good(), None),
        (strong, good(), Some("too_weak")),
        (strong, ReceiptFact { strength: Share::of(79, 100), ..good() }, Some("too_weak")),
        (strong, ReceiptFact { strength: Share::of(4, 5), ..good() }, None),
        (contradicted, good(), Some("not_contradicted")),
        (contradicted, ReceiptFact { counter_run: Share::of(89, 100), ..good() }, Some("not_contradicted")),
        (contradicted, ReceiptFact { counter_run: Share::of(9, 10), ..good() }, None),
        (countered, good(), Some("not_contradicted")),
        (countered, ReceiptFact { counter_run: Share::of(0, 3), ..good() }, None),
        (locked, good(), Some("other_packages")),
        (locked, ReceiptFact { environment: Some(suite("packages")), ..good() }, Some("other_packages")),
        (locked, ReceiptFact { environment_from: Some("lock".to_owned()), ..good() }, Some("other_packages")),
        (
            locked,
            ReceiptFact { environment: Some(suite("packages")), environment_from: Some("lock".to_owned()), ..good() },
            None,
        ),
        (&packages, good(), Some("other_packages")),
        (&packages, ReceiptFact { environment: Some(suite("other")), ..good() }, Some("other_packages")),
        (&packages, ReceiptFact { environment: Some(suite("packages")), ..good() }, None),
        (&tests, good(), None),
        (&tests, ReceiptFact { tests: Some(suite("other")), ..good() }, Some("other_tests")),
    ];
    let request = patching("diff");
    for (field, fact, cause) in table {
        let decision = decided(&with(field), &request, vec![fact]);
        assert_eq!(causes(&decision), cause.into_iter().collect::<Vec<_>>(), "{field}");
        let Some(EvidenceItem::Document { any_suite, .. }) =
            decision.evidence().find(|item| matches!(item, EvidenceItem::Document { .. }))
        else {
            panic!("{field}")
        };
        assert_eq!(*any_suite, field.contains("any_suite"), "{field}");
    }
    // What would change it is a receipt that is as strong, and no weaker one.
    let blocked = decided(&with(strong), &request, Vec::new());
    assert!(blocked.changes()[0].words().contains("with a strength of at least 0.8"), "{:?}", blocked.changes());
    assert!(blocked.changes()[0].predicate().contains("r.strength >= 0.8"), "{:?}", blocked.changes());
    let blocked = decided(&with(contradicted), &request, Vec::new());
    assert!(blocked.changes()[0].words().contains("at least 0.9 of them"), "{:?}", blocked.changes());
    assert!(blocked.changes()[0].predicate().contains("r.counter_run >= 0.9"), "{:?}", blocked.changes());
    for (field, words, predicate) in [
        (locked, "with the packages of a lock file".to_owned(), "r.environment_from == \"lock\"".to_owned()),
        (&packages, format!("with the packages {}", suite("packages")), "r.environment == ".to_owned()),
    ] {
        let blocked = decided(&with(field), &request, Vec::new());
        assert!(blocked.changes()[0].words().contains(&words), "{:?}", blocked.changes());
        assert!(blocked.changes()[0].predicate().contains(&predicate), "{:?}", blocked.changes());
    }
    // What would change it is the receipt of the suite, and none of another.
    let blocked = decided(&with(&pinned), &request, Vec::new());
    assert!(blocked.changes()[0].words().contains(&suite("ours").to_string()), "{:?}", blocked.changes());
    assert!(blocked.changes()[0].predicate().contains("r.suite =="), "{:?}", blocked.changes());
}

#[test]
fn each_rule_that_uses_a_receipt_up_has_its_own() {
    let policy = policy(
        "version: 1
boundaries:
  - {id: a, match: {}, require: [{receipt: {any_suite: true, output: 'sha256(action.args.patch)', single_use: true}}]}
  - {id: b, match: {}, require: [{receipt: {any_suite: true, output: 'sha256(action.args.patch)', tier: 0, single_use: true}}]}
  - {id: c, match: {}, require: [{receipt: {any_suite: true, output: 'sha256(action.args.patch)'}}]}
",
    );
    let request = patching("diff");
    // The newest for the first rule is the only one for the second.
    let deep = ReceiptFact { tier: 1, verified_at: "2026-03-01T11:00:00Z".parse().unwrap(), ..receipt("deep", "diff") };
    let plain = receipt("plain", "diff");
    for documents in [vec![deep.clone(), plain.clone()], vec![plain.clone(), deep.clone()]] {
        let decision = decided(&policy, &request, documents);
        assert_eq!(decision.disposition(), Disposition::Allow, "{:?}", causes(&decision));
        let spends: Vec<_> = decision.spends().iter().map(|spend| spend.receipt_id.as_str()).collect();
        assert_eq!(spends, ["deep", "plain"]);
    }
    assert_eq!(causes(&decided(&policy, &request, vec![plain])), ["used_by_another_rule"]);
    assert_eq!(causes(&decided(&policy, &request, vec![deep])), ["other_tier"]);
}

#[test]
fn approvals_that_lift_a_denial_are_looked_up() {
    let policy = policy(
        "version: 1
boundaries:
  - id: b
    match: {}
    deny: [{when: 'true', unless: {approval: {role: lead}}, reason: {code: tainted, message: Tainted.}}]
",
    );
    let request = patching("diff");
    let wanted = outputs_wanted(&policy, &request, &now());
    assert_eq!(wanted.into_iter().collect::<Vec<_>>(), [request.action_hash().to_string()]);
}

#[test]
fn the_nearest_refused_receipt_is_named() {
    let request = patching("diff");
    let documents = vec![
        receipt("elsewhere", "other bytes"),
        ReceiptFact { spent: true, ..receipt("used", "diff") },
        ReceiptFact { trust: Trust::Untrusted, ..receipt("stranger", "diff") },
    ];
    let decision = decided(&policy(RECEIPT), &request, documents);
    assert_eq!(causes(&decision), ["spent"]);
    assert!(decision.reasons().next().unwrap().detail.as_ref().unwrap().contains("used"));
}

#[test]
fn one_document_spelt_twice_is_one_document() {
    let twice = vec![
        ReceiptFact { spent: true, valid: false, trust: Trust::Unknown, ..receipt("r", "diff") },
        receipt("r", "diff"),
    ];
    let decision = decided(&policy(RECEIPT), &patching("diff"), twice);
    assert_eq!(causes(&decision), ["spent"]);
}

#[test]
fn a_policy_can_pin_keys_and_specifications() {
    let pinned = policy(&format!(
        "version: 1
boundaries:
  - id: b
    match: {{}}
    require:
      - receipt: {{output: 'sha256(action.args.patch)', specification: 'sha256(\"spec\")', signer: ['{}'], single_use: true}}
",
        reviewer(7)
    ));
    let request = patching("diff");
    let by = |number, spec: &[u8]| ReceiptFact {
        signer: Some(reviewer(number)),
        trust: Trust::Unknown,
        specification: Sha256Digest::of(spec),
        ..receipt("r", "diff")
    };
    assert_eq!(decided(&pinned, &request, vec![by(7, b"spec")]).disposition(), Disposition::Allow);
    assert_eq!(causes(&decided(&pinned, &request, vec![by(8, b"spec")])), ["signer_not_trusted"]);
    assert_eq!(causes(&decided(&pinned, &request, vec![by(7, b"another")])), ["other_specification"]);
}

#[test]
fn bytes_that_are_not_there_have_no_receipt() {
    let decision =
        decided(&policy(RECEIPT), &request("action: {tool: apply, class: system_change}"), vec![receipt("r", "")]);
    assert_eq!(causes(&decision), ["unknown"]);
}

const APPROVAL: &str = "version: 1
boundaries:
  - id: b
    match: {}
    require:
      - approval: {role: manager, count: 2}
";

#[test]
fn approvals_are_of_exactly_this_action_by_different_people() {
    let policy = policy(APPROVAL);
    let action = patching("diff");
    let (one, two) = (approval(1, "manager", &action), approval(2, "manager", &action));
    let second = |change: fn(&mut ReceiptFact)| {
        let mut fact = two.clone();
        change(&mut fact);
        fact
    };
    let bad: Vec<(ReceiptFact, &str)> = vec![
        (approval(2, "manager", &patching("changed")), "other_output"),
        (approval(2, "intern", &action), "absent"),
        (ReceiptFact { content: Sha256Digest::of(b"again"), ..one.clone() }, "same_reviewer"),
        (second(|fact| fact.valid = false), "not_valid"),
        (own(two.clone()), "role_of_nobody"),
        (second(|fact| fact.tier = 0), "other_tier"),
        (second(|fact| fact.verdict = Verdict::Fail), "other_verdict"),
        (second(|fact| fact.spent = true), "spent"),
        (second(|fact| fact.output = Sha256Digest::of(b"")), "other_output"),
        (
            second(|fact| {
                if let Some(approval) = &mut fact.approval {
                    approval.expires_at = "2026-03-01T12:00:00Z".parse().unwrap();
                }
            }),
            "expired",
        ),
    ];
    for (fact, cause) in bad {
        let decision = decided(&policy, &action, vec![one.clone(), fact]);
        assert_eq!((decision.disposition(), causes(&decision)), (Disposition::HumanReview, vec![cause]));
    }
    let met = decided(&policy, &action, vec![one, two]);
    assert_eq!(met.disposition(), Disposition::Allow);
    assert_eq!(met.spends().len(), 2);
    assert_eq!(met.expires_at().as_str(), "2026-03-01T12:05:00.000Z");
}

#[test]
fn roles_cannot_be_claimed() {
    let policy = policy(&format!("{APPROVAL}roles: {{manager: ['{}', '{}']}}\n", reviewer(1), reviewer(2)));
    let action = patching("diff");
    let by = |number| own(approval(number, "manager", &action));
    assert_eq!(decided(&policy, &action, vec![by(1), by(2)]).disposition(), Disposition::Allow);
    assert_eq!(causes(&decided(&policy, &action, vec![by(1), by(3)])), ["signer_not_trusted"]);
}

#[test]
fn a_receipt_is_no_approval_and_an_approval_no_receipt() {
    let action = patching("diff");
    let as_receipt = ReceiptFact { output: Sha256Digest::of(b"diff"), tier: 0, ..approval(1, "manager", &action) };
    assert_eq!(causes(&decided(&policy(RECEIPT), &action, vec![as_receipt])), ["absent"]);
    let as_approval = ReceiptFact { output: action.action_hash(), tier: 3, ..receipt("r", "") };
    assert_eq!(causes(&decided(&policy(APPROVAL), &action, vec![as_approval])), ["absent"]);
}
