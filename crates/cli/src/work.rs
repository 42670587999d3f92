//! `proofmark work`.

use std::net::SocketAddr;
use std::num::NonZeroUsize;
use std::sync::Arc;

use anyhow::Context;
use clap::Args;
use proofmark_checks::Language;
use proofmark_jobs::{JobSettings, Role, Verifications};
use proofmark_sandbox::{Host, Runtime};
use proofmark_server::{Ended, WorkSettings, log_jobs, probe_host, work};

use crate::config::Config;
use crate::error::with_help;
use crate::exit::Exit;
use crate::options::{Signing, StoreAt};
use crate::out;
use crate::paint::printable;
use crate::serve::{Logging, concurrency};

/// Run the verifications that servers accept with `proofmark serve --no-verify`
///
/// Any number of workers share the store with the servers. Each claims as many verifications as it has room for, of those
/// that it can run, and signs the receipts with its own key: name it with `--trust-worker` at the servers, and their key here with
/// `--server-key`, unless it is the same. It runs exactly what a server has signed. On
/// SIGTERM a worker claims nothing more and ends what runs, for at most a minute; a second signal ends it at once. What a worker
/// leaves, another runs.
#[derive(Args)]
#[command(after_help = "Examples:
  proofmark work
  proofmark work --jobs 4 --languages python,javascript --listen 127.0.0.1:8702

Exit codes: 0 the worker was told to stop; 2 it could not start or go on; 130 it was ended by a second signal.")]
pub(crate) struct Work {
    /// How many verifications run at a time [default: the number of cores]
    #[arg(long, value_name = "N")]
    jobs: Option<NonZeroUsize>,
    /// Run code of these languages alone [default: all that this host has]
    #[arg(long, value_name = "LANGUAGES", value_delimiter = ',')]
    languages: Vec<Language>,
    #[command(flatten)]
    signing: Signing,
    /// Run the jobs that a server of this signer has accepted, besides those of your own keys: a name of the trust store or of a
    /// key, a signer id, or a public key file; can be repeated
    #[arg(long, value_name = "SIGNER")]
    server_key: Vec<String>,
    #[command(flatten)]
    store: StoreAt,
    /// Serve figures on this address: /metrics for Prometheus, and /healthz. Anyone who reaches it can read them
    #[arg(long, value_name = "ADDRESS")]
    listen: Option<SocketAddr>,
    #[command(flatten)]
    logging: Logging,
}

impl Work {
    pub(crate) fn run(self, config: &Config) -> anyhow::Result<Exit> {
        // The log has a name, because `_` would drop it at once; it must live as long as the worker.
        let _log = self.logging.start()?;
        let key = self.signing.key(config)?;
        let servers = config.known_signers()?.own_and(&self.server_key)?;
        let store = Arc::new(self.store.open(config)?);
        store.require_whole()?;
        let (host, runtimes) = self.host()?;
        let signer = key.signer();
        let only = (!self.languages.is_empty()).then(|| self.languages.clone());
        let role = Role::Worker { workers: concurrency(self.jobs), only };
        let settings = JobSettings { key, store, role, servers, report: Some(log_jobs()) };
        let verifications = Verifications::start_as(settings, move || host).context("start the threads that verify")?;
        out::announce(format_args!("working as {signer}"));
        out::announce(format_args!("runs {}", runtimes.join(", ")));
        let ended = work(WorkSettings { verifications, listen: self.listen }, |address| {
            out::announce(format_args!("figures on http://{address}/metrics"));
        })?;
        Ok(match ended {
            Ended::Drained => Exit::Yes,
            Ended::AtOnce => Exit::Interrupted,
        })
    }

    /// The host, and the interpreters that it runs code with, for a person to read.
    fn host(&self) -> anyhow::Result<(Host, Vec<String>)> {
        let host = probe_host();
        if let Err(cause) = host.level() {
            let message = format!("isolate code on this host: {}", printable(cause));
            return Err(with_help(message, "run `proofmark doctor`"));
        }
        let found = host.runtimes();
        if let Some(missing) = self.languages.iter().find(|language| found.iter().all(|one| one.language != **language))
        {
            let help = format!("install {}, or leave it out of `--languages`", Runtime::debian_package(*missing));
            return Err(with_help(format!("run {missing}: this host has no interpreter for it"), help));
        }
        let runtimes: Vec<String> = found
            .iter()
            .filter(|runtime| self.languages.is_empty() || self.languages.contains(&runtime.language))
            .map(|runtime| format!("{} {}", runtime.language, printable(&runtime.version)))
            .collect();
        if runtimes.is_empty() {
            return Err(with_help("find an interpreter on this host".to_owned(), "run `proofmark doctor`"));
        }
        Ok((host, runtimes))
    }
}
