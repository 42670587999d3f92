//! Receipts verified a second on one core.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, bail};
use ed25519_dalek::{Signature, VerifyingKey};
use measure::{Contender, TURNS, Table, Turn, in_turns};
use proofmark_receipt::{
    Detail, Draft, Hashes, Object, Profile, Receipt, ReceiptId, Results, Sha256Digest, SignatureStatus, SigningKey,
    Status, Timestamp, Verdict, verify,
};

use xtask::machine;
use xtask::step::{cargo, run as run_step};

/// How long one turn takes at least.
const LEAST: Duration = Duration::from_secs(1);

/// How many receipts are verified between two looks at the clock.
const AT_ONCE: u64 = 100;

/// How many cold starts one turn has.
const COLD_STARTS: u64 = 20;

/// Verifies the receipt in the file it is given for about a second, and prints how many, and the seconds of wall and
/// processor time.
const PYTHON: &str = r#"
import base64, hashlib, json, sys, time
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
text = open(sys.argv[1]).read()
done, started, used = 0, time.perf_counter(), time.process_time()
while time.perf_counter() - started < 1:
    for _ in range(100):
        receipt = json.loads(text)
        signature = receipt.pop("signature")
        body = json.dumps(receipt, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()
        assert hashlib.sha256(body).hexdigest() == signature["content_hash"]
        key = Ed25519PublicKey.from_public_bytes(base64.b64decode(signature["signer_id"])[-32:])
        key.verify(bytes.fromhex(signature["signature"]), signature["content_hash"].encode())
    done += 100
print(done, time.perf_counter() - started, time.process_time() - used)
"#;

pub(crate) fn run() -> anyhow::Result<()> {
    let key = SigningKey::from_seed([7; 32]);
    let receipt = sample(&key)?;
    let text = receipt.to_text();
    println!("a receipt of {} bytes with {} checks, on one core", text.len(), receipt.results().total);

    let file = tempfile::NamedTempFile::new()?;
    fs::write(file.path(), &text)?;
    let (signature, verifying_key) = bare(&receipt, &key)?;
    let hash = receipt.signature().context("the sample is not signed")?.content_hash.clone();
    let whole = || match verify(text.as_bytes(), Profile::Vrf, &[key.signer()]).answer {
        SignatureStatus::Valid => Ok(()),
        other => bail!("the sample is {other}"),
    };
    let with_key = || {
        let key = VerifyingKey::from_bytes(key.signer().as_bytes())?;
        Ok(key.verify_strict(hash.as_bytes(), &signature)?)
    };
    let mut contenders = vec![
        repeated("bare `verify_strict`", || Ok(verifying_key.verify_strict(hash.as_bytes(), &signature)?)),
        repeated("reading the key too", with_key),
        repeated("a receipt, whole", whole),
    ];
    match machine::python_with_packages(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target")) {
        Some(python) => {
            contenders.push(Contender::new("Python's cryptography", move || in_python(&python, file.path())));
        }
        None => println!("Python's cryptography is not measured: it cannot be installed here"),
    }
    let rows = in_turns(TURNS, contenders)?;
    println!("\n{}", Table::beside("bare `verify_strict`", "signatures").show(&rows));
    cold_start(&text)
}

/// A contender that does this repeatedly.
fn repeated<'a>(name: &str, work: impl Fn() -> anyhow::Result<()> + 'a) -> Contender<'a> {
    Contender::repeating(name, LEAST, move || (0..AT_ONCE).try_for_each(|_| work()).map(|()| AT_ONCE))
}

/// A receipt of the usual size.
fn sample(key: &SigningKey) -> anyhow::Result<Receipt> {
    sample_of(key, 7)
}

/// One of many receipts of the usual size, each with an id of its own.
pub(crate) fn sample_of(key: &SigningKey, number: u128) -> anyhow::Result<Receipt> {
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
        receipt_id: ReceiptId::from_random_bytes((number << 8).to_be_bytes()),
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

/// What the same library's strict verification alone takes.
fn bare(receipt: &Receipt, key: &SigningKey) -> anyhow::Result<(Signature, VerifyingKey)> {
    let signed = receipt.signature().context("the sample is not signed")?;
    let digit = |at: usize| signed.signature.get(at..at + 2).and_then(|pair| u8::from_str_radix(pair, 16).ok());
    let bytes: Option<Vec<u8>> = (0..64).map(|index| digit(index * 2)).collect();
    let signature = Signature::from_slice(&bytes.context("the signature is not hex")?)?;
    Ok((signature, VerifyingKey::from_bytes(key.signer().as_bytes())?))
}

/// One turn of Python's library. Its own figures count: starting it is not part of the work.
fn in_python(python: &Path, file: &Path) -> anyhow::Result<Turn> {
    let output = Command::new(python).args(["-c", PYTHON]).arg(file).output()?;
    let printed = String::from_utf8_lossy(&output.stdout);
    let mut figures = printed.split_whitespace();
    let mut next = || figures.next().context("the Python rival failed");
    let done = next()?.parse()?;
    let wall = Duration::from_secs_f64(next()?.parse()?);
    let processor = Duration::from_secs_f64(next()?.parse()?);
    Ok(Turn { done, wall, processor, waits: None })
}

/// The command from start to end, beside a program that does nothing.
fn cold_start(text: &str) -> anyhow::Result<()> {
    run_step(&mut cargo(&["build", "--quiet", "--release", "--package", "proofmark-cli"]))?;
    let binary = std::env::current_exe()?.with_file_name("proofmark");
    let file = tempfile::NamedTempFile::new()?;
    fs::write(file.path(), text)?;
    let nothing = "a process that does nothing";
    let ours = || {
        let mut command = Command::new(&binary);
        command.args(["receipt", "verify"]).arg(file.path());
        command
    };
    let rows =
        in_turns(TURNS, vec![started(nothing, || Command::new("true")), started("`receipt verify`, cold", ours)])?;
    println!("{}", Table::beside(nothing, "starts").show(&rows));
    Ok(())
}

/// A contender that starts processes, one after the other.
fn started<'a>(name: &str, start: impl Fn() -> Command + 'a) -> Contender<'a> {
    let some = move || (0..COLD_STARTS).try_for_each(|_| start().output().map(drop)).map(|()| COLD_STARTS);
    Contender::repeating(name, LEAST, move || Ok(some()?))
}
