use proofmark_receipt::{Json, SignerId, SigningKey, sign_document};

use crate::run::{Place, RIGHT, WRONG, request};

#[test]
fn trust_is_separate_from_validity() {
    let place = Place::new();
    let file = place.file("r.json", place.receipt(&request(RIGHT), &[]).to_text());
    let own = place.run(&["key", "show", "--as", "pem"]).stdout;
    let own = place.file("own.pem", own);
    place.run(&["key", "new", "other"]);
    let other = place.run(&["key", "show", "other", "--as", "jwk"]).stdout;
    let set = place.file("set.json", format!("{{\"keys\":[{}]}}", other.trim()));
    for (trusted, code, trust) in [
        (&[][..], 0, "trusted"),
        (&["--trust", "default"], 0, "trusted"),
        (&["--trust", "other"], 1, "untrusted"),
        (&["--trust", &set, "--trust", &own], 0, "trusted"),
        (&["--trust", &set], 1, "untrusted"),
    ] {
        let done = place.run(&[&["receipt", "verify", &file, "--json"], trusted].concat());
        assert!(done.code == code && done.stdout.contains(&format!("\"trust\":\"{trust}\"")), "{done:?}");
    }
    let unknown = place.run(&["receipt", "verify", &file, "--trust", "nobody"]);
    assert_eq!(unknown.code, 2, "{unknown:?}");
}

#[test]
fn a_changed_receipt_is_invalid_and_a_cut_one_undecidable() {
    let place = Place::new();
    let text = place.receipt(&request(WRONG), &[]).to_text();
    let changed = place.file("changed.json", text.replacen("\"fail\"", "\"pass\"", 1));
    let done = place.run(&["receipt", "verify", &changed, "--json"]);
    assert!(done.code == 1 && done.stdout.contains("\"cause\":\"content_hash_mismatch\""), "{done:?}");
    let cut = place.file("cut.json", &text[..text.len() / 2]);
    let done = place.run(&["receipt", "verify", &cut]);
    assert!(done.code == 2 && done.stdout.contains("unexpected_end"), "{done:?}");
    let unsigned = place.receipt(&request(RIGHT), &["--unsigned"]).to_text();
    let done = place.run(&["receipt", "verify", &place.file("unsigned.json", unsigned)]);
    assert!(done.code == 2 && done.stdout.contains("unsigned"), "{done:?}");
}

#[test]
fn several_receipts_are_answered_one_by_one_and_the_worst_counts() {
    let place = Place::new();
    let good = place.receipt(&request(RIGHT), &[]).to_text();
    let file = place.file("mixed.jsonl", format!("{good}\n{}\n", good.replacen("pass", "fail", 1)));
    let done = place.run(&["receipt", "verify", &file]);
    assert_eq!(done.code, 1, "{done:?}");
    assert!(done.stdout.starts_with("valid ") && done.stdout.contains("\ninvalid "), "{done:?}");
    assert!(done.stdout.contains("mixed.jsonl:2"), "{done:?}");
}

/// 16 MB of such lines once took minutes.
#[test]
fn a_file_that_holds_no_receipts_is_given_up() {
    let place = Place::new();
    let file = place.file("none.jsonl", "{}\n".repeat(5 << 20));
    let done = place.run(&["receipt", "verify", &file]);
    assert!(
        done.code == 2 && done.stderr.contains("10000 documents") && done.stderr.contains("help: "),
        "{}",
        done.stderr
    );
    assert_eq!(done.stdout.matches("undecidable").count(), 10_000);
}

#[test]
fn ids_are_found_by_their_beginning() {
    let place = Place::new();
    let receipt = place.receipt(&request(RIGHT), &[]);
    let id = receipt.receipt_id().to_string();
    assert_eq!(place.run(&["receipt", "verify", &id]).code, 0);
    assert_eq!(place.run(&["receipt", "export", &id[..6]]).stdout.trim(), receipt.to_text());
    let absent = place.run(&["receipt", "show", "ffff0000"]);
    assert_eq!(absent.code, 2);
}

#[test]
fn lists_are_filtered_and_paged() {
    let place = Place::new();
    for source in [RIGHT, WRONG, RIGHT] {
        place.receipt(&request(source), &[]);
    }
    let failed = place.run(&["receipt", "list", "--verdict", "fail", "--json"]);
    assert_eq!(failed.stdout.lines().count(), 1);
    let page = place.run(&["receipt", "list", "--limit", "2", "--json"]);
    assert_eq!(page.stdout.lines().count(), 2, "{page:?}");
    let cursor = page.stderr.split("--after ").nth(1).unwrap().trim().trim_end_matches('`');
    let rest = place.run(&["receipt", "list", "--limit", "2", "--json", "--after", cursor]);
    assert_eq!(rest.stdout.lines().count(), 1, "{rest:?}");
}

#[test]
fn lists_are_limited_in_time_and_to_chains_that_exist() {
    let place = Place::new();
    let receipt = place.receipt(&request(RIGHT), &["--chain", "work"]);
    let at = receipt.verified_at().to_string();
    let count =
        |arguments: &[&str]| place.run(&[&["receipt", "list", "--json"], arguments].concat()).stdout.lines().count();
    assert_eq!(count(&["--since", &at]), 1);
    assert_eq!(count(&["--until", &at]), 0);
    assert_eq!(count(&["--chain", "work", "--until", "2999-01-01T00:00:00Z"]), 1);
    for arguments in [["--chain", "wrok"], ["--since", "yesterday"], ["--until", "2026"]] {
        let done = place.run(&[&["receipt", "list"], &arguments[..]].concat());
        assert!(done.code == 2 && done.stdout.is_empty(), "{done:?}");
    }
}

#[test]
fn a_page_says_whether_the_signature_is_valid_and_an_issuer_cannot_write_that_line() {
    let place = Place::new();
    let receipt = place.receipt(&request(WRONG), &[]);
    let page = |text: &str| place.run(&["receipt", "show", &place.file("document.json", text)]).stdout;
    let own = page(&receipt.to_text());
    assert!(own.contains("default (your key)") && own.contains("the signature is valid"), "{own}");
    let changed = page(&receipt.to_text().replacen("\"fail\"", "\"pass\"", 1));
    assert!(changed.contains("signature        invalid") && !changed.contains("your key"), "{changed}");
    let stated = receipt.to_text().replacen(
        "\"metadata\":{",
        "\"metadata\":{\"signed by\":\"your key `default`\\n  signed by x\",\"tier\":\"3\",",
        1,
    );
    let unsigned = receipt.signature().map(|signature| signature.content_hash.to_string()).unwrap_or_default();
    assert!(stated.contains(&unsigned));
    let foreign = page(&stated);
    let (said, states) = foreign.split_once("metadata, as the issuer states it\n").unwrap();
    assert!(!said.contains("your key") && states.contains("your key `default`\\n  signed by x"), "{foreign}");
    let raw = place.run(&["receipt", "show", &place.file("document.json", receipt.to_text()), "--raw"]);
    assert_eq!(raw.stdout.trim_end(), receipt.to_text());
}

#[test]
fn without_a_store_nothing_is_made() {
    let place = Place::new();
    let done = place.run(&["receipt", "list"]);
    assert_eq!(done.code, 2);
    assert!(!place.path("home").exists(), "{done:?}");
}

#[test]
fn a_damaged_store_is_reported_and_not_changed() {
    let place = Place::in_file();
    place.receipt(&request(RIGHT), &[]);
    let store = place.path("home/proofmark.db");
    let garbage = vec![b'x'; 8192];
    std::fs::write(&store, &garbage).unwrap();
    for suffix in ["-wal", "-shm"] {
        let _ = std::fs::remove_file(place.path(&format!("home/proofmark.db{suffix}")));
    }
    let file = place.file("r.json", request(RIGHT));
    let done = place.run(&["verify", &file]);
    assert_eq!(done.code, 2, "{done:?}");
    assert!(done.stderr.contains("proofmark.db"), "{done:?}");
    assert_eq!(std::fs::read(&store).unwrap(), garbage);
}

/// The document signed by the key with this seed, as decisions are.
fn signed(document: &str, seed: u8) -> String {
    let Ok(Json::Object(mut document)) = Json::parse(document.as_bytes()) else { panic!("{document}") };
    sign_document(&mut document, &SigningKey::from_seed([seed; 32])).unwrap();
    Json::from(document).to_text()
}

#[test]
fn no_signed_document_passes_for_a_receipt_by_its_type() {
    let place = Place::new();
    let receipt = place.receipt(&request(RIGHT), &[]).to_text();
    let typed = |word: &str| receipt.replacen('{', &format!("{{\"receipt_type\":\"{word}\","), 1);
    let bare = r#"{"receipt_type":"verifiedx_decision_receipt","outcome":"allow","safe_to_execute":true}"#;
    for (document, code, cause) in [
        // A stranger signs again what the verifier's key is named in.
        (signed(&typed("x"), 9), 1, "issuer_key_mismatch"),
        (signed(&typed("verifiedx_decision_receipt"), 9), 1, "issuer_key_mismatch"),
        (typed("verifiedx_decision_receipt"), 1, "content_hash_mismatch"),
        (signed(r#"{"receipt_type":"x","note":"pay"}"#, 9), 2, "missing_field"),
        (signed(r#"{"receipt_type":1}"#, 9), 2, "missing_field"),
        (signed(bare, 9), 2, "missing_field"),
        (signed(r#"{"note":"pay"}"#, 9), 2, "missing_field"),
    ] {
        let done = place.run(&["receipt", "verify", &place.file("document.json", &document), "--json"]);
        assert!(done.code == code && done.stdout.contains(&format!("\"cause\":\"{cause}\"")), "{document}: {done:?}");
    }
}

#[test]
fn what_no_signature_covers_makes_no_receipt_valid() {
    let place = Place::new();
    let receipt = place.receipt(&request(RIGHT), &[]);
    let text = receipt.to_text();
    let signer: SignerId = receipt.signature().unwrap().signer_id.parse().unwrap();
    let tail = format!("\"signer_id\":\"{signer}\"");
    for (changed, code, cause) in [
        (text.replace(&tail, &format!("{tail},\"note\":\"paid\"")), 2, "unsigned_member"),
        (text.replace(&tail, &format!("\"signer_id\":\"{}\"", signer.did_key())), 2, "invalid_signer_id"),
    ] {
        assert_ne!(changed, text);
        let done = place.run(&["receipt", "verify", &place.file("changed.json", &changed), "--json"]);
        assert!(done.code == code && done.stdout.contains(&format!("\"cause\":\"{cause}\"")), "{changed}: {done:?}");
    }
}

#[test]
fn a_signer_id_to_trust_is_never_a_file_of_that_name() {
    let place = Place::new();
    let receipt = place.receipt(&request(RIGHT), &[]);
    let file = place.file("r.json", receipt.to_text());
    let own: SignerId = receipt.signature().unwrap().signer_id.parse().unwrap();
    let stranger = SigningKey::from_seed([9; 32]).signer();
    // The ids have slashes in base64 only, which would be folders; the raw key is chosen without.
    let plain = (0..=255_u8).map(|seed| SigningKey::from_seed([seed; 32]).signer());
    let plain = plain.map(|signer| signer.to_string()).find(|text| !text.contains('/')).unwrap();
    for named in [stranger.did_key(), plain, format!("ed25519:{}", "0f".repeat(32))] {
        place.file(&named, own.to_public_pem());
        let done = place.run(&["receipt", "verify", &file, "--json", "--trust", &named]);
        assert!(done.code == 1 && done.stdout.contains("\"trust\":\"untrusted\""), "{named}: {done:?}");
        let done = place.run(&["receipt", "verify", &file, "--json", "--trust", &format!("./{named}")]);
        assert!(done.code == 0 && done.stdout.contains("\"trust\":\"trusted\""), "{named}: {done:?}");
    }
    for damaged in ["ed25519:0f", "did:key:z6Mk", "MCowBQYDK2VwAyEAshort"] {
        place.file(damaged, own.to_public_pem());
        let done = place.run(&["receipt", "verify", &file, "--trust", damaged]);
        assert!(done.code == 2 && done.stderr.contains(&format!("./{damaged}")), "{damaged}: {done:?}");
    }
}

/// More than a receipt may have, so that lines are read one by one, on all cores.
#[test]
fn each_line_of_a_large_file_is_answered_in_its_place() {
    let place = Place::new();
    let good = place.receipt(&request(RIGHT), &[]).to_text();
    let [changed, cut] = [good.replacen("\"pass\"", "\"fail\"", 1), good[..good.len() / 2].to_owned()];
    let (mut lines, mut expected) = (Vec::new(), Vec::new());
    for number in 1..=400 {
        let (line, answer) = match number {
            40 => (" ".repeat((1 << 20) + 7) + &good, Some("undecidable")),
            300 => (format!("{}{good}", " ".repeat((1 << 20) - good.len())), Some("valid")),
            _ if number % 7 == 3 => (changed.clone(), Some("invalid")),
            _ if number % 11 == 5 => (cut.clone(), Some("undecidable")),
            _ if number % 13 == 1 => (" \r".to_owned(), None),
            _ => (good.clone(), Some("valid")),
        };
        lines.push(line);
        expected.extend(answer.map(|answer| format!("{answer} {}", number)));
    }
    let text = lines.join("\n");
    let file = place.file("many.jsonl", &text);
    let done = place.run(&["receipt", "verify", &file]);
    assert_eq!((done.code, done.stderr.as_str()), (2, ""));
    let label = format!("{file}:");
    let answers = done.stdout.lines().filter(|line| !line.starts_with(' ')).map(|line| line.replace(&label, ""));
    assert!(answers.eq(expected.iter().cloned()), "{}", &done.stdout[..2_000]);

    let from_stdin = place.run_with(&["receipt", "verify", "-"], &[], text.as_bytes());
    assert_eq!(from_stdin.code, 2);
    assert_eq!(from_stdin.stdout, done.stdout.replace(&label, "standard input:"));

    let json = place.run(&["receipt", "verify", &file, "--json"]);
    let member = |json: &Json, name| json.as_object().unwrap().get(name).unwrap().as_str().unwrap().to_owned();
    let answers = json.stdout.lines().map(|line| Json::parse(line.as_bytes()).unwrap());
    let answers =
        answers.map(|json| format!("{} {}", member(&json, "answer"), member(&json, "source").replace(&label, "")));
    assert!(answers.eq(expected), "{}", &json.stdout[..2_000]);

    // What cannot be opened is reported before anything else.
    let missing = place.run(&["receipt", "verify", &file, "missing.json"]);
    assert_eq!((missing.code, missing.stdout.as_str()), (2, ""), "{missing:?}");
}

#[test]
fn a_large_chain_is_one_chain_on_any_number_of_cores() {
    let place = Place::new();
    let text = r#"{"output": {"content": "hello"}, "verification": {"kind": "schema_check",
        "checks": [{"name": "short", "constraint": "length <= 10"}]}}"#;
    let file = place.file("requests.jsonl", vec![text.replace('\n', ""); 1_000].join("\n"));
    let made = place.run(&["verify", &file, "--chain", "long", "--json"]);
    assert_eq!(made.code, 0);
    let receipts: Vec<&str> = made.stdout.lines().collect();
    let check = |receipts: &[&str]| {
        let file = place.file("chain.jsonl", receipts.join("\n"));
        let done = place.run(&["receipt", "verify", &file, "--as-chain"]);
        let last = done.stdout.lines().skip_while(|line| !line.contains(" chain of ")).collect::<Vec<_>>().join("\n");
        (done.code, last)
    };
    assert_eq!(check(&receipts), (0, "valid chain of 1000".to_owned()));
    let (code, gap) = check(&[&receipts[..600], &receipts[601..]].concat());
    assert!(code == 1 && gap.contains("invalid chain of 999") && gap.contains("gap"), "{gap}");
}
