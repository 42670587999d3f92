//! Accepts steps: judges a response by its contract, moves the run on, and issues the receipt of the judgment.
//!
//! An attempt is judged on the state that its run had when it was read. The state carries a version, and the store refuses a
//! new state whose version is not one more than the stored one. So of two attempts that were judged on the same state one is
//! refused as a whole, with its receipt and with what it spends, and the run moves one transition at a time. The receipt is
//! linked to the chain of its step when it is stored.
//!
//! A run belongs to the sender that began it: its name alone does not identify it. Agents only continue runs of their own;
//! who orchestrates may continue any, by naming who began it.

mod step;

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};

use proofmark_contract::judgment::{self, JudgedAttempt, TIER};
use proofmark_contract::response::{self, ResponseError};
use proofmark_contract::{
    AttemptEvidence, Contract, ContractError, Event, Judgment, NextStep, NotGiven, RetryPlan, RuleResult, State,
    StateError, TransitionError, Workflow, WorkflowPolicy, evaluate_until, next_step, not_given, outputs_wanted, seed,
};
use proofmark_evidence::trace::{self, Trace, TraceError};
use proofmark_receipt::document::shown;
use proofmark_receipt::json::JsonError;
use proofmark_receipt::{Draft, Json, Object, Receipt, SignError, SignerId, Timestamp, object};
use proofmark_store::{Spend, Spends, StepRun, StoreError, Tenant, TenantStore};

pub use step::{StoredStep, signed_state, stored_step};

use crate::clock;
use crate::issue::{Destination, IssueError, Issuer, STEP_CHAINS, VERIFIER};
use crate::presented::{self, Presented, PresentedError};

/// The longest name of a run, in bytes.
pub const MAX_RUN_NAME: usize = 80;

/// A response to be judged, and what it is judged by.
#[derive(Clone, Copy, Debug)]
pub struct Attempt<'a> {
    pub workflow: &'a Workflow,
    /// The workflow policy that the workflow must follow.
    pub policy: Option<&'a WorkflowPolicy>,
    pub step: &'a str,
    pub sender: Sender<'a>,
    /// The run it belongs to; `None` for a run of its own.
    pub run: Option<&'a str>,
    /// Who began that run, where it was not the sender.
    pub begun_by: Option<&'a str>,
    /// Which attempt it is; `None` for the next one.
    pub number: Option<u32>,
    /// The agent's whole response.
    pub response: &'a [u8],
    /// What the orchestrator recorded.
    pub trace: Option<&'a [u8]>,
    /// What the orchestrator knows: predicates see it as `context`.
    pub context: Option<&'a Json>,
    pub presented: Presented<'a>,
    /// Signers whose receipts count as trusted.
    pub trusted: &'a [SignerId],
    /// Whether it is refused unless a step that leads to this one was accepted in the run.
    pub in_order: bool,
    pub purpose: Purpose,
    /// Set when the caller no longer waits for the judgment: it is not stored then.
    pub stop: &'a AtomicBool,
}

/// What an attempt is judged for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// To count: the run moves on, and the judgment has a receipt.
    Attempt,
    /// To see what it would come to. It is judged on the stored state, and nothing is stored.
    DryRun,
    /// To test the workflow with a recorded response. What the test leaves out was not recorded.
    Test,
}

/// Who sends an attempt. A run belongs to the sender that began it, under its name.
#[derive(Clone, Copy, Debug)]
pub struct Sender<'a> {
    pub tenant: &'a Tenant,
    /// Who it is for that tenant: the id of an API key, or `local`.
    pub id: &'a str,
    /// Whether it may go on with runs of others, and begin a run under a name that another uses.
    pub orchestrates: bool,
}

impl Sender<'static> {
    /// The user of the command line.
    pub const LOCAL: Self = Self { tenant: &LOCAL, id: "local", orchestrates: true };
}

static LOCAL: Tenant = Tenant::LOCAL;

/// The result of an attempt.
#[derive(Clone, Debug)]
pub struct Acceptance {
    pub run: String,
    /// The attempt, from 1.
    pub attempt: u32,
    /// The state of the run after it.
    pub state: State,
    /// Every rule.
    pub judgment: Judgment,
    /// `None` if it was not judged to count.
    pub receipt: Option<Receipt>,
    /// A summary of the trace that was read.
    pub trace: Option<String>,
    pub judged_at: Timestamp,
    /// What follows the step; `None` while an attempt is awaited.
    pub next: Option<NextStep>,
    /// Whether no step that leads to this one was accepted in the run.
    pub out_of_order: bool,
}

impl Acceptance {
    /// The result as a document: the state, every rule, what may be done next, and the receipt. `next` is the step that
    /// follows, `null` where the workflow ends.
    #[must_use]
    pub fn to_json(&self) -> Json {
        let (retry, action) = match &self.state {
            State::Retry(retry) => (Some(retry), None),
            State::Aborted { action, .. } => (None, Some(action.to_text())),
            State::Pending | State::Evaluating { .. } | State::Accepted { .. } | State::AcceptedWithWarnings { .. } => {
                (None, None)
            }
        };
        let document: Object = object! {
            "run": self.run.as_str(),
            "state": self.state.as_str(),
            "attempt": u64::from(self.attempt),
            "rules": self.judgment.rules.iter().map(rule).collect::<Vec<_>>(),
            "prompt"?: retry.map(|retry| retry.prompt.as_str()),
            "next_attempt"?: retry.map(|retry| u64::from(retry.attempt)),
            "not_before_ms"?: retry.map(|retry| retry.not_before_ms),
            "action"?: action,
            "next"?: self.next.as_ref().and_then(NextStep::to_json),
            "out_of_order"?: self.out_of_order.then_some(true),
            "trace"?: self.trace.as_deref(),
            "dry_run"?: self.receipt.is_none().then_some(true),
            "receipt"?: self.receipt.as_ref().map(|receipt| receipt.document().clone()),
        };
        document.into()
    }
}

fn rule(rule: &RuleResult) -> Json {
    let missing = rule.missing.iter().map(|fact| Json::from(fact.path.as_str()));
    let document: Object = object! {
        "id": rule.id.as_str(),
        "kind": rule.kind.as_str(),
        "outcome": rule.outcome.as_str(),
        "status": rule.status.as_str(),
        "rule": rule.rule.as_str(),
        "message": rule.message.as_str(),
        "missing": missing.collect::<Vec<_>>(),
        "any_suite"?: rule.any_suite.then_some(true),
    };
    document.into()
}

/// Why an attempt was not judged. Nothing was stored, and nothing is accepted.
#[derive(Debug, thiserror::Error)]
pub enum AcceptError {
    /// The step has no contract that could be judged by.
    #[error("judge step `{step}`: {error}")]
    Contract { step: String, error: ContractError },
    /// The response cannot be judged at all.
    #[error("read the response: {0}")]
    Response(ResponseError),
    /// The trace is damaged or of no known form.
    #[error("read the trace: {0}")]
    Trace(#[from] TraceError),
    /// The step needs calls, and the attempt has no trace.
    #[error("judge step `{0}`: it needs recorded tool calls, and no trace was given")]
    NoTrace(String),
    /// The step reads a fact of the context that the attempt does not have, or has as another type.
    #[error("judge step `{step}`: it reads `context.{name}`, which was not given as the workflow declares it")]
    NoContext { step: String, name: String },
    /// The run is not at the step, and the caller asked for the order of the workflow.
    #[error("judge step `{step}` in run `{run}`: no step that leads to it was accepted in this run")]
    OutOfOrder { step: String, run: String },
    /// Presented receipts cannot be read.
    #[error(transparent)]
    Presented(#[from] PresentedError),
    /// The caller no longer waits for it.
    #[error("judge step `{0}`: the caller no longer waited for it, so nothing was stored")]
    Stopped(String),
    /// The attempt does not fit the state of the run.
    #[error("judge attempt of step `{step}` in run `{run}`: {refusal}")]
    Refused { run: String, step: String, refusal: TransitionError },
    /// The run is another's.
    #[error("judge an attempt in run `{run}`: `{begun_by}` began it")]
    OfAnother {
        run: String,
        /// Who began it; empty where it was not recorded.
        begun_by: String,
    },
    /// The sender named began no such run.
    #[error("judge an attempt in run `{run}`: `{begun_by}` began no run of that name")]
    NotBegun { run: String, begun_by: String },
    /// An invalid name of a run.
    #[error("use `{}` as the name of a run", shown(.0))]
    RunName(String),
    /// A step is reopened by people whom the workflow or its policy lists.
    #[error("reopen step `{step}`: the key is of nobody whom the workflow or its policy lists as a reviewer")]
    NotAReviewer {
        step: String,
        /// The names of those who are listed.
        listed: Vec<String>,
    },
    /// The note is empty or too long.
    #[error("reopen a step: the note is empty or has more than {0} bytes")]
    Note(usize),
    /// The stored state of a step is not what its last receipt says.
    #[error(
        "read step `{step}` of run `{run}`: its stored state is not that of its last receipt, or the receipt is not valid"
    )]
    OtherState { run: String, step: String },
    /// The stored state of the run cannot be read.
    #[error("read the state of run `{run}`: {error}")]
    State { run: String, error: StoredStateError },
    /// The receipt cannot be signed.
    #[error("sign the receipt of the judgment: {0}")]
    Sign(#[from] SignError),
    /// The store refused, or failed.
    #[error(transparent)]
    Store(StoreError),
    /// The system gave no randomness.
    #[error("draw an id ({0})")]
    Randomness(#[from] getrandom::Error),
}

/// Why a stored state cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum StoredStateError {
    #[error(transparent)]
    Json(#[from] JsonError),
    #[error(transparent)]
    State(#[from] StateError),
}

impl AcceptError {
    /// What to do about it.
    #[must_use]
    pub fn help(&self) -> Option<String> {
        Some(match self {
            Self::Presented(error) => return error.help(),
            Self::Store(error) => return error.help(),
            Self::Stopped(_) => "send it again".to_owned(),
            Self::OfAnother { .. } => {
                "send the attempt with the key that began the run or with an `admin` key, or choose another name for the run"
                    .to_owned()
            }
            Self::NotBegun { .. } => "name who began it, or begin a run of your own".to_owned(),
            Self::RunName(_) => format!("write 1 to {MAX_RUN_NAME} letters, digits, `-`, `_`, `.`, `:`"),
            Self::Contract { error, .. } => return error.help(),
            Self::Response(error) => return error.help(),
            Self::Trace(error) => return error.help(),
            Self::Sign(error) => return error.help(),
            Self::NoTrace(_) => "give the recorded calls as `trace`; an empty list states that none was made".to_owned(),
            Self::NoContext { name, .. } => format!("give `{name}` in `context`"),
            Self::OutOfOrder { .. } => "have the step before it accepted first, in the same run".to_owned(),
            Self::Refused { refusal, .. } => refusal.help(),
            Self::NotAReviewer { listed, .. } if listed.is_empty() => {
                "list who may reopen steps under `reviewers`, as `{name: ann, key: KEY, roles: [owner]}`".to_owned()
            }
            Self::NotAReviewer { listed, .. } => format!("it takes the key of {}", listed.join(" or ")),
            Self::Note(_) => "say why".to_owned(),
            Self::OtherState { .. } => "verify the store with `proofmark store check`".to_owned(),
            Self::State { .. } | Self::Randomness(_) => return None,
        })
    }
}

impl From<StoreError> for AcceptError {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::Sign(error) => Self::Sign(error),
            error => Self::Store(error),
        }
    }
}

impl From<IssueError> for AcceptError {
    fn from(error: IssueError) -> Self {
        match error {
            IssueError::Sign(error) => Self::Sign(error),
            IssueError::Store(error) => Self::Store(error),
            // A head of a chain is not signed here, and chains of steps are ours.
            IssueError::NoChain(chain) | IssueError::Reserved(chain) => Self::Store(StoreError::ChainName(chain)),
        }
    }
}

/// Judges an attempt. Its receipt, the new state of its run and what it spends are on disk together when it returns; of two
/// attempts that race, one is refused.
///
/// # Errors
/// [`AcceptError`]; the run is then where it was.
pub fn accept(attempt: &Attempt<'_>, issuer: &Issuer) -> Result<Acceptance, AcceptError> {
    // The store's clock, so that what had expired stays expired if the system's clock was set back.
    let now = issuer.store().map_or_else(|| Ok(clock::now()), clock::now_in)?;
    let store = issuer.store().map(|store| store.of(attempt.sender.tenant));
    let store = store.as_ref();
    let contract = Contract::of(attempt.workflow, attempt.step, attempt.policy, now.unix_millis())
        .map_err(|error| AcceptError::Contract { step: attempt.step.to_owned(), error })?;
    let payload = response::extract(attempt.response);
    // Other errors of the response are the agent's: they are judged, and cost it an attempt.
    if let Err(error) = &payload
        && error.is_bad_input()
    {
        return Err(AcceptError::Response(error.clone()));
    }
    let trace = attempt.trace.map(trace::read).transpose()?;
    let receipts = receipts(attempt, store, &outputs_wanted(&contract, &payload))?;
    let run = run_name(attempt.run)?;
    let begun_by = begun_by(attempt, &run, store)?;
    let position = Position::load(store, begun_by, &run, attempt)?;
    let step = Step { attempt, run: &run, now: &now };
    let out_of_order = !is_in_order(attempt, store, begun_by, &run)?;
    if out_of_order && attempt.in_order {
        return Err(AcceptError::OutOfOrder { step: attempt.step.to_owned(), run });
    }
    let number = attempt.number.unwrap_or_else(|| position.state.attempt());
    // Never stored: a process that dies while it judges leaves the run where it was.
    let evaluating = step.apply(&position.state, number, |number, now_ms| Event::Submitted {
        attempt: number,
        contract: contract.digest(),
        now_ms,
    })?;
    let evidence = AttemptEvidence {
        payload: &payload,
        trace: trace.as_ref(),
        receipts: &receipts,
        now: &now,
        context: attempt.context,
    };
    let stopped = || attempt.stop.load(Ordering::Relaxed);
    let judgment = evaluate_until(&contract, &evidence, &stopped);
    // What takes few steps is judged before it is asked whether to stop.
    let judgment = judgment.ok().filter(|_| !stopped()).ok_or_else(|| AcceptError::Stopped(attempt.step.to_owned()))?;
    if attempt.purpose != Purpose::Test {
        let step = || attempt.step.to_owned();
        match not_given(attempt.workflow, &judgment, &evidence) {
            None => {}
            Some(NotGiven::Trace) => return Err(AcceptError::NoTrace(step())),
            Some(NotGiven::Context(name)) => return Err(AcceptError::NoContext { step: step(), name }),
        }
    }
    let plan = RetryPlan::of(&contract, &judgment, seed(&run, attempt.step));
    let outcome = judgment.outcome;
    let state = step.apply(&evaluating, number, |attempt, now_ms| Event::Judged { attempt, outcome, plan, now_ms })?;
    let next = next_step(attempt.workflow, attempt.step, &state, &evidence);
    let judged = JudgedAttempt {
        contract: &contract,
        judgment: &judgment,
        state: &state,
        run: &run,
        attempt: number,
        response: attempt.response,
        trace: trace.as_ref(),
        out_of_order,
        next: next.as_ref(),
    };
    let receipt = match attempt.purpose {
        Purpose::Attempt => Some(step.issue(&judged, begun_by, position.version, issuer)?),
        Purpose::DryRun | Purpose::Test => None,
    };
    let trace = trace.as_ref().map(Trace::summary);
    Ok(Acceptance { run, attempt: number, state, judgment, receipt, trace, judged_at: now, next, out_of_order })
}

/// Whether the run may be at the step. Without a store there is no run.
fn is_in_order(
    attempt: &Attempt<'_>,
    store: Option<&TenantStore<'_>>,
    begun_by: &str,
    run: &str,
) -> Result<bool, AcceptError> {
    let Some(store) = store else { return Ok(true) };
    proofmark_contract::is_in_order(attempt.workflow, attempt.step, |step| {
        let Some(stored) = stored_step(store, begun_by, run, step)? else { return Ok(None) };
        stored.of(attempt.workflow, run, step)?;
        Ok(Some(stored.state))
    })
}

/// What the parts of judging one attempt have in common.
struct Step<'a> {
    attempt: &'a Attempt<'a>,
    run: &'a str,
    now: &'a Timestamp,
}

impl Step<'_> {
    /// The state after an event of the attempt with this number.
    fn apply(&self, state: &State, number: u32, event: impl FnOnce(u32, i64) -> Event) -> Result<State, AcceptError> {
        let refused =
            |refusal| AcceptError::Refused { run: self.run.to_owned(), step: self.attempt.step.to_owned(), refusal };
        state.apply(&event(number, self.now.unix_millis())).map_err(refused)
    }

    /// Issues the receipt of a judgment, with the state that it leads to and what it spends.
    fn issue(
        &self,
        judged: &JudgedAttempt<'_>,
        begun_by: &str,
        version: u64,
        issuer: &Issuer,
    ) -> Result<Receipt, AcceptError> {
        let mut parts = judgment::draft_parts(judged);
        parts.metadata.insert("verifier", VERIFIER);
        let draft = Draft {
            receipt_id: clock::receipt_id()?,
            verified_at: self.now.clone(),
            tier: TIER,
            verdict: parts.verdict,
            task: Some(parts.task),
            results: parts.results,
            hashes: parts.hashes,
            metadata: parts.metadata,
        };
        let run = StepRun {
            run: self.run.to_owned(),
            begun_by: begun_by.to_owned(),
            step: self.attempt.step.to_owned(),
            // The store refuses it unless the stored version is still the one that was judged on.
            version: version.saturating_add(1),
            state: judged.state.to_json().to_text(),
        };
        let accepted = matches!(judged.state, State::Accepted { .. } | State::AcceptedWithWarnings { .. });
        // What accepts nothing spends nothing, so that the same receipts can count for the next attempt.
        let documents = if accepted { spends(judged.judgment) } else { Vec::new() };
        let spends = Spends { documents, by: format!("{}/{}", self.run, self.attempt.step) };
        let to = Destination {
            tenant: self.attempt.sender.tenant,
            chain: Some(chain_name(begun_by, self.run, self.attempt.step)),
            request: None,
            supersedes: None,
            with: vec![run.into(), spends.into()],
        };
        Ok(issuer.issue(draft, to)?.wait()?)
    }
}

/// The stored state of a step in a run.
///
/// # Errors
/// [`AcceptError::State`] when what is stored is not a state.
fn stored_state(run: &StepRun) -> Result<State, AcceptError> {
    let state = Json::parse(run.state.as_bytes()).map_err(Into::into).and_then(|state| Ok(State::from_json(&state)?));
    state.map_err(|error| AcceptError::State { run: run.run.clone(), error })
}

/// The chain that the receipts of a step form, in the run that `begun_by` began. No two steps have chains of one name: no run
/// and no step of a server has a slash in its name, and the command line begins all its runs as `local`.
#[must_use]
pub fn chain_name(begun_by: &str, run: &str, step: &str) -> String {
    let chain = format!("{STEP_CHAINS}{run}/{step}");
    if begun_by == Sender::LOCAL.id { chain } else { format!("{chain}/{begun_by}") }
}

/// Who began the run that an attempt belongs to. An agent neither continues a run of another nor begins one under a name that
/// another uses; a sender that orchestrates may do both, and its own run is not the agent's.
fn begun_by<'a>(attempt: &Attempt<'a>, run: &str, store: Option<&TenantStore<'_>>) -> Result<&'a str, AcceptError> {
    let sender = attempt.sender;
    let begun_by = attempt.begun_by.unwrap_or(sender.id);
    let Some(store) = store else { return Ok(begun_by) };
    let run = || run.to_owned();
    // Two senders that begin a run of one name at once get two runs: the store's key includes who began it.
    let (is_begun, other) = store.begun(&run(), begun_by)?;
    match (begun_by == sender.id, sender.orchestrates, is_begun, other) {
        (false, false, _, _) => Err(AcceptError::OfAnother { run: run(), begun_by: begun_by.to_owned() }),
        (false, true, false, _) => Err(AcceptError::NotBegun { run: run(), begun_by: begun_by.to_owned() }),
        (true, false, false, Some(other)) => Err(AcceptError::OfAnother { run: run(), begun_by: other }),
        (false, true, true, _) | (true, true, _, _) | (true, false, true, _) | (true, false, false, None) => {
            Ok(begun_by)
        }
    }
}

/// The documents that a judgment spends.
fn spends(judgment: &Judgment) -> Vec<Spend> {
    judgment.spends.iter().filter_map(presented::spend).collect()
}

/// Where a run is before the attempt.
struct Position {
    state: State,
    version: u64,
}

impl Position {
    fn load(
        store: Option<&TenantStore<'_>>,
        begun_by: &str,
        run: &str,
        attempt: &Attempt<'_>,
    ) -> Result<Self, AcceptError> {
        let stored = store.map(|store| stored_step(store, begun_by, run, attempt.step)).transpose()?.flatten();
        let Some(stored) = stored else { return Ok(Self { state: State::Pending, version: 0 }) };
        stored.of(attempt.workflow, run, attempt.step)?;
        Ok(Self { state: stored.state, version: stored.version })
    }
}

fn run_name(given: Option<&str>) -> Result<String, AcceptError> {
    let Some(name) = given else { return Ok(clock::receipt_id()?.to_string()) };
    // No slash: otherwise two steps could have chains of one name (`chain_name`).
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | ':');
    if !name.is_empty() && name.len() <= MAX_RUN_NAME && name.chars().all(plain) {
        Ok(name.to_owned())
    } else {
        Err(AcceptError::RunName(name.to_owned()))
    }
}

/// The receipts presented, and those of the store over the bytes that the rules ask for.
fn receipts(
    attempt: &Attempt<'_>,
    store: Option<&TenantStore<'_>>,
    outputs: &BTreeSet<String>,
) -> Result<proofmark_evidence::Evidence, AcceptError> {
    let mut facts = presented::facts(&attempt.presented.read()?, attempt.trusted, store)?;
    if let Some(store) = store {
        facts.extend(presented::stored(store, outputs, attempt.trusted)?);
    }
    Ok(proofmark_evidence::Evidence::new(facts))
}
