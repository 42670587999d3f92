//! Whether a step, or a tool, changes something.

use proofmark_receipt::document::{DocumentError, Field};

/// Whether a step, or a tool, changes something. `Mutating` is the stricter one, so the maximum of two classes binds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Class {
    Readonly,
    Mutating,
}

impl Class {
    /// `mutating` or `readonly`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Readonly => "readonly",
            Self::Mutating => "mutating",
        }
    }

    pub(crate) fn read(field: &Field<'_>) -> Result<Self, DocumentError> {
        field.choice(&[("mutating", Self::Mutating), ("readonly", Self::Readonly)])
    }
}
