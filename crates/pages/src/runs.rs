//! `/ui/runs`: runs of workflows, their steps, and the attempts at each.

use askama::Template;
use proofmark_contract::State;
use proofmark_contract::reopening::reopened;
use proofmark_receipt::Receipt;
use proofmark_server::problem::Problem;
use proofmark_server::reply::Reply;
use proofmark_store::{Cursor, ListedStep, StepRun, StoreError, TenantStore};
use proofmark_verifier::{AcceptError, StepSigners, chain_name, signed_state};

use super::frame::{Frame, Here};
use super::html::html;
use super::receipts::{Look, look};
use super::text::{Coded, Shown};
use super::visit::Visit;
use super::words::{When, address, encoded};

/// How many runs a page has.
const PAGE: usize = 50;
/// What a key has signed that may not: no verdict of it counts.
const UNTRUSTED: Look = ("fail", "warn", "signed by a key that is not trusted");
/// The most attempts at a step that are shown: the last ones.
const MAX_ATTEMPTS: usize = 20;

#[derive(Template)]
#[template(path = "runs.html")]
struct RunsPage {
    frame: Frame,
    runs: Vec<RunRow>,
    next: Option<String>,
}

struct RunRow {
    name: Shown,
    href: String,
    begun_by: Shown,
    changed: When,
    steps: Vec<(Shown, Look)>,
}

#[derive(Template)]
#[template(path = "run.html")]
struct RunPage {
    frame: Frame,
    name: Shown,
    workflow: Option<Shown>,
    begun_by: Shown,
    steps: Vec<StepRow>,
}

struct StepRow {
    name: Shown,
    look: Look,
    /// What follows, where another attempt is awaited.
    prompt: Option<Shown>,
    not_before: Option<When>,
    attempts: Vec<AttemptRow>,
    first: i64,
}

struct AttemptRow {
    /// Which attempt it is; or who reopened the step, and why.
    number: Shown,
    look: Look,
    href: String,
    when: When,
    /// The rules: how each went, its name, and why.
    rules: Vec<(Look, Shown, Option<Coded>)>,
}

/// `GET /ui/runs`.
pub(crate) fn list(visit: &Visit<'_>) -> Result<Reply, Problem> {
    visit.context.only(&["after"])?;
    let after = visit.context.parsed::<Cursor>("after", "the place at the end of the page before")?;
    let found = visit.context.store().runs(PAGE, after)?;
    let store = visit.context.store();
    let trusted = visit.context.decider.trusted();
    let signers = StepSigners::without_workflow(trusted.signers(), Some(visit.context.decider.key().signer()));
    let rows = found.runs.iter().map(|steps| RunRow::of(&store, steps, &signers));
    let runs = rows.collect::<Result<Vec<_>, StoreError>>()?.into_iter().flatten().collect();
    let next = found.next.map(|next| address("/ui/runs", &[("after", &next.to_string())]));
    html(&RunsPage { frame: Frame::of(visit, Here::Runs, "Runs")?, runs, next })
}

impl RunRow {
    fn of(
        store: &TenantStore<'_>,
        steps: &[ListedStep],
        signers: &StepSigners<'_>,
    ) -> Result<Option<Self>, StoreError> {
        let Some(ListedStep { step, changed_at, .. }) = steps.first() else { return Ok(None) };
        // The store lists the newest first, and people read steps in their order.
        let looks = steps.iter().rev().map(|ListedStep { step, .. }| {
            let receipts = store.chain(&chain_name(&step.begun_by, &step.run, &step.step))?;
            Ok((Shown::line(&step.step, 80), state_look(&signed_state(step, &receipts, signers))))
        });
        let steps = looks.collect::<Result<_, StoreError>>()?;
        Ok(Some(Self {
            name: Shown::line(&step.run, 120),
            // Two callers may have begun runs of one name; the address tells them apart.
            href: address(&format!("/ui/runs/{}", encoded(&step.run)), &[("begun_by", &step.begun_by)]),
            begun_by: Shown::line(&step.begun_by, 80),
            changed: When::full(*changed_at),
            steps,
        }))
    }
}

/// `GET /ui/runs/{run}?begun_by=`.
pub(crate) fn show(visit: &Visit<'_>) -> Result<Reply, Problem> {
    let context = &visit.context;
    context.only(&["begun_by"])?;
    let (store, run) = (context.store(), context.variable("run"));
    let of = context.parameter("begun_by");
    let found: Vec<_> =
        store.step_runs(run)?.into_iter().filter(|step| of.is_none_or(|by| step.begun_by == by)).collect();
    let Some(first) = found.first() else {
        return Err(Problem::not_found("run").help("it does not exist, or belongs to another tenant"));
    };
    // Without `begun_by` a name may mean several runs: the first is shown, and never steps of two together.
    let begun_by = first.begun_by.clone();
    let trusted = context.decider.trusted();
    let signers = StepSigners::without_workflow(trusted.signers(), Some(context.decider.key().signer()));
    let mut workflow = None;
    let mut steps = Vec::new();
    for step in found.iter().filter(|step| step.begun_by == begun_by) {
        let receipts = store.chain(&chain_name(&step.begun_by, &step.run, &step.step))?;
        // A step without attempts has no receipt that names the workflow.
        workflow = workflow.or_else(|| receipts.first()?.metadata().get("workflow")?.as_str().map(Shown::from));
        steps.push(StepRow::of(step, &receipts, &signers));
    }
    // In the order in which they were first judged.
    steps.sort_by_key(|step| step.first);
    let page = RunPage {
        frame: Frame::of(visit, Here::Runs, format!("Run {}", Shown::line(run, 80).plain()))?,
        name: Shown::line(run, 120),
        workflow,
        begun_by: Shown::line(&begun_by, 80),
        steps,
    };
    html(&page)
}

impl StepRow {
    fn of(step: &StepRun, receipts: &[Receipt], signers: &StepSigners<'_>) -> Self {
        let state = signed_state(step, receipts, signers);
        let look = state_look(&state);
        let (prompt, not_before) = match &state {
            Ok(State::Retry(retry)) => (Some(retry.prompt.as_str().into()), Some(When::full(retry.not_before_ms))),
            _ => (None, None),
        };
        // The last ones say where the step is now.
        let skipped = receipts.len().saturating_sub(MAX_ATTEMPTS);
        let attempts = receipts.iter().skip(skipped).map(|receipt| AttemptRow::of(receipt, signers.count(receipt)));
        Self {
            name: Shown::line(&step.step, 120),
            look,
            prompt,
            not_before,
            attempts: attempts.collect(),
            first: receipts.first().map(|receipt| receipt.verified_at().unix_millis()).unwrap_or_default(),
        }
    }
}

impl AttemptRow {
    fn of(receipt: &Receipt, is_trusted: bool) -> Self {
        let rules = receipt.results().details.iter().map(|detail| {
            let look = match detail.status {
                proofmark_receipt::Status::Pass => ("pass", "ok", "met"),
                proofmark_receipt::Status::Fail => ("fail", "no", "not met"),
                proofmark_receipt::Status::Error => ("none", "warn", "unknown"),
            };
            (look, Shown::line(&detail.name, 200), detail.message.as_deref().map(Shown::with_code))
        });
        let number = match reopened(receipt) {
            Some((reviewer, note)) => Shown::line(&format!("Reopened by {reviewer}: {note}"), 240),
            // Of one attempt there are several receipts where it waited for an approval.
            None => match receipt.metadata().get("attempt") {
                Some(number) => Shown::line(&format!("Attempt {}", number.to_text()), 40),
                None => "Attempt".into(),
            },
        };
        Self {
            number,
            look: if is_trusted { look(receipt.verdict()) } else { UNTRUSTED },
            href: format!("/ui/receipts/{}", receipt.receipt_id()),
            when: When::full(receipt.verified_at().unix_millis()),
            rules: rules.collect(),
        }
    }
}

/// The class, the picture and the word of a step's state.
fn state_look(state: &Result<State, AcceptError>) -> Look {
    match state {
        Ok(State::Accepted { .. }) => ("pass", "ok", "accepted"),
        Ok(State::AcceptedWithWarnings { .. }) => ("wait", "warn", "accepted with warnings"),
        Ok(State::AwaitingApproval { .. }) => ("wait", "clock", "waits for an approval"),
        Ok(State::Retry(_)) => ("wait", "clock", "another attempt is awaited"),
        Ok(State::Aborted { .. }) => ("fail", "no", "given up"),
        Ok(State::Evaluating { .. }) => ("plain", "clock", "being judged"),
        Ok(State::Pending) => ("plain", "ring", "not begun"),
        // The step is listed all the same: without it the run would look further than it is.
        Err(AcceptError::OtherSigner { .. }) => UNTRUSTED,
        Err(AcceptError::OtherState { .. }) => ("fail", "warn", "changed in the store"),
        Err(_) => ("fail", "stop", "cannot be read"),
    }
}

#[cfg(test)]
mod tests {
    use proofmark_evidence::Signers;

    use super::*;

    #[test]
    fn a_state_that_cannot_be_read_says_so() {
        let step = StepRun {
            run: "r".to_owned(),
            begun_by: "b".to_owned(),
            step: "s".to_owned(),
            version: 1,
            state: "{".to_owned(),
        };
        let trusted = Signers::default();
        let signers = StepSigners::without_workflow(&trusted, None);
        assert_eq!(state_look(&signed_state(&step, &[], &signers)).2, "cannot be read");
        let step = StepRun { state: State::Pending.to_json().to_text(), ..step };
        assert_eq!(state_look(&signed_state(&step, &[], &signers)).2, "changed in the store");
        let other = AcceptError::OtherSigner { run: step.run, step: step.step };
        assert_eq!(state_look(&Err(other)), UNTRUSTED);
    }
}
