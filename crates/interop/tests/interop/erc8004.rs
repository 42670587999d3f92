//! Calls of the Validation Registry of ERC-8004, compared with another encoder.

use std::io::Write;
use std::process::{Command, Stdio};

use proofmark_interop::ExportError;
use proofmark_interop::erc8004::{ArgumentError, MAX_URI_BYTES, RequestHash, ResponseUri, ValidationResponse};
use proofmark_receipt::{Detail, Json, Object, Receipt, Results, Status, Task, Verdict, object};
use proofmark_testing::python_with;

use crate::support::{draft, issuer, receipt, text};

const REQUEST: &str = "0x00112233445566778899aabbccddeeff00112233445566778899aabbccddeeFF";

/// Makes each call again from the function in the interface of the registry (ERC-8004, "Validation Response"), and prints `good` where
/// every byte is the same, and the hash of the response is that of the receipt's bytes.
const ETH_ABI: &str = r#"
import json, sys
from eth_abi import decode, encode
from eth_utils import keccak
from eth_utils.abi import abi_to_signature, function_abi_to_4byte_selector
inputs = [("requestHash", "bytes32"), ("response", "uint8"), ("responseURI", "string"), ("responseHash", "bytes32"), ("tag", "string")]
abi = {"type": "function", "name": "validationResponse", "stateMutability": "nonpayable", "outputs": [],
       "inputs": [{"name": name, "type": kind, "internalType": kind} for name, kind in inputs]}
kinds = [kind for _, kind in inputs]
for line in sys.stdin:
    case = json.loads(line)
    call, data = case["call"], bytes.fromhex(case["call"]["data"][2:])
    binary = lambda name: bytes.fromhex(call[name][2:])
    values = (binary("requestHash"), call["response"], call["responseURI"], binary("responseHash"), call["tag"])
    same = data == function_abi_to_4byte_selector(abi) + encode(kinds, values) and decode(kinds, data[4:], strict=True) == values
    named = abi_to_signature(abi) == call["function"]
    print("good" if same and named and keccak(case["receipt"].encode()) == binary("responseHash") else "refused")
"#;

fn request() -> RequestHash {
    REQUEST.parse().unwrap()
}

fn response(receipt: &Receipt) -> Result<Object, ExportError> {
    Ok(ValidationResponse::new(receipt, request(), ResponseUri::default())?.document())
}

/// A receipt with this verdict, and this many checks of each status.
fn counted(verdict: Verdict, passed: u64, failed: u64) -> Receipt {
    let mut draft = draft(verdict, Object::new());
    let details = vec![Detail::new("one", Status::Fail)];
    draft.results = Results { total: passed + failed, passed, failed, errors: 0, details };
    draft.sign(&issuer()).unwrap()
}

fn number(call: &Object) -> String {
    call.get("response").unwrap().to_text()
}

#[test]
fn eth_abi_makes_the_same_calls() {
    let Some(python) = python_with("eth_abi", "eth-abi==6.0.0") else { return };
    let Some(_) = python_with("Crypto", "eth-hash[pycryptodome]==0.8.0") else { return };
    let receipts = [receipt(Verdict::Pass), receipt(Verdict::Partial), counted(Verdict::Fail, 0, 7)];
    // Texts that end a word, and that need one more.
    let lengths = [9, 31, 32, 33, 63, 64, 65, MAX_URI_BYTES];
    let mut uris: Vec<ResponseUri> =
        lengths.iter().map(|length| format!("ipfs://{}", "a".repeat(length - 7)).parse().unwrap()).collect();
    uris.push(ResponseUri::default());
    let mut cases = String::new();
    for receipt in &receipts {
        for uri in &uris {
            let call = ValidationResponse::new(receipt, request(), uri.clone()).unwrap().document();
            cases.push_str(&Json::from(object! { "receipt": receipt.to_text(), "call": call }).to_text());
            cases.push('\n');
        }
    }
    let mut child = Command::new(python);
    let child = child.args(["-c", ETH_ABI]).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = child.spawn().unwrap();
    child.stdin.take().unwrap().write_all(cases.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(String::from_utf8(output.stdout).unwrap(), "good\n".repeat(receipts.len() * uris.len()));
}

#[test]
fn the_call_data_is_what_the_interface_says() {
    let call = response(&receipt(Verdict::Pass)).unwrap();
    let hash = text(&call, "responseHash");
    let expected = [
        "0x3d659a96",
        "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff",
        "0000000000000000000000000000000000000000000000000000000000000064",
        "00000000000000000000000000000000000000000000000000000000000000a0",
        &hash[2..],
        "00000000000000000000000000000000000000000000000000000000000000c0",
        "0000000000000000000000000000000000000000000000000000000000000000",
        "0000000000000000000000000000000000000000000000000000000000000005",
        "7465737473000000000000000000000000000000000000000000000000000000",
    ];
    assert_eq!(text(&call, "data"), expected.concat());
    assert_eq!(text(&call, "requestHash"), REQUEST.to_lowercase());
}

#[test]
fn the_score_follows_the_verdict_and_is_rounded_down() {
    let cases = [
        (Verdict::Fail, 0, 7, "0"),
        (Verdict::Fail, 6, 1, "0"),
        (Verdict::Partial, 1, 1_000, "0"),
        (Verdict::Partial, 2, 1, "66"),
        (Verdict::Partial, 99_999, 1, "99"),
        (Verdict::Partial, (1 << 53) - 2, 1, "99"),
    ];
    for (verdict, passed, failed, score) in cases {
        assert_eq!(number(&response(&counted(verdict, passed, failed)).unwrap()), score, "{verdict} {passed} {failed}");
    }
    assert_eq!(number(&response(&receipt(Verdict::Pass)).unwrap()), "100");
    assert_eq!(response(&receipt(Verdict::Error)).unwrap_err(), ExportError::NoScore);
}

#[test]
fn only_signed_receipts_of_verified_work_have_a_score() {
    let signed = |tier: u8, metadata: Object, kind: Option<&str>| {
        let mut draft = draft(Verdict::Pass, metadata);
        (draft.tier, draft.task) =
            (tier, kind.map(|kind| Task { task_type: Some(kind.to_owned()), ..Task::default() }));
        response(&draft.sign(&issuer()).unwrap())
    };
    let constraints = signed(1, Object::new(), None).unwrap();
    assert_eq!((text(&constraints, "tag"), number(&constraints).as_str()), ("constraints", "100"));
    for (tier, metadata, kind) in [
        (2, object! { "kind": "quorum" }, None),
        (3, Object::new(), None),
        (0, object! { "approval": Object::new() }, None),
        (0, object! { "kind": "step_acceptance" }, None),
        (0, Object::new(), Some("approval")),
    ] {
        let refused = signed(tier, metadata, kind).unwrap_err();
        assert_eq!(refused.code(), "no_judgment", "{tier} {kind:?}");
    }
    let changed = receipt(Verdict::Fail).to_text().replacen("\"fail\"", "\"error\"", 1);
    let changed = response(&Receipt::parse(changed.as_bytes()).unwrap()).unwrap_err();
    assert_eq!(changed.code(), "content_hash_mismatch");
}

#[test]
fn arguments_are_read_strictly() {
    let hash = |text: &str| text.parse::<RequestHash>();
    let zero = format!("0x{}", "0".repeat(64));
    let multibyte = format!("0x{}é", "0".repeat(62));
    for (wrong, error) in [
        ("", ArgumentError::NotHash),
        (&REQUEST[2..], ArgumentError::NotHash),
        (&REQUEST[..65], ArgumentError::NotHash),
        (&REQUEST.replace('0', "g"), ArgumentError::NotHash),
        (&REQUEST.replacen("00", "+1", 1), ArgumentError::NotHash),
        (&multibyte, ArgumentError::NotHash),
        (&zero, ArgumentError::ZeroHash),
    ] {
        assert_eq!(hash(wrong), Err(error), "{wrong}");
    }
    let long = format!("ipfs://{}", "a".repeat(MAX_URI_BYTES));
    for wrong in ["", "receipt.json", "https:", "://x", "1a:b", "https://a b", "https://a\n", "https://é", &long] {
        assert!(wrong.parse::<ResponseUri>().is_err(), "{wrong}");
    }
}
