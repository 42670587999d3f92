//! Receipts in the Agent2Agent protocol (A2A 1.0).
//!
//! A `data` part would pass the receipt's numbers through doubles and break its signature; a text part keeps every byte.

use proofmark_receipt::{Json, Receipt, object};

/// The media type of a receipt's text.
pub const MEDIA_TYPE: &str = "application/vrf+json";

/// An `Artifact` (A2A 1.0, section 4.1.7) whose one part is the receipt's text, to go with the other artifacts of a task.
pub fn artifact(receipt: &Receipt) -> Json {
    let id = receipt.receipt_id();
    let part = object! { "text": receipt.to_text(), "filename": format!("{id}.json"), "mediaType": MEDIA_TYPE };
    let description = format!("VRF receipt that says `{}`; verify its signature, and who signed it", receipt.verdict());
    let artifact = object! {
        "artifactId": id.to_string(),
        "name": "vrf-receipt",
        "description": description,
        "parts": vec![Json::from(part)],
    };
    artifact.into()
}
