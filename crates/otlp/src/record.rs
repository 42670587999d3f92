//! Records in the JSON encoding of OTLP: ids in hex, numbers of 64 bits as text, words of enumerations as numbers.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde_json::{Map, Value, json};
use tracing::Level;

use super::Kind;

/// The target of what is logged about the export itself, which is not exported.
pub(super) const TARGET: &str = "proofmark_otlp";

/// The longest text of an attribute, in bytes.
const MAX_TEXT: usize = 4_096;
/// `SPAN_KIND_INTERNAL`.
const INTERNAL: u8 = 1;
/// `SPAN_KIND_SERVER`.
const SERVER: u8 = 2;
/// `STATUS_CODE_ERROR`.
const ERROR: u8 = 2;

/// What a line takes over from the request in which it is logged.
pub(super) struct Around {
    pub(super) began: SystemTime,
    pub(super) request: Option<String>,
    pub(super) trace: Option<String>,
    pub(super) span: Option<String>,
    /// The client's span.
    pub(super) parent: Option<String>,
}

/// What a line of the log says of the request that it ends.
#[derive(Default)]
pub(super) struct Request {
    method: Option<String>,
    route: Option<String>,
    pub(super) status: Option<u16>,
    tenant: Option<String>,
    caller: Option<String>,
    /// The code of its problem.
    code: Option<String>,
}

impl Request {
    /// Takes in a field of the line.
    pub(super) fn record(&mut self, field: &str, value: &str) {
        let place = match field {
            "method" => &mut self.method,
            "route" => &mut self.route,
            "tenant" => &mut self.tenant,
            "caller" => &mut self.caller,
            "code" => &mut self.code,
            _ => return,
        };
        *place = Some(value.to_owned());
    }

    /// The span of the request, if the line ends one.
    pub(super) fn span(&self, around: &Around) -> Option<Value> {
        let (method, route, status) = (self.method.as_deref()?, self.route.as_deref()?, self.status?);
        let mut attributes = vec![
            attribute("http.request.method", text(method)),
            attribute("http.route", text(route)),
            attribute("http.response.status_code", whole(status)),
        ];
        let named = [
            ("request.id", &around.request),
            ("proofmark.tenant", &self.tenant),
            ("proofmark.caller", &self.caller),
            ("error.type", &self.code),
        ];
        attributes.extend(named.into_iter().filter_map(|(name, value)| Some(attribute(name, text(value.as_ref()?)))));
        let mut span = json!({
            "traceId": around.trace.as_ref()?,
            "spanId": around.span.as_ref()?,
            "name": format!("{method} {route}"),
            "kind": SERVER,
            "startTimeUnixNano": nanos(around.began),
            "endTimeUnixNano": nanos(SystemTime::now().max(around.began)),
            "attributes": attributes,
            // What the caller did wrong is not an error of the server (semantic conventions, HTTP spans).
            "status": if status >= 500 { json!({ "code": ERROR }) } else { json!({}) },
        });
        if let (Some(parent), Some(span)) = (&around.parent, span.as_object_mut()) {
            span.insert("parentSpanId".to_owned(), parent.as_str().into());
        }
        Some(span)
    }
}

/// What a line of the log says of a span that is not a request's.
#[derive(Default)]
pub(super) struct Span {
    name: Option<String>,
    kind: Option<String>,
    trace: Option<String>,
    id: Option<String>,
    parent: Option<String>,
    /// Whether it belongs to the request in which the line is logged, if there is one.
    joins: bool,
    began_us: u64,
    failed: bool,
}

impl Span {
    /// Takes in a field of the line that is a text; whether it is one of the span itself.
    pub(super) fn record(&mut self, field: &str, value: &str) -> bool {
        let place = match field {
            "span.name" => &mut self.name,
            "span.kind" => &mut self.kind,
            "span.trace" => &mut self.trace,
            "span.id" => &mut self.id,
            "span.parent" => &mut self.parent,
            _ => return false,
        };
        *place = Some(value.to_owned());
        true
    }

    /// The same for one that is true or false.
    pub(super) fn record_bool(&mut self, field: &str, value: bool) -> bool {
        let place = match field {
            "span.joins" => &mut self.joins,
            "span.failed" => &mut self.failed,
            _ => return false,
        };
        *place = value;
        true
    }

    /// The same for a number.
    pub(super) fn record_u64(&mut self, field: &str, value: u64) -> bool {
        let is_own = field == "span.began_us";
        if is_own {
            self.began_us = value;
        }
        is_own
    }

    /// Whether the line is a span.
    pub(super) fn is_one(&self) -> bool {
        self.name.is_some()
    }

    /// The span with these attributes, which ends now.
    pub(super) fn ended(&self, attributes: Vec<Value>, around: Option<&Around>) -> Option<Value> {
        let of_request =
            around.filter(|_| self.joins).and_then(|around| Some((around.trace.as_ref()?, around.span.as_ref()?)));
        let own = || Some((self.trace.as_ref()?, self.parent.as_ref()));
        let (trace, parent) = match of_request {
            Some((trace, span)) => (trace, Some(span)),
            None => own()?,
        };
        let began = UNIX_EPOCH + Duration::from_micros(self.began_us);
        let mut span = json!({
            "traceId": trace,
            "spanId": self.id.as_ref()?,
            "name": self.name.as_ref()?,
            "kind": if self.kind.as_deref() == Some("server") { SERVER } else { INTERNAL },
            "startTimeUnixNano": nanos(began),
            "endTimeUnixNano": nanos(SystemTime::now().max(began)),
            "attributes": attributes,
            "status": if self.failed { json!({ "code": ERROR }) } else { json!({}) },
        });
        if let (Some(parent), Some(span)) = (parent, span.as_object_mut()) {
            span.insert("parentSpanId".to_owned(), parent.as_str().into());
        }
        Some(span)
    }
}

/// A line of the log, or the event with this name.
pub(super) fn log(
    level: Level,
    event: Option<&str>,
    body: &str,
    attributes: Vec<Value>,
    around: Option<&Around>,
) -> Value {
    let now = nanos(SystemTime::now());
    let mut record = json!({
        "timeUnixNano": now,
        "observedTimeUnixNano": now,
        "severityNumber": severity(level),
        "severityText": level.as_str(),
        "body": text(body),
        "attributes": attributes,
    });
    if let (Some(event), Some(record)) = (event, record.as_object_mut()) {
        record.insert("eventName".to_owned(), event.into());
    }
    let trace = around.and_then(|around| Some((around.trace.as_deref()?, around.span.as_deref()?)));
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
