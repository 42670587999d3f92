//! `proofmark serve`, `proofmark api-key` and `proofmark findings`.

use std::io::{self, Write};
use std::net::SocketAddr;
use std::num::{NonZeroU32, NonZeroUsize};
use std::path::PathBuf;
use std::sync::Arc;

use anyhow::Context;
use clap::{Args, ValueEnum};
use proofmark_receipt::{Json, Object, Timestamp};
use proofmark_server::{ApiKeys, Log, LogFormat, ReviewerEntry, Role, Services, Settings, new_key, serve, start_log};
use proofmark_verifier::{Decider, Host, Language, Store, Verifications, allow_many_files};

use crate::config::{self, Config};
use crate::document::{self, read_with};
use crate::exit::Exit;
use crate::out;

/// The most findings one listing has.
const MAX_FINDINGS: usize = 1_000;

/// Serve verification and decisions over HTTP and MCP
///
/// The runtime SDK `verifiedx` works against it unmodified: set VERIFIEDX_BASE_URL to its address. Without API keys it
/// listens on the loopback only. SIGTERM ends it when what was begun is answered.
#[derive(Args)]
#[command(after_help = "Example:\n  proofmark serve --policy examples/decide/policy.yaml")]
pub(crate) struct Serve {
    #[command(flatten)]
    answers: Answers,
    /// Listen here
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:8700")]
    listen: SocketAddr,
    /// Who may call: `keys`, a list of entries that `proofmark api-key` prints
    #[arg(long, value_name = "FILE")]
    api_keys: Option<PathBuf>,
    /// How many requests a second one caller may make
    #[arg(long, value_name = "N", default_value = "1000")]
    rate: NonZeroU32,
}

impl Serve {
    pub(crate) fn run(self, config: &Config) -> anyhow::Result<Exit> {
        let keys = self.api_keys.as_deref().map(|path| read_with(path, "API keys", ApiKeys::read)).transpose()?;
        let open = keys.is_none();
        let services = self.answers.services(config)?;
        let _log = self.answers.log()?;
        if let Err(error) = allow_many_files() {
            out::say(format_args!("the number of open connections stays low ({error})"));
        }
        serve(Settings { listen: self.listen, services, keys, rate: self.rate }, |address| {
            let warning = if open { " to anybody on this host: there are no API keys" } else { "" };
            out::say(format_args!("serving on http://{address}{warning}"));
        })?;
        Ok(Exit::Yes)
    }
}

/// What `proofmark serve` and `proofmark mcp` answer with.
#[derive(Args)]
pub(crate) struct Answers {
    /// The policy of boundaries; without one nothing is decided
    #[arg(long, value_name = "FILE")]
    policy: Option<PathBuf>,
    /// Sign with this key: a name, or the path of a key file
    #[arg(long, value_name = "KEY")]
    key: Option<String>,
    /// The passphrase of the key is in this file
    #[arg(long, value_name = "FILE")]
    passphrase_file: Option<PathBuf>,
    /// Trust this signer of receipts, beside the own key: a signer id, or a public key file
    #[arg(long, value_name = "KEY")]
    trust: Vec<String>,
    /// How many verifications run at a time [default: one a core]
    #[arg(long, value_name = "N")]
    jobs: Option<NonZeroUsize>,
    /// Keep receipts, runs, jobs and decisions in this database
    #[arg(long, value_name = "FILE")]
    store: Option<PathBuf>,
    /// Write the log, on standard error, as text or as JSON
    #[arg(long, value_enum, default_value = "text", value_name = "FORMAT")]
    log_format: LogFormatName,
}

#[derive(Clone, Copy, ValueEnum)]
enum LogFormatName {
    Text,
    Json,
}

impl Answers {
    /// Begins to log; the log is complete when this is dropped.
    pub(crate) fn log(&self) -> anyhow::Result<Log> {
        let format = match self.log_format {
            LogFormatName::Text => LogFormat::Text,
            LogFormatName::Json => LogFormat::Json,
        };
        start_log(format).context("start the log")
    }

    pub(crate) fn services(&self, config: &Config) -> anyhow::Result<Services> {
        let policy = self.policy.as_deref().map(document::boundary).transpose()?;
        let passphrase = config.passphrase(self.passphrase_file.as_deref())?;
        let key = config.signing_key(self.key.as_deref(), passphrase.as_ref())?;
        let trusted = config::trusted(&self.trust)?;
        let store = Arc::new(Store::open(&config.store_path(self.store.as_deref()))?);
        let host = Host::probe(None);
        let mut languages: Vec<Language> = host.runtimes().iter().map(|runtime| runtime.language).collect();
        languages.dedup();
        let jobs = self.jobs.or_else(|| std::thread::available_parallelism().ok()).map_or(1, NonZeroUsize::get);
        let verifications = Verifications::start(host, key.clone(), Arc::clone(&store), jobs);
        let verifications = verifications.context("start the threads that verify")?;
        Ok(Services::new(Decider::new(policy, key, store, trusted), verifications, languages))
    }
}

/// Make an API key for `proofmark serve`
///
/// The key is printed on standard error, once; the entry for the file of keys, which holds only its hash, on standard
/// output.
#[derive(Args)]
#[command(after_help = "Example:\n  proofmark api-key support-bot --role agent --tenant acme.support")]
pub(crate) struct ApiKey {
    /// Who will call with it
    id: String,
    /// What they may do
    #[arg(long, value_enum)]
    role: RoleName,
    /// For which org and project: letters, digits, `-`, `_` and `.`
    #[arg(long)]
    tenant: String,
    /// As a reviewer, they hold this role of the policy [default: any one, where the policy pins none]
    #[arg(long, value_name = "ROLE")]
    holds: Vec<String>,
    /// As a reviewer, they sign approvals of their own with this key: a signer id, or a public key file
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
        let signers = config::trusted(self.signer.as_slice())?;
        let reviewer = ReviewerEntry { roles: self.holds, signer: signers.first().copied() };
        let (key, entry) = new_key(&self.id, role, &self.tenant, &reviewer)?;
        writeln!(io::stderr().lock(), "{key}")?;
        writeln!(out::stdout(), "{}", entry.to_text())?;
        Ok(Exit::Yes)
    }
}

/// List what was found when reports of executions were held against decisions, newest first
#[derive(Args)]
#[command(after_help = "Example:\n  proofmark findings --json")]
pub(crate) struct Findings {
    /// Look in this database
    #[arg(long, value_name = "FILE")]
    store: Option<PathBuf>,
    /// Print one JSON object a line
    #[arg(long)]
    json: bool,
}

impl Findings {
    pub(crate) fn run(self, config: &Config) -> anyhow::Result<Exit> {
        let store = config.existing_store(self.store.as_deref())?;
        let mut out = out::stdout();
        for (tenant, finding) in store.all_tenants_findings(MAX_FINDINGS)? {
            let found_at = Timestamp::from_unix_millis(finding.found_at);
            if self.json {
                let mut object = Object::new();
                object.insert("tenant", tenant.as_str());
                object.insert("decision_id", finding.decision_id);
                object.insert("code", finding.code);
                object.insert("message", finding.message);
                object.insert("found_at", found_at.as_str());
                writeln!(out, "{}", Json::from(object).to_text())?;
            } else {
                let id = crate::paint::tame(&finding.decision_id);
                writeln!(out, "{} {id} {}: {}", found_at.as_str(), finding.code, finding.message)?;
            }
        }
        Ok(Exit::Yes)
    }
}
