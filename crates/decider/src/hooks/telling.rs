//! Spans of the calls that hooks are asked about: one for each call, when it is known how it ended.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use proofmark_boundary::DecisionReceipt;
use proofmark_guard::TOOL_ERROR;
use proofmark_hosts::{Call, Message};
use proofmark_receipt::Timestamp;
use proofmark_session::CallStatus;

use super::Hooks;
use super::calls::HookedCall;
use crate::telemetry::{BLOCKED, Place, Ruled, ToldCall, is_told};

/// `error.type` of a call that no hook was asked about, or that was made although it was not allowed.
const NOT_ALLOWED: &str = "executed_not_allowed";

impl Hooks {
    /// Logs the span of a call that is not made because of this decision.
    pub(super) fn tell_blocked(&self, message: &Message, call: &Call, receipt: &DecisionReceipt, began: SystemTime) {
        if is_told() {
            self.tell(message, call, Some(&Ruled::by(receipt)), Some(BLOCKED), began);
        }
    }

    /// Logs the span of a call that has ended, as the host says. `hooked` is the decision on it, if there is one.
    pub(super) fn tell_ended(&self, message: &Message, call: &Call, hooked: Option<&HookedCall>, status: CallStatus) {
        if !is_told() {
            return;
        }
        let ruled = hooked.and_then(|hooked| self.ruled(&hooked.decision));
        let is_allowed = hooked.is_some_and(|hooked| hooked.allowed);
        let error = match status {
            _ if !is_allowed && status.may_have_acted() => Some(NOT_ALLOWED),
            CallStatus::Failed => Some(TOOL_ERROR),
            CallStatus::Blocked => Some(BLOCKED),
            CallStatus::Succeeded | CallStatus::Doubtful | CallStatus::Pending => None,
        };
        let began = hooked.and_then(|hooked| hooked.at.parse::<Timestamp>().ok());
        let began = began.and_then(|began| u64::try_from(began.unix_millis()).ok());
        let began = began.map_or_else(SystemTime::now, |millis| UNIX_EPOCH + Duration::from_millis(millis));
        self.tell(message, call, ruled.as_ref(), error, began);
    }

    fn tell(&self, message: &Message, call: &Call, ruled: Option<&Ruled>, error: Option<&str>, began: SystemTime) {
        let (settings, subagent) = (&self.settings, message.subagent.as_ref());
        let told = ToldCall {
            tool: Some(&call.tool),
            is_function: true,
            id: call.id.as_deref(),
            session: Some(&settings.session),
            agent: subagent.map(|subagent| subagent.id.as_str()).or(settings.agent.as_deref()),
            agent_name: subagent.and_then(|subagent| subagent.kind.as_deref()),
            tenant: settings.owner.tenant.as_str(),
            caller: settings.owner.asker.account.as_deref(),
            ruled,
            shadowed: false,
            error,
            began,
        };
        told.tell(Place::InRequest);
    }

    /// What was decided, if it can still be read.
    fn ruled(&self, decision: &str) -> Option<Ruled> {
        let receipt = self.decider.stored(&self.settings.owner.tenant, decision).ok()?;
        Some(Ruled::by(&receipt))
    }
}
