//! Whether the caller gave what the rules of a step read.

use proofmark_predicate::FieldType;
use proofmark_receipt::Json;

use crate::evaluate::{AttemptOutcome, Judgment, RuleOutcome};
use crate::evidence::AttemptEvidence;
use crate::workflow::Workflow;

/// A part of an attempt that a rule reads and the caller left out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NotGiven {
    /// The recorded calls.
    Trace,
    /// The fact of the context with this name, or a fact of the type that the workflow declares for it.
    Context(String),
}

/// The part that the caller left out, if a rule is unknown because of it. The mistake is the caller's, so it should cost the agent no
/// attempt. Nothing that the agent writes has an effect here; otherwise the agent could try for free.
pub fn not_given(workflow: &Workflow, judgment: &Judgment, evidence: &AttemptEvidence<'_>) -> Option<NotGiven> {
    match judgment.outcome {
        AttemptOutcome::Accept | AttemptOutcome::AcceptWithWarnings | AttemptOutcome::AwaitApproval => return None,
        AttemptOutcome::RejectAndRetry | AttemptOutcome::RejectAndAbort => {}
    }
    let unknown = judgment.rules.iter().filter(|rule| rule.outcome == RuleOutcome::Unknown);
    let missing: Vec<&str> = unknown.flat_map(|rule| &rule.missing).map(|fact| fact.path.as_str()).collect();
    let is_read = |name: &str| missing.iter().any(|path| is_at_or_below(path, name));
    if evidence.trace.is_none() && (is_read("trace") || is_read("calls")) {
        return Some(NotGiven::Trace);
    }
    let fact = |name: &str| evidence.context?.as_object()?.get(name);
    let mut lacking = workflow.context.iter().filter(|(name, of)| !fact(name).is_some_and(|fact| is_of(fact, of)));
    // Without a context, what is missing is the context itself.
    let whole = evidence.context.is_none() && missing.contains(&"context");
    // A fact of the wrong type makes some conditions unknown and others false, so no rule needs to be unknown for it.
    let (name, _) = lacking.find(|(name, _)| whole || fact(name).is_some() || is_read(&format!("context.{name}")))?;
    Some(NotGiven::Context(name.clone()))
}

fn is_at_or_below(path: &str, name: &str) -> bool {
    path.strip_prefix(name).is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
}

/// Whether a fact is of the type that a workflow declares for it.
fn is_of(fact: &Json, declared: &FieldType) -> bool {
    match declared {
        FieldType::Any => true,
        FieldType::String | FieldType::OneOf(_) => fact.as_str().is_some(),
        FieldType::Number | FieldType::Int => fact.as_number().is_some(),
        FieldType::Bool => fact.as_bool().is_some(),
        FieldType::List(_) => fact.as_array().is_some(),
        FieldType::Map(_) | FieldType::Object(_) => fact.as_object().is_some(),
    }
}
