use std::collections::{BTreeSet, VecDeque};
use std::io::{BufRead, BufReader, Write};

use proofmark_receipt::{ReceiptId, verify_chain};
use proofmark_store::{Filter, MAX_PAGE, Store};

use crate::samples::{Home, Local, as_child, chained, child, id};

engines! {
    what_was_acknowledged_survives_a_kill,
}

fn what_was_acknowledged_survives_a_kill(home: &Home) {
    for round in 0..3_u32 {
        let mut submitting = child("crash::child_submits", home, &round.to_string());
        let mut lines = BufReader::new(submitting.stdout.take().unwrap()).lines();
        let mut acknowledged = Vec::new();
        while acknowledged.len() < 100 * (round as usize + 1) {
            acknowledged.extend(acknowledgement(&lines.next().unwrap().unwrap()));
        }
        submitting.kill().unwrap();
        // What it had said by then counts as well; its last line may be cut.
        acknowledged.extend(lines.map_while(Result::ok).filter_map(|line| acknowledgement(&line)));
        submitting.wait().unwrap();

        let store = home.open_existing();
        for id in &acknowledged {
            assert!(store.local().receipt(id).unwrap().is_some(), "{id} was acknowledged");
        }
        let stored = all_ids(&store);
        assert_eq!(stored.iter().collect::<BTreeSet<_>>().len(), stored.len());
        let chain = store.local().chain("main").unwrap();
        assert_eq!(chain.len(), stored.len());
        verify_chain(&chain, None).unwrap();
    }
}

/// Not a test by itself: the process that is killed above.
#[test]
fn child_submits() {
    let Some((store, family)) = as_child() else {
        return;
    };
    let family = family.parse().unwrap();
    let mut under_way = VecDeque::new();
    for number in 0.. {
        let id = id(family, number);
        under_way.push_back((id, store.local().submit(chained(id, "main"))));
        if under_way.len() == 20 {
            let (id, pending) = under_way.pop_front().unwrap();
            pending.wait().unwrap();
            // In one piece, so that only the kill can cut it.
            let line = format!("\nstored {id}.\n");
            std::io::stdout().write_all(line.as_bytes()).unwrap();
        }
    }
}

fn acknowledgement(line: &str) -> Option<ReceiptId> {
    line.strip_prefix("stored ")?.strip_suffix('.')?.parse().ok()
}

fn all_ids(store: &Store) -> Vec<ReceiptId> {
    let mut ids = Vec::new();
    let mut filter = Filter { limit: MAX_PAGE, ..Filter::default() };
    loop {
        let page = store.all_tenants_receipts(&filter).unwrap();
        ids.extend(page.receipts.iter().map(|stored| stored.receipt.receipt_id()));
        filter.after = page.next;
        if filter.after.is_none() {
            return ids;
        }
    }
}
