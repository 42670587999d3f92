//! Which chain.

use crate::tenant::Tenant;

/// A chain of documents that each link to the one before.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Chain {
    Receipts(Tenant, String),
    Decisions,
    Session(Tenant, String),
}
