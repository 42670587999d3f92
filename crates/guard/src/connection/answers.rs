//! What follows from an answer of the server.

use proofmark_boundary::{ActionPolicy, ReadCall, ResultHandling, ToolCall};
use proofmark_receipt::{Json, Object, Sha256Digest};
use proofmark_session::{CallResult, CallStatus, Event};

use super::requests::{Treatment, of_server};
use super::{Connection, Held, MAX_REMEMBERED, Open, Output, Pending, Step, Task, results, told};
use crate::answer::Block;
use crate::message::{Message, Sender};
use crate::observed;

impl Connection {
    /// An answer to an open request.
    pub(super) fn answered(&mut self, message: Message, open: Open, policy: &ActionPolicy, now: &str) -> Step {
        let mut outputs = Vec::new();
        if let Some(handled) = self.observed(&message, &open, policy, now, &mut outputs) {
            // Not remembered: a message that was changed here must not come again unchanged.
            outputs.push(Output::ToClient(handled));
            return Step { outputs, ..Step::default() };
        }
        if open.call.is_none() {
            outputs.extend(self.said(&open.method, &told::of_answer(&message, &open.method), policy, now));
        }
        let replaced = match open.method.as_str() {
            "tasks/list" => self.own_tasks(&message),
            _ => self.defined(&message, &open, policy, &mut outputs),
        };
        if let Some(mut step) = self.inner_requests(&message, &open, policy) {
            step.outputs.splice(0..0, outputs);
            return step;
        }
        if replaced.is_none() {
            self.remember_delivered(&message);
        }
        outputs.push(Output::ToClient(replaced.unwrap_or(message.text)));
        Step { outputs, ..Step::default() }
    }

    /// Takes in what a call brought. Returns what the client is given instead, where the policy withholds or marks it.
    fn observed(
        &mut self,
        message: &Message,
        open: &Open,
        policy: &ActionPolicy,
        now: &str,
        outputs: &mut Vec<Output>,
    ) -> Option<String> {
        let (call, tool) = open.call.as_ref()?;
        let (call, tool) = (*call, tool.clone());
        let tool = tool.as_str();
        let (status, labels) = (observed::status(message, &open.method), observed::labels(message));
        let has_ended = status.is_some_and(|status| status != CallStatus::Pending);
        if !has_ended {
            outputs.extend(self.said(&open.method, &told::of_task(message), policy, now));
        }
        if status.is_none() && labels.is_empty() {
            return None;
        }
        status.iter().for_each(|status| self.session.ended(call, *status));
        self.remember(message, open);
        let handled = results::handled(message, &open.method, tool, &labels, policy, &self.settings);
        // The agent does not read a result that is withheld.
        let is_given = handled.handling != Some(ResultHandling::Withhold);
        if is_given {
            self.session.tainted(&labels, tool, now);
        }
        let origins = self.labelled(message, status, call, tool, policy);
        if has_ended {
            self.session.brought(Some(call), tool, now, origins.clone(), is_given);
        }
        let is_task = open.method.starts_with("tasks/");
        let word = |handling: ResultHandling| handling.as_str().to_owned();
        let (excerpt, text) = self.settings.keep.of(&message.text);
        outputs.push(Output::Event(Event::Result(CallResult {
            request: Some(open.id.as_json().to_owned()),
            method: is_task.then(|| open.method.clone()),
            tool: tool.to_owned(),
            origins,
            decision: open.decision.clone(),
            status,
            cancelled: open.cancelled.then_some(true),
            signs: labels.iter().map(|label| (*label).to_owned()).collect(),
            handling: handled.handling.map(word),
            would: handled.would.map(word),
            result: message.digest(),
            excerpt,
            text,
            ..CallResult::default()
        })));
        handled.text
    }

    /// The labels of what a call brought, where the policy asks for them. There are none of what is not its result.
    fn labelled(
        &mut self,
        message: &Message,
        status: Option<CallStatus>,
        call: usize,
        tool: &str,
        policy: &ActionPolicy,
    ) -> Option<Object> {
        let status = status.filter(|status| *status != CallStatus::Pending && policy.asks_for_origins())?;
        let values = observed::values(message);
        let failed = status == CallStatus::Failed;
        let request = self.session.task().map(str::to_owned);
        let args = self.session.arguments(call).cloned();
        let read = ReadCall { tool, server: Some(&self.settings.server), args: args.as_ref() };
        let origins = self.session.origins();
        Some(policy.labelled(&read, &values, request.as_deref(), origins, failed).to_object())
    }

    /// Keeps the task and the state that a result hands out.
    fn remember(&mut self, message: &Message, open: &Open) {
        let (Some(result), Some(call)) = (message.result(), &open.call) else { return };
        // One task too many is not remembered, and then refused: requests about it are those of an unknown task.
        if let Some(task) = observed::task(result).filter(|_| self.tasks.len() < MAX_REMEMBERED) {
            self.tasks.insert(task.to_owned(), Task { call: call.clone(), decision: open.decision.clone() });
        }
        let state = result.get("requestState").and_then(Json::as_str);
        if let (Some(state), Some(action)) = (state.filter(|_| self.states.len() < MAX_REMEMBERED), open.action) {
            self.states.insert(Sha256Digest::of(state.as_bytes()), action);
        }
    }

    /// A list of tasks without those of other sessions; `None` where it has none of these.
    fn own_tasks(&self, message: &Message) -> Option<String> {
        let tasks = message.result()?.get("tasks")?.as_array()?;
        let own: Vec<Json> = tasks
            .iter()
            .filter(|task| {
                let id = task.as_object().and_then(|task| task.get("taskId")?.as_str());
                id.is_some_and(|id| self.tasks.contains_key(id))
            })
            .cloned()
            .collect();
        if own.len() == tasks.len() {
            return None;
        }
        let mut body = message.body.clone();
        if let Some(Json::Object(result)) = body.get_mut("result") {
            result.insert("tasks", own);
        }
        Some(body.to_text())
    }

    /// The requests to the client within a result of the stateless revision, held until they are decided.
    fn inner_requests(&mut self, message: &Message, open: &Open, policy: &ActionPolicy) -> Option<Step> {
        // Also of a task that requires input, whose result says that it is complete.
        let inner = match message.result()?.get("inputRequests")? {
            Json::Object(inner) => inner,
            Json::Null => return None,
            _ => return Some(unreadable_input(open)),
        };
        let mut actions = Vec::new();
        for (_, request) in inner.iter() {
            let Some(request) = request.as_object() else { return Some(unreadable_input(open)) };
            let method = request.get("method").and_then(Json::as_str).unwrap_or("unknown");
            if of_server(method) != Treatment::Decide {
                continue;
            }
            let params = request.get("params").and_then(Json::as_object).cloned().unwrap_or_default();
            // The same facts as for a request that comes by itself, so that one rule is enough for both.
            let server = Some(self.settings.server.as_str());
            let target = params.get("url").and_then(Json::as_str).map(str::to_owned);
            let args = Json::Object(params);
            let mut action = policy.action_of(&ToolCall { tool: method, server, args: &args, said_to_change: false });
            self.locate(&mut action, method);
            if let Some(target) = target {
                action.insert("target", target);
            }
            actions.push(action);
        }
        if actions.is_empty() {
            return None;
        }
        let Ok(requests) = self.requests_for(&actions) else {
            return Some(unreadable_input(open));
        };
        let held = Held {
            message: message.clone(),
            id: open.id.clone(),
            method: "input_required".to_owned(),
            from: Sender::Server,
            actions,
            detail: None,
            answers: Some(open.clone()),
            waited: None,
        };
        Some(Step {
            pending: Some(Pending {
                requests,
                known: self.session.version(),
                process: self.agent.process.clone(),
                held,
            }),
            ..Step::default()
        })
    }
}

/// What follows where the server asks for input in a form that nobody can decide on.
fn unreadable_input(open: &Open) -> Step {
    let block = Block::without_decision("invalid_request", "The server asked for input that cannot be judged.");
    Step::of(Output::ToClient(block.error(&open.id)))
}
