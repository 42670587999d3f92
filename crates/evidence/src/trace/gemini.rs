//! Gemini: `functionCall` and `functionResponse` parts of `contents`, in the API's spelling or in that of the Python SDK,
//! and the code that the service runs itself.

use std::collections::{HashMap, VecDeque};

use proofmark_receipt::{Json, Object};

use super::Form;
use super::collect::{Answer, Calls, Made};
use super::error::{TraceError, TraceFault};
use super::outcome::{self, Mark};
use super::records::Record;
use crate::call::Call;

/// The name of the calls of code that the service runs.
const CODE_EXECUTION: &str = "code_execution";

pub(super) static FORM: Form = Form { name: "gemini", lists: &["contents"], has_messages: false, recognizes, calls };

fn recognizes(record: &Object) -> bool {
    // The parts of other protocols have a `type` or a `kind`.
    parts(record).is_some_and(|parts| {
        parts.iter().all(|part| part.as_object().is_some_and(|part| !part.contains("type") && !part.contains("kind")))
    })
}

fn calls(records: &[Record]) -> Result<Vec<Call>, TraceError> {
    let mut session = Session::default();
    for (position, record) in records.iter().enumerate() {
        let entry = record.object()?;
        let at = entry.get("timestamp").and_then(Json::as_str);
        for part in parts(entry).ok_or_else(|| record.malformed("this content has no `parts`"))? {
            let part = part.as_object().ok_or_else(|| record.malformed("a part of this content is not an object"))?;
            session.part(record, position, part, at)?;
        }
    }
    Ok(session.calls.finish())
}

/// The parts of a content, or of the content that an event of the Agent Development Kit wraps.
fn parts(record: &Object) -> Option<&[Json]> {
    let content = record.get("content").and_then(Json::as_object);
    record.get("parts").or_else(|| content?.get("parts"))?.as_array()
}

/// Ids are optional, so calls are paired with their responses here and not by [`Calls`]. Calls that have ended stay in both
/// maps; `calls` says which are open.
#[derive(Default)]
struct Session {
    calls: Calls,
    by_id: HashMap<String, usize>,
    /// By the name of the function, the oldest first.
    by_name: HashMap<String, VecDeque<usize>>,
}

impl Session {
    fn part(&mut self, record: &Record, position: usize, part: &Object, at: Option<&str>) -> Result<(), TraceError> {
        if let Some(call) = member(record, part, "functionCall", "function_call")? {
            self.call(record, position, call, at)?;
        }
        if let Some(response) = member(record, part, "functionResponse", "function_response")? {
            self.response(record, position, response)?;
        }
        if let Some(code) = member(record, part, "executableCode", "executable_code")? {
            let made = Made { id: text(code, "id"), name: CODE_EXECUTION, arguments: Json::Object(code.clone()), at };
            self.made(record, position, made)?;
        }
        if let Some(result) = member(record, part, "codeExecutionResult", "code_execution_result")? {
            let ended = result.get("outcome").and_then(Json::as_str) == Some("OUTCOME_OK");
            let mark = if ended { Mark::Clear } else { Mark::Error };
            let answer = Answer { result: result.get("output").map(outcome::result), mark };
            self.answered(record, position, CODE_EXECUTION, text(result, "id"), answer)?;
        }
        Ok(())
    }

    fn call(&mut self, record: &Record, position: usize, call: &Object, at: Option<&str>) -> Result<(), TraceError> {
        let arguments = outcome::arguments(call.get("args"));
        self.made(record, position, Made { id: text(call, "id"), name: name_of(record, call)?, arguments, at })
    }

    fn made(&mut self, record: &Record, position: usize, made: Made<'_>) -> Result<(), TraceError> {
        let (id, name) = (made.id, made.name.to_owned());
        // Without its id: `Calls` pairs by id alone, and a response may leave the id out.
        let index = self.calls.made(record, position, Made { id: None, ..made })?;
        if let Some(id) = id
            && self.by_id.insert(id.to_owned(), index).is_some_and(|earlier| self.calls.waiting(earlier).is_some())
        {
            return Err(record.error(TraceFault::DuplicateCall(id.to_owned())));
        }
        // Calls with an id too, since their response may come without one.
        self.by_name.entry(name).or_default().push_back(index);
        Ok(())
    }

    fn response(&mut self, record: &Record, position: usize, response: &Object) -> Result<(), TraceError> {
        let continues =
            ["willContinue", "will_continue"].iter().any(|name| response.get(name) == Some(&Json::Bool(true)));
        // A call that goes on sends several responses; the last one is its result.
        if continues {
            return Ok(());
        }
        let content =
            response.get("response").ok_or_else(|| record.malformed("a function response has no `response`"))?;
        self.answered(record, position, name_of(record, response)?, text(response, "id"), answer(content))
    }

    fn answered(
        &mut self,
        record: &Record,
        position: usize,
        name: &str,
        id: Option<&str>,
        answer: Answer,
    ) -> Result<(), TraceError> {
        let Some(index) = self.open(name, id) else {
            return Err(record.error(TraceFault::ResultWithoutCall(id.unwrap_or(name).to_owned())));
        };
        self.calls.end(index, position, answer);
        Ok(())
    }

    /// The open call with this id; for a response without an id, the oldest open call of the function.
    fn open(&mut self, name: &str, id: Option<&str>) -> Option<usize> {
        if let Some(id) = id {
            let index = self.by_id.remove(id)?;
            // A response that names another function contradicts its call, so the trace is refused.
            return self.calls.waiting(index).filter(|call| call.tool == name).map(|_| index);
        }
        let queue = self.by_name.get_mut(name)?;
        std::iter::from_fn(|| queue.pop_front()).find(|index| self.calls.waiting(*index).is_some())
    }
}

/// A response has its output under `output` and the details of an error under `error`. One without either is the output as
/// a whole, and says nothing of errors; the SDKs wrap such an output in `result`.
fn answer(content: &Json) -> Answer {
    let Some(response) = content.as_object() else {
        return Answer { result: Some(outcome::result(content)), mark: Mark::Unknown };
    };
    let output = response.get("output").filter(|output| !output.is_null());
    let error = response.get("error").filter(|error| outcome::reports_error(error));
    let (result, mark) = match (output, error) {
        (Some(output), None) => (output, Mark::Clear),
        (None, Some(error)) => (error, Mark::Error),
        // The two contradict each other, so how the call ended is unknown.
        (Some(output), Some(_)) => (output, Mark::Unreadable),
        (None, None) if response.len() == 1 => (response.get("result").unwrap_or(content), Mark::Unknown),
        (None, None) => (content, Mark::Unknown),
    };
    Answer { result: Some(outcome::result(result)), mark }
}

/// A member of a part in either spelling. The Python SDK writes those that are not there as null.
fn member<'a>(record: &Record, part: &'a Object, name: &str, sdk: &str) -> Result<Option<&'a Object>, TraceError> {
    match part.get(name).or_else(|| part.get(sdk)) {
        None | Some(Json::Null) => Ok(None),
        Some(Json::Object(object)) => Ok(Some(object)),
        Some(_) => Err(record.malformed(format!("the `{name}` of a part is not an object"))),
    }
}

fn name_of<'a>(record: &Record, function: &'a Object) -> Result<&'a str, TraceError> {
    text(function, "name").ok_or_else(|| record.malformed("a function call or response has no `name`"))
}

fn text<'a>(object: &'a Object, name: &str) -> Option<&'a str> {
    object.get(name).and_then(Json::as_str)
}
