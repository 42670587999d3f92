//! Receipts and decisions as resources: `receipt://{id}` and `decision://{id}`.

use std::sync::Arc;

use proofmark_store::{StoreError, Tenant};
use rmcp::ErrorData;
use rmcp::model::{ReadResourceResult, ResourceContents, ResourceTemplate};

use crate::services::Services;
use crate::share::Place;

const RECEIPT: &str = "receipt://";
const DECISION: &str = "decision://";
const RECEIPT_TYPE: &str = "application/vrf+json";
const DECISION_TYPE: &str = "application/json";

pub(super) fn templates() -> Vec<ResourceTemplate> {
    vec![
        ResourceTemplate::new("receipt://{id}", "receipt")
            .with_title("Receipt")
            .with_description("A VRF receipt in the store, with the bytes that were signed")
            .with_mime_type(RECEIPT_TYPE),
        ResourceTemplate::new("decision://{id}", "decision")
            .with_title("Decision receipt")
            .with_description("A decision receipt in the store, with the bytes that were signed")
            .with_mime_type(DECISION_TYPE),
    ]
}

/// The URI of a receipt.
pub(super) fn receipt_uri(id: &str) -> String {
    format!("{RECEIPT}{id}")
}

/// The document behind a URI.
pub(super) async fn read(
    services: &Arc<Services>,
    (tenant, place): (Tenant, Place),
    uri: String,
) -> Result<ReadResourceResult, ErrorData> {
    let inside = Arc::clone(services);
    let asked = uri.clone();
    let found = tokio::task::spawn_blocking(move || {
        // Given back when the document is read, whether or not its client still waits.
        let _held = place;
        if let Some(id) = asked.strip_prefix(RECEIPT) {
            return Ok(inside.receipt(&tenant, id)?.map(|receipt| (receipt.to_text(), RECEIPT_TYPE)));
        }
        let Some(id) = asked.strip_prefix(DECISION) else { return Ok(None) };
        Ok::<_, StoreError>(inside.decision(&tenant, id)?.map(|text| (text, DECISION_TYPE)))
    });
    let failed = |error: String| ErrorData::internal_error(format!("failed to {error}"), None);
    match found.await.map_err(|error| failed(format!("read `{uri}` ({error})")))? {
        Ok(Some((text, mime_type))) => {
            Ok(ReadResourceResult::new(vec![ResourceContents::text(text, uri).with_mime_type(mime_type)]))
        }
        Ok(None) => {
            let message =
                "there is no such resource; write `receipt://` or `decision://` and the id of one that is kept here";
            Err(ErrorData::resource_not_found(message, Some(serde_json::json!({ "uri": uri }))))
        }
        Err(error) => Err(failed(error.to_string())),
    }
}
