//! `proofmark lint`.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use anyhow::{Context, anyhow};
use clap::Args;
use proofmark_boundary::{ActionPolicy, Warning};
use proofmark_contract::lint::{self, DocumentKind, Report, Severity, lint_policy};
use proofmark_contract::{Workflow, WorkflowPolicy};
use proofmark_verifier::now;

use crate::document::{self, Document};
use crate::exit::Exit;
use crate::report::{Finding, Formatting, Group, Human, Reporter, Style};

/// Check workflows and policies for mistakes before they run
///
/// Checks the schema, the workflow policy, that every step leads to an end, references, predicates, dead and contradictory
/// rules, retries and exemptions.
#[derive(Args)]
#[command(after_help = "Examples:
  proofmark lint workflows/ --workflow-policy policy.yaml
  proofmark lint workflow.yaml --format sarif > lint.sarif

Exit codes: 0 no findings; 1 findings; 2 a file could not be read.")]
pub(crate) struct Lint {
    /// Workflows and policies: files, or folders of .yaml, .yml and .json files
    #[arg(required = true, value_name = "FILE|DIR")]
    documents: Vec<PathBuf>,
    /// The workflow policy, which the workflows must follow
    #[arg(long, alias = "policy", value_name = "FILE")]
    workflow_policy: Option<PathBuf>,
    #[command(flatten)]
    formatting: Formatting,
}

impl Lint {
    pub(crate) fn run(self) -> anyhow::Result<Exit> {
        let now_ms = now().unix_millis();
        let policy = self.workflow_policy.as_deref().map(document::workflow_policy).transpose()?;
        let (mut files, mut found, mut documents) = (Vec::new(), Vec::new(), Vec::new());
        let mut named = paths(&self.documents)?;
        // The workflow policy is linted, too: its exemptions may name steps that no workflow has.
        named.extend(self.workflow_policy.clone().filter(|path| !named.contains(path)));
        for path in named {
            files.push(path.display().to_string());
            match Document::read(&path)? {
                Ok(document) => documents.push(document),
                Err(finding) => found.push(finding),
            }
        }
        let workflows: Vec<Workflow> =
            // No error is lost: `check` reads each document again, as what it is, and reports its errors.
            documents.iter().filter_map(|document| Workflow::read(&document.json).ok()).collect();
        for document in &documents {
            found.extend(check(document, policy.as_ref(), &workflows, now_ms));
        }
        let mut reporter = Reporter::new(self.formatting.format(), "lint", Human::new(Style::Findings));
        for file in &files {
            let own: Vec<&Finding> = found.iter().filter(|finding| finding.file == *file).collect();
            reporter.group(Group::of_findings(file, &own))?;
        }
        reporter.finish()?;
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
            return Err(anyhow!(
                "find documents in the folder `{}`: it holds no .yaml, .yml or .json file",
                path.display()
            ));
        }
        // The system lists a folder in any order; findings are in the same order on every run.
        inside.sort();
        all.extend(inside);
    }
    Ok(all)
}

fn is_document(path: &Path) -> bool {
    let extension = path.extension().and_then(|extension| extension.to_str());
    path.is_file() && matches!(extension, Some("yaml" | "yml" | "json"))
}

/// The findings of a document, whose kind its fields tell.
pub(crate) fn check(
    document: &Document,
    policy: Option<&WorkflowPolicy>,
    workflows: &[Workflow],
    now_ms: i64,
) -> Vec<Finding> {
    if document.json.as_object().is_some_and(|object| object.contains("boundaries")) {
        return check_action_policy(document);
    }
    let has = |name: &str| document.json.as_object().is_some_and(|object| object.contains(name));
    let report = if has("steps") {
        Workflow::read(&document.json).map(|workflow| lint::lint(&workflow, policy, now_ms))
    } else {
        let findings = |policy| Report { findings: lint_policy(&policy, workflows, now_ms), ..Report::default() };
        WorkflowPolicy::read(&document.json).map(findings)
    };
    match report {
        Ok(report) => report.findings.iter().map(|finding| placed(document, finding)).collect(),
        Err(error) => vec![document.finding(&error)],
    }
}

fn check_action_policy(document: &Document) -> Vec<Finding> {
    let policy = match ActionPolicy::read(&document.json) {
        Ok(policy) => policy,
        Err(error) => return vec![document.policy_finding(&error)],
    };
    let warnings = policy.warnings();
    let finding = |warning: &Warning| {
        let message = format!("`{}`: {}", warning.at, warning.message);
        let found = Finding::at(&document.label, &document.text, document.locate(&warning.at), warning.code, message);
        Finding { error: false, help: Some(warning.help.to_owned()), ..found }
    };
    warnings.iter().map(finding).collect()
}

fn placed(document: &Document, finding: &lint::Finding) -> Finding {
    let place = match finding.document {
        DocumentKind::Workflow => document.locate(&finding.path),
        DocumentKind::Policy if !document.json.as_object().is_some_and(|object| object.contains("steps")) => {
            document.locate(&finding.path)
        }
        // The document is a workflow, and the policy at fault is another file: a place here would be wrong.
        DocumentKind::Policy => None,
    };
    let message = format!("`{}`: {}", finding.path, finding.message);
    let found = Finding::at(&document.label, &document.text, place, finding.code, message);
    Finding { error: finding.severity == Severity::Error, help: Some(finding.help.clone()), ..found }
}
