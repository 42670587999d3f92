//! Expressions, evaluated apart from the submission wherever that can be done.
//!
//! A leaf without the submission evaluates the expression (`clean`): the submission's names are calls there, and everything else
//! is the language's own. Where it needs a call whose result is not known, it ends with the calls so far. A leaf of the submission
//! makes them one after another (`calls`), so that state between them holds, and the first kind evaluates anew with what they
//! returned. The submission sees names and arguments, and never the expression.

use std::iter;
use std::time::Instant;

use proofmark_checks::{End, Job, Limits, Written};

use super::answer::{one_answer, read_frame, without_answer};
use super::{Backend, Exited, frame};
use crate::runtime::Runtime;
use crate::toolchain::Toolchain;
use crate::watch::Why;
use crate::zygote::ZygoteError;

/// How many leaves most expressions need: to see the calls, to make them, and to evaluate.
pub(super) const LEAVES: usize = 3;

/// How often an expression is evaluated. Each time at least one call more is certain, and harnesses stop at 64 calls.
const MAX_ROUNDS: usize = 65;

/// What an expression leaves behind that is evaluated apart.
enum Apart {
    Ended(End, Written),
    /// It has to be evaluated in the namespace of the submission, for this reason.
    Inside(&'static str),
}

impl Backend {
    /// Evaluates an expression; `inside` gets the reason where it is evaluated in the namespace of the submission.
    pub(super) fn run_expression(
        &mut self,
        runtime: &Runtime,
        job: &Job,
        source: &str,
        text: &str,
        deadline: Instant,
        inside: &mut Option<&'static str>,
    ) -> Result<(End, Written), ZygoteError> {
        // The value of one call is compared outside, as in the mode `call`.
        if !job.language.is_single_call(text) {
            match self.run_apart(runtime, &job.limits, source, text, deadline)? {
                Apart::Ended(end, written) => return Ok((end, written)),
                Apart::Inside(why) => *inside = Some(why),
            }
        }
        let leaf = self.run_harness(runtime, &job.limits, frame("expression", &[source, text]), deadline)?;
        Ok(one_answer(leaf, runtime.toolchain()))
    }

    fn run_apart(
        &mut self,
        runtime: &Runtime,
        limits: &Limits,
        source: &str,
        text: &str,
        deadline: Instant,
    ) -> Result<Apart, ZygoteError> {
        let toolchain = runtime.toolchain();
        // Calls and what they returned, in turn.
        let mut known: Vec<String> = Vec::new();
        let mut written = Written::default();
        for _ in 0..MAX_ROUNDS {
            let pieces: Vec<&str> = iter::once(text).chain(known.iter().map(String::as_str)).collect();
            let leaf = self.run_harness(runtime, limits, frame("clean", &pieces), deadline)?;
            let Some(line) = only_line(&leaf) else {
                return Ok(Apart::Ended(without_line(&leaf, toolchain), written));
            };
            let (certain, calls) = match line.split_at_checked(1) {
                Some(("S", reason)) => return Ok(Apart::Inside(reason_of(reason))),
                Some(("B", _)) => return Ok(Apart::Ended(forged(), written)),
                Some(("C", wanted)) => wanted.split_once('\t').unwrap_or((wanted, "")),
                _ => return Ok(Apart::Ended(read_frame(&leaf.bytes, toolchain), written)),
            };
            let calls: Vec<&str> = calls.split('\t').collect();
            let pieces: Vec<&str> = [source, certain].into_iter().chain(calls.iter().copied()).collect();
            let mut leaf = self.run_harness(runtime, limits, frame("calls", &pieces), deadline)?;
            written = std::mem::take(&mut leaf.written);
            let Some(line) = only_line(&leaf) else {
                return Ok(Apart::Ended(without_line(&leaf, toolchain), written));
            };
            if line.starts_with('L') {
                let end = read_frame(leaf.bytes.get(1..).unwrap_or_default(), toolchain);
                return Ok(Apart::Ended(not_loaded(end), written));
            }
            let results: Vec<&str> = line.split('\t').collect();
            if results.len() > calls.len() {
                return Ok(Apart::Ended(forged(), written));
            }
            known =
                calls.iter().zip(results).flat_map(|(call, result)| [(*call).to_owned(), result.to_owned()]).collect();
        }
        Ok(Apart::Inside(TOO_MANY))
    }
}

/// The one line that a leaf wrote, if it ended by itself.
fn only_line(leaf: &Exited) -> Option<&str> {
    let line = std::str::from_utf8(&leaf.bytes).ok()?.strip_suffix('\n')?;
    (leaf.why == Why::Ended && !line.contains('\n')).then_some(line)
}

fn without_line(leaf: &Exited, toolchain: &Toolchain) -> End {
    if leaf.why == Why::Ended && !leaf.bytes.is_empty() { forged() } else { without_answer(leaf, toolchain) }
}

fn forged() -> End {
    End::NoAnswer("the submission wrote into the channel of its answer".to_owned())
}

/// How a submission ended that cannot be loaded. It writes this itself, so it is no value, and no exception of a call.
fn not_loaded(end: End) -> End {
    match end {
        End::Raised { kind, text, line, .. } => End::Raised { kind, text, line, types: Vec::new() },
        End::MemoryLimit => End::MemoryLimit,
        _ => forged(),
    }
}

const TOO_MANY: &str = "it calls functions of the submission more than 64 times";

/// The reason in words. The submission may have chosen the letter.
fn reason_of(letter: &str) -> &'static str {
    match letter {
        "n" => "it uses a name of the submission without calling it",
        "a" => "it passes more than plain data to a function of the submission",
        "f" => "it passes the result of one function of the submission to another",
        "m" => "a function of the submission changes or returns what it is given, which the expression has a name for",
        "k" => TOO_MANY,
        "0" => "it calls no function of the submission",
        _ => "a function of the submission returns more than plain data",
    }
}
