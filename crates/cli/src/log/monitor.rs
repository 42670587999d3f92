//! `proofmark log monitor`.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::PathBuf;
use std::thread;
use std::time::Duration;

use anyhow::{Context, anyhow};
use clap::Args;
use proofmark_keys::owned;
use proofmark_log::LogSource;
use proofmark_receipt::{Receipt, Sha256Digest, Verdict, object};
use proofmark_server::{LogClient, RemoteLog};
use proofmark_store::{Filter, MAX_PAGE, Store};
use proofmark_tlog::{
    Checkpoint, Code, LogFiles, MAX_NOTE_BYTES, SignedCheckpoint, TILE_HASHES, TileId, Vkey, consistency_proof,
    read_bundle,
};

use super::mirror::refused;
use crate::config::Config;
use crate::exit::Exit;
use crate::input;
use crate::logs::LogTrust;
use crate::options::{StoreAt, duration};
use crate::out;
use crate::paint::printable;

/// The longest pause between two looks.
const MAX_PAUSE: Duration = Duration::from_secs(86_400);
/// The most new entries that one look names.
const MAX_NAMED: u64 = 100_000;

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
            let exit = self.look(&log, &vkeys, store.as_ref())?;
            let Some(pause) = self.every.filter(|_| exit == Exit::Yes) else { return Ok(exit) };
            thread::sleep(pause);
        }
    }

    fn look(&self, log: &RemoteLog<'_>, vkeys: &[Vkey], store: Option<&Store>) -> anyhow::Result<Exit> {
        let note = log.checkpoint().map_err(|error| anyhow!(error))?;
        let signed = match SignedCheckpoint::open(&note, vkeys, []) {
            Ok(signed) => signed.checkpoint,
            Err(error) => return self.fault(error.code(), &error.to_string(), &note),
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
        let new = entries(log, before, signed.size)?;
        // What was listed has to be what was signed.
        let root = proofmark_tlog::root(signed.size, log).map_err(|error| anyhow!("read the log: {error}"))?;
        if root != signed.root {
            return self.fault(Code::RootMismatch, "its tiles are not those that it has signed", &note);
        }
        if let Some((index, _)) = self.unproven(log, signed.size, &new)? {
            let message = format!("entry {index} does not hash to its leaf");
            return self.fault(Code::EntryMismatch, &message, &note);
        }
        self.report(&signed, before, &new, store)?;
        owned::create_folder(&self.state).with_context(|| format!("create `{}`", self.state.display()))?;
        owned::replace(&self.state.join("checkpoint"), &note).context("keep the checkpoint")?;
        Ok(Exit::Yes)
    }

    /// The first new entry that is not the leaf of a tile.
    fn unproven(
        &self,
        log: &RemoteLog<'_>,
        size: u64,
        new: &[(u64, Sha256Digest)],
    ) -> anyhow::Result<Option<(u64, Sha256Digest)>> {
        use proofmark_tlog::{Tiles, leaf};
        let mut tiles: BTreeMap<u64, Vec<u8>> = BTreeMap::new();
        for (index, digest) in new {
            let id = TileId { level: 0, index: index / TILE_HASHES as u64 };
            if !tiles.contains_key(&id.index) {
                tiles.clear();
                let tile = log.tile(id, id.width(size)).map_err(|error| anyhow!(error))?;
                tiles.insert(id.index, tile.ok_or_else(|| anyhow!("read the log: tile {} is missing", id.index))?);
            }
            let place = usize::try_from(index % TILE_HASHES as u64).unwrap_or_default() * 32;
            let found = tiles.get(&id.index).and_then(|tile| tile.get(place..place + 32));
            if found != Some(leaf(digest).as_bytes().as_slice()) {
                return Ok(Some((*index, *digest)));
            }
        }
        Ok(None)
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
        let path = self.state.join(format!("other-{}", &Sha256Digest::of(note).bare_hex()));
        owned::replace(&path, note).context("keep the checkpoint")?;
        refused(&self.url, code, &format!("{message}; the checkpoint is kept in `{}`", path.display()), self.json)?;
        Ok(if code.answer() == proofmark_tlog::Answer::Undecidable { Exit::NoAnswer } else { Exit::No })
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
            writeln!(out, "{}: {size} entries, {} of them new", printable(origin), size.saturating_sub(before))?;
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

/// The entries of a log from an index on.
fn entries(log: &RemoteLog<'_>, from: u64, size: u64) -> anyhow::Result<Vec<(u64, Sha256Digest)>> {
    if size.saturating_sub(from) > MAX_NAMED {
        out::note(format!("warning: only the last {MAX_NAMED} of {} new entries are looked at", size - from));
    }
    let from = from.max(size.saturating_sub(MAX_NAMED));
    let (mut all, mut bundle) = (Vec::new(), from / TILE_HASHES as u64);
    while bundle * (TILE_HASHES as u64) < size {
        let width = TileId { level: 0, index: bundle }.width(size);
        let bytes = log.bundle(bundle, width).map_err(|error| anyhow!(error))?;
        let bytes = bytes.ok_or_else(|| anyhow!("read the log: the bundle {bundle} of entries is missing"))?;
        let read = read_bundle(&bytes).map_err(|error| anyhow!("read the bundle {bundle} of entries: {error}"))?;
        let first = bundle * TILE_HASHES as u64;
        all.extend((first..).zip(read).take(width).filter(|(index, _)| *index >= from));
        bundle += 1;
    }
    Ok(all)
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
