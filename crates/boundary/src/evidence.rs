//! What the rules of a policy find among the documents and calls that were presented.

mod calls;
mod item;
mod receipts;

pub(crate) use calls::{CallMatch, call};
pub use item::EvidenceItem;
pub use receipts::outputs_wanted;
pub(crate) use receipts::{assigned, digests, looking_at, refused};
