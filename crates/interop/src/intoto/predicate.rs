use proofmark_receipt::{
    DecidedBy, Json, Object, Receipt, Sha256Digest, SignerId, SigningKey, Status, Verdict, object,
};

use super::dsse;
use super::statement::{descriptor, statement};
use crate::ExportError;
use crate::document::{Decision, Document, check_verified_work};

/// The predicate type of Test Result 0.1.
pub const TEST_RESULT: &str = "https://in-toto.io/attestation/test-result/v0.1";
/// The predicate type of Simple Verification Result 0.2.
pub const SVR: &str = "https://in-toto.io/attestation/svr/v0.2";

/// The property of a decision that allows.
pub const ACTION_ALLOWED: &str = "PROOFMARK_ACTION_ALLOWED";

/// The Test Result for a receipt of verified work, unsigned.
///
/// `suite` is the name of the suite, where the caller knows it: some readers know a suite by the name of the first configuration. It
/// stands for the tests then, or for the specification where the receipt has none.
///
/// # Errors
/// [`ExportError::Document`] when the receipt is not valid under the profile `vrf`; [`ExportError::NoJudgment`] for the verdict `error`,
/// for which the predicate has no word, and for a receipt of another kind.
pub fn test_result(receipt: &Receipt, suite: Option<&str>) -> Result<Object, ExportError> {
    let document = Document::from(receipt.clone());
    document.signer()?;
    check_verified_work(receipt)?;
    let result = match receipt.verdict() {
        Verdict::Pass => "PASSED",
        Verdict::Fail | Verdict::Partial => "FAILED",
        Verdict::Error => {
            return Err(ExportError::NoJudgment("the verdict is `error`, which says nothing about the work"));
        }
    };
    let mut configuration = checked_against(receipt);
    if let Some(suite) = suite
        && let Some(last) = configuration.pop()
    {
        configuration.insert(0, renamed(last, suite));
    }
    let names = |has: fn(Status) -> bool| {
        let details = receipt.results().details.iter().filter(|detail| has(detail.status));
        details.map(|detail| Json::from(detail.name.as_str())).collect::<Vec<_>>()
    };
    let predicate = object! {
        "result": result,
        "configuration": configuration,
        "passedTests": names(|status| status == Status::Pass),
        "warnedTests": Vec::<Json>::new(),
        "failedTests": names(|status| status != Status::Pass),
        "proofmark_receipt": restated_receipt(receipt),
    };
    Ok(statement("output", &receipt.hashes().output, TEST_RESULT, predicate))
}

/// The Simple Verification Result for a passing receipt of verified work, or for a decision that allows, unsigned.
///
/// The predicate lists what holds, and cannot say that something does not.
///
/// # Errors
/// [`ExportError::Document`] when the document's signature is not valid; [`ExportError::NoJudgment`] when the document does not pass or
/// allow, and for a receipt of another kind.
pub fn svr(document: &Document) -> Result<Object, ExportError> {
    let signer = document.signer()?;
    let (name, policies, properties, extension) = match document {
        Document::Receipt(receipt) => {
            check_verified_work(receipt)?;
            if receipt.verdict() != Verdict::Pass {
                return Err(ExportError::NoJudgment("the verdict is not `pass`, and an SVR lists only what passes"));
            }
            ("output", checked_against(receipt), properties(receipt), restated_receipt(receipt))
        }
        Document::Decision(decision) => {
            if !decision.allows() {
                return Err(ExportError::NoJudgment("the decision does not allow, and an SVR lists only what passes"));
            }
            let policies = vec![descriptor("policy", &decision.policy())];
            ("action", policies, vec![ACTION_ALLOWED.to_owned()], restated_decision(decision))
        }
    };
    let predicate = object! {
        "verifier": object! { "id": signer.did_key(), "policies": policies },
        "timeCreated": document.judged_at().as_str(),
        "properties": properties.into_iter().map(Json::from).collect::<Vec<_>>(),
        "proofmark_receipt": extension,
    };
    Ok(statement(name, &document.subject(), SVR, predicate))
}

/// [`test_result`] in an envelope, signed with the key that signed the receipt.
///
/// # Errors
/// As [`test_result`]; [`ExportError::IssuerMismatch`] when another key signed the receipt.
pub fn sign_test_result(receipt: &Receipt, suite: Option<&str>, key: &SigningKey) -> Result<Object, ExportError> {
    let statement = test_result(receipt, suite)?;
    check_key(&Document::from(receipt.clone()), &key.signer())?;
    Ok(dsse::envelope(&statement, key))
}

/// [`svr`] in an envelope, signed with the key that signed the document.
///
/// # Errors
/// As [`svr`]; [`ExportError::IssuerMismatch`] when another key signed the document.
pub fn sign_svr(document: &Document, key: &SigningKey) -> Result<Object, ExportError> {
    let statement = svr(document)?;
    check_key(document, &key.signer())?;
    Ok(dsse::envelope(&statement, key))
}

fn check_key(document: &Document, signer: &SignerId) -> Result<(), ExportError> {
    if document.signer()? == *signer { Ok(()) } else { Err(ExportError::IssuerMismatch) }
}

/// What the work was checked against: the specification, and the tests behind it where there are any.
fn checked_against(receipt: &Receipt) -> Vec<Json> {
    let hashes = receipt.hashes();
    let specification = descriptor("specification", &hashes.specification);
    let tests = hashes.tests.as_ref().map(|tests| descriptor("tests", tests));
    [Some(specification), tests].into_iter().flatten().collect()
}

fn renamed(mut descriptor: Json, name: &str) -> Json {
    if let Json::Object(descriptor) = &mut descriptor {
        descriptor.insert("name", name);
    }
    descriptor
}

/// What holds by a passing receipt, in the words of `docs/receipts.md`.
fn properties(receipt: &Receipt) -> Vec<String> {
    let metadata = receipt.metadata();
    let judged = if receipt.tier() == 0 { "PROOFMARK_TESTS_PASSED" } else { "PROOFMARK_CONSTRAINTS_MET" };
    let mut properties = vec![judged.to_owned()];
    let isolation = metadata.get("isolation").and_then(Json::as_array).unwrap_or_default();
    let level = isolation.iter().filter_map(Json::as_str).find_map(|mechanism| mechanism.strip_prefix("level:"));
    // Only levels that are known: the text becomes part of a name.
    if let Some(level @ ("A" | "B" | "C")) = level {
        properties.push("PROOFMARK_TESTED_ISOLATED".to_owned());
        properties.push(format!("PROOFMARK_ISOLATION_LEVEL_{level}"));
    }
    let by_verifier = metadata.get("decided").and_then(Json::as_str) == Some(DecidedBy::Verifier.as_str())
        && !metadata.contains("comparison")
        && receipt.results().details.iter().all(|detail| detail.decided == Some(DecidedBy::Verifier));
    if by_verifier {
        properties.push("PROOFMARK_DECIDED_BY_VERIFIER".to_owned());
    }
    properties
}

fn restated_receipt(receipt: &Receipt) -> Object {
    let results = receipt.results();
    object! {
        "receipt_id": receipt.receipt_id().to_string(),
        "hash": receipt.hash().to_string(),
        "tier": u64::from(receipt.tier()),
        "verdict": receipt.verdict().as_str(),
        "verified_at": receipt.verified_at().as_str(),
        "counts": object! {
            "total": results.total,
            "passed": results.passed,
            "failed": results.failed,
            "errors": results.errors,
        },
    }
}

fn restated_decision(decision: &Decision) -> Object {
    let text = |name: &str| decision.document().get(name).cloned();
    object! {
        "decision_id"?: text("decision_id"),
        "hash": Sha256Digest::of(&decision.document().canonical_vrf()).to_string(),
        "outcome"?: text("outcome"),
        "decided_at": decision.decided_at().as_str(),
    }
}
