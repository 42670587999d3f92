//! Where the values of an action come from, in a request that tells what its calls brought.

use std::borrow::Cow;

use proofmark_receipt::{Json, Object};
use proofmark_session::{CallStatus, SessionFacts};

use crate::policy::{ActionPolicy, ReadCall};
use crate::request::Request;

/// The request with the fact `origins`, where the policy asks for it and the request has no such fact: made of its task and of the
/// results of its calls, as guards make it of a session. A request without `calls` says nothing of what was read.
pub(crate) fn with_origins<'r>(policy: &ActionPolicy, request: &'r Request) -> Cow<'r, Request> {
    let calls = request.calls().filter(|_| policy.asks_for_origins() && !request.facts().contains("origins"));
    let with = calls.and_then(|calls| {
        let mut facts = request.facts().clone();
        facts.insert("origins", origins(policy, request, calls));
        // It shares the calls, which are most of it.
        request.followed_by(facts).ok()
    });
    with.map_or(Cow::Borrowed(request), Cow::Owned)
}

fn origins(policy: &ActionPolicy, request: &Request, calls: &[Json]) -> Object {
    let mut session = SessionFacts::default();
    for said in ["first", "latest"] {
        if let Some(text) = request.text("task", said) {
            session.asked(text, "");
        }
    }
    for call in calls.iter().filter_map(Json::as_object) {
        let text = |name: &str| call.get(name).and_then(Json::as_str);
        let (tool, at) = (text("tool").unwrap_or_default(), text("at").unwrap_or_default());
        let status = text("status").and_then(CallStatus::from_word);
        if status == Some(CallStatus::Blocked) {
            continue;
        }
        let index = session.called(call, None, CallStatus::Pending, at);
        let (Some(result), Some(CallStatus::Succeeded | CallStatus::Failed)) = (call.get("result"), status) else {
            continue;
        };
        let args = session.arguments(index).cloned();
        let read = ReadCall { tool, server: text("server"), args: args.as_ref() };
        let (values, failed) = (std::slice::from_ref(result), status == Some(CallStatus::Failed));
        let task = session.task().map(str::to_owned);
        let seen = policy.labelled(&read, values, task.as_deref(), session.origins(), failed);
        session.brought(Some(index), tool, at, Some(seen.to_object()), true);
    }
    let action = request.facts().get("action").and_then(Json::as_object);
    action.map(|action| session.origins_of(action, policy.asks_for_pieces())).unwrap_or_default()
}
