//! A guarded server over HTTP.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use proofmark_decider::Judges;
use proofmark_proxy::{GuardedUpstream, Upstream, serve_guard};
use proofmark_sandbox::allow_many_files;
use proofmark_server::check_address;
use proofmark_verifier::{FileWatch, Look};

use crate::config::{Config, secret_file};
use crate::error;
use crate::exit::Exit;
use crate::out;
use crate::paint::printable;
use crate::served_files;

/// How often it is looked whether the policy, or whom the guard trusts, has changed.
const RELOAD_EVERY: Duration = Duration::from_millis(200);

/// Where a server over HTTP is, and where clients find it. Each option says that it does not go with a command: what it requires
/// is not asked for beside one.
#[derive(Args)]
pub(crate) struct HttpOptions {
    /// Guard the MCP server at this URL, over Streamable HTTP, instead of one that is started
    #[arg(long, value_name = "URL", requires = "listen", conflicts_with = "server_command")]
    pub(super) upstream: Option<String>,
    /// Listen on this address; clients call it at the path of the URL
    #[arg(long, value_name = "ADDRESS", requires = "upstream", conflicts_with = "server_command")]
    listen: Option<SocketAddr>,
    /// Send the server the credential in this file, in place of the clients' [default: $PROOFMARK_UPSTREAM_TOKEN]
    #[arg(long, value_name = "FILE", requires = "upstream", conflicts_with = "server_command")]
    upstream_token_file: Option<PathBuf>,
    /// The API keys of clients: a file that `proofmark api-key add` writes
    #[arg(long, value_name = "FILE", requires = "upstream", conflicts_with = "server_command")]
    api_keys: Option<PathBuf>,
}

/// The file with the credential for the server, which is read again when it changes.
struct Credential {
    file: PathBuf,
    watch: FileWatch,
    upstream: Arc<Upstream>,
}

impl Credential {
    fn new(file: PathBuf, upstream: Arc<Upstream>) -> Self {
        Self { file, watch: FileWatch::default(), upstream }
    }

    /// Looks at the file, and uses what it says. A file that cannot be used changes nothing.
    fn round(&mut self) {
        // A pipe says it once: to open it again waits for somebody who writes to it.
        let is_pipe = std::fs::metadata(&self.file).is_ok_and(|found| !found.is_file());
        if is_pipe || self.watch.round(&self.file, false).0 != Look::Read {
            return;
        }
        let credential = secret_file(&self.file, "credential");
        let used = credential.and_then(|credential| Ok(self.upstream.set_credential(&credential)?));
        if let Err(error) = used {
            out::note(format_args!(
                "proofmark guard: failed to {}; the credential before it stays in use",
                printable(&error::message(&error))
            ));
        }
    }
}

/// What is guarded, and by what.
pub(super) struct Guarding {
    pub(super) judges: Arc<dyn Judges>,
    /// Looks at what may have changed.
    pub(super) each_round: Box<dyn FnMut() + Send>,
    /// What the server is called.
    pub(super) name: String,
    pub(super) session: String,
    /// Whether the session was named.
    pub(super) is_one_session: bool,
    /// Whether calls may wait for an approval.
    pub(super) waits: bool,
}

impl HttpOptions {
    /// The server at the URL, if one is given.
    pub(super) fn upstream(&self, config: &Config) -> anyhow::Result<Option<Upstream>> {
        let Some(url) = &self.upstream else { return Ok(None) };
        let token = match &self.upstream_token_file {
            Some(file) => Some(secret_file(file, "credential")?),
            None => config.upstream_token()?,
        };
        Ok(Some(Upstream::new(url, token.as_deref().map(String::as_str))?))
    }

    /// Guards until it is told to stop. The log has begun.
    pub(super) fn run(self, upstream: Upstream, guarding: Guarding) -> anyhow::Result<Exit> {
        let Some(listen) = self.listen else { return Ok(Exit::NoAnswer) };
        let keys = self.api_keys.as_deref().map(served_files::callers).transpose()?;
        check_address(listen, keys.as_ref())?;
        if let Err(error) = allow_many_files() {
            out::note(format_args!("the limit of open connections stays low: {error}"));
        }
        let upstream = Arc::new(upstream);
        let mut credential = self.upstream_token_file.map(|file| Credential::new(file, Arc::clone(&upstream)));
        let mut each_round = guarding.each_round;
        std::thread::Builder::new().name("reload".to_owned()).spawn(move || {
            loop {
                std::thread::sleep(RELOAD_EVERY);
                each_round();
                credential.iter_mut().for_each(Credential::round);
            }
        })?;
        let is_open = keys.is_none();
        let (name, path) = (guarding.name, upstream.path().to_owned());
        let guarded = GuardedUpstream {
            listen,
            upstream,
            keys,
            keys_file: self.api_keys.map(served_files::api_keys),
            // One that decides elsewhere has a runtime of its own, which ends after the proxy's.
            judges: Arc::clone(&guarding.judges),
            session: guarding.session,
            is_one_session: guarding.is_one_session,
            waits: guarding.waits,
        };
        let warning = if is_open { " for every local user, because there are no API keys" } else { "" };
        serve_guard(guarded, |address| {
            let (name, path) = (printable(&name), printable(&path));
            out::note(format_args!("proofmark guard: guarding {name} on http://{address}{path}{warning}"));
        })?;
        Ok(Exit::Yes)
    }
}
