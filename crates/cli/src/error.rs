//! Errors as people and programs read them: a message, and help on what to do about it.

use std::error::Error;

use proofmark_boundary::{ActionPolicyError, ParseDecisionError};
use proofmark_decider::{DecideError, GrantError, ReviewError, RevokeError, StopError, SuggestSessionError};
use proofmark_git::GitError;
use proofmark_interop::x402::HeaderError;
use proofmark_keys::{KeyringError, TrustError};
use proofmark_log::LogError;
use proofmark_receipt::document::DocumentError;
use proofmark_receipt::json::JsonError;
use proofmark_receipt::{ChainError, ReceiptError, SignError};
use proofmark_server::{BucketError, IssuerError, KeysError, KeysFileError, ServeError, WebhookError};
use proofmark_session::SessionError;
use proofmark_store::{CopyError, StoreError};
use proofmark_verifier::{
    AcceptError, IssueError, LockError, PresentedError, ProjectError, StrengthError, VerifyError,
};

use crate::paint::printable;
use crate::source::SourceError;

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

/// The error that options which a command is given for another cannot be read.
pub(crate) fn wrong_arguments(command: &str, error: &clap::Error) -> anyhow::Error {
    let text = error.to_string();
    let first = text.lines().next().unwrap_or_default().trim_start_matches("error: ");
    // To pass an unknown option as a value helps nobody.
    let tip = text.lines().find_map(|line| line.trim().strip_prefix("tip: ")).filter(|tip| !tip.starts_with("to pass"));
    let tip = tip.map(str::to_owned).unwrap_or_else(|| format!("`{command} --help` lists the options"));
    with_help(format!("read the options of `{command}`: {}", printable(first)), tip)
}

/// An error and what caused it. An error that quotes its cause is not followed by it.
pub(crate) fn message(error: &anyhow::Error) -> String {
    let mut message = error.to_string();
    for cause in error.chain().skip(1).map(ToString::to_string) {
        // Some types quote their cause in their own message, and others leave it to the chain.
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

/// A name of an error in a document for programs, which does not change.
pub(crate) fn code(error: &anyhow::Error) -> Option<&str> {
    if let Some(found) = in_text(error) {
        return Some(&found.code);
    }
    error.chain().find_map(|cause| Some(cause.downcast_ref::<DocumentError>()?.code()))
}

/// The error in a text that an error is, or is caused by.
pub(crate) fn in_text(error: &anyhow::Error) -> Option<&SourceError> {
    error.chain().find_map(|cause| cause.downcast_ref())
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
        ActionPolicyError,
        ChainError,
        CommandError,
        DecideError,
        DocumentError,
        BucketError,
        GitError,
        HeaderError,
        IssuerError,
        CopyError,
        JsonError,
        KeyringError,
        LockError,
        LogError,
        KeysError,
        KeysFileError,
        ParseDecisionError,
        PresentedError,
        ProjectError,
        ReceiptError,
        ReviewError,
        GrantError,
        RevokeError,
        IssueError,
        VerifyError,
        WebhookError,
        ServeError,
        SessionError,
        SignError,
        SourceError,
        StopError,
        StoreError,
        StrengthError,
        SuggestSessionError,
        TrustError,
    )
}
