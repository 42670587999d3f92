use proofmark_receipt::{Receipt, ReceiptId, SigningKey, Trust};
use proofmark_store::{Filter, NewReceipt, Spend, Spends, Store, StoreError, Tenant, TenantStore};

use crate::samples::{Home, Local, chained, draft, id, sign, single};

fn of<'a>(store: &'a Store, name: &str) -> TenantStore<'a> {
    store.of(&name.parse::<Tenant>().unwrap())
}

/// What another issuer signed under this id, over other work.
fn forged(id: ReceiptId) -> Receipt {
    let mut draft = draft(id);
    draft.tier = 2;
    draft.sign(&SigningKey::from_seed([66; 32])).unwrap()
}

fn brought(receipt: Receipt, trust: Trust) -> NewReceipt {
    NewReceipt::received(receipt, trust)
}

fn spend(store: &TenantStore<'_>, receipt: &Receipt) -> Result<(), StoreError> {
    store.submit(Spends { documents: vec![Spend::of(receipt)], by: "d".to_owned() }).wait().map(drop)
}

engines! {
    nobody_takes_an_id_from_another,
    a_document_is_spent_by_its_content_and_for_its_tenant,
    chains_of_one_name_are_each_tenants_own,
    a_receipt_that_cannot_be_read_stops_nothing_but_itself,
    a_receipt_that_was_brought_is_not_a_jobs,
    spent_receipts_hide_none_that_counts,
    time_never_goes_back,
}

fn nobody_takes_an_id_from_another(home: &Home) {
    let store = home.open();
    let (a, b) = (of(&store, "a"), of(&store, "b"));
    a.submit(brought(forged(id(0, 1)), Trust::Untrusted)).wait().unwrap();
    b.submit(single(id(0, 1))).wait().unwrap();
    assert_eq!(b.receipt(&id(0, 1)).unwrap().unwrap().receipt, sign(draft(id(0, 1))));
    // The true one comes after the forged one of the same tenant, and is the one that is found.
    a.submit(brought(sign(draft(id(0, 1))), Trust::Trusted)).wait().unwrap();
    let kept = a.receipt(&id(0, 1)).unwrap().unwrap();
    assert_eq!((kept.receipt, kept.others), (sign(draft(id(0, 1))), 1));
    a.submit(single(id(0, 2))).wait().unwrap();
    a.submit(brought(forged(id(0, 2)), Trust::Trusted)).wait().unwrap();
    let kept = a.receipt(&id(0, 2)).unwrap().unwrap();
    assert_eq!((kept.trust, kept.others), (None, 1), "what was issued here comes first");
    let other = SigningKey::from_seed([66; 32]).signer().to_string();
    assert_eq!(a.receipt_by(&id(0, 2), &other).unwrap().unwrap().receipt, forged(id(0, 2)));
    let again = a.submit(brought(forged(id(0, 2)), Trust::Trusted)).wait();
    assert_eq!(again.map(drop), Err(StoreError::Stored(id(0, 2))));
}

fn a_document_is_spent_by_its_content_and_for_its_tenant(home: &Home) {
    let store = home.open();
    let (a, b, ours) = (of(&store, "a"), of(&store, "b"), store.local());
    let (real, fake) = (sign(draft(id(0, 1))), forged(id(0, 1)));
    spend(&a, &fake).unwrap();
    assert!(!a.is_spent(&Spend::of(&real)).unwrap(), "a forged one spends nothing but itself");
    spend(&a, &real).unwrap();
    assert_eq!(spend(&a, &real), Err(StoreError::Spent(id(0, 1))));
    assert!(!b.is_spent(&Spend::of(&real)).unwrap(), "each tenant spends for itself");
    spend(&b, &real).unwrap();
    spend(&ours, &real).unwrap();

    // What the command line keeps counts for all, and once.
    let shared = sign(draft(id(0, 2)));
    ours.submit(NewReceipt::single(shared.clone())).wait().unwrap();
    a.submit(brought(shared.clone(), Trust::Trusted)).wait().unwrap();
    spend(&a, &shared).unwrap();
    assert_eq!(spend(&b, &shared), Err(StoreError::Spent(id(0, 2))));
    assert_eq!(spend(&ours, &shared), Err(StoreError::Spent(id(0, 2))));
    assert!(ours.receipt(&id(0, 2)).unwrap().unwrap().spent && a.receipt(&id(0, 2)).unwrap().unwrap().spent);

    // The signature is not part of the content: another spelling of it is the same document.
    let signer = format!("\"signer_id\":\"{}\"", SigningKey::from_seed([7; 32]).signer());
    let respelt = real.to_text().replace(&signer, "\"signer_id\":\"respelt\"");
    assert_eq!(spend(&a, &Receipt::parse(respelt.as_bytes()).unwrap()), Err(StoreError::Spent(id(0, 1))));
}

fn chains_of_one_name_are_each_tenants_own(home: &Home) {
    let store = home.open();
    store.local().submit(chained(id(0, 1), "run/acme/deploy")).wait().unwrap();
    let acme = of(&store, "acme");
    assert_eq!(acme.tip("run/acme/deploy").unwrap(), None);
    let written = acme.submit(chained(id(0, 2), "run/acme/deploy")).wait().unwrap();
    assert_eq!(written.receipt.unwrap().tip().unwrap().position, 0);
    assert_eq!(store.local().chain("run/acme/deploy").unwrap().len(), 1);
    let of_chain = |chain: &str| Filter { chain: Some(chain.to_owned()), ..Filter::default() };
    assert_eq!(acme.list(&of_chain("run/acme/deploy")).unwrap().receipts.len(), 1);
}

fn a_receipt_that_cannot_be_read_stops_nothing_but_itself(home: &Home) {
    let store = home.open();
    let a = of(&store, "a");
    (1..=3).for_each(|number| a.submit(single(id(0, number))).wait().map(drop).unwrap());
    home.sql("UPDATE receipts SET document = '{}' WHERE sequence = 2");
    let page = a.list(&Filter::default()).unwrap();
    assert_eq!((page.receipts.len(), page.unreadable), (2, 1));
    let first = a.list(&Filter { limit: 2, ..Filter::default() }).unwrap();
    let rest = a.list(&Filter { limit: 2, after: first.next, ..Filter::default() }).unwrap();
    assert_eq!((first.receipts.len(), first.unreadable, rest.receipts.len(), rest.next), (1, 1, 1, None));
    let output = sign(draft(id(0, 1))).hashes().output.to_string();
    assert_eq!(a.receipts_over(&output, &|receipt| Some(Spend::of(receipt))).unwrap().len(), 2);
    assert!(matches!(a.receipt(&id(0, 2)), Err(StoreError::Damaged { .. })));
    assert!(a.receipt(&id(0, 3)).unwrap().is_some());
}

fn a_receipt_that_was_brought_is_not_a_jobs(home: &Home) {
    let store = home.open();
    let a = of(&store, "a");
    a.submit(brought(forged(id(0, 1)), Trust::Untrusted)).wait().unwrap();
    a.submit(single(id(0, 2))).wait().unwrap();
    assert_eq!(a.job_receipt(&id(0, 1)).unwrap(), None);
    assert_eq!(a.job_receipt(&id(0, 2)).unwrap(), None, "a judgment of a step came of no job");
    let request = Some("{}".to_owned());
    a.submit(NewReceipt { request, ..single(id(0, 1)) }).wait().unwrap();
    assert_eq!(a.job_receipt(&id(0, 1)).unwrap().unwrap().receipt, sign(draft(id(0, 1))));
    assert_eq!(of(&store, "b").job_receipt(&id(0, 1)).unwrap(), None);
}

/// More than are returned are newer, and as many of the older ones are spent.
fn spent_receipts_hide_none_that_counts(home: &Home) {
    let store = home.open();
    let a = of(&store, "a");
    let (oldest, spent, newest) = (0, 1..=1_001, 1_002..=2_001);
    let stored = |number| (sign(draft(id(0, number))), number);
    let all: Vec<_> = std::iter::once(oldest).chain(spent.clone()).chain(newest).map(stored).collect();
    let output = all[0].0.hashes().output.to_string();
    let documents = all.iter().filter(|(_, number)| spent.contains(number)).map(|(receipt, _)| Spend::of(receipt));
    let spends = Spends { documents: documents.collect(), by: "d".to_owned() };
    let pending: Vec<_> = all.into_iter().map(|(receipt, _)| a.submit(NewReceipt::single(receipt))).collect();
    pending.into_iter().for_each(|pending| drop(pending.wait().unwrap()));
    a.submit(spends).wait().unwrap();
    let over = a.receipts_over(&output, &|receipt| Some(Spend::of(receipt))).unwrap();
    assert!(over.iter().any(|receipt| receipt.receipt_id() == id(0, oldest)), "{}", over.len());
    assert_eq!(over.len(), 2_001, "of those that are spent, as many as are returned at most");
}

fn time_never_goes_back(home: &Home) {
    let store = home.open();
    assert_eq!(store.latest_time().unwrap(), 0);
    let at = store.local().submit(single(id(0, 1))).wait().unwrap().at;
    let latest = store.latest_time().unwrap();
    // A group records the time of its commit, which can be later than that of the receipt.
    assert!(latest >= at && store.now().unwrap() >= latest);
    drop(store);
    // As if another host, or this one before its clock was set back, had written an hour ahead.
    let ahead = at + 3_600_000;
    home.sql(&format!("UPDATE clock SET latest = {ahead}"));
    let store = home.open();
    assert!(store.local().submit(single(id(0, 2))).wait().unwrap().at >= ahead);
    // Time continues from what was recorded.
    let first = store.now().unwrap();
    std::thread::sleep(std::time::Duration::from_millis(20));
    assert!(first >= ahead && store.now().unwrap() >= first + 20);
    assert!(store.local().submit(single(id(0, 3))).wait().unwrap().at >= first + 20);
}
