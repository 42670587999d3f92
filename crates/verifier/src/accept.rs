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

use proofmark_boundary::{Asker, Separation};
use proofmark_contract::judgment::{self, JudgedAttempt, TIER};
use proofmark_contract::response;
use proofmark_contract::{
    AttemptEvidence, Contract, Event, Judgment, NextStep, NotGiven, RetryPlan, RuleResult, State, Workflow,
    WorkflowPolicy, evaluate_until, next_step, not_given, outputs_wanted, seed, sought,
};
use proofmark_evidence::trace::{self, Trace};
use proofmark_evidence::{LogPolicy, Signers, Sought};
use proofmark_receipt::{Draft, Json, Object, Receipt, Timestamp, object};
use proofmark_store::{Spends, StepRun, Tenant, TenantStore};

pub use step::{StepSigners, StoredStep, signed_state, stored_step};

use crate::accept_error::{AcceptError, MAX_RUN_NAME};
use crate::approval::{self, AskError, AskedAttempt, AwaitedApproval, StepApprovals, StepDecision};
use crate::clock;
use crate::issue::{Destination, Issuer, STEP_CHAINS, VERIFIER};
use crate::presented::{self, Presented, PresentedError, Proofs};

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
    pub trusted: &'a Signers,
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
    /// Who asks people for approvals, as decisions say it.
    pub asker: &'a Asker,
}

impl Sender<'static> {
    /// The user of the command line.
    pub const LOCAL: Self = Self { tenant: &LOCAL, id: "local", orchestrates: true, asker: &NOBODY_KNOWN };
}

static LOCAL: Tenant = Tenant::LOCAL;
static NOBODY_KNOWN: Asker = Asker { separation: Separation::None, account: None, policy: None, session: None };

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
    /// What a person has to decide before the attempt is accepted.
    pub awaits: Option<AwaitedApproval>,
}

impl Acceptance {
    /// The result as a document: the state, every rule, what may be done next, and the receipt. `next` is the step that
    /// follows, `null` where the workflow ends.
    #[must_use]
    pub fn to_json(&self) -> Json {
        let (retry, action) = match &self.state {
            State::Retry(retry) => (Some(retry), None),
            State::Aborted { action, .. } => (None, Some(action.to_text())),
            _ => (None, None),
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
            "awaits"?: self.awaits.as_ref().map(AwaitedApproval::to_json),
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

/// Judges an attempt. Its receipt, the new state of its run and what it spends are on disk together when it returns; of two
/// attempts that race, one is refused. `approvals` asks people, where the contract wants their approval; without it the attempt waits
/// and nobody is asked.
///
/// # Errors
/// [`AcceptError`]; the run is then where it was.
pub fn accept(
    attempt: &Attempt<'_>,
    issuer: &Issuer,
    approvals: Option<&dyn StepApprovals>,
) -> Result<Acceptance, AcceptError> {
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
    let logs = contract.log_policy.as_ref();
    let receipts =
        receipts(attempt, store, logs, (&outputs_wanted(&contract, &payload), &sought(&contract, &payload)))?;
    let run = run_name(attempt.run)?;
    let begun_by = begun_by(attempt, &run, store)?;
    let signers =
        StepSigners { accepting: attempt.trusted, own: issuer.signer(), reviewers: Some(&contract.roles.reviewers) };
    let position = Position::load(store, begun_by, &run, attempt.step, &signers)?;
    let last = position.last_if_waiting(store, begun_by, &run, attempt.step)?;
    if let (Some(last), Err(_)) = (&last, &payload) {
        // Agents go on talking while they wait, which costs no attempt.
        let (step, attempt) = (attempt.step.to_owned(), position.state.attempt());
        let awaited = AwaitedApproval::read(last).unwrap_or_default();
        return Err(AcceptError::Awaits { step, attempt, awaited });
    }
    let step = Step { attempt, run: &run, now: &now };
    let out_of_order = !is_in_order(attempt, store, begun_by, &run, &signers)?;
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
    let mut decision = None;
    let judgment = match &payload {
        Ok(payload) => {
            let asked = AskedAttempt {
                contract: &contract,
                run: &run,
                begun_by,
                number,
                result: &payload.json,
                trace: trace.as_ref(),
                context: attempt.context,
                asker: attempt.sender.asker,
                tenant: attempt.sender.tenant,
                presented: attempt.presented,
                trusted: attempt.trusted,
                stop: attempt.stop,
            };
            let failed = |error| step.not_asked(error);
            let (judgment, made) = approval::ask(&asked, judgment, approvals).map_err(failed)?;
            decision = made;
            judgment
        }
        Err(_) => judgment,
    };
    let plan = RetryPlan::of(&contract, &judgment, seed(&run, attempt.step));
    let outcome = judgment.outcome;
    let state = step.apply(&evaluating, number, |attempt, now_ms| Event::Judged { attempt, outcome, plan, now_ms })?;
    let next = next_step(attempt.workflow, attempt.step, &state, &evidence);
    let waits = matches!(state, State::AwaitingApproval { .. });
    // Asked again while the same decision waits: nothing has changed, and nothing is stored.
    let still = decision.as_ref().and_then(|decision| decision.waiting.clone()).filter(|_| waits);
    let still = still
        .filter(|id| last.as_ref().and_then(AwaitedApproval::read).and_then(|last| last.decision).as_ref() == Some(id));
    // What is only tried leaves no decision behind.
    let new = decision.as_ref().filter(|_| attempt.purpose == Purpose::Attempt);
    let decision_id = still.clone().or_else(|| Some(new?.decision_id.clone()));
    let awaits = waits.then(|| AwaitedApproval::of(&contract, decision_id.clone(), &judgment));
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
        decision: decision_id.as_deref(),
        awaits: awaits.as_ref().map_or(&[], |awaits| &awaits.roles),
    };
    let receipt = match (attempt.purpose, still) {
        (Purpose::Attempt, Some(_)) => last,
        (Purpose::Attempt, None) => Some(step.issue(&judged, decision, (begun_by, position.version), issuer)?),
        (Purpose::DryRun | Purpose::Test, _) => None,
    };
    let trace = trace.as_ref().map(Trace::summary);
    Ok(Acceptance { run, attempt: number, state, judgment, receipt, trace, judged_at: now, next, out_of_order, awaits })
}

/// Whether the run may be at the step. Without a store there is no run.
fn is_in_order(
    attempt: &Attempt<'_>,
    store: Option<&TenantStore<'_>>,
    begun_by: &str,
    run: &str,
    signers: &StepSigners<'_>,
) -> Result<bool, AcceptError> {
    let Some(store) = store else { return Ok(true) };
    proofmark_contract::is_in_order(attempt.workflow, attempt.step, |step| {
        let Some(stored) = stored_step(store, begun_by, run, step, signers)? else { return Ok(None) };
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

    /// Why nobody can be asked to approve it.
    fn not_asked(&self, error: AskError) -> AcceptError {
        let step = || self.attempt.step.to_owned();
        match error {
            AskError::Stopped => AcceptError::Stopped(step()),
            AskError::Store(error) => AcceptError::Store(error),
            AskError::Sign(error) => AcceptError::Sign(error),
            AskError::Presented(error) => AcceptError::Presented(error),
            AskError::Decision { message, help } => AcceptError::Ask { step: step(), message, help },
        }
    }

    /// Issues the receipt of a judgment, with the state that it leads to, the decision on its approval and what it spends.
    fn issue(
        &self,
        judged: &JudgedAttempt<'_>,
        decision: Option<StepDecision>,
        (begun_by, version): (&str, u64),
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
        let all = if accepted { &judged.judgment.spends[..] } else { &[] };
        let is_of = |decision: &StepDecision, spend| decision.spends.contains(spend);
        let (of_decision, of_run): (Vec<_>, Vec<_>) =
            all.iter().partition(|spend| decision.as_ref().is_some_and(|decision| is_of(decision, spend)));
        let spends = |of: Vec<_>, by| Spends { documents: of.into_iter().filter_map(presented::spend).collect(), by };
        let mut with = vec![run.into(), spends(of_run, format!("{}/{}", self.run, self.attempt.step)).into()];
        if let Some(decision) = decision {
            with.extend([spends(of_decision, decision.decision_id).into(), decision.write]);
        }
        let to = Destination {
            tenant: self.attempt.sender.tenant,
            chain: Some(chain_name(begun_by, self.run, self.attempt.step)),
            request: None,
            supersedes: None,
            with,
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
        step: &str,
        signers: &StepSigners<'_>,
    ) -> Result<Self, AcceptError> {
        let stored = store.map(|store| stored_step(store, begun_by, run, step, signers)).transpose()?.flatten();
        let Some(stored) = stored else { return Ok(Self { state: State::Pending, version: 0 }) };
        Ok(Self { state: stored.state, version: stored.version })
    }

    /// The receipt of the attempt that waits for an approval.
    fn last_if_waiting(
        &self,
        store: Option<&TenantStore<'_>>,
        begun_by: &str,
        run: &str,
        step: &str,
    ) -> Result<Option<Receipt>, AcceptError> {
        let waits = matches!(self.state, State::AwaitingApproval { .. });
        let receipts =
            store.filter(|_| waits).map(|store| store.chain(&chain_name(begun_by, run, step))).transpose()?;
        Ok(receipts.and_then(|mut receipts| receipts.pop()))
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
    logs: Option<&LogPolicy>,
    (outputs, sought): (&BTreeSet<String>, &Sought),
) -> Result<proofmark_evidence::Evidence, AcceptError> {
    let documents = attempt.presented.read()?;
    let proofs = Proofs::new(logs, &documents.proofs);
    let mut facts = presented::facts(&documents.receipts, attempt.trusted, store, &proofs)?;
    if let Some(store) = store {
        facts.extend(presented::stored(store, outputs, sought, attempt.trusted, &proofs)?);
    }
    proofs.check_all_met().map_err(PresentedError::from)?;
    Ok(proofmark_evidence::Evidence::new(facts))
}
