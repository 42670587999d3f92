//! Reviews: a human's word on a decision, kept with the approval it becomes.

use proofmark_boundary::{Approval, ApprovalError};
use proofmark_receipt::{Receipt, SignError, Timestamp};
use proofmark_store::{Bundle, NewReceipt, Review, StoreError, Tenant};

use crate::clock;
use crate::decide::{self, DecideError};
use crate::desk::Desk;

/// How long an approval counts when nothing is said, in milliseconds.
const DEFAULT_EXPIRY: i64 = 3_600_000;
/// The longest an approval counts, in milliseconds.
const MAX_EXPIRY: i64 = 30 * 86_400_000;
/// The longest note, in bytes.
const MAX_NOTE: usize = 4_096;

/// What a reviewer says.
#[derive(Clone, Copy, Debug)]
pub struct Word<'a> {
    /// Whose decision it is.
    pub tenant: &'a Tenant,
    /// The decision.
    pub decision_id: &'a str,
    /// Who says it.
    pub reviewer: &'a str,
    /// Whether the action is approved.
    pub approve: bool,
    /// Why.
    pub note: &'a str,
    /// In which role; else the one the decision asks for.
    pub role: Option<&'a str>,
    /// How long the approval counts, in milliseconds.
    pub expires_in: Option<i64>,
}

/// Why a review is not kept.
#[derive(Debug, thiserror::Error)]
pub enum ReviewError {
    /// There is no such decision, for this tenant.
    #[error("review the decision `{0}`: there is none with this id")]
    Unknown(String),
    /// An allowed action waits for nobody.
    #[error("review the decision `{0}`: the action was allowed, so there is nothing to review")]
    Allowed(String),
    /// Several roles are asked for.
    #[error("approve: the decision asks for several roles; choose one of {} as `role`", .0.join(", "))]
    Roles(Vec<String>),
    /// The note is empty or too long.
    #[error("review: the note has to have 1 to {MAX_NOTE} bytes; say why")]
    Note,
    /// An expiry nobody would wait for.
    #[error("approve: an approval counts for at least a second and at most 30 days; choose another `expires_in`")]
    Expiry,
    /// It can not be approved.
    #[error("approve: {0}")]
    Approval(#[from] ApprovalError),
    /// It can not be signed.
    #[error("sign the approval: {0}")]
    Sign(#[from] SignError),
    /// The decision can not be read.
    #[error(transparent)]
    Decide(#[from] DecideError),
    /// The store refused.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl Desk {
    /// Keeps a reviewer's word. An approval is signed with the desk's key and counts when the action is asked for again.
    ///
    /// # Errors
    /// [`ReviewError`]; nothing is kept then.
    pub fn review(&self, word: &Word<'_>) -> Result<(Review, Option<Receipt>), ReviewError> {
        let unknown = || ReviewError::Unknown(word.decision_id.chars().take(80).collect());
        let kept = self.store.of(word.tenant).decision(word.decision_id)?.ok_or_else(unknown)?;
        if kept.allowed {
            return Err(ReviewError::Allowed(kept.decision_id));
        }
        if word.note.trim().is_empty() || word.note.len() > MAX_NOTE {
            return Err(ReviewError::Note);
        }
        let now = clock::now_in(&self.store)?;
        let approval = match word.approve {
            true => Some(self.approval(word, &decide::read(&kept)?, &now)?),
            false => None,
        };
        let review = Review {
            decision_id: kept.decision_id,
            verdict: if word.approve { "approved" } else { "denied" }.to_owned(),
            reviewer: word.reviewer.to_owned(),
            note: word.note.to_owned(),
            receipt_id: approval.as_ref().map(|receipt| receipt.receipt_id().to_string()),
            reviewed_at: now.unix_millis(),
        };
        let bundle = Bundle {
            receipt: approval.clone().map(NewReceipt::of),
            review: Some(review.clone()),
            at: now.unix_millis(),
            ..Bundle::default()
        };
        self.keep(word.tenant, bundle)?;
        Ok((review, approval))
    }

    fn approval(
        &self,
        word: &Word<'_>,
        decision: &proofmark_boundary::DecisionReceipt,
        now: &Timestamp,
    ) -> Result<Receipt, ReviewError> {
        let role = match (word.role, Approval::roles_asked(decision.document()).as_slice()) {
            (Some(role), _) => role.to_owned(),
            (None, [role]) => role.clone(),
            (None, []) => "reviewer".to_owned(),
            (None, roles) => return Err(ReviewError::Roles(roles.to_vec())),
        };
        let expires_in = word.expires_in.unwrap_or(DEFAULT_EXPIRY);
        if !(1_000..=MAX_EXPIRY).contains(&expires_in) {
            return Err(ReviewError::Expiry);
        }
        let expires_at = Timestamp::from_unix_millis(now.unix_millis().saturating_add(expires_in));
        let approval = Approval { role, note: word.note.to_owned(), expires_at };
        let id = clock::receipt_id().map_err(DecideError::from)?;
        Ok(approval.draft(decision.document(), id, now.clone())?.sign(&self.key)?)
    }
}
