//! Where the result goes next, derived from the disposition and the upstream context.

use proofmark_receipt::{Json, Object, object};

use crate::disposition::Disposition;
use crate::request::Request;

/// The depth to which the upstream context is searched.
const MAX_DEPTH: usize = 6;
const RETURN_TO: [&str; 5] = ["return_to_node", "return_node", "resume_target", "parent_node_id", "parent_node"];
const TARGET: [&str; 3] = ["target_hint", "target_node", "upstream_node"];
const WORKFLOW: [&str; 5] = ["workflow_id", "request_id", "case_id", "ticket_id", "thread_id"];

/// What the upstream context says about routing: the first of each, but the last `source`.
#[derive(Default)]
struct Hints {
    return_to_node: Option<String>,
    target_hint: Option<String>,
    workflow_id: Option<String>,
    source: Option<String>,
}

/// `routing`.
pub(super) fn routing(disposition: Disposition, request: &Request) -> Object {
    let mut hints = Hints::default();
    if let Some(upstream) = request.upstream() {
        search(upstream, 0, &mut hints);
    }
    let target = hints.target_hint.or_else(|| hints.return_to_node.clone()).or(hints.source);
    let node = request.text("agent", "step").map(str::to_owned);
    object! {
        "direction": disposition.direction(),
        "target_hint": optional(target),
        "return_to_node": optional(hints.return_to_node),
        "workflow_id": optional(hints.workflow_id),
        "node_id": optional(node),
    }
}

fn optional(text: Option<String>) -> Json {
    text.map_or(Json::Null, Json::from)
}

fn search(value: &Json, depth: usize, hints: &mut Hints) {
    if depth > MAX_DEPTH {
        return;
    }
    match value {
        Json::Array(items) => items.iter().for_each(|item| search(item, depth + 1, hints)),
        Json::Object(object) => {
            for (name, member) in object.iter() {
                note(&name.trim().to_lowercase(), member, hints);
                search(member, depth + 1, hints);
            }
        }
        Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_) => {}
    }
}

fn note(name: &str, member: &Json, hints: &mut Hints) {
    let Some(text) = scalar(member) else { return };
    if RETURN_TO.contains(&name) {
        hints.return_to_node.get_or_insert(text);
    } else if TARGET.contains(&name) {
        hints.target_hint.get_or_insert(text);
    } else if WORKFLOW.contains(&name) {
        hints.workflow_id.get_or_insert(text);
    } else if name == "source" {
        hints.source = Some(text);
    }
}

fn scalar(member: &Json) -> Option<String> {
    match member {
        Json::String(text) => Some(text.trim().to_owned()).filter(|text| !text.is_empty()),
        Json::Number(number) => Some(number.as_str().to_owned()),
        Json::Bool(true) => Some("True".to_owned()),
        Json::Bool(false) => Some("False".to_owned()),
        Json::Null | Json::Array(_) | Json::Object(_) => None,
    }
}
