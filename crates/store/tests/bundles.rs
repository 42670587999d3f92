//! What is kept together or not at all.
#![allow(clippy::unwrap_used, reason = "helpers of tests")]

use proofmark_receipt::{Draft, Hashes, Object, Receipt, ReceiptId, Results, Sha256Digest, Timestamp, Verdict};
use proofmark_store::{Bundle, Decision, DecisionIndex, NewReceipt, Spend, StepRun, Store, StoreError, Tenant};

fn receipt(seed: u8) -> Receipt {
    let digest = Sha256Digest::of(&[seed]);
    let draft = Draft {
        receipt_id: ReceiptId::from_random_bytes([seed; 16]),
        verified_at: Timestamp::from_unix_millis(0),
        tier: 1,
        verdict: Verdict::Error,
        task: None,
        results: Results::default(),
        hashes: Hashes { specification: digest, output: digest, tests: None },
        metadata: Object::new(),
    };
    draft.unsigned().unwrap()
}

fn run(version: u64, state: &str) -> StepRun {
    StepRun {
        run: "r1".to_owned(),
        begun_by: "local".to_owned(),
        step: "build".to_owned(),
        version,
        state: state.to_owned(),
    }
}

fn decision(id: &str) -> Decision {
    Decision {
        decision_id: id.to_owned(),
        decided_at: 1,
        outcome: "allow".to_owned(),
        allowed: true,
        fingerprint: "f".to_owned(),
        position: 0,
        document: "{}".to_owned(),
        hash: Some(Sha256Digest::of(b"{}")),
        about: DecisionIndex::default(),
    }
}

const FIRST: &str = "6f1c1c62-7d1a-4d4e-9c1a-000000000001";
const SECOND: &str = "6f1c1c62-7d1a-4d4e-9c1a-000000000002";

fn store() -> (tempfile::TempDir, Store) {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(&folder.path().join("store.db")).unwrap();
    (folder, store)
}

#[test]
fn a_judgment_and_its_state_are_kept_together() {
    let (_folder, whole) = store();
    let store = whole.of(&Tenant::LOCAL);
    let new = NewReceipt::of(receipt(1));
    let bundle = Bundle { receipt: Some(new), run: Some(run(1, "retry")), ..Bundle::default() };
    store.submit_bundle(bundle).wait().unwrap();
    assert_eq!(store.step_run("local", "r1", "build").unwrap(), Some(run(1, "retry")));
    assert!(store.receipt(&receipt(1).receipt_id()).unwrap().is_some());
    assert_eq!(store.step_runs(None).unwrap(), [run(1, "retry")]);
    assert_eq!(store.step_runs(Some("other")).unwrap(), []);
}

#[test]
fn of_two_judgments_that_race_one_is_refused_whole() {
    let (_folder, whole) = store();
    let store = whole.of(&Tenant::LOCAL);
    let attempt = |seed, state: &str| {
        let new = NewReceipt::of(receipt(seed));
        store.submit_bundle(Bundle { receipt: Some(new), run: Some(run(1, state)), ..Bundle::default() })
    };
    let (first, second) = (attempt(1, "accepted"), attempt(2, "accepted"));
    first.wait().unwrap();
    let moved = StoreError::RunMoved { run: "r1".to_owned(), step: "build".to_owned() };
    assert_eq!(second.wait(), Err(moved));
    assert_eq!(store.receipt(&receipt(2).receipt_id()).unwrap(), None);
}

#[test]
fn a_receipt_is_spent_once_and_with_its_decision() {
    let (_folder, whole) = store();
    let store = whole.of(&Tenant::LOCAL);
    let spend = |id: &str| {
        let spends = vec![Spend::of(&receipt(7))];
        let position = whole.all_tenants_last_decision().unwrap().map_or(0, |last| last.position + 1);
        let decision = Decision { position, ..decision(id) };
        let bundle = Bundle { decision: Some(decision), spends, spent_by: id.to_owned(), ..Bundle::default() };
        store.submit_bundle(bundle).wait()
    };
    spend(FIRST).unwrap();
    assert!(store.is_spent(&Spend::of(&receipt(7))).unwrap());
    assert_eq!(spend(SECOND), Err(StoreError::Spent(receipt(7).receipt_id())));
    assert_eq!(store.decision(SECOND).unwrap(), None);
    assert_eq!(store.decision(FIRST).unwrap(), Some(decision(FIRST)));
    let again = Bundle { decision: Some(decision(FIRST)), ..Bundle::default() };
    assert_eq!(store.submit_bundle(again).wait(), Err(StoreError::DecisionKept(FIRST.to_owned())));
    let gap = Decision { decision_id: "d3".to_owned(), position: 2, ..decision("d3") };
    let gap = Bundle { decision: Some(gap), ..Bundle::default() };
    assert_eq!(store.submit_bundle(gap).wait(), Err(StoreError::DecisionMoved { next: 1 }));
    let twice = Bundle { spends: vec![Spend::of(&receipt(8)); 2], ..Bundle::default() };
    assert_eq!(store.submit_bundle(twice).wait(), Err(StoreError::Spent(receipt(8).receipt_id())));
}
