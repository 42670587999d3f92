//! What an attempt is judged by, and the facts that conditions read of it.

use std::fmt;

use proofmark_evidence::trace::Trace;
use proofmark_evidence::{Evidence, facts};
use proofmark_predicate::{Budget, Value};
use proofmark_receipt::{Json, Timestamp};

use crate::response::{Payload, ResponseError};

/// What an attempt is judged by.
#[derive(Clone, Copy, Debug)]
pub struct AttemptEvidence<'a> {
    /// The payload of the response, or why there is none.
    pub payload: &'a Result<Payload, ResponseError>,
    /// The recorded calls; `None` when nothing was recorded.
    pub trace: Option<&'a Trace>,
    /// The presented receipts, each verified by the caller.
    pub receipts: &'a Evidence,
    pub now: &'a Timestamp,
    /// What the orchestrator provides as `context`: an object.
    pub context: Option<&'a Json>,
}

/// A fact that a rule needs and that is absent or of the wrong type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MissingFact {
    pub path: String,
    /// Completes a sentence that begins with the path: `is absent`.
    pub why: String,
}

/// The facts that conditions read.
pub(crate) struct Facts<'b> {
    /// `payload`, `context` and `calls`, as far as they are known and hold only numbers that can be held exactly.
    pub(crate) all: Value,
    pub(crate) payload: Option<Value>,
    /// One budget for all rules of the attempt.
    pub(crate) budget: &'b Budget<'b>,
}

impl<'b> Facts<'b> {
    pub(crate) fn of(evidence: &AttemptEvidence<'_>, budget: &'b Budget<'b>) -> Self {
        // A payload with a number that cannot be held exactly is left out: rules about it are then unknown, not met.
        let payload = evidence.payload.as_ref().ok().and_then(|payload| facts::value(&payload.json).ok());
        let context = evidence.context.and_then(|context| facts::value(context).ok());
        // One call that cannot be held exactly makes every condition about calls unknown: a list without it would
        // answer `calls.all(…)` and `size(calls)` wrongly.
        let calls = evidence.trace.and_then(|trace| {
            trace.calls.iter().map(|call| facts::value(&call.to_json()).ok()).collect::<Option<Vec<_>>>()
        });
        let named = [("payload", payload.clone()), ("context", context), ("calls", calls.map(Value::from))];
        let all = named.into_iter().filter_map(|(name, value)| Some((name, value?))).collect();
        Self { all, payload, budget }
    }

    /// Whether two values are equal. False once the budget is used up; the caller then makes every rule unknown.
    pub(crate) fn same(&self, expected: &Value, found: &Value) -> bool {
        // `facts::same` reads no further than `expected` goes, so the size of `expected` bounds the work.
        self.budget.charge(facts::steps(expected)).is_ok() && facts::same(expected, found)
    }
}

impl MissingFact {
    pub(crate) fn new(path: String, why: &str) -> Self {
        Self { path, why: why.to_owned() }
    }

    pub(crate) fn absent(path: String) -> Self {
        Self::new(path, "is absent")
    }
}

impl fmt::Display for MissingFact {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` {}", self.path, self.why)
    }
}
