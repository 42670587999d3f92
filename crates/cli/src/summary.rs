//! Receipts as text for people.

use std::io::{self, Write};

use proofmark_receipt::{Detail, Json, Receipt, Status};

use crate::paint::{Paint, printable};

/// The most checks listed; the receipt holds all of them.
const MAX_LISTED: usize = 20;

/// The most skipped tests named.
const MAX_SKIPPED: usize = 10;

/// Writes the verdict, the checks that did not pass, and the receipt's id.
pub(crate) fn write(out: &mut impl Write, label: &str, receipt: &Receipt, paint: Paint) -> io::Result<()> {
    heading(out, label, receipt, paint)?;
    let details = &receipt.results().details;
    let failed: Vec<&Detail> = details.iter().filter(|detail| detail.status != Status::Pass).collect();
    for detail in failed.iter().take(MAX_LISTED) {
        check(out, detail, paint)?;
    }
    if let Some(more) = failed.len().checked_sub(MAX_LISTED).filter(|more| *more > 0) {
        writeln!(out, "  … and {more} more; see `proofmark receipt show {}`", receipt.receipt_id())?;
    }
    if let Some((count, names)) = skipped(receipt).filter(|(count, _)| *count > 0) {
        let names =
            names.iter().filter_map(Json::as_str).take(MAX_SKIPPED).map(printable).collect::<Vec<_>>().join(", ");
        let more = if count > MAX_SKIPPED as u64 { ", …" } else { "" };
        writeln!(out, "  skipped, and no checks: {names}{more}")?;
    }
    writeln!(out, "  {}", paint.dim(&format!("receipt {}", receipt.receipt_id())))
}

/// Writes a receipt in full.
pub(crate) fn write_whole(out: &mut impl Write, label: &str, receipt: &Receipt, paint: Paint) -> io::Result<()> {
    heading(out, label, receipt, paint)?;
    for detail in &receipt.results().details {
        check(out, detail, paint)?;
    }
    field(out, "receipt", &receipt.receipt_id().to_string())?;
    field(out, "at", receipt.verified_at().as_str())?;
    field(out, "tier", &receipt.tier().to_string())?;
    let hashes = receipt.hashes();
    field(out, "specification", &hashes.specification.to_string())?;
    field(out, "output", &hashes.output.to_string())?;
    if let Some(tests) = hashes.tests {
        field(out, "tests", &tests.to_string())?;
    }
    for (name, value) in receipt.metadata().iter() {
        let text = value.as_str().map_or_else(|| value.to_text(), str::to_owned);
        field(out, &printable(name), &printable(&text))?;
    }
    match receipt.signature() {
        Some(signature) => field(out, "signed by", &printable(&signature.signer_id)),
        None => field(out, "signed by", "unsigned"),
    }
}

fn heading(out: &mut impl Write, label: &str, receipt: &Receipt, paint: Paint) -> io::Result<()> {
    let results = receipt.results();
    let task = receipt.task().and_then(|task| task.task_id.as_deref().or(task.description.as_deref()));
    let name = task.map_or_else(|| printable(label), |task| format!("{} ({})", printable(label), printable(task)));
    // The receipt may be of another issuer, whose metadata has any content: a value of another type is not shown.
    let milliseconds = receipt.metadata().get("execution_ms").and_then(Json::as_number);
    let duration = milliseconds.map_or_else(String::new, |number| format!(", {} ms", printable(number.as_str())));
    let checks = if results.total == 1 { "check" } else { "checks" };
    let verdict = paint.verdict(receipt.verdict());
    let skipped = skipped(receipt).map_or_else(String::new, |(count, _)| format!(", {count} skipped"));
    writeln!(out, "{verdict} {name}: {} of {} {checks} passed{skipped}{duration}", results.passed, results.total)
}

fn check(out: &mut impl Write, detail: &Detail, paint: Paint) -> io::Result<()> {
    let status = match detail.status {
        Status::Pass => paint.good(detail.status.as_str()),
        Status::Fail | Status::Error => paint.bad(detail.status.as_str()),
    };
    writeln!(out, "  {status} {}", printable(&detail.name))?;
    for (name, value) in [
        ("constraint", &detail.constraint),
        ("expected", &detail.expected),
        ("actual", &detail.actual),
        ("message", &detail.message),
    ] {
        if let Some(value) = value {
            writeln!(out, "      {name:<10} {}", printable(value))?;
        }
    }
    Ok(())
}

/// How many tests of a project were skipped and are no checks, and the names that the receipt has.
fn skipped(receipt: &Receipt) -> Option<(u64, &[Json])> {
    let skipped = receipt.metadata().get("skipped")?.as_object()?;
    let names = skipped.get("tests").and_then(Json::as_array).unwrap_or_default();
    Some((skipped.get("count")?.as_number()?.as_u64()?, names))
}

fn field(out: &mut impl Write, name: &str, value: &str) -> io::Result<()> {
    writeln!(out, "  {name:<22} {value}")
}
