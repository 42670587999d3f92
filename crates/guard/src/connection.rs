//! The state of one guarded connection.
//!
//! Each message is read, and then passed, answered, dropped, or held until its actions are decided. What is forwarded is
//! the text that was read, written anew ([`crate::message`]); an answer is forwarded only to the request that is open.

mod answers;
mod requests;
mod rulings;

use std::collections::{HashMap, HashSet};

use proofmark_boundary::{ActionPolicy, DecisionReceipt, Request, ToolCall};
use proofmark_receipt::{Json, Object, Sha256Digest, object};

use crate::answer::{self, Block, INVALID_PARAMS};
use crate::event::{Event, Keep};
use crate::message::{Kind, Message, MessageError, MessageId, Sender};
use crate::pins::{Pin, PinState, Pins};
use crate::session::{Agent, MAX_CALLS, Session};
use requests::{Treatment, of_client, of_server};

/// The most requests of one side that may be open at once.
const MAX_OPEN: usize = 10_000;
/// The most tasks and states of the server that are remembered.
const MAX_REMEMBERED: usize = 10_000;

/// What a connection is told once.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    /// The name of the session.
    pub session: String,
    /// What the server is called, in policies and in pins.
    pub server: String,
    pub agent: Option<String>,
    pub environment: Option<String>,
    pub keep: Keep,
    /// Whether tools that the policy never allows are taken out of lists.
    pub hide: bool,
}

/// What is to be done, in this order.
#[derive(Clone, Debug, PartialEq)]
pub enum Output {
    ToClient(String),
    ToServer(String),
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
}

/// A message that is held until its actions are decided.
#[derive(Debug)]
pub struct Pending {
    /// The actions, each to be decided in order until one is not allowed.
    pub requests: Vec<Request>,
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
}

/// What was ruled on an action.
#[derive(Clone, Copy, Debug)]
pub enum Ruling<'a> {
    Decided(&'a DecisionReceipt),
    /// It could not be decided, so it is not executed.
    Failed(&'a str),
}

/// A request that has no answer yet.
#[derive(Clone, Debug)]
struct Open {
    id: MessageId,
    method: String,
    /// The call in the session, and its tool.
    call: Option<(usize, String)>,
    /// What names the action for a retry in the stateless revision.
    action: Option<Sha256Digest>,
    decision: Option<String>,
    cancelled: bool,
}

/// The state of one guarded connection.
#[derive(Debug)]
pub struct Connection {
    settings: Settings,
    agent: Agent,
    session: Session,
    pins: Pins,
    /// The client's requests, and those that wait for a decision.
    open: HashMap<MessageId, Open>,
    deciding: HashSet<MessageId>,
    /// The server's requests that the client has seen.
    asked: HashMap<MessageId, String>,
    tasks: HashSet<String>,
    /// What the server handed out to continue a request, with the action it belongs to.
    states: HashMap<Sha256Digest, Sha256Digest>,
    noise: u64,
}

impl Connection {
    /// A connection that has just begun.
    #[must_use]
    pub fn new(settings: Settings, pins: Pins) -> Self {
        let agent = Agent { id: settings.agent.clone(), environment: settings.environment.clone() };
        Self {
            settings,
            agent,
            session: Session::default(),
            pins,
            open: HashMap::new(),
            deciding: HashSet::new(),
            asked: HashMap::new(),
            tasks: HashSet::new(),
            states: HashMap::new(),
            noise: 0,
        }
    }

    /// Takes in a line of the client.
    pub fn from_client(&mut self, line: &[u8], policy: &ActionPolicy) -> Step {
        match Message::read(line, Sender::Client) {
            Ok(message) => self.client(message, policy).unwrap_or_else(|refusal| self.refuse(&refusal)),
            Err(refusal) => self.refuse(&refusal),
        }
    }

    /// Takes in a line of the server.
    pub fn from_server(&mut self, line: &[u8], policy: &ActionPolicy, now: &str) -> Step {
        match Message::read(line, Sender::Server) {
            Ok(message) => self.server(message, policy, now),
            Err(refusal) => {
                // Servers print banners: only messages are forwarded.
                self.noise += 1;
                let shown: String = String::from_utf8_lossy(line).chars().take(200).collect();
                Step::of(Output::Log(format!("the server wrote a line that is not forwarded ({refusal}): {shown}")))
            }
        }
    }

    /// Whether a tool is quarantined, so that it is worth looking whether it was approved.
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
        let mut open: Vec<_> = self.open.drain().map(|(_, open)| open).collect();
        open.sort_by(|one, other| one.id.cmp(&other.id));
        let unanswered = open.iter().filter(|open| open.call.is_some());
        let unanswered: Vec<_> = unanswered.map(|open| Json::from(open.id.as_json())).collect();
        let members = object! { "unanswered": unanswered, "lines_not_forwarded": self.noise };
        vec![Output::Event(Event::new("closed", members))]
    }

    /// The answers to all open requests, for a server that has ended.
    pub fn server_ended(&mut self) -> Vec<Output> {
        const INTERNAL_ERROR: i32 = -32_603;
        let mut open: Vec<_> = self.open.keys().cloned().collect();
        open.sort();
        open.iter()
            .map(|id| Output::ToClient(answer::error(Some(id), INTERNAL_ERROR, "the server has ended", None)))
            .collect()
    }

    fn refuse(&mut self, refusal: &MessageError) -> Step {
        let members = object! { "reason": refusal.reason.as_str() };
        Step {
            outputs: vec![
                Output::Event(Event::new("refused", members)),
                Output::Log(format!("a message of the client is not forwarded: {}", refusal.reason)),
                Output::ToClient(answer::refused(refusal)),
            ],
            pending: None,
        }
    }

    fn client(&mut self, message: Message, policy: &ActionPolicy) -> Result<Step, MessageError> {
        match message.kind.clone() {
            Kind::Request { id, method } => self.request(message, id, method, policy),
            Kind::Notification { method } => Ok(self.notification(message, &method)),
            Kind::Answer { id } => match self.asked.remove(&id) {
                Some(_) => Ok(Step::of(Output::ToServer(message.text))),
                None => Ok(Step::of(Output::Log("the client answered a request that is not open".to_owned()))),
            },
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
        if self.open.contains_key(&id) || self.deciding.contains(&id) {
            return Err(MessageError::invalid(Some(id), "the id is that of a request which is still open"));
        }
        if self.open.len() + self.deciding.len() >= MAX_OPEN {
            return Err(MessageError::invalid(Some(id), format!("more than {MAX_OPEN} requests are open")));
        }
        match of_client(&method) {
            Treatment::Pass => {
                self.open.insert(id.clone(), Open::passed(id, method));
                Ok(Step::of(Output::ToServer(message.text)))
            }
            Treatment::OfTask => match message.param("taskId").is_some_and(|task| self.tasks.contains(task)) {
                true => {
                    self.open.insert(id.clone(), Open::passed(id, method));
                    Ok(Step::of(Output::ToServer(message.text)))
                }
                false => Err(MessageError {
                    code: INVALID_PARAMS,
                    id: Some(id),
                    reason: "the task is not one of this session".to_owned(),
                }),
            },
            Treatment::Decide => self.hold(message, id, method, policy),
        }
    }

    /// Holds a request of the client until it is decided.
    fn hold(
        &mut self,
        message: Message,
        id: MessageId,
        method: String,
        policy: &ActionPolicy,
    ) -> Result<Step, MessageError> {
        let invalid =
            |reason: &str| MessageError { code: INVALID_PARAMS, id: Some(id.clone()), reason: reason.to_owned() };
        let (mut action, state) = match method.as_str() {
            "tools/call" => self.tool_action(&message, policy).map_err(|reason| invalid(&reason))?,
            _ => (self.other_action(&message, &method, policy), PinState::Pinned),
        };
        action.insert("surface", "mcp");
        action.insert("method", method.as_str());
        let digest = Sha256Digest::of(&Json::from(action.clone()).canonical_vrf());
        if let Some(state) = message.param("requestState") {
            // Else one request could be continued with what the server handed out for another.
            if self.states.get(&Sha256Digest::of(state.as_bytes())) != Some(&digest) {
                return Err(invalid("the `requestState` was not handed out for this request"));
            }
        }
        if self.session.is_full() {
            let why = format!("This session has had {MAX_CALLS} calls. Start a new one.");
            return Ok(Step::of(Output::ToClient(
                Block::without_decision("session_full", &why).tool_result(&id, is_stateless(&message)),
            )));
        }
        let facts = self.session.facts(action.clone(), &self.agent, &self.settings.session);
        let request = match Request::from_facts(facts) {
            Ok(request) => request,
            Err(error) => return Err(invalid(&format!("the arguments cannot be judged: {error}"))),
        };
        self.deciding.insert(id.clone());
        let detail = state.explained();
        let held = Held { message, id, method, from: Sender::Client, actions: vec![action], detail, answers: None };
        Ok(Step { outputs: Vec::new(), pending: Some(Pending { requests: vec![request], held }) })
    }

    /// The action of a tool call, and how the tool's definition compares with the pinned one.
    fn tool_action(&self, message: &Message, policy: &ActionPolicy) -> Result<(Object, PinState), String> {
        let tool = message.param("name").ok_or("`params.name` is not a text")?;
        let empty = Json::Object(Object::new());
        let args = message.params().and_then(|params| params.get("arguments")).unwrap_or(&empty);
        let object = args.as_object().ok_or("`params.arguments` is not an object")?;
        let listed = self.pins.listed(tool);
        if let Some(wrong) = listed.and_then(|listed| listed.misspelled(object)) {
            let wrong = proofmark_receipt::shown(&wrong);
            return Err(format!("the argument `{wrong}` differs from a declared one in letter case only"));
        }
        let said_to_change = listed.is_some_and(|listed| listed.said_to_change);
        let call = ToolCall { tool, server: Some(&self.settings.server), args, said_to_change };
        let mut action = policy.action_of(&call);
        let state = listed.map_or(PinState::NotListed, |listed| listed.state.clone());
        if let Some(listed) = listed {
            action.insert("definition", listed.definition.to_string());
        }
        action.insert("definition_state", state.as_str());
        Ok((action, state))
    }

    /// The action of a request that calls no tool: its method is the tool, and what it names the target.
    fn other_action(&self, message: &Message, method: &str, policy: &ActionPolicy) -> Object {
        let params = message.params().cloned().unwrap_or_default();
        let target = ["uri", "name", "url"].iter().find_map(|name| params.get(name)?.as_str().map(str::to_owned));
        let args = Json::Object(requests::arguments(params));
        let server = Some(self.settings.server.as_str());
        let mut action = policy.action_of(&ToolCall { tool: method, server, args: &args, said_to_change: false });
        if !policy.classes_tool(method, server) && requests::only_reads(method) {
            action.insert("class", "generic");
        }
        if let Some(target) = target {
            action.insert("target", target);
        }
        action
    }

    fn notification(&mut self, message: Message, method: &str) -> Step {
        if method == "notifications/cancelled" {
            let of = message.params().and_then(|params| params.get("requestId")).map(Json::to_text);
            if let Some(id) = of.as_ref().and_then(|of| self.deciding.iter().find(|id| id.as_json() == of)).cloned() {
                // It waits for its decision, so the server has not seen it.
                self.deciding.remove(&id);
                let members = object! { "request": id.as_json(), "executed": "no" };
                return Step::of(Output::Event(Event::new("cancelled", members)));
            }
            let open = self.open.values_mut().find(|open| Some(open.id.as_json()) == of.as_deref());
            if let Some(open) = open {
                open.cancelled = true;
                let members =
                    object! { "request": open.id.as_json(), "decision"?: open.decision.clone(), "executed": "unknown" };
                let event = Output::Event(Event::new("cancelled", members));
                return Step { outputs: vec![event, Output::ToServer(message.text)], pending: None };
            }
            return Step::default();
        }
        match method.starts_with("notifications/") {
            true => Step::of(Output::ToServer(message.text)),
            false => Step::of(Output::Log(format!(
                "a notification of the client is not forwarded: `{}` is not one of the protocol",
                proofmark_receipt::shown(method)
            ))),
        }
    }

    fn server(&mut self, message: Message, policy: &ActionPolicy, now: &str) -> Step {
        match message.kind.clone() {
            Kind::Request { id, method } => self.server_request(message, id, method, policy),
            Kind::Notification { .. } => Step::of(Output::ToClient(message.text)),
            Kind::Fault => Step::of(Output::ToClient(message.text)),
            Kind::Answer { id } => match self.open.remove(&id) {
                Some(open) => self.answered(message, open, policy, now),
                None => {
                    self.noise += 1;
                    Step::of(Output::Log("the server answered a request that is not open".to_owned()))
                }
            },
        }
    }

    fn server_request(&mut self, message: Message, id: MessageId, method: String, policy: &ActionPolicy) -> Step {
        if self.asked.contains_key(&id) || self.asked.len() >= MAX_OPEN {
            return Step::of(Output::Log("a request of the server is not forwarded: its id is in use".to_owned()));
        }
        match of_server(&method) {
            Treatment::Pass | Treatment::OfTask => {
                self.asked.insert(id, method);
                Step::of(Output::ToClient(message.text))
            }
            Treatment::Decide => {
                let mut action = self.other_action(&message, &method, policy);
                action.insert("surface", "mcp");
                action.insert("method", method.as_str());
                let facts = self.session.facts(action.clone(), &self.agent, &self.settings.session);
                match Request::from_facts(facts) {
                    Ok(request) => {
                        let held = Held {
                            message,
                            id,
                            method,
                            from: Sender::Server,
                            actions: vec![action],
                            detail: None,
                            answers: None,
                        };
                        Step { outputs: Vec::new(), pending: Some(Pending { requests: vec![request], held }) }
                    }
                    Err(error) => {
                        Step::of(Output::ToServer(answer::error(Some(&id), INVALID_PARAMS, &error.to_string(), None)))
                    }
                }
            }
        }
    }
}

impl Step {
    fn of(output: Output) -> Self {
        Self { outputs: vec![output], pending: None }
    }
}

impl Open {
    /// A request that nobody decides on.
    fn passed(id: MessageId, method: String) -> Self {
        Self { id, method, call: None, action: None, decision: None, cancelled: false }
    }
}

/// Whether a request is of the revision without sessions, in which a result says of which type it is.
fn is_stateless(message: &Message) -> bool {
    message.meta("io.modelcontextprotocol/protocolVersion").is_some()
}
