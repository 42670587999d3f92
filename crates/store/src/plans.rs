//! How SQLite finds what the statements of this crate ask for.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};

use proofmark_receipt::{
    ChainTip, Draft, Hashes, Object, Prepared, Receipt, ReceiptId, Results, Sha256Digest, SigningKey, Task, Timestamp,
    Trust, Verdict,
};
use rusqlite::trace::{TraceEvent, TraceEventCodes};
use rusqlite::{Connection, StatementStatus};

use crate::counts::{self, CountFilter};
use crate::decisions::{self, DecisionIndex, DecisionsWanted, NewDecision};
use crate::executions::{self, Execution, Finding};
use crate::page::Cursor;
use crate::read::{self, Filter};
use crate::receipts::NewReceipt;
use crate::reviews::{self, Review, ReviewVerdict};
use crate::runs::{self, StepRun};
use crate::scope::Scope;
use crate::spends::{self, Spend, Spends};
use crate::store::Store;
use crate::tenant::Tenant;
use crate::write::{self, Write};
use crate::{answers, clock, jobs, receipt_meta, schema};

/// Statements that sort or scan, and why that is fine.
const FINE: [(&str, &str); 7] = [
    ("FROM decisions ORDER BY position DESC LIMIT 1", "reads the end of an index"),
    ("FROM runs\n         ORDER BY updated_at DESC, tenant, run, step, begun_by LIMIT ?1", "reads the end of an index"),
    ("INSERT INTO spent (tenant, content, spent_by, spent_at)\n                   SELECT ?1", "sorts two rows"),
    ("FROM clock", "a table of one row"),
    ("FROM reviews WHERE tenant = ?1 AND decision_id", "sorts the reviews of one decision"),
    ("verdict = 'denied' AND until", "sorts the denials of one subject"),
    ("FROM awaited WHERE expires_at", "sorts what a sweep takes at a time"),
];

type Statements = Arc<Mutex<BTreeSet<String>>>;

fn receipt(number: u8, tip: Option<&ChainTip>) -> Receipt {
    let mut draft = draft(&[number]);
    draft.receipt_id = ReceiptId::from_random_bytes([number; 16]);
    draft.link(tip);
    draft.sign(&SigningKey::from_seed([7; 32])).unwrap()
}

/// A draft about these bytes.
fn draft(output: &[u8]) -> Draft {
    let digest = Sha256Digest::of(output);
    Draft {
        receipt_id: ReceiptId::from_random_bytes([0; 16]),
        verified_at: Timestamp::from_unix_millis(1_771_461_960_123),
        tier: 1,
        verdict: Verdict::Pass,
        task: Some(Task { task_id: Some("t".to_owned()), task_type: Some("k".to_owned()), description: None }),
        results: Results::default(),
        hashes: Hashes { specification: digest, output: digest, tests: None },
        metadata: Object::new(),
    }
}

fn decision(decision_id: ReceiptId, nth: u64, review: bool) -> NewDecision {
    let text = || Some("x".to_owned());
    NewDecision {
        decision_id,
        decided_at: 5,
        outcome: "allow".to_owned(),
        allowed: !review,
        fingerprint: "f".to_owned(),
        nth,
        about: DecisionIndex {
            agent: text(),
            class: text(),
            tool: text(),
            candidate: text(),
            review,
            wanted: 1,
            subject: "s".to_owned(),
            facts: text(),
            ..DecisionIndex::default()
        },
        sign: Box::new(move |tip| {
            let key = SigningKey::from_seed([1; 32]);
            Prepared::new(decision_id, Object::new(), &key)?.sign(tip, &key)
        }),
    }
}

fn review(decision_id: &str) -> Review {
    Review {
        decision_id: decision_id.to_owned(),
        subject: "s".to_owned(),
        verdict: ReviewVerdict::Approved,
        reviewer: String::new(),
        person: String::new(),
        role: "r".to_owned(),
        note: String::new(),
        receipt_id: None,
        reviewed_at: 4,
        until: 9,
    }
}

/// Every write, with what it is found by afterwards.
fn write_all(connection: &Connection) {
    let scope = Scope { connection, tenant: &Tenant::LOCAL, now: 1 };
    let run = |version| StepRun {
        run: "r".to_owned(),
        begun_by: "local".to_owned(),
        step: "s".to_owned(),
        version,
        state: "{}".to_owned(),
    };
    let chained = |number| NewReceipt::chained("main", move |tip| Ok(receipt(number, tip)));
    let finding = |code: &str| Finding {
        decision_id: "d".to_owned(),
        code: code.to_owned(),
        message: String::new(),
        found_at: 1,
    };
    let writes: Vec<Write> = vec![
        chained(1).into(),
        NewReceipt { supersedes: Some(ReceiptId::from_random_bytes([1; 16])), ..chained(2) }.into(),
        NewReceipt::received(receipt(3, None), Trust::Trusted).into(),
        run(1).into(),
        run(2).into(),
        decision(ReceiptId::from_random_bytes([1; 16]), 1, true).into(),
        review(&ReceiptId::from_random_bytes([1; 16]).to_string()).into(),
        decision(ReceiptId::from_random_bytes([2; 16]), 2, true).into(),
        Execution { decision_id: "d".to_owned(), executed: true, document: String::new() }.into(),
        finding("executed_twice").into(),
        finding(executions::NEVER_REPORTED).into(),
        Spends { documents: vec![Spend::of(&receipt(3, None))], by: "d".to_owned() }.into(),
    ];
    for write in writes {
        write::apply(vec![write], &scope).unwrap().unwrap();
    }
}

/// Every question but that for a whole chain, with each of its filters alone and all together.
fn ask_all(connection: &Connection) {
    let (ours, id) = (Tenant::LOCAL, ReceiptId::from_random_bytes([2; 16]));
    for tenant in [None, Some(&ours)] {
        receipt_filters().iter().for_each(|filter| drop(read::list(connection, tenant, filter).unwrap()));
        decision_filters().iter().for_each(|wanted| drop(decisions::decisions(connection, tenant, wanted).unwrap()));
    }
    for filter in [
        CountFilter::default(),
        CountFilter { chain: Some("main"), ..CountFilter::default() },
        CountFilter { signer: Some("s"), ..CountFilter::default() },
        CountFilter { chain: Some("main"), signer: Some("s"), task_type: Some("k") },
    ] {
        counts::verdict_counts(connection, &ours, &filter).unwrap();
    }
    let tenants = read::tenants(connection).unwrap();
    assert!(receipt_meta::receipt(connection, &tenants, &id, None).unwrap().is_some());
    receipt_meta::job_receipt(connection, &ours, &id).unwrap();
    receipt_meta::request(connection, &ours, &id).unwrap();
    read::between(connection, &[0; 16], &[255; 16]).unwrap();
    let output = Sha256Digest::of(&[2]).to_string();
    assert_eq!(read::over(connection, &ours, &output).unwrap().len(), 1);
    read::chain_from(connection, &ours, "main", 1, 9).unwrap();
    read::chains(connection, &ours).unwrap();
    read::tip(connection, &ours, "main").unwrap();
    let spend = Spend::of(&receipt(3, None));
    assert!(spends::is_spent(connection, &ours, &spend).unwrap());
    spends::spent_by(connection, &ours, &spend).unwrap();
    spends::is_superseded(connection, &ours, &spend).unwrap();
    let id = id.to_string();
    assert!(decisions::decision(connection, &ours, &id).unwrap().is_some());
    decisions::any_decision(connection, &id).unwrap();
    decisions::between(connection, "0", "f").unwrap();
    decisions::history(connection, &ours, "f").unwrap();
    decisions::last_decision(connection).unwrap();
    reviews::reviews(connection, &ours, &id).unwrap();
    reviews::denial(connection, &ours, "s", 1).unwrap();
    reviews::allowed_since(connection, &ours, &id).unwrap();
    reviews::facts(connection, &ours, &id).unwrap();
    reviews::newest_facts(connection, &ours, "s").unwrap();
    executions::times_executed(connection, &ours, &id).unwrap();
    executions::findings(connection, &ours, 9, Some(Cursor(9))).unwrap();
    assert_eq!(executions::all_findings(connection, 9).unwrap().len(), 2);
    executions::unreported(connection, 9).unwrap();
    runs::step_run(connection, &ours, "local", "r", "s").unwrap();
    runs::begun(connection, &ours, "r", "local").unwrap();
    assert_eq!(runs::runs(connection, &ours, "r").unwrap().len(), 1);
    assert_eq!(runs::all_runs(connection).unwrap().len(), 1);
    answers::answer(connection, &ours, "k").unwrap();
    jobs::job(connection, &ours, &ReceiptId::from_random_bytes([2; 16])).unwrap();
    clock::latest(connection).unwrap();
}

fn receipt_filters() -> Vec<Filter> {
    let signer = SigningKey::from_seed([7; 32]).signer().to_string();
    let all = Filter {
        verdict: Some(Verdict::Pass),
        tier: Some(1),
        task_id: Some("t".to_owned()),
        chain: Some("main".to_owned()),
        signer: Some(signer),
        since: Some(0),
        until: Some(i64::MAX),
        after: Some(Cursor(9)),
        ..Filter::default()
    };
    let none = Filter::default;
    vec![
        none(),
        Filter { verdict: all.verdict, ..none() },
        Filter { tier: all.tier, ..none() },
        Filter { task_id: all.task_id.clone(), ..none() },
        Filter { chain: all.chain.clone(), ..none() },
        Filter { signer: all.signer.clone(), ..none() },
        Filter { since: all.since, ..none() },
        Filter { until: all.until, ..none() },
        Filter { chain: all.chain.clone(), signer: all.signer.clone(), since: all.since, ..none() },
        Filter { verdict: all.verdict, signer: all.signer.clone(), until: all.until, ..none() },
        all,
    ]
}

fn decision_filters() -> Vec<DecisionsWanted> {
    let text = || Some("x".to_owned());
    let none = || DecisionsWanted { limit: 9, ..DecisionsWanted::default() };
    let all = DecisionsWanted {
        outcome: Some("allow".to_owned()),
        class: text(),
        agent: text(),
        tool: text(),
        since: Some(0),
        until: Some(i64::MAX),
        after: Some(Cursor(9)),
        ..none()
    };
    vec![
        none(),
        DecisionsWanted { outcome: all.outcome.clone(), ..none() },
        DecisionsWanted { class: text(), ..none() },
        DecisionsWanted { agent: text(), ..none() },
        DecisionsWanted { tool: text(), ..none() },
        DecisionsWanted { since: all.since, ..none() },
        DecisionsWanted { to_review: true, ..none() },
        DecisionsWanted { to_review: true, ..all.clone() },
        all,
    ]
}

fn recorded(connection: &mut Connection, work: fn(&Connection)) -> BTreeSet<String> {
    let statements = Statements::default();
    let record = Arc::clone(&statements);
    let traced = move |event: TraceEvent<'_>| {
        if let TraceEvent::Stmt(_, sql) = event {
            record.lock().unwrap().insert(sql.to_owned());
        }
    };
    connection.trace_v2(TraceEventCodes::SQLITE_TRACE_STMT, Some(traced)).unwrap();
    work(connection);
    connection.trace_v2(TraceEventCodes::SQLITE_TRACE_STMT, None::<fn(TraceEvent<'_>)>).unwrap();
    statements.lock().unwrap().clone()
}

/// How many steps SQLite takes to answer every question in a store with so many receipts and decisions.
fn steps(rows: u32) -> i32 {
    let home = tempfile::TempDir::new().unwrap();
    let path = home.path().join("store.db");
    drop(Store::open(&path).unwrap());
    let connection = schema::open_to_write(&path).unwrap();
    connection.execute_batch("BEGIN").unwrap();
    write_all(&connection);
    let scope = Scope { connection: &connection, tenant: &Tenant::LOCAL, now: 1 };
    for row in 0..rows {
        let new = NewReceipt::chained("main", move |tip| {
            let mut draft = draft(&row.to_be_bytes());
            draft.receipt_id = ReceiptId::from_random_bytes((u128::from(row) + 1).to_be_bytes());
            draft.tier = u8::try_from(row % 3).unwrap();
            draft.task = Some(Task { task_id: Some((row / 4).to_string()), task_type: None, description: None });
            draft.link(tip);
            draft.unsigned()
        });
        write::apply(vec![new.into()], &scope).unwrap().unwrap();
        let decision_id = ReceiptId::from_random_bytes((u128::from(row) + 1).to_be_bytes());
        let mut new = decision(decision_id, u64::from(row) + 1, row % 50 == 0);
        new.decided_at = row.into();
        new.fingerprint = "many".to_owned();
        // Some wait for a review; most are decisions on a subject whose decisions waited before.
        new.about.subject = if row < 20 { row.to_string() } else { "s".to_owned() };
        (new.about.facts, new.about.candidate) = (None, None);
        write::apply(vec![new.into()], &scope).unwrap().unwrap();
    }
    connection.execute_batch("COMMIT").unwrap();
    // Another connection: the steps of a statement are counted from when it was prepared, over all its runs.
    let mut connection = schema::open_to_read(&path).unwrap();
    let steps = Arc::new(Mutex::new(BTreeMap::new()));
    let count = Arc::clone(&steps);
    let traced = move |event: TraceEvent<'_>| {
        if let TraceEvent::Profile(statement, _) = event {
            let taken = statement.get_status(StatementStatus::VmStep);
            count.lock().unwrap().insert(statement.sql().into_owned(), taken);
        }
    };
    connection.set_prepared_statement_cache_capacity(1_000);
    connection.trace_v2(TraceEventCodes::SQLITE_TRACE_PROFILE, Some(traced)).unwrap();
    ask_all(&connection);
    steps.lock().unwrap().values().sum()
}

#[test]
fn questions_take_as_many_steps_in_a_larger_store() {
    let (small, large) = (steps(300), steps(3_000));
    assert!(small > 1_000, "{small}");
    assert!(large < small * 5 / 4, "{small} steps became {large}");
}

#[test]
fn no_statement_looks_through_a_table_or_sorts_one() {
    let home = tempfile::TempDir::new().unwrap();
    let path = home.path().join("store.db");
    drop(Store::open(&path).unwrap());
    let mut connection = schema::open_to_write(&path).unwrap();
    let mut statements = recorded(&mut connection, write_all);
    statements.extend(recorded(&mut connection, |connection| {
        ask_all(connection);
        assert_eq!(read::chain(connection, &Tenant::LOCAL, "main").unwrap().len(), 2);
    }));
    let (mut faulty, mut fine) = (Vec::new(), BTreeSet::new());
    for sql in
        statements.iter().filter(|sql| !["BEGIN", "COMMIT", "ROLLBACK", "--"].iter().any(|word| sql.starts_with(word)))
    {
        let mut explain = connection.prepare(&format!("EXPLAIN QUERY PLAN {sql}")).unwrap();
        let steps = explain.raw_query().mapped(|row| row.get::<_, String>(3));
        let plan = steps.collect::<rusqlite::Result<Vec<_>>>().unwrap();
        // `SCAN` of a subquery or of constants reads no table.
        let reads_all = |step: &String| {
            (step.starts_with("SCAN ") && !step.starts_with("SCAN (") && !step.contains("CONSTANT ROW"))
                || step.contains("TEMP B-TREE")
        };
        if plan.iter().any(reads_all) {
            match FINE.iter().find(|(part, _)| sql.contains(part)) {
                Some((part, _)) => drop(fine.insert(*part)),
                None => faulty.push(format!("{sql}\n    {}", plan.join("\n    "))),
            }
        }
    }
    assert!(faulty.is_empty(), "{}", faulty.join("\n\n"));
    assert_eq!(fine.len(), FINE.len(), "an exception is not needed: {fine:?}");
    assert!(statements.len() > 60, "{}", statements.len());
}
