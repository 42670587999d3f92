use proofmark_receipt::{Receipt, SignedLink};

/// What was stored.
#[derive(Clone, Debug, PartialEq)]
pub struct Written {
    /// The receipt among it, linked and signed.
    pub receipt: Option<Receipt>,
    /// The decision among it, linked and signed.
    pub decision: Option<SignedLink>,
    /// When, in milliseconds after 1970-01-01T00:00:00Z.
    pub at: i64,
}
