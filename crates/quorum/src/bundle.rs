use proofmark_receipt::{Receipt, ReceiptError};
use thiserror::Error;

use crate::quorum::MAX_REVIEWS;

/// A receipt of tier 2 and its members, which travel as one file: one receipt a line, that of the quorum first.
#[derive(Clone, Debug, PartialEq)]
pub struct Bundle {
    pub receipt: Receipt,
    /// In the order of the file. None of them is verified.
    pub members: Vec<Receipt>,
}

/// Why a file is not one of a quorum and its members.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum BundleError {
    #[error("the file is empty")]
    Empty,
    #[error("the file has more than {} lines", MAX_REVIEWS + 1)]
    TooMany,
    /// Lines count from 1.
    #[error("line {line}: {error}")]
    Line { line: usize, error: ReceiptError },
}

impl BundleError {
    /// What to do about it.
    #[must_use]
    pub fn help(&self) -> Option<String> {
        match self {
            Self::Empty => Some("write the receipt of the quorum, then its members, one a line".to_owned()),
            Self::TooMany => Some("write only the members of the quorum".to_owned()),
            Self::Line { error, .. } => error.help(),
        }
    }
}

impl Bundle {
    /// Reads a file of lines. Signatures are not verified.
    ///
    /// # Errors
    /// [`BundleError`] names the line. An empty line is not a receipt.
    pub fn parse(bytes: &[u8]) -> Result<Self, BundleError> {
        let text = bytes.strip_suffix(b"\n").unwrap_or(bytes);
        if text.is_empty() {
            return Err(BundleError::Empty);
        }
        let mut receipts = Vec::new();
        for (place, line) in text.split(|byte| *byte == b'\n').enumerate() {
            if place > MAX_REVIEWS {
                return Err(BundleError::TooMany);
            }
            receipts.push(Receipt::parse(line).map_err(|error| BundleError::Line { line: place + 1, error })?);
        }
        let mut receipts = receipts.into_iter();
        let receipt = receipts.next().ok_or(BundleError::Empty)?;
        Ok(Self { receipt, members: receipts.collect() })
    }

    /// The file.
    #[must_use]
    pub fn to_text(&self) -> String {
        std::iter::once(&self.receipt).chain(&self.members).map(|receipt| receipt.to_text() + "\n").collect()
    }
}
