//! The Agent Commerce Protocol (Virtuals): a job becomes a verification request, a receipt becomes an evaluation.
//!
//! The mapping is that of VRF 1.0, "Interoperability". Nothing is verified here, and nothing is signed on a chain.

use std::borrow::Cow;

use proofmark_receipt::document::{Cause, DocumentError, Field, Fields, MAX_DOCUMENT_BYTES, MAX_DOCUMENT_DEPTH};
use proofmark_receipt::json::{Limits, Number};
use proofmark_receipt::{Json, Object, Receipt, Verdict, object};

/// Another name for the block [`VERIFICATION`] in a job's requirements, which clients use.
const CLAWBIZARRE: &str = "clawbizarre_verification";
/// The name of the block with the checks in a job's requirements.
const VERIFICATION: &str = "verification";

/// A score is a multiple of one part in this many, so it has four decimals.
const SCORE_PARTS: u128 = 10_000;

/// The longest reason of an evaluation, in characters.
pub const MAX_REASON_CHARS: usize = 250;

/// The request (`docs/requests.md`) that a job stands for: `{"job_id"?, "requirements", "deliverable"}`.
///
/// The checks are the block `verification` or `clawbizarre_verification` of the requirements, which may be an object or
/// a string that holds one; the submission is the deliverable: a text, `{type, value}`, `{content}` or `{files}`.
///
/// # Errors
/// [`DocumentError`] names what is missing or wrong in the job, and what to write. The checks are read with the request, so
/// errors in them are reported then.
pub fn evaluation_request(job: &Json) -> Result<Json, DocumentError> {
    let root = Field::root(job).fields()?;
    root.only(&["job_id", "requirements", "deliverable"])?;
    let requirements = root.need("requirements", "write what the buyer asked for, with the tests it must pass")?;
    let specification = object_in(&requirements, "write an object, or a string that holds one")?;
    let (tier, verification) = checks(&Field { at: requirements.at.clone(), json: &specification })?;
    let mut request = object! {
        "task_id"?: job_id(&root)?,
        "tier"?: tier,
        "specification": specification.clone().into_owned(),
        "output": output(&root.need("deliverable", "write what the provider delivered")?)?,
    };
    request.insert(VERIFICATION, verification);
    Ok(request.into())
}

/// What an evaluator is answered about a receipt.
#[derive(Clone, Debug, PartialEq)]
pub struct Evaluation {
    /// Whether to approve; `None` when nothing may be signed.
    pub approved: Option<bool>,
    /// The answer (`docs/commerce.md`).
    pub document: Json,
}

/// What an evaluator is answered about a receipt over the request of a job.
///
/// `rejected` says why the receipt proves nothing about the job, if so, and `standing` holds the members of the answer
/// that say what the receipt is worth. For a rejected receipt, and for the verdict `error`, which says nothing about the
/// work, `approved`, `score` and `reason` are null: neither an approval nor a refusal may be signed. `score` is rounded
/// down to four decimals.
#[must_use]
pub fn evaluation(receipt: &Receipt, rejected: Option<&str>, standing: &Object) -> Evaluation {
    let results = receipt.results();
    let judged = rejected.is_none() && receipt.verdict() != Verdict::Error;
    let approved = judged.then(|| receipt.verdict() == Verdict::Pass);
    let hash = judged.then(|| content_hash(receipt));
    let mut document = object! {
        "approved": approved.map_or(Json::Null, Json::from),
        "score": if judged { score(results.passed, results.total) } else { Json::Null },
        "reason": hash.as_deref().map_or(Json::Null, |hash| reason(receipt, hash).into()),
        "reason_bytes32": hash.as_deref().map_or(Json::Null, |hash| format!("0x{hash}").into()),
        "why"?: (!judged).then(|| why(receipt, rejected)),
    };
    for (name, value) in standing.iter() {
        document.insert(name, value.clone());
    }
    document.insert("feedback", feedback(receipt));
    document.insert("metadata", metadata(receipt));
    document.insert("receipt", receipt.document().clone());
    Evaluation { approved, document: document.into() }
}

/// Whether a request is what [`evaluation_request`] makes of a job: judged by the very checks its specification holds.
///
/// Otherwise tests that somebody else chose could have led to a receipt over the buyer's requirements.
#[must_use]
pub fn is_of_job(request: &Json) -> bool {
    let Some(request) = request.as_object() else { return false };
    let Some(specification) = request.get("specification") else { return false };
    checks(&Field::root(specification)).is_ok_and(|(tier, verification)| {
        // Equal as JSON, not as read: a check that differs in any way is not the buyer's.
        request.get(VERIFICATION) == Some(&verification) && request.get("tier") == tier.as_ref()
    })
}

/// SHA-256 of the receipt without its signature, as 64 hex digits: the one that was signed, where it was.
fn content_hash(receipt: &Receipt) -> String {
    // The receipt may be unverified here, so what it claims as its hash is used only in the form of one.
    let signed = receipt.signature().map(|signature| signature.content_hash.trim_start_matches("sha256:"));
    let is_hash = |text: &&str| text.len() == 64 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    match signed.filter(is_hash) {
        Some(hash) => hash.to_owned(),
        None => receipt.content().bare_hex(),
    }
}

/// Passed of total, rounded down, so that only a whole pass is 1.
fn score(passed: u64, total: u64) -> Json {
    // Counts are any 64-bit numbers, so the product needs more bits. Without any check the score is 0.
    let parts = (u128::from(passed) * SCORE_PARTS).checked_div(u128::from(total)).unwrap_or(0);
    let fraction = format!("{:04}", parts % SCORE_PARTS);
    let fraction = fraction.trim_end_matches('0');
    let text = format!("{}.{}", parts / SCORE_PARTS, if fraction.is_empty() { "0" } else { fraction });
    text.parse::<Number>().map_or(Json::Null, Json::from)
}

fn reason(receipt: &Receipt, hash: &str) -> String {
    let results = receipt.results();
    let (verdict, id) = (receipt.verdict(), receipt.receipt_id());
    let text =
        format!("{verdict}: {} of {} checks passed; VRF receipt {id}; sha256 {hash}", results.passed, results.total);
    // The longest verdict, counts, id and hash have fewer than 200 characters, so the cut never takes part of the hash.
    text.chars().take(MAX_REASON_CHARS).collect()
}

fn why(receipt: &Receipt, rejected: Option<&str>) -> String {
    const HELP: &str = "nothing was judged, so neither approve nor reject; supply what is missing, and evaluate again";
    if let Some(error) = rejected {
        let id = receipt.receipt_id();
        return format!("the receipt {id} does not count: {error}; until then neither approve nor reject");
    }
    let message = receipt.results().details.iter().find_map(|detail| detail.message.as_deref());
    let message: String = message.unwrap_or("the checks could not be run").chars().take(MAX_REASON_CHARS).collect();
    format!("{message}; {HELP}")
}

/// `results.details`, as text.
fn feedback(receipt: &Receipt) -> String {
    let results = receipt.document().as_object().and_then(|document| document.get("results")?.as_object());
    results.and_then(|results| results.get("details")).map_or_else(String::new, Json::to_text)
}

fn metadata(receipt: &Receipt) -> Object {
    let signature = receipt.document().as_object().and_then(|document| document.get("signature"));
    object! {
        "vrf_receipt_id": receipt.receipt_id().to_string(),
        "vrf_signature": signature.cloned().unwrap_or(Json::Null),
        "structural": true,
    }
}

/// The id of a job, a number on the chain and a text elsewhere.
fn job_id(root: &Fields<'_>) -> Result<Option<String>, DocumentError> {
    let Some(field) = root.get("job_id") else { return Ok(None) };
    match field.json {
        Json::String(text) => Ok(Some(text.clone())),
        Json::Number(number) if number.is_integer() => Ok(Some(number.as_str().to_owned())),
        _ => Err(field.wrong_type("the job's id, as a string or an integer")),
    }
}

/// The object of a field, which may be written as a text.
fn object_in<'a>(field: &Field<'a>, help: &str) -> Result<Cow<'a, Json>, DocumentError> {
    let found = match field.json.as_str() {
        None => Cow::Borrowed(field.json),
        Some(text) => Cow::Owned(embedded(text).map_err(|error| {
            field.error(Cause::InvalidJson, format!("the text is not JSON: {error}")).with_help(help)
        })?),
    };
    match found.as_object() {
        Some(_) => Ok(found),
        None => Err(field
            .error(Cause::WrongType, format!("expected an object, found {}", found.type_name()))
            .with_help(help)),
    }
}

fn embedded(text: &str) -> Result<Json, proofmark_receipt::json::JsonError> {
    let limits = Limits { max_bytes: MAX_DOCUMENT_BYTES, max_depth: MAX_DOCUMENT_DEPTH, ..Limits::default() };
    Json::parse_with(text.as_bytes(), limits)
}

/// The tier and the verification block of the requirements.
fn checks(requirements: &Field<'_>) -> Result<(Option<Json>, Json), DocumentError> {
    let fields = requirements.fields()?;
    let block = fields.either(VERIFICATION, CLAWBIZARRE)?.ok_or_else(|| {
        let help = format!(
            "write the checks there, or as `{CLAWBIZARRE}` with `language` and `tests`; without checks nothing can be judged"
        );
        fields.missing(VERIFICATION, &help)
    })?;
    let found = object_in(&block, "write an object with `kind`, `language` and `tests`")?;
    let mut verification = found.as_object().cloned().unwrap_or_default();
    // `verification` has the request's form. Under the other name it holds the tier, and `kind` may be missing.
    if fields.get(VERIFICATION).is_some() {
        return Ok((None, verification.into()));
    }
    let tier = verification.remove("tier");
    let suite = verification.contains("tests") || verification.contains("test_suite");
    if suite && !verification.contains("kind") {
        verification.insert("kind", "test_suite");
    }
    Ok((tier, verification.into()))
}

/// The deliverable as the request's `output`.
fn output(deliverable: &Field<'_>) -> Result<Object, DocumentError> {
    let mut output = Object::new();
    let Some(text) = deliverable.json.as_str() else {
        let fields = deliverable.fields()?;
        if let Some(files) = fields.get("files") {
            fields.only(&["files", "type"])?;
            output.insert("files", files.json.clone());
            return Ok(output);
        }
        output.insert("content", content(&fields)?);
        return Ok(output);
    };
    // The client library writes an object as text before it sends it: one of exactly this form is read as the object.
    let packed = embedded(text).ok().filter(is_packed);
    match packed.as_ref().map(|json| Field { at: deliverable.at.clone(), json }) {
        Some(packed) => output.insert("content", content(&packed.fields()?)?),
        None => output.insert("content", text),
    };
    Ok(output)
}

fn is_packed(json: &Json) -> bool {
    let text = |object: &Object, name| object.get(name).is_some_and(|value| value.as_str().is_some());
    // Exactly this form: any other JSON text may be the delivered work itself, whose bytes count.
    json.as_object().is_some_and(|object| object.len() == 2 && text(object, "type") && object.contains("value"))
}

/// The text delivered as `{type, value}` or `{content}`; other JSON values become their text.
fn content(fields: &Fields<'_>) -> Result<String, DocumentError> {
    fields.only(&["type", "value", "content"])?;
    let value = fields.either("value", "content")?.ok_or_else(|| {
        fields.missing("value", "write a string, `{\"type\": …, \"value\": …}`, `{\"content\": …}` or `{\"files\": …}`")
    })?;
    if let Some(kind) = fields.get("type").filter(|kind| kind.json.as_str().is_some_and(is_elsewhere)) {
        let error = kind.error(Cause::Unsupported, "the deliverable is an address, and nothing is fetched");
        return Err(error.with_help("write its content, with the type `text`"));
    }
    Ok(value.json.as_str().map_or_else(|| value.json.to_text(), str::to_owned))
}

/// Whether a deliverable of this type is the address of one.
fn is_elsewhere(kind: &str) -> bool {
    let kind = kind.to_ascii_lowercase();
    // Wide on purpose: an address that is judged as if it were the work would pass or fail for nothing.
    kind.contains("url") || kind.contains("uri") || kind.contains("ipfs") || kind == "link"
}

#[cfg(test)]
mod tests {
    use super::*;
    use proofmark_checks::{Format, Request};

    fn job(text: &str) -> Result<Json, DocumentError> {
        evaluation_request(&Json::parse(text.as_bytes()).unwrap())
    }

    const TESTS: &str = r#"{"tier":0,"language":"python","tests":[{"name":"a","input":"f(1)","expected":"2"},
        {"name":"b","expression":"f(2)","expected":"3"}]}"#;

    #[test]
    fn requirements_are_an_object_or_a_text_that_holds_one() {
        let object = format!(r#"{{"name":"x","clawbizarre_verification":{TESTS}}}"#);
        let text = Json::from(object.as_str()).to_text();
        for requirements in [object, text] {
            let made = job(&format!(r#"{{"job_id":7,"requirements":{requirements},"deliverable":"f = 1"}}"#)).unwrap();
            let read = Request::read(made.to_text().as_bytes(), Format::Json, None).unwrap();
            assert_eq!(read.task.unwrap().task_id.unwrap(), "7");
            assert_eq!(read.output, "f = 1");
        }
    }

    #[test]
    fn deliverables_have_several_forms() {
        let cases = [
            (r#""text""#, "text"),
            (r#"{"type":"text","value":"v"}"#, "v"),
            (r#"{"content":"c"}"#, "c"),
            (r#"{"type":"object","value":{"a":1.50}}"#, r#"{"a":1.50}"#),
            (r#""{\"type\":\"text\",\"value\":\"packed\"}""#, "packed"),
            (r#""{\"a\":1}""#, r#"{"a":1}"#),
        ];
        for (deliverable, content) in cases {
            let text =
                format!(r#"{{"requirements":{{"clawbizarre_verification":{TESTS}}},"deliverable":{deliverable}}}"#);
            let made = job(&text).unwrap();
            let output = made.as_object().unwrap().get("output").unwrap().as_object().unwrap();
            assert_eq!(output.get("content").unwrap().as_str(), Some(content), "{deliverable}");
        }
    }

    #[test]
    fn what_is_missing_is_named() {
        let block = format!(r#"{{"clawbizarre_verification":{TESTS}}}"#);
        let cases = [
            (r#"{"deliverable":"x"}"#.to_owned(), "missing_field", "requirements"),
            (r#"{"requirements":{},"deliverable":"x"}"#.to_owned(), "missing_field", "requirements.verification"),
            (r#"{"requirements":"{","deliverable":"x"}"#.to_owned(), "invalid_json", "requirements"),
            (r#"{"requirements":"[]","deliverable":"x"}"#.to_owned(), "wrong_type", "requirements"),
            (format!(r#"{{"requirements":{block}}}"#), "missing_field", "deliverable"),
            (format!(r#"{{"requirements":{block},"deliverable":{{}}}}"#), "missing_field", "deliverable.value"),
            (
                format!(r#"{{"requirements":{block},"deliverable":{{"type":"url","value":"u"}}}}"#),
                "unsupported",
                "deliverable.type",
            ),
            (format!(r#"{{"requirements":{block},"deliverable":"x","jobid":1}}"#), "unknown_field", "jobid"),
        ];
        for (text, code, place) in cases {
            let error = job(&text).unwrap_err();
            assert_eq!(error.code(), code, "{text}");
            assert!(error.to_string().starts_with(&format!("`{place}`")), "{error}");
        }
    }

    #[test]
    fn a_score_is_rounded_down() {
        let scores = [(0, 0, "0.0"), (2, 3, "0.6666"), (1, 2, "0.5"), (3, 3, "1.0"), (99_999, 100_000, "0.9999")];
        for (passed, total, text) in scores {
            assert_eq!(score(passed, total).to_text(), text);
        }
        assert_eq!(score(u64::MAX, u64::MAX).to_text(), "1.0");
    }

    /// What a receipt of this server over the job's own request answers.
    fn evaluated(verdict: &str, passed: u64, failed: u64, errors: u64) -> Object {
        let request = job(&format!(r#"{{"requirements":{{"clawbizarre_verification":{TESTS}}},"deliverable":"x"}}"#));
        let request = request.unwrap().to_text();
        let hashes = Request::read(request.as_bytes(), Format::Json, None).unwrap().hashes;
        let text = format!(
            r#"{{"vrf_version":"1.0","receipt_id":"a1b2c3d4-e5f6-4890-abcd-ef1234567890",
            "verified_at":"2026-02-19T00:46:00Z","tier":0,"verdict":"{verdict}","results":{{"total":{},
            "passed":{passed},"failed":{failed},"errors":{errors},"details":[]}},
            "hashes":{{"specification":"{}","output":"{}","tests":"{}"}}}}"#,
            passed + failed + errors,
            hashes.specification,
            hashes.output,
            hashes.tests.unwrap()
        );
        let receipt = Receipt::parse(text.as_bytes()).unwrap();
        assert!(is_of_job(&Json::parse(request.as_bytes()).unwrap()));
        let evaluation = evaluation(&receipt, None, &Object::new());
        evaluation.document.as_object().unwrap().clone()
    }

    #[test]
    fn an_evaluation_is_the_mapping_of_the_format() {
        let evaluated = evaluated("partial", 2, 1, 0);
        assert_eq!(evaluated.get("approved").unwrap().as_bool(), Some(false));
        assert_eq!(evaluated.get("score").unwrap().to_text(), "0.6666");
        let reason = evaluated.get("reason").unwrap().as_str().unwrap();
        assert!(reason.len() <= MAX_REASON_CHARS && reason.contains("2 of 3"), "{reason}");
        let bytes32 = evaluated.get("reason_bytes32").unwrap().as_str().unwrap();
        assert!(bytes32.len() == 66 && reason.contains(&bytes32[2..]), "{bytes32}");
        let approved = self::evaluated("pass", 3, 0, 0);
        assert_eq!(approved.get("approved"), Some(&Json::Bool(true)));
    }

    #[test]
    fn an_error_is_neither_approved_nor_refused() {
        let evaluated = evaluated("error", 0, 0, 1);
        for name in ["approved", "score", "reason", "reason_bytes32"] {
            assert!(evaluated.get(name).unwrap().is_null(), "{name}");
        }
        assert!(evaluated.get("why").is_some());
    }
}
