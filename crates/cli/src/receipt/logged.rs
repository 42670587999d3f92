//! What `receipt verify` demands of the transparency log.

use std::path::PathBuf;

use clap::Args;
use proofmark_keys::{Checked, Claims};
use proofmark_receipt::{Json, Object, Sha256Digest};
use proofmark_tlog::{Answer, ProofVerification, entry_of};

use super::demands::Unmet;
use crate::config::Config;
use crate::exit::Exit;
use crate::log_proof::{exit_of, proof_file, shown, to_json, verified};
use crate::logs::{LogTrust, TrustedLogs};
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

/// What proofs come to for one document.
pub(super) struct Proven {
    receipt: (ProofVerification, Sha256Digest),
    suite: Option<(ProofVerification, Sha256Digest)>,
    pub(super) unmet: Vec<Unmet>,
}

impl Logged {
    /// Reads the files; none where no proof is named.
    pub(super) fn read(&self, config: &Config) -> anyhow::Result<Option<Proofs>> {
        let Some(path) = &self.proof else { return Ok(None) };
        let suite = self.suite_proof.as_deref().map(proof_file).transpose()?;
        Ok(Some(Proofs { proof: proof_file(path)?, suite, trusted: self.trust.read(config)? }))
    }
}

impl Proofs {
    /// Verifies the proofs for a document; nothing for one that has no entry, which is not valid either.
    pub(super) fn of(&self, document: &[u8], checked: &Checked) -> Option<Proven> {
        let entry = entry_of(document).ok()?;
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
                let message = "the suite is not proven to be in the same log before the receipt".to_owned();
                unmet.push(Unmet { code: "suite_not_before", message });
            }
            Some((found, suite))
        });
        Some(Proven { receipt: (receipt, entry), suite, unmet })
    }
}

/// Whether one entry stands before another one in one log.
fn is_before(first: &ProofVerification, then: &ProofVerification) -> bool {
    let is_valid = first.answer == Answer::Valid && then.answer == Answer::Valid;
    let origin = |found: &ProofVerification| found.checkpoint.as_ref().map(|checkpoint| checkpoint.origin.clone());
    is_valid && origin(first).is_some() && origin(first) == origin(then) && first.index < then.index
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
