//! `proofmark log verify`.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::anyhow;
use clap::Args;
use proofmark_receipt::{Json, Sha256Digest};
use proofmark_tlog::{ProofFile, ProofVerification, entry_of};
use proofmark_verifier::now;

use super::add::digest_of;
use crate::config::Config;
use crate::error::with_help;
use crate::exit::Exit;
use crate::log_proof::{exit_of, proof_file, shown, to_json, verified};
use crate::logs::{LogTrust, TrustedLogs};
use crate::options::duration;
use crate::out;
use crate::paint::Paint;

/// How far the clock of a witness may be ahead, in seconds.
const MAX_SKEW_SECONDS: u64 = 300;

/// The longest age that can be asked for: 10 years.
const MAX_AGE: Duration = Duration::from_secs(10 * 366 * 86_400);

/// Verify offline that a document is in a log
///
/// The result is about the log alone: `proofmark receipt verify --proof` verifies the receipt as well.
#[derive(Args)]
#[command(after_help = "Examples:
  proofmark log verify receipt.tlog-proof
  proofmark log verify receipt.tlog-proof --log-policy policy.txt --max-age 1d

Exit codes: 0 proven; 1 not proven, too few witnesses, or too old; 2 undecidable.")]
pub(crate) struct Verify {
    /// The proof, or - for standard input
    #[arg(value_name = "FILE|-")]
    proof: PathBuf,
    /// What is to be in the log: a JSON document, or a digest [default: the document in the proof]
    #[arg(long, value_name = "FILE|DIGEST")]
    document: Option<String>,
    /// Demand that witnesses of the policy have cosigned the checkpoint no longer ago than this
    #[arg(long, value_name = "DURATION", requires = "log_policy", value_parser = |text: &str| duration(text, MAX_AGE))]
    max_age: Option<Duration>,
    #[command(flatten)]
    trust: LogTrust,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl Verify {
    pub(crate) fn run(self, config: &Config) -> anyhow::Result<Exit> {
        let trusted = self.trust.read(config)?;
        let bytes = proof_file(&self.proof)?;
        let entry = match &self.document {
            Some(named) => digest_of(named)?,
            None => entry_in(&bytes, &self.proof)?,
        };
        let found = verified(&bytes, &entry, &trusted);
        let too_old = self.max_age.and_then(|most| too_old(&found, &trusted, most));
        let exit = exit_of(&found).max(if too_old.is_some() { Exit::No } else { Exit::Yes });
        let label = self.proof.display().to_string();
        let mut out = out::stdout();
        if self.json {
            let mut line = to_json(&found, &entry);
            line.insert("file", label);
            if let Some(message) = &too_old {
                line.insert("too_old", message.as_str());
            }
            out.json(&Json::from(line).to_text())?;
        } else {
            out.write_all(shown(Paint::for_stdout(), &label, &found, &entry).as_bytes())?;
            if let Some(message) = too_old {
                writeln!(out, "  too_old: {message}")?;
            }
        }
        Ok(exit)
    }
}

/// The digest of the document in a proof file.
fn entry_in(bytes: &[u8], path: &Path) -> anyhow::Result<Sha256Digest> {
    let file = ProofFile::parse(bytes).map_err(|error| anyhow!("read `{}`: {error}", path.display()))?;
    let missing = || {
        with_help(
            format!("verify `{}`: it has no document", path.display()),
            "name the document or its digest with `--document`",
        )
    };
    let document = file.extra.ok_or_else(missing)?;
    entry_of(&document).map_err(|error| anyhow!("read the document in `{}`: {error}", path.display()))
}

/// Why the proof is too old by the latest cosignatures that make the quorum.
fn too_old(found: &ProofVerification, trusted: &TrustedLogs, most: Duration) -> Option<String> {
    let since = now().unix_millis().saturating_sub(i64::try_from(most.as_millis()).unwrap_or(i64::MAX)) / 1_000;
    let since = u64::try_from(since).unwrap_or_default();
    // A time to come says nothing of how old the cosignature is.
    let latest = now().unix_seconds().saturating_add(MAX_SKEW_SECONDS);
    let is_recent = |time: u64| (since..=latest).contains(&time);
    let recent: Vec<_> = found.cosignatures.iter().filter(|cosigned| is_recent(cosigned.time)).cloned().collect();
    let is_met = !recent.is_empty() && trusted.policy.as_ref().is_some_and(|policy| policy.is_met_by(&recent));
    let count = found.cosignatures.len();
    (!is_met).then(|| format!("{} of {count} cosignatures are recent enough, which are too few", recent.len()))
}
