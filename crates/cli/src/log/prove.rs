//! `proofmark log prove`.

use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::anyhow;
use clap::Args;
use proofmark_evidence::suite_digest;
use proofmark_log::prove;
use proofmark_receipt::json::MAX_BYTES;
use proofmark_receipt::{Json, Sha256Digest};
use proofmark_tlog::Witnessed;

use crate::config::Config;
use crate::document;
use crate::exit::Exit;
use crate::input;
use crate::log_proof::{document_entry, verified};
use crate::logs::{LogTrust, TrustedLogs};
use crate::options::{StoreAt, Unlock};
use crate::out;
use crate::receipt::read;

/// Write a file that proves that a document is in the log
///
/// The file has the document, where the store has it, its place in the log, and the signed checkpoint with its cosignatures.
/// `proofmark log verify` checks it offline.
#[derive(Args)]
#[command(after_help = "Examples:
  proofmark log prove 3f2a9c1e > receipt.tlog-proof
  proofmark log prove 3f2a9c1e --log-policy policy.txt > receipt.tlog-proof
  proofmark log prove --suite suite.yaml > suite.tlog-proof")]
pub(crate) struct Prove {
    /// A receipt or a decision: its id in the store (the first digits suffice), its file, or a digest
    #[arg(required_unless_present = "suite", conflicts_with = "suite", value_name = "ID|FILE|DIGEST")]
    document: Option<String>,
    /// A suite that `proofmark log add --suite` has logged
    #[arg(long, value_name = "FILE")]
    suite: Option<PathBuf>,
    /// Leave the document out of the file
    #[arg(long)]
    without_document: bool,
    #[command(flatten)]
    trust: LogTrust,
    #[command(flatten)]
    unlock: Unlock,
    #[command(flatten)]
    store: StoreAt,
}

impl Prove {
    pub(crate) fn run(self, config: &Config) -> anyhow::Result<Exit> {
        let (digest, document) = self.wanted(config)?;
        let policy = self.trust.policy()?;
        let witnesses = super::witnesses(policy.as_ref())?;
        let store = self.store.open_existing(config)?;
        let keeper = super::keeper(config, &self.unlock, &store, witnesses.as_ref())?;
        let published = super::cosigned(&keeper)?;
        let document = document.as_ref().filter(|_| !self.without_document);
        let file = prove(&store, &digest, document, published.note.into_bytes(), &published.checkpoint)?;
        out::stdout().write_all(&file.to_bytes())?;
        let Some(policy) = policy else { return Ok(Exit::Yes) };
        let trusted = TrustedLogs { keys: vec![keeper.vkey().clone()], policy: Some(policy) };
        let found = verified(&file.to_bytes(), &digest, &trusted);
        if found.witnessed != Witnessed::Met {
            out::note("warning: too few witnesses of the policy have cosigned; run the command again");
            return Ok(Exit::No);
        }
        Ok(Exit::Yes)
    }

    /// The digest, and the document where it is at hand.
    fn wanted(&self, config: &Config) -> anyhow::Result<(Sha256Digest, Option<Json>)> {
        if let Some(path) = &self.suite {
            let suite = document::suite(path)?;
            return Ok((suite_digest(&suite.specification, &suite.tests), None));
        }
        let named = self.document.as_deref().unwrap_or_default();
        if read::is_stored(named) {
            let document = Json::parse(read::stored(named, &self.store, config)?.to_text().as_bytes())?;
            return Ok((Sha256Digest::of(&document.canonical_vrf()), Some(document)));
        }
        match named.parse() {
            Ok(digest) => Ok((digest, None)),
            Err(_) => {
                let bytes = input::read_limited(Path::new(named), MAX_BYTES as u64)?;
                let digest = document_entry(&bytes).map_err(|error| anyhow!("read `{named}`: {error}"))?;
                // A statement in COSE is not put into the proof.
                Ok((digest, Json::parse(&bytes).ok()))
            }
        }
    }
}
