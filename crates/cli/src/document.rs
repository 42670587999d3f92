//! Documents from files and standard input, with errors that show the line.

use std::cell::Cell;
use std::path::Path;

use proofmark_boundary::ActionPolicy;
use proofmark_checks::{MAX_REQUEST_BYTES, Outside, Request, SuiteHashes};
use proofmark_contract::WorkflowPolicy;
use proofmark_evidence::{FileOf, facts, resolve_files, suite_digest};
use proofmark_quorum::MAX_REVIEWERS_BYTES;
use proofmark_receipt::Json;
use proofmark_receipt::document::{
    self, DocumentError, Format, MAX_DOCUMENT_BYTES, Places, line_and_column, parse_with_places,
};
use proofmark_receipt::json::MAX_BYTES;
use proofmark_server::{ApiKeys, ClaimMap};

use crate::error;
use crate::excerpt;
use crate::input;
use crate::report::{Finding, Spot};
use crate::source::{Fault, STDIN, Source, SourceError, format_of, format_of_text};

/// A document with its text, in which places are located.
pub(crate) struct Document {
    pub(crate) label: String,
    pub(crate) text: Vec<u8>,
    pub(crate) json: Json,
    format: Format,
    places: Places,
    /// The byte that was located last, with its line and column: findings are in the order of the document.
    last: Cell<(usize, (u64, u64))>,
}

impl Document {
    /// Reads a document from a file, whose name says whether it is JSON or YAML, or from standard input (`-`).
    pub(crate) fn read(path: &Path) -> anyhow::Result<Result<Document, Finding>> {
        let (label, text) = named(path, MAX_DOCUMENT_BYTES)?;
        let format = if path == Path::new("-") { format_of_text(&text) } else { format_of(path) };
        Ok(match parse_with_places(&text, format) {
            Ok((json, places)) => {
                let mut document = Document { label, text, json, format, places, last: Cell::new((0, (1, 1))) };
                match document.resolve_files(path) {
                    None => Ok(document),
                    Some(finding) => Err(finding),
                }
            }
            Err(error) => Err(Source { label: &label, line: 1, text: &text, format }.refusal("", &error).into()),
        })
    }

    /// Writes what the files that rules name hold in place of their names. The files are beside the document.
    fn resolve_files(&mut self, path: &Path) -> Option<Finding> {
        for (file, code) in [(FileOf::Suite, "unreadable_suite"), (FileOf::Reviewers, "unreadable_reviewers")] {
            let mut find = |name: &str, at: &str| read_beside(path, name, file).map_err(|error| (at.to_owned(), error));
            let resolved = RULES.iter().try_for_each(|way| resolve_files(&mut self.json, way, file, &mut find));
            if let Err((at, error)) = resolved {
                let message = format!("failed to {}", error::message(&error));
                return Some(self.finding(Fault::at(&at, code, message, error::help(&error))));
            }
        }
        None
    }

    /// The finding that `fault` is in this document.
    pub(crate) fn finding(&self, fault: impl Into<Fault>) -> Finding {
        let source = Source { label: &self.label, line: 1, text: &self.text, format: self.format };
        source.refusal_with("", fault, |path| self.locate(path)).into()
    }

    /// The line and column, from 1, of the field `path`, or of the nearest value around it.
    pub(crate) fn locate(&self, path: &str) -> Option<(u64, u64)> {
        self.places.find(&self.json, path).map(|start| self.line_and_column(start))
    }

    /// As [`Document::locate`], with the line.
    pub(crate) fn spot(&self, path: &str) -> Option<Spot> {
        let start = self.places.find(&self.json, path)?;
        Some(Spot { place: self.line_and_column(start), caret: excerpt::caret_at(&self.text, start) })
    }

    /// Counts on from the byte that was located last: a document may be one long line with thousands of findings.
    fn line_and_column(&self, start: usize) -> (u64, u64) {
        let (from, (line, column)) = self.last.get();
        let Some(between) = self.text.get(from..start) else { return line_and_column(&self.text, start) };
        let (lines, columns) = line_and_column(between, between.len());
        let place = if lines == 1 { (line, column + columns - 1) } else { (line + lines - 1, columns) };
        self.last.set((start, place));
        place
    }
}

/// What messages call a file or standard input (`-`), and its text of at most `limit` bytes.
fn named(path: &Path, limit: usize) -> anyhow::Result<(String, Vec<u8>)> {
    Ok(if path == Path::new("-") {
        (STDIN.to_owned(), input::read_stdin(limit as u64)?)
    } else {
        (path.display().to_string(), input::read_limited(path, limit as u64)?)
    })
}

/// The fields that may name files: receipt rules of workflows and action policies, and receipts of cases.
const RULES: [&[&str]; 3] = [
    &["steps", "*", "verification", "receipts", "*"],
    &["boundaries", "*", "require", "*", "receipt"],
    &["cases", "*", "receipts", "*"],
];

/// What a rule says in place of the name of a file beside its document.
fn read_beside(document: &Path, name: &str, file: FileOf) -> anyhow::Result<String> {
    let path = document.parent().unwrap_or(Path::new("")).join(name);
    match file {
        FileOf::Suite => {
            let suite = suite(&path)?;
            Ok(suite_digest(&suite.specification, &suite.tests).to_string())
        }
        FileOf::Reviewers => {
            let text = input::read_limited(&path, MAX_REVIEWERS_BYTES as u64)?;
            let text = String::from_utf8(text).map_err(|_| {
                let doing = format!("read the reviewers `{}`: invalid UTF-8", path.display());
                error::with_help(doing, "save the file as UTF-8")
            })?;
            // One line without an end would be taken for the name of a file.
            Ok(text + "\n")
        }
    }
}

/// The digests of the suite in a file, which is a request with or without an `output`.
pub(crate) fn suite(path: &Path) -> anyhow::Result<SuiteHashes> {
    let (label, text) = named(path, MAX_REQUEST_BYTES)?;
    let source = Source { label: &label, line: 1, text: &text, format: format_of(path) };
    SuiteHashes::read(&text, source.format).map_err(|error| source.error("read the suite", &error))
}

/// A request, which may name files.
pub(crate) fn request(request: &input::Source, outside: &Outside<'_>) -> anyhow::Result<Request> {
    Request::read_with(&request.bytes, request.format, outside).map_err(|error| {
        let file = request.path.display().to_string();
        let label = if request.path == Path::new("") { STDIN } else { &file };
        let source = Source { label, line: request.line, text: &request.bytes, format: request.format };
        source.error("read the request", &error)
    })
}

/// The file that `--context` names, where it is not the object itself; an `@` before the name is what other programs ask for.
pub(crate) fn context_file(given: &str) -> &Path {
    Path::new(given.strip_prefix('@').unwrap_or(given))
}

/// The facts of an orchestrator: an object whose numbers conditions can represent, or the name of a file with one.
pub(crate) fn context(given: &str) -> anyhow::Result<Json> {
    let (label, text, format) = if given.trim_start().starts_with('{') {
        ("--context".to_owned(), given.as_bytes().to_vec(), Format::Json)
    } else {
        let path = context_file(given);
        let (label, text) = named(path, MAX_BYTES).map_err(|error| {
            let help = "write an object, as in `--context '{\"ticket\": \"T-1\"}'`, or name a file with one";
            error::with_help(format!("read the context: failed to {}", error::message(&error)), help)
        })?;
        let format = if path == Path::new("-") { format_of_text(&text) } else { format_of(path) };
        (label, text, format)
    };
    let source = Source { label: &label, line: 1, text: &text, format };
    let failed = |fault: Fault| source.error("read the context", fault);
    let context = document::parse(&text, format).map_err(|error| failed(Fault::from(&error)))?;
    if context.as_object().is_none() {
        let message = format!("expected an object, found {}", context.type_name());
        return Err(failed(Fault::whole("wrong_type", message, "write an object")));
    }
    // A number that conditions cannot represent would make all of the context unknown.
    match facts::value(&context) {
        Ok(_) => Ok(context),
        Err(error) => Err(failed(Fault::whole("invalid_value", error.to_string(), "write a number with fewer digits"))),
    }
}

pub(crate) fn workflow_policy(path: &Path) -> anyhow::Result<WorkflowPolicy> {
    read_as(path, "workflow policy", WorkflowPolicy::read)
}

pub(crate) fn action_policy(path: &Path) -> anyhow::Result<ActionPolicy> {
    let document = read_document(path, "action policy")?;
    ActionPolicy::read(&document.json).map_err(|error| failure("action policy", document.finding(&error)))
}

/// Reads the rules on the tokens of an issuer.
pub(crate) fn claim_map(path: &Path) -> anyhow::Result<ClaimMap> {
    read_as(path, "rules on tokens", ClaimMap::read)
}

/// Reads the API keys of a server. Errors do not show the line: it may be a key, in a file that should hold only hashes.
pub(crate) fn api_keys(path: &Path) -> anyhow::Result<ApiKeys> {
    let hidden = |finding: Finding| {
        let help = "write the file with `proofmark api-key add`".to_owned();
        failure("API keys", Finding { caret: None, help: Some(help), ..finding })
    };
    let document = Document::read(path)?.map_err(hidden)?;
    ApiKeys::read(&document.json)
        .map_err(|error| hidden(document.finding(Fault::whole("invalid", error.to_string(), ""))))
}

/// Reads a document of a kind; errors name file, line and column, and show the line.
pub(crate) fn read_as<T>(
    path: &Path,
    kind: &str,
    read: impl FnOnce(&Json) -> Result<T, DocumentError>,
) -> anyhow::Result<T> {
    let document = read_document(path, kind)?;
    read(&document.json).map_err(|error| failure(kind, document.finding(&error)))
}

/// Reads a document, which messages call `kind`.
pub(crate) fn read_document(path: &Path, kind: &str) -> anyhow::Result<Document> {
    Document::read(path)?.map_err(|finding| failure(kind, finding))
}

/// The error that a document of a kind cannot be read.
pub(crate) fn failure(kind: &str, finding: Finding) -> anyhow::Error {
    as_error(&format!("read the {kind}"), finding)
}

/// The error that a finding makes; `doing` is what failed: `read the workflow`.
pub(crate) fn as_error(doing: &str, finding: Finding) -> anyhow::Error {
    let Finding { file, place, code, error: _, message, help, caret } = finding;
    SourceError { doing: doing.to_owned(), file, place, code, message, help, caret }.into()
}

impl From<SourceError> for Finding {
    fn from(error: SourceError) -> Finding {
        let SourceError { doing: _, file, place, code, message, help, caret } = error;
        Finding { file, place, code, error: true, message, help, caret }
    }
}
