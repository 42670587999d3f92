//! Splits a trace into its records.

use proofmark_receipt::json::{JsonError, JsonErrorKind, Limits};
use proofmark_receipt::{Json, Object};

use super::error::{TraceError, TraceFault, TracePlace};
use super::{FORMS, MAX_RECORDS, MAX_TRACE_BYTES, MAX_TRACE_DEPTH, MAX_TRACE_NODES};

/// One record and its place.
#[derive(Debug)]
pub(super) struct Record {
    pub(super) json: Json,
    pub(super) place: TracePlace,
}

impl Record {
    pub(super) fn object(&self) -> Result<&Object, TraceError> {
        self.json
            .as_object()
            .ok_or_else(|| self.malformed(format!("this record is {} and not an object", self.json.type_name())))
    }

    pub(super) fn malformed(&self, what: impl Into<String>) -> TraceError {
        self.error(TraceFault::Malformed(what.into()))
    }

    pub(super) fn error(&self, fault: TraceFault) -> TraceError {
        TraceError { place: self.place.clone(), fault }
    }
}

/// The records of a trace: the items of a list, the lists of an object, or one per line.
pub(super) fn split(bytes: &[u8]) -> Result<Vec<Record>, TraceError> {
    if bytes.len() > MAX_TRACE_BYTES {
        return Err(TraceError::whole(TraceFault::TooLarge(bytes.len())));
    }
    if bytes.iter().all(u8::is_ascii_whitespace) {
        // A recorder that failed may leave an empty file; a run without calls is recorded as an empty list.
        return Err(TraceError::whole(TraceFault::Empty));
    }
    let records = if is_lines(bytes) { lines(bytes)? } else { document(bytes)? };
    if records.len() > MAX_RECORDS { Err(TraceError::whole(TraceFault::TooManyRecords)) } else { Ok(records) }
}

/// Whether the first line is a record of its own and more lines follow.
fn is_lines(bytes: &[u8]) -> bool {
    let start = bytes.iter().position(|byte| !byte.is_ascii_whitespace()).unwrap_or(0);
    let text = bytes.get(start..).unwrap_or_default();
    let Some(end) = text.iter().position(|byte| *byte == b'\n') else {
        return false;
    };
    let (line, rest) = text.split_at_checked(end).unwrap_or((text, &[]));
    // A pretty-printed document begins with a bare bracket, and its first line is not a record.
    line.first() == Some(&b'{')
        && rest.iter().any(|byte| !byte.is_ascii_whitespace())
        && Json::parse_with(line, limits()).is_ok()
}

fn limits() -> Limits {
    Limits { max_bytes: MAX_TRACE_BYTES, max_depth: MAX_TRACE_DEPTH, max_nodes: MAX_TRACE_NODES }
}

fn lines(bytes: &[u8]) -> Result<Vec<Record>, TraceError> {
    let mut records = Vec::new();
    for (number, line) in (1u64..).zip(bytes.split(|byte| *byte == b'\n')) {
        if line.iter().all(u8::is_ascii_whitespace) {
            continue;
        }
        // The parser sees one line at a time, so the lines are counted here.
        let json = Json::parse_with(line, limits()).map_err(|error| unreadable(&error, number))?;
        records.push(Record { json, place: TracePlace::Text { line: number, column: 1 } });
        // Checked here too, so that millions of short lines do not fill the memory before `split` counts them.
        if records.len() > MAX_RECORDS {
            return Err(TraceError::whole(TraceFault::TooManyRecords));
        }
    }
    Ok(records)
}

fn document(bytes: &[u8]) -> Result<Vec<Record>, TraceError> {
    let json = Json::parse_with(bytes, limits()).map_err(|error| unreadable(&error, error.line))?;
    let items = match json {
        Json::Array(items) => items,
        Json::Object(object) => return Ok(from_object(object)),
        other => {
            let what = format!("the trace is {} and not a list of records", other.type_name());
            return Err(TraceError::whole(TraceFault::Malformed(what)));
        }
    };
    Ok(flat("", items))
}

/// The records inside an object that holds a list of them, or the object itself.
fn from_object(object: Object) -> Vec<Record> {
    // A single call written as a document has `name` beside its `output`, which may be a list.
    let is_call = object.contains("name") || object.contains("tool") || object.contains("jsonrpc");
    if !is_call {
        // Several lists are joined in this order: in `openai_responses` the `input` comes before the `output`.
        let names = FORMS.iter().flat_map(|form| form.lists);
        let found: Vec<_> = names.filter_map(|name| Some((*name, object.get(name)?.as_array()?))).collect();
        if !found.is_empty() {
            return found.into_iter().flat_map(|(name, items)| flat(name, items.to_vec())).collect();
        }
    }
    vec![Record { json: Json::Object(object), place: TracePlace::Whole }]
}

/// The items of a list, with those of inner lists, which are batches.
fn flat(list: &'static str, items: Vec<Json>) -> Vec<Record> {
    let mut records = Vec::new();
    for (index, item) in items.into_iter().enumerate() {
        let place = TracePlace::Record { list, index };
        match item {
            Json::Array(batch) => {
                records.extend(batch.into_iter().map(|json| Record { json, place: place.clone() }));
            }
            json => records.push(Record { json, place }),
        }
    }
    records
}

fn unreadable(error: &JsonError, line: u64) -> TraceError {
    let place = TracePlace::Text { line, column: error.column };
    let fault = match error.kind {
        JsonErrorKind::UnexpectedEnd => TraceFault::CutOff,
        _ => TraceFault::NotJson(error.kind.to_string()),
    };
    TraceError { place, fault }
}
