//! What follows from a decision.

use proofmark_evidence::CallStatus;
use proofmark_receipt::document::DocumentError;
use proofmark_receipt::{Json, Object, Sha256Digest, object};

use super::{Connection, Held, Open, Output, Pending, Ruling};
use crate::answer::{self, Block};
use crate::event::Event;
use crate::message::Sender;

impl Connection {
    /// Takes in what was decided on the actions of a held message: one ruling for each, up to the first that is not allowed.
    pub fn ruled(&mut self, pending: Pending, rulings: &[Ruling<'_>], now: &str) -> Vec<Output> {
        let mut held = pending.held;
        let mut outputs = Vec::new();
        if let Some(Ruling::Decided(receipt)) = rulings.last() {
            held = match self.wait(held, receipt, now, &mut outputs) {
                Ok(()) => return outputs,
                Err(held) => *held,
            };
        }
        let blocking = rulings.iter().find(|ruling| match ruling {
            Ruling::Decided(receipt) => !receipt.disposition().allows() && !self.settings.shadow,
            Ruling::Failed(_) => true,
        });
        let block = match blocking {
            Some(Ruling::Decided(receipt)) => Some(Block::by(receipt, held.detail.as_deref())),
            Some(Ruling::Failed(why)) => Some(Block::without_decision("policy_unavailable", why)),
            None if !rulings.is_empty() && rulings.len() == held.actions.len() => None,
            None => Some(Block::without_decision("policy_unavailable", "The action could not be decided.")),
        };
        let decision = rulings.iter().rev().find_map(|ruling| match ruling {
            Ruling::Decided(receipt) => Some(receipt.decision_id().to_string()),
            Ruling::Failed(_) => None,
        });
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
            outputs.push(Output::ToClient(match open.method.as_str() {
                "tools/call" => block.tool_result(&open.id, true),
                _ => block.error(&open.id),
            }));
            return;
        }
        if held.from == Sender::Server {
            outputs.push(Output::ToServer(block.to_server(&held.id, &held.method)));
            return;
        }
        if let Some(action) = held.actions.first() {
            self.session.called(action, CallStatus::Blocked, now);
        }
        // Cancelled while it was decided: the client takes no answer.
        if !self.deciding.remove(&held.id) {
            outputs.push(cancelled(&held, decision));
            return;
        }
        outputs.push(Output::ToClient(block.answers(&held.id, &held.method, &held.message)));
    }

    /// A request of the client that goes on to the server.
    fn forwarded(&mut self, held: Held, decision: Option<String>, now: &str, outputs: &mut Vec<Output>) {
        let action = held.actions.first();
        if !self.deciding.remove(&held.id) {
            // Cancelled while it was decided.
            if let Some(action) = action {
                self.session.called(action, CallStatus::Blocked, now);
            }
            outputs.push(cancelled(&held, decision));
            return;
        }
        if self.server_has_ended {
            outputs.push(Output::ToClient(answer::server_ended(&held.id)));
            return;
        }
        let call = action.map(|action| {
            let tool = action.get("tool").and_then(Json::as_str).unwrap_or_default().to_owned();
            (self.session.called(action, CallStatus::Pending, now), tool)
        });
        let digest = action.map(|action| Sha256Digest::of(&Json::from(action.clone()).canonical_vrf()));
        let passed = Open::passed(held.id.clone(), held.method, &held.message);
        let open = Open { call, action: digest, decision, ..passed };
        self.open.insert(held.id, open);
        outputs.push(Output::ToServer(held.message.text));
    }

    /// A message of the server that goes on to the client.
    fn delivered(&mut self, held: Held, outputs: &mut Vec<Output>) {
        if held.answers.is_none() {
            self.asked.insert(held.id, held.method);
        }
        self.remember_delivered(&held.message);
        outputs.push(Output::ToClient(held.message.text));
    }
}

impl Connection {
    /// Takes in an entry of the session's record that is not of this connection.
    pub fn take_in(&mut self, entry: &Object) {
        self.session.take_in(entry);
    }

    /// As [`Connection::renew`], if calls were added to the session since the message was held.
    ///
    /// # Errors
    /// When the facts cannot be judged.
    pub fn renew_if_outdated(&mut self, pending: &mut Pending) -> Result<(), DocumentError> {
        if pending.known == self.session.calls() { Ok(()) } else { self.renew(pending) }
    }

    /// Asks anew for decisions on the actions of a held message, by what is known of the session.
    ///
    /// # Errors
    /// When the facts cannot be judged.
    pub fn renew(&mut self, pending: &mut Pending) -> Result<(), DocumentError> {
        pending.known = self.session.calls();
        pending.requests = pending
            .held
            .actions
            .iter()
            .map(|action| self.session.request(action.clone(), &self.agent, &self.settings.session))
            .collect::<Result<_, _>>()?;
        Ok(())
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
    let from = match held.from {
        Sender::Client => "client",
        Sender::Server => "server",
    };
    let members = object! {
        "request": held.id.as_json(),
        "method": held.method.as_str(),
        "from": from,
        "message": held.message.digest(),
    };
    Event::decided(action, decision, allowed, members)
}

/// A request of the client that was cancelled before the server saw it.
fn cancelled(held: &Held, decision: Option<String>) -> Output {
    let members = object! { "request": held.id.as_json(), "decision"?: decision, "executed": "no" };
    Output::Event(Event::new("cancelled", members))
}
