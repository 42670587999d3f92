//! The content of the receipt by which a reviewer reopens a step: VRF 1.0, tier 3. It is of a kind of its own, and proves nothing
//! about the step.

use proofmark_evidence::HUMAN_TIER;
use proofmark_receipt::{Detail, Hashes, Json, Receipt, Results, Sha256Digest, Status, Task, Verdict, object};

use crate::contract::Contract;
use crate::judgment::DraftParts;
use crate::state::Retry;

/// The tier of these receipts.
pub const TIER: u8 = HUMAN_TIER;
/// What `metadata.kind` is.
pub const KIND: &str = "step_reopening";

/// A step that a reviewer reopens.
#[derive(Clone, Copy, Debug)]
pub struct Reopening<'a> {
    /// What the next attempt is judged by.
    pub contract: &'a Contract,
    pub run: &'a str,
    /// The name that the workflow or its policy has for the reviewer.
    pub reviewer: &'a str,
    /// Why.
    pub note: &'a str,
    /// The receipt that the reviewer was shown: that of the last attempt.
    pub last: &'a Receipt,
}

impl Reopening<'_> {
    /// The prompt of the next attempt: who reopened the step and why, and what was not accepted before.
    #[must_use]
    pub fn prompt(&self) -> String {
        let mut text = format!("{} reopened this step: {}\n\nNot accepted before:\n", self.reviewer, self.note);
        for detail in self.last.results().details.iter().filter(|detail| detail.status != Status::Pass) {
            let message = detail.message.as_deref().unwrap_or_default();
            text.push_str(&format!("- {}: {message}\n", detail.name));
        }
        text
    }

    /// The content of the receipt, for a step that awaits `retry` then.
    #[must_use]
    pub fn draft_parts(&self, retry: &Retry) -> DraftParts {
        let contract = self.contract;
        let detail = Detail { message: Some(self.note.to_owned()), ..Detail::new("human review", Status::Pass) };
        DraftParts {
            verdict: Verdict::Pass,
            results: Results::from_details(vec![detail]),
            hashes: Hashes {
                specification: contract.digest(),
                output: Sha256Digest::of(&self.last.document().canonical_vrf()),
                tests: None,
            },
            task: Task {
                task_id: Some(format!("{}/{}", self.run, contract.step)),
                task_type: Some(KIND.to_owned()),
                description: Some(format!("step {} of workflow {} is reopened", contract.step, contract.workflow)),
            },
            metadata: object! {
                "kind": KIND,
                "workflow": contract.workflow.as_str(),
                "step": contract.step.as_str(),
                "run": self.run,
                "attempt": u64::from(retry.attempt.saturating_sub(1)),
                "state": "retry",
                "not_before_ms": retry.not_before_ms,
                "prompt_digest": Sha256Digest::of(retry.prompt.as_bytes()).to_string(),
                "contract_digest": retry.contract.to_string(),
                "reviewer": self.reviewer,
                "note": self.note,
            },
        }
    }
}

/// Who reopened the step by this receipt, and why; none where the receipt is of an attempt.
#[must_use]
pub fn reopened(receipt: &Receipt) -> Option<(&str, &str)> {
    let text = |name: &str| receipt.metadata().get(name).and_then(Json::as_str);
    (text("kind") == Some(KIND)).then_some(())?;
    Some((text("reviewer")?, text("note")?))
}
