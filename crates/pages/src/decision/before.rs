//! What led to an action: why the agent says that it wants it, and the calls before it.

use proofmark_receipt::{Json, Object};

use super::super::action::Action;
use super::super::text::Shown;

/// The arguments in which agents write why they do something. Hosts and servers name them so.
const REASONS: [&str; 7] = ["description", "explanation", "intent", "justification", "purpose", "rationale", "reason"];
/// How many calls are shown.
const MAX_CALLS: usize = 5;
/// The longest text that is shown, in characters.
const MAX_TEXT: usize = 400;

/// What the agent says about why: nobody has checked it.
pub(super) fn says(action: &Action) -> Vec<(Shown, Shown)> {
    let is_reason = |name: &str| REASONS.contains(&name.to_ascii_lowercase().as_str());
    let said = action.args().iter().filter(|(name, _)| is_reason(name));
    let said = said.filter_map(|(name, value)| Some((name, value.as_str().filter(|text| !text.trim().is_empty())?)));
    said.map(|(name, text)| (Shown::line(name, 64), Shown::line(text, MAX_TEXT))).collect()
}

/// The last calls of the session before this one, the oldest first: the tool, and how it ended.
pub(super) fn calls(facts: &Object) -> Vec<(Shown, Shown)> {
    let calls = facts.get("calls").and_then(Json::as_array).unwrap_or_default();
    let last = calls.get(calls.len().saturating_sub(MAX_CALLS)..).unwrap_or_default();
    let text = |call: &Json, name: &str| call.as_object()?.get(name)?.as_str().map(|text| Shown::line(text, 120));
    let unknown = || Shown::from("unknown");
    last.iter()
        .map(|call| (text(call, "tool").unwrap_or_else(unknown), text(call, "status").unwrap_or_else(unknown)))
        .collect()
}
