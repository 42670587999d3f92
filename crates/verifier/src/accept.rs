//! Accepts steps: judges a response by its contract, moves the run on, seals the judgment, all in one write.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use proofmark_contract::judgment::{self, JudgedAttempt, TIER};
use proofmark_contract::response::{self, ResponseError};
use proofmark_contract::{
    AttemptEvidence, Contract, ContractError, Event, Judgment, RetryPlan, RuleResult, State, StateError,
    TransitionError, Workflow, WorkflowPolicy, evaluate_until, outputs_wanted, seed,
};
use proofmark_evidence::trace::{self, TraceError};
use proofmark_receipt::{ChainTip, Draft, Json, Object, Receipt, SignError, SignerId, SigningKey, Timestamp};
use proofmark_store::{Bundle, NewReceipt, Spend, StepRun, Store, StoreError, Tenant, TenantStore};

use crate::clock;
use crate::decide;
use crate::presented::{self, PresentedError};
use crate::run::VERIFIER;

/// The longest name of a run, in bytes.
pub const MAX_RUN_NAME: usize = 80;

/// A response to be judged, and what it is judged by.
#[derive(Clone, Copy, Debug)]
pub struct Attempt<'a> {
    /// The workflow.
    pub workflow: &'a Workflow,
    /// The policy it must keep.
    pub policy: Option<&'a WorkflowPolicy>,
    /// The step.
    pub step: &'a str,
    /// Who sends it.
    pub sender: Sender<'a>,
    /// The run it belongs to; `None` for a run of its own.
    pub run: Option<&'a str>,
    /// Who began that run, where that is not the sender.
    pub begun_by: Option<&'a str>,
    /// Which attempt it is; `None` for the one that is awaited.
    pub number: Option<u32>,
    /// The agent's whole response.
    pub response: &'a [u8],
    /// What the orchestrator recorded.
    pub trace: Option<&'a [u8]>,
    /// What the orchestrator knows: predicates see it as `context`.
    pub context: Option<&'a Json>,
    /// A folder of receipts presented as evidence.
    pub receipts: Option<&'a Path>,
    /// Receipts presented as evidence, beside those of the folder.
    pub presented: &'a [Receipt],
    /// Whose receipts count as trusted.
    pub trusted: &'a [SignerId],
    /// Set when nobody waits for the judgment any more: it is not kept then.
    pub stop: &'a AtomicBool,
}

/// Who sends an attempt. A run belongs to the sender that began it, under its name.
#[derive(Clone, Copy, Debug)]
pub struct Sender<'a> {
    /// The tenant.
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

/// What came of an attempt.
#[derive(Clone, Debug)]
pub struct Acceptance {
    /// The run.
    pub run: String,
    /// The attempt, from 1.
    pub attempt: u32,
    /// Where the run is now.
    pub state: State,
    /// Every rule.
    pub judgment: Judgment,
    /// The receipt of the judgment.
    pub receipt: Receipt,
    /// What was read as the trace.
    pub trace: Option<String>,
}

impl Acceptance {
    /// What came of the attempt as a document: the state, every rule, what may be done next, and the receipt.
    #[must_use]
    pub fn to_json(&self) -> Json {
        let mut object = Object::new();
        object.insert("run", self.run.as_str());
        object.insert("state", self.state.as_str());
        object.insert("attempt", u64::from(self.attempt));
        object.insert("rules", self.judgment.rules.iter().map(rule).collect::<Vec<_>>());
        match &self.state {
            State::Retry(retry) => {
                object.insert("prompt", retry.prompt.as_str());
                object.insert("next_attempt", u64::from(retry.attempt));
                object.insert("not_before_ms", retry.not_before_ms);
            }
            State::Aborted { action, .. } => drop(object.insert("action", action.to_text())),
            State::Pending | State::Evaluating { .. } | State::Accepted { .. } | State::AcceptedWithWarnings { .. } => {
            }
        }
        if let Some(trace) = &self.trace {
            object.insert("trace", trace.as_str());
        }
        object.insert("receipt", self.receipt.document().clone());
        object.into()
    }
}

fn rule(rule: &RuleResult) -> Json {
    let mut object = Object::new();
    object.insert("id", rule.id.as_str());
    object.insert("kind", rule.kind.as_str());
    object.insert("outcome", rule.outcome.as_str());
    object.insert("status", rule.status.as_str());
    object.insert("rule", rule.rule.as_str());
    object.insert("message", rule.message.as_str());
    let missing = rule.missing.iter().map(|fact| Json::from(fact.path.as_str()));
    object.insert("missing", missing.collect::<Vec<_>>());
    if rule.any_suite {
        object.insert("any_suite", true);
    }
    object.into()
}

/// Why an attempt was not judged. Nothing was kept, and nothing is accepted.
#[derive(Debug, thiserror::Error)]
pub enum AcceptError {
    /// The step has no contract that could be judged by.
    #[error("judge step `{step}`: {error}")]
    Contract {
        /// The step.
        step: String,
        /// What is wrong.
        error: ContractError,
    },
    /// The response cannot be judged at all.
    #[error("read the response: {0}")]
    Response(ResponseError),
    /// The trace is damaged or of no known form.
    #[error("read the trace: {0}")]
    Trace(#[from] TraceError),
    /// Presented receipts cannot be read.
    #[error(transparent)]
    Presented(#[from] PresentedError),
    /// Nobody waits for it any more.
    #[error("judge step `{0}`: nobody waited for it any more, so nothing was kept; send it again")]
    Stopped(String),
    /// The attempt does not fit the state of the run.
    #[error("judge attempt of step `{step}` in run `{run}`: {refusal}")]
    Refused {
        /// The run.
        run: String,
        /// The step.
        step: String,
        /// Why.
        refusal: TransitionError,
    },
    /// The run is another's.
    #[error(
        "judge an attempt in run `{run}`: `{begun_by}` began it; send the attempt with the key that began the run or with \
         an `admin` key, or choose another name for the run"
    )]
    OfAnother {
        /// The run.
        run: String,
        /// Who began it; empty where nobody recorded it.
        begun_by: String,
    },
    /// The sender named began no such run.
    #[error(
        "judge an attempt in run `{run}`: `{begun_by}` began none of that name; name who did, or begin one of your own"
    )]
    NotBegun {
        /// The run.
        run: String,
        /// Who is named.
        begun_by: String,
    },
    /// The run has a name that cannot be used.
    #[error("use `{0}` as the name of a run: write 1 to {MAX_RUN_NAME} letters, digits, `-`, `_`, `.`, `:`")]
    RunName(String),
    /// What the store holds is no state.
    #[error("read the state of run `{run}`: {error}")]
    State {
        /// The run.
        run: String,
        /// What is wrong.
        error: StateError,
    },
    /// The receipt cannot be signed.
    #[error("sign the receipt of the judgment: {0}")]
    Sign(#[from] SignError),
    /// The store refused.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The system gave no randomness.
    #[error("draw an id ({0})")]
    Randomness(#[from] getrandom::Error),
}

/// Judges an attempt. Its receipt and the new state of its run are on disk together when it returns; of two attempts that
/// race, one is refused.
///
/// # Errors
/// [`AcceptError`]; the run is then where it was.
pub fn accept(
    attempt: &Attempt<'_>,
    key: Option<&SigningKey>,
    store: Option<&Store>,
) -> Result<Acceptance, AcceptError> {
    let now = store.map_or_else(|| Ok(clock::now()), clock::now_in)?;
    let now_ms = now.unix_millis();
    let store = store.map(|store| store.of(attempt.sender.tenant));
    let store = store.as_ref();
    let contract = Contract::of(attempt.workflow, attempt.step, attempt.policy, now_ms)
        .map_err(|error| AcceptError::Contract { step: attempt.step.to_owned(), error })?;
    let payload = response::extract(attempt.response);
    if let Err(error) = &payload
        && error.is_bad_input()
    {
        return Err(AcceptError::Response(error.clone()));
    }
    let trace = attempt.trace.map(trace::read).transpose()?;
    let receipts = receipts(attempt, store, &outputs_wanted(&contract, &payload))?;
    let run = run_name(attempt.run)?;
    let begun_by = begun_by(attempt, &run, store)?;
    let kept = Kept::load(store, begun_by, &run, attempt.step)?;

    let number = attempt.number.unwrap_or_else(|| kept.state.attempt());
    let refused = |refusal| AcceptError::Refused { run: run.clone(), step: attempt.step.to_owned(), refusal };
    let submitted = Event::Submitted { attempt: number, contract: contract.digest(), now_ms };
    let evaluating = kept.state.apply(&submitted).map_err(refused)?;
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
    let plan = RetryPlan::of(&contract, &judgment, seed(&run, attempt.step));
    let judged = Event::Judged { attempt: number, outcome: judgment.outcome, plan, now_ms };
    let state = evaluating.apply(&judged).map_err(refused)?;

    let told = JudgedAttempt {
        contract: &contract,
        judgment: &judgment,
        state: &state,
        run: &run,
        attempt: number,
        response: attempt.response,
        trace: trace.as_ref(),
    };
    let receipt = seal(&told, &now, kept.tip.as_ref(), key)?;
    if let Some(store) = store {
        let accepted = matches!(state, State::Accepted { .. } | State::AcceptedWithWarnings { .. });
        store
            .submit_bundle(Bundle {
                receipt: Some(NewReceipt {
                    chain: Some(chain_name(begun_by, &run, attempt.step)),
                    ..NewReceipt::of(receipt.clone())
                }),
                run: Some(StepRun {
                    run: run.clone(),
                    begun_by: begun_by.to_owned(),
                    step: attempt.step.to_owned(),
                    version: kept.version + 1,
                    state: state.to_json().to_text(),
                }),
                spends: if accepted { spends(&judgment) } else { Vec::new() },
                spent_by: format!("{run}/{}", attempt.step),
                at: now_ms,
                ..Bundle::default()
            })
            .wait()?;
    }
    Ok(Acceptance { run, attempt: number, state, judgment, receipt, trace: trace.map(|trace| trace.summary()) })
}

/// The state of a step in a run, as it was kept.
///
/// # Errors
/// [`AcceptError::State`] when what is kept is no state.
pub fn kept_state(run: &StepRun) -> Result<State, AcceptError> {
    let json = Json::parse(run.state.as_bytes()).unwrap_or(Json::Null);
    State::from_json(&json).map_err(|error| AcceptError::State { run: run.run.clone(), error })
}

/// A step of a run, as it is kept.
#[derive(Clone, Debug)]
pub struct StoredStep {
    /// Where it is.
    pub state: State,
    /// The receipts of its attempts, first to last.
    pub receipts: Vec<Receipt>,
}

/// A step of the run that `begun_by` began under this name.
///
/// # Errors
/// [`AcceptError::State`] when what is kept is no state, and whatever keeps the store from being read.
pub fn kept_step(
    store: &TenantStore<'_>,
    begun_by: &str,
    run: &str,
    step: &str,
) -> Result<Option<StoredStep>, AcceptError> {
    let run = run_name(Some(run))?;
    let Some(kept) = store.step_run(begun_by, &run, step)? else { return Ok(None) };
    Ok(Some(StoredStep { state: kept_state(&kept)?, receipts: store.chain(&chain_name(begun_by, &run, step))? }))
}

/// How the names of chains of steps begin; no other chain may be called so.
pub(crate) const STEP_CHAINS: &str = "run/";

/// The chain that the receipts of a step form, in the run that `begun_by` began. No run and no step of a server has a slash
/// in its name, and on the command line everything is begun by `local`: the name says which step it is of.
#[must_use]
pub fn chain_name(begun_by: &str, run: &str, step: &str) -> String {
    let chain = format!("{STEP_CHAINS}{run}/{step}");
    if begun_by == Sender::LOCAL.id { chain } else { format!("{chain}/{begun_by}") }
}

/// Who began the run that an attempt belongs to. An agent neither goes on with a run of another nor begins one under a name
/// that another uses; who orchestrates does either, and its own run is not the agent's.
fn begun_by<'a>(attempt: &Attempt<'a>, run: &str, store: Option<&TenantStore<'_>>) -> Result<&'a str, AcceptError> {
    let sender = attempt.sender;
    let begun_by = attempt.begun_by.unwrap_or(sender.id);
    let Some(store) = store else { return Ok(begun_by) };
    let run = || run.to_owned();
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

/// The documents that a judgment uses up.
fn spends(judgment: &Judgment) -> Vec<Spend> {
    judgment.spends.iter().filter_map(decide::spend).collect()
}

/// Where a run was.
struct Kept {
    state: State,
    version: u64,
    tip: Option<ChainTip>,
}

impl Kept {
    fn load(store: Option<&TenantStore<'_>>, begun_by: &str, run: &str, step: &str) -> Result<Kept, AcceptError> {
        let Some(store) = store else { return Ok(Kept { state: State::Pending, version: 0, tip: None }) };
        let tip = store.tip(&chain_name(begun_by, run, step))?;
        match store.step_run(begun_by, run, step)? {
            None => Ok(Kept { state: State::Pending, version: 0, tip }),
            Some(kept) => Ok(Kept { state: kept_state(&kept)?, version: kept.version, tip }),
        }
    }
}

fn run_name(given: Option<&str>) -> Result<String, AcceptError> {
    let Some(name) = given else { return Ok(clock::receipt_id()?.to_string()) };
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | ':');
    match !name.is_empty() && name.len() <= MAX_RUN_NAME && name.chars().all(plain) {
        true => Ok(name.to_owned()),
        false => Err(AcceptError::RunName(name.chars().take(MAX_RUN_NAME).collect())),
    }
}

/// The receipts presented, and those of the store over the bytes the rules ask for.
fn receipts(
    attempt: &Attempt<'_>,
    store: Option<&TenantStore<'_>>,
    outputs: &BTreeSet<String>,
) -> Result<proofmark_evidence::Evidence, AcceptError> {
    let mut presented = match attempt.receipts {
        Some(folder) => presented::receipts(folder)?,
        None => Vec::new(),
    };
    presented.extend_from_slice(attempt.presented);
    let mut facts = presented::facts(&presented, attempt.trusted, store)?;
    if let Some(store) = store {
        facts.extend(presented::kept(store, outputs, attempt.trusted)?);
    }
    Ok(proofmark_evidence::Evidence::new(facts))
}

fn seal(
    told: &JudgedAttempt<'_>,
    now: &Timestamp,
    tip: Option<&ChainTip>,
    key: Option<&SigningKey>,
) -> Result<Receipt, AcceptError> {
    let mut parts = judgment::draft_parts(told);
    parts.metadata.insert("verifier", VERIFIER);
    let mut draft = Draft {
        receipt_id: clock::receipt_id()?,
        verified_at: now.clone(),
        tier: TIER,
        verdict: parts.verdict,
        task: Some(parts.task),
        results: parts.results,
        hashes: parts.hashes,
        metadata: parts.metadata,
    };
    draft.link(tip);
    Ok(match key {
        Some(key) => draft.sign(key)?,
        None => draft.unsigned()?,
    })
}
