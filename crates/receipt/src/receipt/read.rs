use super::{Fields, Hashes, Task};
use crate::error::ReceiptError;
use crate::json::{Json, Number};
use crate::members::Members;
use crate::results::{DecidedBy, Detail, Results};
use crate::shown;
use crate::signature::Signature;

/// Checks every rule of VRF 1.0 except the signature.
pub(super) fn fields(document: &Json) -> Result<Fields, ReceiptError> {
    let top = Members::top(document)?;
    let version = top.string("vrf_version")?;
    if version != "1.0" {
        return Err(ReceiptError::UnsupportedVersion(shown(version)));
    }
    let verdict = top.string("verdict")?.parse();
    let receipt_id = top.string("receipt_id")?.parse();
    let fields = Fields {
        receipt_id: receipt_id.map_err(ReceiptError::ReceiptId)?,
        verified_at: top.timestamp("verified_at")?,
        tier: tier(top.number("tier")?)?,
        verdict: verdict.map_err(ReceiptError::UnknownVerdict)?,
        task: top.optional_object("task")?.map(task).transpose()?,
        results: results(&top.object("results")?)?,
        hashes: hashes(&top.object("hashes")?)?,
        signature: top.optional_object("signature")?.map(Signature::read).transpose()?,
    };
    // Only its type is checked, on which `Receipt::metadata` relies; what is in it is free.
    top.optional_object("metadata")?;
    Ok(fields)
}

fn tier(number: &Number) -> Result<u8, ReceiptError> {
    match number.as_u64() {
        Some(0) => Ok(0),
        Some(1) => Ok(1),
        Some(2) => Ok(2),
        Some(3) => Ok(3),
        _ if !number.is_integer() => Err(ReceiptError::WrongType {
            field: "tier".to_owned(),
            expected: "an integer",
            found: "number with a fraction or exponent",
        }),
        _ => Err(ReceiptError::TierOutOfRange(shown(number.as_str()))),
    }
}

fn task(task: Members<'_>) -> Result<Task, ReceiptError> {
    Ok(Task {
        task_id: task.optional_string("task_id")?,
        task_type: task.optional_string("task_type")?,
        description: task.optional_string("description")?,
    })
}

fn results(results: &Members<'_>) -> Result<Results, ReceiptError> {
    let read = Results {
        total: results.count("total")?,
        passed: results.count("passed")?,
        failed: results.count("failed")?,
        errors: results.count("errors")?,
        details: details(results)?,
    };
    add_up(&read)?;
    Ok(read)
}

fn details(results: &Members<'_>) -> Result<Vec<Detail>, ReceiptError> {
    let items = results.array("details")?;
    items.iter().enumerate().map(|(index, item)| detail(&results.item("details", index, item)?)).collect()
}

fn detail(detail: &Members<'_>) -> Result<Detail, ReceiptError> {
    let status = detail.string("status")?.parse();
    // Members that VRF 1.0 does not define: another issuer may give them any type.
    let extra = |name| detail.optional_string(name).ok().flatten();
    Ok(Detail {
        name: detail.string("name")?.to_owned(),
        status: status.map_err(|error| ReceiptError::UnknownStatus { field: detail.place("status"), error })?,
        input: extra("input"),
        expected: detail.optional_string("expected")?,
        actual: detail.optional_string("actual")?,
        difference: extra("difference"),
        location: extra("location"),
        stdout: extra("stdout"),
        stderr: extra("stderr"),
        elapsed_ms: detail.optional_count("elapsed_ms")?,
        message: detail.optional_string("message")?,
        constraint: detail.optional_string("constraint")?,
        decided: decided(detail)?,
    })
}

fn decided(detail: &Members<'_>) -> Result<Option<DecidedBy>, ReceiptError> {
    let word = detail.optional_string("decided")?.map(|word| word.parse());
    word.transpose().map_err(|error| ReceiptError::UnknownDecided { field: detail.place("decided"), error })
}

/// The counts add up, and the details are some or all of what they count. Details may leave checks out (hidden tests),
/// so fewer are fine; a full list must agree with every count.
fn add_up(results: &Results) -> Result<(), ReceiptError> {
    let Results { total, passed, failed, errors, .. } = *results;
    // Counts may be as large as 2^64−1. A sum that overflows is no `total`; a sum that wraps could be.
    let sum = passed.checked_add(failed).and_then(|sum| sum.checked_add(errors));
    if sum != Some(total) {
        return Err(ReceiptError::TotalMismatch { total, passed, failed, errors });
    }
    let listed = results.count_details();
    for (status, shown, counted) in
        [("pass", listed.0, passed), ("fail", listed.1, failed), ("error", listed.2, errors)]
    {
        if shown > counted {
            return Err(ReceiptError::DetailsMismatch { status, shown, counted });
        }
    }
    Ok(())
}

fn hashes(hashes: &Members<'_>) -> Result<Hashes, ReceiptError> {
    Ok(Hashes {
        specification: hashes.digest("specification")?,
        output: hashes.digest("output")?,
        tests: hashes.optional_digest("tests")?,
    })
}
