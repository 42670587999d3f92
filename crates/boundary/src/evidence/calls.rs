//! Whether a call of the run meets a demand.
//!
//! Where a call has no `tool` or `status`, it may be any call. That decides nothing in favour of the action: such a call
//! is not the demanded one, ends the range of calls before a `before`, and starts it after an `after`.

use proofmark_evidence::FromThere;
use proofmark_receipt::glob::Globs;
use proofmark_receipt::{Json, shown};
use proofmark_session::{CallStatus, name_on_server};

use crate::policy::{SameArgument, ToolCallDemand};
use crate::request::Request;

/// Whether a call meets a demand.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum CallMatch {
    Met(usize),
    No,
    Unknown(Vec<String>),
}

/// The call that the demand asks for; of several the last.
pub(crate) fn call(demand: &ToolCallDemand, request: &Request) -> CallMatch {
    let Some(calls) = request.calls() else { return CallMatch::Unknown(vec!["`calls` is absent".to_owned()]) };
    let named = |globs: &Globs, call: &Json| text(call, "tool").is_some_and(|tool| globs.matches(tool));
    // A call of an unknown tool may be of any.
    let maybe = |globs: &Globs, call: &Json| {
        let is_meant = |tool| globs.matches(tool) || globs.matches(name_on_server(text(call, "server"), tool));
        text(call, "tool").is_none_or(is_meant)
    };
    let from = match &demand.after {
        Some(globs) => {
            // A call that failed or was blocked changed nothing, so there is nothing to be after.
            if !calls.iter().any(|call| named(globs, call) && status(call).is_none_or(CallStatus::may_have_acted)) {
                return CallMatch::No;
            }
            let open: Vec<_> =
                calls.iter().enumerate().filter(|(_, call)| maybe(globs, call) && is_open(call)).collect();
            if !open.is_empty() {
                // It may still act, after everything that was recorded.
                return CallMatch::Unknown(open.into_iter().map(|(index, call)| unsettled(index, call)).collect());
            }
            // Of any status, even without a name: a later start leaves calls out and lets no outdated one count.
            calls.iter().rposition(|call| maybe(globs, call)).map_or(0, |last| last + 1)
        }
        None => 0,
    };
    let until = demand.before.as_ref().and_then(|globs| calls.iter().position(|call| maybe(globs, call)));
    let until = until.unwrap_or(calls.len());
    let mut unknown = Vec::new();
    for (index, call) in calls.iter().enumerate().take(until).skip(from).rev() {
        let names = demand.from.tool_names(text(call, "tool").unwrap_or_default(), text(call, "server"));
        if !names.iter().any(|name| demand.name.matches(name)) {
            continue;
        }
        match demand.from.fits(|member| text(call, member)) {
            FromThere::Yes => {}
            FromThere::No => continue,
            FromThere::Unknown(member) => {
                unknown.push(format!("`calls[{index}].{member}` is absent"));
                continue;
            }
        }
        // Without a process nothing is known of starts, and two that are not known are not two.
        if !demand.earlier && text(call, "process") != request.text("agent", "process") {
            continue;
        }
        match bound(demand, call, request) {
            Some(true) => {}
            Some(false) => continue,
            None => {
                unknown.push(format!("`calls[{index}].args` is absent"));
                continue;
            }
        }
        match (demand.status, text(call, "status")) {
            (None, _) => return CallMatch::Met(index),
            (Some(wanted), Some(found)) if wanted.as_str() == found => return CallMatch::Met(index),
            (Some(_), Some(_)) => {}
            // It may be the demanded call. The search goes on, since an earlier call can meet the demand for certain.
            (Some(_), None) => unknown.push(format!("`calls[{index}].status` is absent")),
        }
    }
    if unknown.is_empty() { CallMatch::No } else { CallMatch::Unknown(unknown) }
}

/// Whether the arguments of a call are as the demand binds them; `None` where they are not known.
fn bound(demand: &ToolCallDemand, call: &Json, request: &Request) -> Option<bool> {
    let same = demand.args.as_deref().unwrap_or_default();
    if same.is_empty() {
        return Some(true);
    }
    let args = call.as_object()?.get("args")?;
    let is_same = |one: &SameArgument| {
        // What the action does not say is equal to nothing.
        let wanted = one.wanted(request.facts());
        wanted.is_some() && args.as_object().and_then(|args| args.get(&one.argument)) == wanted
    };
    Some(same.iter().all(is_same))
}

/// Whether the call says itself that its end is unknown.
fn is_open(call: &Json) -> bool {
    status(call).is_some_and(CallStatus::is_unsettled)
}

/// Names the call, and what makes its end known or leaves it behind.
fn unsettled(index: usize, call: &Json) -> String {
    let tool = shown(text(call, "tool").unwrap_or("a tool without a name"));
    format!(
        "`calls[{index}].status` does not say how the call of `{tool}` ended: wait for its result, or begin a new session"
    )
}

fn status(call: &Json) -> Option<CallStatus> {
    text(call, "status").and_then(CallStatus::from_word)
}

fn text<'a>(call: &'a Json, name: &str) -> Option<&'a str> {
    call.as_object()?.get(name)?.as_str()
}
