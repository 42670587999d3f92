//! Receipts issued elsewhere: verified strictly, then stored with whether their signer is trusted.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::{iter, thread};

use proofmark_receipt::{Json, Profile, Receipt, ReceiptId, SignatureStatus, Trust, UndecidableCause, verify_receipt};
use proofmark_store::{NewReceipt, StoreError, Tenant, Write};
use proofmark_verifier::sync::lock;

use crate::decider::Decider;

/// What became of a receipt that a client brought.
#[derive(Clone, Debug)]
pub struct Received {
    /// Its id, where it could be read.
    pub receipt_id: Option<ReceiptId>,
    /// Whether its signature is valid.
    pub answer: SignatureStatus,
    pub trust: Trust,
    /// Why it is not stored; `None` when it is.
    pub refused: Option<NotStored>,
}

/// Why a receipt is not stored.
#[derive(Clone, Debug)]
pub struct NotStored {
    /// A stable name for programs.
    pub code: &'static str,
    pub message: String,
    /// What to do about it.
    pub help: Option<String>,
}

/// How many receipts a thread takes at a time: fewer are not worth a thread of their own.
const PART: usize = 16;

/// How many threads of this process check receipts.
static CHECKING: AtomicUsize = AtomicUsize::new(0);

/// A thread that is counted in [`CHECKING`] until this is dropped.
struct Counted;

impl Counted {
    fn begin() -> Self {
        CHECKING.fetch_add(1, Ordering::Relaxed);
        Self
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        CHECKING.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Decider {
    /// Checks receipts under the default profile, and stores those that are valid, for a tenant. Receipts that are stored
    /// already stay as they are.
    ///
    /// # Errors
    /// When the store cannot be written.
    pub fn receive(&self, tenant: &Tenant, documents: Vec<Json>) -> Result<Vec<Received>, StoreError> {
        let (mut received, writes): (Vec<Received>, Vec<Option<Write>>) = self.check_all(documents).into_iter().unzip();
        let pending = self.store.of(tenant).submit_each(writes.into_iter().flatten().collect());
        let mut outcomes = Vec::new();
        for part in pending {
            outcomes.extend(part.wait()?);
        }
        let submitted = received.iter_mut().filter(|received| received.refused.is_none());
        for (received, outcome) in submitted.zip(outcomes) {
            match outcome {
                // The same receipt may come again; another one of its issuer under its id may not.
                None | Some(StoreError::Stored(_)) => {}
                Some(StoreError::Duplicate(_)) => received.refused = Some(known()),
                // Of PostgreSQL, and about this receipt alone: others that came with it are stored.
                Some(error @ (StoreError::Text | StoreError::LongKey { .. })) => {
                    received.refused = Some(unfit(&error));
                }
                Some(error) => return Err(error),
            }
        }
        Ok(received)
    }

    /// Checks each receipt, on as many threads as there are processors that check none.
    fn check_all(&self, documents: Vec<Json>) -> Vec<(Received, Option<Write>)> {
        let mut left = documents.into_iter();
        let parts = iter::from_fn(|| {
            let part: Vec<Json> = left.by_ref().take(PART).collect();
            (!part.is_empty()).then_some(part)
        });
        let parts: VecDeque<(usize, Vec<Json>)> = parts.enumerate().collect();
        let processors = thread::available_parallelism().map_or(1, usize::from);
        let free = processors.saturating_sub(CHECKING.load(Ordering::Relaxed)).saturating_sub(1);
        let helpers = free.min(parts.len().saturating_sub(1));
        let (parts, checked) = (Mutex::new(parts), Mutex::new(Vec::new()));
        let work = || {
            let _counted = Counted::begin();
            // Taken in a statement of its own, so that the lock is not held while the part is checked.
            while let Some((place, part)) = { lock(&parts).pop_front() } {
                let part: Vec<_> = part.into_iter().map(|document| self.received(document)).collect();
                lock(&checked).push((place, part));
            }
        };
        thread::scope(|scope| {
            for _ in 0..helpers {
                // Where the system has no thread, this one does the work alone.
                drop(thread::Builder::new().name("check".to_owned()).spawn_scoped(scope, work));
            }
            work();
        });
        let mut checked = checked.into_inner().unwrap_or_else(PoisonError::into_inner);
        checked.sort_unstable_by_key(|(place, _)| *place);
        checked.into_iter().flat_map(|(_, part)| part).collect()
    }

    /// What is stored of a receipt, or why nothing is.
    fn received(&self, document: Json) -> (Received, Option<Write>) {
        let receipt = match Receipt::from_document(document) {
            Ok(receipt) => receipt,
            Err(error) => {
                let refused = Some(NotStored { code: error.code(), message: error.to_string(), help: error.help() });
                let answer = SignatureStatus::Undecidable(UndecidableCause::Malformed(error));
                return (Received { receipt_id: None, answer, trust: Trust::Unknown, refused }, None);
            }
        };
        let trusted = self.trusted();
        let trusted = trusted.signers();
        let verification = trusted.judged(verify_receipt(&receipt, Profile::Vrf, &trusted.of_receipt(&receipt)));
        let (answer, trust) = (verification.answer, verification.trust);
        // Only a valid signature has neither. What is undecidable is not stored either.
        let refused = match (answer.code(), answer.cause()) {
            (Some(code), Some(message)) => Some(NotStored { code, message, help: answer.help() }),
            (_, _) => None,
        };
        let receipt_id = Some(receipt.receipt_id());
        let write = refused.is_none().then(|| NewReceipt::received(receipt, trust).into());
        (Received { receipt_id, answer, trust, refused }, write)
    }
}

fn unfit(error: &StoreError) -> NotStored {
    let message = error.to_string();
    NotStored {
        code: "invalid_text",
        // Messages complete "failed to …", and this one stands behind that of the receipt.
        message: message.strip_prefix("store the text: ").unwrap_or(&message).to_owned(),
        help: error.help(),
    }
}

fn known() -> NotStored {
    NotStored {
        code: "receipt_known",
        message: "another receipt of its issuer with this id is already stored".to_owned(),
        help: Some("ids are unique: ask the issuer for a receipt with an id of its own".to_owned()),
    }
}
