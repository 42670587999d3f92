//! A session counts as it was signed, from its first entry to its last.
#![expect(clippy::unwrap_used, reason = "helpers of tests, which may fail by panicking")]

use std::sync::Arc;

use proofmark_receipt::{
    ChainTip, Json, Link, Object, ReceiptId, Sha256Digest, SigningKey, sign_document, verify_document,
};
use proofmark_session::{Decided, Entry, Event, Refused, SessionChain, SessionHead, sign_entry};

fn id(number: u8) -> ReceiptId {
    format!("00000000-0000-4000-8000-0000000000{number:02}").parse().unwrap()
}

fn key(seed: u8) -> Arc<SigningKey> {
    Arc::new(SigningKey::from_seed([seed; 32]))
}

/// Signed entries of the session `s`, and the end of their chain.
fn signed(keys: &[u8]) -> (Vec<Object>, Option<ChainTip>) {
    let (mut entries, mut tip) = (Vec::new(), None);
    for (number, seed) in (0..).zip(keys) {
        // The third is about a decision.
        let event = match number {
            2 => Event::Decided(Decided { decision: Some("d".to_owned()), ..Decided::default() }),
            number => Event::Refused(Refused { reason: format!("reason {number}") }),
        };
        let entry = Entry { at: "2026-01-02T03:04:05Z".to_owned(), event };
        let entry = sign_entry(entry.to_document(id(number), "s"), tip.as_ref(), &key(*seed)).unwrap();
        tip = Link { id: id(number), document: &entry }.tip();
        entries.push(entry);
    }
    (entries, tip)
}

/// What is wrong with these entries, where the key 1 is trusted.
fn wrong(session: &str, entries: &[Object], stored: Option<&ChainTip>) -> Option<String> {
    let mut chain = SessionChain::new(session);
    let added = entries.iter().try_for_each(|entry| chain.add(&Json::from(entry.clone()).to_text()).map(drop));
    added.and_then(|()| chain.end(stored, &[key(1).signer()])).err().map(|error| error.to_string())
}

#[test]
fn the_last_entry_vouches_for_those_before_it() {
    assert_eq!(wrong("s", &[], None), None);
    let (entries, tip) = signed(&[1, 1, 1]);
    assert_eq!(wrong("s", &entries, tip.as_ref()), None);
    // Who appended had verified what was there.
    let (entries, tip) = signed(&[1, 2, 1]);
    assert_eq!(wrong("s", &entries, tip.as_ref()), None);
}

#[test]
fn what_no_trusted_key_has_signed_is_refused() {
    let (entries, tip) = signed(&[1, 1, 2]);
    assert!(wrong("s", &entries, tip.as_ref()).unwrap().contains("its signer is not trusted"));
    let mut unsigned = entries.clone();
    unsigned[2].remove("signature");
    let tip_of_unsigned = Link { id: id(2), document: &unsigned[2] }.tip();
    assert!(wrong("s", &unsigned, tip_of_unsigned.as_ref()).unwrap().contains("entry 2"));
    let (entries, tip) = signed(&[1, 1, 1]);
    for place in 0..3 {
        let mut changed = entries.clone();
        changed[place].insert("at", "another");
        assert!(wrong("s", &changed, tip.as_ref()).is_some(), "{place}");
    }
    assert!(wrong("t", &entries, tip.as_ref()).unwrap().contains("belongs to another session"));
    assert!(wrong("s", &[entries[0].clone(), entries[2].clone()], tip.as_ref()).unwrap().contains("not linked"));
}

#[test]
fn an_end_that_is_missing_is_missed() {
    let (entries, tip) = signed(&[1, 1, 1]);
    let earlier = Link { id: id(1), document: &entries[1] }.tip();
    assert!(wrong("s", &entries, earlier.as_ref()).unwrap().contains("2"));
    assert!(wrong("s", &entries, None).unwrap().contains("its end is missing"));
    assert!(wrong("s", &entries[..2], tip.as_ref()).unwrap().contains("was replaced"));
}

#[test]
fn a_decision_tells_of_entries_that_were_deleted() {
    let (entries, _) = signed(&[1, 1, 1, 1]);
    let hash = |at: usize| Link { id: id(u8::try_from(at).unwrap()), document: &entries[at] }.tip().map(|tip| tip.hash);
    let head = |session: &str, at: usize| {
        let last_entry = at.checked_sub(1).and_then(hash);
        Some(SessionHead { session: session.to_owned(), entries: at as u64, last_entry })
    };
    // What is wrong with the first `left` entries, where the decision was made on this head.
    let cut = |left: usize, head: Option<SessionHead>, signer: u8| {
        let mut decision = Object::new();
        sign_document(&mut decision, &key(signer)).unwrap();
        let mut chain = SessionChain::new("s");
        let verification = verify_document(&decision, &[key(1).signer()]);
        let added = chain.expect("d", head, &verification).and_then(|()| {
            entries[..left].iter().try_for_each(|entry| chain.add(&Json::from(entry.clone()).to_text()).map(drop))
        });
        let end = chain.tip().cloned();
        added.and_then(|()| chain.end(end.as_ref(), &[key(1).signer()])).err().map(|error| error.to_string())
    };
    assert_eq!(cut(4, head("s", 2), 1), None);
    // What came after the decision is not told of by it.
    assert_eq!(cut(3, head("s", 2), 1), None);
    for left in 0..3 {
        let said = cut(left, head("s", 2), 1).unwrap();
        assert!(said.contains("its end is missing: the decision `d` was made when it had 2 entries"), "{left}: {said}");
    }
    let other = SessionHead { session: "s".to_owned(), entries: 2, last_entry: Some(Sha256Digest::of(b"x")) };
    assert!(cut(4, Some(other), 1).unwrap().contains("other entries"));
    for head in [head("t", 2), None] {
        assert!(cut(4, head, 1).unwrap().contains("does not say where in this session it was made"));
    }
    assert!(cut(4, head("s", 2), 2).unwrap().contains("its signer is not trusted"));
}
