//! The files that a server reads, at its start and again while it runs.

use std::path::{Path, PathBuf};
use std::str::FromStr;

use proofmark_boundary::ActionPolicy;
use proofmark_contract::WorkflowPolicy;
use proofmark_decider::{PolicyPlace, PolicyPlaceError};
use proofmark_keys::{Keyring, KnownSigners, TrustStore, without_kinds};
use proofmark_server::{ApiKeys, ClaimMap, Loaded, Signers, SignersSource, Source, UnreadableError};
use proofmark_verifier::now;

use crate::config::Config;
use crate::document::{self, Document};
use crate::error::{self, CommandError, with_help};
use crate::lint;

/// The action policy in this file.
pub(crate) fn action_policy(path: PathBuf) -> Source<ActionPolicy> {
    Source { path, read: |path| linted(path, document::action_policy(path)) }
}

/// An action policy of a server, as `--policy` names it.
#[derive(Clone, Debug)]
pub(crate) struct PolicyFile {
    pub(crate) place: PolicyPlace,
    pub(crate) path: PathBuf,
}

impl PolicyFile {
    /// The policy that everybody asks.
    pub(crate) fn of_all(path: PathBuf) -> Self {
        Self { place: PolicyPlace::default_of_all(), path }
    }
}

impl FromStr for PolicyFile {
    type Err = PolicyPlaceError;

    fn from_str(text: &str) -> Result<Self, PolicyPlaceError> {
        // What a place cannot be is part of a path.
        let is_place = |text: &str| {
            text.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.' | b':'))
        };
        match text.split_once('=').filter(|(place, _)| is_place(place)) {
            Some((place, path)) => Ok(Self { place: place.parse()?, path: path.into() }),
            None => Ok(Self::of_all(text.into())),
        }
    }
}

/// Whom a server trusts, as `read` says, and the files that this is read from.
pub(crate) fn signers(
    config: &Config,
    named: &[String],
    read: impl Fn(&KnownSigners) -> anyhow::Result<Signers> + Send + 'static,
) -> SignersSource {
    let home = config.home.clone();
    // A new key changes the folder.
    let known = [Keyring::new(&home).folder().to_owned(), TrustStore::new(&home).path()];
    let files = named.iter().map(|named| PathBuf::from(without_kinds(named))).filter(|path| path.is_file());
    SignersSource {
        paths: known.into_iter().chain(files).collect(),
        read: Box::new(move || {
            let known = KnownSigners::load(&home).map_err(anyhow::Error::from);
            known.and_then(|known| read(&known)).map_err(|error| unreadable(&error))
        }),
    }
}

/// The workflow policy in this file.
pub(crate) fn workflow_policy(path: PathBuf) -> Source<WorkflowPolicy> {
    Source { path, read: |path| linted(path, document::workflow_policy(path)) }
}

/// The API keys in this file, of which there may be none: a server that runs refuses every caller when all are revoked.
pub(crate) fn api_keys(path: PathBuf) -> Source<ApiKeys> {
    Source {
        path,
        read: |path| match document::api_keys(path) {
            Ok(value) => Ok(Loaded { value, warnings: Vec::new() }),
            Err(error) => Err(unreadable(&error)),
        },
    }
}

/// The rules on tokens in this file.
pub(crate) fn claim_map(path: PathBuf) -> Source<ClaimMap> {
    Source {
        path,
        read: |path| match document::claim_map(path) {
            Ok(value) => Ok(Loaded { warnings: value.warnings(), value }),
            Err(error) => Err(unreadable(&error)),
        },
    }
}

/// The API keys that a server begins with, of which there must be one.
pub(crate) fn callers(path: &Path) -> anyhow::Result<ApiKeys> {
    let keys = load(&api_keys(path.to_owned()), document::api_keys)?.value;
    if keys.is_empty() {
        return Err(with_help(
            format!("read the API keys in `{}`: `keys` is empty", path.display()),
            "add a key with `proofmark api-key add`",
        ));
    }
    Ok(keys)
}

/// What a file says. `check` reads it first: its errors show the line, and those of a server that runs only name it.
pub(crate) fn load<T>(source: &Source<T>, check: impl FnOnce(&Path) -> anyhow::Result<T>) -> anyhow::Result<Loaded<T>> {
    check(&source.path)?;
    (source.read)(&source.path).map_err(|UnreadableError { message, help }| CommandError::new(message, help).into())
}

fn linted<T>(path: &Path, read: anyhow::Result<T>) -> Result<Loaded<T>, UnreadableError> {
    let value = read.map_err(|error| unreadable(&error))?;
    // The file is read again, because a policy does not know its text, in which findings have a place. A file that changes in between is
    // read once more.
    let findings = match Document::read(path) {
        Ok(Ok(document)) => lint::check(&document, None, &[], now().unix_millis()),
        Ok(Err(_)) | Err(_) => Vec::new(),
    };
    let warnings = findings.iter().map(|finding| format!("{} {}: {}", finding.label(), finding.code, finding.message));
    Ok(Loaded { value, warnings: warnings.collect() })
}

fn unreadable(error: &anyhow::Error) -> UnreadableError {
    UnreadableError { message: error::message(error), help: error::help(error) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_policy_is_for_all_or_for_a_tenant_and_may_have_a_name() {
        for (text, place, path) in [
            ("policy.yaml", ":default", "policy.yaml"),
            ("acme.dev=policy.yaml", "acme.dev", "policy.yaml"),
            ("acme:strict=a=b.yaml", "acme:strict", "a=b.yaml"),
            (":strict=/etc/p.yaml", ":strict", "/etc/p.yaml"),
            ("./a=b.yaml", ":default", "./a=b.yaml"),
            ("a b=c", ":default", "a b=c"),
        ] {
            let policy: PolicyFile = text.parse().unwrap();
            assert_eq!((policy.place.to_string().as_str(), policy.path.to_str()), (place, Some(path)), "{text}");
        }
        for text in ["=policy.yaml", "acme:=policy.yaml", ":=policy.yaml", "-a=policy.yaml"] {
            assert!(text.parse::<PolicyFile>().is_err(), "{text}");
        }
    }
}
