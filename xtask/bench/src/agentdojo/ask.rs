//! One call to one decision.

use std::fs;
use std::path::Path;

use anyhow::Context;
use proofmark_boundary::{ActionPolicy, History, Moment, Outcome, Request, decide};
use proofmark_evidence::Evidence;
use proofmark_receipt::document::{Format, parse};
use proofmark_receipt::{Json, Object, Timestamp};

use super::recorded::Call;

/// What a runtime would say of each tool: its class.
const CLASSES: [(&str, &str); 22] = [
    ("get_iban", "read"),
    ("get_balance", "read"),
    ("get_most_recent_transactions", "read"),
    ("get_scheduled_transactions", "read"),
    ("get_user_info", "read"),
    ("read_file", "read"),
    ("send_money", "payment"),
    ("schedule_transaction", "payment"),
    ("update_scheduled_transaction", "payment"),
    ("update_password", "record_mutation"),
    ("update_user_info", "record_mutation"),
    ("get_channels", "read"),
    ("get_users_in_channel", "read"),
    ("read_channel_messages", "read"),
    ("read_inbox", "read"),
    ("get_webpage", "web_read"),
    ("post_webpage", "webhook_call"),
    ("send_direct_message", "external_message_send"),
    ("send_channel_message", "external_message_send"),
    ("add_user_to_channel", "membership"),
    ("invite_user_to_slack", "membership"),
    ("remove_user_from_slack", "membership"),
];
/// Classes of calls that change and send nothing within the suite.
const LOOKING: [&str; 1] = ["read"];

/// A policy, and the moment everything is asked.
pub(super) struct Asker {
    policy: ActionPolicy,
    moment: Moment,
}

/// What a call was answered.
pub(super) struct Answer {
    pub(super) allowed: bool,
    outcome: Outcome,
    reasons: Vec<String>,
}

impl Answer {
    /// The outcome and the codes of its reasons.
    pub(super) fn why(&self) -> String {
        format!("{} ({})", self.outcome.as_str(), self.reasons.join(", "))
    }
}

impl Asker {
    pub(super) fn read(path: &Path) -> anyhow::Result<Self> {
        let bytes = fs::read(path).with_context(|| format!("failed to read `{}`", path.display()))?;
        let policy =
            parse(&bytes, Format::Yaml).map_err(anyhow::Error::from).and_then(|json| Ok(ActionPolicy::read(&json)?));
        let policy = policy.with_context(|| format!("failed to read the policy `{}`", path.display()))?;
        let now: Timestamp = "2026-01-01T12:00:00Z".parse()?;
        Ok(Self { policy, moment: Moment { now, history: History::default() } })
    }

    /// Decides `call` after the calls `before`, whose results end in `planted`.
    pub(super) fn ask(
        &self,
        goal: &str,
        before: &[Call],
        planted: Option<&str>,
        call: &Call,
    ) -> anyhow::Result<Answer> {
        let action =
            object([("tool", call.tool.as_str().into()), ("class", class(call)?.into()), ("args", call.args.clone())]);
        let facts: Vec<Json> = before.iter().map(|call| result(call, planted)).collect();
        let calls = before.iter().map(made).collect::<anyhow::Result<Vec<Json>>>()?;
        let request = Request::read(&object([
            ("action", action),
            ("task", object([("first", goal.into())])),
            ("facts", facts.into()),
            ("calls", calls.into()),
        ]))?;
        let decision = decide(&self.policy, &request, &Evidence::default(), &self.moment);
        Ok(Answer {
            allowed: decision.allows(),
            outcome: decision.outcome(),
            reasons: decision.reasons().map(|reason| reason.code.to_string()).collect(),
        })
    }
}

/// Whether a call only looks.
pub(super) fn looks(call: &Call) -> anyhow::Result<bool> {
    Ok(LOOKING.contains(&class(call)?))
}

fn class(call: &Call) -> anyhow::Result<&'static str> {
    let known = CLASSES.iter().find(|(tool, _)| *tool == call.tool);
    known.map(|(_, class)| *class).with_context(|| format!("the tool `{}` has no class", call.tool))
}

fn result(call: &Call, planted: Option<&str>) -> Json {
    let text = match planted {
        Some(planted) => format!("{}\n{planted}", call.result),
        None => call.result.clone(),
    };
    let payload = object([("tool", call.tool.as_str().into()), ("args", call.args.clone()), ("text", text.into())]);
    object([("type", "tool_result".into()), ("payload", payload)])
}

fn made(call: &Call) -> anyhow::Result<Json> {
    let status = if call.failed { "failed" } else { "succeeded" };
    Ok(object([
        ("tool", call.tool.as_str().into()),
        ("args", call.args.clone()),
        ("status", status.into()),
        ("class", class(call)?.into()),
    ]))
}

fn object<const N: usize>(members: [(&str, Json); N]) -> Json {
    let mut object = Object::new();
    for (name, value) in members {
        object.insert(name, value);
    }
    object.into()
}
