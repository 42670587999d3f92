use proofmark_receipt::{Json, Receipt, Results, Sha256Digest, object};

/// What the checks of a receipt came to: SHA-256 of the canonical form `vrf` of
/// `{"counts":[total,passed,failed,errors],"details":[[name,status],…]}`. Two verifications of flaky work differ in it.
#[must_use]
pub fn outcomes(receipt: &Receipt) -> Sha256Digest {
    let Results { total, passed, failed, errors, ref details } = *receipt.results();
    let counts: Vec<Json> = [total, passed, failed, errors].map(Json::from).into();
    let detail = |name: &str, status: &str| Json::from(vec![Json::from(name), Json::from(status)]);
    let details: Vec<Json> = details.iter().map(|check| detail(&check.name, check.status.as_str())).collect();
    Sha256Digest::of(&object! { "counts": counts, "details": details }.canonical_vrf())
}
