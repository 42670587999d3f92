//! What goes wrong, as RFC 9457 problems that also have the form the runtime SDK reads.

use std::time::Duration;

use axum::body::Body;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use proofmark_receipt::{Json, Object, SignError};
use proofmark_verifier::{
    AcceptError, DecideError, ReviewError, SealError, StoreError, SubmitError, UseError, WorthError,
};

use crate::attempt_body::AttemptBodyError;
use crate::log;

/// An answer that is none.
#[derive(Clone, Debug)]
pub(crate) struct Problem {
    status: StatusCode,
    code: &'static str,
    message: String,
    retry_after: Option<u64>,
}

impl Problem {
    pub(crate) fn new(status: StatusCode, code: &'static str, message: impl Into<String>) -> Self {
        Self { status, code, message: message.into(), retry_after: None }
    }

    pub(crate) fn bad(code: &'static str, message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, code, message)
    }

    pub(crate) fn not_found(what: &str) -> Self {
        Self::new(
            StatusCode::NOT_FOUND,
            "not_found",
            format!("there is no {what}; look at /openapi.json for what there is"),
        )
    }

    pub(crate) fn busy() -> Self {
        let message = "this caller, or the server, has as much at once as it may; send this again after a second";
        Self { retry_after: Some(1), ..Self::new(StatusCode::TOO_MANY_REQUESTS, "busy", message) }
    }

    pub(crate) fn too_often(wait: Duration) -> Self {
        let message =
            "this caller calls more often than it may; wait as `Retry-After` says, or ask for a higher `--rate`";
        let seconds = wait.as_secs().saturating_add(1);
        Self { retry_after: Some(seconds), ..Self::new(StatusCode::TOO_MANY_REQUESTS, "too_many_requests", message) }
    }

    pub(crate) fn too_slow() -> Self {
        let message =
            "the answer took too long, and what was asked for may still be done; look before you send it again";
        Self { retry_after: Some(1), ..Self::new(StatusCode::SERVICE_UNAVAILABLE, "too_slow", message) }
    }

    /// The server stops, or took too long: it is as if nothing had been asked.
    fn stopped(error: &dyn std::error::Error) -> Self {
        Self { retry_after: Some(5), ..Self::new(StatusCode::SERVICE_UNAVAILABLE, "stopping", error.to_string()) }
    }

    pub(crate) fn failed(why: &str) -> Self {
        // Where the store is, is nothing a client has to know.
        log::say(format_args!("a verification has no receipt: {why}"));
        let message = "the work has no receipt: it could not be kept; send it again";
        Self { retry_after: Some(5), ..Self::new(StatusCode::SERVICE_UNAVAILABLE, "not_kept", message) }
    }

    pub(crate) fn cancelled() -> Self {
        Self::new(StatusCode::CONFLICT, "cancelled", "the verification was cancelled; send it again")
    }

    /// What went wrong, in words.
    pub(crate) fn message(&self) -> &str {
        &self.message
    }

    pub(crate) fn internal() -> Self {
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, "internal", "the server failed on this request; report it")
    }

    fn retryable(&self) -> bool {
        self.retry_after.is_some() || self.status == StatusCode::SERVICE_UNAVAILABLE
    }
}

impl From<DecideError> for Problem {
    fn from(error: DecideError) -> Self {
        match error {
            DecideError::KeyReused(_) => {
                Self::new(StatusCode::UNPROCESSABLE_ENTITY, "idempotency_key_reused", error.to_string())
            }
            DecideError::Raced => {
                Self { retry_after: Some(1), ..Self::new(StatusCode::SERVICE_UNAVAILABLE, "raced", error.to_string()) }
            }
            DecideError::Store(error) => error.into(),
            DecideError::Stopped => Self::stopped(&error),
            DecideError::Sign(SignError::TooLarge(_)) => {
                Self::new(StatusCode::UNPROCESSABLE_ENTITY, "too_large", error.to_string())
            }
            DecideError::NoPolicy => Self::new(StatusCode::CONFLICT, "no_policy", error.to_string()),
            error => Self::new(StatusCode::INTERNAL_SERVER_ERROR, "no_decision", error.to_string()),
        }
    }
}

impl From<StoreError> for Problem {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::Reviewed(_) => Self::new(StatusCode::CONFLICT, "already_reviewed", error.to_string()),
            StoreError::AllowedSince(..) => Self::new(StatusCode::CONFLICT, "nothing_to_review", error.to_string()),
            StoreError::Superseded(_) => Self::new(StatusCode::CONFLICT, "already_superseded", error.to_string()),
            StoreError::NoReceipt(_) => Self::not_found("such receipt"),
            StoreError::Spent(_) => Self::new(StatusCode::CONFLICT, "already_redeemed", error.to_string()),
            error => {
                // Where the store is, is nothing a client has to know.
                log::say(&error);
                let message =
                    "the store cannot be used at present; whoever runs this server finds the cause in its log";
                Self {
                    retry_after: Some(5),
                    ..Self::new(StatusCode::SERVICE_UNAVAILABLE, "store_unavailable", message)
                }
            }
        }
    }
}

impl From<UseError> for Problem {
    fn from(error: UseError) -> Self {
        let why = match error {
            UseError::Store(error) => return error.into(),
            UseError::Worth(why) => why,
        };
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
        Self::new(status, why.code(), UseError::Worth(why).to_string())
    }
}

impl From<SealError> for Problem {
    fn from(error: SealError) -> Self {
        match error {
            SealError::Store(error) => error.into(),
            error => Self::new(StatusCode::INTERNAL_SERVER_ERROR, "not_sealed", error.to_string()),
        }
    }
}

impl From<ReviewError> for Problem {
    fn from(error: ReviewError) -> Self {
        match error {
            ReviewError::Unknown(_) => Self::new(StatusCode::NOT_FOUND, "not_found", error.to_string()),
            ReviewError::Allowed(_) => Self::new(StatusCode::CONFLICT, "nothing_to_review", error.to_string()),
            ReviewError::Enough(_) => Self::new(StatusCode::CONFLICT, "enough_approvals", error.to_string()),
            ReviewError::Denied { .. } => Self::new(StatusCode::CONFLICT, "denied", error.to_string()),
            ReviewError::NoFacts(_) => Self::new(StatusCode::CONFLICT, "no_facts", error.to_string()),
            ReviewError::NotAsked { .. } | ReviewError::CannotCount { .. } => {
                Self::new(StatusCode::UNPROCESSABLE_ENTITY, "cannot_count", error.to_string())
            }
            ReviewError::Decide(error) => error.into(),
            ReviewError::Store(error) => error.into(),
            error => Self::new(StatusCode::UNPROCESSABLE_ENTITY, "invalid_review", error.to_string()),
        }
    }
}

impl From<AttemptBodyError> for Problem {
    fn from(error: AttemptBodyError) -> Self {
        Self::bad(error.code(), error.to_string())
    }
}

impl From<SubmitError> for Problem {
    fn from(error: SubmitError) -> Self {
        let retried = |code, seconds| Self {
            retry_after: Some(seconds),
            ..Self::new(StatusCode::TOO_MANY_REQUESTS, code, error.to_string())
        };
        match error {
            SubmitError::Busy => retried("queue_full", 2),
            SubmitError::Stopping => Self {
                retry_after: Some(5),
                ..Self::new(StatusCode::SERVICE_UNAVAILABLE, "stopping", error.to_string())
            },
            SubmitError::KeyReused(_) => {
                Self::new(StatusCode::UNPROCESSABLE_ENTITY, "idempotency_key_reused", error.to_string())
            }
            SubmitError::Request(error) => Self::new(StatusCode::UNPROCESSABLE_ENTITY, error.code(), error.to_string()),
            SubmitError::Store(error) => error.into(),
            error => Self::new(StatusCode::INTERNAL_SERVER_ERROR, "not_submitted", error.to_string()),
        }
    }
}

impl From<AcceptError> for Problem {
    fn from(error: AcceptError) -> Self {
        match error {
            AcceptError::Refused { .. } => Self::new(StatusCode::CONFLICT, "attempt_refused", error.to_string()),
            AcceptError::NotBegun { .. } => Self::new(StatusCode::NOT_FOUND, "not_found", error.to_string()),
            AcceptError::OfAnother { .. } => Self::new(StatusCode::FORBIDDEN, "run_of_another", error.to_string()),
            AcceptError::Store(StoreError::RunMoved { .. } | StoreError::ChainMoved { .. }) => {
                let message = "another attempt at this step was judged meanwhile; get the step, and try again";
                Self::new(StatusCode::CONFLICT, "attempt_raced", message)
            }
            AcceptError::Store(error) => error.into(),
            AcceptError::Stopped(_) => Self::stopped(&error),
            AcceptError::State { .. } | AcceptError::Sign(_) | AcceptError::Randomness(_) => {
                Self::new(StatusCode::INTERNAL_SERVER_ERROR, "not_judged", error.to_string())
            }
            error => Self::new(StatusCode::UNPROCESSABLE_ENTITY, "not_judged", error.to_string()),
        }
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let mut error = Object::new();
        error.insert("code", self.code);
        error.insert("message", self.message.as_str());
        error.insert("retryable", self.retryable());
        let mut document = Object::new();
        document.insert("type", "about:blank");
        document.insert("title", self.status.canonical_reason().unwrap_or("Error"));
        document.insert("status", u64::from(self.status.as_u16()));
        document.insert("detail", self.message.as_str());
        document.insert("error", error);
        let mut response = Response::new(Body::from(Json::from(document).to_text()));
        *response.status_mut() = self.status;
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, header::HeaderValue::from_static("application/problem+json"));
        if let Some(seconds) = self.retry_after {
            headers.insert(header::RETRY_AFTER, seconds.into());
        }
        if self.status == StatusCode::UNAUTHORIZED {
            headers.insert(header::WWW_AUTHENTICATE, header::HeaderValue::from_static("Bearer"));
        }
        response
    }
}
