//! Programs of others verify what is written here, and refuse it with one byte changed.

use std::path::Path;
use std::process::Command;

use proofmark_interop::cose::{Inclusion, Registration, attach_receipt, sign_receipt, sign_statement, statement_entry};
use proofmark_interop::session::ocsf_events;
use proofmark_interop::{Document, intoto};
use proofmark_receipt::{Json, Object, Sha256Digest, SignerId, Verdict};
use proofmark_testing::python_with;

use crate::session::session;
use crate::support::{decision, issuer, log, receipt};

/// Prints `good` if the bytes in the file named first are accepted, and the number of each byte that can be changed so that the rest
/// is still accepted.
const EACH_BYTE: &str = "
data = open(sys.argv[1], 'rb').read()
def accepted(data):
    try:
        return accepts(data)
    except Exception:
        return False
print('good' if accepted(data) else 'refused')
for at in range(len(data)):
    changed = bytearray(data)
    changed[at] ^= 1
    if accepted(bytes(changed)):
        print(at)
";

const SCITT_COSE_STATEMENT: &str = "
import sys, scitt_cose
pem = open(sys.argv[2], 'rb').read()
def accepts(data):
    return scitt_cose.parse_signed_statement(data, public_key_pem=pem)['signature_verified'] is True
";

const SCITT_COSE_RECEIPT: &str = "
import sys, scitt_cose
pem = open(sys.argv[2], 'rb').read()
def accepts(data):
    return scitt_cose.verify_receipt(data, leaf_entry_hex=sys.argv[3], log_public_key_pem=pem).ok
";

/// The receipts in a transparent statement, of the statement without them.
const SCITT_COSE_TRANSPARENT: &str = "
import sys, scitt_cose
pem = open(sys.argv[2], 'rb').read()
def accepts(data):
    receipts = scitt_cose.extract_receipts(data)
    results = [scitt_cose.verify_receipt(one, leaf_entry_hex=sys.argv[3], log_public_key_pem=pem) for one in receipts]
    return len(results) == 1 and all(result.ok for result in results)
print('good' if accepts(open(sys.argv[1], 'rb').read()) else 'refused')
";

const PYCOSE: &str = "
import sys
from pycose.keys import OKPKey
from pycose.messages import CoseMessage
from cryptography.hazmat.primitives import serialization
raw = serialization.Encoding.Raw, serialization.PublicFormat.Raw
public = serialization.load_pem_public_key(open(sys.argv[2], 'rb').read()).public_bytes(*raw)
def accepts(data):
    message = CoseMessage.decode(data)
    message.key = OKPKey(crv='ED25519', x=public)
    return message.verify_signature()
";

const SECURESYSTEMSLIB: &str = "
import sys, json
from cryptography.hazmat.primitives import serialization
from securesystemslib.dsse import Envelope
from securesystemslib.signer import SSlibKey
key = SSlibKey.from_crypto(serialization.load_pem_public_key(open(sys.argv[2], 'rb').read()))
def accepts(data):
    return list(Envelope.from_dict(json.loads(data)).verify([key], 1)) == [key.keyid]
";

/// Prints `good` for each statement that is valid, the predicate of a Test Result included, and `refused` for others.
const IN_TOTO_ATTESTATION: &str = "
import sys, json
from google.protobuf import json_format
from in_toto_attestation.v1 import statement_pb2
from in_toto_attestation.v1.statement import Statement
from in_toto_attestation.predicates.test_result.v0 import test_result_pb2
for line in open(sys.argv[1]):
    try:
        statement = json_format.Parse(line, statement_pb2.Statement())
        Statement.copy_from_pb(statement).validate()
        predicate = json.loads(line)['predicate']
        if 'result' in predicate:
            read = json_format.ParseDict(predicate, test_result_pb2.TestResult(), ignore_unknown_fields=True)
            assert read.result in ('PASSED', 'FAILED') and all(one.digest for one in read.configuration)
    except Exception:
        print('refused')
    else:
        print('good')
";

/// What the script prints of a file with these bytes, with a key and further arguments.
fn run(python: &Path, script: &str, bytes: &[u8], key: &SignerId, arguments: &[&str]) -> String {
    let folder = tempfile::tempdir().unwrap();
    let (file, pem) = (folder.path().join("file"), folder.path().join("key.pem"));
    std::fs::write(&file, bytes).unwrap();
    std::fs::write(&pem, key.to_public_pem()).unwrap();
    let mut command = Command::new(python);
    let output = command.arg("-c").arg(script).args([&file, &pem]).args(arguments).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

fn each_byte(python: &Path, script: &str, bytes: &[u8], key: &SignerId, arguments: &[&str]) -> String {
    run(python, &format!("{script}{EACH_BYTE}"), bytes, key, arguments)
}

fn statements() -> Vec<Vec<u8>> {
    let documents = [Document::from(receipt(Verdict::Pass)), decision(true)];
    documents.iter().map(|document| sign_statement(document, &issuer()).unwrap()).collect()
}

#[test]
fn scitt_cose_verifies_statements_and_receipts() {
    let Some(python) = python_with("scitt_cose", "scitt-cose==0.5.0") else { return };
    for statement in statements() {
        assert_eq!(each_byte(&python, SCITT_COSE_STATEMENT, &statement, &issuer().signer(), &[]), "good\n");
        let entry = *statement_entry(&statement).unwrap().as_bytes();
        let hash = |parts: &[&[u8]]| *Sha256Digest::of(&parts.concat()).as_bytes();
        let left = hash(&[&[1], &hash(&[&[0], &[0; 32]]), &hash(&[&[0], &entry])]);
        let inclusion = Inclusion { tree_size: 3, leaf_index: 1, path: vec![hash(&[&[0], &[0; 32]]), [9; 32]] };
        let root = hash(&[&[1], &left, &[9; 32]]);
        let subject = Sha256Digest::of(b"output").to_string();
        let registration = Registration {
            origin: "log.example/proofmark",
            subject: &subject,
            entry: &entry,
            inclusion: &inclusion,
            root: &root,
        };
        let receipt = sign_receipt(&registration, &log()).unwrap();
        let entry = Sha256Digest::from_bytes(entry).bare_hex();
        assert_eq!(each_byte(&python, SCITT_COSE_RECEIPT, &receipt, &log().signer(), &[&entry]), "good\n");
        let transparent = attach_receipt(&statement, &receipt, &log().signer()).unwrap();
        assert_eq!(run(&python, SCITT_COSE_TRANSPARENT, &transparent, &log().signer(), &[&entry]), "good\n");
        let is_statement = format!("{SCITT_COSE_STATEMENT}print(accepts(open(sys.argv[1], 'rb').read()))");
        assert_eq!(run(&python, &is_statement, &transparent, &issuer().signer(), &[]), "True\n");
    }
}

#[test]
fn pycose_verifies_statements() {
    let Some(python) = python_with("pycose", "pycose==1.1.0") else { return };
    for statement in statements() {
        assert_eq!(each_byte(&python, PYCOSE, &statement, &issuer().signer(), &[]), "good\n");
    }
}

#[test]
fn securesystemslib_verifies_envelopes() {
    let Some(python) = python_with("securesystemslib", "securesystemslib==1.6.0") else { return };
    let test_result = intoto::sign_test_result(&receipt(Verdict::Fail), Some("suite"), &issuer()).unwrap();
    for envelope in [test_result, intoto::sign_svr(&decision(true), &issuer()).unwrap()] {
        let text = Json::from(envelope).to_text();
        let answers = each_byte(&python, SECURESYSTEMSLIB, text.as_bytes(), &issuer().signer(), &[]);
        let mut answers = answers.lines();
        assert_eq!(answers.next(), Some("good"));
        // Python ignores the bits of the last character of base64 that are to spare; here they are refused.
        let is_last = |at: &str| text.as_bytes()[at.parse::<usize>().unwrap() + 1] == b'=';
        assert!(answers.all(is_last), "{text}");
    }
}

#[test]
fn in_toto_attestation_reads_statements() {
    let Some(python) = python_with("in_toto_attestation", "in-toto-attestation==0.9.3") else { return };
    let passed = receipt(Verdict::Pass);
    let good = intoto::test_result(&passed, Some("suite")).unwrap();
    let mut without_subject = good.clone();
    without_subject.remove("subject");
    let statements = [
        good,
        intoto::test_result(&receipt(Verdict::Partial), None).unwrap(),
        intoto::svr(&passed.into()).unwrap(),
        intoto::svr(&decision(true)).unwrap(),
        without_subject,
    ];
    let lines: String = statements.into_iter().map(|statement| Json::from(statement).to_text() + "\n").collect();
    let answers = run(&python, IN_TOTO_ATTESTATION, lines.as_bytes(), &issuer().signer(), &[]);
    assert_eq!(answers, "good\ngood\ngood\ngood\nrefused\n");
}

/// Validates each line by the schema of its class, with its profiles and nothing else, and findings by the models of another package.
const OCSF: &str = "
import json, sys
from jsonschema import Draft202012Validator
from ocsf_json_schema import OcsfJsonSchemaEmbedded, get_ocsf_schema
from py_ocsf_models import OCSF_VERSION
from py_ocsf_models.events.findings.detection_finding import DetectionFinding
for line in open(sys.argv[1]):
    event = json.loads(line)
    version = event['metadata']['version']
    schema = OcsfJsonSchemaEmbedded(get_ocsf_schema(version=version))
    name = schema.lookup_class_name_from_uid(event['class_uid'])
    schema = schema.get_class_schema(class_name=name, profiles=event['metadata']['profiles'])
    errors = [error.message for error in Draft202012Validator(schema).iter_errors(event)]
    if event['class_uid'] == 2004:
        read = DetectionFinding.model_validate(event)
        assert version == OCSF_VERSION and read.finding_info.uid == event['finding_info']['uid']
    print(name, errors or 'good')
";

#[test]
fn ocsf_models_read_events() {
    let Some(python) = python_with("py_ocsf_models", "py-ocsf-models==0.10.0") else { return };
    let Some(_) = python_with("ocsf_json_schema", "ocsf-json-schema==1.2.0") else { return };
    let Some(_) = python_with("jsonschema", "jsonschema") else { return };
    let events = ocsf_events(&session(), None, None);
    let mut other = events.clone();
    other[0].insert("severity_id", 7_u64);
    other[1].insert("surprise", true);
    let lines =
        |events: Vec<Object>| events.into_iter().map(|event| Json::from(event).to_text() + "\n").collect::<String>();
    let answers = run(&python, OCSF, lines(events).as_bytes(), &issuer().signer(), &[]);
    let (call, found) = ("api_activity good\n", "detection_finding good\n");
    assert_eq!(answers, [call, call, found, call, call, found].concat());
    let answers = run(&python, OCSF, lines(other).as_bytes(), &issuer().signer(), &[]);
    assert_eq!(answers.lines().filter(|line| !line.ends_with("good")).count(), 2, "{answers}");
}
