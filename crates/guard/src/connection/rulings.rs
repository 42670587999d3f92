//! What follows from a decision.

use proofmark_boundary::Request;
use proofmark_receipt::document::DocumentError;
use proofmark_receipt::{Json, Object, Sha256Digest};
use proofmark_session::{CallStatus, Decided, Entry, Executed, Side};

use super::{Connection, Held, Open, Output, Pending, Ruling, cancelled};
use crate::answer::{self, Block};
use crate::message::{MessageId, Sender};

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
            // Also in shadow mode, which lets pass what a policy blocks, and not what no policy has judged.
            Ruling::Failed(_) => true,
        });
        let block = match blocking {
            Some(Ruling::Decided(receipt)) => Some(Block::by(receipt, held.detail.as_deref())),
            Some(Ruling::Failed(why)) => Some(Block::without_decision("policy_unavailable", why)),
            // Fewer rulings than actions would let the rest go on unjudged.
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
            (None, Sender::Server) => self.delivered(held, now, &mut outputs),
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
            self.session.called(action, self.agent.process.as_deref(), CallStatus::Blocked, now);
        }
        // Cancelled while it was decided: the client takes no answer.
        if !self.deciding.remove(&held.id) {
            outputs.push(cancelled(&held.id, decision, Executed::No));
            return;
        }
        outputs.push(Output::ToClient(block.answers(&held.id, &held.method, &held.message)));
    }

    /// A request of the client that goes on to the server.
    fn forwarded(&mut self, held: Held, decision: Option<String>, now: &str, outputs: &mut Vec<Output>) {
        let action = held.actions.first();
        if !self.deciding.remove(&held.id) {
            // Cancelled while it was decided: the server never sees it.
            if let Some(action) = action {
                self.session.called(action, self.agent.process.as_deref(), CallStatus::Blocked, now);
            }
            outputs.push(cancelled(&held.id, decision, Executed::No));
            return;
        }
        if self.server_has_ended {
            self.note_server_ended(std::slice::from_ref(&held.id));
            outputs.push(Output::ToClient(answer::server_ended(&held.id)));
            return;
        }
        let call = action.map(|action| {
            let tool = action.get("tool").and_then(Json::as_str).unwrap_or_default().to_owned();
            (self.session.called(action, self.agent.process.as_deref(), CallStatus::Pending, now), tool)
        });
        let digest = action.map(|action| Sha256Digest::of(&Json::from(action.clone()).canonical_vrf()));
        let passed = Open::passed(held.id.clone(), held.method, &held.message);
        let open = Open { call, action: digest, decision, ..passed };
        self.open.insert(held.id, open);
        outputs.push(Output::ToServer(held.message.text));
    }

    /// A message of the server that goes on to the client.
    fn delivered(&mut self, held: Held, now: &str, outputs: &mut Vec<Output>) {
        outputs.extend(self.asked_by_server(&held.method, now));
        if held.answers.is_none() {
            self.asked.insert(held.id, held.method);
        }
        self.remember_delivered(&held.message);
        outputs.push(Output::ToClient(held.message.text));
    }
}

impl Connection {
    /// Takes in an entry of the session's record that is not of this connection.
    pub fn take_in(&mut self, entry: &Entry) {
        self.session.take_in(entry);
    }

    /// Renews the requests for decisions on the actions of a held message, if more is known of the session since they were made.
    ///
    /// # Errors
    /// When the facts cannot be judged.
    pub fn renew(&mut self, pending: &mut Pending) -> Result<(), DocumentError> {
        if pending.known != self.session.version() {
            pending.requests = self.requests_for(&pending.held.actions)?;
            pending.known = self.session.version();
        }
        Ok(())
    }

    /// A request for a decision on each of these actions, by what is known of the session.
    pub(super) fn requests_for(&mut self, actions: &[Object]) -> Result<Vec<Request>, DocumentError> {
        actions.iter().map(|action| self.request_for(action.clone())).collect()
    }

    /// A request for a decision on an action, by what is known of the session. It shares what it has in common with the one
    /// before it.
    pub(super) fn request_for(&mut self, action: Object) -> Result<Request, DocumentError> {
        let origins = self.asks.origins.then(|| self.session.origins_of(&action, self.asks.pieces));
        let mut facts = self.session.facts(action, &self.agent, &self.settings.session);
        if let Some(origins) = origins {
            facts.insert("origins", origins);
        }
        let request = match &self.last {
            Some(last) => last.followed_by(facts)?,
            None => Request::from_facts(facts)?,
        };
        self.last = Some(request.clone());
        Ok(request)
    }
}

impl Pending {
    /// The request that is held, and who sent it. `None` for what a server asks for within a result.
    #[must_use]
    pub fn request(&self) -> Option<(&MessageId, Sender)> {
        self.held.answers.is_none().then_some((&self.held.id, self.held.from))
    }

    /// What is recorded of the decision on the action at `index`. It belongs into the write that stores the decision.
    #[must_use]
    pub fn decided(&self, index: usize, decision: &str, allowed: bool) -> Decided {
        let held = &self.held;
        let from = match held.from {
            Sender::Client => Side::Client,
            Sender::Server => Side::Server,
        };
        Decided {
            request: Some(held.id.as_json().to_owned()),
            method: Some(held.method.clone()),
            from: Some(from),
            message: held.message.digest(),
            decision: Some(decision.to_owned()),
            allowed,
            process: self.process.clone(),
            ..Decided::of(held.actions.get(index))
        }
    }
}
