//! The fingerprint of an action: what denials of the same action are counted under.

use proofmark_receipt::{Json, Sha256Digest};

use super::ActionPolicy;
use crate::request::Request;

impl ActionPolicy {
    /// The hash of the request's action without the arguments that only change how it is shown (`presentation`).
    #[must_use]
    pub fn fingerprint(&self, request: &Request) -> Sha256Digest {
        // The same hash, which the request computes only once.
        if self.presentation.is_empty() {
            return request.action_hash();
        }
        let Some(mut action) = request.facts().get("action").cloned() else { return request.action_hash() };
        for path in &self.presentation {
            remove(&mut action, path);
        }
        Sha256Digest::of(&action.canonical_vrf())
    }
}

fn remove(json: &mut Json, path: &[String]) {
    let (Json::Object(object), Some((name, rest))) = (json, path.split_first()) else { return };
    if rest.is_empty() {
        object.remove(name);
    } else if let Some(inner) = object.get_mut(name) {
        remove(inner, rest);
    }
}
