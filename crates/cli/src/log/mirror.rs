//! `proofmark log mirror`.

use std::fmt::Display;
use std::io::Write;
use std::path::PathBuf;

use anyhow::anyhow;
use clap::Args;
use proofmark_log::{LogFolder, LogSource, Mirrored, StoredLog, mirror};
use proofmark_receipt::object;
use proofmark_server::{LogClient, RemoteLog};
use proofmark_store::{Store, StoreError};
use proofmark_tlog::{Code, Cosigner, LogFiles, Policy, TileId, Tiles, Vkey};
use proofmark_verifier::now;

use crate::config::Config;
use crate::exit::Exit;
use crate::logs::LogTrust;
use crate::options::{StoreAt, Unlock};
use crate::out;
use crate::paint::{Paint, printable};
use crate::report::count;

/// Copy a log into a folder, as files that any web server can serve
///
/// Everything that is copied is compared with the signed checkpoint first, and the checkpoint with the one that the copy has: a log that
/// shows another history is refused, and the copy stays. Run it again to follow the log.
#[derive(Args)]
#[command(after_help = "Examples:
  proofmark log mirror public
  proofmark log mirror copy --from http://127.0.0.1:8700/log --log-policy policy.txt
  proofmark key new mirror
  proofmark log mirror public --cosign-as mirror.example.net/m1 --key mirror

Exit codes: 0 copied; 1 the log shows another history, or files that were not signed; 2 it could not be read, or no known key has signed it.")]
pub(crate) struct Mirror {
    /// The folder of the copy
    #[arg(value_name = "DIR")]
    folder: PathBuf,
    /// The URL of the log [default: the log of the store]
    #[arg(long, value_name = "URL")]
    from: Option<String>,
    /// Add a cosignature of this name to the checkpoint: that this mirror holds a copy
    #[arg(long, value_name = "NAME", requires = "key")]
    cosign_as: Option<String>,
    /// The mirror's own key, which signs nothing else: a name, or the path of a key file
    #[arg(long, value_name = "KEY", requires = "cosign_as")]
    key: Option<String>,
    #[command(flatten)]
    trust: LogTrust,
    #[command(flatten)]
    unlock: Unlock,
    #[command(flatten)]
    store: StoreAt,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// The log of a store with its last checkpoint.
struct OwnLog<'s> {
    files: StoredLog<'s>,
    note: String,
}

impl Mirror {
    pub(crate) fn run(self, config: &Config) -> anyhow::Result<Exit> {
        let trusted = self.trust.read(config)?;
        let witnesses = trusted.policy.iter().flat_map(Policy::witnesses).map(|witness| witness.key.clone()).collect();
        let vkeys = (trusted.vkeys(), witnesses);
        let cosigner = self.cosigner(config)?;
        match &self.from {
            Some(url) => {
                let client = LogClient::new()?;
                self.copy(&RemoteLog::at(&client, url)?, &vkeys, cosigner.as_ref())
            }
            None => {
                let store = self.store.open_existing(config)?;
                let note = signed(&store, config, &self.unlock)?;
                self.copy(&OwnLog { files: StoredLog(&store), note }, &vkeys, cosigner.as_ref())
            }
        }
    }

    fn cosigner(&self, config: &Config) -> anyhow::Result<Option<Cosigner>> {
        let Some((name, key)) = self.cosign_as.as_deref().zip(self.key.as_deref()) else { return Ok(None) };
        let key = self.unlock.load(config, key)?;
        let cosigner = Cosigner::from_pkcs8_pem(name, &key.to_pkcs8_pem());
        Ok(Some(cosigner.map_err(|error| anyhow!("cosign as `{name}`: {error}"))?))
    }

    fn copy<S: LogSource>(
        &self,
        source: &S,
        (vkeys, witnesses): &(Vec<Vkey>, Vec<Vkey>),
        cosigner: Option<&Cosigner>,
    ) -> anyhow::Result<Exit>
    where
        S::Error: Display,
    {
        let cosigner = cosigner.map(|own| (own, now().unix_seconds()));
        let mirrored = mirror(source, &LogFolder::at(&self.folder), vkeys, witnesses, cosigner);
        let name = self.folder.display().to_string();
        let mut out = out::stdout();
        match mirrored {
            Ok(Mirrored { before, entries }) if self.json => {
                out.json(&object! { "mirror": name, "before": before, "entries": entries }.to_text())?;
                Ok(Exit::Yes)
            }
            Ok(Mirrored { before, entries }) => {
                writeln!(
                    out,
                    "{}: {}, {} of them new",
                    printable(&name),
                    count(entries, "entry"),
                    entries.saturating_sub(before)
                )?;
                Ok(Exit::Yes)
            }
            Err(error) => {
                let Some(code) = error.code() else { return Err(anyhow!(error.to_string())) };
                refused(("mirror", &name), code, &error.to_string(), self.json)?;
                Ok(code.answer().into())
            }
        }
    }
}

/// Prints why a log is not followed, with a member of JSON that names the log or its copy.
pub(super) fn refused((member, name): (&str, &str), code: Code, message: &str, json: bool) -> anyhow::Result<()> {
    let mut out = out::stdout();
    if json {
        let mut line = object! { "cause": code.as_str(), "message": message };
        line.insert(member, name);
        out.json(&line.to_text())?;
    } else {
        writeln!(out, "{} {}", Paint::for_stdout().bad(code.as_str()), printable(message))?;
    }
    Ok(())
}

/// The checkpoint of the store's log, after what is new was signed.
pub(super) fn signed(store: &Store, config: &Config, unlock: &Unlock) -> anyhow::Result<String> {
    Ok(super::keeper(config, unlock, store, None)?.publish()?.note)
}

impl Tiles for OwnLog<'_> {
    type Error = StoreError;

    fn tile(&self, id: TileId, width: usize) -> Result<Option<Vec<u8>>, StoreError> {
        self.files.tile(id, width)
    }
}

impl LogFiles for OwnLog<'_> {
    fn bundle(&self, index: u64, width: usize) -> Result<Option<Vec<u8>>, StoreError> {
        self.files.bundle(index, width)
    }
}

impl LogSource for OwnLog<'_> {
    fn checkpoint(&self) -> Result<Vec<u8>, StoreError> {
        Ok(self.note.clone().into_bytes())
    }
}
