//! Which of the presented documents and calls the rules of a policy use.

mod calls;
mod item;
mod receipts;

pub(crate) use calls::{CallMatch, call};
pub use item::EvidenceItem;
pub(crate) use receipts::{assigned, digests, reading_steps, refused};
pub use receipts::{outputs_wanted, sought};
