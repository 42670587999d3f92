//! `npm test` as the command of a project: what the script of its `package.json` runs.

use std::collections::BTreeMap;

use proofmark_checks::{Content, Script};
use proofmark_receipt::{Json, Object};

use super::HeldTests;

const PACKAGE: &str = "package.json";

/// The `package.json` of who chooses the command: of the held tests, or of the project where none are held. With held tests, a
/// submission's own is never read, since it would choose what runs.
pub(super) fn owners_package<'a>(
    files: &'a BTreeMap<String, Content>,
    held: Option<&'a HeldTests>,
) -> Option<&'a [u8]> {
    match held {
        Some(held) => held.files.get(PACKAGE).map(|(content, _)| content),
        None => files.get(PACKAGE),
    }
    .and_then(Content::here)
}

/// Makes what a script runs the command, where the command is the script. Settings win over what it says.
pub(super) fn run(verification: &mut Object, package: Option<&[u8]>) {
    let Some(script) = package.and_then(|package| script(verification, package)) else { return };
    let words: Vec<Json> = script.command.iter().map(|word| Json::from(word.as_str())).collect();
    verification.insert("command", words);
    if let Some(report) = script.report.filter(|_| !verification.contains("report")) {
        verification.insert("report", report);
    }
    let mut env = verification.get("env").and_then(Json::as_object).cloned().unwrap_or_default();
    for (name, value) in script.env {
        if !env.contains(&name) {
            env.insert(name, value);
        }
    }
    if !env.is_empty() {
        verification.insert("env", env);
    }
}

fn script(verification: &Object, package: &[u8]) -> Option<Script> {
    let command = verification.get("command")?;
    let words: Vec<String> = match command.as_str() {
        Some(line) => line.split_whitespace().map(str::to_owned).collect(),
        None => command.as_array()?.iter().map(|word| word.as_str().map(str::to_owned)).collect::<Option<_>>()?,
    };
    Script::of(&words, &Json::parse(package).ok()?)
}
