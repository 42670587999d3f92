//! What was seen in a session, as the facts of the next decision. Nobody reports these: they are what passed here, or what the
//! session's record says of an earlier process or another one.

use std::collections::HashMap;

use proofmark_boundary::Request;
use proofmark_evidence::CallStatus;
use proofmark_receipt::document::DocumentError;
use proofmark_receipt::{Json, Object, object};

use crate::event::MAX_ARGUMENTS;

/// The most calls of a session. Rules look at the calls before the present one, so none may be forgotten: a session with
/// more calls is refused further ones.
pub const MAX_CALLS: usize = 10_000;
/// The kinds of entries that facts are made of.
pub const FACT_KINDS: [&str; 5] = ["decided", "result", "cancelled", "ended", "undecided"];
/// The most signs of steering that are kept: the first of each kind and source, and the first of each kind in any case.
const MAX_TAINT: usize = 1_000;

/// Who acts.
#[derive(Clone, Debug, Default)]
pub struct Agent {
    pub id: Option<String>,
    pub environment: Option<String>,
}

/// The calls of a session and what they brought.
#[derive(Debug, Default)]
pub struct Session {
    /// As facts have them; requests share them.
    calls: Vec<Json>,
    /// The calls that were read from the record, by their decisions.
    recorded: HashMap<String, usize>,
    /// As facts have it.
    taint: Vec<Json>,
    /// The last request, which has most of what the next one has.
    last: Option<Request>,
}

impl Session {
    /// How many calls it has.
    pub(crate) fn calls(&self) -> usize {
        self.calls.len()
    }

    /// Whether it can have no further call.
    #[must_use]
    pub fn is_full(&self) -> bool {
        self.calls.len() >= MAX_CALLS
    }

    /// Takes in an entry of the session's record, in its order. Entries of other kinds than [`FACT_KINDS`] say nothing here.
    pub fn take_in(&mut self, entry: &Object) {
        let text = |name: &str| entry.get(name).and_then(Json::as_str);
        let (at, decision) = (text("at").unwrap_or_default(), text("decision"));
        let index = decision.and_then(|decision| self.recorded.get(decision)).copied();
        match text("kind") {
            Some("decided") if !is_of_server(entry) => {
                let args = text("arguments").and_then(|args| Json::parse(args.as_bytes()).ok());
                let is_true = |name: &str| entry.get(name).and_then(Json::as_bool) == Some(true);
                let forwarded = is_true("allowed") || is_true("shadowed");
                let status = if forwarded { CallStatus::Pending } else { CallStatus::Blocked };
                self.calls.push(call(text("tool"), text("class"), args, status, at));
                self.recorded.extend(decision.map(|decision| (decision.to_owned(), self.calls.len() - 1)));
            }
            // The host's own record says so.
            Some("ended") => {
                if let (Some(index), Some(status)) = (index, text("status").and_then(CallStatus::from_word)) {
                    self.ended(index, status);
                }
            }
            Some("undecided") => {
                let args = text("arguments").and_then(|args| Json::parse(args.as_bytes()).ok());
                let status = text("status").and_then(CallStatus::from_word).unwrap_or(CallStatus::Doubtful);
                self.calls.push(call(text("tool"), None, args, status, at));
            }
            Some("result") => {
                if let (Some(index), Some(status)) = (index, text("status").and_then(CallStatus::from_word)) {
                    self.ended(index, status);
                }
                let signs = entry.get("signs").and_then(Json::as_array).unwrap_or_default();
                // The agent did not read a result that was withheld.
                let is_read = text("handling") != Some("withhold");
                let signs: Vec<_> = signs.iter().filter(|_| is_read).filter_map(Json::as_str).collect();
                self.tainted(&signs, text("tool").unwrap_or_default(), at);
            }
            // Where its end is not known, it stays pending.
            Some("cancelled") if text("executed") == Some("no") => {
                index.into_iter().for_each(|index| self.ended(index, CallStatus::Blocked));
            }
            _ => {}
        }
    }

    /// Adds a call that is about to be forwarded, or that was blocked; its index.
    pub(crate) fn called(&mut self, action: &Object, status: CallStatus, at: &str) -> usize {
        let text = |name: &str| action.get(name).and_then(Json::as_str);
        let args = action.get("args").filter(|args| args.to_text().len() <= MAX_ARGUMENTS).cloned();
        self.calls.push(call(text("tool"), text("class"), args, status, at));
        self.calls.len() - 1
    }

    /// Sets how a call ended.
    pub(crate) fn ended(&mut self, index: usize, status: CallStatus) {
        if let Some(Json::Object(call)) = self.calls.get_mut(index) {
            call.insert("status", status.as_str());
        }
    }

    /// Keeps the signs of steering in what came from `source`.
    pub(crate) fn tainted(&mut self, labels: &[&str], source: &str, at: &str) {
        for label in labels {
            let is = |sign: &Object, name: &str, text: &str| sign.get(name).and_then(Json::as_str) == Some(text);
            let (mut is_known, mut is_of_known_kind) = (false, false);
            for sign in self.taint.iter().filter_map(Json::as_object).filter(|sign| is(sign, "signal", label)) {
                is_of_known_kind = true;
                is_known |= is(sign, "source", source);
            }
            // A server that has many tools must not make the sign be left out that a rule looks for.
            if !is_known && (self.taint.len() < MAX_TAINT || !is_of_known_kind) {
                self.taint.push(object! { "signal": *label, "source": source, "at": at }.into());
            }
        }
    }

    /// The facts of a request about `action`. The lists are there even where they are empty: it is known that there was
    /// nothing.
    #[must_use]
    pub fn facts(&self, action: Object, agent: &Agent, run: &str) -> Object {
        object! {
            "action": action,
            "agent": object! { "id"?: agent.id.clone(), "environment"?: agent.environment.clone(), "run": run },
            "calls": self.calls.clone(),
            "taint": self.taint.clone(),
            "memory": Vec::<Json>::new(),
            "facts": Vec::<Json>::new(),
        }
    }

    /// The request with [`Session::facts`]. It shares what it has in common with the one before it.
    pub(crate) fn request(&mut self, action: Object, agent: &Agent, run: &str) -> Result<Request, DocumentError> {
        let facts = self.facts(action, agent, run);
        let request = match &self.last {
            Some(last) => last.followed_by(facts)?,
            None => Request::from_facts(facts)?,
        };
        self.last = Some(request.clone());
        Ok(request)
    }
}

/// A call as facts have it. Its class is unknown where it was recorded without.
fn call(tool: Option<&str>, class: Option<&str>, args: Option<Json>, status: CallStatus, at: &str) -> Json {
    let call = object! {
        "tool": tool.unwrap_or_default(),
        "args"?: args,
        "status": status.as_str(),
        "class"?: class,
        "at": at,
    };
    call.into()
}

/// Whether an entry is about a request of the server, and so not a call of the agent. Entries that do not say who asked were
/// written by versions that decided on these requests of servers.
fn is_of_server(entry: &Object) -> bool {
    let text = |name: &str| entry.get(name).and_then(Json::as_str);
    match text("from") {
        Some(from) => from == "server",
        None => matches!(text("method"), Some("sampling/createMessage" | "elicitation/create" | "input_required")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_number_of_other_signs_hides_one() {
        let mut session = Session::default();
        for tool in 0..MAX_TAINT + 10 {
            session.tainted(&["hidden_characters"], &format!("tool{tool}"), "now");
        }
        for source in ["read", "look"] {
            session.tainted(&["prompt_injection", "hidden_characters"], source, "now");
        }
        let signs = session.taint.iter().filter_map(|sign| sign.as_object()?.get("signal")?.as_str());
        assert_eq!(signs.filter(|sign| *sign == "prompt_injection").count(), 1);
        assert_eq!(session.taint.len(), MAX_TAINT + 1);
    }
}
