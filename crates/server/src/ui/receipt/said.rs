//! What a receipt states beside its checks: what was verified, where it ran, and whose fault an error is.

use proofmark_receipt::{Json, Object, Receipt, Timestamp};

use super::super::decision::indented;
use super::super::text::Shown;
use super::super::words::{encoded, short_digest, spaced};

/// A statement, in the words of people.
pub(crate) struct Statement {
    pub(crate) name: Shown,
    pub(crate) value: Shown,
    /// The whole value, where it is shown shortened.
    pub(crate) whole: Option<String>,
    pub(crate) more: Option<Shown>,
    pub(crate) is_code: bool,
    pub(crate) href: Option<String>,
}

/// Members of metadata that have words of their own here, or that other parts of the page show.
const SAID: [&str; 20] = [
    "language",
    "runtime",
    "isolation",
    "comparison",
    "fault",
    "chain_position",
    "previous_receipt",
    "previous_receipt_hash",
    "issuer_key",
    "kind",
    "approval",
    "request",
    "prompt_digest",
    "verifier",
    "execution_ms",
    "structural",
    "sandbox",
    "evidence",
    "suite",
    "supersedes",
];

/// Which of the remaining members are shown; the issuer chooses them.
const MAX_OTHERS: usize = 40;

pub(crate) fn statements(receipt: &Receipt) -> Vec<Statement> {
    let (hashes, metadata) = (receipt.hashes(), receipt.metadata());
    let mut all = Vec::new();
    if let Some(Json::Object(approval)) = metadata.get("approval") {
        all.extend(approved(approval));
    } else {
        all.push(digest("The work", &hashes.output.to_string(), None));
        all.push(digest("What was asked for", &hashes.specification.to_string(), None));
        all.extend(hashes.tests.map(|tests| digest("The tests", &tests.to_string(), None)));
        all.extend(ran(metadata));
    }
    all.extend(text(metadata, "request").map(|request| digest("The request", request, None)));
    all.extend(text(metadata, "verifier").map(|by| plain("Verified by", by, None)));
    let others = metadata.iter().filter(|(name, value)| !SAID.contains(name) && !is_empty(value));
    all.extend(others.take(MAX_OTHERS).map(|(name, value)| Statement {
        name: Shown::line(&spaced(name), 60),
        value: value.as_str().map_or_else(|| indented(value), str::to_owned).into(),
        whole: None,
        more: None,
        is_code: true,
        href: None,
    }));
    all
}

fn is_empty(value: &Json) -> bool {
    value.as_array().is_some_and(<[Json]>::is_empty) || value.as_object().is_some_and(Object::is_empty)
}

/// Where the work ran, and what that is worth.
fn ran(metadata: &Object) -> Vec<Statement> {
    let mut all = Vec::new();
    let runtime = text(metadata, "runtime").or_else(|| text(metadata, "language"));
    let isolation: Vec<_> = metadata.get("isolation").and_then(Json::as_array).unwrap_or_default().iter().collect();
    let isolation: Vec<_> = isolation.into_iter().filter_map(Json::as_str).collect();
    let level = isolation.iter().find_map(|one| one.strip_prefix("level:"));
    let walls: Vec<_> =
        isolation.iter().filter(|one| !one.starts_with("level:")).map(|one| one.replace('-', " ")).collect();
    if let Some(runtime) = runtime {
        let level = level.map_or_else(String::new, |level| format!(", isolation level {level}"));
        let more = (!walls.is_empty()).then(|| walls.join(", "));
        all.push(plain("Where it ran", &format!("{runtime}{level}"), more.as_deref()));
    }
    match text(metadata, "comparison") {
        Some("in-process") => all.push(plain(
            "Compared",
            "by tests in the submission's process",
            Some("The submission could have forged their report."),
        )),
        Some(other) => all.push(plain("Compared", other, None)),
        None => {}
    }
    match text(metadata, "fault") {
        Some("submission") => {
            all.push(plain("Whose fault", "The submission's", Some("A check without a result counts as not passed.")))
        }
        Some(other) => all.push(plain("Whose fault", other, None)),
        None => {}
    }
    all
}

/// What an approval approves, and who gave it.
fn approved(approval: &Object) -> Vec<Statement> {
    let mut all = Vec::new();
    let reviewer = approval.get("reviewer").and_then(Json::as_object);
    all.extend(reviewer.and_then(|reviewer| text(reviewer, "id")).map(|id| plain("Approved by", id, None)));
    all.extend(text(approval, "role").map(|role| plain("In the role", role, None)));
    all.extend(text(approval, "note").map(|note| plain("Because", note, None)));
    for (name, member) in [("For the agent", "agent"), ("In the environment", "environment")] {
        all.extend(text(approval, member).map(|value| plain(name, value, None)));
    }
    all.extend(text(approval, "action_hash").map(|value| digest("The action", value, None)));
    all.extend(text(approval, "decision_id").map(|id| {
        let href = Some(format!("/ui/decisions/{}", encoded(id)));
        Statement { value: Shown::line(id, 80), href, ..digest("On the decision", id, None) }
    }));
    let until = text(approval, "expires_at").and_then(|until| until.parse::<Timestamp>().ok());
    all.extend(until.map(|until| plain("Counts until", &super::When::full(until.unix_millis()).words(), None)));
    all
}

fn plain(name: &str, value: &str, more: Option<&str>) -> Statement {
    Statement {
        name: name.into(),
        value: value.into(),
        whole: None,
        more: more.map(Shown::from),
        is_code: false,
        href: None,
    }
}

fn digest(name: &str, value: &str, more: Option<&str>) -> Statement {
    Statement {
        name: name.into(),
        value: Shown::line(&short_digest(value), 120),
        whole: Some(Shown::line(value, 200).plain()),
        more: more.map(Shown::from),
        is_code: true,
        href: None,
    }
}

fn text<'a>(object: &'a Object, name: &str) -> Option<&'a str> {
    object.get(name)?.as_str()
}
