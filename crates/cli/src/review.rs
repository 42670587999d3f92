//! `proofmark review`.

use std::io::{IsTerminal, Write};
use std::path::PathBuf;
use std::sync::Arc;

use clap::{Args, ValueEnum};
use proofmark_checks::MAX_REQUEST_BYTES;
use proofmark_quorum::{Criterion, Judged, Judgment, Reference};
use proofmark_receipt::{Receipt, Sha256Digest, Status, Timestamp};
use proofmark_store::Tenant;
use proofmark_verifier::{Destination, Issuer, now, receipt_id};

use crate::config::Config;
use crate::confirm::confirm;
use crate::error::{CommandError, with_help};
use crate::exit::Exit;
use crate::input;
use crate::options::{StoreAt, Unlock, review_expiry};
use crate::out;
use crate::paint::printable;
use crate::receipt::read;

/// Sign what a person finds of work: a receipt of tier 3, with a verdict and the reason in words
///
/// Judge a receipt of the work, or a file with the brief that it was made for. The key is the person's own: one that issues receipts of
/// verifications counts in no role.
#[derive(Args)]
#[command(after_help = "Examples:
  proofmark review 3f2a9c1e --key reviewer --role maintainer --note \"Reads well; the edge cases are covered.\" --yes
  proofmark review solution.py --brief request.txt --key reviewer --role maintainer --verdict fail --note \"Too slow.\" --yes
  proofmark review 3f2a9c1e --key reviewer --role maintainer --note \"See below.\" --criterion readable=pass --criterion fast=fail --yes

Exit codes: 0 pass; 1 fail or partial; 2 not judged, or wrong usage.")]
pub(crate) struct Review {
    /// A receipt of the work: its id in the store (the first digits suffice) or its file; or, with --brief, the file of the work itself
    #[arg(value_name = "ID|FILE")]
    work: String,
    /// What the work was asked for
    #[arg(long, value_name = "FILE")]
    brief: Option<PathBuf>,
    /// The person's own key: a name, or the path of a key file
    #[arg(long, value_name = "KEY")]
    key: String,
    /// In which role they judge
    #[arg(long)]
    role: String,
    /// The judgment in words
    #[arg(long, value_name = "TEXT")]
    note: String,
    /// The verdict, where no criteria are named
    #[arg(long, value_enum, default_value = "pass", conflicts_with = "criterion")]
    verdict: StatusName,
    /// What they judged by, as in readable=pass; can be repeated
    #[arg(long, value_name = "NAME=STATUS", value_parser = criterion)]
    criterion: Vec<(String, StatusName)>,
    /// What they were shown, whose digest is signed with the judgment
    #[arg(long, value_name = "FILE")]
    shown: Option<PathBuf>,
    /// How long the judgment counts, at most 30d [default: without end]
    #[arg(long, value_name = "DURATION", value_parser = review_expiry)]
    expires: Option<i64>,
    /// Do not ask
    #[arg(short, long)]
    yes: bool,
    #[command(flatten)]
    unlock: Unlock,
    #[command(flatten)]
    store: StoreAt,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum StatusName {
    Pass,
    Fail,
    /// The person could not judge
    Error,
}

impl Review {
    pub(crate) fn run(self, config: &Config) -> anyhow::Result<Exit> {
        let subject = self.subject(config)?;
        let key = self.unlock.load(config, &self.key)?;
        let criteria = match self.criterion.as_slice() {
            [] => vec![self.criterion_of("judgment", self.verdict)],
            named => named.iter().map(|(name, status)| self.criterion_of(name, *status)).collect(),
        };
        let shown = self.shown.as_deref().map(digest_of_file).transpose()?;
        let now = now();
        let expires_at =
            self.expires.map(|millis| Timestamp::from_unix_millis(now.unix_millis().saturating_add(millis)));
        let on = subject.receipt.iter().map(Reference::of).collect();
        let judgment = Judgment { role: self.role.clone(), statement: self.note.clone(), shown, on, expires_at };
        let judged =
            Judged { task_id: subject.task_id, specification: subject.specification, output: subject.output, criteria };
        out::note(format!("work      {}", printable(&self.work)));
        out::note(format!("output    {}\nbrief     {}", subject.output, subject.specification));
        for criterion in &judged.criteria {
            out::note(format!("{:<9} {}", printable(criterion.status.as_str()), printable(&criterion.name)));
        }
        out::note(format!("as        {}\nnote      {}", printable(&self.role), printable(&self.note)));
        if !confirm("sign", "the judgment", self.yes)? {
            return Ok(Exit::No);
        }
        let draft = judgment.draft(judged, receipt_id()?, now);
        let draft = draft.map_err(|error| CommandError::new(error.to_string(), Some(error.help().to_owned())))?;
        let store = Arc::new(self.store.open(config)?);
        let to = Destination::of(&Tenant::LOCAL);
        let receipt = Issuer::with(Arc::new(key), store).issue(draft, to)?.wait()?;
        let mut out = out::stdout();
        if std::io::stdout().is_terminal() {
            writeln!(out, "{}\n  judgment {}", receipt.verdict(), receipt.receipt_id())?;
        } else {
            out.json(&receipt.to_text())?;
        }
        Ok(Exit::from(receipt.verdict()))
    }

    fn criterion_of(&self, name: &str, status: StatusName) -> Criterion {
        let status = match status {
            StatusName::Pass => Status::Pass,
            StatusName::Fail => Status::Fail,
            StatusName::Error => Status::Error,
        };
        Criterion { name: name.to_owned(), status, message: self.note.clone() }
    }

    /// What is judged.
    fn subject(&self, config: &Config) -> anyhow::Result<Subject> {
        if let Some(brief) = &self.brief {
            let output = digest_of_file(std::path::Path::new(&self.work))?;
            return Ok(Subject { specification: digest_of_file(brief)?, output, task_id: None, receipt: None });
        }
        let [receipt] = <[Receipt; 1]>::try_from(read::receipts(&self.work, &self.store, config)?).map_err(|all| {
            let message = format!("review `{}`: it has {} receipts", self.work, all.len());
            with_help(message, "name one receipt, or the file of the work with --brief")
        })?;
        let hashes = receipt.hashes();
        let task_id = receipt.task().and_then(|task| task.task_id.clone());
        Ok(Subject { specification: hashes.specification, output: hashes.output, task_id, receipt: Some(receipt) })
    }
}

struct Subject {
    specification: Sha256Digest,
    output: Sha256Digest,
    task_id: Option<String>,
    receipt: Option<Receipt>,
}

fn digest_of_file(path: &std::path::Path) -> anyhow::Result<Sha256Digest> {
    Ok(Sha256Digest::of(&input::read_limited(path, MAX_REQUEST_BYTES as u64)?))
}

fn criterion(text: &str) -> Result<(String, StatusName), String> {
    let (name, status) = text.rsplit_once('=').ok_or("write a name and a status, as in readable=pass")?;
    let status = StatusName::from_str(status, false).map_err(|_| "the status is pass, fail or error".to_owned())?;
    if name.is_empty() { Err("name the criterion".to_owned()) } else { Ok((name.to_owned(), status)) }
}
