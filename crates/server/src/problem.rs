//! Failures, as RFC 9457 problem documents with the `error` member that the runtime SDK reads.

use std::borrow::Cow;
use std::time::Duration;

use axum::body::Body;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use proofmark_decider::{DecideError, GrantError, ReviewError, RevokeError, TellError, UseError, WorthError};
use proofmark_jobs::SubmitError;
use proofmark_receipt::SignError;
use proofmark_receipt::document::DocumentError;
use proofmark_store::StoreError;
use proofmark_verifier::{AcceptError, ChangedDecision, IssueError, PresentedError, ProofError};
use serde::Serialize;
use utoipa::ToSchema;

use crate::attempt_body::AttemptBodyError;
use crate::proofs_body::ProofsBodyError;
use crate::receipt_body::ReceiptBodyError;

/// After how many seconds a client tries again what failed because of the store.
const STORE_RETRY: u64 = 2;
/// The error code of a token that does not count (RFC 6750, section 3.1).
const INVALID_TOKEN: &str = "invalid_token";

/// A request that failed: what the client reads, and what only the log has.
#[derive(Clone, Debug)]
pub struct Problem {
    status: StatusCode,
    code: &'static str,
    message: String,
    help: Option<Cow<'static, str>>,
    retry_after: Option<u64>,
    cause: Option<String>,
}

/// RFC 9457, with `error` as the runtime SDK reads it.
#[derive(Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = Problem)]
pub(crate) struct ProblemDocument<'a> {
    /// Always `about:blank`: `error.code` tells problems apart.
    r#type: &'static str,
    title: &'static str,
    #[schema(minimum = 400, maximum = 599)]
    status: u16,
    /// What is wrong
    detail: &'a str,
    /// What to do
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    help: Option<&'a str>,
    /// The `X-Request-Id` of this answer, which the server's log has, too
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    request_id: Option<&'a str>,
    error: SdkError<'a>,
}

#[derive(Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct SdkError<'a> {
    #[schema(pattern = "^[a-z0-9_]+$")]
    code: &'static str,
    /// `detail` and `help` in one
    #[schema(min_length = 1)]
    message: Cow<'a, str>,
    retryable: bool,
}

impl Problem {
    /// A problem with this status, a code for programs and a message for people.
    pub fn new(status: StatusCode, code: &'static str, message: impl Into<String>) -> Self {
        Self { status, code, message: message.into(), help: None, retry_after: None, cause: None }
    }

    /// A request that cannot be understood.
    pub fn bad(code: &'static str, message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, code, message)
    }

    pub(crate) fn unprocessable(code: &'static str, message: impl Into<String>) -> Self {
        Self::new(StatusCode::UNPROCESSABLE_ENTITY, code, message)
    }

    fn conflict(code: &'static str, message: impl Into<String>) -> Self {
        Self::new(StatusCode::CONFLICT, code, message)
    }

    /// A row of the store is not what was signed.
    fn changed(message: impl Into<String>) -> Self {
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, "changed_row", message)
    }

    pub(crate) fn unavailable(code: &'static str, message: impl Into<String>) -> Self {
        Self::new(StatusCode::SERVICE_UNAVAILABLE, code, message).retry_after(5)
    }

    /// What to do about it.
    pub fn help(self, help: impl Into<Cow<'static, str>>) -> Self {
        Self { help: Some(help.into()), ..self }
    }

    /// What to do about it, where an error says so.
    pub fn maybe_help(self, help: Option<impl Into<Cow<'static, str>>>) -> Self {
        Self { help: help.map(Into::into), ..self }
    }

    /// How long the client should wait before it tries again, in seconds.
    fn retry_after(self, seconds: u64) -> Self {
        Self { retry_after: Some(seconds), ..self }
    }

    /// The cause, for the log alone: a client need not know where the store is.
    pub fn cause(self, cause: impl ToString) -> Self {
        Self { cause: Some(cause.to_string()), ..self }
    }

    /// The token of the request does not count. The message has no quotation mark and no backslash (RFC 6750, section 3).
    pub(crate) fn invalid_token(message: &'static str) -> Self {
        Self::new(StatusCode::UNAUTHORIZED, INVALID_TOKEN, message)
            .help("get another token from the issuer, and send it as `Authorization: Bearer …`")
    }

    pub(crate) fn unauthorized() -> Self {
        Self::new(StatusCode::UNAUTHORIZED, "unauthorized", "the request carries no known API key")
            .help("send one as `Authorization: Bearer …`, once")
    }

    /// The key was revoked while the request was worked on.
    pub fn revoked() -> Self {
        Self::new(StatusCode::UNAUTHORIZED, "unauthorized", "the API key was revoked")
            .help("ask the operator of the server for a new one")
    }

    /// Nothing is at this path.
    #[must_use]
    pub fn unknown_path() -> Self {
        Self::new(StatusCode::NOT_FOUND, "not_found", "unknown path").help("see /openapi.json")
    }

    /// What is at this path does not take the method.
    #[must_use]
    pub fn method_not_allowed() -> Self {
        Self::new(StatusCode::METHOD_NOT_ALLOWED, "method_not_allowed", "method not allowed on this path")
            .help("see /openapi.json")
    }

    /// The caller's role does not permit it; the endpoint needs this one.
    pub(crate) fn forbidden(role: &str) -> Self {
        let message = format!("this endpoint needs a key with the role `{role}`");
        Self::new(StatusCode::FORBIDDEN, "forbidden", message)
    }

    /// A document that cannot be read; `what` completes "failed to …".
    /// A document that cannot be read; `what` completes "failed to …".
    pub fn unreadable(what: &str, error: &DocumentError) -> Self {
        Self::bad(error.code(), format!("{what}: {error}")).maybe_help(error.help())
    }

    /// There is no such `what` for this tenant.
    pub fn not_found(what: &str) -> Self {
        // What another tenant has gets the same answer: nobody else learns that it exists.
        Self::new(StatusCode::NOT_FOUND, "not_found", format!("{what} not found"))
    }

    /// The server, or the part of it that a tenant may use, is busy.
    #[must_use]
    pub fn busy() -> Self {
        let message = "this caller, or the server, has as many requests at once as it may";
        Self::new(StatusCode::TOO_MANY_REQUESTS, "busy", message)
            .help("send the request again after a second")
            .retry_after(1)
    }

    pub(crate) fn too_often(wait: Duration) -> Self {
        Self::new(StatusCode::TOO_MANY_REQUESTS, "too_many_requests", "this caller sends requests too often")
            .help("wait for the seconds of `Retry-After`, or ask for a higher `--rate`")
            // The time is rounded up, so that a client that waits this long is not refused again.
            .retry_after(wait.as_secs().saturating_add(1))
    }

    /// The answer took too long.
    #[must_use]
    pub fn too_slow() -> Self {
        Self::unavailable("too_slow", "the answer took too long, and the request may still be carried out")
            .help("check what happened before you send the request again")
            .retry_after(1)
    }

    pub(crate) fn not_stored(cause: &str) -> Self {
        Self::unavailable("not_kept", "the verification ended without a receipt")
            .help("send the request again")
            .cause(cause)
    }

    pub(crate) fn cancelled() -> Self {
        Self::conflict("cancelled", "the verification was cancelled").help("send it again")
    }

    /// The server failed. The cause is for the log alone.
    #[must_use]
    pub fn internal() -> Self {
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, "internal", "the server failed on this request")
            .help("report it to the operator of the server, with the request id")
    }

    /// The message with the help, for clients that have one place for text.
    pub(crate) fn text(&self) -> Cow<'_, str> {
        match &self.help {
            None => Cow::Borrowed(&self.message),
            Some(help) => Cow::Owned(format!("{}; {help}", self.message)),
        }
    }

    /// The status of the answer.
    #[must_use]
    pub fn status(&self) -> StatusCode {
        self.status
    }

    /// What is wrong, in words.
    #[must_use]
    pub fn message(&self) -> &str {
        &self.message
    }

    /// What to do about it, if anything is known.
    pub fn way_out(&self) -> Option<&str> {
        self.help.as_deref()
    }

    pub(crate) fn code(&self) -> &'static str {
        self.code
    }

    /// What the log should have beside the answer.
    pub(crate) fn log_cause(&self) -> Option<&str> {
        self.cause.as_deref()
    }

    /// The body of the answer to the request with this id.
    pub(crate) fn to_body(&self, request_id: Option<&str>) -> Body {
        let document = ProblemDocument {
            r#type: "about:blank",
            title: self.status.canonical_reason().unwrap_or("Error"),
            status: self.status.as_u16(),
            detail: &self.message,
            help: self.help.as_deref(),
            request_id,
            error: SdkError { code: self.code, message: self.text(), retryable: self.retryable() },
        };
        // A struct of texts and numbers always has JSON.
        serde_json::to_vec(&document).map_or_else(|_| Body::empty(), Body::from)
    }

    /// How to authenticate, and what was wrong with a token (RFC 6750, section 3).
    fn challenge(&self) -> HeaderValue {
        const PLAIN: HeaderValue = HeaderValue::from_static("Bearer");
        if self.code != INVALID_TOKEN {
            return PLAIN;
        }
        let challenge = format!("Bearer error=\"{INVALID_TOKEN}\", error_description=\"{}\"", self.message);
        HeaderValue::try_from(challenge).unwrap_or(PLAIN)
    }

    fn retryable(&self) -> bool {
        // One fact for the header and for the SDK: a problem that may pass says when to try again.
        self.retry_after.is_some()
    }
}

impl Problem {
    /// The name of an account of this host is the id of an API key of the tenant that it belongs to.
    pub(crate) fn account_like_key() -> Self {
        Self::conflict("ambiguous_account", "an API key of this tenant has the name of this account as its id")
            .help("the operator of the server gives the key another id, or the account sends a key")
    }

    /// The caller's key names the one policy that they ask.
    pub(crate) fn other_policy(own: &str) -> Self {
        Self::new(StatusCode::FORBIDDEN, "other_policy", "you may not ask this policy")
            .help(format!("leave the policy out, or name `{own}`"))
    }
}

impl From<DecideError> for Problem {
    fn from(error: DecideError) -> Self {
        let (message, help) = (error.to_string(), error.help());
        let problem = match error {
            DecideError::Store(error) => return error.into(),
            DecideError::Presented(PresentedError::Proof(error)) => return error.into(),
            DecideError::KeyReused(_) => Self::unprocessable("idempotency_key_reused", message),
            DecideError::Raced => Self::unavailable("raced", message).retry_after(1),
            DecideError::Stopped => Self::unavailable("stopping", message),
            DecideError::Sign(SignError::TooLarge(_)) => Self::unprocessable("too_large", message),
            DecideError::Changed(_) | DecideError::OtherAnswer(_) => Self::changed(message),
            DecideError::NoPolicy => Self::conflict("no_policy", message),
            DecideError::OtherPolicy { .. } => Self::unprocessable("unknown_policy", message),
            _ => Self::new(StatusCode::INTERNAL_SERVER_ERROR, "no_decision", message),
        };
        problem.maybe_help(help)
    }
}

impl From<TellError> for Problem {
    fn from(error: TellError) -> Self {
        let (message, help) = (error.to_string(), error.help());
        match error {
            TellError::Session(error) => error.into(),
            TellError::Empty | TellError::TooLong | TellError::Name(_) => {
                Self::unprocessable("invalid_request", message).maybe_help(help)
            }
        }
    }
}

impl From<ChangedDecision> for Problem {
    fn from(error: ChangedDecision) -> Self {
        let help = error.help();
        Self::changed(error.to_string()).help(help)
    }
}

impl From<StoreError> for Problem {
    fn from(error: StoreError) -> Self {
        let (message, help) = (error.to_string(), error.help());
        let problem = match error {
            StoreError::Reviewed(_) | StoreError::ReviewedMeanwhile(_) => Self::conflict("already_reviewed", message),
            StoreError::AllowedSince(..) => Self::conflict("nothing_to_review", message),
            StoreError::Superseded(_) => Self::conflict("already_superseded", message),
            StoreError::NoReceipt(_) => return Self::not_found("receipt"),
            StoreError::Spent(_) => Self::conflict("already_redeemed", message),
            StoreError::Text | StoreError::LongKey { .. } => Self::unprocessable("invalid_text", message),
            StoreError::Left => return Self::too_slow(),
            StoreError::Unknown { .. } => {
                return Self::unavailable(
                    "outcome_unknown",
                    "the store did not answer whether it has stored this request",
                )
                .help("check what happened before you send the request again")
                .retry_after(STORE_RETRY)
                .cause(error);
            }
            StoreError::Behind { .. } => {
                return Self::unavailable(
                    "store_behind",
                    "the store lacks what this server has signed before, so nothing more is signed",
                )
                .help(
                    "the operator of the server uses the newest copy of the store, or accepts the loss with `proofmark store accept-loss`",
                )
                .cause(error);
            }
            // What else can go wrong names rows and files of the store, which concern only its operator.
            error => {
                let passes = matches!(
                    error,
                    StoreError::Locked { .. } | StoreError::Full { .. } | StoreError::Unreachable { .. }
                );
                let problem = Self::unavailable("store_unavailable", "the store cannot be used at present")
                    .help("the operator of the server finds the cause in its log, under the request id")
                    .cause(error);
                return if passes { problem.retry_after(STORE_RETRY) } else { problem };
            }
        };
        problem.maybe_help(help)
    }
}

impl From<UseError> for Problem {
    fn from(error: UseError) -> Self {
        let (message, help) = (error.to_string(), error.help());
        let why = match error {
            UseError::Store(error) => return error.into(),
            UseError::Worth(why) => why,
        };
        // 409: what else is stored stands against it. 422: this receipt does not meet the terms.
        let status = match &why {
            WorthError::Superseded(_)
            | WorthError::IssuedElsewhere
            | WorthError::NoRequest
            | WorthError::OtherRequest => StatusCode::CONFLICT,
            WorthError::Signature { .. }
            | WorthError::Untrusted
            | WorthError::NotAJob
            | WorthError::OtherWork { .. }
            | WorthError::Verdict(_) => StatusCode::UNPROCESSABLE_ENTITY,
        };
        Self::new(status, why.code(), message).maybe_help(help)
    }
}

impl From<IssueError> for Problem {
    fn from(error: IssueError) -> Self {
        let (message, help) = (error.to_string(), error.help());
        match error {
            IssueError::Store(error) => error.into(),
            _ => Self::new(StatusCode::INTERNAL_SERVER_ERROR, "not_sealed", message).maybe_help(help),
        }
    }
}

impl From<ReviewError> for Problem {
    fn from(error: ReviewError) -> Self {
        let (message, help) = (error.to_string(), error.help());
        let problem = match error {
            ReviewError::Decide(error) => return error.into(),
            ReviewError::Store(error) => return error.into(),
            ReviewError::Unknown(_) => Self::new(StatusCode::NOT_FOUND, "not_found", message),
            ReviewError::Allowed(_) => Self::conflict("nothing_to_review", message),
            ReviewError::Enough(_) => Self::conflict("enough_approvals", message),
            ReviewError::Denied { .. } => Self::conflict("denied", message),
            ReviewError::OtherAction(_) => Self::conflict("other_action", message),
            ReviewError::NoFacts(_) | ReviewError::Grant(GrantError::NoFacts(_)) => Self::conflict("no_facts", message),
            ReviewError::Grant(GrantError::Decide(error)) => return error.into(),
            ReviewError::Grant(GrantError::Store(error)) => return error.into(),
            ReviewError::OtherPolicy { .. } => Self::conflict("other_policy", message),
            ReviewError::Passkey(_) => Self::new(StatusCode::UNPROCESSABLE_ENTITY, "passkey_refused", message),
            ReviewError::NotAsked { .. } | ReviewError::CannotCount { .. } => {
                Self::unprocessable("cannot_count", message)
            }
            _ => Self::unprocessable("invalid_review", message),
        };
        problem.maybe_help(help)
    }
}

impl From<RevokeError> for Problem {
    fn from(error: RevokeError) -> Self {
        let (message, help) = (error.to_string(), error.help());
        let problem = match error {
            RevokeError::Decide(error) => return error.into(),
            RevokeError::Store(error) => return error.into(),
            RevokeError::Unknown(_) => Self::new(StatusCode::NOT_FOUND, "not_found", message),
            RevokeError::Ended(_) => Self::conflict("already_revoked", message),
            RevokeError::NotAGrant(_) => Self::unprocessable("not_a_grant", message),
            RevokeError::Note => Self::unprocessable("invalid_review", message),
        };
        problem.maybe_help(help)
    }
}

impl From<AttemptBodyError> for Problem {
    fn from(error: AttemptBodyError) -> Self {
        Self::bad(error.code(), error.to_string()).maybe_help(error.help())
    }
}

impl From<ProofsBodyError> for Problem {
    fn from(error: ProofsBodyError) -> Self {
        match error {
            ProofsBodyError::Fields(error) => Self::unreadable("read the request", &error),
            ProofsBodyError::Proof(error) => error.into(),
        }
    }
}

impl From<ProofError> for Problem {
    fn from(error: ProofError) -> Self {
        Self::unprocessable(error.code(), error.to_string()).help(error.help())
    }
}

impl From<ReceiptBodyError> for Problem {
    fn from(error: ReceiptBodyError) -> Self {
        Self::bad(error.code(), error.to_string()).maybe_help(error.help())
    }
}

impl From<SubmitError> for Problem {
    fn from(error: SubmitError) -> Self {
        let (message, help) = (error.to_string(), error.help());
        let problem = match error {
            SubmitError::Store(error) => return error.into(),
            SubmitError::OtherAnswer(_) => Self::changed(message),
            SubmitError::Busy => Self::new(StatusCode::TOO_MANY_REQUESTS, "queue_full", message).retry_after(2),
            SubmitError::Stopping => Self::unavailable("stopping", message),
            SubmitError::KeyReused(_) => Self::unprocessable("idempotency_key_reused", message),
            SubmitError::Request(error) => Self::unprocessable(error.code(), message),
            _ => Self::new(StatusCode::INTERNAL_SERVER_ERROR, "not_submitted", message),
        };
        problem.maybe_help(help)
    }
}

impl From<AcceptError> for Problem {
    fn from(error: AcceptError) -> Self {
        let (message, help) = (error.to_string(), error.help());
        let problem = match error {
            AcceptError::Store(StoreError::RunMoved { .. }) => {
                return Self::conflict("attempt_raced", "another attempt at this step was judged meanwhile")
                    .help("get the step, and try again");
            }
            AcceptError::Store(error) => return error.into(),
            AcceptError::Awaits { .. } => Self::conflict("awaits_approval", message),
            AcceptError::OtherState { .. } | AcceptError::OtherSigner { .. } => Self::changed(message),
            AcceptError::Refused { .. } => Self::conflict("attempt_refused", message),
            AcceptError::NotBegun { .. } => Self::new(StatusCode::NOT_FOUND, "not_found", message),
            AcceptError::OfAnother { .. } => Self::new(StatusCode::FORBIDDEN, "run_of_another", message),
            AcceptError::Stopped(_) => Self::unavailable("stopping", message),
            AcceptError::State { .. } | AcceptError::Sign(_) | AcceptError::Randomness(_) => {
                Self::new(StatusCode::INTERNAL_SERVER_ERROR, "not_judged", message)
            }
            _ => Self::unprocessable("not_judged", message),
        };
        problem.maybe_help(help)
    }
}

/// The problem itself goes along as an extension: `observe` writes it again with the id of the request.
impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let mut response = Response::new(self.to_body(None));
        *response.status_mut() = self.status;
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/problem+json"));
        if let Some(seconds) = self.retry_after {
            headers.insert(header::RETRY_AFTER, seconds.into());
        }
        // Every 401 has to say how to authenticate (RFC 9110, section 15.5.2).
        if self.status == StatusCode::UNAUTHORIZED {
            headers.insert(header::WWW_AUTHENTICATE, self.challenge());
        }
        response.extensions_mut().insert(self);
        response
    }
}
