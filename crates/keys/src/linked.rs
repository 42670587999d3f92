//! Documents that can be part of a chain.

use proofmark_boundary::DecisionReceipt;
use proofmark_receipt::{Json, Link, Receipt};

use proofmark_session::SessionDocument;

/// A document that can be part of a chain.
#[derive(Clone, Debug)]
pub enum LinkedDocument {
    Receipt(Box<Receipt>),
    Decision(Box<DecisionReceipt>),
    Session(Box<SessionDocument>),
}

impl LinkedDocument {
    /// Reads a receipt, a decision receipt or an entry of a session. Its signature is not verified.
    ///
    /// `None` for any other document.
    #[must_use]
    pub fn read(bytes: &[u8]) -> Option<Self> {
        if let Ok(receipt) = Receipt::parse(bytes) {
            return Some(Self::Receipt(Box::new(receipt)));
        }
        if let Ok(decision) = DecisionReceipt::parse(bytes) {
            return Some(Self::Decision(Box::new(decision)));
        }
        Some(Self::Session(Box::new(SessionDocument::read(Json::parse(bytes).ok()?)?)))
    }

    /// It as a link of its chain.
    #[must_use]
    pub fn link(&self) -> Link<'_> {
        match self {
            Self::Receipt(receipt) => receipt.link(),
            Self::Session(entry) => entry.link(),
            Self::Decision(decision) => Link { id: decision.decision_id(), document: decision.document() },
        }
    }
}
