//! What holds for every document, receipt and chain.

use proofmark_receipt::json::{MAX_BYTES, MAX_DEPTH, Number};
use proofmark_receipt::{
    ChainHead, ChainTip, Detail, Draft, Hashes, Json, Link, Object, Prepared, Profile, Receipt, ReceiptId, Results,
    Sha256Digest, SignError, SignatureStatus, SignedEnd, SignerId, SigningKey, Status, Task, Timestamp, Verdict,
    sign_document, verify, verify_chain, verify_document,
};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::{Index, select};

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn canonical_forms_are_fixed_points(document in document()) {
        for profile in Profile::ALL {
            if let Ok(form) = document.canonical(profile) {
                let again = Json::parse(&form).unwrap();
                prop_assert_eq!(again.canonical(profile), Ok(form), "under {}", profile);
            }
        }
    }

    #[test]
    fn the_form_vrf_exists_for_every_document(document in document()) {
        prop_assert_eq!(document.canonical(Profile::Vrf), Ok(document.canonical_vrf()));
    }

    /// Clones share their members, until one is changed.
    #[test]
    fn changing_a_clone_leaves_the_other_as_it_is(document in document(), name in "[a-c]") {
        let mut object = Object::new();
        object.insert("a", document);
        let before = (object.clone(), Json::from(object.clone()).to_text());
        let mut clone = object.clone();
        clone.insert(name.as_str(), true);
        if let Some(Json::Object(inner)) = clone.get_mut("a") {
            inner.insert("new", 1u64);
        }
        clone.remove(&name);
        prop_assert_eq!(&object, &before.0);
        prop_assert_eq!(Json::from(object).to_text(), before.1);
    }

    #[test]
    fn order_of_members_and_white_space_do_not_matter(document in document(), spaces in spaces()) {
        let other = Json::parse(spaced(&reversed(&document), &spaces).as_bytes()).unwrap();
        for profile in Profile::ALL {
            prop_assert_eq!(other.canonical(profile), document.canonical(profile));
        }
    }

    #[test]
    fn text_reads_back_equal(document in document()) {
        prop_assert_eq!(Json::parse(document.to_text().as_bytes()), Ok(document));
    }

    #[test]
    fn any_bytes_are_read_or_refused(bytes in vec(any::<u8>(), 0..200)) {
        read_everything(&bytes);
    }

    #[test]
    fn bytes_of_json_are_read_or_refused(text in r#"[\[\]{}",:\\u0-9a-f+.eE \n-]{0,60}"#) {
        read_everything(text.as_bytes());
    }

    #[test]
    fn changed_documents_are_read_or_refused(document in document(), place: Index, byte: u8, cut: Index) {
        let mut bytes = document.to_text().into_bytes();
        let (place, cut) = (place.index(bytes.len()), cut.index(bytes.len()));
        bytes[place] = byte;
        read_everything(&bytes);
        read_everything(&bytes[..cut]);
    }

    #[test]
    fn a_place_is_within_the_document(bytes in vec(any::<u8>(), 0..60)) {
        if let Err(error) = Json::parse(&bytes) {
            prop_assert!(error.offset <= bytes.len());
            prop_assert!(error.line >= 1 && error.column >= 1);
        }
    }

    #[test]
    fn what_is_signed_verifies(draft in draft(), seed: [u8; 32]) {
        let key = SigningKey::from_seed(seed);
        let receipt = draft.sign(&key).unwrap();
        let text = receipt.to_text();
        prop_assert_eq!(Receipt::parse(text.as_bytes()), Ok(receipt));
        let verification = verify(text.as_bytes(), Profile::Vrf, &[]);
        prop_assert_eq!((verification.answer, verification.signer), (SignatureStatus::Valid, Some(key.signer())));
    }

    #[test]
    fn three_profiles_agree_on_what_is_issued(draft in draft(), seed: [u8; 32]) {
        let text = draft.sign(&SigningKey::from_seed(seed)).unwrap().to_text();
        for profile in [Profile::Vrf, Profile::Jcs, Profile::PyUtf8] {
            prop_assert_eq!(verify(text.as_bytes(), profile, &[]).answer, SignatureStatus::Valid, "under {}", profile);
        }
    }

    #[test]
    fn a_receipt_stays_valid_in_another_order_and_spaced(draft in draft(), seed: [u8; 32], spaces in spaces()) {
        let receipt = draft.sign(&SigningKey::from_seed(seed)).unwrap();
        let text = spaced(&reversed(receipt.document()), &spaces);
        prop_assert_eq!(verify(text.as_bytes(), Profile::Vrf, &[]).answer, SignatureStatus::Valid);
    }

    #[test]
    fn one_changed_byte_shows(draft in draft(), seed: [u8; 32], place: Index, byte: u8) {
        let receipt = draft.sign(&SigningKey::from_seed(seed)).unwrap();
        let mut bytes = receipt.to_text().into_bytes();
        let place = place.index(bytes.len());
        bytes[place] = byte;
        let says_the_same = Json::parse(&bytes).is_ok_and(|document| document == *receipt.document());
        let valid = verify(&bytes, Profile::Vrf, &[]).answer == SignatureStatus::Valid;
        prop_assert_eq!(valid, says_the_same);
    }

    #[test]
    fn one_added_or_removed_byte_shows(draft in draft(), seed: [u8; 32], place: Index, byte: u8) {
        let receipt = draft.sign(&SigningKey::from_seed(seed)).unwrap();
        let text = receipt.to_text().into_bytes();
        let place = place.index(text.len());
        let (mut longer, mut shorter) = (text.clone(), text);
        longer.insert(place, byte);
        shorter.remove(place);
        for bytes in [longer, shorter] {
            let says_the_same = Json::parse(&bytes).is_ok_and(|document| document == *receipt.document());
            let valid = verify(&bytes, Profile::Vrf, &[]).answer == SignatureStatus::Valid;
            prop_assert_eq!(valid, says_the_same);
        }
    }

    #[test]
    fn what_is_signed_is_read_or_not_signed(mut document in document(), deep in 0_usize..80, seed: [u8; 32]) {
        for _ in 0..deep {
            document = Json::from(object([("inner".to_owned(), document)]));
        }
        let mut signed = object([("document".to_owned(), document)]);
        let key = SigningKey::from_seed(seed);
        if sign_document(&mut signed, &key).is_ok() {
            let read = Json::parse(Json::from(signed.clone()).to_text().as_bytes());
            prop_assert_eq!(&read, &Ok(Json::from(signed)));
            let verification = verify_document(read.unwrap().as_object().unwrap(), &[]);
            prop_assert_eq!(verification.answer, SignatureStatus::Valid);
        }
    }

    #[test]
    fn what_is_prepared_is_signed_as_a_whole_document_is(document in document(), held in document(), seed: [u8; 32], linked: bool) {
        let (key, id) = (SigningKey::from_seed(seed), ReceiptId::from_random_bytes([7; 16]));
        let tip = linked.then(|| ChainTip { receipt_id: id, hash: Sha256Digest::of(&seed), position: 4 });
        let metadata = object([("held".to_owned(), held.clone())]);
        for names in [["a", "metadata", "n"], ["z", "metadata", "a"], ["metadata", "b", "zz"], ["x", "y", "z"]] {
            let members = names.map(|name| match name {
                "metadata" => (name.to_owned(), Json::from(metadata.clone())),
                name => (name.to_owned(), document.clone()),
            });
            let mut whole = object(members);
            let prepared = Prepared::new(id, whole.clone(), &key).and_then(|prepared| prepared.sign(tip.as_ref(), &key));
            if whole.get("metadata").is_none() {
                whole.insert("issuer_key", "");
                whole.insert("metadata", Object::new());
            }
            if let Some(Json::Object(metadata)) = whole.get_mut("metadata") {
                ChainTip::write_link(tip.as_ref(), metadata);
            }
            let signed = sign_document(&mut whole, &key);
            prop_assert_eq!(prepared.as_ref().err(), signed.as_ref().err());
            if let Ok(prepared) = prepared {
                let link = Link { id, document: &whole };
                prop_assert_eq!(prepared.follows(tip.as_ref()).cloned(), link.follows(tip.as_ref()));
                let other = ChainTip { receipt_id: id, hash: Sha256Digest::of(b"other"), position: 4 };
                prop_assert_eq!(prepared.follows(Some(&other)), None);
                prop_assert_eq!(prepared.into_parts(), (whole.clone(), whole.to_text()));
            }
        }
    }

    #[test]
    fn a_chain_is_whole_or_says_where_it_is_not(length in 2_usize..6, at: Index, other: Index) {
        let key = SigningKey::from_seed([3; 32]);
        let chain = chain(length, &key, "a");
        let head = head_of(&chain, &key);
        let end = |trusted| Some(SignedEnd { head: &head, trusted });
        let codes = |receipts: &[Receipt]| verify_chain(receipts, end(&[])).map_err(|error| error.code());
        prop_assert_eq!(codes(&chain), Ok(()));
        prop_assert_eq!(verify_chain(&chain, None), Ok(()));

        let at = at.index(length);
        let dropped = [&chain[..at], &chain[at + 1..]].concat();
        let due = if at == 0 { "wrong_first_position" } else if at == length - 1 { "truncated" } else { "gap" };
        prop_assert_eq!(codes(&dropped), Err(due));

        let doubled = [&chain[..=at], &chain[at..]].concat();
        prop_assert_eq!(codes(&doubled), Err("fork"));

        let second = (at + 1 + other.index(length - 1)) % length;
        let mut swapped = chain.clone();
        swapped.swap(at, second);
        let due = if at.min(second) == 0 { "wrong_first_position" } else { "gap" };
        prop_assert_eq!(codes(&swapped), Err(due));

        let cut = &chain[..at.max(1)];
        prop_assert_eq!(verify_chain(cut, None), Ok(()));
        prop_assert_eq!(codes(cut), Err("truncated"));

        let stranger = SigningKey::from_seed([4; 32]);
        let forged = head_of(cut, &stranger);
        let heard = |trusted: &[SignerId]| {
            verify_chain(cut, Some(SignedEnd { head: &forged, trusted })).map_err(|error| error.code())
        };
        prop_assert_eq!(heard(&[]), Err("untrusted_head"));
        prop_assert_eq!(heard(&[key.signer()]), Err("untrusted_head"));
        prop_assert_eq!(heard(&[stranger.signer()]), Ok(()));

        let mut foreign = chain.clone();
        foreign[at] = self::chain(length, &key, "b")[at].clone();
        prop_assert_eq!(codes(&foreign), Err("swapped_predecessor"));
    }
}

#[test]
fn what_no_reader_accepts_is_not_signed_in_any_format() {
    let key = SigningKey::from_seed([3; 32]);
    let deep = (0..MAX_DEPTH).fold(Json::Null, |inner, _| Json::from(vec![inner]));
    for (value, code) in [(deep, "too_deep"), (Json::from("x".repeat(MAX_BYTES)), "too_large")] {
        let mut document = object([("value".to_owned(), value)]);
        let refused = sign_document(&mut document, &key).unwrap_err();
        let found = match refused {
            SignError::TooLarge(bytes) if bytes > MAX_BYTES => "too_large",
            SignError::Rule(error) => error.code(),
            other => panic!("{other}"),
        };
        assert_eq!(found, code);
    }
    let tip = ChainTip { receipt_id: plain_draft(0).receipt_id, hash: Sha256Digest::of(b""), position: 0 };
    let head = ChainHead::sign(&"x".repeat(MAX_BYTES), &tip, &Timestamp::from_unix_millis(0), &key);
    assert!(matches!(head, Err(SignError::TooLarge(_))));
}

#[test]
fn what_a_reader_refuses_is_not_issued() {
    let key = SigningKey::from_seed([3; 32]);
    let deep = (0..70).fold(Json::Null, |inner, _| Json::from(vec![inner]));
    let large = Json::from("x".repeat(MAX_BYTES));
    let real = Json::from("1.5".parse::<Number>().unwrap());
    let past_safe = Json::from(1_u64 << 53);
    for value in [deep, large, real, past_safe] {
        let mut draft = plain_draft(0);
        draft.metadata.insert("value", value);
        assert!(draft.clone().sign(&key).is_err());
        assert!(draft.unsigned().is_err());
    }
    let mut draft = plain_draft(0);
    draft.metadata.insert("clé", "x");
    assert!(draft.sign(&key).is_err());
    let draft = Draft { tier: 4, ..plain_draft(0) };
    assert!(draft.sign(&key).is_err());
}

fn read_everything(bytes: &[u8]) {
    let document = Json::parse(bytes);
    for profile in Profile::ALL {
        let _ = document.as_ref().map(|document| document.canonical(profile));
        let _ = verify(bytes, profile, &[]).answer.cause();
    }
    let _ = ChainHead::parse(bytes).map(|head| head.verify(&[]));
}

fn document() -> impl Strategy<Value = Json> {
    let leaf = prop_oneof![
        Just(Json::Null),
        any::<bool>().prop_map(Json::from),
        number().prop_map(Json::from),
        any::<String>().prop_map(Json::from),
    ];
    leaf.prop_recursive(4, 40, 6, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..6).prop_map(Json::from),
            vec((any::<String>(), inner), 0..6).prop_map(|members| Json::from(object(members))),
        ]
    })
}

fn number() -> impl Strategy<Value = Number> {
    let token = "-?(0|[1-9][0-9]{0,22})(\\.[0-9]{1,18})?([eE][+-]?[0-9]{1,3})?";
    prop_oneof![
        token.prop_map(|token| token.parse().unwrap()),
        any::<f64>()
            .prop_filter("finite", |value| value.is_finite())
            .prop_map(|value| format!("{value:e}").parse().unwrap()),
        any::<i64>().prop_map(Number::from),
    ]
}

fn spaces() -> impl Strategy<Value = Vec<String>> {
    vec("[ \t\r\n]{0,3}", 1..8)
}

fn draft() -> impl Strategy<Value = Draft> {
    let metadata = vec(("[a-z_]{1,12}", metadata_value()), 0..5).prop_map(object);
    let parts = (any::<[u8; 16]>(), any::<i64>(), 0..=3_u8, any::<Option<String>>(), vec(detail(), 0..5), metadata);
    parts.prop_map(|(id, millis, tier, description, details, mut metadata)| {
        // A name that linking or signing sets is not the caller's.
        metadata.remove("issuer_key");
        Draft {
            receipt_id: ReceiptId::from_random_bytes(id),
            verified_at: Timestamp::from_unix_millis(millis),
            tier,
            // With any counts.
            verdict: Verdict::Error,
            task: Some(Task { description, ..Task::default() }),
            results: Results::from_details(details),
            metadata,
            ..plain_draft(0)
        }
    })
}

fn metadata_value() -> impl Strategy<Value = Json> {
    const SAFE: i64 = (1 << 53) - 1;
    prop_oneof![
        any::<String>().prop_map(Json::from),
        (-SAFE..=SAFE).prop_map(Json::from),
        any::<bool>().prop_map(Json::from),
        vec(any::<String>().prop_map(Json::from), 0..3).prop_map(Json::from),
    ]
}

fn detail() -> impl Strategy<Value = Detail> {
    let status = select(vec![Status::Pass, Status::Fail, Status::Error]);
    let parts = (any::<String>(), status, any::<[Option<String>; 3]>(), option::of(0..10_000_u64));
    parts.prop_map(|(name, status, [input, actual, stderr], elapsed_ms)| Detail {
        input,
        actual,
        stderr,
        elapsed_ms,
        ..Detail::new(name, status)
    })
}

fn plain_draft(number: u8) -> Draft {
    Draft {
        receipt_id: ReceiptId::from_random_bytes([number; 16]),
        verified_at: Timestamp::from_unix_millis(0),
        tier: 0,
        verdict: Verdict::Error,
        task: None,
        results: Results::default(),
        hashes: Hashes { specification: Sha256Digest::of(b"s"), output: Sha256Digest::of(b"o"), tests: None },
        metadata: Object::new(),
    }
}

fn chain(length: usize, key: &SigningKey, name: &str) -> Vec<Receipt> {
    let mut receipts: Vec<Receipt> = Vec::new();
    for number in 0..u8::try_from(length).unwrap() {
        let mut draft = plain_draft(number);
        draft.metadata.insert("name", name);
        let tip: Option<ChainTip> = receipts.last().map(|last| last.tip().unwrap());
        draft.link(tip.as_ref());
        receipts.push(draft.sign(key).unwrap());
    }
    receipts
}

fn head_of(chain: &[Receipt], key: &SigningKey) -> ChainHead {
    let tip = chain.last().unwrap().tip().unwrap();
    let head = ChainHead::sign("default", &tip, &Timestamp::from_unix_millis(0), key).unwrap();
    assert_eq!(ChainHead::parse(head.to_text().as_bytes()), Ok(head.clone()));
    assert_eq!(head.verify(&[]).answer, SignatureStatus::Valid);
    head
}

fn object(members: impl IntoIterator<Item = (String, Json)>) -> Object {
    let mut object = Object::new();
    for (name, value) in members {
        object.insert(name, value);
    }
    object
}

/// The same document, the members of every object in reverse.
fn reversed(value: &Json) -> Json {
    match value {
        Json::Array(items) => Json::Array(items.iter().map(reversed).collect()),
        Json::Object(members) => {
            let mut turned: Vec<_> = members.iter().map(|(name, value)| (name.to_owned(), reversed(value))).collect();
            turned.reverse();
            Json::Object(object(turned))
        }
        other => other.clone(),
    }
}

/// The document with these pieces of white space, over and over, around its tokens.
fn spaced(value: &Json, spaces: &[String]) -> String {
    fn write(out: &mut String, value: &Json, space: &mut dyn FnMut() -> String) {
        *out += &space();
        match value {
            Json::Array(items) => {
                out.push('[');
                for (index, item) in items.iter().enumerate() {
                    *out += if index > 0 { "," } else { "" };
                    write(out, item, space);
                }
                *out += &(space() + "]");
            }
            Json::Object(members) => {
                out.push('{');
                for (index, (name, item)) in members.iter().enumerate() {
                    *out += if index > 0 { "," } else { "" };
                    *out += &(space() + &Json::from(name).to_text() + &space() + ":");
                    write(out, item, space);
                }
                *out += &(space() + "}");
            }
            leaf => *out += &leaf.to_text(),
        }
        *out += &space();
    }
    let mut pieces = spaces.iter().cycle();
    let mut out = String::new();
    write(&mut out, value, &mut || pieces.next().cloned().unwrap_or_default());
    out
}
