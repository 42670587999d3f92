//! OpenTelemetry: spans with the GenAI attributes of `execute_tool`, as OTLP JSON or as the SDKs print them.

use std::collections::HashSet;

use proofmark_predicate::Timestamp;
use proofmark_receipt::{Json, Object};

use super::Form;
use super::collect::{Answer, Calls, Made};
use super::error::TraceError;
use super::outcome::{self, Mark};
use super::records::Record;
use crate::call::Call;

/// How deep the values of attributes are unwrapped.
const MAX_VALUE_DEPTH: usize = 32;

pub(super) static FORM: Form = Form { name: "otel", lists: &["spans"], has_messages: false, recognizes, calls };

fn recognizes(record: &Object) -> bool {
    let identified = ["spanId", "span_id", "traceId", "trace_id", "context"].iter().any(|name| record.contains(name));
    record.contains("resourceSpans") || (identified && (record.contains("attributes") || record.contains("kind")))
}

fn calls(records: &[Record]) -> Result<Vec<Call>, TraceError> {
    let mut spans = Vec::new();
    for record in records {
        for span in spans_of(record)? {
            spans.extend(tool_span(record, span)?);
        }
    }
    // A span that an exporter writes twice would count as two calls.
    refuse_twins(&spans)?;
    // Exporters write spans when they end, and conditions ask for the order in which calls began.
    spans.sort_by_key(|span| span.start);
    let mut calls = Calls::default();
    let moments = Moments::of(&spans);
    for span in &spans {
        let made = Made { id: None, name: &span.name, arguments: span.arguments.clone(), at: span.at.as_deref() };
        let index = calls.made(span.record, moments.place(span.start), made)?;
        if let Some(end) = span.end {
            let answer = Answer { result: span.result.clone(), mark: span.mark };
            calls.end(index, moments.place(end), answer);
        }
    }
    Ok(calls.finish())
}

/// The spans of a record: itself, or those in the lists of OTLP.
pub(super) fn spans_of(record: &Record) -> Result<Vec<&Object>, TraceError> {
    let object = record.object()?;
    let Some(resources) = object.get("resourceSpans") else {
        return Ok(vec![object]);
    };
    let mut spans = Vec::new();
    for resource in list(record, resources)? {
        let scopes = resource.as_object().and_then(|resource| resource.get("scopeSpans"));
        for scope in list(record, scopes.ok_or_else(|| record.malformed("there is no `scopeSpans`"))?)? {
            let found = scope.as_object().and_then(|scope| scope.get("spans"));
            for span in list(record, found.ok_or_else(|| record.malformed("there is no `spans`"))?)? {
                spans.push(span.as_object().ok_or_else(|| record.malformed("a span is not an object"))?);
            }
        }
    }
    Ok(spans)
}

fn list<'j>(record: &Record, json: &'j Json) -> Result<&'j [Json], TraceError> {
    json.as_array().ok_or_else(|| record.malformed("the spans are not in a list"))
}

struct Span<'r> {
    record: &'r Record,
    id: Option<String>,
    name: String,
    arguments: Json,
    result: Option<Json>,
    mark: Mark,
    start: Moment,
    end: Option<Moment>,
    at: Option<String>,
}

/// A time in nanoseconds since 1970.
type Moment = i128;

/// The times of all spans, to number them.
struct Moments(Vec<Moment>);

impl Moments {
    fn of(spans: &[Span<'_>]) -> Self {
        let mut moments: Vec<_> = spans.iter().flat_map(|span| [Some(span.start), span.end]).flatten().collect();
        moments.sort_unstable();
        // Equal times get one number, so that calls which meet in one instant have no order.
        moments.dedup();
        Self(moments)
    }

    fn place(&self, moment: Moment) -> usize {
        self.0.partition_point(|other| *other < moment)
    }
}

/// The tool call a span is, if it is one.
fn tool_span<'r>(record: &'r Record, span: &'r Object) -> Result<Option<Span<'r>>, TraceError> {
    let attribute = |name: &str| attribute(span, name);
    let operation = attribute("gen_ai.operation.name");
    let tool = attribute("gen_ai.tool.name");
    let is_tool = match operation.as_ref().and_then(Json::as_str) {
        Some(operation) => operation == "execute_tool",
        None => tool.is_some(),
    };
    if !is_tool {
        return Ok(None);
    }
    let name = tool.as_ref().and_then(Json::as_str).map(str::to_owned);
    let result = attribute("gen_ai.tool.call.result").map(|result| outcome::result(&result));
    let (start, at) = moment(span, ["startTimeUnixNano", "start_time_unix_nano", "start_time"]);
    let (end, _) = moment(span, ["endTimeUnixNano", "end_time_unix_nano", "end_time"]);
    Ok(Some(Span {
        record,
        id: span_id(span),
        name: name.ok_or_else(|| record.malformed("this span has no `gen_ai.tool.name`"))?,
        arguments: outcome::arguments(attribute("gen_ai.tool.call.arguments").as_ref()),
        result,
        // A span without a status has the status "unset", which OpenTelemetry does not count as an error.
        mark: if failed(span) || attribute("error.type").is_some() { Mark::Error } else { Mark::Clear },
        start: start.ok_or_else(|| record.malformed("this span has no start time"))?,
        // Exporters write an end of 0 for a span that has not ended.
        end: end.filter(|end| *end > 0),
        at,
    }))
}

fn refuse_twins(spans: &[Span<'_>]) -> Result<(), TraceError> {
    let mut seen = HashSet::new();
    match spans.iter().find(|span| span.id.as_ref().is_some_and(|id| !seen.insert(id))) {
        Some(span) => Err(span.record.malformed("this span was recorded twice")),
        None => Ok(()),
    }
}

fn span_id(span: &Object) -> Option<String> {
    let context = span.get("context").and_then(Json::as_object);
    let id =
        |object: &Object, names: [&str; 2]| names.iter().find_map(|name| object.get(name)?.as_str().map(str::to_owned));
    let own = id(span, ["spanId", "span_id"]).or_else(|| id(context?, ["span_id", "spanId"]))?;
    let trace = id(span, ["traceId", "trace_id"]).or_else(|| id(context?, ["trace_id", "traceId"]));
    Some(format!("{}/{own}", trace.unwrap_or_default()))
}

fn attribute(span: &Object, name: &str) -> Option<Json> {
    match span.get("attributes")? {
        Json::Object(plain) => plain.get(name).cloned(),
        Json::Array(pairs) => {
            let mut pairs = pairs.iter().filter_map(Json::as_object);
            let pair = pairs.find(|pair| pair.get("key").and_then(Json::as_str) == Some(name))?;
            Some(any_value(pair.get("value")?, MAX_VALUE_DEPTH))
        }
        _ => None,
    }
}

/// The value an `AnyValue` of OTLP wraps.
fn any_value(value: &Json, depth: usize) -> Json {
    let Some((kind, inner)) = value.as_object().and_then(|object| object.iter().next()) else {
        return value.clone();
    };
    // A wrapped list takes three levels of JSON, so no record within `MAX_TRACE_DEPTH` reaches depth 0.
    match (kind, inner, depth) {
        // OTLP JSON follows protobuf, which writes 64-bit integers as texts.
        ("intValue", Json::String(digits), _) => digits.parse::<i64>().map_or_else(|_| inner.clone(), Json::from),
        ("arrayValue", Json::Object(list), 1..) => {
            let values = list.get("values").and_then(Json::as_array).unwrap_or_default();
            values.iter().map(|value| any_value(value, depth - 1)).collect::<Vec<_>>().into()
        }
        ("kvlistValue", Json::Object(list), 1..) => {
            let mut object = Object::new();
            for pair in list.get("values").and_then(Json::as_array).unwrap_or_default() {
                let pair = pair.as_object();
                let key = pair.and_then(|pair| pair.get("key")).and_then(Json::as_str);
                if let (Some(key), Some(value)) = (key, pair.and_then(|pair| pair.get("value"))) {
                    object.insert(key, any_value(value, depth - 1));
                }
            }
            object.into()
        }
        _ => inner.clone(),
    }
}

/// Whether the span's status is an error: `2`, `STATUS_CODE_ERROR` or `ERROR`.
fn failed(span: &Object) -> bool {
    let status = span.get("status").and_then(Json::as_object);
    let code = status.and_then(|status| status.get("code").or_else(|| status.get("status_code")));
    match code {
        Some(Json::Number(number)) => number.as_u64() == Some(2),
        Some(Json::String(word)) => word.ends_with("ERROR") || word == "Error",
        _ => false,
    }
}

fn moment(span: &Object, names: [&str; 3]) -> (Option<Moment>, Option<String>) {
    let Some(written) = names.iter().find_map(|name| span.get(name)) else {
        return (None, None);
    };
    let text = match written {
        Json::String(text) => text.clone(),
        Json::Number(number) => number.as_str().to_owned(),
        _ => return (None, None),
    };
    // OTLP has nanoseconds since 1970, the SDKs print ISO 8601.
    let nanos = text.parse::<Moment>().ok().or_else(|| iso(&text));
    (nanos, Some(text))
}

fn iso(text: &str) -> Option<Moment> {
    const NANOS_PER_SECOND: i128 = 1_000_000_000;
    let point: Timestamp = text.parse().ok()?;
    let fraction = text.split_once('.').map_or("", |(_, rest)| rest);
    let digits: String = fraction.chars().take_while(char::is_ascii_digit).chain("000000000".chars()).take(9).collect();
    Some(i128::from(point.seconds()) * NANOS_PER_SECOND + digits.parse::<i128>().ok()?)
}
