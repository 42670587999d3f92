//! Keeps the transparency log of a store (`docs/log.md`). What a tree, a checkpoint and a proof are is the business of
//! `proofmark_tlog`; entries, tiles and the last checkpoint are rows of the store.
//!
//! - [`LogHome`] has what is kept outside the store: the origin, the keys of the log, and the checkpoint that was signed last.
//! - [`LogKeeper`] brings tiles and checkpoint up to date, and proves that a document is in the log.
//! - [`LogCopy`] has the files of the log elsewhere, in a folder or in another [`CopyPlace`], before a checkpoint is signed.
//! - [`audit_store`] and [`audit_files`] recompute a log and name what is wrong.
//! - [`mirror`] copies a log into a [`LogFolder`], and [`Witness`] cosigns what continues what it has cosigned before.

mod audit;
mod copy;
mod error;
mod folder;
mod home;
mod keeper;
mod mirror;
mod stored;
mod witness;

pub use audit::{Audit, Fault, audit_files, audit_store};
pub use copy::{CopiedFile, CopyPlace, LogCopy};
pub use error::LogError;
pub use folder::{LogFolder, other_name};
pub use home::LogHome;
pub use keeper::{Ask, Cosigning, LogKeeper, MAX_WITNESSES, Published, RENEW_AFTER, Witnesses, prove};
pub use mirror::{LogSource, MirrorError, Mirrored, mirror};
pub use stored::StoredLog;
pub use witness::{Witness, WitnessAnswer, WitnessError};
