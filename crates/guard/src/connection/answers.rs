//! What follows from an answer of the server.

use proofmark_boundary::{ActionPolicy, Request, ToolCall};
use proofmark_receipt::{Json, Object, Sha256Digest, object};

use super::requests::{Treatment, of_server};
use super::{Connection, Held, MAX_REMEMBERED, Open, Output, Pending, Step};
use crate::answer::Block;
use crate::event::{self, Event};
use crate::message::{Message, Sender};
use crate::observed;

impl Connection {
    /// An answer to an open request.
    pub(super) fn answered(&mut self, message: Message, open: Open, policy: &ActionPolicy, now: &str) -> Step {
        let mut outputs = Vec::new();
        let mut text = message.text.clone();
        if let Some((call, tool)) = &open.call {
            let status = observed::status(&message);
            let labels = observed::labels(&message);
            self.session.ended(*call, status);
            self.session.tainted(&labels, tool, now);
            self.remember(&message, &open);
            let mut members = object! {
                "request": open.id.as_json(),
                "tool": tool.as_str(),
                "decision"?: open.decision.clone(),
                "status": status.as_str(),
                "cancelled"?: open.cancelled.then_some(true),
                "signs": event::strings(labels.iter().map(|label| (*label).to_owned())),
                "result": event::digest(&text),
            };
            for (name, value) in self.settings.keep.of(&text).iter() {
                members.insert(name, value.clone());
            }
            outputs.push(Output::Event(Event::new("result", members)));
        }
        if open.method == "tools/list" {
            self.listed(&message, policy, &mut text, &mut outputs);
        }
        if let Some(pending) = self.inner_requests(&message, &open, policy) {
            outputs.extend(pending.outputs);
            return Step { outputs, pending: pending.pending };
        }
        outputs.push(Output::ToClient(text));
        Step { outputs, pending: None }
    }

    /// Keeps the task and the state that a result hands out.
    fn remember(&mut self, message: &Message, open: &Open) {
        let Some(result) = message.result() else { return };
        let task = result.get("task").and_then(|task| task.as_object()?.get("taskId")?.as_str());
        if let Some(task) = task.filter(|_| self.tasks.len() < MAX_REMEMBERED) {
            self.tasks.insert(task.to_owned());
        }
        let state = result.get("requestState").and_then(Json::as_str);
        if let (Some(state), Some(action)) = (state.filter(|_| self.states.len() < MAX_REMEMBERED), open.action) {
            self.states.insert(Sha256Digest::of(state.as_bytes()), action);
        }
    }

    /// The requests to the client within a result of the stateless revision, held until they are decided.
    fn inner_requests(&mut self, message: &Message, open: &Open, policy: &ActionPolicy) -> Option<Step> {
        let result = message.result()?;
        if result.get("resultType").and_then(Json::as_str) != Some("input_required") {
            return None;
        }
        let inner = result.get("inputRequests").and_then(Json::as_object)?;
        let mut actions = Vec::new();
        for (_, request) in inner.iter() {
            let request = request.as_object()?;
            let method = request.get("method").and_then(Json::as_str).unwrap_or("unknown");
            if of_server(method) != Treatment::Decide {
                continue;
            }
            let params = request.get("params").and_then(Json::as_object).cloned().unwrap_or_default();
            let server = Some(self.settings.server.as_str());
            let target = params.get("url").and_then(Json::as_str).map(str::to_owned);
            let args = Json::Object(params);
            let mut action = policy.action_of(&ToolCall { tool: method, server, args: &args, said_to_change: false });
            action.insert("surface", "mcp");
            action.insert("method", method);
            if let Some(target) = target {
                action.insert("target", target);
            }
            actions.push(action);
        }
        if actions.is_empty() {
            return None;
        }
        let facts = |action: &Object| self.session.facts(action.clone(), &self.agent, &self.settings.session);
        let requests: Result<Vec<_>, _> = actions.iter().map(|action| Request::from_facts(facts(action))).collect();
        let Ok(requests) = requests else {
            let block = Block::without_decision("invalid_request", "The server asked for input that cannot be judged.");
            return Some(Step::of(Output::ToClient(block.error(&open.id))));
        };
        let held = Held {
            message: message.clone(),
            id: open.id.clone(),
            method: "input_required".to_owned(),
            from: Sender::Server,
            actions,
            detail: None,
            answers: Some(open.clone()),
        };
        Some(Step { outputs: Vec::new(), pending: Some(Pending { requests, held }) })
    }

    /// Takes in a list of tools; hides those that are never allowed, if that is asked for.
    fn listed(&mut self, message: &Message, policy: &ActionPolicy, text: &mut String, outputs: &mut Vec<Output>) {
        let Some(tools) = message.result().and_then(|result| result.get("tools")?.as_array()) else { return };
        let (pinned, quarantined) = self.pins.list(&self.settings.server, tools);
        outputs.extend(pinned.into_iter().map(Output::Pin));
        let names = event::strings(quarantined.iter().map(|(pin, state)| format!("{}: {}", pin.tool, state.as_str())));
        for (pin, state) in quarantined {
            let (tool, why) = (proofmark_receipt::shown(&pin.tool), state.explained().unwrap_or_default());
            outputs.push(Output::Log(format!("the tool `{tool}` is quarantined: {why}")));
            outputs.push(Output::Waits(pin, why));
        }
        let members = object! { "listed": tools.len() as u64, "quarantined": names };
        outputs.push(Output::Event(Event::new("tools", members)));
        if !self.settings.hide {
            return;
        }
        let server = Some(self.settings.server.as_str());
        let shown: Vec<Json> = tools
            .iter()
            .filter(|tool| {
                let name = tool.as_object().and_then(|tool| tool.get("name")?.as_str()).unwrap_or_default();
                !policy.never_allows(name, server)
            })
            .cloned()
            .collect();
        if shown.len() == tools.len() {
            return;
        }
        let mut body = message.body.clone();
        if let Some(Json::Object(result)) = body.get_mut("result") {
            result.insert("tools", shown);
            // The list is this policy's: another caller must not be given it.
            if result.contains("cacheScope") {
                result.insert("cacheScope", "private");
            }
        }
        *text = body.to_text();
    }
}
