//! `proofmark serve --check`.

use std::io::{self, Write};

use proofmark_boundary::ActionPolicy;
use proofmark_decider::PolicyPlace;
use proofmark_receipt::{Json, Object, object};
use proofmark_server::{Loaded, check_place};
use proofmark_store::{Store, StoreError};

use super::Serve;
use super::oidc::FoundIssuer;
use crate::config::Config;
use crate::exit::Exit;
use crate::out;
use crate::paint::printable;

/// What a server would start with. What is `None` is not there; a key and a store are made at the first start.
struct Found {
    /// The digest of the action policy that everybody asks.
    action_policy: Option<String>,
    /// The places of the others, with their digests.
    action_policies: Vec<(String, String)>,
    /// The name of the workflow policy.
    workflow_policy: Option<String>,
    api_keys: Option<u64>,
    oidc: Option<FoundIssuer>,
    trusted_signers: u64,
    worker_keys: Option<u64>,
    /// The fingerprint of the signing key.
    signing_key: Option<String>,
    has_store: bool,
    warnings: Vec<String>,
}

impl Serve {
    /// Reads everything that a server needs, and changes nothing.
    pub(super) fn check(&self, config: &Config) -> anyhow::Result<Exit> {
        let found = self.find(config)?;
        if self.json {
            out::stdout().json(&Json::from(found.object()).to_text())?;
        } else {
            found.print()?;
        }
        Ok(Exit::Yes)
    }

    fn find(&self, config: &Config) -> anyhow::Result<Found> {
        self.served_log(config)?;
        let keys = self.keys()?;
        check_place(self.address(), self.socket.is_some(), keys.as_ref())?;
        let policies = self.service.policies()?;
        let (oidc, of_rules) = self.oidc.find()?.unzip();
        let signers = self.named().signers(&config.known_signers()?)?;
        let hash =
            |(place, policy): &(PolicyPlace, Loaded<ActionPolicy>)| (place.clone(), policy.value.hash().to_string());
        let (of_all, others): (Vec<_>, Vec<_>) =
            policies.action.iter().map(hash).partition(|(place, _)| *place == PolicyPlace::default_of_all());
        Ok(Found {
            warnings: policies.warnings().cloned().chain(of_rules.into_iter().flatten()).collect(),
            action_policy: of_all.into_iter().next().map(|(_, hash)| hash),
            action_policies: others.into_iter().map(|(place, hash)| (place.to_string(), hash)).collect(),
            workflow_policy: policies.workflow.map(|policy| policy.value.name),
            api_keys: self.api_keys.as_ref().and(keys).map(|keys| keys.list().len() as u64),
            oidc,
            trusted_signers: signers.trusted.signers().keys().len() as u64,
            worker_keys: signers.workers.map(|workers| workers.len() as u64),
            signing_key: self.service.signing.existing_key(config)?.map(|key| key.signer().fingerprint()),
            has_store: match Store::inspect(self.service.store.place(config)) {
                Err(StoreError::Missing { .. }) => false,
                inspected => inspected.map(|()| true)?,
            },
        })
    }
}

impl Found {
    fn object(self) -> Object {
        object! {
            "action_policy"?: self.action_policy,
            "action_policies"?: (!self.action_policies.is_empty()).then(|| {
                let all = self.action_policies.into_iter();
                all.map(|(place, hash)| Json::from(object! { "policy": place, "hash": hash })).collect::<Vec<_>>()
            }),
            "workflow_policy"?: self.workflow_policy,
            "api_keys"?: self.api_keys,
            "oidc"?: self.oidc.map(|issuer| issuer.to_json()),
            "trusted_signers": self.trusted_signers,
            "worker_keys"?: self.worker_keys,
            "signing_key"?: self.signing_key,
            "has_store": self.has_store,
            "warnings": self.warnings.into_iter().map(Json::from).collect::<Vec<_>>(),
        }
    }

    fn print(self) -> io::Result<()> {
        const LATER: &str = "created at the first start";
        for warning in &self.warnings {
            out::note(format_args!("warning: {}", printable(warning)));
        }
        let count = |number: Option<u64>| number.map(|number| number.to_string());
        let mut out = out::stdout();
        if let Some(hash) = self.action_policy {
            writeln!(out, "{:<15}  {hash}", "action policy")?;
        }
        for (place, hash) in self.action_policies {
            writeln!(out, "{:<15}  {hash} {place}", "action policy")?;
        }
        for (name, value) in [
            ("workflow policy", self.workflow_policy.map(|name| printable(&name))),
            ("API keys", count(self.api_keys)),
            ("issuer", self.oidc.map(|issuer| printable(&issuer.words()))),
            ("trusted signers", count(Some(self.trusted_signers))),
            ("worker keys", count(self.worker_keys)),
            ("signing key", Some(self.signing_key.unwrap_or_else(|| LATER.to_owned()))),
            ("store", (!self.has_store).then(|| LATER.to_owned())),
        ] {
            if let Some(value) = value {
                writeln!(out, "{name:<15}  {value}")?;
            }
        }
        writeln!(out, "ok")
    }
}
