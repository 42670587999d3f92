//! What a server says that is not the result of a call: it may steer an agent as a result may.

use proofmark_boundary::{ActionPolicy, ReadCall};
use proofmark_receipt::{Json, Object};
use proofmark_session::{Event, Told};

use super::{Connection, MAX_COUNTED, Output};
use crate::message::Message;
use crate::observed;

/// Parameters that the client has chosen, or that carry nothing which an agent reads.
const OF_CLIENT: [&str; 4] = ["progressToken", "requestId", "taskId", "_meta"];
/// What the protocol says of a task, and no text.
const OF_TASK: [&str; 7] = ["taskId", "status", "createdAt", "lastUpdatedAt", "ttl", "pollInterval", "resultType"];
/// Requests whose answers are compared with what is pinned, and those about a call.
const PINNED: [&str; 5] = ["initialize", "server/discover", "tools/list", "prompts/list", "resources/templates/list"];

/// What a policy asks of where values come from.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Asks {
    pub(super) origins: bool,
    pub(super) pieces: bool,
}

impl Asks {
    pub(super) fn of(policy: &ActionPolicy) -> Self {
        Self { origins: policy.asks_for_origins(), pieces: policy.asks_for_pieces() }
    }
}

impl Connection {
    /// Takes in that the client was given a request of the server.
    pub(super) fn asked_by_server(&mut self, method: &str, now: &str) -> Option<Output> {
        self.told(method, now)
    }

    /// Takes in what the server has said with a message of this method.
    pub(super) fn said(&mut self, method: &str, values: &[Json], policy: &ActionPolicy, now: &str) -> Option<Output> {
        let args = Json::Object(Object::new());
        let read = ReadCall { tool: method, server: Some(&self.settings.server), args: Some(&args) };
        let request = self.session.task().map(str::to_owned);
        let seen = policy.labelled(&read, values, request.as_deref(), self.session.origins(), false);
        if seen.unknown { self.told(method, now) } else { None }
    }

    /// Nobody vouches for it. It is recorded once for each method.
    pub(super) fn told(&mut self, method: &str, now: &str) -> Option<Output> {
        // A server chooses the methods of its notifications, and the record must not grow with them.
        let method = if self.told.len() < MAX_COUNTED { proofmark_receipt::shown(method) } else { "others".to_owned() };
        if !self.told.insert(method.clone()) {
            return None;
        }
        self.session.told(&method, now);
        // Where no policy asks, it is known here, and not recorded.
        self.asks.origins.then_some(Output::Event(Event::Told(Told { method })))
    }
}

fn object_of(json: &mut Json) -> Option<&mut Object> {
    if let Json::Object(object) = json { Some(object) } else { None }
}

/// What a notification says.
pub(super) fn of_notification(message: &Message) -> Vec<Json> {
    let mut params = message.params().cloned().unwrap_or_default();
    OF_CLIENT.into_iter().for_each(|name| drop(params.remove(name)));
    vec![params.into()]
}

/// What an answer says that belongs to no call.
pub(super) fn of_answer(message: &Message, method: &str) -> Vec<Json> {
    let is_known = PINNED.contains(&method) || method.starts_with("tasks/");
    if is_known { Vec::new() } else { observed::values(message) }
}

/// What is said of a task that goes on.
pub(super) fn of_task(message: &Message) -> Vec<Json> {
    let mut values = observed::values(message);
    for object in values.iter_mut().filter_map(object_of) {
        OF_TASK.into_iter().for_each(|name| drop(object.remove(name)));
        if let Some(task) = object.get_mut("task").and_then(object_of) {
            OF_TASK.into_iter().for_each(|name| drop(task.remove(name)));
        }
    }
    values
}
