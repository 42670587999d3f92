//! Runs held tests twice, each once with a wrong expectation, and says in the receipt what came of it.

use std::sync::Arc;

use proofmark_checks::{
    Caps, Checks, CounterCounts, CounterRun, End, Judgment, Language, NoCounterRun, Outcome, Request, TestFile,
};
use proofmark_mutation::read_tests;
use proofmark_receipt::{Object, object};
use proofmark_sandbox::{Watch, Worker};

use super::{RunError, is_cancelled};

/// The counter-run of a command, or why it has none; `None` for what is no command.
pub(super) fn plan(request: &Request) -> Result<Option<Result<CounterRun, NoCounterRun>>, RunError> {
    if !matches!(request.checks, Checks::Command(_)) {
        return Ok(None);
    }
    let mut secret = [0; 32];
    getrandom::fill(&mut secret)?;
    Ok(request.counter_run(secret, &read))
}

/// The tests of a text. One that cannot be read is run as it is.
fn read(text: &str, language: Language) -> Option<TestFile> {
    read_tests(text, language).ok().flatten()
}

/// Whether the request refuses a verdict without a counter-run.
pub(super) fn is_required(request: &Request) -> bool {
    matches!(&request.checks, Checks::Command(command) if command.counter_run.asked == Some(true))
}

/// Runs both, each in a fresh cell, and judges them. The outcome is that of the run which says how the sandbox was.
pub(super) fn judge(
    worker: &mut Worker,
    caps: &Caps,
    request: &Request,
    counter: &CounterRun,
    watch: &Watch<'_>,
) -> Result<(Judgment, Option<Outcome>), RunError> {
    let [first, second] = request.plan_counter(counter, caps)?.map(Arc::new);
    let one = worker.run_watched(&first, watch);
    // What cannot run once cannot run twice, and a run without an end costs its whole time.
    let has_ended = one.cases.iter().all(|case| matches!(case.end, End::Ran { .. }));
    let other = has_ended.then(|| worker.run_watched(&second, &Watch { ran: &|_| {}, ..*watch }));
    if is_cancelled(watch) {
        return Err(RunError::Stopped);
    }
    Ok((request.judge_counter(counter, [Some(&one), other.as_ref()]), Some(one)))
}

/// Says what the counter-run came to, or why there was none.
pub(super) fn describe(metadata: &mut Object, judgment: &Judgment, counter: Option<&Result<CounterRun, NoCounterRun>>) {
    let described = match (judgment.counter, counter) {
        (Some(counts), _) => counted(counts),
        (None, Some(Err(why))) => object! { "none": why.to_string() },
        (None, Some(Ok(_))) => object! { "none": "a run left no report" },
        (None, None) => return,
    };
    metadata.insert("counter_run", described);
}

fn counted(counts: CounterCounts) -> Object {
    let [value, kind, inverted] = counts.by;
    object! {
        "altered": counts.altered(),
        "contradicted": counts.contradicted,
        "unproven": counts.unproven,
        "untouched": counts.untouched,
        "canaries": counts.canaries,
        "by": object! { "value": value, "kind": kind, "inverted": inverted },
    }
}
