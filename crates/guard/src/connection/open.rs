//! Requests that have no answer yet.

use proofmark_receipt::{Json, Sha256Digest};
use proofmark_session::{Cancelled, Event, Executed, Passed, arguments};

use super::{Output, requests};
use crate::message::{Message, MessageId};

/// A request that has no answer yet.
#[derive(Clone, Debug)]
pub(super) struct Open {
    pub(super) id: MessageId,
    pub(super) method: String,
    /// The call in the session, and its tool.
    pub(super) call: Option<(usize, String)>,
    /// What names the action for a retry in the stateless revision.
    pub(super) action: Option<Sha256Digest>,
    pub(super) decision: Option<String>,
    pub(super) cancelled: bool,
    /// Whether a list was asked for from its beginning.
    pub(super) from_begin: bool,
    /// Whether the stream that was to bring its answer has ended: another may bring it.
    pub(super) left: bool,
}

/// The call that a task belongs to.
#[derive(Clone, Debug)]
pub(super) struct Task {
    pub(super) call: (usize, String),
    pub(super) decision: Option<String>,
}

impl Open {
    /// A request that is not decided on.
    pub(super) fn passed(id: MessageId, method: String, message: &Message) -> Self {
        let from_begin = message.params().and_then(|params| params.get("cursor")).is_none_or(Json::is_null);
        Self { id, method, call: None, action: None, decision: None, cancelled: false, from_begin, left: false }
    }

    /// What is recorded of it when it is cancelled.
    pub(super) fn cancelled(&self, executed: Executed) -> Output {
        cancelled(&self.id, self.decision.clone(), executed)
    }
}

/// What is recorded of a request that was cancelled.
pub(super) fn cancelled(id: &MessageId, decision: Option<String>, executed: Executed) -> Output {
    Output::Event(Event::Cancelled(Cancelled { request: id.as_json().to_owned(), decision, executed, declined: None }))
}

/// What is recorded of a request that is not decided on.
pub(super) fn passed(id: &MessageId, method: &str, message: &Message) -> Event {
    let params = message.params().cloned().map(|params| Json::Object(requests::arguments(params)));
    Event::Passed(Passed {
        request: id.as_json().to_owned(),
        method: method.to_owned(),
        arguments: params.as_ref().and_then(arguments),
        message: message.digest(),
    })
}
