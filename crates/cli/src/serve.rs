//! `proofmark serve`, `proofmark api-key` and `proofmark findings`.

use std::io::{self, Write};
use std::net::SocketAddr;
use std::num::{NonZeroU32, NonZeroUsize};
use std::path::PathBuf;
use std::sync::Arc;

use anyhow::Context;
use clap::{Args, ValueEnum};
use proofmark_receipt::{Json, Timestamp, object};
use proofmark_server::{ApiKeys, Log, LogFormat, ReviewerEntry, Role, Services, Settings, new_key, serve, start_log};
use proofmark_verifier::{Decider, Host, Language, Verifications, allow_many_files};

use crate::config::Config;
use crate::document::{self, read_with};
use crate::exit::Exit;
use crate::options::{self, Recording, Signing, StoreAt, Trusting};
use crate::out;
use crate::paint::printable;

/// The most findings of a listing.
const MAX_FINDINGS: usize = 1_000;

/// Serve verification and decisions over HTTP and MCP
///
/// The unmodified runtime SDK `verifiedx` works with it: set VERIFIEDX_BASE_URL to its address. Without API keys it
/// accepts loopback requests only. On SIGTERM it answers the requests that it has begun, and exits.
#[derive(Args)]
#[command(after_help = "Example:\n  proofmark serve --action-policy examples/decide/policy.yaml")]
pub(crate) struct Serve {
    #[command(flatten)]
    service: ServiceOptions,
    /// Listen on this address
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:8700")]
    listen: SocketAddr,
    /// The API keys: a document whose `keys` lists entries that `proofmark api-key` prints
    #[arg(long, value_name = "FILE")]
    api_keys: Option<PathBuf>,
    /// How many requests per second a caller may send
    #[arg(long, value_name = "N", default_value = "1000")]
    rate: NonZeroU32,
}

impl Serve {
    pub(crate) fn run(self, config: &Config) -> anyhow::Result<Exit> {
        let keys = self.api_keys.as_deref().map(|path| read_with(path, "API keys", ApiKeys::read)).transpose()?;
        let open = keys.is_none();
        let services = self.service.services(config)?;
        // Named, because `_` would drop the log at once; it must live as long as the server.
        let _log = self.service.log()?;
        // With fewer open files the server still works: it closes idle connections earlier.
        if let Err(error) = allow_many_files() {
            out::note(format_args!("the limit of open connections stays low: {error}"));
        }
        serve(Settings { listen: self.listen, services, keys, rate: self.rate }, |address| {
            let warning = if open { " to every local user, because there are no API keys" } else { "" };
            out::note(format_args!("serving on http://{address}{warning}"));
        })?;
        Ok(Exit::Yes)
    }
}

/// The options that `proofmark serve` and `proofmark mcp` have in common.
#[derive(Args)]
#[command(mut_arg("trust", |trust| {
    trust.help("Trust this signer of receipts, besides the key that this server signs with: a name of the trust store or of a key, a signer id, or a public key file; can be repeated [default: the trust store and your own keys]")
}))]
pub(crate) struct ServiceOptions {
    /// The action policy; required to decide on actions
    #[arg(long, alias = "policy", value_name = "FILE")]
    action_policy: Option<PathBuf>,
    /// The workflow policy; steps are accepted only of workflows that follow it
    #[arg(long, value_name = "FILE")]
    workflow_policy: Option<PathBuf>,
    #[command(flatten)]
    signing: Signing,
    #[command(flatten)]
    trusting: Trusting,
    /// How many verifications run at a time [default: the number of cores]
    #[arg(long, value_name = "N")]
    jobs: Option<NonZeroUsize>,
    #[command(flatten)]
    store: StoreAt,
    #[command(flatten)]
    recording: Recording,
    /// Write the log, on standard error, as text or as JSON
    #[arg(long, value_enum, default_value = "text", value_name = "FORMAT")]
    log_format: LogFormatName,
}

#[derive(Clone, Copy, ValueEnum)]
enum LogFormatName {
    Text,
    Json,
}

impl ServiceOptions {
    /// Begins to log; the log is complete when this is dropped.
    pub(crate) fn log(&self) -> anyhow::Result<Log> {
        let format = match self.log_format {
            LogFormatName::Text => LogFormat::Text,
            LogFormatName::Json => LogFormat::Json,
        };
        start_log(format).context("start the log")
    }

    pub(crate) fn services(&self, config: &Config) -> anyhow::Result<Services> {
        let policy = self.action_policy.as_deref().map(document::action_policy).transpose()?;
        let workflow_policy = self.workflow_policy.as_deref().map(document::workflow_policy).transpose()?;
        let key = self.signing.key(config)?;
        let trusted = self.trusting.signers(config)?;
        let store = Arc::new(self.store.open(config)?);
        let host = Host::probe(None);
        let mut languages: Vec<Language> = host.runtimes().iter().map(|runtime| runtime.language).collect();
        // `runtimes` lists them language by language, so equal ones are neighbours.
        languages.dedup();
        // The number of cores can be unknown; one job at a time always works.
        let jobs = self.jobs.or_else(|| std::thread::available_parallelism().ok()).map_or(1, NonZeroUsize::get);
        let verifications = Verifications::start(host, key.clone(), Arc::clone(&store), jobs);
        let verifications = verifications.context("start the threads that verify")?;
        let decider = Decider::new(policy, key, store, trusted).recording_facts(self.recording.record_facts);
        let services = Services::new(decider, verifications, languages);
        Ok(services.with_workflow_policy(workflow_policy))
    }
}

/// Create an API key for `proofmark serve`
///
/// The key is printed once, on standard error. The entry for the file of API keys is printed on standard output; it holds
/// the hash of the key.
#[derive(Args)]
#[command(after_help = "Example:\n  proofmark api-key support-bot --role agent --tenant acme.support")]
pub(crate) struct ApiKey {
    /// The id of the caller
    id: String,
    /// What the caller may do
    #[arg(long, value_enum)]
    role: RoleName,
    /// The tenant of the caller: letters, digits, `-`, `_` and `.`
    #[arg(long)]
    tenant: String,
    /// For reviewers: a role of the action policy that they hold; can be repeated [default: any role for which
    /// the policy names no reviewers]
    #[arg(long, value_name = "ROLE")]
    holds: Vec<String>,
    /// For reviewers: the key that they sign approvals with, as a signer id or a public key file
    #[arg(long, value_name = "KEY")]
    signer: Option<String>,
}

#[derive(Clone, Copy, ValueEnum)]
enum RoleName {
    Agent,
    Reviewer,
    Admin,
}

impl ApiKey {
    pub(crate) fn run(self) -> anyhow::Result<Exit> {
        let role = match self.role {
            RoleName::Agent => Role::Agent,
            RoleName::Reviewer => Role::Reviewer,
            RoleName::Admin => Role::Admin,
        };
        let signers = options::signers(self.signer.as_slice())?;
        let reviewer = ReviewerEntry { roles: self.holds, signer: signers.first().copied() };
        let (key, entry) = new_key(&self.id, role, &self.tenant, &reviewer)?;
        // Standard output can be appended to the file of API keys, so the secret is not on it.
        writeln!(io::stderr().lock(), "{key}")?;
        writeln!(out::stdout(), "{}", entry.to_text())?;
        Ok(Exit::Yes)
    }
}

/// List executions that differ from what was decided, newest first
///
/// A server compares reports of executions with its decisions.
#[derive(Args)]
#[command(after_help = "Example:
  proofmark findings --json

Exit codes: 0 no findings; 1 findings; 2 the store could not be read.")]
pub(crate) struct Findings {
    #[command(flatten)]
    store: StoreAt,
    /// Print one JSON object per line
    #[arg(long)]
    json: bool,
}

impl Findings {
    pub(crate) fn run(self, config: &Config) -> anyhow::Result<Exit> {
        let store = self.store.open_existing(config)?;
        let mut out = out::stdout();
        let findings = store.all_tenants_findings(MAX_FINDINGS)?;
        for (tenant, finding) in &findings {
            let found_at = Timestamp::from_unix_millis(finding.found_at);
            if self.json {
                let object = object! {
                    "tenant": tenant.as_str(),
                    "decision_id": finding.decision_id.as_str(),
                    "code": finding.code.as_str(),
                    "message": finding.message.as_str(),
                    "found_at": found_at.as_str(),
                };
                writeln!(out, "{}", Json::from(object).to_text())?;
            } else {
                let (id, message) = (printable(&finding.decision_id), printable(&finding.message));
                writeln!(out, "{} {id} {}: {message}", found_at.as_str(), finding.code)?;
            }
        }
        match findings.is_empty() {
            true if self.json => Ok(Exit::Yes),
            true => {
                writeln!(out, "no findings")?;
                Ok(Exit::Yes)
            }
            false => Ok(Exit::No),
        }
    }
}
