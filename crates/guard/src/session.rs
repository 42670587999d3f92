//! What was seen in a session, as the facts of the next decision. Nobody reports these: they are what passed here.

use proofmark_evidence::CallStatus;
use proofmark_receipt::{Json, Object, object};

/// The most calls of a session. Rules look at the calls before the present one, so none may be forgotten: a session with
/// more calls is refused further ones.
pub const MAX_CALLS: usize = 10_000;
/// Arguments whose text is longer, in bytes, are unknown to the rules about earlier calls.
const MAX_KEPT_ARGUMENTS: usize = 16 << 10;
/// The most signs of steering that are kept; the first of each kind and source are.
const MAX_TAINT: usize = 1_000;

/// Who acts.
#[derive(Clone, Debug, Default)]
pub(crate) struct Agent {
    pub(crate) id: Option<String>,
    pub(crate) environment: Option<String>,
}

/// The calls of a session and what they brought.
#[derive(Debug, Default)]
pub(crate) struct Session {
    calls: Vec<Call>,
    taint: Vec<(&'static str, String, String)>,
    denies: Vec<Json>,
}

#[derive(Debug)]
struct Call {
    tool: String,
    class: String,
    args: Option<Json>,
    status: CallStatus,
    at: String,
}

impl Session {
    /// Whether it can have no further call.
    pub(crate) fn is_full(&self) -> bool {
        self.calls.len() >= MAX_CALLS
    }

    /// Adds a call that is about to be forwarded, or that was blocked; its index.
    pub(crate) fn called(&mut self, action: &Object, status: CallStatus, at: &str) -> usize {
        let text = |name: &str| action.get(name).and_then(Json::as_str).unwrap_or_default().to_owned();
        let args = action.get("args").filter(|args| args.to_text().len() <= MAX_KEPT_ARGUMENTS).cloned();
        self.calls.push(Call { tool: text("tool"), class: text("class"), args, status, at: at.to_owned() });
        self.calls.len() - 1
    }

    /// Sets how a call ended.
    pub(crate) fn ended(&mut self, index: usize, status: CallStatus) {
        if let Some(call) = self.calls.get_mut(index) {
            call.status = status;
        }
    }

    /// Keeps the signs of steering in what came from `source`.
    pub(crate) fn tainted(&mut self, labels: &[&'static str], source: &str, at: &str) {
        for label in labels {
            let known = self.taint.iter().any(|(other, from, _)| other == label && from == source);
            if !known && self.taint.len() < MAX_TAINT {
                self.taint.push((label, source.to_owned(), at.to_owned()));
            }
        }
    }

    /// Keeps a decision that blocked.
    pub(crate) fn denied(&mut self, decision: Object) {
        if self.denies.len() < MAX_CALLS {
            self.denies.push(decision.into());
        }
    }

    /// The facts of a request about `action`. The lists are there even where they are empty: it is known that there was
    /// nothing.
    pub(crate) fn facts(&self, action: Object, agent: &Agent, run: &str) -> Object {
        let calls = self.calls.iter().map(|call| {
            let call = object! {
                "tool": call.tool.as_str(),
                "args"?: call.args.clone(),
                "status": call.status.as_str(),
                "class": call.class.as_str(),
                "at": call.at.as_str(),
            };
            Json::from(call)
        });
        let taint = self.taint.iter().map(|(signal, source, at)| {
            Json::from(object! { "signal": *signal, "source": source.as_str(), "at": at.as_str() })
        });
        object! {
            "action": action,
            "agent": object! { "id"?: agent.id.clone(), "environment"?: agent.environment.clone(), "run": run },
            "calls": calls.collect::<Vec<_>>(),
            "taint": taint.collect::<Vec<_>>(),
            "memory": Vec::<Json>::new(),
            "facts": Vec::<Json>::new(),
        }
    }
}
