use proofmark_receipt::{ChainTip, verify_chain};
use proofmark_store::{NewReceipt, Store, StoreError};

use crate::samples::{Local, as_child, child, draft, folder, id, linked, sign, single};

#[test]
fn a_chain_continues_from_its_stored_tip() {
    let (_folder, path) = folder();
    for number in 0..5 {
        let store = Store::open(&path).unwrap();
        let tip = store.local().tip("main").unwrap();
        let new = linked(id(0, number), "main", tip.as_ref());
        store.local().submit(new.clone()).wait().unwrap();
        assert_eq!(store.local().tip("main").unwrap(), new.receipt.tip());
    }
    let store = Store::open_existing(&path).unwrap();
    store.local().submit(linked(id(1, 0), "a second", None)).wait().unwrap();
    store.local().submit(single(id(2, 0))).wait().unwrap();
    let chain = store.local().chain("main").unwrap();
    assert_eq!(chain.len(), 5);
    verify_chain(&chain, None).unwrap();
    assert_eq!(store.local().chains().unwrap(), [("a second".to_owned(), 1), ("main".to_owned(), 5)]);
    assert_eq!(store.local().chain("none").unwrap(), []);
    assert_eq!(store.local().tip("none").unwrap(), None);
}

#[test]
fn what_does_not_follow_the_tip_is_refused_alone() {
    let (_folder, path) = folder();
    let store = Store::open(&path).unwrap();
    let first = linked(id(0, 0), "main", None);
    let tip = first.receipt.tip().unwrap();
    let swapped = ChainTip { hash: single(id(0, 99)).receipt.hash(), ..tip.clone() };
    let renamed = ChainTip { receipt_id: id(0, 99), ..tip.clone() };
    let ahead = ChainTip { position: 1, ..tip.clone() };
    let unlinked = NewReceipt { chain: Some("main".to_owned()), ..single(id(0, 5)) };
    let mut half = draft(id(0, 6));
    half.metadata.insert("chain_position", 1_u64);
    half.metadata.insert("previous_receipt", tip.receipt_id.to_string());
    let half = NewReceipt { chain: Some("main".to_owned()), ..NewReceipt::of(sign(half)) };

    let follows = linked(id(0, 7), "main", Some(&tip));
    store.local().submit(first).wait().unwrap();
    let wrong = [
        linked(id(0, 1), "main", None),
        linked(id(0, 2), "main", Some(&swapped)),
        linked(id(0, 3), "main", Some(&renamed)),
        linked(id(0, 4), "main", Some(&ahead)),
        unlinked,
        half,
    ];
    let pending: Vec<_> = wrong.into_iter().chain([follows]).map(|new| store.local().submit(new)).collect();
    let mut answers: Vec<_> = pending.into_iter().map(|one| one.wait()).collect();
    assert_eq!(answers.pop(), Some(Ok(())));
    let moved = StoreError::ChainMoved { chain: "main".to_owned(), next: 1 };
    assert_eq!(answers, vec![Err(moved); 6]);
    assert_eq!(store.local().chain("main").unwrap().len(), 2);

    let early = store.local().submit(linked(id(0, 8), "new", Some(&tip))).wait();
    assert_eq!(early, Err(StoreError::ChainMoved { chain: "new".to_owned(), next: 0 }));
    assert_eq!(store.local().chains().unwrap(), [("main".to_owned(), 2)]);
}

#[test]
fn a_group_links_within_itself() {
    let (_folder, path) = folder();
    let store = Store::open(&path).unwrap();
    let mut tip = None;
    let mut pending = Vec::new();
    for number in 0..600 {
        let new = linked(id(0, number), "main", tip.as_ref());
        tip = new.receipt.tip();
        pending.push(store.local().submit(new));
    }
    pending.into_iter().for_each(|one| one.wait().unwrap());
    verify_chain(&store.local().chain("main").unwrap(), None).unwrap();
    assert_eq!(store.local().tip("main").unwrap(), tip);
}

#[test]
fn names_have_limits() {
    let (_folder, path) = folder();
    let store = Store::open(&path).unwrap();
    for (number, name) in ["", "a\nb", "\0", &"n".repeat(401)].into_iter().enumerate() {
        let refused = store.local().submit(linked(id(0, number as u32), name, None)).wait();
        assert!(matches!(refused, Err(StoreError::ChainName(_))), "{name:?}");
    }
    store.local().submit(linked(id(1, 0), &"ü".repeat(200), None)).wait().unwrap();
}

#[test]
fn two_processes_extend_one_chain() {
    let (_folder, path) = folder();
    let children = ["1", "2"].map(|family| child("chains::child_extends", &path, family));
    for child in children {
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    }
    let store = Store::open_existing(&path).unwrap();
    let chain = store.local().chain("main").unwrap();
    assert_eq!(chain.len(), 2 * usize::try_from(EACH).unwrap());
    verify_chain(&chain, None).unwrap();
}

const EACH: u32 = 40;

/// Not a test by itself: one of the processes above.
#[test]
fn child_extends() {
    let Some((store, family)) = as_child() else {
        return;
    };
    for number in 0..EACH {
        loop {
            let tip = store.local().tip("main").unwrap();
            let new = linked(id(family.parse().unwrap(), number), "main", tip.as_ref());
            match store.local().submit(new).wait() {
                Ok(()) => break,
                Err(StoreError::ChainMoved { .. }) => {}
                Err(error) => panic!("{error}"),
            }
        }
    }
}
