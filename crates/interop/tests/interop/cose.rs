//! Statements and COSE receipts: those of `conformance/cose`, and those that are made here.

use proofmark_interop::cose::{
    self, Inclusion, MAX_RECEIPTS, Registration, attach_receipt, sign_receipt, sign_statement, statement_entry,
    verify_receipt, verify_statement,
};
use proofmark_interop::{Decision, Document, ExportError};
use proofmark_receipt::{Json, Object, Receipt, Sha256Digest, Trust, Verdict, object, sign_document};

use crate::support::{bytes, cases, data, decision, draft, hash, issuer, json, log, public_key, receipt, second, text};

/// The code of a result.
fn code<T>(result: &Result<T, ExportError>) -> &'static str {
    result.as_ref().map_or_else(ExportError::code, |_| "ok")
}

#[test]
fn statements_answer_as_the_data_says() {
    let Some(file) = json("cose/statement.json") else { return };
    let issuer = text(file.as_object().unwrap(), "issuer").parse().unwrap();
    let mut count = 0;
    for case in cases(&file) {
        let answer = verify_statement(&bytes(text(case, "statement")), &[issuer]);
        assert_eq!(code(&answer), text(case, "expect"), "{}: {answer:?}", text(case, "name"));
        if let Ok(statement) = answer {
            assert_eq!(statement.verification.trust, Trust::Trusted);
        }
        count += 1;
    }
    assert_eq!(count, 22);
}

#[test]
fn a_statement_is_written_byte_for_byte() {
    let (Some(payload), Some(expected)) = (data("cose/payload.json"), data("cose/statement.cose")) else { return };
    let document = Document::from(Receipt::parse(&payload).unwrap());
    assert_eq!(sign_statement(&document, &issuer()).unwrap(), expected);
    assert_eq!(verify_statement(&expected, &[]).unwrap().document, document);
    assert!(cose::claimed_by(&expected) && !cose::claimed_by(&payload));
    assert_eq!(public_key("cose/issuer.pem"), Some(issuer().signer()));
}

#[test]
fn receipts_answer_as_the_data_says() {
    let Some(file) = json("cose/receipt.json") else { return };
    let log = text(file.as_object().unwrap(), "log").parse().unwrap();
    let origin = text(file.as_object().unwrap(), "origin");
    let mut count = 0;
    for case in cases(&file) {
        let answer = verify_receipt(&bytes(text(case, "receipt")), &hash(text(case, "entry")), &log);
        assert_eq!(code(&answer), text(case, "expect"), "{}: {answer:?}", text(case, "name"));
        if let Ok(receipt) = answer {
            assert_eq!(receipt.origin.as_deref(), Some(origin));
        }
        count += 1;
    }
    assert_eq!(count, 20);
}

/// The root of the entries `from` to `to`, by the definition of RFC 9162, section 2.1.1.
fn root(entries: &[[u8; 32]]) -> [u8; 32] {
    let hash = |parts: &[&[u8]]| *Sha256Digest::of(&parts.concat()).as_bytes();
    match entries {
        [] => hash(&[]),
        [entry] => hash(&[&[0], entry]),
        _ => {
            let (left, right) = entries.split_at(entries.len().next_power_of_two() / 2);
            hash(&[&[1], &root(left), &root(right)])
        }
    }
}

/// The inclusion path, by the definition of RFC 9162, section 2.1.3.1.
fn path(index: usize, entries: &[[u8; 32]]) -> Vec<[u8; 32]> {
    if entries.len() < 2 {
        return Vec::new();
    }
    let (left, right) = entries.split_at(entries.len().next_power_of_two() / 2);
    let (mut path, beside) = match index.checked_sub(left.len()) {
        None => (path(index, left), root(right)),
        Some(index) => (path(index, right), root(left)),
    };
    path.push(beside);
    path
}

fn inclusion(index: usize, entries: &[[u8; 32]]) -> Inclusion {
    Inclusion { tree_size: entries.len() as u64, leaf_index: index as u64, path: path(index, entries) }
}

fn registered(subject: &str, index: usize, entries: &[[u8; 32]]) -> Result<Vec<u8>, ExportError> {
    let inclusion = inclusion(index, entries);
    let (entry, root) = (&entries[index], &root(entries));
    sign_receipt(&Registration { origin: "log.example/proofmark", subject, entry, inclusion: &inclusion, root }, &log())
}

#[test]
fn receipts_are_written_byte_for_byte() {
    let Some(file) = json("cose/receipt.json") else { return };
    let file = file.as_object().unwrap();
    let entries = file.get("entries").and_then(Json::as_array).unwrap();
    let entries: Vec<[u8; 32]> = entries.iter().map(|entry| hash(entry.as_str().unwrap())).collect();
    for (size, expected) in file.get("roots").and_then(Json::as_object).unwrap().iter() {
        assert_eq!(root(&entries[..size.parse().unwrap()]), hash(expected.as_str().unwrap()));
    }
    let (of_json, of_statement) = (data("cose/receipt-of-json.cose"), data("cose/receipt-of-statement.cose"));
    let statement = data("cose/statement.cose").unwrap();
    let document = Receipt::parse(&data("cose/payload.json").unwrap()).unwrap();
    let subject = document.hashes().output.to_string();
    assert_eq!(entries[1], *document.hash().as_bytes());
    assert_eq!(entries[3], *statement_entry(&statement).unwrap().as_bytes());
    assert_eq!(registered(&subject, 1, &entries).ok(), of_json);
    assert_eq!(registered(&subject, 3, &entries).ok(), of_statement);
    let (of_json, of_statement) = (of_json.unwrap(), of_statement.unwrap());
    let transparent = attach_receipt(&statement, &of_statement, &log().signer()).unwrap();
    assert_eq!(Some(transparent), data("cose/transparent.cose"));
    // It would claim that the statement was registered.
    assert_eq!(code(&attach_receipt(&statement, &of_json, &log().signer())), "signature_mismatch");
}

#[test]
fn each_entry_of_each_small_log_has_a_receipt() {
    let entries: Vec<[u8; 32]> = (0..20).map(|index: u8| [index; 32]).collect();
    for size in 2..entries.len() {
        for index in 0..size {
            let receipt = registered("sub", index, &entries[..size]).unwrap();
            assert!(verify_receipt(&receipt, &entries[index], &log().signer()).is_ok(), "{index} of {size}");
            let other = verify_receipt(&receipt, &entries[size], &log().signer());
            assert_eq!(code(&other), "signature_mismatch", "{index} of {size}");
        }
    }
    assert_eq!(code(&registered("sub", 0, &entries[..1])), "malformed_receipt");
}

#[test]
fn a_log_signs_no_root_that_the_path_does_not_lead_to() {
    let entries: Vec<[u8; 32]> = (0..5).map(|index: u8| [index; 32]).collect();
    let (inclusion, root) = (inclusion(2, &entries), root(&entries));
    let made = |entry, inclusion: &Inclusion, root| {
        code(&sign_receipt(&Registration { origin: "log", subject: "sub", entry, inclusion, root }, &log()))
    };
    assert_eq!(made(&entries[2], &inclusion, &root), "ok");
    assert_eq!(made(&entries[1], &inclusion, &root), "inclusion_mismatch");
    assert_eq!(made(&entries[2], &inclusion, &entries[0]), "inclusion_mismatch");
    assert_eq!(made(&entries[2], &Inclusion { leaf_index: 5, ..inclusion.clone() }, &root), "inclusion_mismatch");
    assert_eq!(made(&entries[2], &Inclusion { tree_size: 0, ..inclusion }, &root), "inclusion_mismatch");
}

#[test]
fn a_transparent_statement_tells_its_log() {
    let document = Document::from(receipt(Verdict::Pass));
    let statement = sign_statement(&document, &issuer()).unwrap();
    let entry = *statement_entry(&statement).unwrap().as_bytes();
    let entries = [[0; 32], entry, [2; 32]];
    let subject = Sha256Digest::of(b"output").to_string();
    let proof = registered(&subject, 1, &entries).unwrap();
    let once = attach_receipt(&statement, &proof, &log().signer()).unwrap();
    // A registration changes neither what is signed nor the entry.
    assert_eq!(statement_entry(&once).unwrap().as_bytes(), &entry);
    let read = verify_statement(&once, &[]).unwrap();
    assert_eq!((read.receipts.as_slice(), read.entry.as_bytes()), ([proof.clone()].as_slice(), &entry));
    assert_eq!(read.registered_in(&log().signer()).unwrap().origin.as_deref(), Some("log.example/proofmark"));
    assert_eq!(code(&read.registered_in(&second().signer())), "signature_mismatch");
    assert_eq!(code(&verify_statement(&statement, &[]).unwrap().registered_in(&log().signer())), "malformed_receipt");
    // A receipt that is about something else says nothing of this document, and one that is follows it.
    let of_other = attach_receipt(&statement, &registered("other", 1, &entries).unwrap(), &log().signer()).unwrap();
    let read = verify_statement(&of_other, &[]).unwrap();
    assert_eq!(code(&read.registered_in(&log().signer())), "subject_mismatch");
    let both = attach_receipt(&of_other, &proof, &log().signer()).unwrap();
    assert!(verify_statement(&both, &[]).unwrap().registered_in(&log().signer()).is_ok());
    let mut full = statement;
    for _ in 0..MAX_RECEIPTS {
        full = attach_receipt(&full, &proof, &log().signer()).unwrap();
    }
    assert!(verify_statement(&full, &[]).is_ok());
    assert_eq!(code(&attach_receipt(&full, &proof, &log().signer())), "malformed_statement");
}

#[test]
fn only_a_valid_document_becomes_a_statement_of_its_signer() {
    let document = Document::from(receipt(Verdict::Error));
    assert!(sign_statement(&document, &issuer()).is_ok());
    assert_eq!(code(&sign_statement(&document, &second())), "issuer_mismatch");
    let unsigned = Document::from(draft(Verdict::Pass, Object::new()).unsigned().unwrap());
    assert_eq!(code(&sign_statement(&unsigned, &issuer())), "unsigned");
    let forged = receipt(Verdict::Pass).to_text().replace("\"one\"", "\"One\"");
    let forged = Document::from(Receipt::parse(forged.as_bytes()).unwrap());
    let refused = sign_statement(&forged, &issuer());
    assert_eq!((code(&refused), refused.unwrap_err().answer()), ("content_hash_mismatch", "invalid"));
}

#[test]
fn decisions_are_statements_too() {
    for allows in [true, false] {
        let document = decision(allows);
        let statement = sign_statement(&document, &issuer()).unwrap();
        let read = verify_statement(&statement, &[second().signer()]).unwrap();
        assert_eq!(read.verification.trust, Trust::Untrusted);
        assert_eq!(canonical(&read.document), canonical(&document));
    }
    let Document::Decision(decision) = decision(true) else { panic!("it is a decision") };
    let mut other = decision.document().clone();
    other.insert("safe_to_execute", false);
    let forged = Document::from(Decision::read(other.clone()).unwrap());
    assert_eq!(code(&sign_statement(&forged, &issuer())), "content_hash_mismatch");
    other.insert("binding", object! { "action_hash": 1_u64 });
    assert_eq!(code(&Decision::read(other)), "malformed_statement");
    // A document of another format that is signed the same way is not a decision.
    let mut head = object! { "format": "proofmark-chain-head/1" };
    sign_document(&mut head, &issuer()).unwrap();
    assert_eq!(code(&Decision::read(head)), "malformed_statement");
}

#[test]
fn the_decision_of_the_vectors_is_a_statement() {
    let vectors = include_str!("../../../../vectors/decision.json");
    let vectors = Json::parse(vectors.as_bytes()).unwrap();
    let case = cases(&vectors).next().unwrap();
    let Json::Object(document) = Json::parse(text(case, "document").as_bytes()).unwrap() else { panic!("an object") };
    let document = Document::from(Decision::read(document).unwrap());
    let statement = sign_statement(&document, &issuer()).unwrap();
    assert_eq!(canonical(&verify_statement(&statement, &[]).unwrap().document), canonical(&document));
}

/// The document in the one order of its members: a statement holds it in that.
fn canonical(document: &Document) -> Vec<u8> {
    match document {
        Document::Receipt(receipt) => receipt.document().canonical_vrf(),
        Document::Decision(decision) => decision.document().canonical_vrf(),
    }
}

#[test]
fn a_parameter_is_in_one_header() {
    let statement = sign_statement(&receipt(Verdict::Pass).into(), &issuer()).unwrap();
    // The tag, the array, and the length of the protected header take four bytes; behind it is the empty unprotected one.
    let end = 4 + usize::from(statement[3]);
    assert_eq!(statement[end], 0xA0);
    let with = |unprotected: &str| [&statement[..end], &bytes(unprotected), &statement[end + 1..]].concat();
    assert_eq!(code(&verify_statement(&with("a10127"), &[])), "malformed_statement");
    assert_eq!(code(&verify_statement(&with("a1186341ff"), &[])), "ok");
    // COSE receipts in no list, an empty list, and not in bytes.
    for receipts in ["a119018a41ff", "a119018a80", "a119018a8101"] {
        assert_eq!(code(&verify_statement(&with(receipts), &[])), "malformed_statement", "{receipts}");
    }
}

#[test]
fn what_is_too_large_is_not_read() {
    let answer = verify_statement(&vec![0xD2; cose::MAX_STATEMENT_BYTES + 1], &[]);
    assert_eq!(answer, Err(ExportError::MalformedStatement("it is larger than a statement of the largest document")));
    let answer = verify_receipt(&vec![0xD2; cose::MAX_RECEIPT_BYTES + 1], &[0; 32], &log().signer());
    assert_eq!(answer, Err(ExportError::MalformedReceipt("it is larger than 16 KiB")));
}
