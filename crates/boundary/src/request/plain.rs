//! The plain form: the facts as predicates see them, every member known and of its type.

use proofmark_receipt::document::{Cause, DocumentError, Field, Fields};
use proofmark_receipt::{Json, Object};
use proofmark_session::{CallStatus, PROVENANCE};

use super::{MAX_ENTRIES, MAX_NAME_BYTES};
use crate::facts::{BOUNDARIES, DEFINITION_STATES};

const FIELDS: [&str; 10] =
    ["action", "agent", "facts", "calls", "memory", "taint", "denies", "task", "upstream", "context_fill_pct"];
const ACTION: [&str; 23] = [
    "tool",
    "class",
    "boundary",
    "source",
    "surface",
    "method",
    "target",
    "args",
    "crossing",
    "server",
    "origin",
    "origin_sha256",
    "origin_state",
    "via",
    "outer_args",
    "recipient",
    "amount",
    "definition",
    "definition_state",
    "paths",
    "cwd",
    "command",
    "currency",
];
const AGENT: [&str; 8] = ["id", "org", "project", "environment", "run", "process", "step", "sensitivity"];

/// Reads the facts of a plain request.
pub(super) fn facts(fields: &Fields<'_>) -> Result<Object, DocumentError> {
    fields.only(&FIELDS)?;
    let mut facts = Object::new();
    facts.insert("action", action(&fields.need("action", "say what is about to happen")?)?);
    if let Some(field) = fields.get("agent") {
        facts.insert("agent", texts(&field, &AGENT)?);
    }
    list(fields, &mut facts, "facts", |field| item(field, &["type", "source", "at"], &["payload"]))?;
    list(fields, &mut facts, "calls", call)?;
    list(fields, &mut facts, "memory", |field| Ok(field.json.clone()))?;
    list(fields, &mut facts, "taint", |field| item(field, &["signal", "source", "at"], &[]))?;
    list(fields, &mut facts, "denies", deny)?;
    if let Some(field) = fields.get("task") {
        facts.insert("task", texts(&field, &["system", "first", "latest"])?);
    }
    if let Some(field) = fields.get("upstream").filter(|field| !field.json.is_null()) {
        facts.insert("upstream", field.json.clone());
    }
    if let Some(field) = fields.get("context_fill_pct") {
        facts.insert("context_fill_pct", number(&field)?);
    }
    Ok(facts)
}

fn action(field: &Field<'_>) -> Result<Json, DocumentError> {
    let fields = field.fields()?;
    fields.only(&ACTION)?;
    fields.need("tool", "name the tool")?;
    let mut action = Object::new();
    const TEXTS: [&str; 13] = [
        "tool",
        "class",
        "source",
        "surface",
        "method",
        "target",
        "server",
        "origin",
        "origin_sha256",
        "via",
        "definition",
        "cwd",
        "currency",
    ];
    for name in TEXTS {
        if let Some(field) = fields.get(name) {
            action.insert(name, name_text(&field)?);
        }
    }
    let boundary = match fields.get("boundary") {
        Some(field) => field.choice(&BOUNDARIES.map(|word| (word, word)))?,
        None if action.get("class").and_then(Json::as_str) == Some("memory_write") => "memory_write",
        None => "action_execute",
    };
    if boundary == "memory_write" && !action.contains("class") {
        action.insert("class", "memory_write");
    }
    action.insert("boundary", boundary);
    fields
        .need("class", "name the class, as in `record_mutation`")
        .map(drop)
        .or_else(|error| if boundary == "memory_write" { Ok(()) } else { Err(error) })?;
    let args = fields.get("args").map_or_else(|| Json::Object(Object::new()), |field| field.json.clone());
    action.insert("args", args);
    if let Some(field) = fields.get("crossing") {
        action.insert("crossing", field.boolean()?);
    }
    for name in ["outer_args", "recipient", "command"] {
        if let Some(field) = fields.get(name) {
            action.insert(name, field.json.clone());
        }
    }
    if let Some(field) = fields.get("paths") {
        field.items()?.iter().try_for_each(|path| path.text().map(drop))?;
        action.insert("paths", field.json.clone());
    }
    if let Some(field) = fields.get("amount") {
        action.insert("amount", number(&field)?);
    }
    for name in ["definition_state", "origin_state"] {
        if let Some(field) = fields.get(name) {
            action.insert(name, field.choice(&DEFINITION_STATES.map(|word| (word, word)))?);
        }
    }
    Ok(Json::Object(action))
}

fn call(field: &Field<'_>) -> Result<Json, DocumentError> {
    let fields = field.fields()?;
    let texts = [&["tool", "status", "class", "at"], &PROVENANCE[..]].concat();
    fields.only(&[&texts[..], &["args", "result"]].concat())?;
    name_text(&fields.need("tool", "name the tool that was called")?)?;
    if let Some(status) = fields.get("status") {
        status.choice(&CallStatus::ALL.map(|status| (status.as_str(), ())))?;
    }
    if let Some(state) = fields.get("origin_state") {
        state.choice(&DEFINITION_STATES.map(|word| (word, ())))?;
    }
    item(field, &texts, &["args", "result"])
}

fn deny(field: &Field<'_>) -> Result<Json, DocumentError> {
    if let Some(codes) = field.fields()?.get("reason_codes") {
        codes.items()?.iter().try_for_each(|code| code.text().map(drop))?;
    }
    item(field, &["decision_id", "outcome", "at"], &["reason_codes"])
}

/// An object whose members `texts` are strings and whose members `others` may be anything.
fn item(field: &Field<'_>, texts: &[&str], others: &[&str]) -> Result<Json, DocumentError> {
    let fields = field.fields()?;
    fields.only(&[texts, others].concat())?;
    let mut item = Object::new();
    for (name, member) in fields.iter() {
        if texts.contains(&name) {
            item.insert(name, member.text()?);
        } else {
            item.insert(name, member.json.clone());
        }
    }
    Ok(Json::Object(item))
}

fn texts(field: &Field<'_>, names: &[&str]) -> Result<Json, DocumentError> {
    item(field, names, &[])
}

fn list(
    fields: &Fields<'_>,
    facts: &mut Object,
    name: &str,
    read: impl Fn(&Field<'_>) -> Result<Json, DocumentError>,
) -> Result<(), DocumentError> {
    if let Some(field) = fields.get(name) {
        // `items` would make a place for each entry before they are counted.
        let items = field.array()?;
        enough(&field, items.len())?;
        let items = items.iter().enumerate().map(|(index, json)| read(&field.item(index, json)));
        facts.insert(name, items.collect::<Result<Vec<_>, _>>()?);
    }
    Ok(())
}

/// Refuses a list that is too long.
pub(super) fn enough(field: &Field<'_>, found: usize) -> Result<(), DocumentError> {
    if found > MAX_ENTRIES {
        Err(field
            .error(Cause::TooMany, format!("{found} entries are more than {MAX_ENTRIES}"))
            .with_help("send the latest"))
    } else {
        Ok(())
    }
}

/// A text that globs are matched against.
pub(super) fn name_text<'a>(field: &Field<'a>) -> Result<&'a str, DocumentError> {
    let text = field.text()?;
    if text.len() > MAX_NAME_BYTES {
        Err(field
            .error(Cause::TooLarge, format!("the text is longer than {MAX_NAME_BYTES} bytes"))
            .with_help("shorten it"))
    } else {
        Ok(text)
    }
}

pub(super) fn number(field: &Field<'_>) -> Result<Json, DocumentError> {
    field.json.as_number().map(|_| field.json.clone()).ok_or_else(|| field.wrong_type("a number"))
}
