//! What follows from a decision.

use proofmark_evidence::CallStatus;
use proofmark_receipt::{Json, Object, Sha256Digest, object};

use super::{Connection, Held, Open, Output, Pending, Ruling, is_stateless};
use crate::answer::Block;
use crate::event::{self, Event};
use crate::message::Sender;

impl Connection {
    /// Takes in what was decided on the actions of a held message: one ruling for each, up to the first that is not allowed.
    pub fn ruled(&mut self, pending: Pending, rulings: &[Ruling<'_>], now: &str) -> Vec<Output> {
        let held = pending.held;
        let block = match rulings.last() {
            Some(Ruling::Decided(receipt)) if receipt.disposition().allows() && rulings.len() == held.actions.len() => {
                None
            }
            Some(Ruling::Decided(receipt)) => Some(Block::by(receipt, held.detail.as_deref())),
            Some(Ruling::Failed(why)) => Some(Block::without_decision("policy_unavailable", why)),
            None => Some(Block::without_decision("policy_unavailable", "The action could not be decided.")),
        };
        let decision = rulings.iter().rev().find_map(|ruling| match ruling {
            Ruling::Decided(receipt) => Some(receipt.decision_id().to_string()),
            Ruling::Failed(_) => None,
        });
        let mut outputs = Vec::new();
        match (block, held.from) {
            (Some(block), _) => self.blocked(held, &block, decision, now, &mut outputs),
            (None, Sender::Client) => self.forwarded(held, decision, now, &mut outputs),
            (None, Sender::Server) => self.delivered(held, &mut outputs),
        }
        outputs
    }

    /// A message that is not executed.
    fn blocked(&mut self, held: Held, block: &Block, decision: Option<String>, now: &str, outputs: &mut Vec<Output>) {
        if let Some(open) = &held.answers {
            outputs.push(Output::ToClient(block.tool_result(&open.id, true)));
            return;
        }
        if held.from == Sender::Server {
            outputs.push(Output::ToServer(block.to_server(&held.id, &held.method)));
            return;
        }
        if let Some(action) = held.actions.first() {
            self.session.called(action, CallStatus::Blocked, now);
        }
        if let Some(decision) = decision {
            let codes = block.decision.get("reasons").and_then(Json::as_array).unwrap_or_default();
            let codes: Vec<_> = codes.iter().filter_map(|reason| reason.as_object()?.get("code").cloned()).collect();
            let outcome = block.decision.get("outcome").cloned().unwrap_or(Json::Null);
            self.session
                .denied(object! { "decision_id": decision, "outcome": outcome, "reason_codes": codes, "at": now });
        }
        // Cancelled while it was decided: the client takes no answer.
        if !self.deciding.remove(&held.id) {
            return;
        }
        let is_task = held.message.params().is_some_and(|params| params.contains("task"));
        outputs.push(Output::ToClient(match held.method.as_str() {
            "tools/call" if !is_task => block.tool_result(&held.id, is_stateless(&held.message)),
            _ => block.error(&held.id),
        }));
    }

    /// A request of the client that goes on to the server.
    fn forwarded(&mut self, held: Held, decision: Option<String>, now: &str, outputs: &mut Vec<Output>) {
        if !self.deciding.remove(&held.id) {
            // Cancelled while it was decided.
            return;
        }
        let action = held.actions.first();
        let call = action.map(|action| {
            let tool = action.get("tool").and_then(Json::as_str).unwrap_or_default().to_owned();
            (self.session.called(action, CallStatus::Pending, now), tool)
        });
        let digest = action.map(|action| Sha256Digest::of(&Json::from(action.clone()).canonical_vrf()));
        let open = Open { id: held.id.clone(), method: held.method, call, action: digest, decision, cancelled: false };
        self.open.insert(held.id, open);
        outputs.push(Output::ToServer(held.message.text));
    }

    /// A message of the server that goes on to the client.
    fn delivered(&mut self, held: Held, outputs: &mut Vec<Output>) {
        if held.answers.is_none() {
            self.asked.insert(held.id, held.method);
        }
        outputs.push(Output::ToClient(held.message.text));
    }
}

impl Pending {
    /// What is recorded of the decision on the action at `index`. It belongs into the write that stores the decision.
    #[must_use]
    pub fn decided(&self, index: usize, decision: Option<&str>, allowed: bool) -> Event {
        decided(&self.held, self.held.actions.get(index), decision, allowed)
    }
}

fn decided(held: &Held, action: Option<&Object>, decision: Option<&str>, allowed: bool) -> Event {
    let tool = action.and_then(|action| action.get("tool")).cloned();
    let args = action.and_then(|action| action.get("args")).cloned();
    Event::new(
        "decided",
        object! {
            "request": held.id.as_json(),
            "method": held.method.as_str(),
            "tool"?: tool,
            // As text: a signed document has no fractions.
            "arguments"?: args.map(|args| args.to_text()).filter(|args| args.len() <= event::MAX_ARGUMENTS),
            "decision"?: decision.map(str::to_owned),
            "allowed": allowed,
            "message": event::digest(&held.message.text),
        },
    )
}
