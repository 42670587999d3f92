//! States as documents, in which they are stored between attempts.

use proofmark_receipt::{Json, Object, Sha256Digest, object};
use thiserror::Error;

use super::{Retry, State};
use crate::workflow::Action;

/// A document is not a state.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("invalid stored state: {0}")]
pub struct StateError(&'static str);

impl State {
    /// The state as a document, which [`State::from_json`] reads.
    pub fn to_json(&self) -> Json {
        let mut object = object! { "state": self.as_str(), "attempt": u64::from(self.attempt()) };
        match self {
            Self::Pending | Self::Accepted { .. } | Self::AcceptedWithWarnings { .. } => {}
            Self::Evaluating { contract, awaited, .. } | Self::AwaitingApproval { contract, awaited, .. } => {
                object.insert("contract", contract.to_string());
                if let Some(retry) = awaited {
                    insert_retry(&mut object, retry);
                }
            }
            Self::Retry(retry) => insert_retry(&mut object, retry),
            Self::Aborted { action, .. } => {
                object.insert("action", action.to_text());
            }
        }
        object.into()
    }

    /// Reads a state.
    ///
    /// # Errors
    /// [`StateError`] when a member is missing or of another form.
    pub fn from_json(json: &Json) -> Result<Self, StateError> {
        let object = json.as_object().ok_or(StateError("not an object"))?;
        let attempt = object.get("attempt").and_then(Json::as_number).and_then(|number| number.as_u64());
        let attempt = attempt.and_then(|attempt| u32::try_from(attempt).ok());
        let attempt = attempt.filter(|attempt| *attempt > 0).ok_or(StateError("invalid `attempt`"))?;
        match object.get("state").and_then(Json::as_str) {
            Some("pending") => Ok(Self::Pending),
            Some("accepted") => Ok(Self::Accepted { attempt }),
            Some("accepted_with_warnings") => Ok(Self::AcceptedWithWarnings { attempt }),
            Some("retry") => Ok(Self::Retry(read_retry(object, attempt)?)),
            Some("aborted") => Ok(Self::Aborted { attempt, action: read_action(object)? }),
            Some("evaluating") => {
                let (contract, awaited) = (read_contract(object)?, read_awaited(object, attempt)?);
                Ok(Self::Evaluating { attempt, contract, awaited })
            }
            Some("awaiting_approval") => {
                let (contract, awaited) = (read_contract(object)?, read_awaited(object, attempt)?);
                Ok(Self::AwaitingApproval { attempt, contract, awaited })
            }
            Some(_) | None => Err(StateError("invalid `state`")),
        }
    }
}

/// In a state that is being evaluated after a retry, `contract` is written twice: inserting it again keeps its place, and
/// both digests are equal, since an attempt by another contract is refused.
fn insert_retry(object: &mut Object, retry: &Retry) {
    object.insert("prompt", retry.prompt.as_str());
    object.insert("not_before_ms", retry.not_before_ms);
    object.insert("contract", retry.contract.to_string());
}

/// Only a state that follows a retry has a prompt; at the first attempt `Pending` was before.
fn read_awaited(object: &Object, attempt: u32) -> Result<Option<Retry>, StateError> {
    object.contains("prompt").then(|| read_retry(object, attempt)).transpose()
}

fn read_retry(object: &Object, attempt: u32) -> Result<Retry, StateError> {
    let prompt = object.get("prompt").and_then(Json::as_str).ok_or(StateError("invalid `prompt`"))?;
    let time = object.get("not_before_ms").and_then(Json::as_number).and_then(|number| number.as_i64());
    Ok(Retry {
        attempt,
        prompt: prompt.to_owned(),
        not_before_ms: time.ok_or(StateError("invalid `not_before_ms`"))?,
        contract: read_contract(object)?,
    })
}

fn read_contract(object: &Object) -> Result<Sha256Digest, StateError> {
    let digest = object.get("contract").and_then(Json::as_str).and_then(|text| text.parse().ok());
    digest.ok_or(StateError("invalid `contract`"))
}

fn read_action(object: &Object) -> Result<Action, StateError> {
    let action = object.get("action").and_then(Json::as_str).and_then(Action::from_text);
    action.ok_or(StateError("invalid `action`"))
}
