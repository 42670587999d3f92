//! SARIF 2.1.0, which code scanning reads.

use proofmark_receipt::{Json, Object, object};

use super::{Case, Group, Location, Status};
use crate::paint::{printable, printable_lines};

/// The log: a result for each case that did not pass.
pub(crate) fn log(groups: &[Group]) -> Json {
    let cases = || groups.iter().flat_map(|group| group.failures().map(move |case| (group, case)));
    let mut ids: Vec<&str> = cases().map(|(_, case)| rule_id(case)).collect();
    ids.sort_unstable();
    ids.dedup();
    let rules: Vec<Json> = ids.iter().map(|id| Json::from(object! { "id": printable(id) })).collect();
    let driver = object! {
        "name": "proofmark",
        "version": env!("CARGO_PKG_VERSION"),
        "rules": rules,
    };
    let inside: Vec<Json> = groups
        .iter()
        .filter(|group| group.decided_inside > 0)
        .map(|group| Json::from(object! { "name": printable(&group.name), "checks": group.decided_inside as u64 }))
        .collect();
    let notes: Vec<Json> =
        groups.iter().flat_map(|group| &group.notes).map(|note| Json::from(printable(note))).collect();
    let mut properties = Object::new();
    if !inside.is_empty() {
        properties.insert("decidedBySubmission", inside);
    }
    if !notes.is_empty() {
        properties.insert("notes", notes);
    }
    let run = object! {
        "tool": object! { "driver": driver },
        // Places count characters, where the default of SARIF is UTF-16 code units.
        "columnKind": "unicodeCodePoints",
        "properties"?: (!properties.is_empty()).then_some(properties),
        "results": cases().map(|(group, case)| result(group, case)).collect::<Vec<_>>(),
    };
    object! {
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": vec![Json::from(run)],
    }
    .into()
}

/// Code scanning groups results by rule.
fn rule_id(case: &Case) -> &str {
    case.code.as_deref().unwrap_or(match case.status {
        Status::Error => "check-error",
        Status::Skipped => "check-skipped",
        Status::Pass | Status::Warning | Status::Fail => "check-failed",
    })
}

fn result(group: &Group, case: &Case) -> Json {
    let text = match &case.code {
        Some(_) => case.text(),
        None => format!("{}: {}", case.name, case.text()),
    };
    let level = match case.status {
        Status::Pass | Status::Skipped => "note",
        Status::Warning => "warning",
        Status::Fail | Status::Error => "error",
    };
    let logical = group.qualifies.then(|| {
        let name = object! { "name": printable(&case.name), "fullyQualifiedName": printable(&group.full_name(case)) };
        vec![Json::from(name)]
    });
    let location = object! {
        "physicalLocation"?: case.location.as_ref().map(physical),
        "logicalLocations"?: logical,
    };
    object! {
        "ruleId": printable(rule_id(case)),
        "level": level,
        "message": object! { "text": message(&text) },
        "locations": vec![Json::from(location)],
    }
    .into()
}

fn physical(location: &Location) -> Json {
    let region = location.line.map(|line| object! { "startLine": line, "startColumn"?: location.column });
    object! { "artifactLocation": object! { "uri": uri(location.path()) }, "region"?: region }.into()
}

/// Plain text, in which `[text](target)` would be a link (SARIF 3.11.6).
fn message(text: &str) -> String {
    printable_lines(text).collect::<Vec<_>>().join("\n").replace("](", "] (")
}

/// A path as a relative reference (RFC 3986).
fn uri(path: &str) -> String {
    let bytes = path.bytes().map(|byte| match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'.' | b'-' | b'_' | b'~' => char::from(byte).to_string(),
        byte => format!("%{byte:02X}"),
    });
    bytes.collect()
}
