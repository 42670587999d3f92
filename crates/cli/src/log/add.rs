//! `proofmark log add`.

use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::anyhow;
use clap::Args;
use proofmark_evidence::suite_digest;
use proofmark_receipt::json::MAX_BYTES;
use proofmark_receipt::{Sha256Digest, object};
use proofmark_store::{LogEntry, Tenant};

use crate::config::Config;
use crate::document;
use crate::error::with_help;
use crate::exit::Exit;
use crate::input;
use crate::log_proof::document_entry;
use crate::options::StoreAt;
use crate::out;
use crate::paint::printable;

/// Log that a document, a suite or a digest exists, before the work that it judges
///
/// A receipt that is proven by the same log at a later place was made after it: `proofmark receipt verify --proof … --suite-proof …`.
/// The log has the digest alone. Of a JSON document it is the digest of its canonical form, of a suite the one that receipts have.
#[derive(Args)]
#[command(after_help = "Examples:
  proofmark log add --suite suite.yaml
  proofmark log add head.json
  proofmark log add sha256:2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae")]
pub(crate) struct Add {
    /// A JSON document, or a digest
    #[arg(required_unless_present = "suite", value_name = "FILE|DIGEST")]
    documents: Vec<String>,
    /// A suite: a request with or without an output; can be repeated
    #[arg(long, value_name = "FILE")]
    suite: Vec<PathBuf>,
    #[command(flatten)]
    store: StoreAt,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl Add {
    pub(crate) fn run(self, config: &Config) -> anyhow::Result<Exit> {
        let mut digests = Vec::new();
        for named in &self.documents {
            digests.push((named.clone(), digest_of(named)?));
        }
        for path in &self.suite {
            let suite = document::suite(path)?;
            digests.push((path.display().to_string(), suite_digest(&suite.specification, &suite.tests)));
        }
        let store = self.store.open(config)?;
        let mut out = out::stdout();
        for (named, digest) in digests {
            store.of(&Tenant::LOCAL).submit(LogEntry(digest)).wait()?;
            let index = store.log_index(&digest)?.ok_or_else(|| anyhow!("find the entry {digest} in the log"))?;
            if self.json {
                out.json(&object! { "name": named, "digest": digest.to_string(), "index": index }.to_text())?;
            } else {
                writeln!(out, "{}: entry {index}, {digest}", printable(&named))?;
            }
        }
        Ok(Exit::Yes)
    }
}

/// The digest that a text is, or that of the document in the file that it names.
pub(super) fn digest_of(named: &str) -> anyhow::Result<Sha256Digest> {
    if let Ok(digest) = named.parse() {
        return Ok(digest);
    }
    if named.contains(':') && !Path::new(named).exists() {
        let help = "write a digest as sha256: and 64 hex digits, or name a file";
        return Err(with_help(format!("find `{named}`: it is neither a file nor a digest"), help));
    }
    let bytes = input::read_limited(Path::new(named), MAX_BYTES as u64)?;
    document_entry(&bytes).map_err(|error| anyhow!("read `{named}`: {error}"))
}
