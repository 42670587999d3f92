//! Receipts in agent commerce, with the real packages of its clients.
#![expect(clippy::unwrap_used, reason = "helpers of tests, which may fail by panicking")]

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};

use proofmark_receipt::{Json, Object};
use proofmark_testing::{Home, python_with};

const TESTS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/commerce");
const EXAMPLES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples");
const BINARY: &str = env!("CARGO_BIN_EXE_proofmark");

fn proofmark(home: &Home, arguments: &[&str], stdin: &[u8]) -> Output {
    run(Command::new(BINARY).args(arguments).envs(home.variables()), stdin)
}

fn run(command: &mut Command, stdin: &[u8]) -> Output {
    let piped = || Stdio::piped();
    let mut child = command.stdin(piped()).stdout(piped()).stderr(piped()).spawn().unwrap();
    // A command that reads no standard input may be gone already.
    drop(child.stdin.take().unwrap().write_all(stdin));
    child.wait_with_output().unwrap()
}

fn said(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

fn object(bytes: &[u8]) -> Object {
    Json::parse(bytes).unwrap().as_object().unwrap().clone()
}

fn python() -> PathBuf {
    std::env::var_os("PROOFMARK_PYTHON").map_or_else(|| PathBuf::from("python3"), PathBuf::from)
}

fn example(name: &str) -> String {
    format!("{EXAMPLES}/{name}")
}

#[test]
fn the_real_evaluator_signs_what_the_receipt_says_and_nothing_without_an_answer() {
    let Some(python) = python_with("virtuals_acp", "virtuals-acp==0.3.23") else { return };
    let home = Home::new();
    let told = run(
        Command::new(python)
            .args([format!("{TESTS}/acp.py"), example("commerce")])
            .envs([("PROOFMARK", BINARY), ("PYTHONDONTWRITEBYTECODE", "1")])
            .envs(home.variables()),
        b"",
    );
    assert!(told.status.success(), "{}", said(&told));
}

#[test]
fn an_evaluation_names_the_receipt_that_is_kept() {
    let home = Home::new();
    let done = proofmark(&home, &["acp", "evaluate", &example("commerce/job.json"), "--json"], b"");
    assert_eq!(done.status.code(), Some(0), "{}", said(&done));
    let evaluation = object(&done.stdout);
    assert_eq!(evaluation.get("approved"), Some(&Json::Bool(true)));
    assert_eq!(evaluation.get("score").unwrap().to_text(), "1.0");
    assert_eq!(evaluation.get("trust").unwrap().as_str(), Some("trusted"));
    assert_eq!(evaluation.get("issued_here"), Some(&Json::Bool(true)));
    let metadata = evaluation.get("metadata").unwrap().as_object().unwrap();
    let id = metadata.get("vrf_receipt_id").unwrap().as_str().unwrap();
    let kept = proofmark(&home, &["receipt", "export", id], b"");
    assert_eq!(object(&kept.stdout), *evaluation.get("receipt").unwrap().as_object().unwrap());
    let signature = metadata.get("vrf_signature").unwrap().as_object().unwrap();
    let hash = signature.get("content_hash").unwrap().as_str().unwrap();
    assert_eq!(evaluation.get("reason_bytes32").unwrap().as_str(), Some(format!("0x{hash}").as_str()));
}

#[test]
fn evaluating_exits_as_it_answers() {
    let home = Home::new();
    let job = std::fs::read_to_string(example("commerce/job.json")).unwrap();
    let evaluate = |job: &str| proofmark(&home, &["acp", "evaluate", "-"], job.as_bytes());
    let wrong = evaluate(&job.replace("return sorted(xs)", "return xs"));
    assert_eq!(wrong.status.code(), Some(1), "{}", said(&wrong));
    assert!(said(&wrong).contains("reject with the reason: partial: 1 of 3"), "{}", said(&wrong));
    let unjudged = evaluate(&job.replace(r#""tier": 0,"#, r#""tier": 0, "runtime": "python2.1","#));
    assert_eq!(unjudged.status.code(), Some(2), "{}", said(&unjudged));
    assert!(said(&unjudged).contains("sign nothing"), "{}", said(&unjudged));
    let nothing = evaluate(r#"{"requirements": {}, "deliverable": "x"}"#);
    assert_eq!(nothing.status.code(), Some(2));
    assert!(said(&nothing).contains("`requirements.verification`: missing field"), "{}", said(&nothing));
}

#[test]
fn a_receipt_goes_through_a_header_and_comes_back_byte_for_byte() {
    let home = Home::new();
    let receipt = proofmark(&home, &["verify", &example("fizzbuzz.yaml"), "--json"], b"").stdout;
    let short = proofmark(&home, &["verify", &example("sort.json"), "--json"], b"").stdout;
    for receipt in [receipt, short] {
        let encoded = proofmark(&home, &["x402", "encode", "-"], &receipt);
        assert!(encoded.status.success(), "{}", said(&encoded));
        let decoded = proofmark(&home, &["x402", "decode", "-"], &encoded.stdout);
        if said(&encoded).contains("Link: </v1/receipts/") {
            assert_eq!(decoded.status.code(), Some(2), "{}", said(&decoded));
            continue;
        }
        assert_eq!(decoded.stdout, receipt);
        let as_json = proofmark(&home, &["x402", "encode", "-", "--json"], &receipt);
        for (name, value) in object(as_json.stdout.trim_ascii()).iter() {
            assert!(said(&encoded).contains(&format!("{name}: {}", value.as_str().unwrap())), "{}", said(&as_json));
        }
        let verified = proofmark(&home, &["receipt", "verify", "-"], &decoded.stdout);
        assert!(verified.status.success(), "{}", said(&verified));
    }
    let receipt = proofmark(&home, &["verify", &example("sort.json"), "--json"], b"").stdout;
    let changed = String::from_utf8(receipt).unwrap().replace("acp-tx-789", "acp-tx-790");
    let refused = proofmark(&home, &["x402", "encode", "-"], changed.as_bytes());
    assert_eq!(refused.status.code(), Some(2), "{}", said(&refused));
    assert!(refused.stdout.is_empty() && said(&refused).contains("changed after signing"), "{}", said(&refused));
    let garbage = proofmark(&home, &["x402", "decode", "no base64"], b"");
    assert_eq!(garbage.status.code(), Some(2));
    assert!(said(&garbage).contains("neither base64"), "{}", said(&garbage));
}

#[test]
fn an_artifact_survives_the_real_protobuf_types() {
    let Some(python) = python_with("a2a.types.a2a_pb2", "a2a-sdk==1.3.0") else { return };
    let home = Home::new();
    let receipt = proofmark(&home, &["verify", &example("sort.json"), "--json"], b"").stdout;
    let id = object(&receipt).get("receipt_id").unwrap().as_str().unwrap().to_owned();
    let artifact = proofmark(&home, &["receipt", "export", &id, "--as", "a2a"], b"").stdout;
    let back = run(Command::new(python).arg(format!("{TESTS}/artifact.py")), &artifact);
    assert_eq!(back.stdout, receipt, "{}", said(&back));
    let verified = proofmark(&home, &["receipt", "verify", "-"], &back.stdout);
    assert!(verified.status.success(), "{}", said(&verified));
}

/// A request for validation, by its hash.
const REQUEST: &str = "0x5f2b6c0a7d1e4f3980a1b2c3d4e5f60718293a4b5c6d7e8f9012a3b4c5d6e7f8";

/// The id of the receipt that verifying an example issues.
fn issued(home: &Home, request: &str) -> String {
    let receipt = proofmark(home, &["verify", &example(request), "--json"], b"").stdout;
    object(&receipt).get("receipt_id").unwrap().as_str().unwrap().to_owned()
}

fn answered(home: &Home, id: &str, options: &[&str]) -> Output {
    proofmark(home, &[&["receipt", "export", id, "--as", "erc8004"], options].concat(), b"")
}

#[test]
fn a_registry_reads_the_score_and_the_hash_of_the_exported_receipt() {
    let Some(python) = python_with("eth_abi", "eth-abi==6.0.0") else { return };
    let Some(_) = python_with("Crypto", "eth-hash[pycryptodome]==0.8.0") else { return };
    let home = Home::new();
    let uri = "https://validator.example.org/receipt.json";
    for (request, score) in [("sort.json", 100), ("median.yaml", 66)] {
        let id = issued(&home, request);
        let exported = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(&exported, proofmark(&home, &["receipt", "export", &id], b"").stdout).unwrap();
        let call = answered(&home, &id, &["--request-hash", REQUEST, "--response-uri", uri]);
        assert!(call.status.success(), "{}", said(&call));
        assert_eq!(object(&call.stdout).get("response").unwrap().to_text(), score.to_string());
        let script = [format!("{TESTS}/validation.py"), exported.path().display().to_string()];
        let read = run(Command::new(&python).args(script), &call.stdout);
        assert_eq!(said(&read), format!("{} {score} {uri} tests\n", &REQUEST[2..]));
    }
}

#[test]
fn what_has_no_score_is_no_answer() {
    let home = Home::new();
    let id = issued(&home, "sort.json");
    let unjudged = std::fs::read_to_string(example("sort.json")).unwrap();
    let unjudged = unjudged.replace("\"language\": \"python\"", "\"language\": \"python\", \"runtime\": \"python2.1\"");
    let unjudged = object(&proofmark(&home, &["verify", "-", "--json"], unjudged.as_bytes()).stdout);
    let unjudged = unjudged.get("receipt_id").unwrap().as_str().unwrap();
    let zero = format!("0x{}", "0".repeat(64));
    for (ids, options, why) in [
        (&id[..], &[][..], "--request-hash"),
        (&id, &["--request-hash", "5f2b"], "`0x` and 64 hex digits"),
        (&id, &["--request-hash", &zero], "zero"),
        (&id, &["--request-hash", REQUEST, "--response-uri", "receipt.json"], "absolute URI"),
        (&id, &["--request-hash", REQUEST, "--bundle"], "`--bundle`"),
        (&id, &["--request-hash", REQUEST, &id], "name one id"),
        ("ffff0000", &["--request-hash", REQUEST], "`ffff0000`"),
        (unjudged, &["--request-hash", REQUEST], "could not be judged"),
    ] {
        let refused = answered(&home, ids, options);
        assert_eq!(refused.status.code(), Some(2), "{options:?}: {}", said(&refused));
        assert!(refused.stdout.is_empty() && said(&refused).contains(why), "{options:?}: {}", said(&refused));
    }
    for option in ["--request-hash", "--response-uri"] {
        let ignored = proofmark(&home, &["receipt", "export", &id, option, REQUEST], b"");
        assert_eq!(ignored.status.code(), Some(2), "{}", said(&ignored));
        assert!(said(&ignored).contains("--as erc8004"), "{}", said(&ignored));
    }
    let unsigned = object(&proofmark(&home, &["verify", &example("sort.json"), "--json", "--unsigned"], b"").stdout);
    let unsigned = answered(&home, unsigned.get("receipt_id").unwrap().as_str().unwrap(), &["--request-hash", REQUEST]);
    assert_eq!(unsigned.status.code(), Some(2), "{}", said(&unsigned));
    // The key that signed it ends before it did.
    let ended = proofmark(&home, &["key", "end", "default", "--at", "2020-01-01T00:00:00Z"], b"");
    assert!(ended.status.success(), "{}", said(&ended));
    let foreign = answered(&home, &id, &["--request-hash", REQUEST]);
    assert_eq!(foreign.status.code(), Some(2), "{}", said(&foreign));
    assert!(said(&foreign).contains("trust"), "{}", said(&foreign));
}

/// A process that is killed when it is dropped.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        drop(self.0.kill());
        drop(self.0.wait());
    }
}

fn post(port: &str, more: &str, body: &[u8]) -> String {
    let mut stream = TcpStream::connect(format!("127.0.0.1:{port}")).unwrap();
    write!(stream, "POST /verify HTTP/1.0\r\n{more}content-length: {}\r\n\r\n", body.len()).unwrap();
    stream.write_all(body).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

#[test]
fn a_paid_answer_carries_its_receipt_and_is_settled_whatever_the_verdict() {
    let home = Home::new();
    let mut server = Command::new(python())
        .args([&example("commerce/paid_resource.py"), "0"])
        .env("PROOFMARK", BINARY)
        .envs(home.variables())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(server.stdout.take().unwrap()).lines();
    let _running = Running(server);
    let first = lines.next().unwrap().unwrap();
    let port = first.rsplit(' ').next().unwrap();

    let test = |content: &str, runtime: &str| {
        format!(
            r#"{{"output":{{"content":"{content}"}},"verification":{{"kind":"test_suite","language":"python",{runtime}
            "tests":[{{"name":"a","input":"x","expected":"1"}}]}}}}"#
        )
    };
    assert!(post(port, "", test("x = 1", "").as_bytes()).contains(" 402 "));
    assert!(post(port, "PAYMENT-SIGNATURE: p0\r\n", b"{}").contains(" 400 "));
    let unjudged = post(port, "PAYMENT-SIGNATURE: p1\r\n", test("x = 1", r#""runtime":"python2.1","#).as_bytes());
    assert!(unjudged.contains(" 503 ") && !unjudged.contains("PAYMENT-RESPONSE:"), "{unjudged}");
    for (content, verdict, payment) in [("x = 1", "pass", "PAYMENT-SIGNATURE: p2"), ("x = 2", "fail", "X-PAYMENT: p3")]
    {
        let answer = post(port, &format!("{payment}\r\n"), test(content, "").as_bytes());
        assert!(answer.contains(" 200 ") && answer.contains(verdict), "{answer}");
        assert!(answer.contains("Access-Control-Expose-Headers: X-VRF-Receipt, Link"), "{answer}");
        let receipt = proofmark(&home, &["x402", "decode", &answer], b"");
        assert_eq!(object(&receipt.stdout).get("verdict").unwrap().as_str(), Some(verdict), "{}", said(&receipt));
        let verified = proofmark(&home, &["receipt", "verify", "-"], &receipt.stdout);
        assert!(verified.status.success(), "{}", said(&verified));
        // What was not to be settled before has left no line.
        assert_eq!(lines.next().unwrap().unwrap(), format!("settled {}", payment.rsplit(' ').next().unwrap()));
    }
}
