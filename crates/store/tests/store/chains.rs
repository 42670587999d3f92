use std::time::Duration;

use proofmark_receipt::{ChainEnd, ChainTip, SignError, verify_chain};
use proofmark_store::{NewReceipt, StoreError};

use crate::samples::{Home, Local, as_child, chained, child, draft, id, linked, sign, signer, single};

engines! {
    a_chain_continues_from_its_stored_tip,
    a_receipt_that_is_not_linked_to_the_tip_is_refused_alone,
    a_receipt_that_cannot_be_signed_fails_alone,
    a_group_links_within_itself,
    names_have_limits,
    three_processes_extend_one_chain_and_none_is_refused,
}

fn a_chain_continues_from_its_stored_tip(home: &Home) {
    for number in 0..5 {
        let store = home.open();
        let written = store.local().submit(chained(id(0, number), "main")).wait().unwrap();
        let receipt = written.receipt.unwrap();
        assert_eq!(receipt.receipt_id(), id(0, number));
        assert_eq!(store.local().tip("main").unwrap(), receipt.tip());
        assert_eq!(store.local().receipt(&id(0, number)).unwrap().unwrap().receipt, receipt);
    }
    let store = home.open_existing();
    store.local().submit(chained(id(1, 0), "a second")).wait().unwrap();
    store.local().submit(single(id(2, 0))).wait().unwrap();
    let chain = store.local().chain("main").unwrap();
    assert_eq!(chain.len(), 5);
    verify_chain(&chain, None).unwrap();
    assert_eq!(store.local().chains().unwrap(), [("a second".to_owned(), 1), ("main".to_owned(), 5)]);
    assert_eq!(store.local().chain("none").unwrap(), []);
    assert_eq!(store.local().tip("none").unwrap(), None);
}

fn a_receipt_that_is_not_linked_to_the_tip_is_refused_alone(home: &Home) {
    let store = home.open();
    let first = store.local().submit(chained(id(0, 0), "main")).wait().unwrap().receipt.unwrap();
    let tip = first.tip().unwrap();
    let swapped = ChainTip { hash: sign(draft(id(0, 99))).hash(), ..tip.clone() };
    let renamed = ChainTip { receipt_id: id(0, 99), ..tip.clone() };
    let ahead = ChainTip { position: 1, ..tip.clone() };
    let mut half = draft(id(0, 6));
    half.metadata.insert("chain_position", 1_u64);
    half.metadata.insert("previous_receipt", tip.receipt_id.to_string());
    let wrong = [
        linked(id(0, 1), ChainEnd::default()),
        linked(id(0, 2), Some(&swapped)),
        linked(id(0, 3), Some(&renamed)),
        linked(id(0, 4), Some(&ahead)),
        sign(draft(id(0, 5))),
        sign(half),
    ];
    let wrong = wrong.map(|receipt| {
        let id = receipt.receipt_id();
        store.local().submit(NewReceipt::chained(id, Some(signer()), "main", move |_| Ok(receipt.clone())))
    });
    let follows = store.local().submit(chained(id(0, 7), "main"));
    let answers = wrong.map(|one| one.wait().map(drop));
    assert_eq!(answers, [(); 6].map(|()| Err(StoreError::NotLinked("main".to_owned()))));
    follows.wait().unwrap();
    assert_eq!(store.local().chain("main").unwrap().len(), 2);

    let early = linked(id(0, 8), Some(&tip));
    let early =
        store.local().submit(NewReceipt::chained(id(0, 8), Some(signer()), "new", move |_| Ok(early.clone()))).wait();
    assert_eq!(early.map(drop), Err(StoreError::NotLinked("new".to_owned())));
    assert_eq!(store.local().chains().unwrap(), [("main".to_owned(), 2)]);
}

fn a_receipt_that_cannot_be_signed_fails_alone(home: &Home) {
    let store = home.open();
    let unsafe_number = || SignError::UnsafeNumber("metadata.n".to_owned());
    // One group: the writer waits for a lock while all of this is submitted.
    let other = home.hold();
    let before = store.local().submit(chained(id(0, 0), "main"));
    let unsigned = store.local().submit(NewReceipt::chained(id(0, 9), None, "main", move |_| Err(unsafe_number())));
    let panicked =
        store.local().submit(NewReceipt::chained(id(0, 10), None, "main", |_| panic!("a bug of the caller")));
    let after = store.local().submit(chained(id(0, 2), "main"));
    other.release();
    before.wait().unwrap();
    assert_eq!(panicked.wait().map(drop), Err(StoreError::NotLinked("main".to_owned())));
    assert_eq!(unsigned.wait().map(drop), Err(StoreError::Sign(unsafe_number())));
    assert_eq!(after.wait().unwrap().receipt.unwrap().tip().unwrap().position, 1);
    verify_chain(&store.local().chain("main").unwrap(), None).unwrap();
}

fn a_group_links_within_itself(home: &Home) {
    let store = home.open();
    let pending: Vec<_> = (0..600).map(|number| store.local().submit(chained(id(0, number), "main"))).collect();
    let receipts: Vec<_> = pending.into_iter().map(|one| one.wait().unwrap().receipt.unwrap()).collect();
    assert_eq!(store.local().chain("main").unwrap(), receipts, "in the order they were submitted");
    verify_chain(&receipts, None).unwrap();
}

fn names_have_limits(home: &Home) {
    let store = home.open();
    for (number, name) in ["", "a\nb", "\0", &"n".repeat(401)].into_iter().enumerate() {
        let refused = store.local().submit(chained(id(0, number as u32), name)).wait();
        assert!(matches!(refused, Err(StoreError::ChainName(_))), "{name:?}");
    }
    store.local().submit(chained(id(1, 0), &"ü".repeat(200))).wait().unwrap();
}

fn three_processes_extend_one_chain_and_none_is_refused(home: &Home) {
    let children = ["1", "2", "3"].map(|family| child("chains::child_extends", home, family));
    for child in children {
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    }
    let store = home.open_existing();
    let chain = store.local().chain("main").unwrap();
    assert_eq!(chain.len(), 3 * usize::try_from(EACH).unwrap());
    verify_chain(&chain, None).unwrap();
}

const EACH: u32 = 60;

/// Not a test by itself: one of the processes above.
#[test]
fn child_extends() {
    let Some((store, family)) = as_child() else {
        return;
    };
    let family = family.parse().unwrap();
    // Some alone and some in groups.
    for number in 0..EACH / 2 {
        store.local().submit(chained(id(family, number), "main")).wait().unwrap();
        std::thread::sleep(Duration::from_millis(1));
    }
    let pending: Vec<_> =
        (EACH / 2..EACH).map(|number| store.local().submit(chained(id(family, number), "main"))).collect();
    pending.into_iter().for_each(|one| drop(one.wait().unwrap()));
}
