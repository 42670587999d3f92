//! Answers that the guard gives in place of the side that was asked.

use proofmark_boundary::DecisionReceipt;
use proofmark_receipt::{Json, Object, object, shown};

use crate::message::{Kind, Message, MessageError, MessageId, Sender};

/// The JSON-RPC code for a failure on this side.
pub(crate) const INTERNAL_ERROR: i32 = -32_603;
/// The code of a refused `sampling/createMessage`, as the protocol's own example has it.
const REJECTED: i32 = -1;
/// The JSON-RPC code for parameters that a method does not take.
pub(crate) const INVALID_PARAMS: i32 = -32_602;

/// A JSON-RPC error.
pub(crate) fn error(id: Option<&MessageId>, code: i32, message: &str, data: Option<Object>) -> String {
    let error = object! { "code": code, "message": message, "data"?: data };
    let error = Json::from(error).to_text();
    format!(r#"{{"jsonrpc":"2.0","id":{},"error":{error}}}"#, id.map_or("null", MessageId::as_json))
}

/// The answer to a message that is refused.
pub(crate) fn refused(refusal: &MessageError) -> String {
    error(refusal.id.as_ref(), refusal.code, &refusal.to_string(), None)
}

/// The answer to a request that the server has not answered before it ended.
pub(crate) fn server_ended(id: &MessageId) -> String {
    error(Some(id), INTERNAL_ERROR, "the server has ended", None)
}

/// A notification of progress. `thousandths` stay below what servers count, since progress never goes back.
pub(crate) fn progress(token: &Json, thousandths: u64, message: &str) -> String {
    let (token, message) = (token.to_text(), Json::from(message).to_text());
    format!(
        r#"{{"jsonrpc":"2.0","method":"notifications/progress","params":{{"progressToken":{token},"progress":0.{thousandths:03},"message":{message}}}}}"#
    )
}

/// A request of the guard itself to the client: to tell its user of a call that waits. It has no fields: an answer approves
/// nothing.
pub(crate) fn elicitation(id: &MessageId, message: &str) -> String {
    let (id, message) = (id.as_json(), Json::from(message).to_text());
    format!(
        r#"{{"jsonrpc":"2.0","id":{id},"method":"elicitation/create","params":{{"message":{message},"requestedSchema":{{"type":"object","properties":{{}}}}}}}}"#
    )
}

/// The notification that a request of the guard itself needs no answer any more.
pub(crate) fn withdrawn(id: &MessageId) -> String {
    let id = id.as_json();
    format!(
        r#"{{"jsonrpc":"2.0","method":"notifications/cancelled","params":{{"requestId":{id},"reason":"the call does not wait any more"}}}}"#
    )
}

/// What the client's user is told of a call that waits for an approval.
pub(crate) fn what_waits(receipt: &DecisionReceipt, tool: &str) -> String {
    let (id, tool) = (receipt.decision_id().to_string(), shown(&format!("`{tool}`")));
    format!(
        "{tool} was not executed yet: it waits for an approval. {} A person who may approve it runs `{}`. An answer here \
         approves nothing. Accept: the call waits on. Decline: it is refused now.",
        messages(receipt.document(), "reasons").join(" "),
        approve(&id),
    )
}

/// The messages of a list of a decision.
fn messages(document: &Object, list: &str) -> Vec<String> {
    let list = document.get(list).and_then(Json::as_array).unwrap_or_default();
    let text = |item: &Object, name: &str| item.get(name).and_then(Json::as_str).map(str::to_owned);
    let items = list.iter().filter_map(Json::as_object);
    items
        .filter_map(|item| {
            let message = text(item, "message")?;
            // Which value it is, and where it stands: an agent that is not told tries the same again.
            let detail = text(item, "detail").filter(|_| text(item, "cause").as_deref() == Some("origin"));
            Some(detail.map_or_else(|| message.clone(), |detail| format!("{message} {detail}")))
        })
        .collect()
}

/// What is said of an action that is not executed.
#[derive(Debug)]
pub struct Block {
    /// For the model.
    pub text: String,
    /// The decision, for programs.
    pub decision: Object,
}

/// The command by which a person approves.
pub(crate) fn approve(decision: &str) -> String {
    format!("proofmark decision approve {decision} --key KEY --note \"why\"")
}

impl Block {
    /// By a decision. `detail` says what the decision's reasons do not.
    #[must_use]
    pub fn by(receipt: &DecisionReceipt, detail: Option<&str>) -> Self {
        let document = receipt.document();
        let id = receipt.decision_id();
        let reasons = messages(document, "reasons");
        // Where something else is missing, too, the same call would be blocked again after an approval.
        let next: Vec<_> = if receipt.asks_approval_only() {
            vec![format!("Ask a person to run `{}`, then repeat the same call unchanged.", approve(&id.to_string()))]
        } else {
            messages(document, "safe_next_steps")
        };
        let detail = detail.map_or_else(String::new, |detail| format!(" ({detail})"));
        let next = if next.is_empty() { String::new() } else { format!(" Next: {}", next.join(" ")) };
        let text = format!(
            "Not executed: {}{detail}{next} Do not report this step as done. Decision {id}.",
            reasons.join(" "),
        );
        let member = |name: &str| document.get(name).cloned().unwrap_or(Json::Null);
        let decision = object! {
            "decision_id": id.to_string(),
            "outcome": member("outcome"),
            "scope": receipt.disposition().direction(),
            "reasons": member("reasons"),
            "what_would_change_this": member("what_would_change_this"),
            "must_not_retry_same_action": member("must_not_retry_same_action"),
        };
        Self { text, decision }
    }

    /// Without a decision, because none could be made.
    #[must_use]
    pub fn without_decision(code: &str, why: &str) -> Self {
        let text = format!("Not executed: {why} Do not report this step as done.");
        Self {
            text,
            decision: object! { "outcome": Json::Null, "reasons": vec![Json::from(object! { "code": code, "message": why })] },
        }
    }

    /// The same of a call that waited, and that the client's user has declined.
    pub(crate) fn declined(self) -> Self {
        Self { text: format!("{} The user of the client has declined it.", self.text), ..self }
    }

    /// The result of a blocked `tools/call`. It has no `structuredContent`: clients hold that against the tool's schema
    /// even where the result is an error.
    pub(crate) fn tool_result(&self, id: &MessageId, stateless: bool) -> String {
        let result = object! {
            "isError": true,
            "content": vec![Json::from(object! { "type": "text", "text": self.text.as_str() })],
            "resultType"?: stateless.then_some("complete"),
            "_meta": object! { "org.proofmark/decision": self.decision.clone() },
        };
        id.result(&result)
    }

    /// The answer to a blocked request of the client.
    pub(crate) fn answers(&self, id: &MessageId, method: &str, message: &Message) -> String {
        match method {
            "tools/call" if !message.has_param("task") => self.tool_result(id, message.is_stateless()),
            _ => self.error(id),
        }
    }

    /// The error for a blocked request of another kind.
    pub(crate) fn error(&self, id: &MessageId) -> String {
        error(Some(id), INVALID_PARAMS, &self.text, Some(object! { "org.proofmark/decision": self.decision.clone() }))
    }

    /// What a server is told whose request does not reach the client.
    pub(crate) fn to_server(&self, id: &MessageId, method: &str) -> String {
        match method {
            // The protocol has an answer for a user who does not want to; servers take an error for a failure.
            "elicitation/create" => {
                format!(r#"{{"jsonrpc":"2.0","id":{},"result":{{"action":"decline"}}}}"#, id.as_json())
            }
            _ => error(Some(id), REJECTED, "the user's policy rejected this request", None),
        }
    }
}

/// The answer to a line of the client on which nothing can be decided, for this reason; none where it asks for none.
#[must_use]
pub fn undecidable(line: &[u8], why: &str) -> Option<String> {
    match Message::read(line, Sender::Client) {
        Ok(message) => match &message.kind {
            Kind::Request { id, method } => {
                Some(Block::without_decision("policy_unavailable", why).answers(id, method, &message))
            }
            Kind::Notification { .. } | Kind::Answer { .. } | Kind::Fault => None,
        },
        Err(refusal) => Some(refused(&refusal)),
    }
}

/// The answer to the request that a line of the server answers, where that line cannot be forwarded, for this reason.
#[must_use]
pub fn withheld(line: &[u8], why: &str) -> Option<String> {
    match Message::read(line, Sender::Server).ok()?.kind {
        Kind::Answer { id } => Some(error(Some(&id), INTERNAL_ERROR, why, None)),
        Kind::Request { .. } | Kind::Notification { .. } | Kind::Fault => None,
    }
}

impl MessageError {
    /// The JSON-RPC error that says so.
    #[must_use]
    pub fn answer(&self) -> String {
        refused(self)
    }
}

impl MessageId {
    /// The answer to this request with its result.
    #[must_use]
    pub fn result(&self, result: &Object) -> String {
        format!(r#"{{"jsonrpc":"2.0","id":{},"result":{}}}"#, self.as_json(), result.to_text())
    }

    /// The answer to this request with an error.
    #[must_use]
    pub fn error(&self, code: i32, message: &str, data: Option<Object>) -> String {
        error(Some(self), code, message, data)
    }

    /// The answer to this request if the server gives none.
    #[must_use]
    pub fn failed(&self, why: &str) -> String {
        error(Some(self), INTERNAL_ERROR, why, None)
    }
}
