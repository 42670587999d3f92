//! `proofmark lint`.

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use anyhow::{Context, anyhow};
use clap::{Args, ValueEnum};
use proofmark_boundary::{ActionPolicy, Cases, Warning};
use proofmark_contract::lint::{self, DocumentKind, Report, Severity, lint_policy};
use proofmark_contract::{Workflow, WorkflowPolicy, cases};
use proofmark_evidence::trace;
use proofmark_receipt::{Json, SignerId};
use proofmark_verifier::now;

use crate::config::{Config, DEFAULT_KEY};
use crate::document::{self, Document};
use crate::error::with_help;
use crate::exit::Exit;
use crate::out;
use crate::paint::printable;
use crate::report::{Finding, Formatting, Group, Human, Reporter, Style};

/// Check workflows and policies for mistakes before they run
///
/// In a folder, requests, traces and receipts are skipped, and named on standard error. A document of no known kind is an error.
///
/// Checks the schema, the workflow policy, that every step leads to an end, references, predicates, dead and contradictory
/// rules, retries and exemptions.
#[derive(Args)]
#[command(after_help = "Examples:
  proofmark lint workflows/ --workflow-policy workflow-policy.yaml
  proofmark lint workflow.yaml --format sarif > lint.sarif
  proofmark lint policy.yaml --deny warnings
  proofmark lint policy.yaml --deny warnings --allow any-suite

A warning that is meant can also be named in the file: `lint: {allow: [any-suite]}`.

Exit codes: 0 no errors; 1 errors, or with --deny warnings any finding; 2 a file could not be read, or is of no known kind.")]
pub(crate) struct Lint {
    /// Workflows, policies and tables of cases: files, or folders of .yaml, .yml and .json files
    #[arg(required = true, value_name = "FILE|DIR")]
    documents: Vec<PathBuf>,
    /// The workflow policy, which the workflows must follow
    #[arg(long, value_name = "FILE")]
    workflow_policy: Option<PathBuf>,
    /// Exit with 1 for warnings, too
    #[arg(long, value_enum, value_name = "WHAT")]
    deny: Option<Denied>,
    /// Leave out warnings with this code; can be repeated. Errors stay
    #[arg(long, value_name = "CODE")]
    allow: Vec<String>,
    /// The key that decisions are signed with, a name or a public key: approvals of its holder are reported [default: `default`]
    #[arg(long, value_name = "KEY")]
    key: Option<String>,
    #[command(flatten)]
    formatting: Formatting,
}

/// What is a failure beside errors.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Denied {
    Warnings,
}

impl Lint {
    pub(crate) fn run(self, config: &Config) -> anyhow::Result<Exit> {
        let now_ms = now().unix_millis();
        let decider = decider(config, self.key.as_deref())?;
        let policy = self.workflow_policy.as_deref().map(document::workflow_policy).transpose()?;
        let (mut files, mut found, mut documents, mut unknown) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        let mut named = paths(&self.documents)?;
        // The workflow policy is linted, too: its exemptions may name steps that no workflow has.
        let policy_file = self.workflow_policy.clone().filter(|path| !named.iter().any(|named| named.path == *path));
        named.extend(policy_file.map(|path| Named { path, in_folder: false }));
        for Named { path, in_folder } in named {
            let label = path.display().to_string();
            match Document::read(&path)? {
                // In a folder other documents lie beside; a file that was named is meant to be one of these.
                Ok(document) if in_folder && Kind::of(&document.json).is_none() => {
                    let label = printable(&label);
                    if !is_of_another_kind(&document) {
                        unknown.push(label);
                        continue;
                    }
                    out::note(format_args!("skipped {label}: it is not a workflow, a policy or a table of cases"));
                    continue;
                }
                Ok(document) if is_request(&document.json) => return Err(request_named(&label)),
                Ok(document) => documents.push(document),
                Err(finding) => found.push(finding),
            }
            files.push(label);
        }
        if files.is_empty() && unknown.is_empty() {
            return Err(with_help(
                "find documents to check: the folders hold no workflow, policy or table of cases",
                "name the files",
            ));
        }
        let workflows: Vec<Workflow> =
            // No error is lost: `check` reads each document again, as what it is, and reports its errors.
            documents.iter().filter_map(|document| Workflow::read(&document.json).ok()).collect();
        for document in &documents {
            found.extend(check(document, policy.as_ref(), &workflows, now_ms));
            found.extend(of_decider(document, decider.as_ref()));
        }
        for document in documents.iter().filter(|document| Kind::of(&document.json) == Some(Kind::Workflow)) {
            let Some((key, workflow)) = decider.as_ref().zip(Workflow::read(&document.json).ok()) else { continue };
            let by_itself = lint::approvals_by(&workflow, policy.as_ref(), key);
            found.extend(by_itself.iter().map(|finding| placed(document, finding)));
        }
        for finding in &mut found {
            // Other interfaces write codes of documents with underscores. Those of lint are all of one style.
            finding.code = finding.code.replace('_', "-");
        }
        found.retain(|finding| finding.error || !self.allow.contains(&finding.code));
        let mut reporter = Reporter::new(self.formatting.format(), "lint", Human::new(Style::Findings));
        for file in &files {
            let own: Vec<&Finding> = found.iter().filter(|finding| finding.file == *file).collect();
            reporter.group(Group::of_findings(file, &own))?;
        }
        reporter.finish()?;
        if let Some(first) = unknown.first() {
            let more = if unknown.len() > 1 { format!(" and of {} more", unknown.len() - 1) } else { String::new() };
            return Err(with_help(
                format!("tell the kind of `{first}`{more}: nothing in it was checked"),
                "correct its fields, or move it out of the folder",
            ));
        }
        let fails = found.iter().any(|finding| finding.error || self.deny == Some(Denied::Warnings));
        Ok(if fails { Exit::No } else { Exit::Yes })
    }
}

/// The key that decisions are signed with: the one named, or the default key where there is one.
fn decider(config: &Config, named: Option<&str>) -> anyhow::Result<Option<SignerId>> {
    let keyring = config.keyring();
    match named {
        Some(name) => match name.parse() {
            Ok(signer) => Ok(Some(signer)),
            Err(_) => Ok(keyring.public(name)?),
        },
        None if keyring.has(DEFAULT_KEY) => Ok(keyring.public(DEFAULT_KEY)?),
        None => Ok(None),
    }
}

/// The approvals that the holder of the signing key can give.
fn of_decider(document: &Document, decider: Option<&SignerId>) -> Vec<Finding> {
    let Some(decider) = decider.filter(|_| Kind::of(&document.json) == Some(Kind::ActionPolicy)) else {
        return Vec::new();
    };
    // A policy that cannot be read has that finding.
    let Ok(policy) = ActionPolicy::read(&document.json) else { return Vec::new() };
    policy.approvals_of_decider(decider).iter().map(|warning| warned(document, warning)).collect()
}

/// A document to check.
struct Named {
    path: PathBuf,
    /// Whether its folder was named, and not the document.
    in_folder: bool,
}

/// What a document is.
#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Workflow,
    WorkflowPolicy,
    ActionPolicy,
    /// Cases of a workflow.
    WorkflowCases,
    /// Cases of an action policy.
    ActionCases,
}

impl Kind {
    /// The fields that only a document of this kind has. One of them is enough, so that a document with a misspelled field
    /// is still checked.
    const MARKS: [(Kind, &[&str]); 3] = [
        (Kind::ActionPolicy, &["boundaries", "unmatched"]),
        (Kind::Workflow, &["steps", "class", "onFailure"]),
        (Kind::WorkflowPolicy, &["classes", "requirements", "exemptions", "tools"]),
    ];

    fn of(json: &Json) -> Option<Kind> {
        let object = json.as_object()?;
        if let Some(cases) = object.get("cases") {
            // Each case of a workflow names its file and a step.
            let names_step = |case: &Json| case.as_object().is_some_and(|case| case.contains("step"));
            let of_workflow = cases.as_array().is_some_and(|cases| cases.iter().any(names_step));
            return Some(if of_workflow { Kind::WorkflowCases } else { Kind::ActionCases });
        }
        let marks = Kind::MARKS.iter().find(|(_, fields)| fields.iter().any(|field| object.contains(field)));
        marks.map(|(kind, _)| *kind)
    }
}

/// Whether a document of none of the kinds is a request of `verify`.
fn is_request(json: &Json) -> bool {
    Kind::of(json).is_none() && json.as_object().is_some_and(|object| object.contains("verification"))
}

/// Whether it is a document that lies beside policies and workflows: a request, a receipt or a trace.
fn is_of_another_kind(document: &Document) -> bool {
    let has = |name: &str| document.json.as_object().is_some_and(|object| object.contains(name));
    is_request(&document.json) || has("vrf_version") || has("receipt_type") || trace::read(&document.text).is_ok()
}

fn request_named(label: &str) -> anyhow::Error {
    with_help(
        format!("check `{label}`: this is a request"),
        "`lint` reads workflows and policies; check the request with `proofmark verify`",
    )
}

/// What a document is that was given as a table of cases; `None` for a table, and for what is not known.
pub(crate) fn other_than_cases(json: &Json) -> Option<&'static str> {
    match Kind::of(json)? {
        Kind::Workflow => Some("a workflow"),
        Kind::WorkflowPolicy => Some("a workflow policy"),
        Kind::ActionPolicy => Some("an action policy"),
        Kind::WorkflowCases | Kind::ActionCases => None,
    }
}

/// Reads a workflow that can run: one in which lint finds no error.
pub(crate) fn sound_workflow(path: &Path, policy: Option<&WorkflowPolicy>) -> anyhow::Result<Workflow> {
    let document = document::read_document(path, "workflow")?;
    let workflow =
        Workflow::read(&document.json).map_err(|error| document::failure("workflow", document.finding(&error)))?;
    let report = lint::lint(&workflow, policy, now().unix_millis());
    let mut errors = report.findings.iter().filter(|finding| finding.severity == Severity::Error);
    let Some(first) = errors.next() else { return Ok(workflow) };
    let found = placed(&document, first);
    let all = match errors.count() {
        0 => String::new(),
        1 => format!("; `proofmark lint` shows one more error of {}", document.label),
        more => format!("; `proofmark lint` shows {more} more errors of {}", document.label),
    };
    let help = Some(format!("{}{all}", first.help));
    Err(document::as_error("follow the workflow", Finding { help, ..found }))
}

/// The files named, and those in the folders named.
fn paths(named: &[PathBuf]) -> anyhow::Result<Vec<Named>> {
    let mut all = Vec::new();
    for path in named {
        if !path.is_dir() {
            all.push(Named { path: path.clone(), in_folder: false });
            continue;
        }
        let context = || format!("read the folder `{}`", path.display());
        let entries =
            fs::read_dir(path).with_context(context)?.collect::<io::Result<Vec<_>>>().with_context(context)?;
        let mut inside: Vec<PathBuf> =
            entries.into_iter().map(|entry| entry.path()).filter(|path| is_document(path)).collect();
        if inside.is_empty() {
            return Err(anyhow!(
                "find documents in the folder `{}`: it holds no .yaml, .yml or .json file",
                path.display()
            ));
        }
        // The system lists a folder in any order; findings are in the same order on every run.
        inside.sort();
        all.extend(inside.into_iter().map(|path| Named { path, in_folder: true }));
    }
    Ok(all)
}

fn is_document(path: &Path) -> bool {
    let extension = path.extension().map(|extension| extension.to_ascii_lowercase());
    let extension = extension.as_deref().and_then(OsStr::to_str);
    path.is_file() && matches!(extension, Some("yaml" | "yml" | "json"))
}

/// The findings of a document, whose kind its fields tell.
pub(crate) fn check(
    document: &Document,
    policy: Option<&WorkflowPolicy>,
    workflows: &[Workflow],
    now_ms: i64,
) -> Vec<Finding> {
    let json = &document.json;
    let report = match Kind::of(json) {
        Some(Kind::ActionPolicy) => return check_action_policy(document),
        Some(Kind::WorkflowCases) => cases::read(json).map(|_| Report::default()),
        Some(Kind::ActionCases) => Cases::read(json).map(|_| Report::default()),
        Some(Kind::Workflow) => Workflow::read(json).map(|workflow| lint::lint(&workflow, policy, now_ms)),
        Some(Kind::WorkflowPolicy) | None => WorkflowPolicy::read(json)
            .map(|policy| Report { findings: lint_policy(&policy, workflows, now_ms), ..Report::default() }),
    };
    match report {
        Ok(report) => report.findings.iter().map(|finding| placed(document, finding)).collect(),
        Err(error) => vec![document.finding(&error)],
    }
}

fn check_action_policy(document: &Document) -> Vec<Finding> {
    let policy = match ActionPolicy::read(&document.json) {
        Ok(policy) => policy,
        Err(error) => return vec![document.finding(&error)],
    };
    policy.warnings().iter().map(|warning| warned(document, warning)).collect()
}

fn warned(document: &Document, warning: &Warning) -> Finding {
    let message = format!("`{}`: {}", warning.at, warning.message);
    let found = Finding::at(&document.label, document.spot(&warning.at), warning.code, message);
    Finding { error: warning.is_error, help: Some(warning.help.to_owned()), ..found }
}

fn placed(document: &Document, finding: &lint::Finding) -> Finding {
    let place = match finding.document {
        DocumentKind::Workflow => document.spot(&finding.path),
        DocumentKind::Policy if Kind::of(&document.json) != Some(Kind::Workflow) => document.spot(&finding.path),
        // The document is a workflow, and the policy at fault is another file: a place here would be wrong.
        DocumentKind::Policy => None,
    };
    let message = format!("`{}`: {}", finding.path, finding.message);
    let found = Finding::at(&document.label, place, finding.code, message);
    Finding { error: finding.severity == Severity::Error, help: Some(finding.help.clone()), ..found }
}
