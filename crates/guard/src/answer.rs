//! Answers that the guard gives in place of the side that was asked.

use proofmark_boundary::DecisionReceipt;
use proofmark_receipt::{Json, Object, object};

use crate::message::{MessageError, MessageId};

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

/// What is said of an action that is not executed: a text for the model, and the decision for programs.
pub(crate) struct Block {
    pub(crate) text: String,
    pub(crate) decision: Object,
}

impl Block {
    /// By a decision. `detail` says what the decision's reasons do not.
    pub(crate) fn by(receipt: &DecisionReceipt, detail: Option<&str>) -> Self {
        let document = receipt.document();
        let list = |name: &str| document.get(name).and_then(Json::as_array).unwrap_or_default();
        let message = |item: &Json| item.as_object().and_then(|item| item.get("message")?.as_str().map(str::to_owned));
        let id = receipt.decision_id();
        let reasons: Vec<_> = list("reasons").iter().filter_map(message).collect();
        // Where no rule asks for an approval, none would change the decision.
        let next: Vec<_> = match receipt.asks_approval() {
            true => vec![format!(
                "Ask a person to run `proofmark approve {id} --key KEY --note \"why\"`, then repeat the same call unchanged."
            )],
            false => list("safe_next_steps").iter().filter_map(message).collect(),
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
    pub(crate) fn without_decision(code: &str, why: &str) -> Self {
        let text = format!("Not executed: {why} Do not report this step as done.");
        Self {
            text,
            decision: object! { "outcome": Json::Null, "reasons": vec![Json::from(object! { "code": code, "message": why })] },
        }
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
        format!(r#"{{"jsonrpc":"2.0","id":{},"result":{}}}"#, id.as_json(), Json::from(result).to_text())
    }

    /// The error for a blocked request of another kind.
    pub(crate) fn error(&self, id: &MessageId) -> String {
        error(Some(id), INVALID_PARAMS, &self.text, Some(object! { "org.proofmark/decision": self.decision.clone() }))
    }

    /// What a server is told whose request does not reach the client.
    pub(crate) fn to_server(&self, id: &MessageId, method: &str) -> String {
        match method {
            "elicitation/create" => {
                format!(r#"{{"jsonrpc":"2.0","id":{},"result":{{"action":"decline"}}}}"#, id.as_json())
            }
            _ => error(Some(id), REJECTED, "the user's policy rejected this request", None),
        }
    }
}
