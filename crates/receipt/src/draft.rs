use crate::json::{Json, Object};
use crate::link::{ChainEnd, ChainTip};
use crate::safe::{SignError, check_readable, check_safe};
use crate::signature::sign;
use crate::{DecidedBy, Detail, Hashes, Receipt, ReceiptId, Results, SigningKey, Task, Timestamp, Verdict, object};

/// A receipt to be issued.
#[derive(Clone, Debug, PartialEq)]
pub struct Draft {
    pub receipt_id: ReceiptId,
    pub verified_at: Timestamp,
    /// How deep the verification went: 0 to 3.
    pub tier: u8,
    pub verdict: Verdict,
    pub task: Option<Task>,
    pub results: Results,
    pub hashes: Hashes,
    /// Everything else. Linking and signing set `issuer_key` and the chain's members.
    pub metadata: Object,
}

impl Draft {
    /// Appends the draft to the chain with this end; without a tip it starts one.
    pub fn link<'a>(&mut self, end: impl Into<ChainEnd<'a>>) {
        ChainTip::write_link(end, &mut self.metadata);
    }

    /// Signs the receipt with `key`, which the signed `metadata.issuer_key` names.
    ///
    /// # Errors
    /// [`SignError`] when the draft is outside the safe set, too large, or breaks a rule of the format.
    pub fn sign(mut self, key: &SigningKey) -> Result<Receipt, SignError> {
        // Inside the hash, while `signature.signer_id` is not: nobody can sign the same content again as their own.
        self.metadata.insert("issuer_key", key.signer().to_string());
        let mut document = self.document()?;
        sign(&mut document, key)?;
        // Read back once it is signed: the limit on bytes includes the signature.
        finish(document)
    }

    /// The receipt without a signature: a claim, not an attestation.
    ///
    /// # Errors
    /// As [`Draft::sign`].
    pub fn unsigned(self) -> Result<Receipt, SignError> {
        finish(self.document()?)
    }

    fn document(self) -> Result<Object, SignError> {
        let document = object! {
            "vrf_version": "1.0",
            "receipt_id": self.receipt_id.to_string(),
            "verified_at": self.verified_at.as_str(),
            "tier": u64::from(self.tier),
            "verdict": self.verdict.as_str(),
            "task"?: self.task.map(task_object),
            "results": results_object(self.results),
            "hashes": hashes_object(&self.hashes),
            "metadata": self.metadata,
        };
        check_safe(&document)?;
        Ok(document)
    }
}

fn finish(document: Object) -> Result<Receipt, SignError> {
    check_readable(&document)?;
    Ok(Receipt::from_document(Json::Object(document))?)
}

fn task_object(task: Task) -> Object {
    object! {
        "task_id"?: task.task_id,
        "task_type"?: task.task_type,
        "description"?: task.description,
    }
}

fn results_object(results: Results) -> Object {
    let details = results.details.into_iter().map(|detail| Json::from(detail_object(detail)));
    object! {
        "total": results.total,
        "passed": results.passed,
        "failed": results.failed,
        "errors": results.errors,
        "details": details.collect::<Vec<_>>(),
    }
}

fn detail_object(detail: Detail) -> Object {
    object! {
        "name": detail.name,
        "status": detail.status.as_str(),
        "decided"?: detail.decided.map(DecidedBy::as_str),
        "input"?: detail.input,
        "expected"?: detail.expected,
        "actual"?: detail.actual,
        "difference"?: detail.difference,
        "location"?: detail.location,
        "stdout"?: detail.stdout,
        "stderr"?: detail.stderr,
        "elapsed_ms"?: detail.elapsed_ms,
        "message"?: detail.message,
        "constraint"?: detail.constraint,
    }
}

fn hashes_object(hashes: &Hashes) -> Object {
    object! {
        "specification": hashes.specification.to_string(),
        "output": hashes.output.to_string(),
        "tests"?: hashes.tests.map(|digest| digest.to_string()),
    }
}
