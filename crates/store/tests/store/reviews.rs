//! Reviews of decisions, and which decisions wait for one.

use proofmark_store::{
    DecisionIndex, DecisionsWanted, NewDecision, Review, ReviewVerdict, Store, StoreError, Tenant, TenantStore,
};
use rusqlite::Connection;

use crate::samples::{Local, decision, decision_id, folder};

/// The decision with this number, on a subject, and how many approvals it waits for: none when it allowed.
fn decide(store: &TenantStore<'_>, number: u64, subject: &str, wanted: Option<u64>) {
    let about = DecisionIndex {
        review: wanted.is_some(),
        wanted: wanted.unwrap_or(1),
        subject: subject.to_owned(),
        facts: wanted.map(|_| format!("{{\"n\": {number}}}")),
        ..DecisionIndex::default()
    };
    let decision = decision(number, &number.to_string(), 1, wanted.is_none());
    store.submit(NewDecision { decided_at: time(number), about, ..decision }).wait().unwrap();
}

fn name(number: u64) -> String {
    decision_id(number)
}

fn time(number: u64) -> i64 {
    (number * 10).cast_signed()
}

fn review(store: &TenantStore<'_>, number: u64, person: &str, role: &str, at: i64) -> Result<(), StoreError> {
    let denial = role.is_empty();
    let review = Review {
        decision_id: name(number),
        subject: "s".to_owned(),
        verdict: if denial { ReviewVerdict::Denied } else { ReviewVerdict::Approved },
        reviewer: person.to_owned(),
        person: person.to_owned(),
        role: role.to_owned(),
        note: "n".to_owned(),
        receipt_id: None,
        reviewed_at: at,
        until: at + 100,
    };
    store.submit(review).wait().map(drop)
}

fn waiting(store: &TenantStore<'_>) -> Vec<String> {
    let wanted = DecisionsWanted { to_review: true, limit: 10, ..DecisionsWanted::default() };
    store.decisions(&wanted).unwrap().decisions.into_iter().map(|decision| decision.decision_id).collect()
}

#[test]
fn a_person_reviews_a_decision_once_in_a_role() {
    let (_folder, path) = folder();
    let store = Store::open(&path).unwrap();
    let (ours, others) = (store.local(), store.of(&"b".parse::<Tenant>().unwrap()));
    decide(&ours, 0, "s", Some(3));
    assert!(review(&ours, 0, "ann", "lead", 1).is_ok());
    assert!(matches!(review(&ours, 0, "ann", "lead", 2), Err(StoreError::Reviewed(_))));
    assert!(review(&ours, 0, "ann", "owner", 3).is_ok() && review(&ours, 0, "bob", "lead", 4).is_ok());
    assert!(review(&ours, 0, "ann", "", 5).is_ok(), "who has approved may still deny");
    assert!(matches!(review(&ours, 0, "ann", "chief", 6), Err(StoreError::Reviewed(_))), "and not the other way round");
    assert!(review(&others, 0, "ann", "lead", 7).is_ok(), "another tenant's reviews are its own");
    let reviews: Vec<_> =
        ours.reviews(&name(0)).unwrap().into_iter().map(|review| (review.person, review.role)).collect();
    let texts = [("ann", "lead"), ("ann", "owner"), ("bob", "lead"), ("ann", "")];
    assert_eq!(reviews, texts.map(|(person, role)| (person.to_owned(), role.to_owned())));
}

#[test]
fn the_newest_decision_of_a_subject_waits_until_it_has_enough_reviews() {
    let (_folder, path) = folder();
    let store = Store::open(&path).unwrap();
    let ours = store.local();
    for number in 0..3 {
        decide(&ours, number, "s", Some(2));
    }
    decide(&ours, 3, "another", Some(1));
    assert_eq!(waiting(&ours), [name(3), name(2)]);
    assert_eq!(ours.facts(&name(0)).unwrap(), None, "the newest has taken its place");
    assert_eq!(ours.facts(&name(2)).unwrap(), ours.newest_facts("s").unwrap());
    assert!(ours.newest_facts("s").unwrap().is_some());
    review(&ours, 0, "ann", "lead", time(3)).unwrap();
    assert_eq!(waiting(&ours), [name(3), name(2)]);
    review(&ours, 2, "bob", "lead", time(3)).unwrap();
    assert_eq!(waiting(&ours), [name(3)]);
    decide(&ours, 4, "s", Some(1));
    assert_eq!(waiting(&ours), [name(4), name(3)]);
    decide(&ours, 5, "s", None);
    assert_eq!(waiting(&ours), [name(3)]);
    assert_eq!(ours.newest_facts("s").unwrap(), None);
    let late = review(&ours, 4, "cid", "lead", time(6));
    assert!(matches!(late, Err(StoreError::AllowedSince(_, by)) if by == name(5)));
}

#[test]
fn a_denial_stands_until_it_ends() {
    let (_folder, path) = folder();
    let store = Store::open(&path).unwrap();
    let ours = store.local();
    decide(&ours, 0, "s", Some(1));
    review(&ours, 0, "ann", "", 5).unwrap();
    assert_eq!(waiting(&ours), Vec::<String>::new());
    assert_eq!(ours.denial("s", 104).unwrap().map(|review| review.person).as_deref(), Some("ann"));
    assert_eq!((ours.denial("s", 105).unwrap(), ours.denial("another", 6).unwrap()), (None, None));
    assert_eq!(store.of(&"b".parse::<Tenant>().unwrap()).denial("s", 6).unwrap(), None);
}

#[test]
fn reviews_of_an_older_store_stay() {
    let (_folder, path) = folder();
    let old = Connection::open(&path).unwrap();
    old.execute_batch(include_str!("version4.sql")).unwrap();
    let rows = format!(
        "INSERT INTO decisions (decision_id, decided_at, outcome, fingerprint, position, document, review)
             VALUES ('{}', 1, 'replan_required', 'f', 0, '{{}}', 1), ('{}', 1, 'replan_required', 'f', 1, '{{}}', 1);
         INSERT INTO reviews VALUES ('{}', '', 'denied', 'ann', 'no', NULL, 2);",
        name(0),
        name(1),
        name(0)
    );
    old.execute_batch(&rows).unwrap();
    drop(old);
    let store = Store::open(&path).unwrap();
    let ours = store.local();
    assert_eq!(waiting(&ours), [name(1)]);
    let kept = ours.reviews(&name(0)).unwrap();
    assert_eq!((kept.len(), kept[0].verdict, kept[0].note.as_str()), (1, ReviewVerdict::Denied, "no"));
    assert!(matches!(review(&ours, 0, "ann", "", 5), Err(StoreError::Reviewed(_))));
}
