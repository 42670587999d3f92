//! Records in the JSON encoding of OTLP: ids in hex, numbers of 64 bits as text, words of enumerations as numbers.

use std::time::{Duration, SystemTime};

use serde_json::{Map, Value, json};
use tracing::Level;

use super::Kind;
use super::trace::Trace;

/// The target of what is logged about the export itself, which is not exported.
pub(crate) const TARGET: &str = "proofmark::otlp";

/// The longest text of an attribute, in bytes.
const MAX_TEXT: usize = 4_096;
/// `SPAN_KIND_SERVER`.
const SERVER: u8 = 2;
/// `STATUS_CODE_ERROR`.
const ERROR: u8 = 2;

/// A request that was answered.
pub(crate) struct RequestSpan<'a> {
    pub(crate) trace: &'a Trace,
    pub(crate) began: SystemTime,
    pub(crate) took: Duration,
    pub(crate) id: &'a str,
    pub(crate) method: &'a str,
    pub(crate) route: &'a str,
    pub(crate) status: u16,
    pub(crate) tenant: Option<&'a str>,
    pub(crate) caller: Option<&'a str>,
    /// The code of its problem.
    pub(crate) code: Option<&'a str>,
}

impl RequestSpan<'_> {
    pub(super) fn to_json(&self) -> Value {
        let Self { trace, began, took, id, method, route, status, tenant, caller, code } = self;
        let mut attributes = vec![
            attribute("http.request.method", text(method)),
            attribute("http.route", text(route)),
            attribute("http.response.status_code", whole(*status)),
            attribute("request.id", text(id)),
        ];
        let named = [("proofmark.tenant", tenant), ("proofmark.caller", caller), ("error.type", code)];
        attributes.extend(named.iter().filter_map(|(name, value)| Some(attribute(name, text(value.as_ref()?)))));
        let mut span = json!({
            "traceId": trace.trace_id(),
            "spanId": trace.span_id(),
            "name": format!("{method} {route}"),
            "kind": SERVER,
            "startTimeUnixNano": nanos(*began),
            "endTimeUnixNano": nanos(*began + *took),
            "attributes": attributes,
            // What the caller did wrong is not an error of the server (semantic conventions, HTTP spans).
            "status": if *status >= 500 { json!({ "code": ERROR }) } else { json!({}) },
        });
        if let (Some(parent), Some(span)) = (trace.parent(), span.as_object_mut()) {
            span.insert("parentSpanId".to_owned(), parent.into());
        }
        span
    }
}

/// A line of the log.
pub(super) fn log(level: Level, body: &str, attributes: Vec<Value>, trace: Option<(&str, &str)>) -> Value {
    let now = nanos(SystemTime::now());
    let mut record = json!({
        "timeUnixNano": now,
        "observedTimeUnixNano": now,
        "severityNumber": severity(level),
        "severityText": level.as_str(),
        "body": text(body),
        "attributes": attributes,
    });
    if let (Some((trace_id, span_id)), Some(record)) = (trace, record.as_object_mut()) {
        record.insert("traceId".to_owned(), trace_id.into());
        record.insert("spanId".to_owned(), span_id.into());
    }
    record
}

/// The message that has these records, and the path of a collector that takes it.
pub(super) fn message(kind: Kind, records: &[Value]) -> (&'static str, Value) {
    let resource = json!({ "attributes": [
        attribute("service.name", text("proofmark")),
        attribute("service.version", text(env!("CARGO_PKG_VERSION"))),
    ]});
    let (path, outer, inner, name) = match kind {
        Kind::Log => ("/v1/logs", "resourceLogs", "scopeLogs", "logRecords"),
        Kind::Span => ("/v1/traces", "resourceSpans", "scopeSpans", "spans"),
    };
    let scope = object([("scope", json!({ "name": "proofmark" })), (name, records.into())]);
    let whole = object([(outer, vec![object([("resource", resource), (inner, vec![scope].into())])].into())]);
    (path, whole)
}

/// An attribute with this value.
pub(super) fn attribute(name: &str, value: Value) -> Value {
    json!({ "key": name, "value": value })
}

pub(super) fn text(value: &str) -> Value {
    let mut end = value.len().min(MAX_TEXT);
    while !value.is_char_boundary(end) {
        end -= 1;
    }
    json!({ "stringValue": value.get(..end).unwrap_or_default() })
}

pub(super) fn whole(value: impl Into<i128>) -> Value {
    json!({ "intValue": value.into().to_string() })
}

pub(super) fn number(value: f64) -> Value {
    json!({ "doubleValue": value })
}

pub(super) fn truth(value: bool) -> Value {
    json!({ "boolValue": value })
}

fn object<const N: usize>(members: [(&str, Value); N]) -> Value {
    Value::Object(members.into_iter().map(|(name, value)| (name.to_owned(), value)).collect::<Map<_, _>>())
}

/// `SeverityNumber`.
fn severity(level: Level) -> u8 {
    match level {
        Level::TRACE => 1,
        Level::DEBUG => 5,
        Level::INFO => 9,
        Level::WARN => 13,
        Level::ERROR => 17,
    }
}

fn nanos(time: SystemTime) -> String {
    time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_nanos().to_string()
}
