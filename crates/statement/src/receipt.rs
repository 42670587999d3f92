//! Receipts and approvals, beside their checks.

use proofmark_evidence::Share;
use proofmark_receipt::document::counted;
use proofmark_receipt::{Json, Object, Receipt};

use crate::metadata::{SAID, members};
use crate::{Kind, Said, Section, text};

/// What each tier relies on.
pub const TIERS: [&str; 4] = ["tests ran", "constraints were checked", "other verifiers were asked", "a person judged"];

/// What stands for the digest of an environment that is not known.
const UNKNOWN: &str = "unknown";
/// What the isolation of namespaces ends in.
const NAMESPACE: &str = "-namespace";

/// What a receipt says beside its verdict and its checks; what only its issuer vouches for comes last.
#[must_use]
pub fn of_receipt(receipt: &Receipt) -> Vec<Section> {
    let (metadata, hashes) = (receipt.metadata(), receipt.hashes());
    let mut said = Said::default();
    if let Some(task) = receipt.task() {
        said.words("task", task.task_id.as_deref());
        said.words("task type", task.task_type.as_deref());
        said.words("about", task.description.as_deref());
    }
    said.say("receipt", Kind::Receipt, Some(receipt.receipt_id().to_string()));
    let verifier = text(metadata, "verifier").map_or_else(String::new, |by| format!(", by {by}"));
    said.words("when", Some(format!("{}{verifier}", receipt.verified_at())));
    let tier = TIERS.get(usize::from(receipt.tier())).copied().unwrap_or("an unknown tier");
    said.words("tier", Some(format!("{}: {tier}", receipt.tier())));
    said.words("ran on", ran_on(metadata));
    said.words("isolation", isolation(metadata));
    said.words("compared", text(metadata, "comparison").map(compared));
    said.words("packages", metadata.get("environment").and_then(environment));
    said.words("counter-run", metadata.get("counter_run").and_then(counter_run));
    said.words("decided by", text(metadata, "decided").map(decided));
    said.words("strength", strength(receipt));
    said.words("errors of", text(metadata, "fault").map(|fault| format!("the {fault}")));
    said.chain(metadata);
    said.say("specification", Kind::Digest, Some(hashes.specification.to_string()));
    said.say("output", Kind::Digest, Some(hashes.output.to_string()));
    said.say("tests", Kind::Digest, hashes.tests.map(|tests| tests.to_string()));
    let environment = metadata.get("environment").and_then(Json::as_object);
    let known = environment.and_then(|environment| text(environment, "digest")).filter(|digest| *digest != UNKNOWN);
    said.say("environment", Kind::Digest, known);
    said.say("suite", Kind::Digest, text(metadata, "suite"));
    said.say("request", Kind::Digest, text(metadata, "request"));
    said.say("supersedes", Kind::Receipt, superseded(receipt).map(|(id, _)| id));
    let approval = metadata.get("approval").and_then(Json::as_object);
    let sections = [
        said.under(None),
        members("approval", approval, &[]),
        members("metadata, as the issuer states it", Some(metadata), &SAID),
    ];
    sections.into_iter().filter(|section| !section.statements.is_empty()).collect()
}

/// The id of the receipt that this one takes the place of, and the hash of the whole of it, as the issuer states them.
#[must_use]
pub fn superseded(receipt: &Receipt) -> Option<(&str, &str)> {
    let older = receipt.metadata().get("supersedes")?.as_object()?;
    text(older, "receipt_id").zip(text(older, "hash"))
}

/// How many mutants of the submission its tests saw.
fn strength(receipt: &Receipt) -> Option<String> {
    let share = Share::strength_of(receipt)?;
    let counts = receipt.metadata().get("strength").and_then(Json::as_object);
    let count = |name: &str| counts.and_then(|counts| counts.get(name)?.as_number()?.as_u64()).unwrap_or_default();
    let (killed, survived, invalid) = (count("killed"), count("survived"), count("invalid"));
    let invalid = if invalid > 0 { format!(", {invalid} did not load") } else { String::new() };
    Some(format!("{share}: of the mutants of the submission, {killed} failed the tests and {survived} passed{invalid}"))
}

fn compared(comparison: &str) -> &str {
    match comparison {
        "in-process" => "by tests in the submission's process, which can forge their report",
        other => other,
    }
}

/// What became of held tests with wrong expectations (`metadata.counter_run`), on one line; none where the value has another
/// form.
#[must_use]
pub fn counter_run(value: &Json) -> Option<String> {
    let counter_run = value.as_object()?;
    if let Some(why) = counter_run.get("none") {
        return Some(format!("none: {}", why.as_str()?));
    }
    let count = |name: &str| counter_run.get(name)?.as_number()?.as_u64();
    let (contradicted, altered) = (count("contradicted")?, count("altered")?);
    let further = ["unproven", "untouched"].map(|name| (name, count(name).unwrap_or(0)));
    let further =
        further.into_iter().filter(|(_, number)| *number > 0).map(|(name, number)| format!(", {number} {name}"));
    Some(format!("{contradicted} of {altered} contradicted by a wrong expectation{}", further.collect::<String>()))
}

/// The packages that a project's tests could import (`metadata.environment`), on one line; `None` if the value has another form.
#[must_use]
pub fn environment(value: &Json) -> Option<String> {
    let environment = value.as_object()?;
    let text = |name: &str| environment.get(name).and_then(Json::as_str);
    if text("digest")? == UNKNOWN {
        return Some(format!("unknown: {}", text("why")?));
    }
    let lock = environment.get("lock").and_then(Json::as_object).and_then(|lock| lock.get("file")?.as_str());
    let of = match (text("from")?, lock) {
        ("lock", Some(file)) => format!(" of the lock file {file}"),
        ("venv", _) => " of a virtual environment".to_owned(),
        ("host", _) => " of the host".to_owned(),
        ("none", _) => return Some("none".to_owned()),
        _ => return None,
    };
    let packages = environment.get("packages")?.as_number()?.as_u64()?;
    Some(format!("{}{of}", counted(packages, "package")))
}

fn decided(by: &str) -> &str {
    match by {
        "verifier" => "the verifier, every check",
        "submission" => "the submission's process, at least one check",
        other => other,
    }
}

fn ran_on(metadata: &Object) -> Option<String> {
    match (text(metadata, "language"), text(metadata, "runtime")) {
        (Some(language), Some(runtime)) if !runtime.starts_with(language) => Some(format!("{language}, {runtime}")),
        (language, runtime) => runtime.or(language).map(str::to_owned),
    }
}

/// The mechanisms on one line, namespaces together.
fn isolation(metadata: &Object) -> Option<String> {
    let mechanisms = metadata.get("isolation").and_then(Json::as_array)?.iter().filter_map(Json::as_str);
    let (mut levels, mut namespaces, mut others) = (Vec::new(), Vec::new(), Vec::new());
    for mechanism in mechanisms {
        match (mechanism.strip_prefix("level:"), mechanism.strip_suffix(NAMESPACE)) {
            (Some(level), _) => levels.push(format!("level {level}")),
            (None, Some(namespace)) => namespaces.push(namespace),
            (None, None) => others.push(mechanism.to_owned()),
        }
    }
    if !namespaces.is_empty() {
        others.insert(0, format!("namespaces ({})", namespaces.join(", ")));
    }
    levels.extend(others);
    (!levels.is_empty()).then(|| levels.join("; "))
}
