//! The paths of the reference server, with its requests; the receipts are as the specification has them.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use proofmark_receipt::{Json, Object};

use crate::body;
use crate::context::{Head, RequestContext};
use crate::problem::Problem;
use crate::receipts::presented;
use crate::reply::Reply;
use crate::router::AppState;
use crate::verifications::asked;

/// `POST /verify`: a request, where a suite without a language is in Python.
pub(crate) async fn verify(state: Arc<AppState>, head: Head, body: Body) -> Result<Reply, Problem> {
    asked(state, head, body, in_python).await
}

/// `POST /verify/schema`: `{output, schema?, constraints?}`, of tier 1.
pub(crate) async fn verify_schema(state: Arc<AppState>, head: Head, body: Body) -> Result<Reply, Problem> {
    asked(state, head, body, of_tier_1).await
}

/// `POST /receipt/verify`: `{receipt}` or a receipt, answered with `valid`.
pub(crate) fn verify_receipt(context: &RequestContext<'_>) -> Result<Json, Problem> {
    let body = context.json()?;
    let (receipt, trust) = presented(&body)?;
    let verification = context.services.check(&receipt, trust.as_deref()).verification;
    let answer = &verification.answer;
    let mut told = Object::new();
    told.insert("valid", answer.code().is_none());
    if let (Some(code), Some(cause)) = (answer.code(), answer.cause()) {
        told.insert("reason", code);
        told.insert("note", cause.to_string());
    }
    if let Some(signer) = verification.signer {
        told.insert("signer_id", signer.to_string());
    }
    let id = Json::parse(receipt.as_bytes()).ok().and_then(|json| Some(json.as_object()?.get("receipt_id")?.clone()));
    told.insert("receipt_id", id.unwrap_or(Json::Null));
    Ok(told.into())
}

/// `GET /health`.
pub(crate) async fn health(State(state): State<Arc<AppState>>) -> Response {
    let mut status = Object::new();
    status.insert("status", "ok");
    status.insert("version", concat!("proofmark/", env!("CARGO_PKG_VERSION")));
    status.insert("vrf_version", "1.0");
    let languages =
        state.services.languages().iter().map(|language| Json::from(language.to_string())).collect::<Vec<_>>();
    status.insert("multilang", languages.len() > 1);
    status.insert("languages", languages);
    Reply::from(Json::from(status)).into_response()
}

fn in_python(text: String) -> Result<String, Problem> {
    let mut request = body::json(text.as_bytes())?;
    let verification = member(&mut request, "verification");
    if let Some(verification) = verification {
        let suite = verification.get("test_suite").and_then(Json::as_object);
        let said = verification.contains("language") || suite.is_some_and(|suite| suite.contains("language"));
        let is_suite = suite.is_some() || verification.contains("tests");
        if is_suite && !said {
            verification.insert("language", "python");
        }
    }
    Ok(request.to_text())
}

fn of_tier_1(text: String) -> Result<String, Problem> {
    let mut request = body::json(text.as_bytes())?;
    if let Json::Object(request) = &mut request {
        let mut verification = match request.remove("verification") {
            Some(Json::Object(verification)) => verification,
            Some(_) | None => Object::new(),
        };
        for name in ["schema", "constraints"] {
            if let Some(given) = request.remove(name) {
                verification.insert(name, given);
            }
        }
        request.insert("verification", verification);
        request.insert("tier", 1_u64);
    }
    Ok(request.to_text())
}

fn member<'a>(json: &'a mut Json, name: &str) -> Option<&'a mut Object> {
    match json {
        Json::Object(object) => match object.get_mut(name) {
            Some(Json::Object(member)) => Some(member),
            Some(_) | None => None,
        },
        _ => None,
    }
}
