//! Reads decision receipts back.

use proofmark_receipt::Json;
use proofmark_receipt::json::JsonError;

use super::{DecisionReceipt, RECEIPT_TYPE};
use crate::ruling::Ruling;

/// Why a document is no decision receipt.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotADecision {
    /// Not JSON.
    #[error("not JSON: {0}")]
    Json(#[from] JsonError),
    /// Another kind of document.
    #[error("`receipt_type` is not `{RECEIPT_TYPE}`; give a decision receipt")]
    Type,
    /// Something that is always there is not.
    #[error("`{0}` is missing or of the wrong type")]
    Missing(&'static str),
    /// Its fields contradict each other.
    #[error("its `{0}` contradicts its outcome: it is no receipt to branch on")]
    Contradiction(&'static str),
}

impl NotADecision {
    /// A short stable name.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::Json(_) => "invalid_json",
            Self::Type => "not_a_decision",
            Self::Missing(_) => "missing_field",
            Self::Contradiction(_) => "contradiction",
        }
    }
}

impl DecisionReceipt {
    /// Reads a decision receipt; the signature is not checked.
    ///
    /// # Errors
    /// [`NotADecision`], also when what it says about going on is contradictory.
    pub fn parse(bytes: &[u8]) -> Result<Self, NotADecision> {
        Self::from_document(Json::parse(bytes)?)
    }

    /// The decision receipt `document` is.
    ///
    /// # Errors
    /// As [`DecisionReceipt::parse`].
    pub fn from_document(document: Json) -> Result<Self, NotADecision> {
        let Json::Object(document) = document else { return Err(NotADecision::Type) };
        if document.get("receipt_type").and_then(Json::as_str) != Some(RECEIPT_TYPE) {
            return Err(NotADecision::Type);
        }
        let text = |name: &'static str| document.get(name).and_then(Json::as_str).ok_or(NotADecision::Missing(name));
        let flag = |name: &'static str| document.get(name).and_then(Json::as_bool).ok_or(NotADecision::Missing(name));
        let decision_id = text("decision_id")?.parse().map_err(|_| NotADecision::Missing("decision_id"))?;
        let disposition = document.get("disposition").and_then(Json::as_object);
        let mode = disposition.and_then(|disposition| disposition.get("mode")?.as_str());
        let mode = mode.ok_or(NotADecision::Missing("disposition.mode"))?;
        let ruling =
            Ruling::from_words(text("outcome")?, mode).ok_or(NotADecision::Contradiction("disposition.mode"))?;
        if flag("safe_to_execute")? != ruling.allows() {
            return Err(NotADecision::Contradiction("safe_to_execute"));
        }
        if flag("human_review_terminal")? != (ruling == Ruling::HumanReview) {
            return Err(NotADecision::Contradiction("human_review_terminal"));
        }
        let direction = document.get("routing").and_then(|routing| routing.as_object()?.get("direction")?.as_str());
        if direction != Some(ruling.direction()) {
            return Err(NotADecision::Contradiction("routing.direction"));
        }
        Ok(Self { document, decision_id, ruling })
    }
}
