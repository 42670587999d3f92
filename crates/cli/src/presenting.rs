//! Receipts and approvals that a command presents as evidence.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use anyhow::Context;
use clap::Args;
use proofmark_evidence::LogProof;
use proofmark_receipt::Receipt;
use proofmark_tlog::PROOF_HEADER;
use proofmark_verifier::{Presented, PresentedError, PresentedProof};

use crate::config::Config;
use crate::log_proof::proof_file;
use crate::options::StoreAt;
use crate::receipt::read;

/// What is presented as evidence.
#[derive(Args)]
pub(crate) struct Presenting {
    /// Present this receipt or approval as evidence, beside those of the store: a file with one document or one per line, a folder
    /// of .json and .jsonl files, or the id of a stored one; can be repeated. Also a proof that a receipt is in a log: a file, or in a folder one whose name ends in .tlog-proof
    #[arg(long, value_name = "FILE|DIR|ID")]
    receipt: Vec<String>,
}

/// What [`Presenting`] names, read.
pub(crate) struct Evidence<'a> {
    folders: Vec<&'a Path>,
    receipts: Vec<Receipt>,
    proofs: Vec<PresentedProof>,
}

impl Presenting {
    pub(crate) fn read(&self, store: &StoreAt, config: &Config) -> anyhow::Result<Evidence<'_>> {
        let mut evidence = Evidence { folders: Vec::new(), receipts: Vec::new(), proofs: Vec::new() };
        for argument in &self.receipt {
            let path = Path::new(argument);
            if path.is_dir() {
                evidence.folders.push(path);
                continue;
            }
            if is_proof(path)? {
                let file = proof_file(path)?;
                evidence.proofs.push(PresentedProof::parse(argument.clone(), file).map_err(PresentedError::from)?);
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
        Presented { folders: &self.folders, receipts, proofs: &self.proofs }
    }

    /// The first proof that is named, beside those of folders.
    pub(crate) fn proof(&self) -> Option<&str> {
        self.proofs.first().map(PresentedProof::name)
    }

    pub(crate) fn receipts(&self) -> &[Receipt] {
        &self.receipts
    }
}

/// Whether a file begins as a proof of a log does. What is not a file is read once, as receipts.
fn is_proof(path: &Path) -> anyhow::Result<bool> {
    if !path.is_file() {
        return Ok(false);
    }
    let mut start = Vec::new();
    let opened = File::open(path).and_then(|file| file.take(PROOF_HEADER.len() as u64).read_to_end(&mut start));
    opened.with_context(|| format!("read `{}`", path.display()))?;
    Ok(LogProof::begins(&start))
}
