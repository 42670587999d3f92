//! Whether every `{{context.name}}` and `{{step.field}}` refers to something.

use proofmark_evidence::Path;
use proofmark_receipt::Json;
use proofmark_receipt::document::{nearest, shown};

use super::finding::Finding;
use super::graph;
use crate::workflow::Workflow;

pub(super) fn findings(workflow: &Workflow) -> Vec<Finding> {
    let mut texts = Vec::new();
    collect(&workflow.document, String::new(), &mut texts);
    let with_references = texts.iter().any(|(_, text)| text.contains("{{"));
    // Most workflows have no references, and the predecessors take a while to compute.
    let predecessors = if with_references { graph::predecessors(workflow) } else { Vec::new() };
    let mut findings = Vec::new();
    for (path, text) in texts {
        findings.extend(in_text(workflow, &predecessors, &path, text));
    }
    findings
}

/// Every text of a document, with its path.
fn collect<'d>(json: &'d Json, path: String, texts: &mut Vec<(String, &'d str)>) {
    match json {
        Json::String(text) => texts.push((path, text)),
        Json::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                collect(item, format!("{path}[{index}]"), texts);
            }
        }
        Json::Object(object) => {
            for (name, value) in object.iter() {
                let below = if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") };
                collect(value, below, texts);
            }
        }
        Json::Null | Json::Bool(_) | Json::Number(_) => {}
    }
}

fn in_text(workflow: &Workflow, predecessors: &[Vec<bool>], path: &str, text: &str) -> Vec<Finding> {
    let mut findings = Vec::new();
    let code = "unresolved-reference";
    let mut rest = text;
    while let Some((_, after)) = rest.split_once("{{") {
        let Some((reference, next)) = after.split_once("}}") else {
            let message = "a reference begins with `{{` and has no end".to_owned();
            findings.push(Finding::error("malformed-reference", path.to_owned(), message, "close it with `}}`"));
            break;
        };
        match resolve(workflow, predecessors, path, reference.trim()) {
            Ok(None) => {}
            Ok(Some((message, help))) => findings.push(Finding::warning(code, path.to_owned(), message, &help)),
            Err((message, help)) => findings.push(Finding::error(code, path.to_owned(), message, &help)),
        }
        rest = next;
    }
    findings
}

/// A message about a reference, and its help. It is an error where the reference refers to nothing, and a doubt
/// where the step has the field but its evidence does not name the part of it.
type Remark = (String, String);

fn resolve(
    workflow: &Workflow,
    predecessors: &[Vec<bool>],
    path: &str,
    reference: &str,
) -> Result<Option<Remark>, Remark> {
    let written = format!("`{{{{{}}}}}`", shown(reference));
    let Some((head, rest)) = reference.split_once('.') else {
        return Err((format!("{written} names no field"), "write `context.name` or `step.field`".to_owned()));
    };
    let field = rest.split(['.', '[']).next().unwrap_or(rest);
    if head == "context" {
        let declared = workflow.context.iter().any(|(name, _)| name == field);
        let help = format!("declare `{}` under `context`", shown(field));
        return if declared { Ok(None) } else { Err((format!("{written} is not declared in the context"), help)) };
    }
    let Some(position) = workflow.position(head) else {
        let ids: Vec<&str> = workflow.steps.iter().map(|step| step.id.as_str()).chain(["context"]).collect();
        let help = match nearest(head, &ids) {
            Some(id) => format!("did you mean `{}`?", shown(id)),
            None => "name a step of this workflow, or `context`".to_owned(),
        };
        return Err((format!("{written} names no step"), help));
    };
    if let Some(here) = step_of(path) {
        let before = predecessors.get(here).and_then(|before| before.get(position)) == Some(&true);
        // A step may refer to its own result.
        if !before && here != position {
            let message = format!("{written} names a step that does not come before this one");
            return Err((message, "name an earlier step".to_owned()));
        }
    }
    let Some(step) = workflow.steps.get(position) else {
        return Ok(None);
    };
    let evidence: Vec<&Path> =
        step.verification.iter().flat_map(|verification| &verification.evidence).map(|rule| &rule.path).collect();
    if step.outputs.iter().any(|name| name == field) {
        return Ok(None);
    }
    if !evidence.iter().any(|path| path.first_name() == Some(field)) {
        let help = format!("list `{}` under `outputs` of the step, or add an `evidence` rule for it", shown(field));
        return Err((format!("{written} is not a known output of the step"), help));
    }
    if Path::read(rest).is_none_or(|named| evidence.iter().any(|path| may_hold(path, &named))) {
        Ok(None)
    } else {
        let help = format!("add an `evidence` rule for `{}`, or list `{}` under `outputs`", shown(rest), shown(field));
        Ok(Some((format!("the evidence of step `{}` does not name {written}", shown(head)), help)))
    }
}

/// Whether a payload that meets a rule for `path` may have the place `named`: one of the two is inside the other. Where
/// `path` is JSONPath, its first name is all that is compared.
fn may_hold(path: &Path, named: &Path) -> bool {
    let is_query = path.text().starts_with('$') && path.first_name() == named.first_name();
    is_query || path.is_within(named) || named.is_within(path)
}

/// The position of the step that a path is in.
fn step_of(path: &str) -> Option<usize> {
    path.strip_prefix("steps[")?.split_once(']')?.0.parse().ok()
}
