//! Receipts signed and chained, retries admitted, decisions replayed.

use proofmark_boundary::{Admission, DecisionReceipt, Disposition, Recomputed, admits, decide, replay};
use proofmark_evidence::{Approval, ApprovalError, Evidence, ReceiptFact, Reviewer, shown_of};
use proofmark_receipt::{
    Json, Object, Profile, ReceiptId, Sha256Digest, SignError, SignatureStatus, SigningKey, Trust, verify_receipt,
};

use crate::rules::{POLICY, REQUEST};
use crate::support::{approval, moment, now, policy, receipt, request};

fn id(number: u8) -> ReceiptId {
    ReceiptId::from_random_bytes([number; 16])
}

/// The digest of what a reviewer of the decision is shown.
fn shown(decision: &DecisionReceipt) -> Sha256Digest {
    shown_of(decision.document().get("binding").unwrap().as_object().unwrap())
}

#[test]
fn blocked_then_verified_then_approved_then_allowed_then_spent() {
    let reviewer = SigningKey::from_seed([2; 32]);
    let roles = format!("roles: {{release-manager: '{}'}}\n", reviewer.signer());
    let policy = policy(&(POLICY.replace("count: 2", "count: 1") + &roles));
    let request = request(REQUEST);
    let key = SigningKey::from_seed([1; 32]);
    let blocked = decide(&policy, &request, &Evidence::default(), &moment(0));
    let first = DecisionReceipt::draft(&blocked, &request, id(1), None).sign(&key).unwrap();
    assert_eq!(first.disposition(), Disposition::HumanReview);
    assert_eq!(first.verify(&[key.signer()]).trust, Trust::Trusted);

    assert_eq!(Approval::roles_asked(first.document()), ["release-manager"]);
    let said = Approval {
        reviewer: Some(Reviewer::of_key(reviewer.signer())),
        role: "release-manager".to_owned(),
        note: "checked".to_owned(),
        expires_at: "2026-03-01T13:00:00Z".parse().unwrap(),
        shown: shown(&first),
    };
    let signed = said.draft(first.document(), id(2), now()).unwrap().sign(&reviewer).unwrap();
    let verified = verify_receipt(&signed, Profile::Vrf, &[reviewer.signer()]);
    assert_eq!(verified.answer, SignatureStatus::Valid);
    let approved = ReceiptFact::new(&signed, &verified, false);

    let only_receipt = Evidence::new(vec![receipt("r", "diff")]);
    let unmet = admits(&first, &policy, &request, &only_receipt, &moment(1));
    assert!(matches!(unmet, Admission::ConditionsUnmet(unmet) if unmet.len() == 1));

    let both = Evidence::new(vec![receipt("r", "diff"), approved.clone()]);
    assert_eq!(admits(&first, &policy, &request, &both, &moment(1)), Admission::Admitted);
    let allowed = decide(&policy, &request, &both, &moment(1));
    assert_eq!(allowed.disposition(), Disposition::Allow);
    let tip = first.tip();
    let second = DecisionReceipt::draft(&allowed, &request, id(3), tip.as_ref()).sign(&key).unwrap();
    assert_eq!(second.tip().unwrap().position, 1);

    let spent = Evidence::new(vec![receipt("r", "diff"), approved].into_iter().map(spend).collect());
    let again = decide(&policy, &request, &spent, &moment(1));
    assert_eq!(again.disposition(), Disposition::HumanReview);
    assert!(matches!(
        admits(&second, &policy, &request, &spent, &moment(1)),
        Admission::Refused { code: "not_blocked", .. }
    ));
    for receipt in [&first, &second] {
        let replayed = replay(receipt, &request, &policy, spent.documents(), &[key.signer()]);
        assert!(replayed.is_same(), "{replayed:?}");
        for trusted in [&[][..], &[reviewer.signer()]] {
            let replayed = replay(receipt, &request, &policy, &[], trusted);
            assert!(!replayed.is_same() && replayed.recomputed == Recomputed::Same, "{replayed:?}");
            assert_eq!(replayed.verification.signer, Some(key.signer()));
        }
    }
}

fn spend(fact: ReceiptFact) -> ReceiptFact {
    ReceiptFact { spent: true, ..fact }
}

#[test]
fn a_replay_says_where_it_differs() {
    let policy = policy(POLICY);
    let request = request(REQUEST);
    let decision = decide(&policy, &request, &Evidence::new(vec![receipt("r", "diff")]), &moment(0));
    let receipt_of = DecisionReceipt::draft(&decision, &request, id(1), None);
    let replay = |receipt: &_, request: &_, policy: &_, presented: &[_]| {
        let replayed = replay(receipt, request, policy, presented, &[]);
        assert!(!replayed.is_same() && replayed.verification.answer.code() == Some("unsigned"));
        replayed.recomputed
    };
    let differences = |replayed: Recomputed| match replayed {
        Recomputed::Differs(differences) => differences.into_iter().map(|difference| difference.at).collect::<Vec<_>>(),
        other => panic!("{other:?}"),
    };
    let changed = crate::support::request(&REQUEST.replace("id: a1", "id: a2"));
    assert_eq!(differences(replay(&receipt_of, &changed, &policy, &[])), ["binding.agent", "binding.facts_hash"]);
    let stricter = crate::support::policy(&POLICY.replace("max_age: 1h", "max_age: 10m"));
    assert!(differences(replay(&receipt_of, &request, &stricter, &[])).contains(&"binding.policy_hash".to_owned()));
    let forged = ReceiptFact { tier: 1, ..receipt("r", "diff") };
    assert_eq!(differences(replay(&receipt_of, &request, &policy, &[forged])), ["evidence of r"]);
    let mut tampered = receipt_of.document().clone();
    tampered.insert("what_would_change_this", Vec::new());
    let tampered = DecisionReceipt::from_document(Json::Object(tampered)).unwrap();
    assert_eq!(differences(replay(&tampered, &request, &policy, &[])), ["what_would_change_this"]);
}

#[test]
fn only_what_a_trusted_signer_signed_is_replayed_as_the_same() {
    let (policy, request) = (policy(POLICY), request(REQUEST));
    let (key, stranger) = (SigningKey::from_seed([1; 32]), SigningKey::from_seed([3; 32]));
    let decision = decide(&policy, &request, &Evidence::default(), &moment(0));
    let draft = DecisionReceipt::draft(&decision, &request, id(1), None);
    let replayed = |receipt: &DecisionReceipt| replay(receipt, &request, &policy, &[], &[key.signer()]);
    let signed = draft.clone().sign(&key).unwrap();
    assert!(replayed(&signed).is_same());

    let code = |receipt: &DecisionReceipt| {
        let replayed = replayed(receipt);
        assert!(!replayed.is_same() && replayed.recomputed == Recomputed::Same, "{replayed:?}");
        (replayed.verification.answer.code(), replayed.verification.trust)
    };
    assert_eq!(code(&draft), (Some("unsigned"), Trust::Unknown));
    assert_eq!(code(&draft.sign(&stranger).unwrap()), (None, Trust::Untrusted));
    // Not even what says how it was issued can be changed.
    for (name, value) in
        [("decision_id", Json::from(id(9).to_string())), ("issuer_key", Json::from(stranger.signer().to_string()))]
    {
        let mut document = signed.document().clone();
        document.insert(name, value);
        let tampered = DecisionReceipt::from_document(Json::Object(document)).unwrap();
        assert_eq!(code(&tampered), (Some("content_hash_mismatch"), Trust::Unknown));
    }
}

#[test]
fn documents_beside_an_unknown_when_are_kept_for_the_replay() {
    let policy = policy(
        "version: 1
boundaries:
  - id: b
    match: {}
    when: 'upstream.ready'
    require:
      - receipt: {any_suite: true, output: 'sha256(action.args.patch)', max_age: 1h}
      - approval: {role: lead}
",
    );
    let request = request("action: {tool: t, class: upload, args: {patch: p}}\n");
    let key = SigningKey::from_seed([1; 32]);
    for documents in [vec![], vec![receipt("r", "p")], vec![receipt("r", "p"), approval(1, "lead", &request)]] {
        let needed = 3 - documents.len();
        let decision = decide(&policy, &request, &Evidence::new(documents.clone()), &moment(0));
        assert_eq!(decision.changes().len(), needed, "{:?}", decision.changes());
        let signed = DecisionReceipt::draft(&decision, &request, id(1), None).sign(&key).unwrap();
        assert_eq!(Approval::roles_asked(signed.document()), Vec::<String>::new());
        let replayed = replay(&signed, &request, &policy, &documents, &[key.signer()]);
        assert!(replayed.is_same(), "{replayed:?}");
    }
    // However many are presented, the receipt keeps a few, and what it says follows from those.
    let many: Vec<_> = (0..40).map(|number| receipt(&format!("r{number}"), "p")).collect();
    let decision = decide(&policy, &request, &Evidence::new(many), &moment(0));
    let signed = DecisionReceipt::draft(&decision, &request, id(1), None).sign(&key).unwrap();
    assert_eq!(signed.document().get("evidence").and_then(Json::as_array).unwrap().len(), 1 + 16);
    assert!(replay(&signed, &request, &policy, &[], &[key.signer()]).is_same());
}

#[test]
fn a_decision_that_no_reader_could_read_is_not_signed() {
    let key = SigningKey::from_seed([1; 32]);
    let sign = |length: usize| {
        let upstream = format!("upstream: {{workflow_id: {}}}\n", "x".repeat(length));
        let request = request(&format!("{REQUEST}{upstream}"));
        let decision = decide(&policy(POLICY), &request, &Evidence::default(), &moment(0));
        DecisionReceipt::draft(&decision, &request, id(1), None).sign(&key)
    };
    let signed = sign(1_000_000).unwrap();
    assert_eq!(DecisionReceipt::parse(signed.to_text().as_bytes()), Ok(signed));
    assert!(matches!(sign(1_100_000), Err(SignError::TooLarge(_))));
}

#[test]
fn contradictory_receipts_are_not_read() {
    let decision = decide(&policy(POLICY), &request(REQUEST), &Evidence::default(), &moment(0));
    let good = DecisionReceipt::draft(&decision, &request(REQUEST), id(1), None);
    let mut disposition = good.document().get("disposition").unwrap().clone();
    if let Json::Object(disposition) = &mut disposition {
        disposition.insert("downstream_allowed", true);
    }
    for (name, _) in good.document().iter() {
        let mut document = good.document().clone();
        document.remove(name);
        let error = DecisionReceipt::from_document(Json::Object(document)).unwrap_err();
        assert_eq!(error.code(), if name == "receipt_type" { "not_a_decision" } else { "missing_field" }, "{name}");
    }
    for (name, value, code) in [
        ("outcome", Json::from("Allow"), "contradiction"),
        ("outcome", Json::from("allow"), "contradiction"),
        ("safe_to_execute", Json::Bool(true), "contradiction"),
        ("human_review_terminal", Json::Bool(false), "contradiction"),
        ("receipt_type", Json::from("other"), "not_a_decision"),
        ("vrf_version", Json::from("1.0"), "not_a_decision"),
        ("decision_id", Json::Null, "missing_field"),
        ("decision_id", Json::from("d1"), "missing_field"),
        ("reasons", Json::from(vec![Json::from("because")]), "missing_field"),
        ("routing", Json::from(Object::new()), "missing_field"),
        ("binding", Json::from(Object::new()), "missing_field"),
        ("runtime_loopback", Json::Null, "contradiction"),
        ("disposition", disposition, "contradiction"),
    ] {
        let mut document = good.document().clone();
        document.insert(name, value);
        let error = DecisionReceipt::from_document(Json::Object(document)).unwrap_err();
        assert_eq!(error.code(), code, "{name}");
    }
}

#[test]
fn nothing_is_admitted_that_could_not_be_allowed() {
    let request = request("action: {tool: t, class: upload}\nfacts: []\n");
    let blocked_by = |text: &str| {
        let policy = policy(text);
        let decision = decide(&policy, &request, &Evidence::default(), &moment(0));
        let receipt = DecisionReceipt::draft(&decision, &request, id(1), None);
        (policy, receipt)
    };
    let (unmatched, receipt) = blocked_by("version: 1\nboundaries: []\n");
    let admission = admits(&receipt, &unmatched, &request, &Evidence::default(), &moment(1));
    assert!(matches!(admission, Admission::Refused { code: "nothing_would_change", .. }));
    let (other, _) = blocked_by("version: 1\nboundaries: [{id: b, match: {}}]\n");
    assert_eq!(admits(&receipt, &other, &request, &Evidence::default(), &moment(1)), Admission::Admitted);
    let (ended, receipt) = blocked_by("version: 1\nboundaries: []\nunmatched: goal_fail_terminal\n");
    let admission = admits(&receipt, &ended, &request, &Evidence::default(), &moment(1));
    assert!(matches!(admission, Admission::Refused { code: "terminal", .. }));
}

#[test]
fn the_changes_are_the_smallest() {
    let policy = policy(POLICY);
    let request = request(&REQUEST.replace(
        "facts: [{type: ticket, payload: {ticket_id: T-17, approved_by: lead}, source: lookup}]",
        "facts: []",
    ));
    let documents = vec![approval(1, "release-manager", &request)];
    let decision = decide(&policy, &request, &Evidence::new(documents), &moment(0));
    let kinds: Vec<_> = decision.changes().iter().map(|change| change.kind()).collect();
    assert_eq!(kinds, ["fact", "receipt", "approval"]);
    assert!(decision.changes().iter().all(|change| !change.is_assumed()));
}

#[test]
fn approvals_need_a_decision_a_role_a_note_and_time() {
    let decision = decide(&policy(POLICY), &request(REQUEST), &Evidence::default(), &moment(0));
    let receipt = DecisionReceipt::draft(&decision, &request(REQUEST), id(1), None);
    let said = |role: &str, note: &str, until: &str| Approval {
        reviewer: Some(Reviewer::of_key(crate::support::reviewer(2))),
        role: role.to_owned(),
        note: note.to_owned(),
        expires_at: until.parse().unwrap(),
        shown: shown(&receipt),
    };
    let late = "2026-03-01T13:00:00Z";
    let tried = |said: Approval| said.draft(receipt.document(), id(2), now()).unwrap_err();
    assert_eq!(tried(said("r", " ", late)), ApprovalError::Note);
    assert_eq!(tried(said("", "n", late)), ApprovalError::Role);
    assert_eq!(tried(said("r", "n", "2026-03-01T11:00:00Z")), ApprovalError::Expired);
    let other = said("r", "n", late).draft(&proofmark_receipt::Object::new(), id(2), now());
    assert_eq!(other.unwrap_err(), ApprovalError::NotADecision("decision_id"));
    let blind = Approval { shown: Sha256Digest::of(b"another action"), ..said("r", "n", late) };
    assert_eq!(tried(blind), ApprovalError::OtherAction);
}
