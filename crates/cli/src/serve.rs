//! `proofmark serve`.

mod check;
mod oidc;

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4};
use std::num::{NonZeroU32, NonZeroUsize};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::Context;
use clap::{Args, ValueEnum};
use proofmark_agents::{Terms, endpoints};
use proofmark_boundary::ActionPolicy;
use proofmark_contract::WorkflowPolicy;
use proofmark_decider::{Decider, PolicyPlace, policy_name};
use proofmark_jobs::{JobSettings, Role, Verifications};
use proofmark_keys::{KnownSigners, TrustedSigners, without_kinds};
use proofmark_log::{LogCopy, LogFolder};
use proofmark_otlp::OtlpEndpoint;
use proofmark_pages::pages;
use proofmark_sandbox::{allow_many_files, keep_from_children};
use proofmark_server::{
    ApiKeys, Bucket, Files, Loaded, LogClient, LogFormat, Network, OwnFiles, ServedLog, Services, Settings, Signers,
    SocketSettings, Source, Webhook, check_place, log_jobs, log_lost_jobs, log_note, log_warnings, policy_file_name,
    probe_host, serve,
};
use proofmark_store::{Place, Tenant};

use crate::config::{Config, secret_file};
use crate::document;
use crate::error::with_help;
use crate::exit::Exit;
use crate::guard::{KeepName, PinningName};
use crate::logs::{self, policy_file};
use crate::options::{Recording, Signing, StoreAt, Trusting};
use crate::out;
use crate::paint::printable;
use crate::policy_option;
use crate::serve::oidc::OidcOptions;
use crate::served_files::{self, PolicyFile};
use crate::telling::{self, Telling};

/// Where a server listens that is not told otherwise.
const DEFAULT_ADDRESS: SocketAddr = SocketAddr::V4(SocketAddrV4::new(Ipv4Addr::LOCALHOST, 8700));

/// How the names of the variables begin that stores which speak S3 are asked with.
const BUCKET_VARIABLES: &str = "AWS_";

/// Serve verification and decisions over HTTP and MCP
///
/// The server listens at once; verifications that run code wait until the self-test of the sandbox has passed. The unmodified
/// runtime SDK `verifiedx` works with it: set VERIFIEDX_BASE_URL to its address. Without API keys and an issuer of tokens it accepts
/// loopback requests only. It reads the policies, the API keys and the rules on tokens again when their files change, and on SIGHUP. On SIGTERM it answers the requests
/// that it has begun, and exits.
#[derive(Args)]
#[command(mut_arg("policy", |policy| {
    policy.help("The action policy, required to decide on actions: FILE for all tenants, TENANT=FILE for one; with names TENANT:NAME=FILE and :NAME=FILE; can be repeated [default: $PROOFMARK_POLICY, else `policy` in the proofmark.yaml of the current folder]").value_name("[[TENANT][:NAME]=]FILE")
}))]
#[command(after_help = "Examples:
  proofmark serve --policy examples/decide/policy.yaml
  proofmark serve --policy examples/decide/policy.yaml --check
  proofmark serve --no-verify
  proofmark serve --oidc https://login.example.org --oidc-audience proofmark --oidc-map map.yaml

Exit codes of --check: 0 the server would start; 2 it would not.

Environment of --log-tiles s3://BUCKET/DIR:
  AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN
                        The key of the bucket; the token where the key has one
  AWS_REGION            The region of the bucket [default: $AWS_DEFAULT_REGION, else us-east-1]
  AWS_ENDPOINT_URL_S3   The address of the store [default: $AWS_ENDPOINT_URL, else that of Amazon]")]
pub(crate) struct Serve {
    #[command(flatten)]
    service: ServiceOptions,
    /// Listen on this address [default: 127.0.0.1:8700; with --socket none]
    #[arg(long, value_name = "ADDRESS")]
    listen: Option<SocketAddr>,
    /// Also decide for the guards and hooks of other accounts of this host, which ask by this socket
    #[arg(long, value_name = "PATH")]
    socket: Option<PathBuf>,
    /// Tell this URL when a decision waits for a review, by an event signed with the secret of --webhook-secret-file
    #[arg(long, value_name = "URL", requires = "webhook_secret_file")]
    webhook: Option<String>,
    /// The secret that the receiver of the webhook has, too: `whsec_` and base64, as Standard Webhooks writes it
    #[arg(long, value_name = "FILE", requires = "webhook")]
    webhook_secret_file: Option<PathBuf>,
    /// What the accounts that ask by the socket do belongs to this tenant: pages and reviewers with its API keys see it
    #[arg(long, value_name = "TENANT", requires = "socket", default_value_t = Tenant::LOCAL)]
    socket_tenant: Tenant,
    /// The accounts that ask by the socket ask this policy of their tenant, and no other
    #[arg(long, value_name = "NAME", requires = "socket", value_parser = policy_name)]
    socket_policy: Option<String>,
    /// For guards of agents elsewhere: whether tools are pinned when they are first listed, or blocked until `proofmark guard pin approve`
    #[arg(long, value_enum, default_value = "learn", value_name = "HOW")]
    pins: PinningName,
    /// For guards and hooks of agents elsewhere: how much of a result is recorded: its digest, also how it begins, or all of it
    #[arg(long, value_enum, default_value = "excerpt", value_name = "HOW")]
    keep: KeepName,
    /// The API keys: a file that `proofmark api-key add` writes
    #[arg(long, value_name = "FILE")]
    api_keys: Option<PathBuf>,
    #[command(flatten)]
    oidc: OidcOptions,
    /// How many requests per second a caller may send, and an address to the sign-in of the pages
    #[arg(long, value_name = "N", default_value = "1000")]
    rate: NonZeroU32,
    /// Believe the proxies in this network (`10.0.0.0/8`) which client a request is of, by `Forwarded` or `X-Forwarded-For`, and limit
    /// requests for each of these clients instead of connections of the proxy; can be repeated
    #[arg(long, value_name = "NETWORK")]
    trusted_proxy: Vec<Network>,
    /// Each connection from this network begins with a header of the PROXY protocol (version 1 or 2), which names its client; others are
    /// closed; can be repeated
    #[arg(long, value_name = "NETWORK", requires = "api_keys")]
    proxy_protocol: Vec<Network>,
    /// Run no verification here: leave them to the workers that share the store (`proofmark work`)
    #[arg(long, conflicts_with = "jobs")]
    no_verify: bool,
    /// Take the receipts of workers that sign as this signer, besides those that sign with this server's key: a name of the
    /// trust store or of a key, a signer id, or a public key file; can be repeated
    #[arg(long, value_name = "SIGNER", requires = "no_verify")]
    trust_worker: Vec<String>,
    /// This is the key of another server of this installation, which shares the store, or an older key of this one: its jobs are
    /// answered for, what it issued counts, and so does its word on who approved; named as for --trust-worker; can be repeated
    #[arg(long, value_name = "SIGNER")]
    server_key: Vec<String>,
    /// Sign the transparency log of the store, which `proofmark log init` has begun, and show it to everybody under /log/
    #[arg(long)]
    log: bool,
    /// Ask the witnesses of this policy that have a URL to cosign the log
    #[arg(long, value_name = "FILE", requires = "log")]
    log_policy: Option<PathBuf>,
    /// Also copy the log to this folder, or to this bucket of a store that speaks S3, for any web server: its files before each
    /// checkpoint is signed
    #[arg(long, value_name = "DIR|s3://BUCKET/DIR", requires = "log")]
    log_tiles: Option<String>,
    /// Read the policies, the API keys, the rules on tokens, the signing key and the store, ask the issuer of tokens, and exit without
    /// listening
    #[arg(long)]
    check: bool,
    /// With --check: print what was found as one JSON object
    #[arg(long, requires = "check")]
    json: bool,
    /// The variables that stores which speak S3 are asked with.
    #[arg(skip)]
    bucket_variables: BTreeMap<OsString, OsString>,
}

impl Serve {
    pub(crate) fn run(mut self, config: &Config) -> anyhow::Result<Exit> {
        // Before the first thread: programs that are started later do not have the key of the bucket.
        if self.log_tiles.as_deref().is_some_and(Bucket::is_address) {
            let kept =
                keep_from_children(BUCKET_VARIABLES).context("keep the key of the bucket from other programs")?;
            self.bucket_variables = kept;
        }
        // The log has a name, because `_` would drop it at once; it must live as long as the server.
        let _log = (!self.check).then(|| self.service.log()).transpose()?;
        if self.service.policy.is_empty() {
            self.service.policy.extend(policy_option::named(None, config)?.map(PolicyFile::of_all));
        }
        self.check_socket_policy()?;
        if self.check {
            return self.check(config);
        }
        let (keys, oidc) = (self.keys()?, self.oidc.logged()?);
        let open = keys.is_none();
        let listen = self.address();
        // Before anything else is begun, so that a wrong address is reported at once.
        check_place(listen, self.socket.is_some(), keys.as_ref())?;
        let socket = self.socket_settings(config)?;
        let webhook = self.webhook()?;
        let log = self.served_log(config)?;
        let (services, files) = self.service.services_with(config, self.workers(), &self.server_key)?;
        let services = log.into_iter().fold(services, Services::with_log);
        // With fewer open files the server still works: it closes idle connections earlier.
        if let Err(error) = allow_many_files() {
            out::announce(format_args!("the limit of open connections stays low: {error}"));
        }
        let claim_map = self.oidc.source();
        let files = Files { api_keys: self.api_keys.map(served_files::api_keys), claim_map, ..files };
        let terms = Terms { pinning: self.pins.into(), keep: self.keep.into() };
        let more = pages().into_iter().chain(endpoints(terms)).collect();
        let (rate, proxies, connection_proxies) = (self.rate, self.trusted_proxy, self.proxy_protocol);
        let settings =
            Settings { listen, socket, services, keys, oidc, rate, proxies, connection_proxies, files, webhook, more };
        serve(settings, |address| {
            let warning = if open { " to every local user, because there are no API keys" } else { "" };
            if let Some(address) = address {
                out::announce(format_args!("serving on http://{address}{warning}"));
            }
            if let Some(socket) = &self.socket {
                let shown = printable(&socket.display().to_string());
                out::announce(format_args!("deciding for guards and hooks of other accounts on unix:{shown}"));
            }
        })?;
        Ok(Exit::Yes)
    }

    /// The API keys that it takes; none at all where it takes tokens alone.
    fn keys(&self) -> anyhow::Result<Option<ApiKeys>> {
        let keys = self.api_keys.as_deref().map(served_files::callers).transpose()?;
        Ok(keys.or_else(|| self.oidc.oidc_map.as_ref().map(|_| ApiKeys::none())))
    }

    /// The log that it signs and shows.
    fn served_log(&self, config: &Config) -> anyhow::Result<Option<ServedLog>> {
        if !self.log {
            return Ok(None);
        }
        let policy = self.log_policy.as_deref().map(policy_file).transpose()?;
        let signer = logs::signer(config, &self.service.signing.unlock)?;
        let client = Arc::new(LogClient::new().context("read the system's certificates")?);
        let copy = self.log_tiles.as_deref().map(|place| self.log_copy(place, &client)).transpose()?;
        let log = ServedLog::new(logs::home(config), signer, policy, client);
        Ok(Some(copy.into_iter().fold(log, ServedLog::with_copy)))
    }

    /// Where the log is copied to.
    fn log_copy(&self, place: &str, client: &Arc<LogClient>) -> anyhow::Result<LogCopy> {
        if !Bucket::is_address(place) {
            return Ok(LogCopy::new(Box::new(LogFolder::at(Path::new(place)))));
        }
        let variable = |name: &str| self.bucket_variables.get(OsStr::new(name))?.to_str().map(str::to_owned);
        Ok(LogCopy::new(Box::new(Bucket::new(place, variable, Arc::clone(client))?)))
    }

    /// Where it is told what waits.
    fn webhook(&self) -> anyhow::Result<Option<Webhook>> {
        let Some((url, file)) = self.webhook.as_deref().zip(self.webhook_secret_file.as_deref()) else {
            return Ok(None);
        };
        Ok(Some(Webhook::new(url, &secret_file(file, "secret of the webhook")?)?))
    }

    /// Where it listens, if not only on the socket.
    fn address(&self) -> Option<SocketAddr> {
        self.listen.or_else(|| self.socket.is_none().then_some(DEFAULT_ADDRESS))
    }

    /// The socket, and what those who ask by it must not reach.
    fn socket_settings(&self, config: &Config) -> anyhow::Result<Option<SocketSettings>> {
        let Some(path) = self.socket.clone() else { return Ok(None) };
        // Who can reach a database is not to be seen from here.
        let own = match self.service.store.place(config) {
            Place::File(store) => Some(self.own_files(config, store)?),
            Place::Database(_) => None,
        };
        Ok(Some(SocketSettings { path, own, tenant: self.socket_tenant.clone(), policy: self.socket_policy.clone() }))
    }

    /// Whether those who ask by the socket have the policy that they are to ask.
    fn check_socket_policy(&self) -> anyhow::Result<()> {
        let Some(name) = &self.socket_policy else { return Ok(()) };
        let tenant = &self.socket_tenant;
        if self.service.policy.iter().any(|policy| policy.place.is_asked(tenant, name)) {
            return Ok(());
        }
        Err(with_help(
            format!("use the policy `{name}` for the socket: the tenant `{}` has none of this name", tenant.as_str()),
            format!("give it one with `--policy {}:{name}=FILE`", tenant.as_str()),
        ))
    }

    fn own_files(&self, config: &Config, store: PathBuf) -> anyhow::Result<OwnFiles> {
        let program = std::env::current_exe().context("find the path of this program")?;
        let policies = self.service.policy.iter().map(|policy| policy.path.clone());
        let others = [self.service.workflow_policy.clone(), self.api_keys.clone(), self.oidc.oidc_map.clone()];
        // Who can change these files chooses whose receipts count.
        let signers = self.service.trusting.named().iter().map(|named| without_kinds(named)).map(PathBuf::from);
        let signers = signers.chain(self.trust_worker.iter().chain(&self.server_key).map(PathBuf::from));
        let files = policies.chain(others.into_iter().flatten()).chain(signers.filter(|path| path.is_file()));
        // A key that is not a file is one in the home.
        let key = self.service.signing.key.as_ref().map(PathBuf::from).filter(|key| key.is_file());
        Ok(OwnFiles {
            ruling: files.chain([program]).collect(),
            secret: [config.home.clone(), store].into_iter().chain(key).collect(),
        })
    }

    /// Whom it trusts, by their names.
    fn named(&self) -> Named {
        let (trusting, workers) = (self.service.trusting.clone(), self.workers());
        Named { trusting, workers, servers: self.server_key.clone() }
    }

    /// Whose receipts count where verifications are left to workers.
    fn workers(&self) -> Option<Vec<String>> {
        self.no_verify.then(|| self.trust_worker.clone())
    }
}

/// The options that `proofmark serve` and `proofmark mcp` have in common.
#[derive(Args)]
#[command(mut_arg("trust", |trust| {
    trust.help("Trust this signer of receipts, besides the key that this server signs with: a name of the trust store or of a key, or `KINDS=` and a signer id or a public key file, as in verification=ci.pem; can be repeated [default: the trust store and your own keys]")
}))]
pub(crate) struct ServiceOptions {
    /// The action policy; required to decide on actions
    #[arg(long, value_name = "FILE")]
    policy: Vec<PolicyFile>,
    /// The workflow policy; a step is accepted only if its workflow follows it
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
    #[command(flatten)]
    logging: Logging,
}

/// Where the log goes.
#[derive(Args)]
pub(crate) struct Logging {
    /// Write the log, on standard error, as text or as JSON
    #[arg(long, value_enum, default_value = "text", value_name = "FORMAT")]
    log_format: LogFormatName,
    /// Also log the health checks of supervisors
    #[arg(short, long)]
    verbose: bool,
    /// Also export the log, spans of requests, calls and MCP messages, and verdicts to this OpenTelemetry collector, over OTLP/HTTP
    #[arg(long, value_name = "URL")]
    otlp: Option<OtlpEndpoint>,
}

impl Logging {
    /// Begins to log; the log is complete when this is dropped. Where the log is JSON, so are errors: programs read every
    /// line of standard error.
    pub(crate) fn start(&self) -> anyhow::Result<Telling> {
        let format = match self.log_format {
            LogFormatName::Text => LogFormat::Text,
            LogFormatName::Json => {
                out::set_json();
                out::set_log(log_note);
                LogFormat::Json
            }
        };
        telling::tell(self.otlp.clone(), format, self.verbose)
    }
}

#[derive(Clone, Copy, ValueEnum)]
enum LogFormatName {
    Text,
    Json,
}

/// The policies that were named, with their findings.
struct Policies {
    action: Vec<(PolicyPlace, Loaded<ActionPolicy>)>,
    workflow: Option<Loaded<WorkflowPolicy>>,
}

impl Policies {
    fn warnings(&self) -> impl Iterator<Item = &String> {
        let of_action = self.action.iter().flat_map(|(_, policy)| &policy.warnings);
        of_action.chain(self.workflow.iter().flat_map(|policy| &policy.warnings))
    }
}

impl ServiceOptions {
    /// As [`Logging::start`].
    pub(crate) fn log(&self) -> anyhow::Result<Telling> {
        self.logging.start()
    }

    /// The services, and the files of their policies.
    pub(crate) fn services(&self, config: &Config) -> anyhow::Result<(Services, Files)> {
        self.services_with(config, None, &[])
    }

    /// As [`ServiceOptions::services`]. Where `workers` are given, the signers with these names run the verifications.
    /// Jobs of servers that sign as one of `servers` are run and answered for, too.
    fn services_with(
        &self,
        config: &Config,
        workers: Option<Vec<String>>,
        servers: &[String],
    ) -> anyhow::Result<(Services, Files)> {
        let Policies { action, workflow } = self.policies()?;
        let key = self.signing.key(config)?;
        let known = config.known_signers()?;
        let named = Named { trusting: self.trusting.clone(), workers, servers: servers.to_vec() };
        let Signers { trusted, workers: signers } = named.signers(&known)?;
        let servers = known.own_and(servers)?;
        let store = Arc::new(self.store.open(config)?);
        store.require_whole()?;
        // What was moved can be read, but a server has to write.
        store.require_current()?;
        let role = match &signers {
            Some(workers) => Role::Front { signers: workers.iter().map(|worker| worker.signer).collect() },
            None => Role::Server { workers: concurrency(self.jobs) },
        };
        let report = if signers.is_some() { log_jobs() } else { log_lost_jobs() };
        let settings = JobSettings { key: key.clone(), store: Arc::clone(&store), role, servers, report: Some(report) };
        let verifications = Verifications::start_as(settings, probe_host);
        let verifications = verifications.context("start the threads that verify")?;
        let worker_keys = signers.unwrap_or_default();
        let decider = Decider::new(None, key, store, trusted).recording_facts(self.recording.record_facts);
        for (place, policy) in action {
            let name = policy_file_name(&place);
            drop(decider.put_policy(place, logged(&name, policy)));
        }
        let services = Services::new(decider, verifications).with_worker_keys(worker_keys);
        let files = Files {
            action_policies: self.action_policies(),
            workflow_policy: self.workflow_policy.clone().map(served_files::workflow_policy),
            api_keys: None,
            claim_map: None,
            signers: Some(served_files::signers(config, &named.names(), move |known| named.signers(known))),
        };
        let workflow = workflow.map(|policy| logged("workflow_policy", policy));
        Ok((services.with_workflow_policy(workflow), files))
    }

    fn action_policies(&self) -> Vec<(PolicyPlace, Source<ActionPolicy>)> {
        let files = self.policy.iter().cloned();
        files.map(|PolicyFile { place, path }| (place, served_files::action_policy(path))).collect()
    }

    /// Reads the policies, only to find out whether they can be used.
    pub(crate) fn check_policies(&self) -> anyhow::Result<()> {
        self.policies().map(drop)
    }

    fn policies(&self) -> anyhow::Result<Policies> {
        let mut places = BTreeSet::new();
        if let Some(twice) = self.policy.iter().find(|policy| !places.insert(&policy.place)) {
            return Err(with_help(
                format!("use the action policy `{}`: there is one for {}", twice.path.display(), twice.place.words()),
                "give each another name: `--policy TENANT:NAME=FILE`, or `--policy :NAME=FILE` for all",
            ));
        }
        let action = self.action_policies().into_iter();
        let action =
            action.map(|(place, file)| anyhow::Ok((place, served_files::load(&file, document::action_policy)?)));
        let action = action.collect::<anyhow::Result<_>>()?;
        let workflow = self.workflow_policy.clone().map(served_files::workflow_policy);
        let workflow = workflow.map(|file| served_files::load(&file, document::workflow_policy)).transpose()?;
        Ok(Policies { action, workflow })
    }
}

/// How many verifications run at a time: the number of cores can be unknown, and one always works.
pub(crate) fn concurrency(jobs: Option<NonZeroUsize>) -> usize {
    jobs.or_else(|| std::thread::available_parallelism().ok()).map_or(1, NonZeroUsize::get)
}

/// Whom a server trusts, by their names.
struct Named {
    trusting: Trusting,
    /// Who runs the verifications, where they are left to others.
    workers: Option<Vec<String>>,
    /// The other servers of this installation, and the older keys of this one.
    servers: Vec<String>,
}

impl Named {
    fn signers(&self, known: &KnownSigners) -> anyhow::Result<Signers> {
        let workers = self.workers.as_deref().map(|workers| known.keys(workers)).transpose()?;
        let trusted =
            known.keys(&self.servers)?.into_iter().fold(self.trusting.among(known)?, TrustedSigners::and_server);
        let trusted = workers.iter().flatten().cloned().fold(trusted, TrustedSigners::and_worker);
        Ok(Signers { trusted, workers })
    }

    fn names(&self) -> Vec<String> {
        [self.trusting.named(), self.workers.as_deref().unwrap_or_default(), &self.servers].concat()
    }
}

/// What a file says; its findings are in the log.
fn logged<T>(name: &str, Loaded { value, warnings }: Loaded<T>) -> T {
    log_warnings(name, &warnings);
    value
}
