//! Reviews that other servers make when they are asked.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Context;
use clap::Args;
use proofmark_checks::{MAX_REQUEST_BYTES, Request};
use proofmark_receipt::document::parse;
use proofmark_receipt::{Receipt, shown};
use proofmark_server::{Peer, Peers};

use crate::config::secret_file;
use crate::error::with_help;
use crate::input;
use crate::options;
use crate::out;
use crate::source::{Source, format_of};

/// The servers that are asked.
#[derive(Args)]
pub(super) struct Asked {
    /// Have these servers verify the work of `--request`, each for itself
    #[arg(long, value_name = "URL,…", value_delimiter = ',', requires = "request")]
    peers: Vec<String>,
    /// The request that the servers verify; it may not name files
    #[arg(long, value_name = "FILE", requires = "peers")]
    request: Option<PathBuf>,
    /// Send API keys of this file: one line `URL KEY` for each server that asks for one
    #[arg(long, value_name = "FILE", requires = "peers")]
    peer_keys: Option<PathBuf>,
    /// How long the servers may take
    #[arg(long, value_name = "DURATION", default_value = "10m", value_parser = patience, requires = "peers")]
    max_wait: Duration,
}

/// The longest time that servers may take.
const MAX_PATIENCE: Duration = Duration::from_secs(24 * 3_600);

fn patience(text: &str) -> Result<Duration, String> {
    options::duration(text, MAX_PATIENCE)
}

impl Asked {
    /// The receipts of those that answer. Those that do not, and what the others disagree on, are named on standard error.
    pub(super) fn receipts(&self) -> anyhow::Result<Vec<Receipt>> {
        let Some(path) = &self.request else { return Ok(Vec::new()) };
        let bytes = input::read_limited(path, MAX_REQUEST_BYTES as u64)?;
        let (label, format) = (path.display().to_string(), format_of(path));
        let source = Source { label: &label, line: 1, text: &bytes, format };
        let request = Request::read(&bytes, format, None).map_err(|error| source.error("read the request", &error))?;
        // Servers read JSON.
        let document = parse(&bytes, format).map_err(|error| source.error("read the request", &error))?;
        let peers = self.named()?;
        out::note(format_args!("{} servers are asked", peers.len()));
        let asking = Peers::new().context("read the system's certificates")?;
        let answers = asking.verify(&peers, &document.to_text(), &request.hashes, self.max_wait);
        let mut found = Vec::new();
        for (peer, answer) in peers.iter().zip(answers) {
            match answer {
                Ok(receipt) => {
                    let results = receipt.results();
                    let verdict = receipt.verdict().as_str();
                    out::note(format_args!(
                        "{}: {verdict}, {} of {}",
                        shown(peer.url()),
                        results.passed,
                        results.total
                    ));
                    found.push((peer.url(), receipt));
                }
                Err(error) => out::note(format_args!("failed to {error}\n  help: {}", error.help())),
            }
        }
        disagreements(&found).into_iter().for_each(out::note);
        Ok(found.into_iter().map(|(_, receipt)| receipt).collect())
    }

    fn named(&self) -> anyhow::Result<Vec<Peer>> {
        let keys = self.peer_keys.as_deref().map(api_keys).transpose()?.unwrap_or_default();
        let unasked = keys.keys().find(|url| !self.peers.iter().any(|peer| peer == *url));
        if let Some(url) = unasked {
            let message = format!("use the API keys: no server `{}` is asked", shown(url));
            return Err(with_help(message, "write the URLs as in `--peers`"));
        }
        let peer = |url: &String| Peer::new(url, keys.get(url).map(String::as_str));
        let peers = self.peers.iter().map(peer).collect::<Result<_, _>>();
        peers.map_err(|error| with_help(error.to_string(), error.help()))
    }
}

/// The API key of each server.
fn api_keys(path: &Path) -> anyhow::Result<BTreeMap<String, String>> {
    let text = secret_file(path, "API key")?;
    let mut keys = BTreeMap::new();
    for line in text.lines().filter(|line| !line.trim().is_empty() && !line.starts_with('#')) {
        let Some((url, key)) = line.split_once(' ') else {
            let message = format!("read the API keys `{}`: a line does not have a URL and a key", path.display());
            return Err(with_help(message, "write `URL KEY`, one server in each line"));
        };
        keys.insert(url.to_owned(), key.trim().to_owned());
    }
    Ok(keys)
}

/// The checks whose status differs, with who says what.
fn disagreements(found: &[(&str, Receipt)]) -> Vec<String> {
    let mut checks: BTreeMap<&str, BTreeMap<&str, Vec<&str>>> = BTreeMap::new();
    for (url, receipt) in found {
        for detail in &receipt.results().details {
            let said = checks.entry(&detail.name).or_default();
            said.entry(detail.status.as_str()).or_default().push(url);
        }
    }
    let lines = checks.into_iter().filter_map(|(check, mut said)| {
        let have: BTreeSet<&str> = said.values().flatten().copied().collect();
        let absent: Vec<&str> = found.iter().map(|(url, _)| *url).filter(|url| !have.contains(url)).collect();
        if !absent.is_empty() {
            said.insert("not there", absent);
        }
        let says = |(status, urls): (&str, Vec<&str>)| format!("{status} ({})", urls.join(", "));
        (said.len() > 1).then(|| {
            let said: Vec<String> = said.into_iter().map(says).collect();
            format!("they disagree on `{}`: {}", shown(check), said.join(", "))
        })
    });
    lines.collect()
}
