//! What a receipt answers the evaluator of a job of agent commerce.

use proofmark_interop::acp;
use proofmark_receipt::{Json, Object, Receipt};

use crate::worth::{Subject, Worth, WorthError};

/// What a receipt answers an evaluator.
#[derive(Clone, Debug, PartialEq)]
pub struct Evaluation {
    /// Whether to approve; `None` when nothing may be signed.
    pub approved: Option<bool>,
    /// Why the receipt proves nothing about the job, if so.
    pub rejected: Option<WorthError>,
    /// The answer (`docs/commerce.md`).
    pub document: Json,
}

/// What a receipt answers the evaluator of a job.
///
/// Only a receipt counts that was issued here for the job's own request, is signed by somebody trusted, is not
/// superseded and is about what the evaluator names. `request` is the request stored under the receipt's id.
#[must_use]
pub fn evaluation(receipt: &Receipt, worth: &Worth, request: Option<&str>, about: &Subject) -> Evaluation {
    let rejected = proves(receipt, worth, request, about).err();
    let mut standing = Object::new();
    worth.describe(&mut standing);
    let reason = rejected.as_ref().map(|error| match error.help() {
        Some(help) => format!("{error}; {help}"),
        None => error.to_string(),
    });
    let acp::Evaluation { approved, document } = acp::evaluation(receipt, reason.as_deref(), &standing);
    Evaluation { approved, rejected, document }
}

/// Whether a receipt says something about a job.
fn proves(receipt: &Receipt, worth: &Worth, request: Option<&str>, about: &Subject) -> Result<(), WorthError> {
    // Before trust: a receipt that was brought here evaluates nothing, however trusted its signer.
    let request = worth.answers(receipt, request)?;
    worth.vouched()?;
    // A receipt over the buyer's requirements whose tests somebody else chose evaluates nothing.
    if !Json::parse(request.as_bytes()).is_ok_and(|request| acp::is_of_job(&request)) {
        return Err(WorthError::NotAJob);
    }
    about.matches(receipt)
}
