//! Receipts and approvals that a command presents as evidence.

use std::path::Path;

use clap::Args;
use proofmark_receipt::Receipt;
use proofmark_verifier::Presented;

use crate::config::Config;
use crate::options::StoreAt;
use crate::receipt::read;

/// What is presented as evidence.
#[derive(Args)]
pub(crate) struct Presenting {
    /// Present this receipt or approval as evidence, beside those of the store: a file with one document or one per line, a folder
    /// of .json and .jsonl files, or the id of a stored one; can be repeated
    #[arg(long, value_name = "FILE|DIR|ID")]
    receipt: Vec<String>,
}

/// What [`Presenting`] names, read.
pub(crate) struct Evidence<'a> {
    folders: Vec<&'a Path>,
    receipts: Vec<Receipt>,
}

impl Presenting {
    pub(crate) fn read(&self, store: &StoreAt, config: &Config) -> anyhow::Result<Evidence<'_>> {
        let mut evidence = Evidence { folders: Vec::new(), receipts: Vec::new() };
        for argument in &self.receipt {
            let path = Path::new(argument);
            if path.is_dir() {
                evidence.folders.push(path);
                continue;
            }
            evidence.receipts.extend(read::receipts(argument, store, config)?);
        }
        Ok(evidence)
    }
}

impl Evidence<'_> {
    pub(crate) fn presented(&self) -> Presented<'_> {
        self.with(&self.receipts)
    }

    /// The folders, and these receipts.
    pub(crate) fn with<'a>(&'a self, receipts: &'a [Receipt]) -> Presented<'a> {
        Presented { folders: &self.folders, receipts }
    }

    pub(crate) fn receipts(&self) -> &[Receipt] {
        &self.receipts
    }
}
