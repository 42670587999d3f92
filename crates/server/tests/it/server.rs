//! A server in this process, on the loopback.

use std::net::SocketAddr;
use std::num::NonZeroU32;
use std::sync::{Arc, mpsc};
use std::thread::JoinHandle;
use std::time::Duration;

use proofmark_decider::Decider;
use proofmark_jobs::{SelfTest, Verifications};
use proofmark_keys::{Keyring, TrustedSigners};
use proofmark_receipt::document::{self, Format};
use proofmark_receipt::{Json, object};
use proofmark_sandbox::Host;
use proofmark_server::{ApiKeys, Files, Oidc, ReviewerEntry, Role, Services, Settings, serve_until};
use proofmark_store::Store;
use proofmark_testing::Home;
use tokio::sync::oneshot;

use crate::client::{Client, POLICY};

/// What a server is started with, beside its store.
pub(crate) struct Options {
    /// The text of a file of API keys.
    pub(crate) keys: Option<String>,
    /// The text of a workflow policy.
    pub(crate) workflow_policy: Option<&'static str>,
    /// The reviewers of the policy, in place of its own.
    pub(crate) reviewers: Vec<Json>,
    pub(crate) jobs: usize,
    pub(crate) rate: u32,
    /// Where the files of keys and of the action policy are, which are read again when they change.
    pub(crate) files: Files,
    /// Whose tokens count.
    pub(crate) oidc: Option<Oidc>,
}

/// A server that is stopped when it is dropped, and then has closed its store.
pub(crate) struct Server {
    client: Client,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Server {
    pub(crate) fn start(home: &Home) -> Self {
        Self::with(home, Options::default())
    }

    pub(crate) fn with_keys(home: &Home, keys: &str) -> Self {
        Self::with(home, Options { keys: Some(keys.to_owned()), ..Options::default() })
    }

    pub(crate) fn with_jobs(home: &Home, jobs: usize) -> Self {
        Self::with(home, Options { jobs, ..Options::default() })
    }

    pub(crate) fn with(home: &Home, options: Options) -> Self {
        let settings = settings(home, options);
        let (stop, stopped) = oneshot::channel();
        let (bound, address) = mpsc::channel();
        let serve = move || {
            let listening = |address: Option<SocketAddr>| bound.send(address.unwrap()).unwrap();
            serve_until(settings, listening, || async { drop(stopped.await) }).unwrap();
        };
        let thread = std::thread::spawn(serve);
        let address = address.recv().unwrap().to_string();
        Self { client: Client { address }, stop: Some(stop), thread: Some(thread) }
    }
}

impl Default for Options {
    fn default() -> Self {
        Self {
            keys: None,
            reviewers: Vec::new(),
            workflow_policy: None,
            jobs: 2,
            rate: 1_000,
            files: Files::default(),
            oidc: None,
        }
    }
}

impl std::ops::Deref for Server {
    type Target = Client;

    fn deref(&self) -> &Client {
        &self.client
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        drop(self.stop.take());
        let ended = self.thread.take().map(JoinHandle::join);
        assert!(std::thread::panicking() || ended.is_none_or(|ended| ended.is_ok()), "the server panicked");
    }
}

/// What `proofmark serve --policy` makes of this home: its key, its store and the languages of this host.
pub(crate) fn settings(home: &Home, options: Options) -> Settings {
    let policy = std::fs::read(POLICY).unwrap();
    let mut policy = document::parse(&policy, Format::Yaml).unwrap();
    let keyring = Keyring::new(home.path());
    let key = match keyring.has("default") {
        true => keyring.load("default", None).unwrap(),
        false => keyring.create("default", None).unwrap(),
    };
    if let (Json::Object(policy), None, None) = (&mut policy, &options.keys, &options.oidc) {
        // Without API keys, approvals are those of the server's key.
        let roles: Vec<_> = ["manager", "reviewer", "finance"].map(Json::from).into();
        let own = object! { "name": "own", "key": key.signer().to_string(), "roles": roles };
        policy.insert("reviewers", vec![Json::Object(own)]);
    }
    if let (Json::Object(policy), false) = (&mut policy, options.reviewers.is_empty()) {
        policy.insert("reviewers", options.reviewers);
    }
    let policy = proofmark_boundary::ActionPolicy::read(&policy).unwrap();
    let store = Arc::new(Store::open(home.store()).unwrap());
    let verifications =
        Verifications::start(|| Host::probe(None), key.clone(), Arc::clone(&store), options.jobs).unwrap();
    // Else a slow self-test would turn the first receipts that tests ask for into jobs.
    while verifications.self_test() == SelfTest::Running {
        std::thread::sleep(Duration::from_millis(10));
    }
    let keys = options.keys.as_ref().map(|keys| ApiKeys::read(&Json::parse(keys.as_bytes()).unwrap()).unwrap());
    let workflow_policy = options.workflow_policy.map(|text| {
        let policy = document::parse(text.as_bytes(), Format::Yaml).unwrap();
        proofmark_contract::WorkflowPolicy::read(&policy).unwrap()
    });
    let services = Services::new(Decider::new(Some(policy), key, store, TrustedSigners::default()), verifications);
    Settings {
        listen: Some("127.0.0.1:0".parse().unwrap()),
        socket: None,
        services: services.with_workflow_policy(workflow_policy),
        keys,
        oidc: options.oidc,
        rate: NonZeroU32::new(options.rate).unwrap(),
        proxies: Vec::new(),
        connection_proxies: Vec::new(),
        files: options.files,
        webhook: None,
        more: crate::pages(),
    }
}

/// A new API key, and its entry for a file of keys. Who may review holds every role of the policy but `owner` and `dba`.
pub(crate) fn new_key(id: &str, role: &str, tenant: &str) -> (String, String) {
    let role = match role {
        "agent" => Role::Agent,
        "agent-host" => Role::AgentHost,
        "reviewer" => Role::Reviewer,
        "admin" => Role::Admin,
        other => panic!("unknown role {other}"),
    };
    let roles = if role == Role::Agent { &[][..] } else { &["manager", "reviewer", "finance", "lead"] };
    let reviewer =
        ReviewerEntry { roles: roles.iter().copied().map(str::to_owned).collect(), ..ReviewerEntry::default() };
    let (key, entry) = proofmark_server::new_key(id, role, tenant, &reviewer).unwrap();
    (key, entry.to_text())
}

/// A new API key of a reviewer who holds these roles, and its entry for a file of keys.
pub(crate) fn new_reviewer(id: &str, tenant: &str, roles: &[&str]) -> (String, String) {
    let reviewer =
        ReviewerEntry { roles: roles.iter().copied().map(str::to_owned).collect(), ..ReviewerEntry::default() };
    let (key, entry) = proofmark_server::new_key(id, Role::Reviewer, tenant, &reviewer).unwrap();
    (key, entry.to_text())
}

/// The text of a file of keys.
pub(crate) fn keys(entries: &[&str]) -> String {
    format!("{{\"keys\": [{}]}}", entries.join(","))
}
