//! Errors as people and programs read them: a message, and help on what to do about it.

use std::error::Error;

use proofmark_boundary::{ActionPolicyError, ParseDecisionError};
use proofmark_interop::x402::HeaderError;
use proofmark_receipt::document::DocumentError;
use proofmark_receipt::json::JsonError;
use proofmark_receipt::{ChainError, Json, ReceiptError, SignError, object};
use proofmark_server::{KeysError, ServeError, StdioError};
use proofmark_verifier::{
    AcceptError, DecideError, IssueError, KeyringError, ProjectError, ReviewError, StoreError, TrustError, VerifyError,
};

use crate::exit::Exit;
use crate::out;
use crate::paint::printable;

/// An error of the command line itself.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
pub(crate) struct CommandError {
    message: String,
    help: Option<String>,
}

impl CommandError {
    /// An error whose message completes "failed to …".
    pub(crate) fn new(message: impl Into<String>, help: Option<String>) -> CommandError {
        CommandError { message: message.into(), help }
    }

    fn help(&self) -> Option<&str> {
        self.help.as_deref()
    }
}

/// An error whose message completes "failed to …", with what to do about it.
pub(crate) fn with_help(message: impl Into<String>, help: impl Into<String>) -> anyhow::Error {
    CommandError::new(message, Some(help.into())).into()
}

/// Prints an error to standard error. With `--json` it is one JSON object on a line.
pub(crate) fn report(error: &anyhow::Error) -> Exit {
    let message = format!("failed to {}", message(error));
    let help = help(error);
    if out::is_json() {
        let object = object! { "error": message, "help"?: help };
        out::note(Json::from(object).to_text());
    } else {
        out::note(format_args!("error: {}", printable_lines(&message)));
        if let Some(help) = help {
            out::note(format_args!("help: {}", printable_lines(&help)));
        }
    }
    Exit::NoAnswer
}

/// An error and what caused it. An error that quotes its cause is not followed by it.
pub(crate) fn message(error: &anyhow::Error) -> String {
    let mut message = error.to_string();
    for cause in error.chain().skip(1).map(ToString::to_string) {
        if !message.contains(&cause) {
            message.push_str(": ");
            message.push_str(&cause);
        }
    }
    message
}

/// What to do about an error: the help of the first cause that has any.
pub(crate) fn help(error: &anyhow::Error) -> Option<String> {
    // The outermost cause knows best what the user was doing.
    error.chain().find_map(help_of)
}

/// An `anyhow` chain has forgotten the types of its causes, so each type that has a help line is listed here.
fn help_of(cause: &(dyn Error + 'static)) -> Option<String> {
    macro_rules! help_of_types {
        ($($kind:ty),+ $(,)?) => {
            None$(.or_else(|| cause.downcast_ref::<$kind>()?.help().map(|help| help.to_string())))+
        };
    }
    help_of_types!(
        AcceptError,
        ChainError,
        CommandError,
        DecideError,
        DocumentError,
        HeaderError,
        JsonError,
        KeyringError,
        KeysError,
        ParseDecisionError,
        ActionPolicyError,
        ProjectError,
        ReceiptError,
        ReviewError,
        IssueError,
        VerifyError,
        ServeError,
        SignError,
        StdioError,
        StoreError,
        TrustError,
    )
}

/// The help of an error type that has no `help` of its own; a method of the type itself comes first.
pub(crate) trait NoHelp {
    fn help(&self) -> Option<String> {
        None
    }
}

impl<E: Error> NoHelp for E {}

fn printable_lines(text: &str) -> String {
    text.lines().map(printable).collect::<Vec<_>>().join("\n")
}
