//! Verifies a whole store, signatures included.

use proofmark_boundary::DecisionReceipt;
use proofmark_evidence::ApprovalFact;
use proofmark_receipt::json::{Json, Limits, MAX_DEPTH};
use proofmark_receipt::{Object, Profile, Receipt, Sha256Digest, Verification, verify_document, verify_receipt};
use proofmark_store::{CheckedStore, Checking, Decision, Store, StoreError, StoredDocument, Wrong};

use proofmark_session::SessionDocument;

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
    let disposition = receipt.disposition();
    let columns = [
        ("decision_id", receipt.decision_id().to_string() == decision.decision_id),
        ("outcome", disposition.outcome().as_str() == decision.outcome),
        ("mode", disposition.mode() == decision.about.mode),
        ("allowed", disposition.allows() == decision.allowed),
    ];
    if let Some(action) = &decision.about.action {
        let hash = Sha256Digest::of(&Json::Object(object(action)?).canonical_vrf()).to_string();
        if receipt.bound("action_hash") != Some(hash.as_str()) {
            return Err("the column action has another action than the one that was decided on".to_owned());
        }
    }
    match columns.iter().find(|(_, is_same)| !is_same) {
        Some((column, _)) => Err(format!("the document has another value than the column {column}")),
        None => Ok(()),
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
    // Older versions stored longer documents than are read otherwise.
    let limits = Limits { max_bytes: text.len(), max_depth: MAX_DEPTH, max_nodes: usize::MAX };
    match Json::parse_with(text.as_bytes(), limits) {
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
