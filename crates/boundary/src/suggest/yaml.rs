//! A policy as YAML, with comments.

use std::collections::BTreeSet;

use proofmark_receipt::{Json, Object};

/// An entry of a list, with what is said of it.
#[derive(Clone, Debug)]
pub(super) struct Commented {
    pub(super) comments: Vec<String>,
    pub(super) item: Object,
}

/// What is suggested.
#[derive(Default)]
pub(super) struct Parts {
    pub(super) tools: Vec<Commented>,
    pub(super) origins: Vec<Commented>,
    pub(super) boundaries: Vec<Commented>,
    /// Classes that have to be declared.
    pub(super) classes: BTreeSet<String>,
}

/// The lists of a policy to which a suggestion adds.
const LISTS: [&str; 4] = ["classes", "tools", "origins", "boundaries"];

/// The policy as a document and as YAML: the current one, if there is any, with what is suggested after it.
pub(super) fn policy(heading: &[String], parts: &Parts, current: Option<&Object>) -> (Object, String) {
    let empty = Object::new();
    let current = current.unwrap_or(&empty);
    let mut text: String = heading.iter().map(|line| comment("", line)).collect();
    let mut document = Object::new();
    let version = current.get("version").cloned().unwrap_or_else(|| Json::from(1_u64));
    text.push_str(&format!("version: {}\n", flow(&version)));
    document.insert("version", version);
    for (name, value) in current.iter().filter(|(name, _)| *name != "version" && !LISTS.contains(name)) {
        text.push_str(&format!("{}: {}\n", key(name), flow(value)));
        document.insert(name, value.clone());
    }
    let mut classes = current.get("classes").and_then(Json::as_array).unwrap_or_default().to_vec();
    classes.extend(
        parts
            .classes
            .iter()
            .map(|class| Json::from(class.as_str()))
            .filter(|class| !classes.contains(class))
            .collect::<Vec<_>>(),
    );
    if !classes.is_empty() {
        let classes = Json::Array(classes);
        text.push_str(&format!("classes: {}\n", flow(&classes)));
        document.insert("classes", classes);
    }
    for (name, entries) in [("tools", &parts.tools), ("origins", &parts.origins), ("boundaries", &parts.boundaries)] {
        let before = current.get(name).and_then(Json::as_array).unwrap_or_default();
        if before.is_empty() && entries.is_empty() {
            continue;
        }
        text.push_str(&format!("{name}:\n"));
        before.iter().for_each(|entry| text.push_str(&format!("  - {}\n", flow(entry))));
        for entry in entries {
            entry.comments.iter().for_each(|line| text.push_str(&comment("  ", line)));
            match name {
                "tools" | "origins" => text.push_str(&format!("  - {}\n", flow(&Json::Object(entry.item.clone())))),
                _ => block(&entry.item, &mut text),
            }
        }
        let entries = entries.iter().map(|entry| Json::Object(entry.item.clone()));
        document.insert(name, Json::Array(before.iter().cloned().chain(entries).collect()));
    }
    (document, text)
}

fn comment(indent: &str, line: &str) -> String {
    // A line break would end the comment.
    let line: String = line.chars().map(|c| if is_plain(c) { c } else { '\u{fffd}' }).collect();
    // Logs of CI systems take `##[…]` for a command.
    format!("{indent}# {}\n", line.replace("##", "# #"))
}

/// A boundary, with a line for each member and each rule.
fn block(item: &Object, text: &mut String) {
    for (at, (name, value)) in item.iter().enumerate() {
        text.push_str(if at == 0 { "  - " } else { "    " });
        match value {
            Json::Array(rules) => {
                text.push_str(&format!("{}:\n", key(name)));
                rules.iter().for_each(|rule| text.push_str(&format!("      - {}\n", flow(rule))));
            }
            value => text.push_str(&format!("{}: {}\n", key(name), flow(value))),
        }
    }
}

/// A value on one line.
fn flow(json: &Json) -> String {
    match json {
        Json::Array(items) => format!("[{}]", items.iter().map(flow).collect::<Vec<_>>().join(", ")),
        Json::Object(object) => {
            let members: Vec<_> =
                object.iter().map(|(name, value)| format!("{}: {}", key(name), flow(value))).collect();
            format!("{{{}}}", members.join(", "))
        }
        Json::String(text) => quoted(text),
        Json::Null | Json::Bool(_) | Json::Number(_) => json.to_text(),
    }
}

/// The words that some readers of YAML take for a value of another type.
const WORDS: [&str; 9] = ["true", "false", "null", "yes", "no", "on", "off", "y", "n"];

fn key(name: &str) -> String {
    let plain = name.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_') && !name.is_empty();
    if plain && !WORDS.contains(&name) { name.to_owned() } else { quoted(name) }
}

fn quoted(text: &str) -> String {
    let mut quoted = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => quoted.extend(['\\', c]),
            // As in comments.
            c if is_plain(c) && !(c == '#' && quoted.ends_with('#')) => quoted.push(c),
            c => quoted.push_str(&format!("\\U{:08x}", u32::from(c))),
        }
    }
    quoted.push('"');
    quoted
}

/// Whether a letter stands for itself and cannot be seen as another: neither a control nor invisible.
fn is_plain(c: char) -> bool {
    c == ' ' || c.is_ascii_graphic() || c.is_alphanumeric() || c == '…'
}
