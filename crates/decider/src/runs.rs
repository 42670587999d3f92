//! Decides the calls of recorded runs by a policy, in their order and on the facts that a guard would have had.

mod brought;

use std::collections::{BTreeMap, HashMap};
use std::time::Instant;

use proofmark_boundary::{
    ActionPolicy, Counted, Decision, DecisionReceipt, Disposition, History, HostTool, Moment, ReadCall, Request,
    ToolCall, decide, limit_keys, taint,
};
use proofmark_evidence::trace::Trace;
use proofmark_evidence::{Call, Evidence};
use proofmark_guard::{labels_of, values_in};
use proofmark_receipt::{Json, Object, ReceiptId, Sha256Digest, Timestamp};
use proofmark_session::{Agent, CallStatus, MAX_CALLS, SessionFacts, copy_provenance};
use proofmark_verifier::clock;

use brought::Brought;
pub use brought::{Found, FoundIn};

/// What a record of a run does not say.
#[derive(Clone, Debug, Default)]
pub struct RunSettings {
    /// The server whose tools were called, where the record names none.
    pub server: Option<String>,
    pub agent: Option<String>,
    pub environment: Option<String>,
}

/// What becomes of a call under a policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum RunRuling {
    Allowed,
    /// It waits for a person.
    Held,
    Blocked,
}

impl RunRuling {
    /// The word for it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Allowed => "allowed",
            Self::Held => "held",
            Self::Blocked => "blocked",
        }
    }
}

/// A call of a run under a policy.
#[derive(Clone, Debug)]
pub struct RunCall {
    /// Which call of the run it is, counted from 1.
    pub number: usize,
    pub tool: String,
    pub server: Option<String>,
    pub ruling: RunRuling,
    /// Why it is not allowed; the one that says most comes first.
    pub reasons: Vec<RunReason>,
    /// Where the values of its arguments come from, as the fact `origins` has them; empty where the policy does not ask.
    pub origins: Vec<Json>,
    /// Of a call that is not allowed, the values without a label that stand in what calls before it brought.
    pub found: Vec<Found>,
    /// How long it took to decide, and to label what the call brought, in microseconds.
    pub micros: u64,
}

/// Why a call is not allowed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunReason {
    pub code: String,
    pub message: String,
    /// The rule's place; none where no rule was asked.
    pub rule: Option<String>,
    pub detail: Option<String>,
}

/// A run under a policy.
#[derive(Clone, Debug)]
pub struct ReplayedRun {
    pub calls: Vec<RunCall>,
    /// How many requests of the user the record has.
    pub requests: usize,
}

impl ReplayedRun {
    /// The number of the first call that is not allowed: there the run would have gone on otherwise.
    #[must_use]
    pub fn stopped_at(&self) -> Option<usize> {
        self.calls.iter().find(|call| call.ruling != RunRuling::Allowed).map(|call| call.number)
    }

    /// How many calls have this ruling.
    #[must_use]
    pub fn count(&self, ruling: RunRuling) -> u64 {
        self.calls.iter().filter(|call| call.ruling == ruling).count() as u64
    }
}

/// Something that happens in a run; at one position of its record, what is listed first here happens first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Happens {
    Asked(usize),
    Called(usize),
    Ended(usize),
}

/// Decides every call of a run. The facts of a call are what the record has before it: a call that the policy does not allow counts
/// for later ones as the record has it, since they would not be there otherwise.
#[must_use]
pub fn replay_run(policy: &ActionPolicy, settings: &RunSettings, trace: &Trace) -> ReplayedRun {
    let mut happens: Vec<(usize, Happens)> = Vec::new();
    happens.extend(trace.requests.iter().enumerate().map(|(index, asked)| (asked.position, Happens::Asked(index))));
    for (index, call) in trace.calls.iter().enumerate() {
        happens.push((call.began, Happens::Called(index)));
        happens.extend(call.ended.map(|ended| (ended, Happens::Ended(index))));
    }
    happens.sort();
    let mut run = Run::new(policy, settings);
    for (_, happens) in happens {
        match happens {
            Happens::Asked(index) => {
                let asked = trace.requests.get(index);
                asked.into_iter().for_each(|asked| run.session.asked(&asked.text, ""));
            }
            Happens::Called(index) => {
                if let Some(call) = trace.calls.get(index) {
                    let ruled = run.decided(index, call);
                    run.ruled.push(ruled);
                }
            }
            Happens::Ended(index) => trace.calls.get(index).into_iter().for_each(|call| run.ended(index, call)),
        }
    }
    ReplayedRun { calls: run.ruled, requests: trace.requests.len() }
}

struct Run<'p> {
    policy: &'p ActionPolicy,
    settings: &'p RunSettings,
    agent: Agent,
    session: SessionFacts,
    /// The calls of the session, by their indexes in the record.
    called: BTreeMap<usize, Called>,
    /// The request before, with which the next one shares most.
    last: Option<Request>,
    /// What limits count, by their keys.
    counted: HashMap<Sha256Digest, Counted>,
    /// How often actions were not allowed since they last were.
    denied: HashMap<Sha256Digest, u64>,
    now: Timestamp,
    brought: Brought,
    ruled: Vec<RunCall>,
}

/// A call in the facts.
struct Called {
    index: usize,
    tool: String,
    server: Option<String>,
}

impl<'p> Run<'p> {
    fn new(policy: &'p ActionPolicy, settings: &'p RunSettings) -> Self {
        let agent = Agent { id: settings.agent.clone(), environment: settings.environment.clone(), process: None };
        Self {
            policy,
            settings,
            agent,
            session: SessionFacts::default(),
            called: BTreeMap::new(),
            last: None,
            counted: HashMap::new(),
            denied: HashMap::new(),
            now: clock::now(),
            brought: Brought::default(),
            ruled: Vec::new(),
        }
    }

    fn decided(&mut self, index: usize, call: &Call) -> RunCall {
        let begun = Instant::now();
        let action = self.action(call);
        let text = |name: &str| action.get(name).and_then(Json::as_str).map(str::to_owned);
        let (tool, server) = (text("tool").unwrap_or_default(), text("server"));
        let (ruling, reasons, origins) = self.ruling(call, &action);
        let micros = micros(begun);
        let found = if ruling == RunRuling::Allowed { Vec::new() } else { self.brought.find(&origins) };
        // As the record has it: what follows is what followed then.
        let status = if call.status == CallStatus::Blocked { CallStatus::Blocked } else { CallStatus::Pending };
        let known = self.session.called(&action, None, status, at(call));
        self.called.insert(index, Called { index: known, tool: tool.clone(), server: server.clone() });
        RunCall { number: index + 1, tool, server, ruling, reasons, origins, found, micros }
    }

    fn ruling(&mut self, call: &Call, action: &Object) -> (RunRuling, Vec<RunReason>, Vec<Json>) {
        let without = |code: &str, message: String| {
            let reason = RunReason { code: code.to_owned(), message, rule: None, detail: None };
            (RunRuling::Blocked, vec![reason], Vec::new())
        };
        if call.arguments.as_object().is_none() {
            return without("arguments_unknown", "The record does not have the arguments of this call.".to_owned());
        }
        if self.session.is_full() {
            return without("session_full", format!("A session has at most {MAX_CALLS} calls."));
        }
        let Some(request) = self.request(action) else {
            return without("invalid_request", "The call has a number that cannot be held exactly.".to_owned());
        };
        let decision = self.decision(&request, call);
        // In shadow mode the policy says what it would do.
        let disposition = decision.shadowed().unwrap_or(decision.disposition());
        let ruling = match disposition {
            Disposition::Allow | Disposition::AllowWithWarning => RunRuling::Allowed,
            Disposition::HumanReview => RunRuling::Held,
            Disposition::LocalReplan | Disposition::UpstreamReplan | Disposition::TerminalBlock => RunRuling::Blocked,
        };
        let reasons = if ruling == RunRuling::Allowed { Vec::new() } else { reasons(&decision, &request) };
        let origins = request.facts().get("origins").and_then(|origins| origins.as_object()?.get("values")?.as_array());
        (ruling, reasons, origins.unwrap_or_default().to_vec())
    }

    fn request(&mut self, action: &Object) -> Option<Request> {
        let asks = self.policy.asks_for_origins();
        let origins = asks.then(|| self.session.origins_of(action, self.policy.asks_for_pieces()));
        let mut facts = self.session.facts(action.clone(), &self.agent, "run");
        if let Some(origins) = origins {
            facts.insert("origins", origins);
        }
        let request = match &self.last {
            Some(last) => last.followed_by(facts).ok()?,
            None => Request::from_facts(facts).ok()?,
        };
        self.last = Some(request.clone());
        Some(request)
    }

    /// Decides, and counts what the policy counts. Nobody presents evidence.
    fn decision(&mut self, request: &Request, call: &Call) -> Decision {
        let keys = limit_keys(self.policy, request).into_iter().map(|key| key.key);
        let counted = keys.map(|key| self.counted.get(&key).cloned().unwrap_or_else(|| Counted::nothing(key)));
        let fingerprint = self.policy.fingerprint(request);
        let denied = self.denied.get(&fingerprint).copied().unwrap_or(0);
        let history = History { denied, denial: None, counted: counted.collect() };
        let now = call.at.as_deref().and_then(|at| at.parse().ok()).unwrap_or_else(|| self.now.clone());
        let decision = decide(self.policy, request, &Evidence::default(), &Moment { now, history });
        for counted in decision.limits() {
            if let Some(counted) = counted.action().and_then(|action| Counted::up_to(&action, None)) {
                self.counted.insert(counted.key, counted);
            }
        }
        let denied = if decision.allows() { 0 } else { denied.saturating_add(1) };
        self.denied.insert(fingerprint, denied);
        decision
    }

    /// The action that a call is. One of which the record does not say where it comes from is that of a guarded server.
    fn action(&self, call: &Call) -> Object {
        let server = call.came_from("server").or(self.settings.server.as_deref());
        let named = ToolCall { tool: &call.tool, server, args: &call.arguments, said_to_change: false };
        let mut action = match call.came_from("surface") {
            Some("host") => {
                self.policy.action_of_host(&named, &HostTool { name: &call.tool, class: None, target: None })
            }
            _ => self.policy.action_of(&named),
        };
        if matches!(call.came_from("source"), None | Some("trace")) {
            action.insert("source", "guard");
            action.insert("surface", "mcp");
        } else {
            copy_provenance(&call.provenance, &mut action);
            action.remove("process");
        }
        if action.get("surface").and_then(Json::as_str) != Some("host") {
            action.insert("method", "tools/call");
        }
        if call.arguments.as_object().is_none() {
            action.remove("args");
        }
        action
    }

    /// Takes in what a call brought.
    fn ended(&mut self, index: usize, call: &Call) {
        let Some(Called { index: known, tool, server }) = self.called.remove(&index) else { return };
        if matches!(call.status, CallStatus::Pending | CallStatus::Blocked) {
            return;
        }
        let begun = Instant::now();
        self.session.ended(known, call.status);
        let given = &call.given;
        let content = given.content.as_ref().or(call.result.as_ref());
        let signs: Vec<String> = match (&given.signs, content) {
            (Some(signs), _) => signs.clone(),
            (None, Some(content)) => labels_of(content).into_iter().map(str::to_owned).collect(),
            (None, None) => vec![taint::UNSEARCHED.to_owned()],
        };
        if !given.withheld {
            self.session.tainted(&signs, &tool, at(call));
        }
        let labels = self.policy.asks_for_origins().then(|| match content {
            Some(content) => {
                let args = self.session.arguments(known).cloned();
                let read = ReadCall { tool: &tool, server: server.as_deref(), args: args.as_ref() };
                let task = self.session.task().map(str::to_owned);
                let (values, failed) = (values_in(content), call.status == CallStatus::Failed);
                Some(self.policy.labelled(&read, &values, task.as_deref(), self.session.origins(), failed).to_object())
            }
            // Labels of another policy may vouch for something else.
            None if given.labelled_by.as_deref() == Some(&self.policy.hash().to_string()) => given.labels.clone(),
            None => None,
        });
        self.session.brought(Some(known), &tool, at(call), labels.flatten(), !given.withheld);
        let took = micros(begun);
        if let Some(content) = content {
            self.brought.add(index + 1, &tool, content);
        }
        if let Some(ruled) = self.ruled.iter_mut().rev().find(|ruled| ruled.number == index + 1) {
            ruled.micros = ruled.micros.saturating_add(took);
        }
    }
}

fn at(call: &Call) -> &str {
    call.at.as_deref().unwrap_or_default()
}

fn micros(begun: Instant) -> u64 {
    u64::try_from(begun.elapsed().as_micros()).unwrap_or(u64::MAX)
}

/// The reasons that stop an action, the main one first.
fn reasons(decision: &Decision, request: &Request) -> Vec<RunReason> {
    let receipt = DecisionReceipt::unchained(decision, request, ReceiptId::from_random_bytes([0; 16]));
    let main = receipt.main_reason();
    let mut stated: Vec<_> = receipt.reasons().into_iter().filter(|reason| reason.standing().stops()).collect();
    stated.sort_by_key(|reason| Some(*reason) != main);
    let owned = stated.iter().map(|reason| RunReason {
        code: reason.code.to_owned(),
        message: reason.message.to_owned(),
        rule: Some(reason.rule.to_owned()),
        detail: reason.detail.map(str::to_owned),
    });
    owned.collect()
}
