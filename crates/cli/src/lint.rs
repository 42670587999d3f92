//! `proofmark lint`.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use clap::Args;
use proofmark_boundary::{Policy as Boundaries, Warning};
use proofmark_contract::lint::{self, Document as Linted, Report, Severity, lint_policy};
use proofmark_contract::{Policy, Workflow};
use proofmark_receipt::document::locate;
use proofmark_verifier::now;

use crate::document::{self, Document};
use crate::exit::Exit;
use crate::findings::{self, Finding, Form};
use crate::out;

/// Find what is wrong with workflows and policies before they run
///
/// Checks the schema, the policy, that every step leads to an end, references, predicates, dead and contradictory rules,
/// retries and exemptions.
#[derive(Args)]
#[command(after_help = "Examples:
  proofmark lint workflows/ --policy policy.yaml
  proofmark lint workflow.yaml --format sarif > lint.sarif

Exit codes: 0 nothing found; 1 findings; 2 something could not be read.")]
pub(crate) struct Lint {
    /// Workflows and policies: files, or folders of .yaml, .yml and .json files
    #[arg(required = true, value_name = "FILE|DIR")]
    documents: Vec<PathBuf>,
    /// The policy the workflows must keep
    #[arg(long, value_name = "FILE")]
    policy: Option<PathBuf>,
    /// How findings are written
    #[arg(long, value_enum, default_value_t = Form::Human)]
    format: Form,
}

impl Lint {
    pub(crate) fn run(self) -> anyhow::Result<Exit> {
        let now_ms = now().unix_millis();
        let policy = self.policy.as_deref().map(document::policy).transpose()?;
        let (mut files, mut found, mut documents) = (Vec::new(), Vec::new(), Vec::new());
        let mut named = paths(&self.documents)?;
        named.extend(self.policy.clone().filter(|path| !named.contains(path)));
        for path in named {
            files.push(path.display().to_string());
            match Document::read(&path)? {
                Ok(document) => documents.push(document),
                Err(finding) => found.push(finding),
            }
        }
        let workflows: Vec<Workflow> =
            documents.iter().filter_map(|document| Workflow::read(&document.json).ok()).collect();
        for document in &documents {
            found.extend(check(document, policy.as_ref(), &workflows, now_ms));
        }
        findings::write(&mut out::stdout(), self.format, &files, &found)?;
        Ok(if found.is_empty() { Exit::Yes } else { Exit::No })
    }
}

/// The files named, and those in the folders named.
fn paths(named: &[PathBuf]) -> anyhow::Result<Vec<PathBuf>> {
    let mut all = Vec::new();
    for path in named {
        if !path.is_dir() {
            all.push(path.clone());
            continue;
        }
        let context = || format!("read the folder `{}`", path.display());
        let entries =
            fs::read_dir(path).with_context(context)?.collect::<io::Result<Vec<_>>>().with_context(context)?;
        let mut inside: Vec<PathBuf> =
            entries.into_iter().map(|entry| entry.path()).filter(|path| is_document(path)).collect();
        if inside.is_empty() {
            bail!("find documents in the folder `{}`: it holds no .yaml, .yml or .json file", path.display());
        }
        inside.sort();
        all.extend(inside);
    }
    Ok(all)
}

fn is_document(path: &Path) -> bool {
    let extension = path.extension().and_then(|extension| extension.to_str());
    path.is_file() && matches!(extension, Some("yaml" | "yml" | "json"))
}

/// What is wrong with a document, whose fields say what it is.
fn check(document: &Document, policy: Option<&Policy>, workflows: &[Workflow], now_ms: i64) -> Vec<Finding> {
    if document.json.as_object().is_some_and(|object| object.contains("boundaries")) {
        return check_boundaries(document);
    }
    let has = |name: &str| document.json.as_object().is_some_and(|object| object.contains(name));
    let report = if has("steps") {
        Workflow::read(&document.json).map(|workflow| lint::lint(&workflow, policy, now_ms))
    } else {
        let findings = |policy| Report { findings: lint_policy(&policy, workflows, now_ms), ..Report::default() };
        Policy::read(&document.json).map(findings)
    };
    match report {
        Ok(report) => report.findings.iter().map(|finding| placed(document, finding)).collect(),
        Err(error) => vec![document.finding(&error)],
    }
}

fn check_boundaries(document: &Document) -> Vec<Finding> {
    let policy = match Boundaries::read(&document.json) {
        Ok(policy) => policy,
        Err(error) => return vec![document.boundary_finding(&error)],
    };
    let warnings = policy.warnings();
    let finding = |warning: &Warning| {
        let message = format!("`{}`: {}", warning.at, warning.message);
        let place = locate(&document.text, &warning.at);
        Finding { error: false, ..Finding::at(&document.label, &document.text, place, warning.code, message) }
    };
    warnings.iter().map(finding).collect()
}

fn placed(document: &Document, finding: &lint::Finding) -> Finding {
    let place = match finding.document {
        Linted::Workflow => locate(&document.text, &finding.path),
        Linted::Policy if !document.json.as_object().is_some_and(|object| object.contains("steps")) => {
            locate(&document.text, &finding.path)
        }
        Linted::Policy => None,
    };
    let message = format!("`{}`: {}; {}", finding.path, finding.message, finding.mend);
    let found = Finding::at(&document.label, &document.text, place, finding.code, message);
    Finding { error: finding.severity == Severity::Error, ..found }
}
