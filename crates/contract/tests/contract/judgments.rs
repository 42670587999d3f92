use proofmark_contract::judgment::{JudgedAttempt, TIER, draft_parts};
use proofmark_contract::{ApprovalAnswer, ApprovalFinding, AttemptOutcome, Contract, Event, RetryPlan, State};
use proofmark_receipt::{
    Draft, Receipt, ReceiptId, Sha256Digest, SigningKey, Status, Timestamp, Verdict, verify_chain,
};

use super::{NOW_MS, SPEC_BLOCK, calls, contract, judge};

#[test]
fn the_receipt_of_a_judgment_says_what_was_judged() {
    let contract = contract("mutating", SPEC_BLOCK);
    let response = "```result\n{\"visualVerification\": {\"performed\": true}}\n```";
    let trace = calls(r#"{"name": "open_simple_browser", "result": "ok"}"#);
    let judgment = judge(&contract, response, Some(&trace));
    let plan = RetryPlan::of(&contract, &judgment, 1);
    let event = Event::Submitted { attempt: 1, contract: contract.digest(), now_ms: NOW_MS };
    let state = State::Pending.apply(&event).unwrap();
    let state = state.apply(&Event::Judged { attempt: 1, outcome: judgment.outcome, plan, now_ms: NOW_MS }).unwrap();
    let parts = draft_parts(&JudgedAttempt {
        contract: &contract,
        judgment: &judgment,
        state: &state,
        run: "run-1",
        attempt: 1,
        response: response.as_bytes(),
        trace: Some(&trace),
        out_of_order: false,
        next: None,
        decision: None,
        awaits: &[],
    });

    assert_eq!(parts.verdict, Verdict::Partial);
    assert_eq!(parts.hashes.specification, contract.digest());
    assert_eq!(parts.hashes.output, Sha256Digest::of(response.as_bytes()));
    assert!(parts.hashes.tests.is_some());
    let details: Vec<_> = parts.results.details.iter().map(|detail| (detail.name.as_str(), detail.status)).collect();
    let expected = [
        ("result", Status::Pass),
        ("evidence:visualVerification.performed", Status::Pass),
        ("evidence:storybookInstance.url", Status::Error),
        ("toolCalls:open_simple_browser", Status::Pass),
        ("noOtherMutations", Status::Pass),
        ("ground", Status::Pass),
    ];
    assert_eq!(details, expected);
    let constraints: Vec<_> = parts.results.details.iter().filter_map(|detail| detail.constraint.as_deref()).collect();
    assert_eq!(constraints[1], "visualVerification.performed == true");
    let text = |name: &str| parts.metadata.get(name).and_then(|json| json.as_str()).map(str::to_owned);
    assert_eq!(text("state").as_deref(), Some("retry"));
    assert_eq!(text("fault").as_deref(), Some("submission"));
    assert_eq!(text("trace_digest"), Some(trace.digest.to_string()));
    assert_eq!(text("contract_digest"), Some(contract.digest().to_string()));
    assert_eq!(text("trace_form").as_deref(), Some("plain"));
}

#[test]
fn receipts_of_a_run_make_a_chain() {
    let contract = contract("readonly", "verification: {evidence: [{path: a, expect: 1}]}");
    let key = SigningKey::from_seed([1; 32]);
    let mut chain: Vec<Receipt> = Vec::new();
    for (attempt, response) in [(1, "no"), (2, "{\"a\": 1}")] {
        let judgment = judge(&contract, response, None);
        let state = if attempt == 1 { State::Pending } else { State::Accepted { attempt } };
        let parts = draft_parts(&JudgedAttempt {
            contract: &contract,
            judgment: &judgment,
            state: &state,
            run: "run-1",
            attempt,
            response: response.as_bytes(),
            trace: None,
            out_of_order: false,
            next: None,
            decision: None,
            awaits: &[],
        });
        let mut draft = Draft {
            receipt_id: ReceiptId::from_random_bytes([attempt as u8; 16]),
            verified_at: Timestamp::from_unix_millis(NOW_MS),
            tier: TIER,
            verdict: parts.verdict,
            task: Some(parts.task),
            results: parts.results,
            hashes: parts.hashes,
            metadata: parts.metadata,
        };
        draft.link(chain.last().and_then(Receipt::tip).as_ref());
        chain.push(draft.sign(&key).unwrap());
    }
    assert_eq!([chain[0].verdict(), chain[1].verdict()], [Verdict::Fail, Verdict::Pass]);
    verify_chain(&chain, None).unwrap();
}

#[test]
fn the_digest_of_a_contract_is_that_of_all_it_says() {
    let digest = |class: &str, rest: &str| contract(class, rest).digest();
    let block = "verification: {evidence: [{path: a, expect: 1}], toolCalls: [{name: deploy}]}";
    let same = digest("mutating", block);
    assert_eq!(same, digest("mutating", block));
    assert_ne!(same, digest("readonly", block));
    assert_ne!(same, digest("mutating", &block.replace("expect: 1", "expect: 2")));
    assert_ne!(same, digest("mutating", &format!("{block}\nonFailure: {{maxAttempts: 5}}")));
}

#[test]
fn people_are_asked_last_and_what_they_do_not_say_is_not_met() {
    let block = "verification:\n  evidence: [{path: a, expect: 1}]\n  approvals: [{role: owner}, {role: legal}]\n";
    let contract = contract("readonly", block);
    assert_eq!(judge(&contract, "{}", None).outcome, AttemptOutcome::RejectAndRetry);
    let judgment = judge(&contract, r#"{"a": 1}"#, None);
    assert_eq!(judgment.outcome, AttemptOutcome::AwaitApproval);
    let finding = |met| ApprovalFinding { met, message: "x".to_owned() };
    let table = [
        (ApprovalAnswer::Judged(vec![finding(true), finding(true)]), AttemptOutcome::Accept),
        (ApprovalAnswer::Judged(vec![finding(true), finding(false)]), AttemptOutcome::AwaitApproval),
        (ApprovalAnswer::Judged(vec![finding(true)]), AttemptOutcome::AwaitApproval),
        (ApprovalAnswer::Judged(Vec::new()), AttemptOutcome::AwaitApproval),
        (ApprovalAnswer::Refused("no".to_owned()), AttemptOutcome::RejectAndRetry),
    ];
    for (answer, outcome) in table {
        assert_eq!(judgment.clone().answered(&contract, &answer).outcome, outcome, "{answer:?}");
    }
    // No approval makes up for what the agent owes.
    let all = ApprovalAnswer::Judged(vec![finding(true), finding(true)]);
    assert_eq!(judge(&contract, "{}", None).answered(&contract, &all).outcome, AttemptOutcome::RejectAndRetry);
    let strict = super::contract("readonly", &format!("{block}  onMissingEvidence: reject-and-abort\n"));
    let denied = judge(&strict, r#"{"a": 1}"#, None).answered(&strict, &ApprovalAnswer::Refused("no".to_owned()));
    assert_eq!(denied.outcome, AttemptOutcome::RejectAndAbort);
}

#[test]
fn who_may_approve_is_part_of_the_contract() {
    let digest = |approvals: &str, reviewer: u8| {
        let key = SigningKey::from_seed([reviewer; 32]).signer();
        let step = format!("  - id: s\n    verification: {{evidence: [{{path: a, expect: 1}}]{approvals}}}\n");
        let listed = format!("reviewers: [{{name: Ann, key: '{key}', roles: [owner]}}]\n");
        let workflow = super::workflow(&format!("name: w\nclass: readonly\nsteps:\n{step}{listed}"));
        Contract::of(&workflow, "s", None, NOW_MS).unwrap().digest()
    };
    assert_ne!(digest(", approvals: [{role: owner}]", 1), digest(", approvals: [{role: owner}]", 2));
    assert_eq!(digest("", 1), digest("", 2), "where nobody is asked, who is listed proves nothing");
}
