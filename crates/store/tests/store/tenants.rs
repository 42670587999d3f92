use proofmark_receipt::{Receipt, ReceiptId, SigningKey, Trust};
use proofmark_store::{Bundle, Filter, NewReceipt, Spend, Store, StoreError, Tenant, TenantStore};
use rusqlite::Connection;

use crate::samples::{Local, draft, folder, id, linked, sign, single};

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
    NewReceipt { trust: Some(trust), ..NewReceipt::of(receipt) }
}

fn spend(store: &TenantStore<'_>, receipt: &Receipt) -> Result<(), StoreError> {
    let spends = vec![Spend::of(receipt)];
    store.submit_bundle(Bundle { spends, spent_by: "d".to_owned(), at: 1, ..Bundle::default() }).wait()
}

#[test]
fn nobody_takes_an_id_from_another() {
    let (_folder, path) = folder();
    let store = Store::open(&path).unwrap();
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
    assert_eq!(again, Err(StoreError::Duplicate(id(0, 2))));
}

#[test]
fn a_document_is_spent_by_its_content_and_for_its_tenant() {
    let (_folder, path) = folder();
    let store = Store::open(&path).unwrap();
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
    ours.submit(NewReceipt::of(shared.clone())).wait().unwrap();
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

#[test]
fn chains_of_one_name_are_each_tenants_own() {
    let (_folder, path) = folder();
    let store = Store::open(&path).unwrap();
    store.local().submit(linked(id(0, 1), "run/acme/deploy", None)).wait().unwrap();
    let tip = store.local().tip("run/acme/deploy").unwrap();
    let acme = of(&store, "acme");
    assert_eq!(acme.tip("run/acme/deploy").unwrap(), None);
    let stolen = acme.submit(linked(id(0, 2), "run/acme/deploy", tip.as_ref())).wait();
    assert!(matches!(stolen, Err(StoreError::ChainMoved { next: 0, .. })));
    acme.submit(linked(id(0, 2), "run/acme/deploy", None)).wait().unwrap();
    assert_eq!(store.local().chain("run/acme/deploy").unwrap().len(), 1);
    let of_chain = |chain: &str| Filter { chain: Some(chain.to_owned()), ..Filter::default() };
    assert_eq!(acme.list(&of_chain("run/acme/deploy")).unwrap().receipts.len(), 1);
}

#[test]
fn a_receipt_that_cannot_be_read_stops_nothing_but_itself() {
    let (_folder, path) = folder();
    let store = Store::open(&path).unwrap();
    let a = of(&store, "a");
    (1..=3).for_each(|number| a.submit(single(id(0, number))).wait().unwrap());
    let other = Connection::open(&path).unwrap();
    other.execute("UPDATE receipts SET document = '{}' WHERE sequence = 2", []).unwrap();
    let page = a.list(&Filter::default()).unwrap();
    assert_eq!((page.receipts.len(), page.unreadable), (2, 1));
    let first = a.list(&Filter { limit: 2, ..Filter::default() }).unwrap();
    let rest = a.list(&Filter { limit: 2, after: first.next, ..Filter::default() }).unwrap();
    assert_eq!((first.receipts.len(), first.unreadable, rest.receipts.len(), rest.next), (1, 1, 1, None));
    let output = sign(draft(id(0, 1))).hashes().output.to_string();
    assert_eq!(a.receipts_over(&output).unwrap().len(), 2);
    assert!(matches!(a.receipt(&id(0, 2)), Err(StoreError::Damaged { .. })));
    assert!(a.receipt(&id(0, 3)).unwrap().is_some());
}

#[test]
fn a_receipt_that_was_brought_is_not_a_jobs() {
    let (_folder, path) = folder();
    let store = Store::open(&path).unwrap();
    let a = of(&store, "a");
    a.submit(brought(forged(id(0, 1)), Trust::Untrusted)).wait().unwrap();
    a.submit(single(id(0, 2))).wait().unwrap();
    assert_eq!(a.job_receipt(&id(0, 1)).unwrap(), None);
    assert_eq!(a.job_receipt(&id(0, 2)).unwrap(), None, "a judgment of a step came of no job");
    let request = Some("{}".to_owned());
    a.submit_bundle(Bundle { receipt: Some(single(id(0, 1))), request, ..Bundle::default() }).wait().unwrap();
    assert_eq!(a.job_receipt(&id(0, 1)).unwrap().unwrap().receipt, sign(draft(id(0, 1))));
    assert_eq!(of(&store, "b").job_receipt(&id(0, 1)).unwrap(), None);
}

#[test]
fn the_latest_time_never_goes_back() {
    let (_folder, path) = folder();
    let store = Store::open(&path).unwrap();
    let at = |at| store.local().submit_bundle(Bundle { at, ..Bundle::default() }).wait().unwrap();
    assert_eq!(store.latest_time().unwrap(), 0);
    at(5_000);
    at(3_000);
    assert_eq!(store.latest_time().unwrap(), 5_000);
    drop(store);
    let store = Store::open(&path).unwrap();
    assert_eq!(store.latest_time().unwrap(), 5_000);
    assert_eq!([store.time(9_000).unwrap(), store.time(4_000).unwrap()], [9_000, 5_000]);
    // A clock that was set back goes on from what was recorded.
    store.local().submit_bundle(Bundle { at: 500_000, ..Bundle::default() }).wait().unwrap();
    let first = store.time(0).unwrap();
    std::thread::sleep(std::time::Duration::from_millis(20));
    assert!(first >= 500_000 && store.time(0).unwrap() >= first + 20);
}
