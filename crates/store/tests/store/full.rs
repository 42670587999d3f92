//! A store with rows in every table, and all rows of a file.

use std::collections::BTreeMap;
use std::path::Path;

use proofmark_receipt::{
    ChainEnd, ChainTip, Link, Object, ReceiptId, Sha256Digest, SigningKey, Trust, object, sign_document,
};
use proofmark_store::{
    After, Answer, Count, Counts, DecisionIndex, Execution, Finding, JobEnd, JobState, JudgedRules, LogChange,
    LogState, LogTile, NewDecision, NewEntries, NewEntry, NewJob, NewReceipt, Review, ReviewVerdict, Spend, Spends,
    StepRun, Store, StoredPin, Tenant, Write,
};
use rusqlite::Connection;
use rusqlite::types::Value;

use crate::samples::{Local, chained, decision, decision_id, draft, id, sign, signer, single};

/// Stores something in every table, for two tenants.
pub(crate) fn fill(store: &Store) {
    let other: Tenant = "acme".parse().unwrap();
    for number in 0..5 {
        store.local().submit(chained(id(1, number), "main")).wait().unwrap();
        store.of(&other).submit(chained(id(2, number), "main")).wait().unwrap();
    }
    let old = NewReceipt { request: Some("{\"asked\":1}".to_owned()), ..single(id(3, 1)) };
    store.local().submit(old).wait().unwrap();
    let old = store.local().receipt(&id(3, 1)).unwrap().unwrap();
    store.local().redeem(&old, "caller").unwrap();
    let newer = NewReceipt::chained(id(3, 2), Some(signer()), "main", |tip| {
        let mut draft = draft(id(3, 2));
        draft.metadata.insert("supersedes", id(3, 1).to_string());
        draft.link(tip);
        Ok(sign(draft))
    });
    let newer = NewReceipt { supersedes: Some(id(3, 1)), ..newer };
    store.local().submit(newer).wait().unwrap();
    for (number, trust) in [(3, Trust::Trusted), (4, Trust::Unknown)] {
        store.of(&other).submit(NewReceipt::received(sign(draft(id(3, number))), trust)).wait().unwrap();
    }
    store
        .local()
        .submit(Spends { documents: vec![Spend::of(&sign(draft(id(9, 9))))], by: "run".to_owned() })
        .wait()
        .unwrap();
    decisions(store);
    let run = |version| StepRun {
        run: "r".to_owned(),
        begun_by: "local".to_owned(),
        step: "s".to_owned(),
        version,
        state: "{}".to_owned(),
    };
    let answer = Answer { key: "k".to_owned(), request: Sha256Digest::of(b"r"), document: "d".to_owned() };
    let writes: Vec<Write> = vec![run(1).into(), job(1).into(), job(2).into(), answer.into()];
    writes.into_iter().for_each(|write| drop(store.local().submit(write).wait().unwrap()));
    store.local().submit_all(vec![job_end(2), single(id(4, 2)).into()]).wait().unwrap();
    store
        .local()
        .submit(Spends { documents: vec![Spend::of(&sign(draft(id(9, 8))))], by: decision_id(3) })
        .wait()
        .unwrap();
    let counts = vec![Count { key: Sha256Digest::of(b"limit"), nth: 1, total: "90".to_owned() }];
    store.local().submit(Counts { counts, at: 7, by: decision_id(3) }).wait().unwrap();
    let approval = Review {
        verdict: ReviewVerdict::Approved,
        reviewer: "Cid".to_owned(),
        person: "cid".to_owned(),
        role: "boss".to_owned(),
        receipt_id: Some(id(4, 2).to_string()),
        ..denial()
    };
    store.local().submit(approval).wait().unwrap();
    session(store);
}

fn job(number: u32) -> NewJob {
    NewJob {
        job_id: id(4, number),
        request: "{}".to_owned(),
        checks: 1,
        chain: String::new(),
        supersedes: None,
        accepted: "{}".to_owned(),
        needs: "python".to_owned(),
        owner: Some("worker".to_owned()),
        created_at: 5,
    }
}

fn job_end(number: u32) -> Write {
    JobEnd { job_id: id(4, number), owner: "worker".to_owned(), attempt: 0, state: JobState::Done }.into()
}

fn decisions(store: &Store) {
    let waits = |nth| NewDecision {
        about: DecisionIndex {
            agent: Some("ann".to_owned()),
            review: true,
            wanted: 1,
            subject: "to review".to_owned(),
            facts: Some("{}".to_owned()),
            judged: Some(JudgedRules { policy: Sha256Digest::of(b"p"), rules: "a".to_owned() }),
            ..DecisionIndex::default()
        },
        ..decision(nth, "waits", nth, false)
    };
    let awaited = |number: u64| NewDecision {
        about: DecisionIndex {
            candidate: Some("c".to_owned()),
            expires_at: 9,
            subject: number.to_string(),
            ..DecisionIndex::default()
        },
        ..decision(number, &number.to_string(), 1, true)
    };
    let denied = NewDecision {
        about: DecisionIndex {
            subject: "6".to_owned(),
            action: Some("{\"tool\":\"t\"}".to_owned()),
            tool: Some("t".to_owned()),
            ..DecisionIndex::default()
        },
        ..decision(6, "6", 1, false)
    };
    for new in [waits(1), waits(2), awaited(3), awaited(4), awaited(5), denied] {
        store.local().submit(new).wait().unwrap();
    }
    let execution = Execution { decision_id: decision_id(3), executed: true, document: "{}".to_owned() };
    let finding = Finding {
        decision_id: decision_id(4),
        code: proofmark_store::NEVER_REPORTED.to_owned(),
        message: "it was not reported".to_owned(),
        found_at: 6,
    };
    let writes: Vec<Write> = vec![denial().into(), execution.into(), finding.into()];
    writes.into_iter().for_each(|write| drop(store.local().submit(write).wait().unwrap()));
}

fn denial() -> Review {
    Review {
        decision_id: decision_id(6),
        fingerprint: "6".to_owned(),
        subject: "6".to_owned(),
        verdict: ReviewVerdict::Denied,
        reviewer: "Bob".to_owned(),
        person: "bob".to_owned(),
        role: String::new(),
        note: "no".to_owned(),
        receipt_id: None,
        reviewed_at: 4,
        until: 9,
    }
}

fn session(store: &Store) {
    let entries = (0..3).map(|number| NewEntry {
        id: id(5, number),
        kind: "result",
        decision_id: None,
        sign: Box::new(move |tip| Ok(entry(id(5, number), tip))),
    });
    let entries = NewEntries { session: "s".to_owned(), after: After::Entry(None), entries: entries.collect() };
    let pin = StoredPin {
        server: "server".to_owned(),
        tool: "tool".to_owned(),
        account: String::new(),
        definition: Sha256Digest::of(b"{}"),
        document: "{}".to_owned(),
        is_approved: true,
        waits: None,
    };
    store.local().submit_all(vec![entries.into(), pin.into()]).wait().unwrap();
    let to = LogState { integrated: 1, signed: 1, checkpoint: "a note".to_owned() };
    let tiles = vec![LogTile { level: 0, index: 0, hashes: vec![1; 32] }];
    assert!(store.change_log(LogChange { from: LogState::default(), to, tiles }).unwrap());
}

fn entry(id: ReceiptId, end: ChainEnd<'_>) -> Object {
    let mut metadata = Object::new();
    ChainTip::write_link(end, &mut metadata);
    let mut document = object! { "entry_id": id.to_string(), "metadata": metadata };
    sign_document(&mut document, &SigningKey::from_seed([1; 32])).unwrap();
    assert!((Link { id, document: &document }).follows(end).is_some());
    document
}

/// All rows of all tables of a file, but for what a probe writes.
pub(crate) fn rows(path: &Path) -> BTreeMap<String, Vec<Vec<Value>>> {
    let connection = Connection::open(path).unwrap();
    let names = "SELECT name FROM sqlite_schema WHERE type = 'table'
                 AND name NOT IN ('duties', 'probe', 'workers', 'copy_mark') AND name NOT LIKE 'sqlite_%'";
    let names: Vec<String> =
        connection.prepare(names).unwrap().query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect();
    let all = |name: &String| {
        let mut statement = connection.prepare(&format!("SELECT * FROM {name} ORDER BY 1, 2")).unwrap();
        let columns = statement.column_count();
        let read = |row: &rusqlite::Row<'_>| (0..columns).map(|column| row.get(column)).collect();
        statement.query_map([], read).unwrap().map(Result::unwrap).collect()
    };
    names.iter().map(|name| (name.clone(), all(name))).collect()
}
