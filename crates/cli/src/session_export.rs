//! Sessions in other formats: as an in-toto Runtime Trace, as audit records that MCP proposes (SEP-3004), and as events of OCSF.

use std::collections::BTreeMap;

use anyhow::anyhow;
use proofmark_evidence::Signers;
use proofmark_interop::intoto;
use proofmark_interop::session::{
    CallDecision, CallEnd, CallOutcome, Drift, GuardedCall, GuardedSession, audit_records, ocsf_events, runtime_trace,
};
use proofmark_keys::verify_decision;
use proofmark_receipt::{Json, Sha256Digest, SigningKey, Timestamp, Trust};
use proofmark_session::{CallStatus, Decided, Event, SessionDocument};
use proofmark_store::TenantStore;
use proofmark_verifier::{signed_action, signed_decision};

/// What happened in a session, entry by entry.
pub(crate) struct Exported<'s> {
    store: &'s TenantStore<'s>,
    /// The signers whose decisions count.
    trusted: &'s Signers,
    session: Option<GuardedSession>,
    /// The server of calls that name none.
    service: String,
    /// Why decisions are left out.
    unverified: Vec<String>,
    /// The places of calls by their decisions.
    decided: BTreeMap<String, usize>,
}

impl<'s> Exported<'s> {
    pub(crate) fn new(store: &'s TenantStore<'s>, trusted: &'s Signers) -> Self {
        let service = "unknown".to_owned();
        Self { store, trusted, session: None, service, unverified: Vec::new(), decided: BTreeMap::new() }
    }

    /// The decisions without a valid signature by a trusted signer: their calls are exported without them.
    pub(crate) fn unverified(&self) -> &[String] {
        &self.unverified
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
                if let Some(host) = opened.host.or(opened.server) {
                    session.host = format!("urn:proofmark:host:{host}");
                    self.service = host;
                }
                opened.agent.into_iter().for_each(|agent| session.principal = agent);
            }
            Some(Event::Asked(asked)) => session.purpose = Some(asked.text),
            Some(Event::Decided(decided)) => {
                let place = session.calls.len();
                self.decided.extend(decided.decision.clone().map(|decision| (decision, place)));
                let decision = decided.decision.as_deref().map(|id| self.decision(id)).transpose()?.flatten();
                let call = of_decided(decided, id, at, decision, &self.service);
                self.session.iter_mut().for_each(|session| session.calls.push(call.clone()));
            }
            Some(Event::Waiting(waiting)) => {
                self.of_decision(&waiting.decision).into_iter().for_each(|call| call.outcome = CallOutcome::Deferred);
            }
            Some(Event::Undecided(undecided)) => session.calls.push(GuardedCall {
                id,
                at,
                request: undecided.call,
                method: CALL.to_owned(),
                service: self.service.clone(),
                tool: undecided.tool.unwrap_or(undecided.host_tool),
                arguments: digest(&undecided.message.sha256),
                outcome: CallOutcome::Error,
                decision: None,
                drift: Drift::None,
                result: None,
                end: undecided.status.and_then(end),
            }),
            Some(Event::Result(result)) => {
                let (found, ended) = (digest(&result.result.sha256), result.status.and_then(end));
                let decision = result.decision.unwrap_or_default();
                if let Some(call) = self.of_decision(&decision) {
                    (call.result, call.end) = (found, ended);
                }
            }
            Some(Event::Ended(ended)) => {
                let status = ended.status.and_then(end);
                self.of_decision(&ended.decision).into_iter().for_each(|call| call.end = status);
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

    /// The events of OCSF that its calls in a period are.
    pub(crate) fn ocsf_events(self, since: Option<i64>, until: Option<i64>) -> Vec<Json> {
        let events = self.session.iter().flat_map(|session| ocsf_events(session, since, until));
        events.map(Json::from).collect()
    }

    fn of_decision(&mut self, decision: &str) -> Option<&mut GuardedCall> {
        let place = *self.decided.get(decision)?;
        self.session.as_mut()?.calls.get_mut(place)
    }

    /// What a stored decision says, after its signature by a trusted signer was verified.
    fn decision(&mut self, id: &str) -> anyhow::Result<Option<CallDecision>> {
        let Some(stored) = self.store.decision(id)? else {
            self.unverified.push(format!("the store does not have the decision `{id}`"));
            return Ok(None);
        };
        let signed = signed_decision(&stored).and_then(|receipt| signed_action(&stored, &receipt).map(|_| receipt));
        let receipt = match signed {
            Ok(receipt) => receipt,
            Err(error) => {
                self.unverified.push(format!("failed to {error}"));
                return Ok(None);
            }
        };
        if verify_decision(&receipt, self.trusted).trust != Trust::Trusted {
            self.unverified.push(format!("the signer of the decision `{id}` is not trusted for decisions"));
            return Ok(None);
        }
        let reasons = receipt.document().get("reasons").and_then(Json::as_array).unwrap_or_default();
        let rule = reasons.iter().find_map(|reason| reason.as_object()?.get("rule")?.as_str());
        let policy = receipt.bound("policy_hash").and_then(|hash| hash.parse().ok());
        let disposition = receipt.disposition();
        Ok(policy.map(|policy| CallDecision {
            id: id.to_owned(),
            receipt: Sha256Digest::of(&receipt.document().canonical_vrf()),
            policy_name: receipt.bound("policy").unwrap_or("policy").to_owned(),
            policy,
            outcome: disposition.outcome().as_str().to_owned(),
            disposition: disposition.mode().to_owned(),
            rule: rule.map(str::to_owned),
        }))
    }
}

/// The method of a call of a tool.
const CALL: &str = "tools/call";

fn end(status: CallStatus) -> Option<CallEnd> {
    match status {
        CallStatus::Succeeded => Some(CallEnd::Succeeded),
        CallStatus::Failed => Some(CallEnd::Failed),
        CallStatus::Doubtful | CallStatus::Blocked | CallStatus::Pending => None,
    }
}

fn of_decided(
    decided: Decided,
    id: String,
    at: Timestamp,
    decision: Option<CallDecision>,
    service: &str,
) -> GuardedCall {
    let drifted = decided.origin_state.as_deref().is_some_and(|state| !matches!(state, "" | "pinned" | "new"));
    GuardedCall {
        id,
        at,
        request: decided.call.or_else(|| decided.request.map(plain)),
        service: decided.server.unwrap_or_else(|| service.to_owned()),
        tool: decided.tool.or(decided.host_tool).or_else(|| decided.method.clone()).unwrap_or_default(),
        method: decided.method.unwrap_or_else(|| CALL.to_owned()),
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
        end: None,
    }
}

/// The id of a request without the quotes that it has in JSON.
fn plain(id: String) -> String {
    let text = Json::parse(id.as_bytes()).ok().and_then(|json| json.as_str().map(str::to_owned));
    text.unwrap_or(id)
}

fn digest(text: &str) -> Option<Sha256Digest> {
    text.parse().or_else(|_| format!("sha256:{text}").parse()).ok()
}
