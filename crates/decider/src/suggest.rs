//! A policy for what a session did: made of its record, and tried on it.

use std::collections::{BTreeMap, BTreeSet};

use proofmark_boundary::{
    ActionPolicy, ActionPolicyError, DecisionReceipt, History, Moment, SeenCall, SuggestError, Suggestion, as_under,
    decide, suggest,
};
use proofmark_evidence::{Evidence, Signers};
use proofmark_guard::{PinKind, says_that_it_changes};
use proofmark_receipt::document::shown;
use proofmark_receipt::{Json, Object, ReceiptId};
use proofmark_session::{Agent, Decided, Entry, Event, SessionFacts};
use proofmark_store::{Store, StoreError, Tenant};
use proofmark_verifier::{clock, signed_action, signed_decision};

use crate::decide::DecideError;
use crate::entries::session_entries;
use crate::pins::pins;

/// A policy for what a session did, and what it says of its calls.
#[derive(Clone, Debug)]
pub struct SessionSuggestion {
    /// None where the current policy needs no further rule.
    pub suggestion: Option<Suggestion>,
    /// How many calls were executed.
    pub calls: u64,
    /// The calls that the suggested policy does not allow, by their tools, with the reasons.
    pub not_allowed: BTreeMap<String, BTreeSet<String>>,
    /// The calls that were not executed, by their tools, and how many.
    pub blocked: BTreeMap<String, u64>,
    /// How many calls the store has no decision of.
    pub unknown: u64,
}

/// Why no policy can be suggested for a session.
#[derive(Debug, thiserror::Error)]
pub enum SuggestSessionError {
    #[error("read the session `{}`: the store has no such session", shown(.0))]
    NoSession(String),
    #[error(transparent)]
    Entries(#[from] DecideError),
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Suggest(#[from] SuggestError),
    #[error("read the suggested policy: {0}")]
    Policy(#[from] ActionPolicyError),
}

impl SuggestSessionError {
    /// What to do about it.
    #[must_use]
    pub fn help(&self) -> Option<String> {
        match self {
            Self::NoSession(_) => Some("list the sessions with `proofmark session list`".to_owned()),
            Self::Store(error) => error.help(),
            Self::Suggest(SuggestError::Nothing) => {
                Some("let the agent work under `proofmark guard --shadow` first".to_owned())
            }
            Self::Entries(error) => error.help(),
            Self::Suggest(_) | Self::Policy(_) => None,
        }
    }
}

/// The record of a session, as far as it matters here.
struct Record {
    session: String,
    agent: Agent,
    entries: Vec<Entry>,
    /// The calls that were executed, each with the index of its entry.
    calls: Vec<(usize, SeenCall)>,
    /// The calls by their decisions.
    by_decision: BTreeMap<String, usize>,
    tainted: bool,
    blocked: BTreeMap<String, u64>,
    unknown: u64,
}

/// Suggests a policy that allows what a session did, whose last entry one of `trusted` has signed; `current` is a policy to add it to, which keeps what it has.
///
/// # Errors
/// [`SuggestSessionError`].
pub fn suggest_policy(
    store: &Store,
    session: &str,
    trusted: &Signers,
    current: Option<(&ActionPolicy, &Object)>,
) -> Result<SessionSuggestion, SuggestSessionError> {
    let record = Record::read(store, session, trusted)?;
    let wanted: Vec<SeenCall> = match current {
        // What the policy decides on by a rule, a further boundary cannot allow.
        Some((policy, _)) => {
            let refused = record.refusals(policy, true);
            let calls = record.calls.iter().zip(&refused).filter(|(_, reasons)| reasons.contains("unmatched_action"));
            calls.map(|((_, call), _)| call.clone()).collect()
        }
        None => record.calls.iter().map(|(_, call)| call.clone()).collect(),
    };
    let suggestion = match suggest(session, &wanted, current.map(|(_, document)| document)) {
        Err(SuggestError::Nothing) if current.is_some() => None,
        suggested => Some(suggested?),
    };
    let document = suggestion.as_ref().map(|suggestion| &suggestion.document).or(current.map(|(_, document)| document));
    let policy = ActionPolicy::read(&Json::Object(document.cloned().unwrap_or_default()))?;
    let mut not_allowed: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for ((_, call), reasons) in record.calls.iter().zip(record.refusals(&policy, current.is_some())) {
        if !reasons.is_empty() {
            not_allowed.entry(tool_of(&call.action).to_owned()).or_default().extend(reasons);
        }
    }
    let calls = record.calls.len() as u64;
    Ok(SessionSuggestion { suggestion, calls, not_allowed, blocked: record.blocked, unknown: record.unknown })
}

impl Record {
    fn read(store: &Store, session: &str, trusted: &Signers) -> Result<Self, SuggestSessionError> {
        let mut record = Self {
            session: session.to_owned(),
            agent: Agent::default(),
            entries: Vec::new(),
            calls: Vec::new(),
            by_decision: BTreeMap::new(),
            tainted: false,
            blocked: BTreeMap::new(),
            unknown: 0,
        };
        let changing = changing_tools(store)?;
        let ours = store.of(&Tenant::LOCAL);
        let mut entries = Vec::new();
        let count = session_entries(&ours, session, trusted, &mut |_, document| entries.extend(document.entry()))?;
        if count == 0 {
            return Err(SuggestSessionError::NoSession(session.to_owned()));
        }
        for entry in entries {
            record.take(store, &entry.event, &changing)?;
            record.entries.push(entry);
        }
        Ok(record)
    }

    fn take(
        &mut self,
        store: &Store,
        event: &Event,
        changing: &BTreeSet<(String, String)>,
    ) -> Result<(), SuggestSessionError> {
        match event {
            Event::Opened(opened) => {
                self.agent = Agent {
                    id: opened.agent.clone(),
                    environment: opened.environment.clone(),
                    process: opened.process.clone(),
                };
            }
            Event::Decided(decided) => self.decided(store, decided, changing)?,
            // A host let it through without asking.
            Event::Undecided(_) => self.unknown += 1,
            Event::Result(result) => {
                self.tainted |= !result.signs.is_empty();
                let index = result.decision.as_ref().and_then(|decision| self.by_decision.get(decision));
                if let Some((_, call)) = index.and_then(|index| self.calls.get_mut(*index)) {
                    call.status = result.status;
                    call.signs = result.signs.clone();
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn decided(
        &mut self,
        store: &Store,
        decided: &Decided,
        changing: &BTreeSet<(String, String)>,
    ) -> Result<(), SuggestSessionError> {
        let decision = decided.decision.as_deref();
        if !decided.was_forwarded() {
            *self.blocked.entry(decided.tool.clone().unwrap_or_default()).or_default() += 1;
            return Ok(());
        }
        let stored = decision.map(|id| store.of(&Tenant::LOCAL).decision(id)).transpose()?.flatten();
        let action = stored.and_then(|stored| signed_action(&stored, &signed_decision(&stored).ok()?).ok().flatten());
        let Some(Json::Object(action)) = action else {
            self.unknown += 1;
            return Ok(());
        };
        let named = |name: &str| action.get(name).and_then(Json::as_str).unwrap_or_default().to_owned();
        let said_to_change = changing.contains(&(named("server"), named("tool")));
        let call = SeenCall { action, said_to_change, status: None, signs: Vec::new(), tainted: self.tainted };
        self.by_decision.extend(decision.map(|decision| (decision.to_owned(), self.calls.len())));
        self.calls.push((self.entries.len(), call));
        Ok(())
    }

    /// For each call why a policy does not allow it; empty if it does. Rules on the calls before it see these only `with_calls`:
    /// otherwise the time that it takes does not grow with the square of their number.
    fn refusals(&self, policy: &ActionPolicy, with_calls: bool) -> Vec<BTreeSet<String>> {
        let mut state = SessionFacts::default();
        let mut calls = self.calls.iter().peekable();
        let mut refusals = Vec::new();
        for (index, entry) in self.entries.iter().enumerate() {
            let is_decision = matches!(entry.event, Event::Decided(_));
            if let Some((_, call)) = calls.next_if(|(at, _)| *at == index) {
                let facts = state.facts(Object::new(), &self.agent, &self.session);
                refusals.push(refusal(policy, call, &facts));
            }
            if with_calls || !is_decision {
                state.take_in(entry);
            }
        }
        refusals
    }
}

fn refusal(policy: &ActionPolicy, call: &SeenCall, facts: &Object) -> BTreeSet<String> {
    let Some(request) = as_under(policy, call, facts) else { return ["invalid_request".to_owned()].into() };
    let moment = Moment { now: clock::now(), history: History::default() };
    let decision = decide(policy, &request, &Evidence::default(), &moment);
    let receipt = DecisionReceipt::draft(&decision, &request, ReceiptId::from_random_bytes([0; 16]), None);
    if decision.allows() && receipt.shadowed().is_none() {
        return BTreeSet::new();
    }
    receipt.reasons().iter().map(|reason| reason.code.to_owned()).collect()
}

/// The tools of which their servers say that they change something.
fn changing_tools(store: &Store) -> Result<BTreeSet<(String, String)>, StoreError> {
    let says = |document: &Json| Some(says_that_it_changes(document.as_object()?));
    let changing = pins(&store.of(&Tenant::LOCAL))?.into_iter().filter(|pin| says(&pin.document) == Some(true));
    let tools = changing.filter(|pin| pin.name.kind == PinKind::Tool);
    Ok(tools.map(|pin| (pin.server, pin.name.name)).collect())
}

fn tool_of(object: &Object) -> &str {
    object.get("tool").and_then(Json::as_str).unwrap_or_default()
}
