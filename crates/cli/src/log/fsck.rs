//! `proofmark log fsck`.

use std::io::Write;
use std::path::Path;

use anyhow::{Context, anyhow};
use clap::Args;
use proofmark_log::{Audit, LogFolder, LogSource, audit_files, audit_store};
use proofmark_receipt::{Json, object};
use proofmark_server::{LogClient, RemoteLog};

use crate::config::Config;
use crate::error::with_help;
use crate::exit::Exit;
use crate::logs;
use crate::logs::LogTrust;
use crate::options::StoreAt;
use crate::out;
use crate::paint::{Paint, printable};
use crate::progress::{Progress, Work};
use crate::report::count;

/// Recompute a log: every entry, every tile, and what was signed
///
/// Of the store, each document has to have its entry too, and the checkpoint that `$PROOFMARK_HOME` keeps has to be there.
#[derive(Args)]
#[command(after_help = "Examples:
  proofmark log fsck
  proofmark log fsck public --log-policy policy.txt
  proofmark log fsck http://127.0.0.1:8700/log --log-policy policy.txt

Exit codes: 0 sound; 1 it is not what was signed; 2 it could not be read, or no known key has signed it.")]
pub(crate) struct Fsck {
    /// A mirror, or the URL of a log [default: the log of the store]
    #[arg(value_name = "DIR|URL")]
    log: Option<String>,
    #[command(flatten)]
    trust: LogTrust,
    #[command(flatten)]
    store: StoreAt,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl Fsck {
    pub(crate) fn run(self, config: &Config) -> anyhow::Result<Exit> {
        let progress = Progress::new(Work::Whole("recomputing the log"));
        let (name, audit) = match &self.log {
            None => {
                let store = self.store.open_existing(config)?;
                (self.store.place(config).to_string(), audit_store(&store, &logs::home(config))?)
            }
            Some(log) => (log.clone(), self.of_files(log, config)?),
        };
        drop(progress);
        let mut out = out::stdout();
        let paint = Paint::for_stdout();
        for fault in &audit.faults {
            if self.json {
                out.json(&object! { "code": fault.code, "message": fault.message.as_str() }.to_text())?;
            } else {
                writeln!(out, "{} {}", paint.bad(fault.code), printable(&fault.message))?;
            }
        }
        let is_sound = audit.faults.is_empty();
        if self.json {
            let whole = object! {
                "log": name, "sound": is_sound, "entries": audit.entries, "faults": audit.faults.len() as u64,
            };
            out.json(&Json::from(whole).to_text())?;
        } else {
            let word = if is_sound { paint.good("sound") } else { paint.bad("faults") };
            writeln!(
                out,
                "{word} {}\n  {} compared with a signed checkpoint",
                printable(&name),
                count(audit.entries, "entry")
            )?;
        }
        Ok(audit.answer().into())
    }

    fn of_files(&self, log: &str, config: &Config) -> anyhow::Result<Audit> {
        let vkeys = self.trust.read(config)?.vkeys();
        if log.contains("://") {
            let client = LogClient::new()?;
            let remote = RemoteLog::at(&client, log)?;
            let note = remote.checkpoint().map_err(|error| anyhow!(error))?;
            return audit_files(&note, &remote, &vkeys).map_err(|error| anyhow!(error));
        }
        let folder = LogFolder::at(Path::new(log));
        let context = || format!("read the log in `{log}`");
        let note = folder.checkpoint().with_context(context)?;
        let note = note.ok_or_else(|| {
            with_help(format!("{}: it has no file `checkpoint`", context()), "name the folder of a mirror")
        })?;
        audit_files(&note, &folder, &vkeys).with_context(context)
    }
}
