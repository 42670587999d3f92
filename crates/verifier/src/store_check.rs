//! Verifies a whole store, signatures included.

use proofmark_boundary::{CountedAction, DecisionReceipt, Request};
use proofmark_checks::Format;
use proofmark_evidence::{ApprovalFact, Signers};
use proofmark_receipt::{Json, Object, Profile, Receipt, Sha256Digest, Verification, verify_document, verify_receipt};
use proofmark_store::{
    CheckedStore, Checking, Decision, JobState, Review, ReviewVerdict, StepRun, Store, StoreError, StoredCount,
    StoredDocument, StoredJob, Tenant, Used, Wrong,
};

use proofmark_session::SessionDocument;

use crate::accept::{StepSigners, stored_step};
use crate::accepted::Accepted;
use crate::stored::{count_in, differing_column, is_bound, whole};

/// Verifies every row of a store as it is at one moment, and every signature by the key that its document names; the states of steps
/// by who may vouch for acceptances, because no receipt beside them tells whose they have to be. `found` is told of each fault,
/// `progress` of the table that is read and how many rows of it were.
///
/// # Errors
/// When the store cannot be read.
pub fn check_store(
    store: &Store,
    trusted: &Signers,
    found: &mut dyn FnMut(Wrong),
    progress: &mut dyn FnMut(&'static str, u64),
) -> Result<CheckedStore, StoreError> {
    store.check(Checking { judge: &mut |document| judge(store, trusted, document), found, progress })
}

/// What is wrong with a document, or what it has used.
fn judge(store: &Store, trusted: &Signers, document: StoredDocument<'_>) -> Result<Used, String> {
    match document {
        StoredDocument::Step { tenant, step } => of_step(store, trusted, tenant, step),
        document => compare(document),
    }
}

/// The same of what needs no other rows.
fn compare(document: StoredDocument<'_>) -> Result<Used, String> {
    match document {
        StoredDocument::Step { .. } => Ok(()),
        StoredDocument::Decision(decision) => return of_decision(decision),
        StoredDocument::Receipt(receipt) => of_receipt(receipt),
        StoredDocument::Entry { id, session, kind, decision_id, document } => {
            of_entry(&SessionDocument::read(Json::Object(signed(document)?)), id, (session, kind, decision_id))
        }
        StoredDocument::Facts { decision, facts } => of_facts(decision, facts),
        StoredDocument::Request { receipt, request } => of_request(receipt, request),
        StoredDocument::Approval { review, receipt } => of_approval(review, receipt),
        StoredDocument::Job(job) => of_job(job),
        StoredDocument::Spent { content, decision } => match spends(&object(decision)?).contains(content) {
            true => Ok(()),
            false => Err("the decision in the column spent_by has not spent it".to_owned()),
        },
        StoredDocument::Counted { count, decision } => of_counted(count, &object(decision)?),
    }?;
    Ok(Used::default())
}

fn of_receipt(receipt: &Receipt) -> Result<(), String> {
    // The command line issues receipts without a key.
    if receipt.signature().is_some() {
        valid(&verify_receipt(receipt, Profile::Vrf, &[]))?;
    }
    let approval = receipt.metadata().get("approval").and_then(ApprovalFact::read);
    match approval {
        Some(approval) if !approval.is_of_what_was_shown() => {
            Err("its `metadata.approval.shown` is not the digest of the action that it approves".to_owned())
        }
        _ => Ok(()),
    }
}

/// The signature first: a document that its signer did not sign is not compared with anything.
fn of_decision(decision: &Decision) -> Result<Used, String> {
    let document = signed(&decision.document)?;
    let used = Used {
        spent: spends(&document),
        counted: CountedAction::of_document(&document).iter().map(|action| (action.key, action.nth)).collect(),
    };
    let receipt = DecisionReceipt::from_document(Json::Object(document)).map_err(|error| error.to_string())?;
    if let Some(column) = differing_column(&receipt, decision) {
        return Err(format!("the document has another value than the column {column}"));
    }
    match &decision.about.action {
        Some(action) if !is_bound(&Json::Object(object(action)?), &receipt) => {
            Err("the column action has another action than the one that was decided on".to_owned())
        }
        _ => Ok(used),
    }
}

/// Whether the decision in the column has counted this action.
fn of_counted(stored: &StoredCount, decision: &Object) -> Result<(), String> {
    let counted = count_in(stored, decision).map(drop);
    counted.ok_or_else(|| "the decision in the column decision_id has not counted it like that".to_owned())
}

/// The contents of the documents that count once and that an allowed decision has used.
fn spends(decision: &Object) -> Vec<Sha256Digest> {
    let member = |name| decision.get(name).and_then(Json::as_bool);
    let in_shadow = decision.get("metadata").and_then(|metadata| metadata.as_object()?.get("shadow")).is_some();
    if member("safe_to_execute") != Some(true) || in_shadow {
        return Vec::new();
    }
    let evidence = decision.get("evidence").and_then(Json::as_array).unwrap_or_default();
    let items = evidence.iter().filter_map(Json::as_object);
    let spent = items
        .filter(|item| ["used", "single_use"].iter().all(|name| item.get(name).and_then(Json::as_bool) == Some(true)));
    spent.filter_map(|item| item.get("document")?.as_object()?.get("content")?.as_str()?.parse().ok()).collect()
}

fn of_entry(
    entry: &Option<SessionDocument>,
    id: &str,
    (session, kind, decision): (&str, &str, Option<&str>),
) -> Result<(), String> {
    let Some(entry) = entry else { return Err("it is not an entry of a session".to_owned()) };
    let decided = entry.document().get("decision").and_then(Json::as_str);
    let columns = [
        ("entry_id", entry.link().id.to_string() == id),
        ("session", entry.session() == session),
        ("kind", entry.kind() == kind),
        // Some entries name a decision without belonging to it.
        ("decision_id", decision.is_none() || decided == decision),
    ];
    same("document", &columns)
}

fn of_facts(decision: &str, facts: &str) -> Result<(), String> {
    let request = Request::from_facts(object(facts)?).map_err(|error| error.to_string())?;
    let bound = object(decision)?.get("binding").and_then(|binding| {
        Some(binding.as_object()?.get("facts_hash")?.as_str()? == request.facts_hash().to_string())
    });
    if bound == Some(true) { Ok(()) } else { Err("they are not the facts that were decided on".to_owned()) }
}

fn of_request(receipt: &str, request: &str) -> Result<(), String> {
    let receipt = Receipt::parse(receipt.as_bytes()).map_err(|error| error.to_string())?;
    let read =
        proofmark_checks::Request::read(request.as_bytes(), Format::Json, None).map_err(|error| error.to_string())?;
    if read.hashes == *receipt.hashes() {
        Ok(())
    } else {
        Err("it is not the request that the receipt answers".to_owned())
    }
}

/// Who approved, in which role, until when and of which decision.
fn of_approval(review: &Review, receipt: &str) -> Result<(), String> {
    let receipt = Receipt::parse(receipt.as_bytes()).map_err(|error| error.to_string())?;
    let Some(member) = receipt.metadata().get("approval") else {
        return Err("the receipt that it names is not an approval".to_owned());
    };
    let Some(fact) = ApprovalFact::read(member) else {
        return Err("the approval that it names cannot be read".to_owned());
    };
    let text = |name: &str| member.as_object().and_then(|approval| approval.get(name)?.as_str());
    let columns = [
        ("receipt_id", Some(receipt.receipt_id().to_string()) == review.receipt_id),
        ("decision_id", text("decision_id") == Some(review.decision_id.as_str())),
        ("verdict", review.verdict == ReviewVerdict::Approved),
        ("role", fact.role == review.role),
        ("note", text("note") == Some(review.note.as_str())),
        // Of a passkey the policy says who that is.
        ("reviewer", fact.reviewer.as_ref().is_none_or(|reviewer| reviewer.id == review.reviewer)),
        ("until", fact.expires_at.unix_millis() == review.until),
        ("reviewed_at", receipt.verified_at().unix_millis() == review.reviewed_at),
    ];
    same("approval", &columns)
}

/// A step is in the state that its last receipt says, and each of its receipts has changed it once.
fn of_step(store: &Store, trusted: &Signers, tenant: &Tenant, step: &StepRun) -> Result<Used, String> {
    let signers = StepSigners::without_workflow(trusted, None);
    // As it is when it is read: a run may move while a store is verified.
    let found = stored_step(&store.of(tenant), &step.begun_by, &step.run, &step.step, &signers);
    match found.map_err(|error| error.to_string())? {
        Some(found) if found.version != found.receipts.len() as u64 => {
            Err("it has another number of receipts than the column version".to_owned())
        }
        _ => Ok(Used::default()),
    }
}

/// A row that a server signed when it accepted the job, by the key that the document names.
fn of_job(job: &StoredJob) -> Result<(), String> {
    let signers = verify_document(&object(&job.accepted)?, &[]).signer;
    let signers: Vec<_> = signers.into_iter().collect();
    let accepted = Accepted::of(job, &signers).map_err(|error| error.to_string())?;
    // Once the job has ended, only its receipt says what was asked.
    let checked = if job.state == JobState::Waiting { accepted.is_request(&job.request) } else { Ok(()) };
    checked.map_err(|error| error.to_string())
}

/// Whether the columns of a row have the values that a document has.
fn same(document: &str, columns: &[(&str, bool)]) -> Result<(), String> {
    match columns.iter().find(|(_, is_same)| !is_same) {
        Some((column, _)) => Err(format!("the {document} has another value than the column {column}")),
        None => Ok(()),
    }
}

/// A document whose signature holds.
fn signed(text: &str) -> Result<Object, String> {
    let object = object(text)?;
    valid(&verify_document(&object, &[]))?;
    Ok(object)
}

fn object(text: &str) -> Result<Object, String> {
    match whole(text) {
        Ok(Json::Object(object)) => Ok(object),
        Ok(_) => Err("it is not an object".to_owned()),
        Err(error) => Err(error.to_string()),
    }
}

fn valid(verification: &Verification) -> Result<(), String> {
    match (verification.answer.code(), verification.answer.cause()) {
        (Some(code), Some(cause)) => Err(format!("{code}: {cause}")),
        (_, _) => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use proofmark_receipt::{Draft, ReceiptId, Results, SigningKey, Timestamp, Verdict, object};

    use super::*;

    fn id() -> ReceiptId {
        ReceiptId::from_random_bytes([7; 16])
    }

    #[test]
    fn the_columns_of_an_entry_are_those_that_it_was_signed_with() {
        let key = Arc::new(SigningKey::from_seed([1; 32]));
        let document = object! {
            "record_type": "proofmark_session_entry",
            "entry_id": id().to_string(),
            "session": "s",
            "kind": "decided",
            "decision": "d",
            "metadata": Object::new(),
        };
        let document = proofmark_session::sign_entry(document, None, &key).unwrap().to_text();
        let named = id().to_string();
        let compared = |id: &str, session: &str, kind: &str, decision_id: Option<&str>| {
            compare(StoredDocument::Entry { id, session, kind, decision_id, document: &document }).err()
        };
        let other = |column: &str| Some(format!("the document has another value than the column {column}"));
        assert_eq!(compared(&named, "s", "decided", Some("d")), None);
        assert_eq!(compared("x", "s", "decided", Some("d")), other("entry_id"));
        assert_eq!(compared(&named, "t", "decided", Some("d")), other("session"));
        assert_eq!(compared(&named, "s", "result", Some("d")), other("kind"));
        assert_eq!(compared(&named, "s", "decided", Some("e")), other("decision_id"));
    }

    #[test]
    fn a_request_is_the_one_that_its_receipt_answers() {
        let text = r#"{"output": {"content": "x"}, "verification": {"kind": "schema_check",
            "checks": [{"name": "short", "constraint": "length <= 10"}]}}"#;
        let request = proofmark_checks::Request::read(text.as_bytes(), Format::Json, None).unwrap();
        let draft = Draft {
            receipt_id: id(),
            verified_at: Timestamp::from_unix_millis(1_771_461_960_123),
            tier: 1,
            verdict: Verdict::Error,
            task: None,
            results: Results::default(),
            hashes: request.hashes,
            metadata: Object::new(),
        };
        let receipt = draft.sign(&SigningKey::from_seed([1; 32])).unwrap().to_text();
        let compared = |request: &str| compare(StoredDocument::Request { receipt: &receipt, request }).is_ok();
        assert!(compared(text) && !compared(&text.replace("10", "99")) && !compared("{}"));
    }
}
