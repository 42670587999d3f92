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
