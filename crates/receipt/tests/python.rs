//! Receipts cross to Python and back: the verifier in `docs/receipts.md`, and an issuer with Python's default escaping.

#![allow(clippy::expect_used, clippy::unwrap_used, reason = "a test may stop anywhere")]

use std::path::{Path, PathBuf};
use std::process::Command;

use proofmark_receipt::{
    Answer, Draft, Hashes, InvalidCause, Object, Profile, ReceiptId, Results, Sha256Digest, SigningKey, Task,
    Timestamp, Verdict, verify,
};

/// Signs the unsigned receipt in the file named first, and prints it, escaping and sorting as `json.dumps` does.
const ISSUER: &str = r#"
import base64, hashlib, json, sys
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
key = Ed25519PrivateKey.from_private_bytes(bytes([7]) * 32)
receipt = json.load(open(sys.argv[1], encoding="utf-8"))
text = json.dumps(receipt, sort_keys=True, separators=(",", ":"))
content_hash = hashlib.sha256(text.encode()).hexdigest()
receipt["signature"] = {
    "algorithm": "ed25519",
    "signer_id": base64.b64encode(key.public_key().public_bytes_raw()).decode(),
    "content_hash": content_hash,
    "signature": key.sign(content_hash.encode()).hex(),
}
print(json.dumps(receipt))
"#;

#[test]
fn ten_lines_of_python_verify_a_receipt() {
    let Some(python) = python() else { return };
    let verifier = documented_verifier();
    assert!(verifier.trim().lines().count() <= 10, "more than ten lines");
    let text = draft().sign(&SigningKey::from_seed([7; 32])).unwrap().to_text();
    let run = |text: &str| python.run(&verifier, text).status.success();
    assert!(run(&text), "a valid receipt is refused");
    for (place, changed) in one_byte_changes(&text) {
        assert!(!run(&changed), "a change at byte {place} is accepted: {changed}");
    }
}

#[test]
fn a_receipt_signed_by_python_verifies_in_its_own_profile_only() {
    let Some(python) = python() else { return };
    let unsigned = draft().unsigned().unwrap().to_text();
    let output = python.run(ISSUER, &unsigned);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let signer = SigningKey::from_seed([7; 32]).signer();
    let asked = verify(&output.stdout, Profile::PyAscii, &[signer]);
    assert_eq!((asked.answer, asked.signer), (Answer::Valid, Some(signer)));
    let unasked = verify(&output.stdout, Profile::Vrf, &[signer]);
    assert_eq!(unasked.answer, Answer::Invalid(InvalidCause::ContentHash));
    assert_eq!((unasked.hint, unasked.signer), (Some(Profile::PyAscii), None));
}

fn draft() -> Draft {
    let digest = Sha256Digest::of(b"");
    let description = "trié, 並べ替え \u{1F600} \u{7F} \"quoted\" \\ \n".to_owned();
    let mut metadata = Object::new();
    metadata.insert("issuer_key", SigningKey::from_seed([7; 32]).signer().to_string());
    Draft {
        receipt_id: ReceiptId::from_random_bytes([7; 16]),
        verified_at: Timestamp::from_unix_millis(1_771_461_960_000),
        tier: 0,
        verdict: Verdict::Error,
        task: Some(Task { description: Some(description), ..Task::default() }),
        results: Results::default(),
        hashes: Hashes { specification: digest, output: digest, tests: None },
        metadata,
    }
}

/// One changed digit, letter or sign in every part of the receipt, the last bit of it and the case of letters.
fn one_byte_changes(text: &str) -> Vec<(usize, String)> {
    let places = text.bytes().enumerate().filter(|(_, byte)| byte.is_ascii_alphanumeric());
    let places: Vec<usize> = places.map(|(place, _)| place).collect();
    // A stride that is no divisor of the fields' lengths meets all of them.
    let chosen = places.iter().step_by(23).enumerate();
    chosen
        .map(|(number, place)| {
            let mut bytes = text.as_bytes().to_vec();
            let bit = if number % 2 == 0 { 0x01 } else { 0x20 };
            bytes.get_mut(*place).map(|byte| *byte ^= bit).unwrap();
            (*place, String::from_utf8(bytes).unwrap())
        })
        .collect()
}

fn documented_verifier() -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/receipts.md");
    let document = std::fs::read_to_string(path).unwrap();
    let (_, after) = document.split_once("```python\n").expect("the document shows Python");
    after.split_once("```").unwrap().0.to_owned()
}

struct Python(PathBuf);

/// `$PROOFMARK_PYTHON`, else `python3` when it has `cryptography`; or none and a line saying so.
fn python() -> Option<Python> {
    let named = std::env::var_os("PROOFMARK_PYTHON").map(PathBuf::from);
    let found = named.or_else(|| {
        let mut probe = Command::new("python3");
        let output = probe.args(["-c", "import cryptography"]).output().ok()?;
        output.status.success().then(|| PathBuf::from("python3"))
    });
    if found.is_none() {
        println!("skipped: no Python with cryptography");
    }
    found.map(Python)
}

impl Python {
    /// Runs `script` with a file holding `receipt` as its argument.
    fn run(&self, script: &str, receipt: &str) -> std::process::Output {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("receipt.json");
        std::fs::write(&file, receipt).unwrap();
        Command::new(&self.0).arg("-c").arg(script).arg(&file).output().unwrap()
    }
}
