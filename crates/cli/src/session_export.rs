//! Sessions for readers of others: as an in-toto Runtime Trace, and as audit records that MCP proposes (SEP-3004).

use std::collections::BTreeMap;

use anyhow::anyhow;
use proofmark_boundary::DecisionReceipt;
use proofmark_interop::intoto;
use proofmark_interop::session::{
    CallDecision, CallOutcome, Drift, GuardedCall, GuardedSession, audit_records, runtime_trace,
};
use proofmark_receipt::{Json, Sha256Digest, SigningKey, Timestamp};
use proofmark_session::{Decided, Event, SessionDocument};
use proofmark_store::TenantStore;

/// What happened in a session, entry by entry.
pub(crate) struct Exported<'s> {
    store: &'s TenantStore<'s>,
    session: Option<GuardedSession>,
    /// The places of calls by their decisions.
    decided: BTreeMap<String, usize>,
}

impl<'s> Exported<'s> {
    pub(crate) fn new(store: &'s TenantStore<'s>) -> Self {
        Self { store, session: None, decided: BTreeMap::new() }
    }

    /// Takes in the next entry.
    pub(crate) fn add(&mut self, name: &str, document: &str) -> anyhow::Result<()> {
        let json = Json::parse(document.as_bytes())?;
        let head = Sha256Digest::of(&json.canonical_vrf());
        let entry = SessionDocument::read(json).ok_or_else(|| anyhow!("read an entry of the session `{name}`"))?;
        let at: Timestamp = entry.at().parse().map_err(|error| anyhow!("read the time of an entry: {error}"))?;
        let session = self.session.get_or_insert_with(|| GuardedSession {
            name: name.to_owned(),
            head,
            host: "urn:proofmark:host:unknown".to_owned(),
            principal: "unknown".to_owned(),
            purpose: None,
            began: at.clone(),
            ended: None,
            calls: Vec::new(),
        });
        session.head = head;
        let id = entry.link().id.to_string();
        match entry.event() {
            Some(Event::Opened(opened)) => {
                let host = opened.host.or(opened.server);
                host.into_iter().for_each(|host| session.host = format!("urn:proofmark:host:{host}"));
                opened.agent.into_iter().for_each(|agent| session.principal = agent);
            }
            Some(Event::Asked(asked)) => session.purpose = Some(asked.text),
            Some(Event::Decided(decided)) => {
                let place = session.calls.len();
                self.decided.extend(decided.decision.clone().map(|decision| (decision, place)));
                let decision = decided.decision.as_deref().map(|id| self.decision(id)).transpose()?.flatten();
                let call = of_decided(decided, id, at, decision);
                self.session.iter_mut().for_each(|session| session.calls.push(call.clone()));
            }
            Some(Event::Waiting(waiting)) => {
                self.of_decision(&waiting.decision).into_iter().for_each(|call| call.outcome = CallOutcome::Deferred);
            }
            Some(Event::Undecided(undecided)) => session.calls.push(GuardedCall {
                id,
                at,
                tool: undecided.tool.unwrap_or(undecided.host_tool),
                arguments: digest(&undecided.message.sha256),
                outcome: CallOutcome::Error,
                decision: None,
                drift: Drift::None,
                result: None,
            }),
            Some(Event::Result(result)) => {
                let found = digest(&result.result.sha256);
                let decision = result.decision.unwrap_or_default();
                self.of_decision(&decision).into_iter().for_each(|call| call.result = found);
            }
            Some(Event::Closed(_)) => session.ended = Some(at),
            _ => {}
        }
        Ok(())
    }

    /// The envelope of a Runtime Trace, signed with this key.
    pub(crate) fn runtime_trace(self, key: &SigningKey) -> Option<Json> {
        Some(intoto::envelope(&runtime_trace(&self.session?), key).into())
    }

    /// The audit records of its calls.
    pub(crate) fn audit_records(self) -> anyhow::Result<Vec<Json>> {
        let Some(session) = self.session else { return Ok(Vec::new()) };
        let records = audit_records(&session).map_err(|error| anyhow!("write the audit records: {error}"))?;
        Ok(records.into_iter().map(Json::from).collect())
    }

    fn of_decision(&mut self, decision: &str) -> Option<&mut GuardedCall> {
        let place = *self.decided.get(decision)?;
        self.session.as_mut()?.calls.get_mut(place)
    }

    /// What a stored decision says by which policy.
    fn decision(&self, id: &str) -> anyhow::Result<Option<CallDecision>> {
        let Some(stored) = self.store.decision(id)? else { return Ok(None) };
        let Ok(receipt) = DecisionReceipt::parse(stored.document.as_bytes()) else { return Ok(None) };
        let policy = receipt.bound("policy_hash").and_then(|hash| hash.parse().ok());
        Ok(policy.map(|policy| CallDecision {
            id: id.to_owned(),
            receipt: Sha256Digest::of(&receipt.document().canonical_vrf()),
            policy_name: "policy".to_owned(),
            policy,
        }))
    }
}

fn of_decided(decided: Decided, id: String, at: Timestamp, decision: Option<CallDecision>) -> GuardedCall {
    let drifted = decided.origin_state.as_deref().is_some_and(|state| !matches!(state, "" | "pinned" | "new"));
    GuardedCall {
        id,
        at,
        tool: decided.tool.or(decided.host_tool).or(decided.method).unwrap_or_default(),
        arguments: digest(&decided.message.sha256),
        outcome: match (decided.allowed, decided.shadowed) {
            (true, _) => CallOutcome::Allowed,
            // It was forwarded, and no decision allowed it.
            (false, Some(true)) => CallOutcome::Error,
            (false, _) => CallOutcome::Denied,
        },
        decision,
        drift: if drifted { Drift::Observed } else { Drift::None },
        result: None,
    }
}

fn digest(text: &str) -> Option<Sha256Digest> {
    text.parse().or_else(|_| format!("sha256:{text}").parse()).ok()
}
