//! Whether a call of the run meets a demand.

use proofmark_receipt::Json;

use crate::glob::Globs;
use crate::policy::ToolCallDemand;
use crate::request::Request;

/// What was found for a demand.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Call {
    /// The call with this number meets it.
    Met(usize),
    /// None does.
    No,
    /// That depends on these facts.
    Unknown(Vec<String>),
}

/// Looks for the call the demand asks for; of several the last.
pub(crate) fn call(demand: &ToolCallDemand, request: &Request) -> Call {
    let Some(calls) = request.calls() else { return Call::Unknown(vec!["calls".to_owned()]) };
    let named = |globs: &Globs, call: &Json| text(call, "tool").is_some_and(|tool| globs.matches(tool));
    // A call of a tool that is not known may be one of any.
    let maybe = |globs: &Globs, call: &Json| text(call, "tool").is_none_or(|tool| globs.matches(tool));
    let from = match &demand.after {
        Some(globs) if !calls.iter().any(|call| named(globs, call)) => return Call::No,
        Some(globs) => calls.iter().rposition(|call| maybe(globs, call)).map_or(0, |last| last + 1),
        None => 0,
    };
    let until = demand.before.as_ref().and_then(|globs| calls.iter().position(|call| maybe(globs, call)));
    let until = until.unwrap_or(calls.len());
    let mut unknown = Vec::new();
    for (index, call) in calls.iter().enumerate().take(until).skip(from).rev() {
        if !named(&demand.name, call) {
            continue;
        }
        match (demand.status, text(call, "status")) {
            (None, _) => return Call::Met(index),
            (Some(wanted), Some(found)) if wanted == found => return Call::Met(index),
            (Some(_), Some(_)) => {}
            (Some(_), None) => unknown.push(format!("calls[{index}].status")),
        }
    }
    if unknown.is_empty() { Call::No } else { Call::Unknown(unknown) }
}

fn text<'a>(call: &'a Json, name: &str) -> Option<&'a str> {
    call.as_object()?.get(name)?.as_str()
}
