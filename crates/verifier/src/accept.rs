//! Accepts steps: judges a response by its contract, moves the run on, seals the judgment, all in one write.

use std::collections::BTreeSet;
use std::path::Path;

use proofmark_contract::judgment::{self, Judged, TIER};
use proofmark_contract::response::{self, ResponseError};
use proofmark_contract::{
    Contract, ContractError, Event, Evidence, Judgment, Plan, Policy, Refusal, RuleResult, State, StateError, Workflow,
    evaluate, outputs_wanted, seed,
};
use proofmark_evidence::trace::{self, TraceError};
use proofmark_receipt::{
    ChainTip, Draft, Json, Object, Receipt, ReceiptId, SignError, SignerId, SigningKey, Timestamp,
};
use proofmark_store::{Bundle, NewReceipt, StepRun, Store, StoreError};

use crate::clock;
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
    pub policy: Option<&'a Policy>,
    /// The step.
    pub step: &'a str,
    /// Whose run it is; empty where tenants are not told apart.
    pub tenant: &'a str,
    /// The run it belongs to; `None` for a run of its own.
    pub run: Option<&'a str>,
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
}

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
    /// The response can not be judged at all.
    #[error("read the response: {0}")]
    Response(ResponseError),
    /// The trace is damaged or of no known form.
    #[error("read the trace: {0}")]
    Trace(#[from] TraceError),
    /// Presented receipts can not be read.
    #[error(transparent)]
    Presented(#[from] PresentedError),
    /// The attempt does not fit the state of the run.
    #[error("judge attempt of step `{step}` in run `{run}`: {refusal}")]
    Refused {
        /// The run.
        run: String,
        /// The step.
        step: String,
        /// Why.
        refusal: Refusal,
    },
    /// A receipt that is not whoever presents it says it is.
    #[error("present the receipt `{0}`: another one with this id is kept; present the one that was issued to you")]
    Foreign(ReceiptId),
    /// The run has a name that can not be used.
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
    /// The receipt can not be signed.
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
    let now = clock::now();
    let now_ms = now.unix_millis();
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
    let of_tenant = tenants_run(attempt.tenant, &run);
    let kept = Kept::load(store, &of_tenant, attempt.step)?;

    let number = attempt.number.unwrap_or_else(|| kept.state.attempt());
    let refused = |refusal| AcceptError::Refused { run: run.clone(), step: attempt.step.to_owned(), refusal };
    let submitted = Event::Submitted { attempt: number, contract: contract.digest(), now_ms };
    let evaluating = kept.state.apply(&submitted).map_err(refused)?;
    let evidence =
        Evidence { payload: &payload, trace: trace.as_ref(), receipts: &receipts, now: &now, context: attempt.context };
    let judgment = evaluate(&contract, &evidence);
    let plan = Plan::of(&contract, &judgment, seed(&run, attempt.step));
    let judged = Event::Judged { attempt: number, decision: judgment.decision, plan, now_ms };
    let state = evaluating.apply(&judged).map_err(refused)?;

    let told = Judged {
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
                    chain: Some(chain_name(&of_tenant, attempt.step)),
                    tenant: attempt.tenant.to_owned(),
                    ..NewReceipt::of(receipt.clone())
                }),
                run: Some(StepRun {
                    run: of_tenant.clone(),
                    step: attempt.step.to_owned(),
                    version: kept.version + 1,
                    state: state.to_json().to_text(),
                }),
                spends: if accepted { spent(&judgment) } else { Vec::new() },
                spent_by: format!("{of_tenant}/{}", attempt.step),
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
pub struct KeptStep {
    /// Where it is.
    pub state: State,
    /// The receipts of its attempts, first to last.
    pub receipts: Vec<Receipt>,
}

/// A step of a tenant's run.
///
/// # Errors
/// [`AcceptError::State`] when what is kept is no state, and whatever keeps the store from being read.
pub fn kept_step(store: &Store, tenant: &str, run: &str, step: &str) -> Result<Option<KeptStep>, AcceptError> {
    let run = tenants_run(tenant, &run_name(Some(run))?);
    let Some(kept) = store.step_run(&run, step)? else { return Ok(None) };
    Ok(Some(KeptStep { state: kept_state(&kept)?, receipts: store.chain(&chain_name(&run, step))? }))
}

/// Runs of different tenants are different, whatever their names: no name of a run has a slash.
fn tenants_run(tenant: &str, run: &str) -> String {
    if tenant.is_empty() { run.to_owned() } else { format!("{tenant}/{run}") }
}

/// The chain that the receipts of a step's run form.
pub fn chain_name(run: &str, step: &str) -> String {
    format!("run/{run}/{step}")
}

/// Where a run was.
struct Kept {
    state: State,
    version: u64,
    tip: Option<ChainTip>,
}

impl Kept {
    fn load(store: Option<&Store>, run: &str, step: &str) -> Result<Kept, AcceptError> {
        let Some(store) = store else { return Ok(Kept { state: State::Pending, version: 0, tip: None }) };
        let tip = store.tip(&chain_name(run, step))?;
        match store.step_run(run, step)? {
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
    store: Option<&Store>,
    outputs: &BTreeSet<String>,
) -> Result<proofmark_evidence::Evidence, AcceptError> {
    let mut presented = match attempt.receipts {
        Some(folder) => presented::receipts(folder)?,
        None => Vec::new(),
    };
    presented.extend_from_slice(attempt.presented);
    let mut facts = Vec::new();
    for receipt in &presented {
        store.map_or(Ok(()), |store| own(receipt, attempt, store))?;
        facts.push(presented::fact(receipt, attempt.trusted, store)?);
    }
    if let Some(store) = store {
        let tenant = Some(attempt.tenant).filter(|tenant| !tenant.is_empty());
        facts.extend(presented::kept(store, tenant, outputs, attempt.trusted)?);
    }
    Ok(proofmark_evidence::Evidence::new(facts))
}

/// The ids of the receipts a judgment uses up.
fn spent(judgment: &Judgment) -> Vec<ReceiptId> {
    judgment.spends.iter().filter_map(|spend| spend.receipt_id.parse().ok()).collect()
}

/// Receipts are spent by their ids: one that is presented must not be another's, nor another one under its id.
fn own(receipt: &Receipt, attempt: &Attempt<'_>, store: &Store) -> Result<(), AcceptError> {
    let id = receipt.receipt_id();
    let Some(kept) = store.kept_receipt(&id)? else { return Ok(()) };
    let ours = kept.tenant.is_empty() || kept.tenant == attempt.tenant;
    if ours && kept.receipt.hash() == receipt.hash() { Ok(()) } else { Err(AcceptError::Foreign(id)) }
}

fn seal(
    told: &Judged<'_>,
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
