//! Reads decision receipts back.

use proofmark_receipt::json::JsonError;
use proofmark_receipt::{Json, Object, ReceiptId, Sha256Digest, Timestamp};
use proofmark_session::SessionHead;

use super::{DecisionReceipt, RECEIPT_TYPE, disposition_object};
use crate::asker::Separation;
use crate::disposition::Disposition;

/// Why a document is not a decision receipt.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ParseDecisionError {
    #[error("not JSON: {0}")]
    Json(#[from] JsonError),
    #[error("`receipt_type` is not `{RECEIPT_TYPE}`, or there is a `vrf_version`")]
    Type,
    #[error("`{0}` is missing or of the wrong type")]
    Missing(String),
    #[error("`{0}` contradicts the outcome")]
    Contradiction(&'static str),
}

impl ParseDecisionError {
    /// A stable name for programs.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::Json(_) => "invalid_json",
            Self::Type => "not_a_decision",
            Self::Missing(_) => "missing_field",
            Self::Contradiction(_) => "contradiction",
        }
    }

    /// What to do about it.
    #[must_use]
    pub fn help(&self) -> Option<&'static str> {
        match self {
            Self::Type => Some("give a decision receipt"),
            Self::Contradiction(_) => Some("do not act on this receipt"),
            Self::Json(_) | Self::Missing(_) => None,
        }
    }
}

/// The type of a member of the format.
#[derive(Clone, Copy)]
enum MemberType {
    Text,
    TextOrNull,
    Flag,
    Count,
    Id,
    Digest,
    Time,
    Texts,
    /// A list of objects that have a `code` and a `message`.
    Coded,
    Objects,
    Object,
    ObjectOrNull,
}

/// Every member of the format: the object that holds it (`""` is the top), its name and its type. `metadata` may hold
/// anything.
const FORMAT: [(&str, &str, MemberType); 37] = [
    ("", "decision_id", MemberType::Id),
    ("", "outcome", MemberType::Text),
    ("", "action_class", MemberType::TextOrNull),
    ("", "safe_to_execute", MemberType::Flag),
    ("", "human_review_terminal", MemberType::Flag),
    ("", "must_not_retry_same_action", MemberType::Flag),
    ("", "reasons", MemberType::Coded),
    ("", "safe_next_steps", MemberType::Coded),
    ("", "viewer_guidance", MemberType::Texts),
    ("", "what_would_change_this", MemberType::Texts),
    ("", "disposition", MemberType::Object),
    ("", "routing", MemberType::Object),
    ("", "resume_contract", MemberType::Object),
    ("", "runtime_loopback", MemberType::ObjectOrNull),
    ("", "metadata", MemberType::Object),
    ("", "binding", MemberType::Object),
    ("", "evidence", MemberType::Objects),
    ("disposition", "mode", MemberType::Text),
    ("routing", "direction", MemberType::Text),
    ("routing", "target_hint", MemberType::TextOrNull),
    ("routing", "return_to_node", MemberType::TextOrNull),
    ("routing", "workflow_id", MemberType::TextOrNull),
    ("routing", "node_id", MemberType::TextOrNull),
    ("resume_contract", "retry_this_node", MemberType::Flag),
    ("resume_contract", "pass_receipt_upstream", MemberType::Flag),
    ("resume_contract", "pass_new_upstream_context_on_retry", MemberType::Flag),
    ("resume_contract", "resume_when", MemberType::Texts),
    ("resume_contract", "conditions", MemberType::Objects),
    ("binding", "action_hash", MemberType::Digest),
    ("binding", "policy_hash", MemberType::Digest),
    ("binding", "facts_hash", MemberType::Digest),
    ("binding", "fingerprint", MemberType::Digest),
    ("binding", "engine", MemberType::Text),
    ("binding", "steps", MemberType::Count),
    ("binding", "denied_before", MemberType::Count),
    ("binding", "decided_at", MemberType::Time),
    ("binding", "expires_at", MemberType::Time),
];

impl MemberType {
    fn matches(self, value: &Json) -> bool {
        let text = value.as_str();
        let every = |holds: &dyn Fn(&Json) -> bool| value.as_array().is_some_and(|items| items.iter().all(holds));
        match self {
            Self::Text => text.is_some(),
            Self::TextOrNull => text.is_some() || value.is_null(),
            Self::Flag => value.as_bool().is_some(),
            // Larger integers are not the same number for every reader of JSON.
            Self::Count => value.as_number().is_some_and(|number| number.is_safe() && number.as_u64().is_some()),
            Self::Id => text.is_some_and(|text| text.parse::<ReceiptId>().is_ok()),
            Self::Digest => text.is_some_and(|text| text.parse::<Sha256Digest>().is_ok()),
            Self::Time => text.is_some_and(|text| text.parse::<Timestamp>().is_ok()),
            Self::Texts => every(&|item| item.as_str().is_some()),
            Self::Coded => every(&|item| {
                let text =
                    |name| item.as_object().and_then(|item| item.get(name)).is_some_and(|it| it.as_str().is_some());
                text("code") && text("message")
            }),
            Self::Objects => every(&|item| item.as_object().is_some()),
            Self::Object => value.as_object().is_some(),
            Self::ObjectOrNull => value.as_object().is_some() || value.is_null(),
        }
    }
}

impl DecisionReceipt {
    /// Whether the document claims to be a decision receipt. With `vrf_version` it is a VRF receipt, whatever else it holds.
    #[must_use]
    pub fn claimed_by(document: &Object) -> bool {
        document.get("receipt_type").and_then(Json::as_str) == Some(RECEIPT_TYPE) && !document.contains("vrf_version")
    }

    /// Reads a decision receipt; the signature is not checked.
    ///
    /// # Errors
    /// [`ParseDecisionError`], also when its fields contradict each other.
    pub fn parse(bytes: &[u8]) -> Result<Self, ParseDecisionError> {
        Self::from_document(Json::parse(bytes)?)
    }

    /// Reads a decision receipt from its document, which must have every member of the format.
    ///
    /// # Errors
    /// As [`DecisionReceipt::parse`].
    pub fn from_document(document: Json) -> Result<Self, ParseDecisionError> {
        let Json::Object(document) = document else { return Err(ParseDecisionError::Type) };
        if !Self::claimed_by(&document) {
            return Err(ParseDecisionError::Type);
        }
        for (place, name, kind) in FORMAT {
            if !member(&document, place, name).is_some_and(|value| kind.matches(value)) {
                let dot = if place.is_empty() { "" } else { "." };
                return Err(ParseDecisionError::Missing(format!("{place}{dot}{name}")));
            }
        }
        // Receipts of earlier decisions do not say who asked.
        let says = |name, fits: &dyn Fn(&str) -> bool| {
            member(&document, "binding", name).is_none_or(|said| said.as_str().is_some_and(fits))
        };
        for (name, holds) in [
            ("separation", says("separation", &|word| Separation::from_word(word).is_some())),
            ("account", says("account", &|_| true)),
            ("policy", says("policy", &|_| true)),
            ("session", member(&document, "binding", "session").is_none_or(|head| SessionHead::read(head).is_some())),
        ] {
            if !holds {
                return Err(ParseDecisionError::Missing(format!("binding.{name}")));
            }
        }
        let disposition = read_disposition(&document)?;
        let decision_id = document.get("decision_id").and_then(|id| id.as_str()?.parse().ok());
        let decision_id = decision_id.ok_or_else(|| ParseDecisionError::Missing("decision_id".to_owned()))?;
        Ok(Self { document, decision_id, disposition })
    }
}

fn member<'a>(document: &'a Object, place: &str, name: &str) -> Option<&'a Json> {
    match place {
        "" => document.get(name),
        place => document.get(place)?.as_object()?.get(name),
    }
}

/// The disposition that outcome and mode mean, if every field that is derived from it agrees.
fn read_disposition(document: &Object) -> Result<Disposition, ParseDecisionError> {
    // `FORMAT` was checked before, so the default never stands in for a missing member.
    let text = |place, name| member(document, place, name).and_then(Json::as_str).unwrap_or_default();
    let disposition = Disposition::from_words(text("", "outcome"), text("disposition", "mode"));
    let disposition = disposition.ok_or(ParseDecisionError::Contradiction("disposition.mode"))?;
    let flag = |name| document.get(name).and_then(Json::as_bool);
    let blocked = document.get("runtime_loopback").is_some_and(|loopback| !loopback.is_null());
    for (name, holds) in [
        ("safe_to_execute", flag("safe_to_execute") == Some(disposition.allows())),
        ("human_review_terminal", flag("human_review_terminal") == Some(disposition == Disposition::HumanReview)),
        ("routing.direction", text("routing", "direction") == disposition.direction()),
        (
            "disposition",
            disposition_object(disposition)
                .iter()
                .all(|(name, due)| member(document, "disposition", name) == Some(due)),
        ),
        ("runtime_loopback", blocked != disposition.allows()),
    ] {
        if !holds {
            return Err(ParseDecisionError::Contradiction(name));
        }
    }
    Ok(disposition)
}
