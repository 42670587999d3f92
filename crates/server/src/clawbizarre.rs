//! The paths of ClawBizarre's reference server, with its requests; the receipts are as the specification has them.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::State;
use proofmark_receipt::{Json, Object};
use serde::Serialize;
use utoipa::ToSchema;

use crate::context::{Head, RequestContext};
use crate::opaque::Anything;
use crate::problem::Problem;
use crate::receipt_body::ReceiptBody;
use crate::reply::{Document, Reply};
use crate::state::AppState;
use crate::submit::{self, Source};
use crate::verifications::answer;

#[derive(Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Validity {
    valid: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    reason: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    note: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    signer_id: Option<String>,
    #[schema(value_type = Anything)]
    receipt_id: Document,
}

#[derive(Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ReferenceHealth {
    status: &'static str,
    version: &'static str,
    vrf_version: &'static str,
    multilang: bool,
    languages: Vec<String>,
}

/// `POST /verify`: a request, where a suite without a language is in Python.
pub(crate) async fn verify(state: Arc<AppState>, head: Head, body: Body) -> Result<Reply, Problem> {
    answer(state, head, body, |text| Source::Foreign(text, in_python)).await
}

/// `POST /verify/schema`: `{output, schema?, constraints?}`, of tier 1.
pub(crate) async fn verify_schema(state: Arc<AppState>, head: Head, body: Body) -> Result<Reply, Problem> {
    answer(state, head, body, |text| Source::Foreign(text, of_tier_1)).await
}

/// `POST /receipt/verify`: `{receipt}` or a receipt, answered with `valid`.
pub(crate) fn verify_receipt(context: &RequestContext<'_>) -> Result<Reply, Problem> {
    let body = ReceiptBody::read_either(&context.json()?)?;
    let verification = context.services.check(&body).verification;
    let receipt = Json::parse(body.receipt.as_bytes()).ok();
    // As presented, also where the receipt is not valid: the client reads which one was meant.
    let id = receipt.as_ref().and_then(|receipt| receipt.as_object()?.get("receipt_id"));
    Reply::json(&Validity {
        valid: verification.answer.code().is_none(),
        reason: verification.answer.code(),
        note: verification.answer.cause(),
        signer_id: verification.signer.map(|signer| signer.to_string()),
        receipt_id: id.unwrap_or(&Json::Null).into(),
    })
}

/// `GET /health`.
pub(crate) async fn health(State(state): State<Arc<AppState>>) -> Result<Reply, Problem> {
    let found = submit::blocking(&state.services, |services| services.verifications.languages()).await??;
    let languages: Vec<String> = found.iter().map(ToString::to_string).collect();
    Reply::json(&ReferenceHealth {
        status: "ok",
        version: concat!("proofmark/", env!("CARGO_PKG_VERSION")),
        vrf_version: "1.0",
        multilang: languages.len() > 1,
        languages,
    })
}

fn in_python(mut request: Json) -> Result<Json, Problem> {
    if let Some(verification) = member(&mut request, "verification") {
        let suite = verification.get("test_suite").and_then(Json::as_object);
        let names_language = verification.contains("language") || suite.is_some_and(|suite| suite.contains("language"));
        // Constraints have no language. `hashes.tests` is a digest of this object, so nothing needless is added to it.
        let is_suite = suite.is_some() || verification.contains("tests");
        if is_suite && !names_language {
            verification.insert("language", "python");
        }
    }
    Ok(request)
}

fn of_tier_1(mut request: Json) -> Result<Json, Problem> {
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
    Ok(request)
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
