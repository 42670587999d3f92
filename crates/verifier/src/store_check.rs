//! Verifies a whole store, signatures included.

use proofmark_boundary::DecisionReceipt;
use proofmark_evidence::ApprovalFact;
use proofmark_receipt::{Json, Object, Profile, Receipt, Verification, verify_document, verify_receipt};
use proofmark_store::{CheckedStore, Checking, Decision, Store, StoreError, StoredDocument, Wrong};

use proofmark_session::SessionDocument;

use crate::stored::{differing_column, is_bound, whole};

/// Verifies every row of a store as it is at one moment, and every signature by the key that its document names. `found` is told of
/// each fault, `progress` of the table that is read and how many rows of it were.
///
/// # Errors
/// When the store cannot be read.
pub fn check_store(
    store: &Store,
    found: &mut dyn FnMut(Wrong),
    progress: &mut dyn FnMut(&'static str, u64),
) -> Result<CheckedStore, StoreError> {
    store.check(Checking { judge: &mut judge, found, progress })
}

fn judge(document: StoredDocument<'_>) -> Result<(), String> {
    match document {
        StoredDocument::Receipt(receipt) => of_receipt(receipt),
        StoredDocument::Decision(decision) => of_decision(decision),
        StoredDocument::Entry { id, document } => of_entry(id, document),
    }
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
fn of_decision(decision: &Decision) -> Result<(), String> {
    let document = object(&decision.document)?;
    valid(&verify_document(&document, &[]))?;
    let receipt = DecisionReceipt::from_document(Json::Object(document)).map_err(|error| error.to_string())?;
    if let Some(column) = differing_column(&receipt, decision) {
        return Err(format!("the document has another value than the column {column}"));
    }
    match &decision.about.action {
        Some(action) if !is_bound(&Json::Object(object(action)?), &receipt) => {
            Err("the column action has another action than the one that was decided on".to_owned())
        }
        _ => Ok(()),
    }
}

fn of_entry(id: &str, document: &str) -> Result<(), String> {
    let object = object(document)?;
    valid(&verify_document(&object, &[]))?;
    match SessionDocument::read(Json::Object(object)) {
        Some(entry) if entry.link().id.to_string() == id => Ok(()),
        Some(_) => Err("the document has another id than the column entry_id".to_owned()),
        None => Err("it is not an entry of a session".to_owned()),
    }
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
