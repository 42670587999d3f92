//! The facts that predicates read: their names and types.

use std::sync::Arc;

use proofmark_predicate::{FieldType, Schema};
use proofmark_session::CallStatus;
use proofmark_shell::Cause;

use crate::asker::Separation;

/// The classes of actions that a policy need not declare.
pub(crate) const ACTION_CLASSES: [&str; 8] = [
    "memory_write",
    "record_mutation",
    "system_change",
    "external_message_send",
    "webhook_call",
    "browser_submit",
    "upload",
    "generic",
];

/// The values of `action.definition_state`: how the tool's definition compares with the one that was pinned.
pub(crate) const DEFINITION_STATES: [&str; 6] =
    ["pinned", "changed", "renamed", "shadowing", "ambiguous", "not_listed"];

/// The values of `action.boundary`.
pub(crate) const BOUNDARIES: [&str; 2] = ["action_execute", "memory_write"];

/// The names and types of all facts. `classes` are declared by the policy, beside [`ACTION_CLASSES`], and `limits` are the ids of its
/// limits.
#[must_use]
pub(crate) fn fact_schema(classes: &[String], limits: &[String]) -> Schema {
    let text = || FieldType::String;
    let classes = ACTION_CLASSES.iter().copied().chain(classes.iter().map(String::as_str));
    schema([
        (
            "action",
            object([
                ("tool", text()),
                ("class", one_of(classes)),
                ("boundary", one_of(BOUNDARIES)),
                ("source", text()),
                ("surface", text()),
                ("method", text()),
                ("target", text()),
                ("args", FieldType::Any),
                ("crossing", FieldType::Bool),
                ("server", text()),
                ("origin", text()),
                ("origin_sha256", text()),
                ("origin_state", one_of(DEFINITION_STATES)),
                ("via", text()),
                ("outer_args", FieldType::Any),
                ("recipient", FieldType::Any),
                ("amount", FieldType::Number),
                ("definition", text()),
                ("definition_state", one_of(DEFINITION_STATES)),
                ("paths", list(text())),
                ("cwd", text()),
                ("command", FieldType::Any),
                ("currency", text()),
                ("commands", list(command())),
                (
                    "urls",
                    list(object([
                        ("url", text()),
                        ("scheme", text()),
                        ("host", text()),
                        ("port", text()),
                        ("certain", FieldType::Bool),
                    ])),
                ),
                ("hosts", list(text())),
            ]),
        ),
        (
            "agent",
            object([
                ("id", text()),
                ("org", text()),
                ("project", text()),
                ("environment", text()),
                ("run", text()),
                ("process", text()),
                ("step", text()),
                ("sensitivity", text()),
                ("account", text()),
                ("separation", one_of(Separation::WORDS.map(|(word, _)| word))),
            ]),
        ),
        ("facts", list(object([("type", text()), ("payload", FieldType::Any), ("source", text()), ("at", text())]))),
        (
            "calls",
            list(object([
                ("tool", text()),
                ("args", FieldType::Any),
                ("result", FieldType::Any),
                ("status", one_of(CallStatus::ALL.map(CallStatus::as_str))),
                ("class", text()),
                ("at", text()),
                ("source", text()),
                ("surface", text()),
                ("server", text()),
                ("origin", text()),
                ("origin_sha256", text()),
                ("origin_state", one_of(DEFINITION_STATES)),
                ("process", text()),
            ])),
        ),
        ("memory", list(FieldType::Any)),
        ("taint", list(object([("signal", text()), ("source", text()), ("at", text())]))),
        (
            "origins",
            object([
                ("unknown", list(text())),
                ("complete", FieldType::Bool),
                ("values", list(origin())),
                ("links", list(origin())),
            ]),
        ),
        (
            "denies",
            list(object([
                ("decision_id", text()),
                ("outcome", text()),
                ("reason_codes", list(text())),
                ("at", text()),
            ])),
        ),
        ("limits", FieldType::Object(limits.iter().map(|id| (id.as_str(), limit())).collect())),
        ("task", object(["system", "first", "latest"].map(|name| (name, text())))),
        ("upstream", FieldType::Any),
        ("context_fill_pct", FieldType::Number),
        ("now", text()),
    ])
}

/// A command of a shell text.
fn command() -> FieldType {
    let text = || FieldType::String;
    let yes = || FieldType::Bool;
    object([
        ("program", text()),
        ("args", list(text())),
        ("exact", yes()),
        ("subcommand", text()),
        ("script", text()),
        ("assignments", list(object([("name", text()), ("value", text())]))),
        ("paths", list(object([("path", text()), ("certain", yes()), ("pattern", yes()), ("writes", yes())]))),
        ("opaque", yes()),
        ("because", list(one_of(Cause::ALL.map(Cause::as_str)))),
    ])
}

/// What a limit had counted.
fn limit() -> FieldType {
    object(["used", "least", "left"].map(|name| (name, FieldType::Number)))
}

/// Where one value of an action comes from.
fn origin() -> FieldType {
    let text = || FieldType::String;
    object([
        ("at", text()),
        ("value", text()),
        ("number", FieldType::Number),
        ("plain", FieldType::Bool),
        ("labels", list(text())),
        ("places", list(object([("label", text()), ("source", text()), ("path", text()), ("at", text())]))),
        ("pieces", list(object([("text", text()), ("labels", list(text()))]))),
    ])
}

fn schema<const N: usize>(fields: [(&str, FieldType); N]) -> Schema {
    fields.into_iter().collect()
}

fn object<const N: usize>(fields: [(&str, FieldType); N]) -> FieldType {
    FieldType::Object(schema(fields))
}

fn list(of: FieldType) -> FieldType {
    FieldType::List(Box::new(of))
}

fn one_of<'a>(words: impl IntoIterator<Item = &'a str>) -> FieldType {
    FieldType::OneOf(words.into_iter().map(Arc::from).collect())
}
