//! What the receipt says of a check beside its answer: what the submission was given, wrote, and where it failed.

use std::collections::HashMap;

use proofmark_receipt::json::Json;
use proofmark_receipt::{Detail, Object, Sha256Digest, Status};

use super::NO_ANSWER;
use super::cause::is_shared;
use crate::job::{CaseOutcome, End, Tail};
use crate::language::Language;
use crate::render::render;
use crate::suite::{Mode, Suite, Test};
use crate::value::Value;

/// The texts of a check that did not pass; nothing of one that passed.
pub(super) fn explained(suite: &Suite, test: &Test, case: Option<&CaseOutcome>, detail: Detail) -> Detail {
    if detail.status == Status::Pass {
        return detail;
    }
    let written = case.map(|case| &case.written);
    Detail {
        input: Some(input(suite, test)),
        location: case.and_then(|case| location(suite, &case.end)),
        stdout: written.and_then(|written| tail(&written.stdout)),
        stderr: written.and_then(|written| tail(&written.stderr)),
        ..detail
    }
}

/// A call as its language writes it, an expression, or standard input.
fn input(suite: &Suite, test: &Test) -> String {
    match &suite.mode {
        Mode::Call { entrypoint } => call(suite, entrypoint, test).unwrap_or_else(|| test.input.clone()),
        Mode::Expression | Mode::Stdio => test.input.clone(),
    }
}

/// `None` where the arguments are not an array.
fn call(suite: &Suite, entrypoint: &str, test: &Test) -> Option<String> {
    let arguments = arguments(suite.language, &Json::parse(test.input.as_bytes()).ok()?, &test.kwargs)?;
    let callee = match (&test.construct, entrypoint.split_once('.')) {
        (Some(construct), Some((class, method))) => {
            let construct = Json::parse(construct.as_bytes()).ok()?;
            let given = construct.as_object()?;
            let object = self::arguments(suite.language, given.get("args")?, given.get("kwargs")?.as_object()?)?;
            let [before, after] = suite.language.functions()?.construct;
            format!("{before}{class}{after}({object}).{method}")
        }
        _ => entrypoint.to_owned(),
    };
    Some(format!("{callee}({arguments})"))
}

/// The arguments between the brackets of a call.
fn arguments(language: Language, positional: &Json, named: &Object) -> Option<String> {
    let shown = |json: &Json| render(&Value::from_json(json, language.rules().integers), language.notation());
    let between = language.functions()?.keyword.unwrap_or("=");
    let named = named.iter().map(|(name, json)| format!("{name}{between}{}", shown(json)));
    Some(positional.as_array()?.iter().map(shown).chain(named).collect::<Vec<_>>().join(", "))
}

fn location(suite: &Suite, end: &End) -> Option<String> {
    match end {
        End::Raised { line: Some(line), .. } => Some(format!("{}:{line}", suite.language.file())),
        _ => None,
    }
}

/// The end of a stream as text; what is not UTF-8 is replaced.
fn tail(tail: &Tail) -> Option<String> {
    if tail.bytes.is_empty() {
        return None;
    }
    if tail.left_out == 0 {
        return Some(String::from_utf8_lossy(&tail.bytes).into_owned());
    }
    // The first bytes may be the rest of a character.
    let start = tail.bytes.iter().take(3).take_while(|byte| **byte & 0xc0 == 0x80).count();
    let text = String::from_utf8_lossy(tail.bytes.get(start..).unwrap_or_default());
    Some(format!("… {} bytes are left out\n{text}", tail.left_out + start as u64))
}

const SAME_ERROR: &str = "same error as `";

/// The name of the first check with the same error, where the message of a check says that, and nothing else.
///
/// An exception of the submission may imitate such a message; it hides only its own text then.
pub fn same_error(message: &str) -> Option<&str> {
    message.strip_prefix(SAME_ERROR)?.strip_suffix('`')
}

/// The errors seen so far: one cause is told once.
#[derive(Default)]
pub(super) struct Told {
    /// The name and standard error of the first check with a message and a location. By the message's digest, since a
    /// message may be as long as an answer.
    first: HashMap<(Sha256Digest, Option<String>), (String, Option<String>)>,
}

impl Told {
    /// Replaces the message of an error that an earlier check had by that check's name.
    pub(super) fn fold(&mut self, detail: Detail, end: Option<&End>) -> Detail {
        let message = detail.message.as_deref().filter(|message| *message != NO_ANSWER);
        let (Status::Error, Some(message), true) = (detail.status, message, end.is_none_or(is_shared)) else {
            return detail;
        };
        let error = (Sha256Digest::of(message.as_bytes()), detail.location.clone());
        match self.first.get(&error) {
            Some((name, stderr)) => Detail {
                message: Some(format!("{SAME_ERROR}{name}`")),
                location: None,
                stderr: detail.stderr.filter(|text| Some(text) != stderr.as_ref()),
                ..detail
            },
            None => {
                self.first.insert(error, (detail.name.clone(), detail.stderr.clone()));
                detail
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_a_stream_begins_with_a_whole_character() {
        let cut = |bytes: &[u8], left_out| tail(&Tail { bytes: bytes.to_vec(), left_out });
        assert_eq!(cut(b"", 0), None);
        assert_eq!(cut("é\n".as_bytes(), 0).as_deref(), Some("é\n"));
        assert_eq!(cut(b"\xa9x", 7).as_deref(), Some("… 8 bytes are left out\nx"));
        assert_eq!(cut(b"\xff", 0).as_deref(), Some("\u{fffd}"));
    }

    #[test]
    fn only_a_whole_message_says_that_an_error_is_the_same() {
        assert_eq!(same_error("same error as `a`b`"), Some("a`b"));
        assert_eq!(same_error("same error as `a`; more"), None);
        assert_eq!(same_error("ValueError: same error as `a`"), None);
    }
}
