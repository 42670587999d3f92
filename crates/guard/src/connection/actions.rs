//! The actions that requests are, held until they are decided.

use proofmark_boundary::{ActionPolicy, ToolCall};
use proofmark_receipt::{Json, Object, Sha256Digest};
use proofmark_session::{MAX_CALLS, copy_provenance};

use super::waiting::Waited;
use super::{Connection, Held, Output, Pending, Step, requests};
use crate::answer::{self, Block, INVALID_PARAMS};
use crate::message::{Message, MessageError, MessageId, Sender};
use crate::pin::PinKind;
use crate::pins::{Listed, PinState};

impl Connection {
    /// Holds a request of the client until it is decided.
    pub(super) fn hold(
        &mut self,
        message: Message,
        id: MessageId,
        method: String,
        waited: Option<Waited>,
        policy: &ActionPolicy,
    ) -> Result<Step, MessageError> {
        let invalid =
            |reason: &str| MessageError { code: INVALID_PARAMS, id: Some(id.clone()), reason: reason.to_owned() };
        let (mut action, state) = match method.as_str() {
            "tools/call" => self.tool_action(&message, policy).map_err(|reason| invalid(&reason))?,
            _ => self.request_action(&message, &method, policy),
        };
        self.locate(&mut action, &method);
        let digest = Sha256Digest::of(&Json::from(action.clone()).canonical_vrf());
        if let Some(state) = message.param("requestState") {
            // Without this, one request could be continued with the state of another.
            if self.states.get(&Sha256Digest::of(state.as_bytes())) != Some(&digest) {
                return Err(invalid("the `requestState` was not handed out for this request"));
            }
        }
        // A longer record would slow down each later decision, which is made on all of its calls.
        if self.session.is_full() {
            self.deciding.remove(&id);
            self.note_full(&id);
            let why = format!("This session has had {MAX_CALLS} calls. Start a new one.");
            return Ok(Step::of(Output::ToClient(
                Block::without_decision("session_full", &why).tool_result(&id, message.is_stateless()),
            )));
        }
        let request = match self.request_for(action.clone()) {
            Ok(request) => request,
            Err(error) => return Err(invalid(&format!("the arguments cannot be judged: {error}"))),
        };
        self.deciding.insert(id.clone());
        let detail = state.explained();
        let held =
            Held { message, id, method, from: Sender::Client, actions: vec![action], detail, answers: None, waited };
        Ok(Step {
            pending: Some(Pending {
                requests: vec![request],
                known: self.session.version(),
                process: self.agent.process.clone(),
                held,
            }),
            ..Step::default()
        })
    }

    /// Holds a request of the server until it is decided.
    pub(super) fn hold_for_server(
        &mut self,
        message: Message,
        id: MessageId,
        method: String,
        policy: &ActionPolicy,
    ) -> Step {
        let mut action = self.other_action(&message, &method, policy);
        self.locate(&mut action, &method);
        let request = match self.request_for(action.clone()) {
            Ok(request) => request,
            Err(error) => {
                let error = answer::error(Some(&id), INVALID_PARAMS, &error.to_string(), None);
                return Step::of(Output::ToServer(error));
            }
        };
        let actions = vec![action];
        let held =
            Held { message, id, method, from: Sender::Server, actions, detail: None, answers: None, waited: None };
        Step {
            pending: Some(Pending {
                requests: vec![request],
                known: self.session.version(),
                process: self.agent.process.clone(),
                held,
            }),
            ..Step::default()
        }
    }

    /// Writes into an action where it comes from, and what asks for it.
    pub(super) fn locate(&self, action: &mut Object, method: &str) {
        copy_provenance(&self.provenance, action);
        action.insert("method", method);
    }

    /// The action of a tool call, and how the tool's definition compares with the pinned one.
    fn tool_action(&self, message: &Message, policy: &ActionPolicy) -> Result<(Object, PinState), String> {
        let tool = message.param("name").ok_or("`params.name` is not a text")?;
        let empty = Json::Object(Object::new());
        let args = message.params().and_then(|params| params.get("arguments")).unwrap_or(&empty);
        let object = args.as_object().ok_or("`params.arguments` is not an object")?;
        let listed = self.pins.listed(PinKind::Tool, tool);
        if let Some(wrong) = listed.and_then(|listed| listed.misspelled(object)) {
            let wrong = proofmark_receipt::shown(&wrong);
            return Err(format!("the argument `{wrong}` differs from a declared one in letter case only"));
        }
        let said_to_change = listed.is_some_and(|listed| listed.said_to_change);
        let call = ToolCall { tool, server: Some(&self.settings.server), args, said_to_change };
        let mut action = policy.action_of(&call);
        let state = compare(&mut action, listed);
        Ok((action, state))
    }

    /// The action of a request of the client that calls no tool, and how the definition of what it names compares.
    fn request_action(&self, message: &Message, method: &str, policy: &ActionPolicy) -> (Object, PinState) {
        let mut action = self.other_action(message, method, policy);
        let name = |name: &str| message.param(name).unwrap_or_default();
        let state = match method {
            "prompts/get" => compare(&mut action, self.pins.listed(PinKind::Prompt, name("name"))),
            // A resource that is of no template has no definition.
            "resources/read" | "resources/subscribe" => match self.pins.template_of(name("uri")) {
                Some(listed) => compare(&mut action, Some(listed)),
                None => PinState::Pinned,
            },
            _ => PinState::Pinned,
        };
        (action, state)
    }

    /// The action of a request that calls no tool: its method is the tool, and what it names the target.
    fn other_action(&self, message: &Message, method: &str, policy: &ActionPolicy) -> Object {
        let params = message.params().cloned().unwrap_or_default();
        // Whatever the method is, what it is about stands in one of these.
        let target = ["uri", "name", "url"].iter().find_map(|name| params.get(name)?.as_str().map(str::to_owned));
        let args = Json::Object(requests::arguments(params));
        let server = Some(self.settings.server.as_str());
        let mut action = policy.action_of(&ToolCall { tool: method, server, args: &args, said_to_change: false });
        // The policy's own word comes first; without it, to read is not to change anything.
        if !policy.classes_tool(method, server) && requests::only_reads(method) {
            action.insert("class", "generic");
        }
        if let Some(target) = target {
            action.insert("target", target);
        }
        action
    }
}

/// Writes into an action which definition it is judged by, and how that compares.
fn compare(action: &mut Object, listed: Option<&Listed>) -> PinState {
    let state = listed.map_or(PinState::NotListed, |listed| listed.state.clone());
    if let Some(listed) = listed {
        action.insert("definition", listed.definition.to_string());
    }
    action.insert("definition_state", state.as_str());
    state
}
