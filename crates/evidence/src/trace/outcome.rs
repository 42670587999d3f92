//! How a call ended, by its recorded result.

use proofmark_receipt::Json;
use proofmark_receipt::json::Limits;
use proofmark_session::CallStatus;

use super::failures;
use super::{MAX_TRACE_BYTES, MAX_TRACE_DEPTH, MAX_TRACE_NODES};

/// The beginnings of texts that report an error, in lower case.
const ERROR_BEGINNINGS: [&str; 7] = [
    "error:",
    "error -",
    "error executing",
    "exception:",
    "failure:",
    "traceback (most recent call last)",
    "<tool_use_error>",
];

/// Whether the form of the trace has a mark for errors, and whether it is set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mark {
    /// The form has none, so only the result can say it.
    Unknown,
    /// It is not set.
    Clear,
    /// It is set.
    Error,
    /// It is neither true nor false, so how the call ended is unknown.
    Unreadable,
}

impl Mark {
    pub(super) fn from_flag(flag: Option<&Json>) -> Self {
        match flag {
            None | Some(Json::Null | Json::Bool(false)) => Self::Clear,
            Some(Json::Bool(true)) => Self::Error,
            Some(Json::Number(_) | Json::String(_) | Json::Array(_) | Json::Object(_)) => Self::Unreadable,
        }
    }
}

/// How a call ended that has this result. One that reports failed tests has not succeeded, even where the call itself did not fail.
pub(super) fn status(mark: Mark, result: Option<&Json>) -> CallStatus {
    let is_error = result.is_some_and(reads_like_an_error);
    let has_failures = || result.is_some_and(failures::are_reported);
    match (mark, is_error) {
        (Mark::Error, _) | (Mark::Unknown, true) => CallStatus::Failed,
        // The form has a mark, so a result that only reads like an error may come from what the tool prints.
        (Mark::Clear, true) | (Mark::Unreadable, _) => CallStatus::Doubtful,
        (Mark::Clear | Mark::Unknown, false) if has_failures() => CallStatus::Doubtful,
        (Mark::Clear | Mark::Unknown, false) => CallStatus::Succeeded,
    }
}

/// A result as conditions read it: blocks of text are joined, and a text that is a JSON object or array is parsed.
pub(super) fn result(content: &Json) -> Json {
    match content {
        Json::String(text) => structured(text).unwrap_or_else(|| content.clone()),
        Json::Array(blocks) => match text_of(blocks) {
            Some(text) => structured(&text).unwrap_or(Json::String(text)),
            None => content.clone(),
        },
        _ => content.clone(),
    }
}

/// Arguments as conditions read them: a text that is a JSON object or array is parsed.
pub(super) fn arguments(written: Option<&Json>) -> Json {
    match written {
        Some(Json::String(text)) => structured(text).unwrap_or_else(|| Json::from(text.as_str())),
        Some(other) => other.clone(),
        // Not an empty object: a rule treats arguments that were not recorded as ones that may match.
        None => Json::Null,
    }
}

fn structured(text: &str) -> Option<Json> {
    // Only objects and arrays are parsed: a text such as `12` or `true` may be meant as a text.
    let limits = Limits { max_bytes: MAX_TRACE_BYTES, max_depth: MAX_TRACE_DEPTH, max_nodes: MAX_TRACE_NODES };
    text.trim_start().starts_with(['{', '[']).then(|| Json::parse_with(text.as_bytes(), limits).ok())?
}

/// The texts of content blocks together, if they are all text.
fn text_of(blocks: &[Json]) -> Option<String> {
    let texts: Option<Vec<_>> = blocks
        .iter()
        .map(|block| match block {
            Json::Object(object) => object.get("text").and_then(Json::as_str).map(str::to_owned),
            _ => None,
        })
        .collect();
    texts.filter(|texts| !texts.is_empty()).map(|texts| texts.join("\n"))
}

fn reads_like_an_error(result: &Json) -> bool {
    match result {
        Json::String(text) => text_reads_like_an_error(text),
        Json::Object(object) => {
            let is = |name: &str, wanted: bool| object.get(name).and_then(Json::as_bool) == Some(wanted);
            object.get("error").is_some_and(reports_error)
                || object.get("errors").and_then(Json::as_array).is_some_and(|errors| !errors.is_empty())
                || object.get("status").and_then(Json::as_str).is_some_and(is_failed_status)
                || is("isError", true)
                || is("is_error", true)
                || is("ok", false)
                || is("success", false)
        }
        _ => false,
    }
}

/// Whether the `status` of a result says that it failed.
fn is_failed_status(status: &str) -> bool {
    matches!(status.to_ascii_lowercase().as_str(), "error" | "failed" | "failure" | "fail")
}

/// Whether an `error` member reports an error: `null`, `false` and the empty text do not.
pub(super) fn reports_error(error: &Json) -> bool {
    match error {
        Json::Null | Json::Bool(false) => false,
        Json::String(text) => !text.is_empty(),
        _ => true,
    }
}

fn text_reads_like_an_error(text: &str) -> bool {
    // Only the beginning counts, since an output may quote errors further down. 40 characters hold the longest of
    // `ERROR_BEGINNINGS`, so a long output is not copied.
    let beginning: String = text.trim_start().chars().take(40).collect::<String>().to_lowercase();
    beginning.trim_end() == "error" || ERROR_BEGINNINGS.iter().any(|error| beginning.starts_with(error))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_are_recognized_by_mark_or_by_text() {
        let json = |text: &str| Json::parse(text.as_bytes()).unwrap();
        let table = [
            (Mark::Unknown, r#""Error: no seats""#, CallStatus::Failed),
            (Mark::Unknown, r#""Errors: none found""#, CallStatus::Succeeded),
            (Mark::Unknown, r#"{"error": null, "id": 1}"#, CallStatus::Succeeded),
            (Mark::Unknown, r#"{"error": "no"}"#, CallStatus::Failed),
            (Mark::Unknown, r#"{"success": false}"#, CallStatus::Failed),
            (Mark::Unknown, r#"{"status": "Failed", "id": 1}"#, CallStatus::Failed),
            (Mark::Unknown, r#""tests failed: 3""#, CallStatus::Doubtful),
            (Mark::Clear, r#""== 1 failed, 4 passed in 0.1s ==""#, CallStatus::Doubtful),
            (Mark::Unknown, r#"{"passed": 4, "failed": 1}"#, CallStatus::Doubtful),
            (Mark::Unknown, r#"{"passed": 4, "failed": 0}"#, CallStatus::Succeeded),
            (Mark::Clear, r#""Error: no seats""#, CallStatus::Doubtful),
            (Mark::Clear, r#""booked""#, CallStatus::Succeeded),
            (Mark::Error, r#""booked""#, CallStatus::Failed),
            (Mark::Unreadable, r#""booked""#, CallStatus::Doubtful),
        ];
        for (mark, text, expected) in table {
            assert_eq!(status(mark, Some(&json(text))), expected, "{mark:?} {text}");
        }
        let flags = [
            ("true", Mark::Error),
            ("false", Mark::Clear),
            ("null", Mark::Clear),
            (r#""true""#, Mark::Unreadable),
            ("1", Mark::Unreadable),
            ("{}", Mark::Unreadable),
        ];
        for (flag, mark) in flags {
            assert_eq!(Mark::from_flag(Some(&json(flag))), mark, "{flag}");
        }
        assert_eq!(Mark::from_flag(None), Mark::Clear);
    }
}
