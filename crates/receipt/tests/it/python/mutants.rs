//! Receipts changed in their structure, signed again or not: what two verifiers have to agree about.

use ed25519_dalek::{Signer, SigningKey as Ed25519Key};
use proofmark_receipt::{
    ChainTip, DecidedBy, Detail, Draft, Hashes, Json, Object, ReceiptId, Results, Sha256Digest, SignerId, SigningKey,
    Status, Task, Timestamp, Verdict,
};

/// The seeds of the issuer and of a stranger.
const SEEDS: [[u8; 32]; 2] = [[7; 32], [8; 32]];

/// What stands in for some value of a receipt, as JSON.
const VALUES: [&str; 46] = [
    "null",
    "true",
    "false",
    "0",
    "-0",
    "1",
    "2",
    "3",
    "4",
    "-1",
    "1.0",
    "1.5",
    "0.0",
    "-0.0",
    "1e0",
    "1E2",
    "1e400",
    "9007199254740991",
    "-9007199254740991",
    "9007199254740992",
    "9007199254740993",
    "18446744073709551616",
    "123456789012345678901234567890",
    "\"\"",
    "\"x\"",
    "\"pass\"",
    "\"fail\"",
    "\"error\"",
    "\"partial\"",
    "\"1.0\"",
    "\"0\"",
    "\"trié \u{1F600}\u{2028}\u{7f}\"",
    "\"\\u0000\\b\\f\\n\\r\\t\\\\\\\"/\"",
    "[]",
    "{}",
    "[[]]",
    "[null]",
    "{\"a\":1}",
    "{\"signature\":{}}",
    "\"2026-02-19T00:46:00Z\"",
    "\"2026-02-29T00:46:00Z\"",
    "\"2026-02-19T24:00:00.000Z\"",
    "\"2026-02-19T00:46:00.123456789+00:00\"",
    "\"0000-01-01T00:00:00Z\"",
    "\"F47AC10B-58CC-4372-A567-0E02B2C3D479\"",
    "\"a1b2c3d4-e5f6-7890-abcd-ef1234567890\"",
];

/// Names a member is given.
const NAMES: [&str; 16] = [
    "",
    "x",
    "é",
    "\u{1F600}",
    "\u{fb33}",
    "signature",
    "issuer_key",
    "metadata",
    "task",
    "tests",
    "elapsed_ms",
    "message",
    "receipt_type",
    "note",
    "Verdict",
    "vrf_version",
];

/// Changes of the text: what is replaced, and by what.
const TEXTS: [(&str, &str); 20] = [
    ("\"tier\":0", "\"tier\":-0"),
    ("\"tier\":0", "\"tier\":0.0"),
    ("\"tier\":0", "\"tier\":00"),
    ("\"tier\":0", "\"tier\":0e0"),
    ("\"tier\":0", "\"tier\":NaN"),
    ("\"chain_position\":0", "\"chain_position\":-0"),
    ("\"chain_position\":1", "\"chain_position\":1.0"),
    ("\"tier\"", "\"verdict\":\"pass\",\"tier\""),
    ("\"tier\"", "\"\\u0074ier\""),
    ("\"tier\"", "\"\\u0074ier\":0,\"tier\""),
    ("sha256", "sha\\u0032\u{35}6"),
    ("order", "\\ud800"),
    ("order", "or\nder"),
    ("order", "or\\/der"),
    ("{\"vrf", "\u{feff}{\"vrf"),
    ("{\"vrf", "[{\"vrf"),
    ("{\"vrf", "{}{\"vrf"),
    (",", " ,\n\t"),
    (",", ",,"),
    (":", "\u{a0}:"),
];

/// A receipt as Proofmark issues it; there are a few kinds.
pub(crate) fn issued(kind: usize) -> String {
    let digest = Sha256Digest::of(&[0]);
    let detail = |name: &str, status| Detail {
        decided: Some(DecidedBy::Verifier),
        input: Some("[[1, 2]]".to_owned()),
        expected: Some("[1, 2]".to_owned()),
        elapsed_ms: Some(12),
        ..Detail::new(name, status)
    };
    let details = vec![detail("one", Status::Pass), detail("two", Status::Fail), detail("three", Status::Error)];
    let mut draft = Draft {
        receipt_id: ReceiptId::from_random_bytes([7; 16]),
        verified_at: Timestamp::from_unix_millis(1_771_461_960_000),
        tier: 0,
        // A receipt without checks has the verdict `error`.
        verdict: if kind == 2 { Verdict::Error } else { Verdict::Partial },
        task: (kind != 1).then(|| Task { task_id: Some("order-17".to_owned()), ..Task::default() }),
        results: if kind == 2 { Results::default() } else { Results::from_details(details) },
        hashes: Hashes { specification: digest, output: digest, tests: (kind != 1).then_some(digest) },
        metadata: Object::new(),
    };
    draft.metadata.insert("note", "trié, 並べ替え \u{1F600} \u{7F} \"quoted\" \\ \n");
    let before = ChainTip { receipt_id: draft.receipt_id, hash: digest, position: 0 };
    draft.link((kind == 1).then_some(&before));
    draft.sign(&SigningKey::from_seed(SEEDS[0])).unwrap().to_text()
}

/// The mutant of this number: always the same.
pub(crate) fn mutant(number: usize) -> Vec<u8> {
    let mut dice = Dice(number as u64);
    let text = issued(dice.roll(3));
    let Ok(Json::Object(mut document)) = Json::parse(text.as_bytes()) else { panic!("{text}") };
    for _ in 0..dice.roll(3) {
        let mut whole = Json::Object(document);
        change(&mut whole, &mut dice);
        let Json::Object(changed) = whole else { panic!("{whole:?}") };
        document = changed;
    }
    match dice.roll(8) {
        0 | 1 => {}
        2..=4 => sign(&mut document, SEEDS[0], &mut dice),
        5 => sign(&mut document, SEEDS[1], &mut dice),
        _ => {
            name_issuer(&mut document, dice.roll(2));
            sign(&mut document, SEEDS[0], &mut dice);
        }
    }
    let mut text = Json::Object(document).to_text();
    if dice.roll(6) == 0 {
        let (from, to) = TEXTS[dice.roll(TEXTS.len())];
        let places: Vec<usize> = text.match_indices(from).map(|(place, _)| place).collect();
        if !places.is_empty() {
            let place = places[dice.roll(places.len())];
            text.replace_range(place..place + from.len(), to);
        }
    }
    text.into_bytes()
}

/// Sets `metadata.issuer_key` to the key of this number.
fn name_issuer(document: &mut Object, key: usize) {
    if let Some(Json::Object(metadata)) = document.get_mut("metadata") {
        metadata.insert("issuer_key", SigningKey::from_seed(SEEDS[key]).signer().to_string());
    }
}

/// Signs the document as it now is; sometimes in another spelling, with another message, or with a member more.
fn sign(document: &mut Object, seed: [u8; 32], dice: &mut Dice) {
    let mut unsigned = document.clone();
    unsigned.remove("signature");
    let digest = Sha256Digest::of(&Json::Object(unsigned).canonical_vrf());
    let signer = SigningKey::from_seed(seed).signer();
    let content_hash = if dice.roll(8) == 0 { digest.to_string() } else { digest.bare_hex() };
    let message = if dice.roll(16) == 0 { digest.bare_hex() } else { content_hash.clone() };
    let signed = Ed25519Key::from_bytes(&seed).sign(message.as_bytes()).to_bytes();
    let digits: String = signed.iter().map(|byte| format!("{byte:02x}")).collect();
    let mut signature = Object::new();
    signature.insert("algorithm", if dice.roll(24) == 0 { "Ed25519" } else { "ed25519" });
    signature.insert("signer_id", spelt(signer, dice));
    signature.insert("content_hash", content_hash);
    signature.insert("signature", if dice.roll(24) == 0 { digits.to_uppercase() } else { digits });
    if dice.roll(12) == 0 {
        signature.insert(NAMES[dice.roll(NAMES.len())], value(dice));
    }
    document.insert("signature", signature);
}

/// The key in its usual spelling, or in another.
fn spelt(signer: SignerId, dice: &mut Dice) -> String {
    let hex: String = signer.as_bytes().iter().map(|byte| format!("{byte:02x}")).collect();
    match dice.roll(16) {
        0 => signer.did_key(),
        1 => format!("ed25519:{hex}"),
        2 => format!("{signer}\n"),
        _ => signer.to_string(),
    }
}

/// Changes one place, somewhere in the document.
fn change(value: &mut Json, dice: &mut Dice) {
    match value {
        Json::Object(object) if !object.is_empty() => change_member(object, dice),
        Json::Array(items) if !items.is_empty() => {
            let at = dice.roll(items.len());
            match dice.roll(6) {
                0 => drop(items.remove(at)),
                1 => items.push(items[at].clone()),
                2 => items.swap(at, 0),
                _ => change(&mut items[at], dice),
            }
        }
        other => *other = replaced(other, dice),
    }
}

fn change_member(object: &mut Object, dice: &mut Dice) {
    let names: Vec<String> = object.iter().map(|(name, _)| name.to_owned()).collect();
    let name = names[dice.roll(names.len())].clone();
    match dice.roll(8) {
        0 => drop(object.remove(&name)),
        1 => drop(object.insert(NAMES[dice.roll(NAMES.len())], self::value(dice))),
        2 => {
            let moved = object.remove(&name).unwrap();
            object.insert(name, moved);
        }
        3 => {
            let moved = object.remove(&name).unwrap();
            object.insert(NAMES[dice.roll(NAMES.len())], moved);
        }
        _ => change(object.get_mut(&name).unwrap(), dice),
    }
}

fn replaced(old: &Json, dice: &mut Dice) -> Json {
    match (dice.roll(5), old) {
        (0, Json::String(text)) => Json::from(text.to_uppercase()),
        (1, Json::String(text)) => Json::from(format!("{text} ")),
        (2, Json::String(text)) => Json::from(text.chars().skip(1).collect::<String>()),
        (0, _) => Json::from(vec![old.clone()]),
        _ => value(dice),
    }
}

fn value(dice: &mut Dice) -> Json {
    match dice.roll(30) {
        // Around the deepest nesting a reader accepts.
        0 | 2 => (0..61 + dice.roll(4)).fold(Json::Null, |inner, _| Json::from(vec![inner])),
        // Past the largest document a reader accepts; rare, as each is a megabyte.
        1 if dice.roll(20) == 0 => Json::from("x".repeat(1 << 20)),
        _ => Json::parse(VALUES[dice.roll(VALUES.len())].as_bytes()).unwrap(),
    }
}

/// SplitMix64: numbers that look random and are the same on every machine.
struct Dice(u64);

impl Dice {
    /// A number below `sides`.
    fn roll(&mut self, sides: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut bits = self.0;
        bits = (bits ^ bits >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        bits = (bits ^ bits >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
        usize::try_from((bits ^ bits >> 31) % sides as u64).unwrap()
    }
}
