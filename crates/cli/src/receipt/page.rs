//! Signed documents as pages for people.

use std::io::{self, Write};

use proofmark_boundary::DecisionReceipt;
use proofmark_evidence::ReceiptKind;
use proofmark_keys::KnownSigners;
use proofmark_receipt::{ChainHead, Json, Object, Receipt, SignatureStatus, Timestamp, Verification};

use crate::decision_page;
use crate::paint::{Paint, printable, printable_lines};
use crate::report::{Extent, Human, Places, Style, count, of_receipt};
use crate::signed::signer_words;

/// Members of metadata that a page says in its own words, or that say the same of every receipt.
const SAID: [&str; 18] = [
    "verifier",
    "execution_ms",
    "structural",
    "sandbox",
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
    "evidence",
    "prompt_digest",
    "request",
];

/// What the isolation of namespaces ends in.
const NAMESPACE: &str = "-namespace";

/// Writes pages to standard output.
pub(crate) struct Page<'a> {
    pub(crate) paint: Paint,
    /// Whom the user knows by name.
    pub(crate) known: &'a KnownSigners,
}

impl Page<'_> {
    pub(crate) fn receipt(
        &self,
        out: &mut impl Write,
        label: &str,
        receipt: &Receipt,
        checked: &Verification,
    ) -> io::Result<()> {
        let group = of_receipt(label, receipt, &Places::default());
        let metadata = receipt.metadata();
        let kind = match ReceiptKind::of(receipt) {
            Some(ReceiptKind::Verification) => "verification",
            Some(ReceiptKind::StepAcceptance) => "acceptance of a workflow step",
            Some(ReceiptKind::Approval) => "approval of an action",
            Some(ReceiptKind::Quorum) => "verdict of several verifiers",
            None => "receipt of an unknown kind",
        };
        let summary = group.summary.clone().unwrap_or_default();
        writeln!(out, "{} {kind}: {}", self.paint.verdict(receipt.verdict()), printable(&summary))?;
        self.signature(out, checked)?;
        if let Some(task) = receipt.task() {
            field(out, "task", task.task_id.as_deref())?;
            field(out, "about", task.description.as_deref())?;
        }
        field(out, "receipt", Some(&receipt.receipt_id().to_string()))?;
        let verifier =
            metadata.get("verifier").and_then(Json::as_str).map_or_else(String::new, |by| format!(", by {by}"));
        field(out, "when", Some(&format!("{}{verifier}", receipt.verified_at())))?;
        field(out, "tier", Some(&format!("{}: {}", receipt.tier(), tier(receipt.tier()))))?;
        field(out, "ran on", ran_on(metadata).as_deref())?;
        field(out, "isolation", isolation(metadata).as_deref())?;
        match metadata.get("comparison").and_then(Json::as_str) {
            Some("in-process") => {
                field(out, "compared", Some("by tests in the submission's process, which can forge their report"))?
            }
            other => field(out, "compared", other)?,
        }
        let fault = metadata.get("fault").and_then(Json::as_str);
        field(out, "errors of", fault.map(|fault| format!("the {fault}")).as_deref())?;
        self.chain(out, metadata)?;
        let hashes = receipt.hashes();
        field(out, "specification", Some(&hashes.specification.to_string()))?;
        field(out, "output", Some(&hashes.output.to_string()))?;
        field(out, "tests", hashes.tests.map(|tests| tests.to_string()).as_deref())?;
        field(out, "request", metadata.get("request").and_then(Json::as_str))?;
        // Under headings of their own: the issuer chooses the names, and could choose that of a line above.
        let approval = metadata.get("approval").and_then(Json::as_object);
        members(out, "approval", approval, &[])?;
        members(out, "metadata, as the issuer states it", Some(metadata), &SAID)?;
        if group.failures().next().is_some() {
            writeln!(out, "checks that did not pass")?;
        }
        Human::new(Style::Verdicts).with_extent(Extent::WHOLE).failures(out, &group)
    }

    pub(crate) fn decision(
        &self,
        out: &mut impl Write,
        receipt: &DecisionReceipt,
        checked: &Verification,
    ) -> io::Result<()> {
        decision_page::write(out, receipt, None)?;
        self.signature(out, checked)?;
        let document = receipt.document();
        let bound = |name: &str| receipt.bound(name);
        field(out, "when", bound("decided_at"))?;
        field(out, "expires", bound("expires_at"))?;
        field(out, "action class", document.get("action_class").and_then(Json::as_str))?;
        for name in ["environment", "agent"] {
            field(out, name, bound(name))?;
        }
        for (name, digest) in [("action", "action_hash"), ("policy", "policy_hash"), ("facts", "facts_hash")] {
            field(out, name, bound(digest))?;
        }
        let metadata = document.get("metadata").and_then(Json::as_object);
        metadata.map_or(Ok(()), |metadata| self.chain(out, metadata))?;
        list(out, "next steps", document.get("safe_next_steps"), "message")
    }

    pub(crate) fn head(&self, out: &mut impl Write, head: &ChainHead, checked: &Verification) -> io::Result<()> {
        let text = |name: &str| head.document().get(name).and_then(Json::as_str);
        let length = usize::try_from(head.length()).unwrap_or(usize::MAX);
        let chain = printable(text("chain").unwrap_or_default());
        writeln!(out, "head of the chain `{chain}`: {}", count(length, "receipt"))?;
        self.signature(out, checked)?;
        field(out, "when", text("signed_at"))?;
        field(out, "last receipt", Some(&head.tip().to_string()))
    }

    /// Who signed the document, and whether that is so.
    fn signature(&self, out: &mut impl Write, checked: &Verification) -> io::Result<()> {
        let Verification { answer, trust, signer, .. } = checked;
        match (answer, signer) {
            (SignatureStatus::Valid, Some(signer)) => {
                let who = printable(&signer_words(self.known, signer, *trust));
                writeln!(out, "  {:<16} {who}; the signature is {}", "signed by", self.paint.good("valid"))?;
                // Where the line above has only a name.
                let id = signer.to_string();
                field(out, "signer id", (!who.contains(&id)).then_some(id.as_str()))
            }
            (answer, _) => {
                let cause = answer.cause().unwrap_or_default();
                writeln!(out, "  {:<16} {}: {}", "signature", self.paint.bad(answer.as_str()), printable(&cause))
            }
        }
    }

    fn chain(&self, out: &mut impl Write, metadata: &Object) -> io::Result<()> {
        let Some(position) = metadata.get("chain_position").and_then(Json::as_number) else { return Ok(()) };
        let before = metadata.get("previous_receipt").and_then(Json::as_str);
        let before = before.map_or_else(|| ", the first".to_owned(), |before| format!(", after {before}"));
        field(out, "chain", Some(&format!("position {}{before}", position.as_str())))
    }
}

fn tier(tier: u8) -> &'static str {
    match tier {
        0 => "tests ran",
        1 => "constraints were checked",
        2 => "other verifiers were asked",
        _ => "a person judged",
    }
}

fn ran_on(metadata: &Object) -> Option<String> {
    let text = |name: &str| metadata.get(name).and_then(Json::as_str);
    let (language, runtime) = (text("language"), text("runtime"));
    match (language, runtime) {
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
    Some(levels.join("; "))
}

/// The members of an object but these, under a heading.
fn members(out: &mut impl Write, heading: &str, object: Option<&Object>, but: &[&str]) -> io::Result<()> {
    let shown =
        |(name, value): &(&str, &Json)| !but.contains(name) && value.as_array().is_none_or(|items| !items.is_empty());
    let members: Vec<_> = object.into_iter().flat_map(Object::iter).filter(shown).collect();
    if members.is_empty() {
        return Ok(());
    }
    writeln!(out, "{heading}")?;
    for (name, value) in members {
        field(out, &name.replace('_', " "), Some(&words(name, value)))?;
    }
    Ok(())
}

/// A value for people: a reviewer by id, a time as a date.
fn words(name: &str, value: &Json) -> String {
    let reviewer = || value.as_object().filter(|_| name == "reviewer")?.get("id")?.as_str();
    let time = || {
        let milliseconds = value.as_number().filter(|_| name.ends_with("_ms"))?.as_str().parse().ok()?;
        Some(Timestamp::from_unix_millis(milliseconds).to_string())
    };
    match value.as_str().or_else(reviewer) {
        Some(text) => text.to_owned(),
        None => time().unwrap_or_else(|| value.to_text()),
    }
}

fn field(out: &mut impl Write, name: &str, value: Option<&str>) -> io::Result<()> {
    match value {
        Some(value) => writeln!(out, "  {:<16} {}", printable(name), printable(value)),
        None => Ok(()),
    }
}

/// Texts, or the texts of objects, under a heading.
fn list(out: &mut impl Write, heading: &str, items: Option<&Json>, member: &str) -> io::Result<()> {
    let items = items.and_then(Json::as_array).unwrap_or_default();
    let text = |item: &Json| {
        let inner = item.as_object().and_then(|object| object.get(member)).and_then(Json::as_str);
        item.as_str().or(inner).map(str::to_owned)
    };
    let texts: Vec<String> = items.iter().filter_map(text).collect();
    if texts.is_empty() {
        return Ok(());
    }
    writeln!(out, "{heading}")?;
    texts.iter().flat_map(|text| printable_lines(text)).try_for_each(|line| writeln!(out, "  {line}"))
}
