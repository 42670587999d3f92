//! Statements with receipts of another issuer: `conformance/cose/scitt-cose-v1` (action-state-group/scitt-cose, Apache-2.0).
//!
//! Their statements hold no receipt of ours, and are not in deterministic CBOR: they are refused. Their signatures are verified in
//! `src/cose/sign1/tests.rs`. `ES256` and the verifiable data structure 2 are not known here.

use proofmark_interop::ExportError;
use proofmark_interop::cose::{verify_receipt, verify_statement};
use proofmark_receipt::{Json, Sha256Digest};

use crate::support::{data, hash, json, public_key, text};

/// Each folder, and the answers to its receipt and to its statement.
const FOLDERS: [(&str, &str, &str); 6] = [
    ("valid-eddsa", "ok", "malformed_statement"),
    ("valid-es256", "unknown_algorithm", "malformed_statement"),
    ("valid-ccf-vds2", "unknown_algorithm", "malformed_statement"),
    ("fail-tampered-path", "signature_mismatch", "malformed_statement"),
    ("fail-unsupported-vds", "unknown_structure", "malformed_statement"),
    // The log issued this receipt for the statement with the changed signature.
    ("fail-bad-statement-sig", "ok", "malformed_statement"),
];

#[test]
fn receipts_of_others_answer_as_their_data_says() {
    for (folder, of_receipt, of_statement) in FOLDERS {
        let file = |name: &str| data(&format!("cose/scitt-cose-v1/{folder}/{name}"));
        let Some(statement) = file("statement.cose") else { return };
        let expected = json(&format!("cose/scitt-cose-v1/{folder}/expected.json")).unwrap();
        let expected = expected.as_object().unwrap();
        let entry = *Sha256Digest::of(&statement).as_bytes();
        let is_ed25519 = of_receipt != "unknown_algorithm";
        if is_ed25519 {
            assert_eq!(entry, hash(text(expected, "leaf_entry")), "{folder}");
            assert_eq!(expected.get("receipt_valid").and_then(Json::as_bool), Some(of_receipt == "ok"), "{folder}");
        }
        // A key of another kind is none here, and the algorithm is told before any key is tried.
        let log = if is_ed25519 { public_key(&format!("cose/scitt-cose-v1/{folder}/log-key.pub")) } else { None };
        let log = log.unwrap_or_else(|| crate::support::log().signer());
        let code = |error: &ExportError| error.code();
        let answer = verify_receipt(&file("receipt.cose").unwrap(), &entry, &log);
        assert_eq!(answer.as_ref().map_or_else(code, |_| "ok"), of_receipt, "{folder}: {answer:?}");
        let answer = verify_statement(&statement, &[]);
        assert_eq!(answer.as_ref().map_or_else(code, |_| "ok"), of_statement, "{folder}: {answer:?}");
    }
}
