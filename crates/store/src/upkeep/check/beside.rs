//! Rows that say what a signed document in another table says: each is compared with that document.

use proofmark_receipt::json::{Json, Limits, MAX_DEPTH};
use proofmark_receipt::{Receipt, ReceiptId, Sha256Digest};

use super::scan::Scan;
use super::{Check, StoredDocument};
use crate::engine::db::Db;
use crate::fault::Fault;
use crate::row::Row;
use crate::rows::filter::{parsed, roles_text_of};
use crate::rows::runs::StepRun;
use crate::rows::{counted, jobs, reviews};
use crate::tables::{COUNTED, JOBS, PINS, REVIEWS, RUNS};
use crate::tenant::Tenant;

pub(super) fn check(db: &Db<'_>, check: &mut Check<'_>) -> Result<(), Fault> {
    let document = |of: &str| format!("(SELECT document FROM {of})");
    let facts = document("decisions WHERE decisions.decision_id = asked.decision_id");
    each(db, check, "asked", &["decision_id"], &format!("facts, {facts}"), |check, row| {
        let (id, facts, decision) = (row.text(0)?, row.text(1)?, row.get::<Option<String>>(2)?);
        if let Some(decision) = &decision {
            check.judge("asked", id, StoredDocument::Facts { decision, facts });
        }
        Ok(())
    })?;
    let waiting = document("decisions WHERE decisions.sequence = waiting.sequence");
    each(db, check, "waiting", &["tenant", "sequence"], &format!("roles, {waiting}"), |check, row| {
        let (sequence, roles, decision) = (row.get::<i64>(1)?, row.text(2)?, row.get::<Option<String>>(3)?);
        if decision.is_some_and(|decision| roles_text_of(parsed(&decision).as_ref()) != roles) {
            let detail = "the decision asks for approvals in other roles than the column roles";
            check.wrong("column", "waiting", format!("sequence {sequence}"), detail);
        }
        Ok(())
    })?;
    let receipt = document("receipts WHERE receipts.sequence = requests.sequence");
    each(db, check, "requests", &["sequence"], &format!("document, {receipt}"), |check, row| {
        let (sequence, request, receipt) = (row.get::<i64>(0)?, row.text(1)?, row.get::<Option<String>>(2)?);
        if let Some(receipt) = &receipt {
            check.judge("requests", &format!("sequence {sequence}"), StoredDocument::Request { receipt, request });
        }
        Ok(())
    })?;
    let newer = document("receipts AS newer WHERE newer.sequence = receipts.superseded_by");
    let superseded = Scan {
        table: "receipts",
        key: &["sequence"],
        columns: &format!("receipt_id, {newer}"),
        condition: "superseded_by IS NOT NULL",
    };
    superseded.each(db, check, of_superseded, |_, _| Ok(()))?;
    // Also where somebody wrote something else than an id there.
    let bytes = db.spelled(
        "unhex(replace(reviews.receipt_id, '-', ''))",
        "CASE WHEN replace(reviews.receipt_id, '-', '') ~ '^[0-9a-f]{32}$'
              THEN decode(replace(reviews.receipt_id, '-', ''), 'hex') END",
    );
    let approval = document(&format!(
        "receipts WHERE receipts.tenant = reviews.tenant AND receipts.receipt_id = {bytes} AND receipts.trust IS NULL"
    ));
    let decided = |column: &str| {
        format!(
            "(SELECT {column} FROM decisions WHERE decisions.decision_id = reviews.decision_id
              AND decisions.tenant = reviews.tenant)"
        )
    };
    let columns = format!("{approval}, {}, {}, {}", decided("fingerprint"), decided("subject"), REVIEWS.list());
    each(db, check, "reviews", &["sequence"], &columns, of_review)?;
    each(db, check, "jobs", &["job_id"], &JOBS.list(), |check, row| {
        let job = jobs::read_fields(&JOBS.fields_after(1, row))?;
        check.judge("jobs", &job.job_id.to_string(), StoredDocument::Job(&job));
        Ok(())
    })?;
    let decision = document("decisions WHERE decisions.decision_id = spent.spent_by");
    each(db, check, "spent", &["tenant", "content"], &decision, |check, row| {
        let content = Sha256Digest::from_bytes(row.get(1)?);
        if let Some(decision) = &row.get::<Option<String>>(2)? {
            check.judge("spent", &content.to_string(), StoredDocument::Spent { content: &content, decision });
        }
        Ok(())
    })?;
    let decision =
        document("decisions WHERE decisions.decision_id = counted.decision_id AND decisions.tenant = counted.tenant");
    each(db, check, "counted", COUNTED.key, &format!("{decision}, {}", COUNTED.list()), |check, row| {
        let decision = row.get::<Option<String>>(3)?;
        let count = counted::read(&COUNTED.fields_after(4, row))?;
        let at = format!("{} of {}", count.count.nth, count.count.key);
        match &decision {
            Some(decision) => drop(check.judge("counted", &at, StoredDocument::Counted { count: &count, decision })),
            None => check.wrong("orphan", "counted", at, "it is of no stored decision"),
        }
        Ok(())
    })?;
    each(db, check, "runs", RUNS.key, "version, state", |check, row| {
        let tenant = Tenant::stored(row.text(0)?);
        let (run, step, begun_by): (String, String, String) = (row.get(1)?, row.get(2)?, row.get(3)?);
        let at = format!("{step} of {run}");
        let step = StepRun { run, begun_by, step, version: row.get(4)?, state: row.get(5)? };
        check.judge("runs", &at, StoredDocument::Step { tenant: &tenant, step: &step });
        Ok(())
    })?;
    each(db, check, "pins", PINS.key, "definition, document", of_pin)
}

/// Reads every row of a table: its key, and these columns.
fn each(
    db: &Db<'_>,
    check: &mut Check<'_>,
    table: &'static str,
    key: &'static [&'static str],
    columns: &str,
    take: impl FnMut(&mut Check<'_>, &Row<'_>) -> Result<(), Fault>,
) -> Result<(), Fault> {
    check.progress(table, 0);
    match (Scan { table, key, columns, condition: "1 = 1" }).each(db, check, take, |_, _| Ok(())) {
        // A value that was never stored there. The other tables are verified all the same.
        Err(Fault::Changed(why)) => check.wrong("unreadable", table, "a row".to_owned(), why),
        done => done?,
    }
    Ok(())
}

fn of_superseded(check: &mut Check<'_>, row: &Row<'_>) -> Result<(), Fault> {
    let Ok(id) = ReceiptId::from_bytes(row.get(1)?) else { return Ok(()) };
    let newer = row.get::<Option<String>>(2)?.and_then(|text| Receipt::parse(text.as_bytes()).ok());
    // One that is missing, or cannot be read, is a fault of its own.
    let Some(newer) = newer else { return Ok(()) };
    if newer.metadata().get("supersedes").and_then(Json::as_str) != Some(id.to_string().as_str()) {
        check.wrong(
            "column",
            "receipts",
            id.to_string(),
            "the receipt in the column superseded_by does not supersede it",
        );
    }
    Ok(())
}

fn of_review(check: &mut Check<'_>, row: &Row<'_>) -> Result<(), Fault> {
    let approval: Option<String> = row.get(1)?;
    let review = reviews::read(&REVIEWS.fields_after(4, row))?;
    let at = format!("{} by {}", review.decision_id, review.reviewer);
    for (place, column, stored) in [(2, "fingerprint", &review.fingerprint), (3, "subject", &review.subject)] {
        if row.get::<Option<String>>(place)?.is_some_and(|decided| decided != *stored) {
            let what = format!("the decision has another value than the column {column}");
            check.wrong("column", "reviews", at.clone(), what);
        }
    }
    match (&review.receipt_id, approval) {
        (Some(_), Some(receipt)) => {
            check.judge("reviews", &at, StoredDocument::Approval { review: &review, receipt: &receipt });
        }
        (Some(_), None) => check.wrong("orphan", "reviews", at, "the approval that it names is not stored"),
        (None, _) if review.verdict == reviews::ReviewVerdict::Approved => {
            check.wrong("column", "reviews", at, "it approves without a signed approval");
        }
        (None, _) => {}
    }
    Ok(())
}

fn of_pin(check: &mut Check<'_>, row: &Row<'_>) -> Result<(), Fault> {
    let (server, tool): (String, String) = (row.get(1)?, row.get(2)?);
    let (definition, text): ([u8; 32], String) = (row.get(5)?, row.get(6)?);
    let limits = Limits { max_bytes: text.len(), max_depth: MAX_DEPTH, max_nodes: usize::MAX };
    let document = Json::parse_with(text.as_bytes(), limits).ok();
    let digest = document.map(|document| Sha256Digest::of(&document.canonical_vrf()));
    if digest != Some(Sha256Digest::from_bytes(definition)) {
        let detail = "the document has another digest than the column definition";
        check.wrong("column", "pins", format!("{server}, {tool}"), detail);
    }
    Ok(())
}
