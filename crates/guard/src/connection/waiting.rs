//! Calls that wait for a person's approval, while the client is told of progress.
//!
//! Clients give up after a while unless they hear of progress, so a call waits only where the client has asked for that. A
//! call that was approved is decided again, on the facts of then.
//!
//! A client that takes questions for its user (elicitation) is asked, too. Its answer is the word of the host, so it approves
//! nothing: it can only refuse the call.

use std::collections::BTreeMap;

use proofmark_boundary::DecisionReceipt;
use proofmark_receipt::Json;
use proofmark_session::{CallStatus, Cancelled, Event, Executed, Waiting};

use super::lists::Parked;
use super::{Connection, Held, Output, Released, Step};
use crate::answer::{self, Block};
use crate::message::{Message, MessageId, Sender};

/// How often the client is told that a call still waits, in milliseconds.
const TELL_EVERY: u64 = 10_000;
/// The most calls that wait at once: the store is asked about each of them several times a second.
const MAX_WAITS: usize = 100;
/// The longest call that waits, in bytes.
const MAX_WAITING_BYTES: usize = 1 << 20;
/// How the ids of the guard's own questions begin. They end with the id of the decision, which servers do not know.
const QUESTION: &str = "proofmark-approval-";
/// The last progress that is told, in thousandths.
const MAX_PROGRESS: u64 = 999;

/// A call that waits for an approval.
#[derive(Debug)]
pub(super) struct Wait {
    parked: Parked,
    decision: String,
    block: Block,
    token: Json,
    waited: Waited,
}

/// For how long a call has waited.
#[derive(Clone, Debug, Default)]
pub(super) struct Waited {
    /// When it was first noticed, in milliseconds.
    since: Option<u64>,
    /// When the client was told last, in milliseconds after that.
    told: u64,
    /// How often the client was told.
    count: u64,
    /// The question that the client has not answered.
    pub(super) question: Option<MessageId>,
}

impl Connection {
    /// The decisions that calls wait for a review of.
    #[must_use]
    pub fn waiting_decisions(&self) -> Vec<String> {
        self.waits.values().map(|wait| wait.decision.clone()).collect()
    }

    /// Takes in that a decision has the reviews it waits for: the call that waits is decided again.
    pub fn reviewed(&mut self, decision: &str) -> Option<Released> {
        let id = self.waits.iter().find(|(_, wait)| wait.decision == decision).map(|(id, _)| id.clone())?;
        let Wait { parked, waited, .. } = self.waits.remove(&id)?;
        Some(Released(parked, Some(waited)))
    }

    /// Lets a call wait that a person can approve; gives it back where it cannot wait.
    pub(super) fn wait(
        &mut self,
        held: Held,
        receipt: &DecisionReceipt,
        now: &str,
        outputs: &mut Vec<Output>,
    ) -> Result<(), Box<Held>> {
        let token =
            held.message.meta("progressToken").filter(|token| matches!(token, Json::String(_) | Json::Number(_)));
        let can_wait = !self.settings.wait.is_zero() && !self.settings.shadow && held.from == Sender::Client;
        let can_wait = can_wait && held.message.may_wait && held.message.text.len() <= MAX_WAITING_BYTES;
        let can_wait = can_wait && self.waits.len() < MAX_WAITS;
        let can_wait = can_wait && !receipt.disposition().allows() && receipt.asks_approval_only();
        let Some(token) = token.filter(|_| can_wait && self.deciding.contains(&held.id)).cloned() else {
            return Err(Box::new(held));
        };
        if let Some(action) = held.actions.first() {
            self.session.called(action, self.agent.process.as_deref(), CallStatus::Blocked, now);
        }
        let mut wait = Wait {
            block: Block::by(receipt, held.detail.as_deref()),
            decision: receipt.decision_id().to_string(),
            waited: held.waited.unwrap_or_default(),
            token,
            parked: Parked { message: held.message, id: held.id, method: held.method },
        };
        let waiting = Waiting { request: wait.parked.id.as_json().to_owned(), decision: wait.decision.clone() };
        outputs.push(Output::Event(Event::Waiting(waiting)));
        outputs.push(wait.tell());
        outputs.extend(self.question(&mut wait, receipt));
        self.waits.insert(wait.parked.id.clone(), wait);
        Ok(())
    }

    /// Takes in which questions the client takes for its user, as it says when the connection begins.
    pub(super) fn greeted(&mut self, message: &Message) {
        let capabilities = message.params().and_then(|params| params.get("capabilities")?.as_object());
        let elicitation = capabilities.and_then(|capabilities| capabilities.get("elicitation")?.as_object());
        // Without a mode it is forms.
        self.asks_user = elicitation.is_some_and(|modes| modes.iter().next().is_none() || modes.contains("form"));
    }

    /// A question for the client's user about a call that waits, where the client takes one. Without sessions it could not
    /// answer.
    fn question(&self, wait: &mut Wait, receipt: &DecisionReceipt) -> Option<Output> {
        let id = MessageId::text(&format!("{QUESTION}{}", wait.decision));
        let message = &wait.parked.message;
        // The answer comes as a message of its own, which has to find its way back to this session.
        let may_ask = self.asks_user && !message.is_stateless() && wait.parked.id.is_of_session();
        if !may_ask || self.asked.contains_key(&id) {
            return None;
        }
        let tool = message.param("name").unwrap_or(&wait.parked.method);
        let question = answer::elicitation(&id, &answer::what_waits(receipt, tool));
        wait.waited.question = Some(id);
        Some(Output::Progress(wait.parked.id.clone(), question))
    }

    /// Whether a question of the guard itself has this id and no answer.
    pub(super) fn is_question(&self, id: &MessageId) -> bool {
        self.waits.values().any(|wait| wait.waited.question.as_ref() == Some(id))
    }

    /// Takes in an answer of the client; `None` if it is not of a question of the guard itself.
    pub(super) fn answered_question(&mut self, message: &Message, id: &MessageId) -> Option<Step> {
        let Some(wait) = self.waits.values_mut().find(|wait| wait.waited.question.as_ref() == Some(id)) else {
            // One that came too late.
            return id.is_text_with(QUESTION).then(Step::default);
        };
        wait.waited.question = None;
        let action = message.result().and_then(|result| result.get("action")?.as_str());
        // Accepting approves nothing: an agent's own client gives this answer.
        let Some(declined) = action.filter(|action| matches!(*action, "decline" | "cancel")) else {
            return Some(Step::default());
        };
        let request = wait.parked.id.clone();
        let Wait { parked, block, decision, .. } = self.waits.remove(&request)?;
        self.deciding.remove(&request);
        let cancelled = Cancelled {
            request: request.as_json().to_owned(),
            decision: Some(decision),
            executed: Executed::No,
            declined: Some(declined.to_owned()),
        };
        let answer = block.declined().answers(&request, &parked.method, &parked.message);
        let outputs = vec![Output::Event(Event::Cancelled(cancelled)), Output::Tell(request, answer)];
        Some(Step { outputs, ..Step::default() })
    }

    /// Tells of progress, and blocks what has waited for as long as it may.
    pub(super) fn tick_waits(&mut self, millis: u64) -> Vec<Output> {
        let mut outputs = Vec::new();
        let limit = u64::try_from(self.settings.wait.as_millis()).unwrap_or(u64::MAX);
        for wait in self.waits.values_mut() {
            let waited = millis.saturating_sub(*wait.waited.since.get_or_insert(millis));
            // Clients give up a call that is silent for too long.
            if waited < limit && waited.saturating_sub(wait.waited.told) >= TELL_EVERY {
                wait.waited.told = waited;
                outputs.push(wait.tell());
            }
        }
        outputs.extend(
            self.give_up_waits(|wait| wait.waited.since.is_some_and(|since| millis.saturating_sub(since) >= limit)),
        );
        outputs
    }

    /// Blocks the waiting calls for which `is_over` is true.
    pub(super) fn give_up_waits(&mut self, is_over: impl Fn(&Wait) -> bool) -> Vec<Output> {
        let (over, waits) = std::mem::take(&mut self.waits).into_iter().partition(|(_, wait)| is_over(wait));
        self.waits = waits;
        let over: BTreeMap<MessageId, Wait> = over;
        let answered = over.into_values().filter(|wait| self.deciding.remove(&wait.parked.id));
        answered
            .flat_map(|Wait { parked, block, mut waited, .. }| {
                let answer = block.answers(&parked.id, &parked.method, &parked.message);
                waited.withdrawn(&parked.id).into_iter().chain([Output::Tell(parked.id, answer)])
            })
            .collect()
    }
}

impl Waited {
    /// Takes back the question about this request, if it has no answer.
    pub(super) fn withdrawn(&mut self, request: &MessageId) -> Option<Output> {
        let question = self.question.take()?;
        Some(Output::Progress(request.clone(), answer::withdrawn(&question)))
    }
}

impl Wait {
    /// The decision that a person reviews, and how it has waited.
    pub(super) fn into_parts(self) -> (String, Waited) {
        (self.decision, self.waited)
    }

    /// The question that has no answer.
    pub(super) fn question(&self) -> Option<&MessageId> {
        self.waited.question.as_ref()
    }

    fn tell(&mut self) -> Output {
        self.waited.count = self.waited.count.saturating_add(1).min(MAX_PROGRESS);
        let message = format!("Waits for a person to run `{}`.", answer::approve(&self.decision));
        Output::Progress(self.parked.id.clone(), answer::progress(&self.token, self.waited.count, &message))
    }
}
