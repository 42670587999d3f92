//! The state of one guarded connection.
//!
//! Each message is read, and then passed, answered, dropped, or held until its actions are decided. What is forwarded is
//! the text that was read, written anew ([`crate::message`]); an answer is forwarded only to the request that is open.

mod actions;
mod answers;
mod exchanges;
mod http;
mod lists;
mod open;
mod requests;
mod results;
mod rulings;
mod told;
mod waiting;

use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};
use std::time::Duration;

use proofmark_boundary::{ActionPolicy, DecisionReceipt, Request};
use proofmark_receipt::{Object, Sha256Digest, object};
use proofmark_session::{Agent, Asked, Closed, Event, Executed, Keep, Opened, Refused, SessionFacts};

use crate::answer::{self, INVALID_PARAMS};
use crate::message::{Kind, Message, MessageError, MessageId, Sender};
use crate::origin::Origin;
use crate::pin::Pin;
use crate::pins::Pins;
pub use lists::Moving;
use lists::{Lists, Parked};
use open::{Open, Task, cancelled, passed};
use requests::{Treatment, of_client, of_server};
use told::Asks;
use waiting::{Wait, Waited};

pub use exchanges::{Exchanged, Requested, TOOL_ERROR};
pub use http::{Failure, HungUp, Posted, Stream};

/// The most requests of one side that may be open at once.
const MAX_OPEN: usize = 10_000;
/// The most tasks and states of the server that are remembered.
const MAX_REMEMBERED: usize = 10_000;
/// The most methods of notifications that are counted by name.
const MAX_COUNTED: usize = 64;

/// How much is shown of a line that is not forwarded, in characters.
const MAX_SHOWN: usize = 200;

/// What a connection is told once.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    /// The name of the session.
    pub session: String,
    /// What the server is called, in policies and in pins.
    pub server: String,
    /// What the server is reached by: the words of its command, or its URL.
    pub origin: Vec<String>,
    /// Which start of the agent's host the calls belong to.
    pub process: Option<String>,
    pub agent: Option<String>,
    pub environment: Option<String>,
    pub keep: Keep,
    /// Whether tools that the policy never allows are taken out of lists.
    pub hide: bool,
    /// How long a call that asks for approval may wait for it, where the client takes notifications of progress.
    pub wait: Duration,
    /// Whether what the policy blocks is forwarded all the same. Messages that are refused before any policy is asked, and
    /// actions that could not be decided, are not forwarded either way.
    pub shadow: bool,
    /// What the user has asked the agent for, where a person says so.
    pub request: Option<String>,
}

/// What is to be done, in this order.
#[derive(Clone, Debug, PartialEq)]
#[expect(clippy::large_enum_variant, reason = "a message has a few of these, and each is moved once")]
pub enum Output {
    ToClient(String),
    ToServer(String),
    /// To the server: a request of the guard itself.
    Ask(MessageId, String),
    /// To the client: the answer to this request, which waited.
    Tell(MessageId, String),
    /// To the client: a notification or a question about this request, which waits. Its answer follows later.
    Progress(MessageId, String),
    /// For the operator.
    Log(String),
    /// A definition that was pinned now.
    Pin(Pin),
    /// A definition that is quarantined, and why.
    Waits(Pin, String),
    Event(Event),
}

/// What follows from a message.
#[derive(Debug, Default)]
pub struct Step {
    pub outputs: Vec<Output>,
    /// What is to be decided before the message goes on.
    pub pending: Option<Pending>,
    /// Requests that waited and go on, each to be given to [`Connection::go_on`] in this order, after what is pending.
    pub released: Vec<Released>,
    /// To be given to [`Connection::moved`] when all that follows from this step has been moved: until then, later requests
    /// of the client wait, so that none overtakes another.
    pub moving: Vec<Moving>,
}

/// A request of the client that waited: for a list of the server, or for an approval.
#[derive(Debug)]
pub struct Released(Parked, Option<Waited>);

/// A message that is held until its actions are decided.
#[derive(Debug)]
pub struct Pending {
    /// The actions, each to be decided in order until one is not allowed.
    pub requests: Vec<Request>,
    /// The version of the facts.
    known: usize,
    /// Which start of the agent's host asks.
    process: Option<String>,
    held: Held,
}

#[derive(Debug)]
struct Held {
    message: Message,
    id: MessageId,
    method: String,
    from: Sender,
    actions: Vec<Object>,
    /// What is wrong with the definition of the tool.
    detail: Option<String>,
    /// The client's request that a server's request belongs to, in the stateless revision.
    answers: Option<Open>,
    /// For how long it has waited for an approval.
    waited: Option<Waited>,
}

/// What was ruled on an action.
#[derive(Clone, Copy, Debug)]
pub enum Ruling<'a> {
    Decided(&'a DecisionReceipt),
    /// It could not be decided, so it is not executed.
    Failed(&'a str),
}

/// The state of one guarded connection.
#[derive(Debug)]
pub struct Connection {
    settings: Settings,
    agent: Agent,
    /// Where the calls of this connection come from.
    provenance: Object,
    session: SessionFacts,
    /// What the policy in force asks of where values come from.
    asks: Asks,
    /// The request that was made last, which has most of what the next one has.
    last: Option<Request>,
    pins: Pins,
    /// The client's requests, and those that wait for a decision.
    open: HashMap<MessageId, Open>,
    deciding: HashSet<MessageId>,
    /// The server's requests that the client has seen.
    asked: HashMap<MessageId, String>,
    tasks: HashMap<String, Task>,
    /// What the server handed out to continue a request, with the action it belongs to.
    states: HashMap<Sha256Digest, Sha256Digest>,
    lists: Lists,
    /// Whether the client takes questions for its user.
    asks_user: bool,
    /// The client's requests that wait for an approval.
    waits: BTreeMap<MessageId, Wait>,
    /// What was forwarded from streams that can be resumed, and may come again.
    delivered: VecDeque<Sha256Digest>,
    /// How many notifications of each method came from each side.
    notified: BTreeMap<(&'static str, String), u64>,
    noise: u64,
    /// By which methods the server has said something for which nobody vouches.
    told: HashSet<String>,
    /// Which requests have begun and ended, where that is noted.
    exchanged: Option<Vec<Exchanged>>,
    server_has_ended: bool,
}

impl Connection {
    /// A connection that has just begun.
    #[must_use]
    pub fn new(settings: Settings, pins: Pins) -> Self {
        let agent = Agent {
            id: settings.agent.clone(),
            environment: settings.environment.clone(),
            process: settings.process.clone(),
        };
        let provenance = provenance(&settings);
        Self {
            settings,
            agent,
            provenance,
            session: SessionFacts::default(),
            asks: Asks::default(),
            last: None,
            pins,
            open: HashMap::new(),
            deciding: HashSet::new(),
            asked: HashMap::new(),
            tasks: HashMap::new(),
            states: HashMap::new(),
            lists: Lists::default(),
            asks_user: false,
            waits: BTreeMap::new(),
            delivered: VecDeque::new(),
            notified: BTreeMap::new(),
            noise: 0,
            told: HashSet::new(),
            exchanged: None,
            server_has_ended: false,
        }
    }

    /// Records the beginning of the session, the origin of the server, and what the user asks for.
    pub fn open(&mut self, policy: &ActionPolicy, now: &str) -> Vec<Output> {
        let mut outputs = Vec::new();
        let origin = self.origin(&mut outputs);
        if let Some(state) = origin {
            self.provenance.insert("origin_state", state);
        }
        let opened = Opened {
            host: None,
            server: Some(self.settings.server.clone()),
            agent: self.settings.agent.clone(),
            environment: self.settings.environment.clone(),
            policy_hash: Some(policy.hash().to_string()),
            origin: origin.map(str::to_owned),
            process: self.settings.process.clone(),
            shadow: self.settings.shadow.then_some(true),
        };
        // Readers of the record expect this event first, before the pin of the origin.
        outputs.insert(0, Output::Event(Event::Opened(opened)));
        if let Some(text) = &self.settings.request {
            self.session.asked(text, now);
            outputs.push(Output::Event(Event::Asked(Asked { text: text.clone(), told_by: "file".to_owned() })));
        }
        outputs
    }

    /// Takes in a line of the client.
    pub fn from_client(&mut self, line: impl Into<Vec<u8>>, policy: &ActionPolicy) -> Step {
        self.asks = Asks::of(policy);
        match Message::read(line, Sender::Client) {
            Ok(message) => self.client(message, policy).unwrap_or_else(|refusal| self.refuse(&refusal)),
            Err(refusal) => self.refuse(&refusal),
        }
    }

    /// Takes in a line of the server.
    pub fn from_server(&mut self, line: impl Into<Vec<u8>>, policy: &ActionPolicy, now: &str) -> Step {
        self.asks = Asks::of(policy);
        let line = line.into();
        let begin = begin_of(&line);
        match Message::read(line, Sender::Server) {
            Ok(message) => self.server(message, policy, now),
            Err(refusal) => self.not_forwarded(&begin, &refusal),
        }
    }

    /// Servers print banners: only messages are forwarded. `begin` is how the line begins.
    fn not_forwarded(&mut self, begin: &str, refusal: &MessageError) -> Step {
        self.noise += 1;
        Step::of(Output::Log(format!("the server wrote a line that is not forwarded ({refusal}): {begin}")))
    }

    /// Takes in that time has passed. `millis` are on a clock that never goes back.
    pub fn tick(&mut self, millis: u64) -> Step {
        let mut step = self.give_up_lists(millis);
        step.outputs.extend(self.tick_waits(millis));
        step
    }

    /// Goes on with a request that waited.
    pub fn go_on(&mut self, released: Released, policy: &ActionPolicy) -> Step {
        self.asks = Asks::of(policy);
        let Released(Parked { message, id, method }, mut waited) = released;
        let withdrawn = waited.as_mut().and_then(|waited| waited.withdrawn(&id));
        // A call that is not being decided was cancelled after it was released and before it was held.
        let mut step = if self.deciding.contains(&id) {
            self.hold(message, id, method, waited, policy).unwrap_or_else(|refusal| {
                self.deciding.retain(|id| Some(id) != refusal.id.as_ref());
                self.refuse(&refusal)
            })
        } else {
            Step::of(cancelled(&id, None, Executed::No))
        };
        step.outputs.splice(0..0, withdrawn);
        step
    }

    /// Whether something is quarantined, so that it is worth looking whether it was approved.
    #[must_use]
    pub fn any_quarantined(&self) -> bool {
        self.pins.any_quarantined()
    }

    /// Takes over the pins of all servers, as they are now.
    pub fn renew_pins(&mut self, pinned: Vec<Pin>) {
        self.pins.renew(&self.settings.server, pinned);
    }

    /// What is to be recorded at the end: the requests that have no answer.
    pub fn close(&mut self) -> Vec<Output> {
        let waiting: Vec<_> = self.waits.keys().cloned().collect();
        let mut outputs: Vec<_> = waiting.iter().flat_map(|id| self.cancelled_before(id)).collect();
        let mut open: Vec<_> = self.open.drain().map(|(_, open)| open).collect();
        // A map has no order, and two records of the same course should be equal.
        open.sort_by(|one, other| one.id.cmp(&other.id));
        let unanswered = open.iter().filter(|open| open.call.is_some());
        let unanswered = unanswered.map(|open| open.id.as_json().to_owned()).collect();
        let mut notified = Object::new();
        for ((from, method), count) in &self.notified {
            notified.insert(format!("{from} {method}"), *count);
        }
        let server = Some(self.settings.server.clone());
        let closed = Closed { server, unanswered, lines_not_forwarded: self.noise, notifications: notified };
        outputs.push(Output::Event(Event::Closed(closed)));
        outputs
    }

    /// Whether no request waits.
    #[must_use]
    pub fn is_idle(&self) -> bool {
        self.waits.is_empty() && !self.waits_for_list()
    }

    /// Takes in that the client sends nothing more: what waits for an approval is blocked.
    pub fn client_ended(&mut self) -> Vec<Output> {
        self.give_up_waits(|_| true)
    }

    /// The answers to all open requests, for a server that has ended.
    pub fn server_ended(&mut self) -> Vec<Output> {
        self.server_has_ended = true;
        let waits = std::mem::take(&mut self.waits);
        let withdrawn = waits.values().filter_map(waiting::Wait::question);
        let withdrawn: Vec<_> = withdrawn.map(|question| Output::ToClient(answer::withdrawn(question))).collect();
        let waiting = waits.into_keys().chain(self.lists.take_parked());
        let mut open: Vec<_> = self.open.keys().cloned().chain(waiting).collect();
        open.sort();
        self.note_server_ended(&open);
        // What is still being decided is answered when its decision has been made.
        self.deciding.retain(|id| !open.contains(id));
        let answers = open.iter().map(|id| Output::ToClient(answer::server_ended(id)));
        withdrawn.into_iter().chain(answers).collect()
    }

    fn refuse(&mut self, refusal: &MessageError) -> Step {
        // The id may be that of another request, which is still open.
        if let Some(id) = refusal.id.as_ref().filter(|id| !self.is_open(id)) {
            self.note_refused(id, refusal.code);
        }
        Step {
            outputs: vec![
                Output::Event(Event::Refused(Refused { reason: refusal.reason.clone() })),
                Output::Log(format!("a message of the client is not forwarded: {}", refusal.reason)),
                Output::ToClient(answer::refused(refusal)),
            ],
            ..Step::default()
        }
    }

    fn client(&mut self, message: Message, policy: &ActionPolicy) -> Result<Step, MessageError> {
        match message.kind.clone() {
            Kind::Request { id, method } => self.request(message, id, method, policy),
            Kind::Notification { method } => Ok(self.notification(message, &method)),
            Kind::Answer { id } => match self.asked.remove(&id) {
                Some(_) => {
                    self.note_answered(&message, &id, Sender::Server);
                    Ok(Step::of(Output::ToServer(message.text)))
                }
                None => Ok(self.answered_question(&message, &id).unwrap_or_else(|| {
                    Step::of(Output::Log("the client answered a request that is not open".to_owned()))
                })),
            },
            // It names no request, so it can answer none.
            Kind::Fault => Ok(Step::of(Output::ToServer(message.text))),
        }
    }

    fn request(
        &mut self,
        message: Message,
        id: MessageId,
        method: String,
        policy: &ActionPolicy,
    ) -> Result<Step, MessageError> {
        if self.server_has_ended {
            return Ok(Step::of(Output::ToClient(answer::server_ended(&id))));
        }
        // Of two open requests with one id, an answer could be taken for that of the other.
        if self.open.contains_key(&id) || self.deciding.contains(&id) || self.lists.has_asked(&id) {
            return Err(MessageError::still_open(id));
        }
        if self.open.len() + self.deciding.len() >= MAX_OPEN {
            return Err(MessageError::invalid(Some(id), format!("more than {MAX_OPEN} requests are open")));
        }
        self.note_began(&message, &id, &method, Sender::Client);
        match of_client(&method) {
            Treatment::Pass => {
                if method == "initialize" {
                    self.greeted(&message);
                }
                let recorded = requests::is_recorded(&method).then(|| passed(&id, &method, &message));
                self.open.insert(id.clone(), Open::passed(id, method, &message));
                let mut step = Step::of(Output::ToServer(message.text));
                step.outputs.splice(0..0, recorded.map(Output::Event));
                Ok(step)
            }
            // The call that began the task was decided on; a task of another session was not, here.
            Treatment::OfTask => match message.param("taskId").and_then(|task| self.tasks.get(task)) {
                Some(Task { call, decision }) => {
                    let (call, decision) = (Some(call.clone()), decision.clone());
                    let open = Open { call, decision, ..Open::passed(id.clone(), method, &message) };
                    self.open.insert(id, open);
                    Ok(Step::of(Output::ToServer(message.text)))
                }
                None => Err(MessageError {
                    code: INVALID_PARAMS,
                    id: Some(id),
                    reason: "the task is not one of this session".to_owned(),
                }),
            },
            Treatment::Decide => match self.list_needed(&method) {
                Some(list) => self.ask_first(list, Parked { message, id, method }),
                None => self.hold(message, id, method, None, policy),
            },
        }
    }

    fn notification(&mut self, message: Message, method: &str) -> Step {
        self.count("client", method);
        if method == "notifications/cancelled" {
            return match message.cancels() {
                Some(id) => self.cancelled(message, &id),
                None => Step::default(),
            };
        }
        // A server might take another method for a request, although it gets no answer.
        if method.starts_with("notifications/") {
            Step::of(Output::ToServer(message.text))
        } else {
            Step::of(Output::Log(format!(
                "a notification of the client is not forwarded: `{}` is not one of the protocol",
                proofmark_receipt::shown(method)
            )))
        }
    }

    fn cancelled(&mut self, message: Message, id: &MessageId) -> Step {
        if self.deciding.contains(id) {
            return Step { outputs: self.cancelled_before(id), ..Step::default() };
        }
        let Some(open) = self.open.get_mut(id) else { return Step::default() };
        // It stays open: the server may answer all the same, and whether it executed the call is not known.
        open.cancelled = true;
        Step { outputs: vec![open.cancelled(Executed::Unknown), Output::ToServer(message.text)], ..Step::default() }
    }

    /// Drops a request that the server has not seen. Where it is being decided, the decision is recorded first.
    fn cancelled_before(&mut self, id: &MessageId) -> Vec<Output> {
        self.deciding.remove(id);
        let (decision, waited) = self.waits.remove(id).map(waiting::Wait::into_parts).unzip();
        if decision.is_none() && !self.lists.drop_parked(id) {
            return Vec::new();
        }
        let withdrawn = waited.and_then(|mut waited| waited.withdrawn(id));
        withdrawn.into_iter().chain([cancelled(id, decision, Executed::No)]).collect()
    }

    /// Counts a notification; those of methods that are one too many together.
    fn count(&mut self, from: &'static str, method: &str) {
        let name = proofmark_receipt::shown(method);
        let is_counted = self.notified.len() < MAX_COUNTED || self.notified.contains_key(&(from, name.clone()));
        // Each side chooses the names, and the record must not grow with them.
        let name = if is_counted { name } else { "others".to_owned() };
        *self.notified.entry((from, name)).or_default() += 1;
    }

    fn server(&mut self, message: Message, policy: &ActionPolicy, now: &str) -> Step {
        match message.kind.clone() {
            Kind::Request { id, method } => self.server_request(message, id, method, policy),
            Kind::Notification { method } => {
                self.count("server", &method);
                // They come with the state of the task as well, and are decided there.
                if message.has_param("inputRequests") {
                    return Step::of(Output::Log("a notification that asks for input is not forwarded".to_owned()));
                }
                let told = self.said(&method, &told::of_notification(&message), policy, now);
                let mut step = Step::of(Output::ToClient(message.text));
                step.outputs.splice(0..0, told.into_iter().chain(self.list_changed(&method).map(Output::Event)));
                step
            }
            Kind::Fault => {
                let told = self.told("error", now);
                Step { outputs: told.into_iter().chain([Output::ToClient(message.text)]).collect(), ..Step::default() }
            }
            Kind::Answer { id } if self.lists.has_asked(&id) => self.listed_for_guard(&id, &message),
            Kind::Answer { id } => match self.open.remove(&id) {
                Some(open) => {
                    self.note_answered(&message, &id, Sender::Client);
                    self.answered(message, open, policy, now)
                }
                None => {
                    self.noise += 1;
                    Step::of(Output::Log("the server answered a request that is not open".to_owned()))
                }
            },
        }
    }

    fn server_request(&mut self, message: Message, id: MessageId, method: String, policy: &ActionPolicy) -> Step {
        if self.asked.contains_key(&id) || self.is_question(&id) || self.asked.len() >= MAX_OPEN {
            return Step::of(Output::Log("a request of the server is not forwarded: its id is in use".to_owned()));
        }
        self.note_began(&message, &id, &method, Sender::Server);
        match of_server(&method) {
            Treatment::Pass | Treatment::OfTask => {
                self.asked.insert(id, method);
                self.remember_delivered(&message);
                Step::of(Output::ToClient(message.text))
            }
            Treatment::Decide => self.hold_for_server(message, id, method, policy),
        }
    }
}

impl Step {
    fn of(output: Output) -> Self {
        Self { outputs: vec![output], ..Self::default() }
    }
}

/// Where the calls of a connection come from.
fn provenance(settings: &Settings) -> Object {
    let origin = (!settings.origin.is_empty()).then(|| Origin::of(&settings.origin));
    object! {
        "source": "guard",
        "surface": "mcp",
        "origin"?: origin.as_ref().map(|origin| origin.shown.clone()),
        "origin_sha256"?: origin.map(|origin| origin.sha256),
    }
}

/// How a line begins, for the operator.
fn begin_of(line: &[u8]) -> String {
    // A character has at most four bytes.
    let begin = line.get(..MAX_SHOWN * 4).unwrap_or(line);
    String::from_utf8_lossy(begin).chars().take(MAX_SHOWN).collect()
}
