//! Whether every `{{context.name}}` and `{{step.field}}` refers to something.

use proofmark_receipt::Json;
use proofmark_receipt::document::shown;

use super::finding::Finding;
use super::graph;
use crate::workflow::{Step, Workflow};

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
    let mut rest = text;
    while let Some((_, after)) = rest.split_once("{{") {
        let Some((reference, next)) = after.split_once("}}") else {
            let message = "a reference begins with `{{` and has no end".to_owned();
            findings.push(Finding::error("malformed-reference", path.to_owned(), message, "close it with `}}`"));
            break;
        };
        if let Err((message, help)) = resolve(workflow, predecessors, path, reference.trim()) {
            findings.push(Finding::error("unresolved-reference", path.to_owned(), message, &help));
        }
        rest = next;
    }
    findings
}

fn resolve(
    workflow: &Workflow,
    predecessors: &[Vec<bool>],
    path: &str,
    reference: &str,
) -> Result<(), (String, String)> {
    let written = format!("`{{{{{}}}}}`", shown(reference));
    let Some((head, rest)) = reference.split_once('.') else {
        return Err((format!("{written} names no field"), "write `context.name` or `step.field`".to_owned()));
    };
    let field = rest.split(['.', '[']).next().unwrap_or(rest);
    if head == "context" {
        let declared = workflow.context.iter().any(|(name, _)| name == field);
        let help = format!("declare `{}` under `context`", shown(field));
        return if declared { Ok(()) } else { Err((format!("{written} is not declared in the context"), help)) };
    }
    let Some(position) = workflow.position(head) else {
        return Err((format!("{written} names no step"), "name a step of this workflow, or `context`".to_owned()));
    };
    if let Some(here) = step_of(path) {
        let before = predecessors.get(here).and_then(|before| before.get(position)) == Some(&true);
        // A step may refer to its own result.
        if !before && here != position {
            let message = format!("{written} names a step that does not come before this one");
            return Err((message, "name an earlier step".to_owned()));
        }
    }
    match workflow.steps.get(position).is_some_and(|step| provides(step, field)) {
        true => Ok(()),
        false => {
            let help = format!("list `{}` under `outputs` of the step, or add an `evidence` rule for it", shown(field));
            Err((format!("{written} is not a known output of the step"), help))
        }
    }
}

/// Whether the payload of a step is known to have a field.
fn provides(step: &Step, field: &str) -> bool {
    let evidence = step.verification.iter().flat_map(|verification| &verification.evidence);
    step.outputs.iter().any(|name| name == field)
        || evidence.into_iter().any(|rule| rule.path.first_name() == Some(field))
}

/// The position of the step that a path is in.
fn step_of(path: &str) -> Option<usize> {
    path.strip_prefix("steps[")?.split_once(']')?.0.parse().ok()
}
