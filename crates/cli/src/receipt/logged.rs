//! What `receipt verify` demands of the transparency log.

use std::path::{Path, PathBuf};

use clap::Args;
use proofmark_keys::{Checked, Claims};
use proofmark_receipt::{Answer, Json, Object, Sha256Digest};
use proofmark_tlog::{ProofVerification, Vkey, Witnessed};

use super::demands::Unmet;
use crate::config::Config;
use crate::error::with_help;
use crate::exit::Exit;
use crate::log_proof::{document_entry, exit_of, proof_file, shown, to_json, verified};
use crate::logs::{self, LogTrust, TrustedLogs};
use crate::paint::Paint;

/// Proofs of the log.
#[derive(Args)]
pub(super) struct Logged {
    /// Demand that the receipt is in a transparency log, by this proof (`proofmark log prove`)
    #[arg(long, value_name = "FILE")]
    proof: Option<PathBuf>,
    /// Demand that its suite was in the log before the receipt, by this proof
    #[arg(long, value_name = "FILE", requires = "proof")]
    suite_proof: Option<PathBuf>,
    #[command(flatten)]
    trust: LogTrust,
}

/// [`Logged`], read.
pub(super) struct Proofs {
    proof: Vec<u8>,
    suite: Option<Vec<u8>>,
    trusted: TrustedLogs,
}

/// The result of verifying the proofs of one document.
pub(super) struct Proven {
    receipt: (ProofVerification, Sha256Digest),
    suite: Option<(ProofVerification, Sha256Digest)>,
    pub(super) unmet: Vec<Unmet>,
}

impl Logged {
    /// The keys of logs that are trusted: those that are named, or that of this home. Receipts of logs in statements are verified by these.
    pub(super) fn logs(&self, config: &Config) -> anyhow::Result<Vec<Vkey>> {
        let is_begun = logs::home(config).origin()?.is_some();
        if self.trust.is_named() || is_begun { Ok(self.trust.read(config)?.vkeys()) } else { Ok(Vec::new()) }
    }

    /// Whether a proof is read from standard input.
    pub(super) fn is_from_stdin(&self) -> bool {
        self.proof.iter().chain(&self.suite_proof).any(|path| path == Path::new("-"))
    }

    /// Refuses logs that are named for nothing.
    pub(super) fn check(&self, has_statement: bool) -> anyhow::Result<()> {
        if self.proof.is_none() && self.trust.is_named() && !has_statement {
            let help = "name the proof with `--proof`, as `proofmark log prove` writes it";
            return Err(with_help("verify the log: no proof was given, and nothing that has a receipt of a log", help));
        }
        Ok(())
    }

    /// Reads the files; none where no proof is named.
    pub(super) fn read(&self, config: &Config) -> anyhow::Result<Option<Proofs>> {
        let Some(path) = &self.proof else { return Ok(None) };
        if [Some(path), self.suite_proof.as_ref()].iter().flatten().filter(|path| **path == Path::new("-")).count() > 1
        {
            return Err(with_help("read two proofs from standard input", "name a file for one of them"));
        }
        let suite = self.suite_proof.as_deref().map(proof_file).transpose()?;
        Ok(Some(Proofs { proof: proof_file(path)?, suite, trusted: self.trust.read(config)? }))
    }
}

impl Proofs {
    /// Verifies the proofs for a document; nothing for one that has no entry, which is not valid either.
    pub(super) fn of(&self, document: &[u8], checked: &Checked) -> Option<Proven> {
        let entry = document_entry(document).ok()?;
        let receipt = verified(&self.proof, &entry, &self.trusted);
        let claims = match &checked.claims {
            Some(Claims::Receipt(claims)) => claims.suite,
            Some(Claims::Decision(_)) | None => None,
        };
        let mut unmet = Vec::new();
        let suite = self.suite.as_ref().and_then(|proof| {
            let Some(suite) = claims else {
                unmet.push(Unmet { code: "no_suite", message: "the document names no suite".to_owned() });
                return None;
            };
            let found = verified(proof, &suite, &self.trusted);
            if !is_before(&found, &receipt) {
                let message = "the suite is not proven to be before the receipt in one tree: prove both by the same checkpoint, or demand witnesses".to_owned();
                unmet.push(Unmet { code: "suite_not_before", message });
            }
            Some((found, suite))
        });
        Some(Proven { receipt: (receipt, entry), suite, unmet })
    }
}

/// Whether one entry stands before another one in one tree. Of two trees of a log only witnesses say that they are one history.
fn is_before(first: &ProofVerification, then: &ProofVerification) -> bool {
    let is_valid = first.answer == Answer::Valid && then.answer == Answer::Valid;
    let (Some(one), Some(other)) = (&first.checkpoint, &then.checkpoint) else { return false };
    let is_witnessed = |found: &ProofVerification| found.witnessed == Witnessed::Met && !found.cosignatures.is_empty();
    let is_one = one == other || (one.origin == other.origin && is_witnessed(first) && is_witnessed(then));
    is_valid && is_one && first.index < then.index
}

impl Proven {
    pub(super) fn exit(&self) -> Exit {
        let of_suite = self.suite.as_ref().map_or(Exit::Yes, |(found, _)| exit_of(found));
        let unmet = if self.unmet.is_empty() { Exit::Yes } else { Exit::No };
        exit_of(&self.receipt.0).max(of_suite).max(unmet)
    }

    /// In lines of text, below the result of the document.
    pub(super) fn shown(&self, paint: Paint) -> String {
        let lines = |label: &str, (found, entry): &(ProofVerification, Sha256Digest)| {
            shown(paint, label, found, entry).lines().map(|line| format!("  {line}\n")).collect::<String>()
        };
        let mut text = lines("in the log", &self.receipt);
        if let Some(suite) = &self.suite {
            text.push_str(&lines("suite in the log", suite));
        }
        text
    }

    /// Adds the proofs to a result.
    pub(super) fn add_to(&self, line: &mut Object) {
        line.insert("log_proof", Json::from(to_json(&self.receipt.0, &self.receipt.1)));
        if let Some((found, entry)) = &self.suite {
            line.insert("suite_proof", Json::from(to_json(found, entry)));
        }
    }
}
