use proofmark_receipt::document::{Cause, DocumentError, Field};
use proofmark_receipt::{Receipt, Verdict};

use super::{FORMAT, Judgment, MAX_ON, MAX_ROLE_BYTES, MAX_STATEMENT_BYTES, NAME, TIER, verdict};
use crate::form;
use crate::reference::Reference;

const MEMBERS: [&str; 6] = ["format", "role", "statement", "shown", "on", "expires_at"];

/// The whole form of a judgment.
pub(super) fn judgment(receipt: &Receipt) -> Result<Judgment, DocumentError> {
    form::demand(receipt.tier() == TIER, "tier", "a judgment is of tier 3")?;
    let task_type = receipt.task().and_then(|task| task.task_type.as_deref());
    form::demand(task_type == Some(NAME), "task.task_type", "expected `judgment`")?;
    let field = form::metadata(receipt, NAME).ok_or_else(|| form::wrong("metadata.judgment", "missing field"))?;
    let judgment = read(&field)?;
    form::common(receipt, NAME, false, receipt.verdict() == Verdict::Error)?;
    form::demand(receipt.hashes().tests.is_none(), "hashes.tests", "a judgment has no tests")?;
    let results = receipt.results();
    let is_whole = results.total > 0 && results.details.len() as u64 == results.total;
    form::demand(is_whole, "results.details", "expected one check for each criterion, and at least one")?;
    let is_told = results.details.iter().all(|detail| detail.message.is_some());
    form::demand(is_told, "results.details", "a criterion has no `message`")?;
    form::demand(receipt.verdict() == verdict(results), "verdict", "the criteria come to another verdict")?;
    Ok(judgment)
}

fn read(field: &Field<'_>) -> Result<Judgment, DocumentError> {
    let fields = field.fields()?;
    fields.only(&MEMBERS)?;
    fields.need("format", "write `proofmark-judgment/1`")?.choice(&[(FORMAT, ())])?;
    Ok(Judgment {
        role: form::text(&fields.need("role", "say in which role")?, MAX_ROLE_BYTES)?,
        statement: form::text(&fields.need("statement", "say in words what was found")?, MAX_STATEMENT_BYTES)?,
        shown: fields.get("shown").map(|field| form::digest(&field)).transpose()?,
        on: fields.get("on").map_or(Ok(Vec::new()), |field| read_on(&field))?,
        expires_at: fields
            .get("expires_at")
            .map(|field| form::parsed(&field, "an ISO 8601 time in UTC", "write it as in `2026-02-19T00:46:00Z`"))
            .transpose()?,
    })
}

fn read_on(field: &Field<'_>) -> Result<Vec<Reference>, DocumentError> {
    let count = field.array()?.len();
    if count > MAX_ON {
        let error = field.error(Cause::TooMany, format!("{count} receipts"));
        return Err(error.with_help(format!("list at most {MAX_ON}")));
    }
    let on = field.items()?.iter().map(Reference::read).collect::<Result<Vec<_>, _>>()?;
    unique(&field.at, &on)?;
    Ok(on)
}

/// Refuses a receipt that is named twice, in the list at `place`.
pub(super) fn unique(place: &str, on: &[Reference]) -> Result<(), DocumentError> {
    let places = on.iter().enumerate().map(|(at, reference)| (format!("{place}[{at}]"), reference.receipt_id));
    form::unique(places, "receipt")
}
