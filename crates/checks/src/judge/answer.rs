//! The status of one check, given the answer of the submission.

use proofmark_receipt::Status;

use super::expected::Wanted;
use super::{End, Fault, Test, Value, text};
use crate::compare::{Rules, equal, not_json};
use crate::job::Language;
use crate::render::{Notation, render};
use crate::value::ValueError;

/// What came of one check.
pub(super) struct Check {
    pub(super) status: Status,
    pub(super) fault: Option<Fault>,
    pub(super) expected: Option<String>,
    pub(super) actual: Option<String>,
    pub(super) message: Option<Message>,
}

/// A message in full, and without anything the submission or the suite has put into it.
pub(super) struct Message {
    pub(super) open: String,
    pub(super) hidden: String,
}

impl Message {
    /// A message that tells nothing.
    fn plain(text: &str) -> Message {
        Message { open: text.to_owned(), hidden: text.to_owned() }
    }
}

impl Check {
    /// A check that could not be judged for a reason outside the submission.
    pub(super) fn unjudged(message: Message) -> Check {
        Check {
            status: Status::Error,
            fault: Some(Fault::Verifier),
            expected: None,
            actual: None,
            message: Some(message),
        }
    }

    /// The same, with a reason that tells nothing of the test.
    pub(super) fn broken(why: &str) -> Check {
        Check::unjudged(Message::plain(why))
    }

    /// A check the submission gave no answer to.
    fn unanswered(message: Message) -> Check {
        Check {
            status: Status::Error,
            fault: Some(Fault::Submission),
            expected: None,
            actual: None,
            message: Some(message),
        }
    }

    fn answered(right: bool, actual: String, message: Option<Message>) -> Check {
        let status = if right { Status::Pass } else { Status::Fail };
        Check { status, fault: None, expected: None, actual: Some(actual), message: message.filter(|_| !right) }
    }
}

/// Judges how the submission ended against the right answer.
pub(super) fn check(language: Language, test: &Test, wanted: &Wanted<'_>, end: &End) -> Check {
    let check = match (wanted, end) {
        (Wanted::Value(wanted), End::Value(wire)) => judge_value(wire, |value| {
            let right = equal(&value, wanted, Rules::of(language), test.tolerance);
            Check::answered(right, render(&value, Notation::of(language)), None)
        }),
        (Wanted::Json(wanted), End::Value(wire)) => {
            judge_value(wire, |value| judge_json(language, test, wanted, &value))
        }
        (Wanted::Text(wanted, rule), End::Text(output)) => {
            let right = text::equal(output, wanted, *rule);
            let message = std::str::from_utf8(output).is_err().then(|| Message::plain("the output is no UTF-8"));
            Check::answered(right, String::from_utf8_lossy(output).into_owned(), message)
        }
        (Wanted::Value(_) | Wanted::Json(_), End::Text(_)) => {
            Check::broken("the sandbox gave text where a value was due; run the request again")
        }
        (Wanted::Text(..), End::Value(_)) => {
            Check::broken("the sandbox gave a value where text was due; run the request again")
        }
        (_, End::Ran { .. }) => Check::broken("the sandbox ran a command nobody asked for; run the request again"),
        (_, End::Unavailable(why)) => Check::broken(why),
        (_, end) => Check::unanswered(unanswered(end)),
    };
    Check { expected: Some(wanted.shown(language)), ..check }
}

fn judge_value(wire: &[u8], judge: impl FnOnce(Value) -> Check) -> Check {
    match Value::decode(wire) {
        Ok(value) => judge(value),
        Err(error @ ValueError::Unsupported(_)) => Check::unanswered(Message {
            open: error.to_string(),
            hidden: "a value of a type that can not be compared".to_owned(),
        }),
        // The channel is in the hands of the submission, so what can not be read is its doing.
        Err(error @ (ValueError::Syntax(_) | ValueError::Malformed(_))) => {
            Check::unanswered(Message { open: error.to_string(), hidden: "the answer can not be read".to_owned() })
        }
    }
}

fn judge_json(language: Language, test: &Test, wanted: &Value, value: &Value) -> Check {
    match not_json(value) {
        None => {
            let right = equal(value, wanted, Rules::Json(language), test.tolerance);
            Check::answered(right, render(value, Notation::Json), None)
        }
        Some(name) => {
            let open =
                format!("the answer holds a {name}, which JSON has not; answer with arrays, objects and plain values");
            let message = Message { open, hidden: "the answer holds what JSON has not".to_owned() };
            Check::answered(false, render(value, Notation::of(language)), Some(message))
        }
    }
}

/// Why there is no answer, in full.
pub(super) fn message_of(end: &End) -> String {
    unanswered(end).open
}

fn unanswered(end: &End) -> Message {
    match end {
        End::Raised { kind, text } if text.is_empty() => hiding(kind.clone(), "an exception"),
        End::Raised { kind, text } => hiding(format!("{kind}: {text}"), "an exception"),
        End::Timeout => Message::plain("timeout: no answer within the time of the check"),
        End::TotalTimeout => Message::plain("timeout: no answer within the time of all checks together"),
        End::MemoryLimit => Message::plain("memory limit: it needs more than `limits.memory_mb`"),
        End::OutputLimit => Message::plain("output limit: it wrote more than `limits.output_bytes`"),
        End::Signal(number) => hiding(format!("killed by {}", signal(*number)), "killed by a signal"),
        End::Exit(status) => hiding(format!("ended with exit status {status}"), "ended without an answer"),
        End::NoAnswer(why) => hiding(why.clone(), "ended without an answer"),
        End::Value(_) | End::Text(_) | End::Ran { .. } | End::Unavailable(_) => Message::plain("no answer"),
    }
}

/// Even an exit status can carry a hidden input out, so a hidden message holds nothing the submission chose.
fn hiding(open: String, hidden: &str) -> Message {
    Message { open, hidden: hidden.to_owned() }
}

fn signal(number: i32) -> String {
    let name = match number {
        1 => "SIGHUP",
        2 => "SIGINT",
        3 => "SIGQUIT",
        4 => "SIGILL",
        5 => "SIGTRAP",
        6 => "SIGABRT",
        7 => "SIGBUS",
        8 => "SIGFPE",
        9 => "SIGKILL",
        11 => "SIGSEGV",
        13 => "SIGPIPE",
        15 => "SIGTERM",
        24 => "SIGXCPU",
        25 => "SIGXFSZ",
        31 => "SIGSYS",
        _ => return format!("signal {number}"),
    };
    format!("signal {number} ({name})")
}
