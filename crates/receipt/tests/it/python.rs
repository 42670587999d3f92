//! Receipts cross to Python and back: the verifier in `docs/receipts.md`, and an issuer with Python's default escaping.

mod mutants;

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use proofmark_receipt::json::Limits;
use proofmark_receipt::{
    Draft, Hashes, InvalidCause, Json, Object, Profile, ReceiptId, Results, Sha256Digest, SignatureStatus, SigningKey,
    Task, Timestamp, Verdict, verify,
};

/// Signs the unsigned receipt in the file named first, and prints it, escaping and sorting as `json.dumps` does.
const ISSUER: &str = r#"
import hashlib, json, sys
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
key = Ed25519PrivateKey.from_private_bytes(bytes([7]) * 32)
receipt = json.load(open(sys.argv[1], encoding="utf-8"))
text = json.dumps(receipt, sort_keys=True, separators=(",", ":"))
content_hash = hashlib.sha256(text.encode()).hexdigest()
receipt["signature"] = {
    "algorithm": "ed25519",
    "signer_id": receipt["metadata"]["issuer_key"],
    "content_hash": content_hash,
    "signature": key.sign(content_hash.encode()).hex(),
}
print(json.dumps(receipt))
"#;

/// Runs the script in the file named first on each receipt in the folder named second, and prints the names of those for
/// which it does not end with an error.
const EACH: &str = r#"
import contextlib, io, pathlib, sys
script = compile(pathlib.Path(sys.argv[1]).read_text(), "verify.py", "exec")
for file in sorted(pathlib.Path(sys.argv[2]).iterdir()):
    sys.argv = ["verify.py", str(file)]
    try:
        exec(script, {"__name__": "__main__"})
    except (Exception, SystemExit):
        continue
    print(file.name)
"#;

/// Runs `chain.py` in the folder named first for each chain of the folder named second, and prints the names of those for which it
/// does not end with an error. A chain is a file, with its head beside it.
const EACH_CHAIN: &str = r#"
import contextlib, io, os, pathlib, runpy, sys
os.chdir(sys.argv[1])
for file in sorted(pathlib.Path(sys.argv[2]).glob("*.jsonl")):
    head = file.with_suffix(".head")
    sys.argv = ["chain.py", str(file)] + [str(head)] * head.exists()
    try:
        runpy.run_path("chain.py")
    except (Exception, SystemExit):
        continue
    print(file.stem)
"#;

/// How many mutated receipts both verifiers are held against.
const MUTANTS: usize = 2_000;

#[test]
fn the_vectors_are_what_their_generator_writes() {
    let Some(python) = python() else { return };
    let vectors = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../vectors");
    // It writes beside itself.
    let folder = tempfile::tempdir().unwrap();
    let script = folder.path().join("generate.py");
    std::fs::copy(vectors.join("generate.py"), &script).unwrap();
    let output = Command::new(&python.0).arg(&script).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let files = |folder: &Path| -> Vec<(String, Vec<u8>)> {
        let paths = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
        let json = paths.filter(|path| path.extension().is_some_and(|extension| extension == "json"));
        let name = |path: &Path| path.file_name().unwrap().to_str().unwrap().to_owned();
        let mut files: Vec<_> = json.map(|path| (name(&path), std::fs::read(&path).unwrap())).collect();
        files.sort();
        files
    };
    let (written, found) = (files(folder.path()), files(&vectors));
    let changed: Vec<_> = written.iter().filter(|file| !found.contains(file)).map(|(name, _)| name).collect();
    assert_eq!((changed, written.len()), (Vec::new(), found.len()), "run `python3 vectors/generate.py`");
}

#[test]
fn a_few_lines_of_python_verify_a_receipt() {
    let Some(python) = python() else { return };
    let [signature, format, ..] = documented_blocks();
    assert!(signature.lines().count() <= 18, "too many lines to read at a glance");
    let verifier = signature + &format;
    let text = draft().sign(&SigningKey::from_seed([7; 32])).unwrap().to_text();
    let run = |text: &str| python.run(&verifier, text).status.success();
    assert!(run(&text), "a valid receipt is refused");
    for (place, changed) in one_byte_changes(&text).into_iter().step_by(4) {
        assert!(!run(&changed), "a change at byte {place} is accepted: {changed}");
    }
}

#[test]
fn what_is_valid_here_is_valid_there_and_the_other_way_round() {
    let Some(python) = python() else { return };
    let mut texts = vectors();
    assert!(texts.len() > 100, "vectors are missing");
    texts.extend(one_byte_changes(&mutants::issued(0)).into_iter().map(|(_, text)| text.into_bytes()));
    texts.extend((0..MUTANTS).map(mutants::mutant));
    let there = python.valid(&documented_verifier(), &texts);
    let mut valid = 0;
    for (number, text) in texts.iter().enumerate() {
        let here = verify(text, Profile::Vrf, &[]).answer;
        let shown = || String::from_utf8_lossy(text).chars().take(3_000).collect::<String>();
        assert_eq!(here == SignatureStatus::Valid, there.contains(&number), "{number}: {here:?}: {}", shown());
        valid += usize::from(here == SignatureStatus::Valid);
    }
    println!("{} receipts, {valid} valid in both", texts.len());
    assert!(valid * 10 > texts.len() && valid * 2 < texts.len(), "{valid} of {} are valid", texts.len());
}

#[test]
fn a_few_lines_of_python_verify_the_passkey_of_an_approval() {
    let Some(python) = python() else { return };
    let cases = cases("passkey.json");
    let member = |case: &Object, name: &str| case.get(name).and_then(Json::as_str).unwrap().to_owned();
    let documents: Vec<_> = cases.iter().map(|case| member(case, "document").into_bytes()).collect();
    let valid = python.valid(&documented_verifier(), &documents);
    for (number, case) in cases.iter().enumerate() {
        assert_eq!(valid.contains(&number), member(case, "expect") == "valid", "{}", member(case, "name"));
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
    assert_eq!((asked.answer, asked.signer), (SignatureStatus::Valid, Some(signer)));
    let unasked = verify(&output.stdout, Profile::Vrf, &[signer]);
    assert_eq!(unasked.answer, SignatureStatus::Invalid(InvalidCause::ContentHash));
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
    // A stride that does not divide the fields' lengths meets all of them.
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

#[test]
fn a_chain_is_whole_here_and_there() {
    let Some(python) = python() else { return };
    let (scripts, chains) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let [signature, .., chain] = documented_blocks();
    for (name, text) in [("signature.py", signature), ("verify.py", documented_verifier()), ("chain.py", chain)] {
        std::fs::write(scripts.path().join(name), text).unwrap();
    }
    let text = |json: &Json| json.as_str().unwrap().to_owned();
    let mut whole = Vec::new();
    for case in cases("chain.json") {
        let name = text(case.get("name").unwrap());
        let receipts = case.get("receipts").and_then(Json::as_array).unwrap();
        let lines: String = receipts.iter().map(|receipt| text(receipt) + "\n").collect();
        std::fs::write(chains.path().join(format!("{name}.jsonl")), lines).unwrap();
        if let Some(head) = case.get("head") {
            std::fs::write(chains.path().join(format!("{name}.head")), text(head)).unwrap();
        }
        // A stated loss, and a head by another trusted signer, are more than these lines know.
        let is_known = !case.contains("losses") && !case.contains("trusted");
        if is_known && case.get("expect").and_then(Json::as_str) == Some("ok") {
            whole.push(name);
        }
    }
    let run = Command::new(&python.0).args(["-c", EACH_CHAIN]).args([scripts.path(), chains.path()]).output().unwrap();
    assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
    let found = String::from_utf8(run.stdout).unwrap();
    let mut found: Vec<_> = found.lines().map(str::to_owned).collect();
    whole.sort();
    found.sort();
    assert!(whole.len() >= 3 && found == whole, "{found:?} are whole to the script, and {whole:?} are");
}

/// The verifier of receipts in the page.
fn documented_verifier() -> String {
    let [signature, format, approval, _] = documented_blocks();
    signature + &format + &approval
}

/// The blocks of Python in the page: the signature, the format, what approvals say, and chains.
fn documented_blocks() -> [String; 4] {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/receipts.md");
    let document = std::fs::read_to_string(path).unwrap();
    let blocks: Vec<_> = document.split("```python\n").skip(1).map(|rest| rest.split_once("```").unwrap().0).collect();
    let blocks: Vec<_> = blocks.into_iter().map(str::to_owned).collect();
    blocks.try_into().unwrap_or_else(|blocks: Vec<_>| panic!("the page shows {} blocks of Python", blocks.len()))
}

/// The receipts of the vectors that are verified under the profile `vrf`.
fn vectors() -> Vec<Vec<u8>> {
    let text = |case: Object| case.get("receipt").and_then(Json::as_str).map(|text| text.as_bytes().to_vec());
    cases("receipt.json").into_iter().filter(|case| !case.contains("profile")).filter_map(text).collect()
}

/// The cases of a file of vectors.
fn cases(file: &str) -> Vec<Object> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../vectors").join(file);
    let limits = Limits { max_bytes: 64 << 20, max_depth: 128, ..Limits::default() };
    let vectors = Json::parse_with(&std::fs::read(path).unwrap(), limits).unwrap();
    let cases = vectors.as_object().and_then(|vectors| vectors.get("cases")).and_then(Json::as_array).unwrap();
    cases.iter().map(|case| case.as_object().unwrap().clone()).collect()
}

struct Python(PathBuf);

/// A Python with `cryptography`.
fn python() -> Option<Python> {
    proofmark_testing::python_with("cryptography", "cryptography").map(Python)
}

impl Python {
    /// The numbers of the `receipts` that `script` calls valid.
    fn valid(&self, script: &str, receipts: &[Vec<u8>]) -> HashSet<usize> {
        let folder = tempfile::tempdir().unwrap();
        let (file, each) = (folder.path().join("verify.py"), folder.path().join("receipts"));
        std::fs::write(&file, script).unwrap();
        std::fs::create_dir(&each).unwrap();
        for (number, receipt) in receipts.iter().enumerate() {
            std::fs::write(each.join(number.to_string()), receipt).unwrap();
        }
        let output = Command::new(&self.0).args(["-c", EACH]).arg(&file).arg(&each).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let names = String::from_utf8(output.stdout).unwrap();
        names.lines().map(|name| name.parse().unwrap()).collect()
    }

    /// Runs `script` with a file holding `receipt` as its argument.
    fn run(&self, script: &str, receipt: &str) -> std::process::Output {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("receipt.json");
        std::fs::write(&file, receipt).unwrap();
        Command::new(&self.0).arg("-c").arg(script).arg(&file).output().unwrap()
    }
}
