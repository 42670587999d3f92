//! What was seen in a session, as the facts of the next decision. Nobody reports these: they are what passed here, or what the
//! session's record says of an earlier process or another one.

use std::collections::{BTreeSet, HashMap};

use proofmark_flow::{Origins, SeenResult};
use proofmark_receipt::{Json, Object, object};

use crate::document::Entry;
use crate::event::{Event, Kind};
use crate::kept::arguments;
use crate::members::Executed;
use crate::provenance::copy_provenance;
use crate::status::CallStatus;

/// The most calls of a session. Rules look at the calls before the present one, so none may be forgotten: a session with
/// more calls is refused further ones.
pub const MAX_CALLS: usize = 10_000;
/// The kinds of entries that facts are made of.
pub const FACT_KINDS: [Kind; 7] =
    [Kind::Decided, Kind::Result, Kind::Cancelled, Kind::Ended, Kind::Undecided, Kind::Asked, Kind::Told];
/// The class of calls that have no effect: they write nothing that could be read again.
const READS: &str = "generic";
/// The sign of a result that the record does not have, as that of one that was too long to be searched: it may have any.
const UNSEARCHED: &str = "unsearched";
/// The most signs of steering that are kept: the first of each kind and source, and the first of each kind in any case.
const MAX_TAINT: usize = 1_000;

/// Who acts.
#[derive(Clone, Debug, Default)]
pub struct Agent {
    pub id: Option<String>,
    pub environment: Option<String>,
    /// Which start of the agent's host asks. No part of an action: an approval counts after another start, too.
    pub process: Option<String>,
}

/// The calls of a session and what they brought.
#[derive(Debug, Default)]
pub struct SessionFacts {
    /// As facts have them; requests share them.
    calls: Vec<Json>,
    /// The calls that were read from the record, by their decisions.
    recorded: HashMap<String, usize>,
    /// As facts have it.
    taint: Vec<Json>,
    /// The signs of results that never came, with the decisions on their calls.
    lost: Vec<(String, Json)>,
    /// How many entries of the record were taken in.
    taken_in: usize,
    /// The first and the latest of what the user has asked for.
    task: Option<(String, String)>,
    origins: Origins,
    /// What happened that `origins` does not have yet: most policies never ask for it.
    happened: Vec<Happened>,
    /// The calls that were forwarded and whose result nobody knows, by their indexes.
    unread: BTreeSet<usize>,
}

/// Something that tells where values come from.
#[derive(Debug)]
enum Happened {
    Asked {
        text: String,
        at: String,
    },
    /// A call was made: its index.
    Wrote(usize),
    Read {
        tool: String,
        at: String,
        seen: Option<Object>,
    },
}

impl SessionFacts {
    /// Changes with every call that is added and every entry that is taken in: facts of another version are outdated.
    #[must_use]
    pub fn version(&self) -> usize {
        self.calls.len() + self.taken_in
    }

    /// Whether there can be no further call.
    #[must_use]
    pub fn is_full(&self) -> bool {
        self.calls.len() >= MAX_CALLS
    }

    /// Takes in an entry of the session's record, in its order. Entries of other kinds than [`FACT_KINDS`] say nothing here.
    pub fn take_in(&mut self, Entry { at, event }: &Entry) {
        self.taken_in += 1;
        match event {
            Event::Decided(decided) if !decided.is_of_server() => {
                let status = if decided.was_forwarded() { CallStatus::Pending } else { CallStatus::Blocked };
                let args = parsed(decided.arguments.as_deref());
                let mut call = call(decided.tool.as_deref(), decided.class.as_deref(), args, status, at);
                copy_provenance(&decided.provenance(), &mut call);
                self.add(call, status);
                let decision = decided.decision.clone();
                self.recorded.extend(decision.map(|decision| (decision, self.calls.len() - 1)));
            }
            Event::Result(result) => {
                self.lost.retain(|(decision, _)| Some(decision) != result.decision.as_ref());
                self.decision_ended(result.decision.as_deref(), result.status);
                if !result.was_withheld() {
                    self.tainted(&result.signs, &result.tool, at);
                }
                let call = result.decision.as_deref().and_then(|decision| self.recorded.get(decision)).copied();
                // What is said of a task that goes on is an event of its own.
                if result.status.is_some_and(|status| status != CallStatus::Pending) {
                    self.brought(call, &result.tool, at, result.origins.clone(), !result.was_withheld());
                }
            }
            Event::Ended(ended) => {
                if let Some(tool) = self.pending_tool(&ended.decision) {
                    self.lost.push((ended.decision.clone(), sign(UNSEARCHED, tool, at)));
                }
                self.decision_ended(Some(&ended.decision), ended.status);
            }
            // Where it is not known whether it was executed, it stays pending.
            Event::Cancelled(cancelled) if cancelled.executed == Executed::No => {
                self.decision_ended(cancelled.decision.as_deref(), Some(CallStatus::Blocked));
                let call = cancelled.decision.as_deref().and_then(|decision| self.recorded.get(decision));
                if let Some(call) = call.copied() {
                    self.unread.remove(&call);
                }
            }
            Event::Undecided(undecided) => {
                let status = match undecided.status {
                    // It may have changed something, and nobody decided on it: it proves nothing.
                    Some(CallStatus::Succeeded) | None => CallStatus::Doubtful,
                    Some(status) => status,
                };
                let args = parsed(undecided.arguments.as_deref());
                let mut call = call(undecided.tool.as_deref(), None, args, status, at);
                call.insert("source", "trace");
                self.add(call, CallStatus::Pending);
            }
            Event::Asked(asked) => self.asked(&asked.text, at),
            Event::Told(told) => self.told(&told.method, at),
            _ => {}
        }
    }

    /// Adds a call that is about to be forwarded, or that was blocked; its index.
    pub fn called(&mut self, action: &Object, process: Option<&str>, status: CallStatus, at: &str) -> usize {
        let text = |name: &str| action.get(name).and_then(Json::as_str);
        let args = action.get("args").filter(|args| arguments(args).is_some()).cloned();
        let mut call = call(text("tool"), text("class"), args, status, at);
        copy_provenance(action, &mut call);
        if let Some(process) = process {
            call.insert("process", process);
        }
        self.add(call, status)
    }

    /// Adds a call; its index. One that was forwarded has written its arguments, and brings something that is not known yet.
    fn add(&mut self, call: Object, status: CallStatus) -> usize {
        let only_reads = call.get("class").and_then(Json::as_str) == Some(READS);
        self.calls.push(call.into());
        let index = self.calls.len() - 1;
        if status == CallStatus::Pending {
            self.unread.insert(index);
            if !only_reads {
                self.happened.push(Happened::Wrote(index));
            }
        }
        index
    }

    /// Takes in what the user asks for.
    pub fn asked(&mut self, text: &str, at: &str) {
        let first = self.task.take().map_or_else(|| text.to_owned(), |(first, _)| first);
        self.task = Some((first, text.to_owned()));
        self.happened.push(Happened::Asked { text: text.to_owned(), at: at.to_owned() });
    }

    /// Takes in that a server has said something for which nobody vouches.
    pub fn told(&mut self, method: &str, at: &str) {
        self.happened.push(Happened::Read { tool: method.to_owned(), at: at.to_owned(), seen: None });
    }

    /// Takes in what a call brought: the labels of its values, where they are known. The agent was `given` it, or not.
    pub fn brought(&mut self, call: Option<usize>, tool: &str, at: &str, seen: Option<Object>, given: bool) {
        if let Some(call) = call {
            self.unread.remove(&call);
        }
        if given {
            self.happened.push(Happened::Read { tool: tool.to_owned(), at: at.to_owned(), seen });
        }
    }

    /// What the user has asked for last.
    #[must_use]
    pub fn task(&self) -> Option<&str> {
        self.task.as_ref().map(|(_, latest)| latest.as_str())
    }

    /// The arguments of a call, where they were recorded.
    #[must_use]
    pub fn arguments(&self, call: usize) -> Option<&Json> {
        self.calls.get(call)?.as_object()?.get("args")
    }

    /// Where the values come from that the session has seen.
    pub fn origins(&mut self) -> &Origins {
        for happened in std::mem::take(&mut self.happened) {
            match happened {
                Happened::Asked { text, at } => self.origins.asked(&text, &at),
                Happened::Wrote(call) => {
                    let arguments = self.calls.get(call).and_then(|call| call.as_object()?.get("args"));
                    self.origins.wrote(arguments);
                }
                Happened::Read { tool, at, seen } => {
                    self.origins.read(&tool, &at, seen.as_ref().map(SeenResult::from_object).as_ref());
                }
            }
        }
        &self.origins
    }

    /// The fact `origins` of an action: what is known of where its arguments come from.
    /// With `pieces`, also of which pieces texts are made.
    pub fn origins_of(&mut self, action: &Object, pieces: bool) -> Object {
        self.origins();
        let none = Json::Object(Object::new());
        let arguments = action.get("args").unwrap_or(&none);
        let unread = self.unread.iter().filter_map(|call| self.calls.get(*call)?.as_object()?.get("tool")?.as_str());
        self.origins.about(arguments, unread, pieces)
    }

    /// Sets how a call ended.
    pub fn ended(&mut self, index: usize, status: CallStatus) {
        if let Some(Json::Object(call)) = self.calls.get_mut(index) {
            call.insert("status", status.as_str());
        }
    }

    /// Sets how the call ended that was decided on, where the record says so.
    fn decision_ended(&mut self, decision: Option<&str>, status: Option<CallStatus>) {
        let index = decision.and_then(|decision| self.recorded.get(decision)).copied();
        if let (Some(index), Some(status)) = (index, status) {
            self.ended(index, status);
        }
    }

    /// The tool of the call that was decided on, where the record has nothing of how it ended.
    fn pending_tool(&self, decision: &str) -> Option<&str> {
        let call = self.calls.get(*self.recorded.get(decision)?)?.as_object()?;
        let text = |name| call.get(name).and_then(Json::as_str);
        text("tool").filter(|_| text("status") == Some(CallStatus::Pending.as_str()))
    }

    /// Keeps the signs of steering in what came from `source`.
    pub fn tainted<L: AsRef<str>>(&mut self, labels: &[L], source: &str, at: &str) {
        for label in labels.iter().map(AsRef::as_ref) {
            let is = |sign: &Object, name: &str, text: &str| sign.get(name).and_then(Json::as_str) == Some(text);
            let (mut is_known, mut is_of_known_kind) = (false, false);
            for sign in self.taint.iter().filter_map(Json::as_object).filter(|sign| is(sign, "signal", label)) {
                is_of_known_kind = true;
                is_known |= is(sign, "source", source);
            }
            // A server that has many tools must not make the sign be left out that a rule looks for.
            if !is_known && (self.taint.len() < MAX_TAINT || !is_of_known_kind) {
                self.taint.push(sign(label, source, at));
            }
        }
    }

    /// The facts of a request about `action`. The lists are there even where they are empty: it is known that there was
    /// nothing.
    #[must_use]
    pub fn facts(&self, action: Object, agent: &Agent, run: &str) -> Object {
        object! {
            "action": action,
            "agent": object! { "id"?: agent.id.clone(), "environment"?: agent.environment.clone(), "run": run, "process"?: agent.process.clone() },
            "calls": self.calls.clone(),
            "taint": self.taint.iter().chain(self.lost.iter().map(|(_, sign)| sign)).cloned().collect::<Vec<_>>(),
            "memory": Vec::<Json>::new(),
            "facts": Vec::<Json>::new(),
            "task"?: self.task.as_ref().map(|(first, latest)| object! { "first": first.as_str(), "latest": latest.as_str() }),
        }
    }
}

/// Arguments as facts have them, where they were recorded.
fn parsed(arguments: Option<&str>) -> Option<Json> {
    Json::parse(arguments?.as_bytes()).ok()
}

/// A sign of steering as facts have it.
fn sign(signal: &str, source: &str, at: &str) -> Json {
    object! { "signal": signal, "source": source, "at": at }.into()
}

/// A call as facts have it. Its class is unknown where it was recorded without.
fn call(tool: Option<&str>, class: Option<&str>, args: Option<Json>, status: CallStatus, at: &str) -> Object {
    object! {
        "tool": tool.unwrap_or_default(),
        "args"?: args,
        "status": status.as_str(),
        "class"?: class,
        "at": at,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_number_of_other_signs_hides_one() {
        let mut session = SessionFacts::default();
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
