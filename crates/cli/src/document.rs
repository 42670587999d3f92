//! Workflows and policies from files, with errors that show the line.

use std::path::Path;

use anyhow::Context;
use proofmark_boundary::{ActionPolicy, ActionPolicyError};
use proofmark_contract::{Workflow, WorkflowPolicy};
use proofmark_evidence::{resolve_suites, suite_digest};
use proofmark_receipt::document::{self, DocumentError, Format, MAX_DOCUMENT_BYTES, Place, Places, line_and_column};
use proofmark_receipt::{Json, Sha256Digest};
use proofmark_verifier::{MAX_REQUEST_BYTES, SuiteHashes};

use crate::error::{self, CommandError};
use crate::input;
use crate::report::Finding;

/// A document with its text, in which places are located.
pub(crate) struct Document {
    pub(crate) label: String,
    pub(crate) text: Vec<u8>,
    pub(crate) json: Json,
    places: Places,
}

impl Document {
    /// Reads a document; its name says whether it is JSON or YAML, and that of standard input (`-`) its first character.
    pub(crate) fn read(path: &Path) -> anyhow::Result<Result<Document, Finding>> {
        let stdin = path == Path::new("-");
        let label = if stdin { "standard input".to_owned() } else { path.display().to_string() };
        let text = match stdin {
            true => input::read_stdin(MAX_DOCUMENT_BYTES as u64)?,
            false => input::read_limited(path, MAX_DOCUMENT_BYTES as u64)?,
        };
        let json = match stdin {
            true => input::looks_like_json(&text),
            false => path.extension().is_some_and(|extension| extension == "json"),
        };
        // YAML includes what JSON can say, so a name with another ending or none is read as YAML.
        let format = if json { Format::Json } else { Format::Yaml };
        Ok(match document::parse_with_places(&text, format) {
            Ok((json, places)) => {
                let mut document = Document { label, text, json, places };
                match document.resolve_suites(path) {
                    None => Ok(document),
                    Some(finding) => Err(finding),
                }
            }
            Err(error) => Err(finding(&label, &text, None, &error)),
        })
    }

    /// Writes the digests of suites in place of the names of their files, which are beside the document.
    fn resolve_suites(&mut self, path: &Path) -> Option<Finding> {
        let mut find = |name: &str, at: &str| suite_beside(path, name).map_err(|error| (at.to_owned(), error));
        let mut resolve = || SUITES.iter().try_for_each(|way| resolve_suites(&mut self.json, way, &mut find));
        let (at, error) = resolve().err()?;
        let message = format!("`{at}`: failed to {}", error::message(&error));
        let finding = Finding::at(&self.label, &self.text, self.locate(&at), "unreadable_suite", message);
        Some(Finding { help: error::help(&error), ..finding })
    }

    /// The finding that `error` is about this action policy.
    pub(crate) fn policy_finding(&self, error: &ActionPolicyError) -> Finding {
        match error {
            ActionPolicyError::Document(error) => self.finding(error),
            ActionPolicyError::Predicate { at, .. } => {
                let place = self.locate(at);
                let finding = Finding::at(&self.label, &self.text, place, error.code(), error.to_string());
                Finding { help: error.help().map(|help| help.to_string()), ..finding }
            }
        }
    }

    /// The finding that `error` is about this document.
    pub(crate) fn finding(&self, error: &DocumentError) -> Finding {
        finding(&self.label, &self.text, Some(self), error)
    }

    /// The line and column, from 1, of the field `path`, or of the nearest value around it.
    pub(crate) fn locate(&self, path: &str) -> Option<(u64, u64)> {
        self.places.find(&self.json, path).map(|start| line_and_column(&self.text, start))
    }
}

/// The fields that name suites: receipt rules of workflows and action policies, and receipts of cases.
const SUITES: [&[&str]; 3] = [
    &["steps", "*", "verification", "receipts", "*"],
    &["boundaries", "*", "require", "*", "receipt"],
    &["cases", "*", "receipts", "*"],
];

fn suite_beside(document: &Path, name: &str) -> anyhow::Result<Sha256Digest> {
    let suite = suite(&document.parent().unwrap_or(Path::new("")).join(name))?;
    Ok(suite_digest(&suite.specification, &suite.tests))
}

/// The digests of the suite in a file, which is a request with or without an `output`.
pub(crate) fn suite(path: &Path) -> anyhow::Result<SuiteHashes> {
    let json = path.extension().is_some_and(|extension| extension == "json");
    let format = if json { Format::Json } else { Format::Yaml };
    let text = input::read_limited(path, MAX_REQUEST_BYTES as u64)?;
    SuiteHashes::read(&text, format).with_context(|| format!("read the suite `{}`", path.display()))
}

fn finding(label: &str, text: &[u8], document: Option<&Document>, error: &DocumentError) -> Finding {
    let (place, message) = match error.place() {
        Place::Whole => (None, error.message().to_owned()),
        // The label names line and column; a message repeats only the field, which the label lacks.
        Place::Text { line, column } => (Some((*line, *column)), error.message().to_owned()),
        Place::Field(path) => (document.and_then(|document| document.locate(path)), error.to_string()),
    };
    Finding { help: error.help(), ..Finding::at(label, text, place, error.code(), message) }
}

pub(crate) fn workflow(path: &Path) -> anyhow::Result<Workflow> {
    read_as(path, "workflow", Workflow::read)
}

pub(crate) fn workflow_policy(path: &Path) -> anyhow::Result<WorkflowPolicy> {
    read_as(path, "workflow policy", WorkflowPolicy::read)
}

pub(crate) fn action_policy(path: &Path) -> anyhow::Result<ActionPolicy> {
    let document = match Document::read(path)? {
        Ok(document) => document,
        Err(finding) => return Err(failure("action policy", &finding)),
    };
    ActionPolicy::read(&document.json).map_err(|error| failure("action policy", &document.policy_finding(&error)))
}

/// Reads a document of a kind whose errors name no place in it.
pub(crate) fn read_with<T, E: std::error::Error + Send + Sync + 'static>(
    path: &Path,
    kind: &'static str,
    read: impl FnOnce(&Json) -> Result<T, E>,
) -> anyhow::Result<T> {
    match Document::read(path)? {
        Ok(document) => read(&document.json).with_context(|| format!("read the {kind} in `{}`", path.display())),
        Err(finding) => Err(failure(kind, &finding)),
    }
}

/// Reads a document of a kind; errors name file, line and column, and show the line.
pub(crate) fn read_as<T>(
    path: &Path,
    kind: &str,
    read: impl FnOnce(&Json) -> Result<T, DocumentError>,
) -> anyhow::Result<T> {
    let found = match Document::read(path)? {
        Ok(document) => read(&document.json).map_err(|error| document.finding(&error)),
        Err(finding) => Err(finding),
    };
    found.map_err(|finding| failure(kind, &finding))
}

fn failure(kind: &str, finding: &Finding) -> anyhow::Error {
    let caret = finding.caret().map_or_else(String::new, |caret| format!("\n{caret}"));
    let message = format!("read the {kind} {}: {}{caret}", finding.label(), finding.message);
    CommandError::new(message, finding.help.clone()).into()
}
