//! The files that a server reads, at its start and again while it runs.

use std::path::{Path, PathBuf};

use proofmark_boundary::ActionPolicy;
use proofmark_contract::WorkflowPolicy;
use proofmark_server::{ApiKeys, Loaded, Source, UnreadableError};
use proofmark_verifier::now;

use crate::document::{self, Document};
use crate::error::{self, CommandError, with_help};
use crate::lint;

/// The action policy in this file.
pub(crate) fn action_policy(path: PathBuf) -> Source<ActionPolicy> {
    Source { path, read: |path| linted(path, document::action_policy(path)) }
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
