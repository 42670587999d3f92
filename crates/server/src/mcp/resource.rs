//! Receipts and decisions as resources: `receipt://{id}` and `decision://{id}`.

use std::sync::Arc;

use proofmark_decider::DecideError;
use proofmark_receipt::{Json, Object, object};

use super::request::{INTERNAL_ERROR, INVALID_PARAMS, RESOURCE_NOT_FOUND, Refusal, Request};
use super::server::Server;

const RECEIPT: &str = "receipt://";
const DECISION: &str = "decision://";
pub(super) const RECEIPT_TYPE: &str = "application/vrf+json";
const DECISION_TYPE: &str = "application/json";

pub(super) fn templates() -> Vec<Json> {
    let template = |name: &str, title: &str, description: &str, media_type: &str| {
        object! {
            "uriTemplate": format!("{name}://{{id}}"),
            "name": name,
            "title": title,
            "description": description,
            "mimeType": media_type,
        }
    };
    let receipt = "A VRF receipt in the store, with the bytes that were signed";
    let decision = "A decision receipt in the store, with the bytes that were signed";
    vec![
        template("receipt", "Receipt", receipt, RECEIPT_TYPE).into(),
        template("decision", "Decision receipt", decision, DECISION_TYPE).into(),
    ]
}

/// The URI of a receipt.
pub(super) fn receipt_uri(id: &str) -> String {
    format!("{RECEIPT}{id}")
}

/// The document behind the URI that is asked for.
pub(super) async fn read(server: &Server, request: &Request) -> Result<Object, Refusal> {
    let uri = request.text("uri")?;
    let tenant = request.caller.tenant.clone();
    let place = server.limits.places.take(&tenant).await.map_err(|problem| Refusal::busy(&problem))?;
    let (services, asked) = (Arc::clone(&server.services), uri.to_owned());
    let found = tokio::task::spawn_blocking(move || {
        // It is given back when the document is read, whether or not its client still waits.
        let _held = place;
        if let Some(id) = asked.strip_prefix(RECEIPT) {
            return Ok(services.receipt(&tenant, id)?.map(|receipt| (receipt.to_text(), RECEIPT_TYPE)));
        }
        let Some(id) = asked.strip_prefix(DECISION) else { return Ok(None) };
        Ok::<_, DecideError>(services.decision(&tenant, id)?.map(|text| (text, DECISION_TYPE)))
    });
    let failed = |error: String| Refusal::new(INTERNAL_ERROR, format!("failed to {error}"));
    let found = found.await.map_err(|error| failed(format!("read the resource ({error})")))?;
    let Some((text, media_type)) = found.map_err(|error| failed(error.to_string()))? else {
        let code = if request.is_stateless { INVALID_PARAMS } else { RESOURCE_NOT_FOUND };
        let message =
            "there is no such resource; write `receipt://` or `decision://` and the id of one that is kept here";
        return Err(Refusal::new(code, message).with(object! { "uri": uri }));
    };
    request.hold(text.len()).map_err(|problem| Refusal::busy(&problem))?;
    let contents = object! { "uri": uri, "mimeType": media_type, "text": text };
    Ok(object! { "contents": vec![Json::from(contents)] })
}
