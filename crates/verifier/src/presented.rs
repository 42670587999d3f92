//! Receipts presented as evidence: read from files, verified here, looked up among those that are spent.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use proofmark_receipt::json::MAX_BYTES;
use proofmark_receipt::{Profile, Receipt, ReceiptError, SignerId, Timestamp, Verification, verify_receipt};
use proofmark_store::{Spend, StoreError, TenantStore};

/// The most files of receipts one folder may hold.
const MAX_FILES: usize = 1_000;
/// The longest file of receipts, in bytes: one receipt, or one a line.
const MAX_FILE_BYTES: u64 = 64 << 20;

/// A receipt somebody presents, and what checking it came to.
#[derive(Clone, Debug)]
pub(crate) struct Presented {
    pub(crate) receipt: Receipt,
    pub(crate) verification: Verification,
    /// Whether it was used up before.
    pub(crate) spent: bool,
    /// How long ago it was issued, in milliseconds; negative for the future.
    pub(crate) age_ms: i64,
}

/// Why presented receipts can not be read.
#[derive(Debug, thiserror::Error)]
pub enum PresentedError {
    /// The file system refused.
    #[error("read the receipts in `{}` ({error})", path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// What the system said.
        error: io::Error,
    },
    /// More than is read.
    #[error("read the receipts in `{}`: it holds more than {MAX_FILES} files, or one is too long; name a smaller folder", .0.display())]
    TooMany(PathBuf),
    /// A file that holds something else.
    #[error("read the receipt `{label}`: {error}; mend it, or take it out of the folder")]
    NoReceipt {
        /// The file, with the line of one of many.
        label: String,
        /// What is wrong.
        error: ReceiptError,
    },
    /// The store refused.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// The receipts of a folder, `.json` with one and `.jsonl` with one a line, verified now.
pub(crate) fn receipts(
    folder: &Path,
    trusted: &[SignerId],
    store: Option<&TenantStore<'_>>,
    now: &Timestamp,
) -> Result<Vec<Presented>, PresentedError> {
    let mut all = Vec::new();
    for path in files(folder)? {
        let bytes = fs::read(&path).map_err(|error| PresentedError::Io { path: path.clone(), error })?;
        let lines = path.extension().is_some_and(|extension| extension == "jsonl");
        let texts: Vec<&[u8]> = match lines {
            true => bytes.split(|byte| *byte == b'\n').filter(|line| !line.trim_ascii().is_empty()).collect(),
            false => vec![bytes.as_slice()],
        };
        for (index, text) in texts.into_iter().enumerate() {
            let label = if lines { format!("{}:{}", path.display(), index + 1) } else { path.display().to_string() };
            let receipt = Receipt::parse(text).map_err(|error| PresentedError::NoReceipt { label, error })?;
            all.push(present(receipt, trusted, store, now)?);
        }
    }
    Ok(all)
}

pub(crate) fn present(
    receipt: Receipt,
    trusted: &[SignerId],
    store: Option<&TenantStore<'_>>,
    now: &Timestamp,
) -> Result<Presented, PresentedError> {
    let spent = store.map(|store| store.is_spent(&Spend::of(&receipt))).transpose()?.unwrap_or(false);
    Ok(Presented {
        verification: verify_receipt(&receipt, Profile::Vrf, trusted),
        age_ms: now.unix_millis().saturating_sub(receipt.verified_at().unix_millis()),
        spent,
        receipt,
    })
}

fn files(folder: &Path) -> Result<Vec<PathBuf>, PresentedError> {
    let failed = |error| PresentedError::Io { path: folder.to_owned(), error };
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        let kind = path.extension().and_then(|extension| extension.to_str());
        if path.is_file() && matches!(kind, Some("json" | "jsonl")) {
            let length = fs::metadata(&path).map_err(failed)?.len();
            let longest = if kind == Some("json") { MAX_BYTES as u64 } else { MAX_FILE_BYTES };
            if found.len() == MAX_FILES || length > longest {
                return Err(PresentedError::TooMany(folder.to_owned()));
            }
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}
