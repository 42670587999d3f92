//! Spans of calls and messages, and events of verdicts, under the names of the OpenTelemetry semantic conventions for generative AI and
//! MCP. They are lines of the log for the layer that exports them; the log itself leaves them out.
//!
//! A line with `span.name` is a span: `span.trace`, `span.id` and `span.parent` say where, `span.began_us` when it began. With
//! `span.joins` it belongs to the request in which it is logged, if there is one. A line with `event.name` is an event. None of them
//! has anything that an agent passes to a tool or gets from one.

use std::time::{SystemTime, UNIX_EPOCH};

use proofmark_boundary::{DecisionReceipt, Request};
use proofmark_receipt::{Receipt, Verdict};
use proofmark_store::Tenant;
use tracing::{Level, enabled, event};

use crate::trace::Trace;

/// The target of these lines.
pub const TELEMETRY: &str = "proofmark_telemetry";

/// The longest name or id that is exported, in bytes. Agents and servers choose many of them.
const MAX_TOLD: usize = 256;
/// `error.type` of what a policy does not allow.
pub(crate) const BLOCKED: &str = "blocked";
/// The length in bytes from which a part of a path with letters and digits is taken for random.
const RANDOM_BYTES: usize = 16;
/// `gen_ai.operation.name` of a call.
const EXECUTE_TOOL: &str = "execute_tool";
/// The name of what a verdict is the result of.
const VERIFICATION: &str = "proofmark.verification";

/// Whether they are exported. Making them costs time.
pub(crate) fn is_told() -> bool {
    enabled!(target: TELEMETRY, Level::INFO)
}

/// What a span says of a decision.
#[derive(Clone, Debug)]
pub(crate) struct Ruled {
    decision: String,
    outcome: &'static str,
    disposition: &'static str,
    separation: &'static str,
    pub(crate) allowed: bool,
}

impl Ruled {
    pub(crate) fn by(receipt: &DecisionReceipt) -> Self {
        let disposition = receipt.disposition();
        Self {
            decision: receipt.decision_id().to_string(),
            outcome: disposition.outcome().as_str(),
            disposition: disposition.mode(),
            separation: receipt.asker().separation.as_str(),
            allowed: disposition.allows(),
        }
    }
}

/// The place of a span in a trace.
#[derive(Clone, Copy)]
pub(crate) enum Place<'a> {
    At(&'a Trace),
    /// Within the request that is being answered, or in a new trace if there is none.
    InRequest,
}

/// A call of a tool.
pub(crate) struct ToldCall<'a> {
    pub(crate) tool: Option<&'a str>,
    /// Whether the client executes it, which a guard and a hook know.
    pub(crate) is_function: bool,
    /// The host's name of the call.
    pub(crate) id: Option<&'a str>,
    pub(crate) session: Option<&'a str>,
    pub(crate) agent: Option<&'a str>,
    pub(crate) agent_name: Option<&'a str>,
    pub(crate) tenant: &'a str,
    pub(crate) caller: Option<&'a str>,
    pub(crate) ruled: Option<&'a Ruled>,
    /// Whether it was passed on although it was not allowed.
    pub(crate) shadowed: bool,
    pub(crate) error: Option<&'a str>,
    pub(crate) began: SystemTime,
}

impl ToldCall<'_> {
    /// Logs its span, which ends now.
    pub(crate) fn tell(&self, place: Place<'_>) {
        let own = match place {
            Place::At(trace) => Some(trace.clone()),
            Place::InRequest => Trace::after(None),
        };
        let Some(trace) = own else { return };
        let tool = self.tool.map(cut);
        let ruled = self.ruled;
        event!(target: TELEMETRY, Level::INFO, {
            "span.name" = named(EXECUTE_TOOL, tool),
            "span.kind" = "internal",
            "span.trace" = trace.trace_id(),
            "span.id" = trace.span_id(),
            "span.parent" = trace.parent(),
            "span.joins" = matches!(place, Place::InRequest),
            "span.began_us" = micros(self.began),
            "span.failed" = self.error.is_some(),
            "gen_ai.operation.name" = EXECUTE_TOOL,
            "gen_ai.tool.name" = tool,
            "gen_ai.tool.type" = self.is_function.then_some("function"),
            "gen_ai.tool.call.id" = self.id.map(cut),
            "gen_ai.conversation.id" = self.session.map(cut),
            "gen_ai.agent.id" = self.agent.map(cut),
            "gen_ai.agent.name" = self.agent_name.map(cut),
            "error.type" = self.error,
            "proofmark.decision.id" = ruled.map(|ruled| ruled.decision.as_str()),
            "proofmark.decision.outcome" = ruled.map(|ruled| ruled.outcome),
            "proofmark.decision.disposition" = ruled.map(|ruled| ruled.disposition),
            "proofmark.separation" = ruled.map(|ruled| ruled.separation),
            "proofmark.shadow" = self.shadowed.then_some(true),
            "proofmark.tenant" = self.tenant,
            "proofmark.caller" = self.caller,
        });
    }
}

/// A decision that was asked for over HTTP or MCP.
pub struct ToldDecision<'a> {
    pub request: &'a Request,
    pub receipt: &'a DecisionReceipt,
    pub tenant: &'a Tenant,
    /// Who has asked.
    pub caller: &'a str,
    /// When it was begun.
    pub began: SystemTime,
}

impl ToldDecision<'_> {
    /// Logs its span, which ends now. It belongs to the request in which it is logged. Whether the action is executed is not known here,
    /// so a decision that does not allow it is not an error.
    pub fn tell(&self) {
        if !is_told() {
            return;
        }
        let facts = self.request.facts();
        let member = |object: &str, name: &str| facts.get(object)?.as_object()?.get(name)?.as_str();
        let told = ToldCall {
            tool: member("action", "tool"),
            is_function: false,
            id: None,
            session: member("agent", "run"),
            agent: member("agent", "id"),
            agent_name: None,
            tenant: self.tenant.as_str(),
            caller: Some(self.caller),
            ruled: Some(&Ruled::by(self.receipt)),
            shadowed: false,
            error: None,
            began: self.began,
        };
        told.tell(Place::InRequest);
    }
}

/// A request of the Model Context Protocol.
pub(crate) struct ToldRequest<'a> {
    pub(crate) method: &'a str,
    pub(crate) id: &'a str,
    pub(crate) tool: Option<&'a str>,
    pub(crate) prompt: Option<&'a str>,
    pub(crate) resource: Option<&'a str>,
    pub(crate) protocol: Option<&'a str>,
    /// The session, where the request belongs to one.
    pub(crate) session: Option<&'a str>,
    pub(crate) tenant: &'a str,
    pub(crate) caller: Option<&'a str>,
    pub(crate) ruled: Option<&'a Ruled>,
    pub(crate) error: Option<&'a str>,
    pub(crate) began: SystemTime,
}

impl ToldRequest<'_> {
    /// Logs its span, which ends now.
    pub(crate) fn tell(&self, trace: &Trace) {
        let (method, ruled) = (cut(self.method), self.ruled);
        let target = self.tool.or(self.prompt).map(cut);
        // Error codes are numbers; other errors are words.
        let code = self.error.filter(|error| error.parse::<i64>().is_ok());
        event!(target: TELEMETRY, Level::INFO, {
            "span.name" = named(method, target),
            "span.kind" = "server",
            "span.trace" = trace.trace_id(),
            "span.id" = trace.span_id(),
            "span.parent" = trace.parent(),
            "span.joins" = false,
            "span.began_us" = micros(self.began),
            "span.failed" = self.error.is_some_and(is_fault),
            "mcp.method.name" = method,
            "mcp.session.id" = self.session.map(cut),
            "mcp.protocol.version" = self.protocol.map(cut),
            "mcp.resource.uri" = self.resource.and_then(public_uri),
            "jsonrpc.request.id" = cut(self.id),
            "rpc.response.status_code" = code,
            "gen_ai.operation.name" = self.tool.map(|_| EXECUTE_TOOL),
            "gen_ai.tool.name" = self.tool.map(cut),
            "gen_ai.prompt.name" = self.prompt.map(cut),
            "error.type" = self.error,
            "proofmark.decision.id" = ruled.map(|ruled| ruled.decision.as_str()),
            "proofmark.decision.outcome" = ruled.map(|ruled| ruled.outcome),
            "proofmark.decision.disposition" = ruled.map(|ruled| ruled.disposition),
            "proofmark.separation" = ruled.map(|ruled| ruled.separation),
            "proofmark.tenant" = self.tenant,
            "proofmark.caller" = self.caller,
        });
    }
}

/// Logs the event of a verdict. It belongs to the request in which it is logged.
pub fn tell_verdict(receipt: &Receipt) {
    if !is_told() {
        return;
    }
    let (results, verdict) = (receipt.results(), receipt.verdict());
    let has_score = verdict != Verdict::Error && results.total > 0;
    #[expect(clippy::cast_precision_loss, reason = "a share needs no more digits than a float has")]
    let score = has_score.then(|| results.passed as f64 / results.total as f64);
    event!(target: TELEMETRY, Level::INFO, {
        "event.name" = "gen_ai.evaluation.result",
        "gen_ai.evaluation.name" = VERIFICATION,
        "gen_ai.evaluation.score.value" = score,
        "gen_ai.evaluation.score.label" = has_score.then(|| verdict.as_str()),
        "gen_ai.evaluation.explanation" = explanation(receipt),
        "error.type" = (verdict == Verdict::Error).then_some("verification_error"),
        "proofmark.receipt.id" = receipt.receipt_id().to_string(),
        "proofmark.tier" = receipt.tier(),
    }, "a verification has ended");
}

/// How many checks passed. The names and messages of checks are the submitter's.
fn explanation(receipt: &Receipt) -> String {
    let results = receipt.results();
    let share = format!("{} of {} checks passed", results.passed, results.total);
    match (receipt.verdict(), results.errors) {
        (Verdict::Error, _) => "the verification has no result".to_owned(),
        (_, 0) => share,
        (_, errors) => format!("{share}, {errors} could not be judged"),
    }
}

fn named(operation: &str, target: Option<&str>) -> String {
    target.map_or_else(|| operation.to_owned(), |target| format!("{operation} {target}"))
}

/// Whether an error is one of the side that answers, and not of the sender (semantic conventions for MCP, server spans).
fn is_fault(error: &str) -> bool {
    match error.parse::<i64>() {
        Ok(code) => code == -32_603 || (-32_099..=-32_000).contains(&code),
        Err(_) => true,
    }
}

/// The URI of a resource, where nothing in it is likely to be secret. Credentials are before the host, in queries, in fragments and in
/// parameters; a URI without a host may be the content itself; and the path of a web address may be a capability, so only its host is exported.
fn public_uri(uri: &str) -> Option<&str> {
    let (scheme, rest) = uri.split_once("://")?;
    let is_plain = uri.len() <= MAX_TOLD && uri.bytes().all(|byte| byte.is_ascii_graphic());
    let is_scheme =
        !scheme.is_empty() && scheme.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte));
    let told = match scheme {
        "http" | "https" => {
            let host = rest.find(['/', '?', '#', ';']).unwrap_or(rest.len());
            uri.get(..scheme.len() + "://".len() + host)?
        }
        _ => uri,
    };
    let rest = told.get(scheme.len() + "://".len()..)?;
    let has_secret = rest.contains(['@', '?', '#', '%', ';'])
        || rest.split(['/', '.']).any(is_random)
        || proofmark_boundary::taint::labels(uri).iter().any(|(label, _)| *label == "credential");
    (is_plain && is_scheme && !has_secret).then_some(told)
}

/// Whether a part of a path may be drawn at random.
fn is_random(part: &str) -> bool {
    let has = |is: fn(&u8) -> bool| part.bytes().any(|byte| is(&byte));
    part.len() >= RANDOM_BYTES && has(u8::is_ascii_digit) && has(u8::is_ascii_alphabetic)
}

/// The beginning of a text, at most [`MAX_TOLD`] bytes.
fn cut(text: &str) -> &str {
    text.get(..text.floor_char_boundary(MAX_TOLD)).unwrap_or_default()
}

/// Microseconds after 1970-01-01T00:00:00Z.
fn micros(time: SystemTime) -> u64 {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_micros()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_uri_of_a_resource_is_told_where_it_has_no_place_for_secrets() {
        for uri in ["file:///home/user/report.pdf", "postgres://database/customers/schema", "note+x://a"] {
            assert_eq!(public_uri(uri), Some(uri));
        }
        for uri in [
            "https://host/x?token=1",
            "https://host/x#token",
            "https://host/reset/a1",
            "https://host;p",
            "https://host",
        ] {
            assert_eq!(public_uri(uri), Some("https://host"));
        }
        let long = format!("file:///{}", "x".repeat(MAX_TOLD));
        let token = format!("repo://ghp_{}", "a1B2".repeat(9));
        for uri in [
            "https://user:password@host/x",
            "data:text/plain,secret",
            "memo:secret",
            "://x",
            "file:///a b",
            "otpauth://totp/JBSWY3DPEHPK3PXP",
            "repo://host/p;id=1",
            "",
            &long,
            &token,
        ] {
            assert_eq!(public_uri(uri), None, "{uri}");
        }
    }

    #[test]
    fn only_errors_of_the_server_are_faults() {
        for (error, is) in
            [("-32603", true), ("-32000", true), ("-32602", false), ("-32601", false), ("tool_error", true)]
        {
            assert_eq!(is_fault(error), is, "{error}");
        }
    }

    #[test]
    fn names_are_cut_between_letters() {
        assert_eq!(cut("read"), "read");
        let long = "é".repeat(200);
        assert_eq!(cut(&long).len(), MAX_TOLD);
        assert_eq!(cut(&format!("x{long}")).len(), MAX_TOLD - 1);
    }
}
