//! The V4 form `{envelope, decision_context}`, as runtimes send it. Unknown members are ignored, since runtimes add some.

use proofmark_receipt::document::{DocumentError, Field, Fields};
use proofmark_receipt::{Json, Object};
use proofmark_session::CallStatus;

use super::plain::{enough, name_text, number};
use crate::facts::BOUNDARIES;

/// The agent's facts, each with its name in the envelope.
const AGENT: [(&str, &str); 6] = [
    ("id", "agent_id"),
    ("org", "org_id"),
    ("project", "project_id"),
    ("environment", "environment"),
    ("run", "run_id"),
    ("step", "step_id"),
];

/// Reads the facts of a request in the V4 form.
pub(super) fn facts(fields: &Fields<'_>) -> Result<Object, DocumentError> {
    let envelope = fields.need("envelope", "a `decision_context` comes with one")?.fields()?;
    let context = fields.need("decision_context", "an `envelope` comes with one")?.fields()?;
    let scope = match envelope.get("policy_scope").filter(is_given) {
        Some(scope) => Some(scope.fields()?),
        None => None,
    };
    let mut facts = Object::new();
    facts.insert("action", action(&context, scope.as_ref())?);
    facts.insert("agent", agent(&envelope, scope.as_ref())?);
    list(&context, "factual_artifacts_in_run", &mut facts, "facts", artifact)?;
    if let Some(calls) = calls(&context)? {
        facts.insert("calls", calls);
    }
    list(&context, "memory_reads_in_run", &mut facts, "memory", |field| Ok(field.json.clone()))?;
    list(&context, "taint_signals", &mut facts, "taint", taint)?;
    list(&context, "prior_same_fingerprint_denies", &mut facts, "denies", deny)?;
    facts.insert("task", task(&context)?);
    if let Some(upstream) = context.get("upstream_context").filter(is_given) {
        facts.insert("upstream", upstream.json.clone());
    }
    if let Some(share) = context.get("context_fill_pct").filter(is_given) {
        facts.insert("context_fill_pct", number(&share)?);
    }
    Ok(facts)
}

fn action(context: &Fields<'_>, scope: Option<&Fields<'_>>) -> Result<Json, DocumentError> {
    let pending = context.need("pending_action", "say what is about to happen")?.fields()?;
    let mut action = Object::new();
    pending.need("raw_name", "name the tool")?;
    copy_name(&pending, "raw_name", &mut action, "tool")?;
    let boundary = boundary(&pending, scope)?;
    match (boundary, scope.and_then(|scope| scope.get("action_class")).filter(is_given)) {
        ("memory_write", None) => {
            action.insert("class", "memory_write");
        }
        (_, Some(class)) => {
            action.insert("class", name_text(&class)?);
        }
        // The action then has no class, which the judge blocks in every mode (`unknown_action_class`).
        (_, None) => {}
    }
    action.insert("boundary", boundary);
    for name in ["surface", "method", "target"] {
        copy_name(&pending, name, &mut action, name)?;
    }
    let args = pending.get("raw_args").map_or_else(|| Json::Object(Object::new()), |args| args.json.clone());
    action.insert("args", args);
    if let Some(crossing) = pending.get("trust_boundary_crossing").filter(is_given) {
        action.insert("crossing", crossing.boolean()?);
    }
    Ok(Json::Object(action))
}

fn boundary(pending: &Fields<'_>, scope: Option<&Fields<'_>>) -> Result<&'static str, DocumentError> {
    if let Some(boundary) = scope.and_then(|scope| scope.get("boundary")).filter(is_given) {
        return boundary.choice(&BOUNDARIES.map(|word| (word, word)));
    }
    let memory = pending.get("surface").is_some_and(|surface| surface.json.as_str() == Some("memory_write"));
    Ok(if memory { "memory_write" } else { "action_execute" })
}

fn agent(envelope: &Fields<'_>, scope: Option<&Fields<'_>>) -> Result<Json, DocumentError> {
    let mut agent = Object::new();
    for (name, from) in AGENT {
        copy_name(envelope, from, &mut agent, name)?;
    }
    if let Some(scope) = scope {
        copy_name(scope, "sensitivity", &mut agent, "sensitivity")?;
    }
    Ok(Json::Object(agent))
}

fn artifact(field: &Field<'_>) -> Result<Json, DocumentError> {
    let fields = field.fields()?;
    let mut fact = Object::new();
    copy_text(&fields, "object_type", &mut fact, "type")?;
    if let Some(payload) = fields.get("normalized_payload") {
        fact.insert("payload", payload.json.clone());
    }
    let lineage = fields.get("source_lineage").filter(is_given).map(|lineage| lineage.items()).transpose()?;
    if let Some(source) = lineage.as_ref().and_then(|lineage| lineage.last()) {
        fact.insert("source", source.text()?);
    }
    copy_text(&fields, "timestamp", &mut fact, "at")?;
    Ok(Json::Object(fact))
}

/// The calls of the run without the pending action, which runtimes list as the last call. A call that has ended is never
/// left out: a policy may forbid to repeat it.
fn calls(context: &Fields<'_>) -> Result<Option<Vec<Json>>, DocumentError> {
    let Some(field) = context.get("tool_calls_in_run").filter(is_given) else { return Ok(None) };
    let items = field.items()?;
    enough(&field, items.len())?;
    let pending = context.get("pending_action").and_then(|pending| pending.json.as_object());
    let same = |item: &Field<'_>, name: &str| {
        item.json.as_object().and_then(|call| call.get(name)) == pending.and_then(|pending| pending.get(name))
    };
    let may_be_pending = |item: &Field<'_>| has_not_ended(item) && same(item, "raw_name");
    // From the end: an equal call further ahead is an earlier one.
    let exact = items.iter().rposition(|item| may_be_pending(item) && same(item, "raw_args"));
    // Runtimes may record other arguments than they ask about: of the very last call the same tool is enough.
    let last = items.len().checked_sub(1).filter(|last| items.get(*last).is_some_and(may_be_pending));
    let left_out = exact.or(last);
    let others = items.iter().enumerate().filter(|(index, _)| Some(*index) != left_out);
    Ok(Some(others.map(|(_, item)| call(item)).collect::<Result<_, _>>()?))
}

/// Whether a call is pending, or has no status.
fn has_not_ended(call: &Field<'_>) -> bool {
    let status = call.json.as_object().and_then(|call| call.get("status")).filter(|status| !status.is_null());
    status.is_none_or(|status| status.as_str() == Some(CallStatus::Pending.as_str()))
}

fn call(field: &Field<'_>) -> Result<Json, DocumentError> {
    let fields = field.fields()?;
    let mut call = Object::new();
    fields.need("raw_name", "name the tool that was called")?;
    copy_name(&fields, "raw_name", &mut call, "tool")?;
    if let Some(args) = fields.get("raw_args") {
        call.insert("args", args.json.clone());
    }
    if let Some(status) = fields.get("status").filter(is_given) {
        call.insert("status", status.choice(&CallStatus::ALL.map(|status| (status.as_str(), status.as_str())))?);
    }
    copy_text(&fields, "semantic_class", &mut call, "class")?;
    copy_text(&fields, "timestamp", &mut call, "at")?;
    Ok(Json::Object(call))
}

fn taint(field: &Field<'_>) -> Result<Json, DocumentError> {
    let fields = field.fields()?;
    let mut taint = Object::new();
    copy_text(&fields, "signal", &mut taint, "signal")?;
    copy_text(&fields, "source", &mut taint, "source")?;
    copy_text(&fields, "timestamp", &mut taint, "at")?;
    Ok(Json::Object(taint))
}

fn deny(field: &Field<'_>) -> Result<Json, DocumentError> {
    let fields = field.fields()?;
    let mut deny = Object::new();
    copy_text(&fields, "decision_id", &mut deny, "decision_id")?;
    copy_text(&fields, "outcome", &mut deny, "outcome")?;
    if let Some(codes) = fields.get("reason_codes").filter(is_given) {
        codes.items()?.iter().try_for_each(|code| code.text().map(drop))?;
        deny.insert("reason_codes", codes.json.clone());
    }
    copy_text(&fields, "timestamp", &mut deny, "at")?;
    Ok(Json::Object(deny))
}

fn task(context: &Fields<'_>) -> Result<Json, DocumentError> {
    let mut task = Object::new();
    copy_text(context, "system_prompt", &mut task, "system")?;
    copy_text(context, "first_user_task", &mut task, "first")?;
    copy_text(context, "latest_user_turn", &mut task, "latest")?;
    Ok(Json::Object(task))
}

/// `null` means the same as an absent member.
fn is_given(field: &Field<'_>) -> bool {
    !field.json.is_null()
}

fn copy_text(from: &Fields<'_>, name: &str, to: &mut Object, as_name: &str) -> Result<(), DocumentError> {
    if let Some(field) = from.get(name).filter(is_given) {
        to.insert(as_name, field.text()?);
    }
    Ok(())
}

/// Copies a text that globs match.
fn copy_name(from: &Fields<'_>, name: &str, to: &mut Object, as_name: &str) -> Result<(), DocumentError> {
    if let Some(field) = from.get(name).filter(is_given) {
        to.insert(as_name, name_text(&field)?);
    }
    Ok(())
}

fn list(
    from: &Fields<'_>,
    name: &str,
    to: &mut Object,
    as_name: &str,
    read: impl Fn(&Field<'_>) -> Result<Json, DocumentError>,
) -> Result<(), DocumentError> {
    if let Some(field) = from.get(name).filter(is_given) {
        let items = field.array()?;
        enough(&field, items.len())?;
        let items = items.iter().enumerate().map(|(index, json)| read(&field.item(index, json)));
        to.insert(as_name, items.collect::<Result<Vec<_>, _>>()?);
    }
    Ok(())
}
