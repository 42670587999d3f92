//! A session counts as it was signed, from its first entry to its last.
#![expect(clippy::unwrap_used, reason = "helpers of tests, which may fail by panicking")]

use std::sync::Arc;

use proofmark_receipt::{ChainTip, Json, Link, Object, ReceiptId, SigningKey};
use proofmark_session::{Entry, Event, Refused, SessionChain, sign_entry};

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
        let event = Event::Refused(Refused { reason: format!("reason {number}") });
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
        changed[place].insert("reason", "another");
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
