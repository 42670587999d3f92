//! A server whose files change while it runs.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use proofmark_decider::PolicyPlace;
use proofmark_receipt::Json;
use proofmark_receipt::document::{self, Format};
use proofmark_server::{ApiKeys, Files, KeysFile, Loaded, ReviewerEntry, Role, Source, UnreadableError, new_key};
use proofmark_testing::Home;

use crate::client::{NOTE, POLICY, text};
use crate::server::{Options, Server};

const PATIENCE: Duration = Duration::from_secs(30);

fn read<T, E: std::fmt::Display>(
    path: &Path,
    value: impl FnOnce(&Json) -> Result<T, E>,
) -> Result<Loaded<T>, UnreadableError> {
    let unreadable = |error: String| UnreadableError { message: error, help: None };
    let text = std::fs::read(path).map_err(|error| unreadable(error.to_string()))?;
    let document = document::parse(&text, Format::Yaml).map_err(|error| unreadable(error.to_string()))?;
    let value = value(&document).map_err(|error| unreadable(error.to_string()))?;
    Ok(Loaded { value, warnings: Vec::new() })
}

/// A server whose files are in this folder, with a key of an agent and one of an administrator.
pub(crate) struct Place {
    pub(crate) server: Server,
    home: Home,
    pub(crate) agent: String,
    pub(crate) admin: String,
}

impl Place {
    pub(crate) fn open() -> Self {
        let home = Home::new();
        let policy = home.path().join("policy.yaml");
        std::fs::copy(POLICY, &policy).unwrap();
        let file = KeysFile::at(&home.path().join("keys.json"));
        let [agent, admin] = [("bot", Role::Agent), ("eve", Role::Admin)].map(|(id, role)| {
            let (key, entry) = new_key(id, role, "acme", &ReviewerEntry::default()).unwrap();
            file.add(&entry, false).unwrap();
            key
        });
        let files = Files {
            action_policies: vec![(
                PolicyPlace::default_of_all(),
                Source { path: policy, read: |path| read(path, proofmark_boundary::ActionPolicy::read) },
            )],
            workflow_policy: None,
            signers: None,
            claim_map: None,
            api_keys: Some(Source { path: home.path().join("keys.json"), read: |path| read(path, ApiKeys::read) }),
        };
        let keys = Some(std::fs::read_to_string(home.path().join("keys.json")).unwrap());
        let server = Server::with(&home, Options { keys, files, ..Options::default() });
        Self { server, home, agent, admin }
    }

    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.home.path().join(name)
    }

    pub(crate) fn keys(&self) -> KeysFile {
        KeysFile::at(&self.file("keys.json"))
    }

    pub(crate) fn status(&self, key: &str) -> u16 {
        self.server.get("/v1/receipts", key).0
    }

    pub(crate) fn outcome(&self) -> String {
        text(&self.server.post("/v1/decisions", &self.agent, NOTE).1, "outcome")
    }

    pub(crate) fn stale(&self) -> bool {
        self.server.send("GET /readyz HTTP/1.1", "").1.contains("stale")
    }
}

/// Waits until this holds.
pub(crate) fn until(what: &str, holds: impl Fn() -> bool) {
    let begun = Instant::now();
    while !holds() {
        assert!(begun.elapsed() < PATIENCE, "not in time: {what}");
        std::thread::sleep(Duration::from_millis(50));
    }
}
