//! `proofmark log monitor`.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::PathBuf;
use std::thread;
use std::time::Duration;

use anyhow::{Context, anyhow};
use clap::Args;
use proofmark_keys::owned;
use proofmark_log::{LogSource, other_name};
use proofmark_receipt::{Receipt, Sha256Digest, Verdict, object};
use proofmark_server::{LogClient, RemoteLog};
use proofmark_store::{Filter, MAX_PAGE, Store};
use proofmark_tlog::{
    Appender, AuditError, Audited, Checkpoint, Code, MAX_NOTE_BYTES, SignedCheckpoint, TILE_HASHES, Vkey, audit,
    consistency_proof,
};

use super::mirror::refused;
use crate::config::Config;
use crate::error::with_help;
use crate::exit::Exit;
use crate::input;
use crate::logs::LogTrust;
use crate::options::{StoreAt, duration};
use crate::out;
use crate::paint::printable;
use crate::report::count;

/// The longest pause between two looks.
const MAX_PAUSE: Duration = Duration::from_secs(86_400);
/// The most new entries that one look reads: 2.6 GB of hashes.
const MAX_NEW: u64 = 40_000_000;

/// Follow a log: that it has one history, and which of your receipts are new in it
///
/// What the log showed last is kept in a folder. A log that does not continue it is named, and both checkpoints are kept: they are evidence,
/// because the log has signed both. Of each new entry whose document the store has, its signer, task and verdict are shown.
#[derive(Args)]
#[command(after_help = "Examples:
  proofmark log monitor http://127.0.0.1:8700/log --log-policy policy.txt --state watched
  proofmark log monitor http://127.0.0.1:8700/log --log-policy policy.txt --state watched --verdict fail --json

Exit codes: 0 one history; 1 two histories, or files that were not signed; 2 it could not be read.")]
pub(crate) struct Monitor {
    /// The URL of the log
    url: String,
    /// The folder of what the log showed last
    #[arg(long, value_name = "DIR")]
    state: PathBuf,
    /// Look again and again, after this pause, until Ctrl-C
    #[arg(long, value_name = "DURATION", value_parser = |text: &str| duration(text, MAX_PAUSE))]
    every: Option<Duration>,
    /// Only receipts with this verdict
    #[arg(long, value_name = "VERDICT")]
    verdict: Option<Verdict>,
    /// Only receipts of this task
    #[arg(long, value_name = "TASK")]
    task: Option<String>,
    /// Only receipts of this signer: its signer id
    #[arg(long, value_name = "SIGNER")]
    signer: Option<String>,
    #[command(flatten)]
    trust: LogTrust,
    #[command(flatten)]
    store: StoreAt,
    /// Print one JSON object per line
    #[arg(long)]
    json: bool,
}

impl Monitor {
    pub(crate) fn run(self, config: &Config) -> anyhow::Result<Exit> {
        let vkeys = self.trust.read(config)?.vkeys();
        let store = self.store.open_if_there(config)?;
        let client = LogClient::new()?;
        let log = RemoteLog::at(&client, &self.url)?;
        loop {
            let looked = self.look(&log, &vkeys, store.as_ref());
            let Some(pause) = self.every else { return looked };
            match looked {
                // Two histories are told once: what follows would contradict the same checkpoint.
                Ok(Exit::No) => return Ok(Exit::No),
                Ok(_) => {}
                // A log that cannot be reached now may be later.
                Err(error) => out::note(format!("warning: {}", printable(&crate::error::message(&error)))),
            }
            thread::sleep(pause);
        }
    }

    fn look(&self, log: &RemoteLog<'_>, vkeys: &[Vkey], store: Option<&Store>) -> anyhow::Result<Exit> {
        let note = log.checkpoint().map_err(|error| anyhow!(error))?;
        let signed = match SignedCheckpoint::open(&note, vkeys, []) {
            Ok(signed) => signed.checkpoint,
            // Nobody who is known has signed it, so it is evidence of nothing.
            Err(error) => {
                refused(("log", &self.url), error.code(), &error.to_string(), self.json)?;
                return Ok(error.code().answer().into());
            }
        };
        let held = self.held(vkeys)?;
        let before = held.as_ref().map_or(0, |held| held.size);
        if let Some(held) = &held {
            if held.size > signed.size {
                let message = format!("it showed {} entries, and now {}", held.size, signed.size);
                return self.fault(Code::ConsistencyMismatch, &message, &note);
            }
            let proof = consistency_proof(before, signed.size, log);
            let proof = proof.map_err(|error| anyhow!("read the log: {error}"))?;
            if let Err(error) = held.verify_prefix_of(&signed, &proof) {
                return self.fault(error.code(), &error.to_string(), &note);
            }
        }
        // All that is new is compared with the root that was signed, beginning from the tree that was shown last.
        let tree = match before {
            0 => Appender::default(),
            _ => Appender::open(before, log).map_err(|error| anyhow!("read the log: {error}"))?,
        };
        if held.as_ref().is_some_and(|held| tree.root() != held.root) {
            return self.fault(Code::RootMismatch, "its tiles are not those of the tree that it showed before", &note);
        }
        if signed.size - before > MAX_NEW {
            let message =
                format!("follow the log: {} entries are new, and at most {MAX_NEW} are read", signed.size - before);
            return Err(with_help(message, "copy it with `proofmark log mirror`"));
        }
        let mut new = Vec::new();
        let audited = audit(tree, signed.size, &signed.root, log, |audited| {
            if let Audited::Bundle { index, entries } = audited {
                let first = index.saturating_mul(TILE_HASHES as u64);
                new.extend((first..).zip(entries).filter(|(index, _)| *index >= before));
            }
            Ok(())
        });
        match audited {
            Ok(()) => {}
            Err(AuditError::Storage(error)) => return Err(anyhow!(error)),
            Err(fault) => {
                let code = fault.code().unwrap_or(Code::TileMismatch);
                return self.fault(code, &fault.to_string(), &note);
            }
        }
        self.report(&signed, before, &new, store)?;
        owned::create_folder(&self.state).with_context(|| format!("create `{}`", self.state.display()))?;
        owned::replace(&self.state.join("checkpoint"), &note).context("keep the checkpoint")?;
        Ok(Exit::Yes)
    }

    /// What the log showed last.
    fn held(&self, vkeys: &[Vkey]) -> anyhow::Result<Option<Checkpoint>> {
        let path = self.state.join("checkpoint");
        if !path.exists() {
            return Ok(None);
        }
        let note = input::read_limited(&path, MAX_NOTE_BYTES as u64)?;
        let signed = SignedCheckpoint::open(&note, vkeys, []);
        Ok(Some(signed.map_err(|error| anyhow!("use `{}`: {error}", path.display()))?.checkpoint))
    }

    /// Keeps the checkpoint beside the one that it contradicts.
    fn fault(&self, code: Code, message: &str, note: &[u8]) -> anyhow::Result<Exit> {
        owned::create_folder(&self.state).with_context(|| format!("create `{}`", self.state.display()))?;
        let path = self.state.join(other_name(&String::from_utf8_lossy(note)));
        owned::replace(&path, note).context("keep the checkpoint")?;
        let message = format!("{message}; the checkpoint is kept in `{}`", path.display());
        refused(("log", &self.url), code, &message, self.json)?;
        Ok(code.answer().into())
    }

    fn report(
        &self,
        signed: &Checkpoint,
        before: u64,
        new: &[(u64, Sha256Digest)],
        store: Option<&Store>,
    ) -> anyhow::Result<()> {
        let mut out = out::stdout();
        let receipts = store.map(|store| known(store, new)).transpose()?.unwrap_or_default();
        let is_all = self.verdict.is_none() && self.task.is_none() && self.signer.is_none();
        for (index, digest) in new {
            match receipts.get(digest) {
                Some(receipt) if self.is_wanted(receipt) => {
                    let signer = receipt.signature().map(|signature| signature.signer_id.as_str()).unwrap_or_default();
                    let task = receipt.task().and_then(|task| task.task_id.as_deref());
                    let id = receipt.receipt_id().to_string();
                    if self.json {
                        let line = object! {
                            "index": *index, "entry": digest.to_string(), "receipt": id, "signer": signer,
                            "task"?: task, "verdict": receipt.verdict().as_str(),
                        };
                        out.json(&line.to_text())?;
                    } else {
                        let task = task.map(|task| format!(", task {}", printable(task))).unwrap_or_default();
                        let (verdict, signer) = (receipt.verdict(), printable(signer));
                        writeln!(out, "entry {index}: receipt {id}, {verdict}{task}, by {signer}")?;
                    }
                }
                None if is_all && self.json => {
                    out.json(&object! { "index": *index, "entry": digest.to_string() }.to_text())?;
                }
                None if is_all => writeln!(out, "entry {index}: {digest}")?,
                _ => {}
            }
        }
        let (origin, size) = (&signed.origin, signed.size);
        if self.json {
            let line = object! { "log": origin.as_str(), "entries": size, "new": size.saturating_sub(before) };
            out.json(&line.to_text())?;
        } else {
            writeln!(
                out,
                "{}: {}, {} of them new",
                printable(origin),
                count(size, "entry"),
                size.saturating_sub(before)
            )?;
        }
        Ok(())
    }

    fn is_wanted(&self, receipt: &Receipt) -> bool {
        let task = receipt.task().and_then(|task| task.task_id.as_deref());
        let signer = receipt.signature().map(|signature| signature.signer_id.as_str());
        self.verdict.is_none_or(|verdict| receipt.verdict() == verdict)
            && self.task.as_deref().is_none_or(|wanted| task == Some(wanted))
            && self.signer.as_deref().is_none_or(|wanted| signer == Some(wanted))
    }
}

/// Those receipts of the store that are among the entries.
fn known(store: &Store, new: &[(u64, Sha256Digest)]) -> anyhow::Result<BTreeMap<Sha256Digest, Receipt>> {
    let mut missing: std::collections::BTreeSet<Sha256Digest> = new.iter().map(|(_, digest)| *digest).collect();
    let (mut found, mut filter) = (BTreeMap::new(), Filter { limit: MAX_PAGE, ..Filter::default() });
    while !missing.is_empty() {
        let page = store.all_tenants_receipts(&filter)?;
        for stored in page.receipts {
            let digest = stored.receipt.hash();
            if missing.remove(&digest) {
                found.insert(digest, stored.receipt);
            }
        }
        let Some(next) = page.next else { break };
        filter.after = Some(next);
    }
    Ok(found)
}
