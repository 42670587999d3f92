//! Receipts verified a second on one core.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use ed25519_dalek::{Signature, VerifyingKey};
use proofmark_receipt::{
    Detail, Draft, Hashes, Object, Profile, Receipt, ReceiptId, Results, Sha256Digest, SignatureStatus, SigningKey,
    Status, Timestamp, Verdict, verify,
};

use super::rate;
use xtask::machine;
use xtask::step::{cargo, run as run_step};

/// How long each rival is measured.
const LEAST: Duration = Duration::from_secs(3);

/// How many cold starts are averaged.
const COLD_STARTS: u32 = 50;

/// Verifies the receipt in the file it is given for about three seconds, and prints how often a second.
const PYTHON: &str = r#"
import base64, hashlib, json, sys, time
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
text = open(sys.argv[1]).read()
done, started = 0, time.perf_counter()
while time.perf_counter() - started < 3:
    for _ in range(100):
        receipt = json.loads(text)
        signature = receipt.pop("signature")
        body = json.dumps(receipt, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()
        assert hashlib.sha256(body).hexdigest() == signature["content_hash"]
        key = Ed25519PublicKey.from_public_bytes(base64.b64decode(signature["signer_id"])[-32:])
        key.verify(bytes.fromhex(signature["signature"]), signature["content_hash"].encode())
    done += 100
print(done / (time.perf_counter() - started))
"#;

pub(crate) fn run() -> anyhow::Result<()> {
    let key = SigningKey::from_seed([7; 32]);
    let receipt = sample(&key)?;
    let text = receipt.to_text();
    println!("a receipt of {} bytes with {} checks, on one core", text.len(), receipt.results().total);

    let whole = rate(LEAST, || match verify(text.as_bytes(), Profile::Vrf, &[key.signer()]).answer {
        SignatureStatus::Valid => Ok(1),
        other => bail!("the sample is {other}"),
    })?;
    let (bare, with_key) = bare_rates(&receipt, &key)?;
    println!("verified whole           {whole:8.0} receipts/s");
    println!("bare verify_strict       {bare:8.0} signatures/s   whole is {:.2} of it", whole / bare);
    println!("  reading the key too    {with_key:8.0} signatures/s   whole is {:.2} of it", whole / with_key);
    python_rate(&text, whole)?;
    cold_start(&text)
}

/// A receipt of the usual size.
fn sample(key: &SigningKey) -> anyhow::Result<Receipt> {
    let check = |index: u64| Detail {
        expected: Some("[1, 2, 3]".to_owned()),
        actual: Some("[1, 2, 3]".to_owned()),
        elapsed_ms: Some(index),
        ..Detail::new(format!("test_{index}"), Status::Pass)
    };
    let digest = Sha256Digest::of(b"sample");
    let mut metadata = Object::new();
    metadata.insert("verifier", "proofmark");
    metadata.insert("execution_ms", 12_u64);
    let draft = Draft {
        receipt_id: ReceiptId::from_random_bytes([7; 16]),
        verified_at: Timestamp::from_unix_millis(1_771_461_960_123),
        tier: 0,
        verdict: Verdict::Pass,
        task: None,
        results: Results::from_details((0..5).map(check).collect()),
        hashes: Hashes { specification: digest, output: digest, tests: Some(digest) },
        metadata,
    };
    Ok(draft.sign(key)?)
}

/// The same library's strict verification alone: the key read once, and read from its bytes each time.
fn bare_rates(receipt: &Receipt, key: &SigningKey) -> anyhow::Result<(f64, f64)> {
    let signed = receipt.signature().context("the sample is not signed")?;
    let digit = |at: usize| signed.signature.get(at..at + 2).and_then(|pair| u8::from_str_radix(pair, 16).ok());
    let bytes: Option<Vec<u8>> = (0..64).map(|index| digit(index * 2)).collect();
    let signature = Signature::from_slice(&bytes.context("the signature is not hex")?)?;
    let signer = key.signer();
    let key = VerifyingKey::from_bytes(signer.as_bytes())?;
    let bare = rate(LEAST, || {
        key.verify_strict(signed.content_hash.as_bytes(), &signature)?;
        Ok(1)
    })?;
    let with_key = rate(LEAST, || {
        VerifyingKey::from_bytes(signer.as_bytes())?.verify_strict(signed.content_hash.as_bytes(), &signature)?;
        Ok(1)
    })?;
    Ok((bare, with_key))
}

fn python_rate(text: &str, whole: f64) -> anyhow::Result<()> {
    let target = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target");
    let Some(python) = machine::python_with_packages(&target) else {
        println!("Python's cryptography    not measured: it cannot be installed here");
        return Ok(());
    };
    let file = tempfile::NamedTempFile::new()?;
    fs::write(file.path(), text)?;
    let output = Command::new(python).args(["-c", PYTHON]).arg(file.path()).output()?;
    let theirs: f64 = String::from_utf8_lossy(&output.stdout).trim().parse().context("the Python rival failed")?;
    println!("Python's cryptography    {theirs:8.0} receipts/s     whole is {:.1} x", whole / theirs);
    Ok(())
}

/// The command from start to end, beside a program that does nothing.
fn cold_start(text: &str) -> anyhow::Result<()> {
    run_step(&mut cargo(&["build", "--quiet", "--release", "--package", "proofmark-cli"]))?;
    let binary = std::env::current_exe()?.with_file_name("proofmark");
    let file = tempfile::NamedTempFile::new()?;
    fs::write(file.path(), text)?;
    let average = |start: &dyn Fn() -> Command| -> anyhow::Result<f64> {
        let started = Instant::now();
        for _ in 0..COLD_STARTS {
            start().output()?;
        }
        Ok(started.elapsed().as_secs_f64() * 1000.0 / f64::from(COLD_STARTS))
    };
    let ours = average(&|| {
        let mut command = Command::new(&binary);
        command.args(["receipt", "verify"]).arg(file.path());
        command
    })?;
    let nothing = average(&|| Command::new("true"))?;
    println!("cold `receipt verify`    {ours:8.2} ms             a process that does nothing: {nothing:.2} ms");
    Ok(())
}
