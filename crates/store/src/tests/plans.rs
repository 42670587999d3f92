//! How SQLite finds what the statements of this crate ask for.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, mpsc};

use proofmark_receipt::{
    ChainEnd, Draft, Hashes, Object, Prepared, Receipt, ReceiptId, Results, Sha256Digest, SigningKey, Task, Timestamp,
    Trust, Verdict,
};
use rusqlite::trace::{TraceEvent, TraceEventCodes};
use rusqlite::{Connection, StatementStatus};

use crate::engine::db::Db;
use crate::engine::sqlite;
use crate::engine::{Engine, Sqlite};
use crate::group::write::Write;
use crate::group::writer;
use crate::rows::claims::{self, Change, Claim, Runnable};
use crate::rows::clock;
use crate::rows::counted::{self, Count, Counts};
use crate::rows::counts::{self, CountFilter};
use crate::rows::decisions::{self, DecisionIndex, DecisionsWanted, NewDecision};
use crate::rows::executions::{self, Execution, Finding};
use crate::rows::filter::QueueFilter;
use crate::rows::jobs::{self, JobEnd, JobState, NewJob};
use crate::rows::page::Cursor;
use crate::rows::queue::{self, WaitingWanted};
use crate::rows::read::{self, Filter};
use crate::rows::receipts::NewReceipt;
use crate::rows::reviews::{self, Review, ReviewVerdict};
use crate::rows::runs::{self, StepRun};
use crate::rows::spends::{self, Spend, Spends};
use crate::rows::workers::{self, Presence};
use crate::rows::{activity, answers, duties, receipt_meta, sessions};
use crate::store::Store;
use crate::tenant::Tenant;

/// Statements that sort or scan, and why that is fine.
const FINE: [(&str, &str); 16] = [
    ("(SELECT min(first) FROM waiting)) FROM waiting", "counts the entries of an index of what waits"),
    ("FROM decisions ORDER BY position DESC LIMIT 1", "reads the end of an index"),
    ("ORDER BY place DESC, sequence DESC LIMIT $3", "sorts the steps of each run on a page"),
    ("FROM clock", "a table of one row"),
    ("UPDATE clock", "a table of one row"),
    ("AND owner IS NULL AND needs", "reads the index of what waits in order, up to what it wants"),
    ("AND owner IS NULL AND (needs", "as before"),
    ("CAST(coalesce(sum(bytes), 0) AS BIGINT)", "adds up what waits, of which there is a bounded number"),
    ("min(created_at) FROM jobs WHERE state = 'waiting' AND owner IS NULL GROUP BY needs", "as before"),
    ("FROM workers ORDER BY alive_until DESC LIMIT", "reads the end of an index"),
    ("FROM reviews WHERE tenant = $1 AND decision_id", "sorts the reviews of one decision"),
    ("verdict = 'denied' AND until", "sorts the denials of one action"),
    ("FROM (SELECT agent, allowed, decisions FROM agent_counts", "groups the counts of some days, at most so many"),
    ("FROM json_each('[' ||", "looks through the rows that a list has found"),
    ("GROUP BY task_type ORDER BY whole", "groups counts: a few for each type, verdict and issuer"),
    ("FROM awaited WHERE expires_at", "sorts what a sweep takes at a time"),
];

type Statements = Arc<Mutex<BTreeSet<String>>>;

fn receipt(number: u8, end: ChainEnd<'_>) -> Receipt {
    let mut draft = draft(&[number]);
    draft.receipt_id = ReceiptId::from_random_bytes([number; 16]);
    draft.link(end);
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
        after: None,
        about: DecisionIndex {
            agent: text(),
            class: text(),
            tool: text(),
            session: text(),
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
        fingerprint: "f".to_owned(),
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

fn denial(decision_id: &str) -> Review {
    Review { verdict: ReviewVerdict::Denied, role: String::new(), ..review(decision_id) }
}

/// Every write, with what it is found by afterwards.
fn write_all(connection: Connection) -> Connection {
    let mut engine = engine(connection);
    let run = |version| StepRun {
        run: "r".to_owned(),
        begun_by: "local".to_owned(),
        step: "s".to_owned(),
        version,
        state: "{}".to_owned(),
    };
    let chained = |number| {
        let (id, issuer) = (ReceiptId::from_random_bytes([number; 16]), SigningKey::from_seed([7; 32]).signer());
        NewReceipt::chained(id, Some(issuer), "main", move |tip| Ok(receipt(number, tip)))
    };
    let finding = |code: &str| Finding {
        decision_id: "d".to_owned(),
        code: code.to_owned(),
        message: String::new(),
        found_at: 1,
    };
    let writes: Vec<Write> = vec![
        chained(1).into(),
        NewReceipt { supersedes: Some(ReceiptId::from_random_bytes([1; 16])), ..chained(2) }.into(),
        NewReceipt::received(receipt(3, ChainEnd::default()), Trust::Trusted).into(),
        run(1).into(),
        run(2).into(),
        decision(ReceiptId::from_random_bytes([1; 16]), 1, true).into(),
        review(&ReceiptId::from_random_bytes([1; 16]).to_string()).into(),
        denial(&ReceiptId::from_random_bytes([1; 16]).to_string()).into(),
        decision(ReceiptId::from_random_bytes([2; 16]), 2, true).into(),
        Execution { decision_id: "d".to_owned(), executed: true, document: String::new() }.into(),
        finding("executed_twice").into(),
        finding(executions::NEVER_REPORTED).into(),
        Spends { documents: vec![Spend::of(&receipt(3, ChainEnd::default()))], by: "d".to_owned() }.into(),
        Counts { counts: vec![count()], at: 1, by: "d".to_owned() }.into(),
    ];
    for write in writes {
        writer::store_each(&mut engine, vec![write]);
    }
    change_jobs(&mut engine);
    engine.into_connection()
}

fn count() -> Count {
    Count { key: Sha256Digest::of(b"limit"), nth: 1, total: "90".to_owned() }
}

fn claims() -> [Claim; 2] {
    let needs = || vec!["code".to_owned(), "python".to_owned()];
    [Runnable::Only(needs()), Runnable::AllBut(needs())].map(|runnable| Claim {
        owner: "o".to_owned(),
        running: 1,
        quick: 1,
        runnable,
    })
}

/// Every change of jobs; afterwards a process has one.
fn change_jobs(engine: &mut Engine) {
    let id = |number| ReceiptId::from_random_bytes([number; 16]);
    let job = |number| NewJob {
        job_id: id(number),
        request: "{}".to_owned(),
        checks: 1,
        chain: "main".to_owned(),
        supersedes: None,
        accepted: "{}".to_owned(),
        needs: if number == 21 { String::new() } else { "python".to_owned() },
        owner: None,
        created_at: 1,
    };
    for number in [21, 22, 23, 24, 25] {
        writer::store_each(engine, vec![job(number).into()]);
    }
    let presence = |owner: &str| Presence { owner: owner.to_owned(), ..Presence::default() };
    let mut changes = vec![Change::Renew(presence("o")), Change::Renew(presence("gone"))];
    changes.extend(claims().map(|claim| Change::Claim { claim, found: mpsc::channel().0 }));
    changes.extend(["gone", "o"].map(|owner| Change::TakeOn { duty: "d".to_owned(), owner: owner.to_owned() }));
    changes.push(Change::GiveUp { owner: "gone".to_owned() });
    changes.push(Change::GiveBack { found: mpsc::channel().0 });
    changes.push(Change::Cancel {
        tenant: Tenant::LOCAL,
        job_id: id(23),
        by: "o".to_owned(),
        found: mpsc::channel().0,
    });
    changes.push(Change::Release { owner: "o".to_owned(), job_id: id(25) });
    changes.push(Change::Prune { age: 1, found: mpsc::channel().0 });
    for change in &changes {
        change.apply(engine, 1).unwrap();
    }
    let end = JobEnd { job_id: id(22), owner: "o".to_owned(), attempt: 1, state: JobState::Done };
    writer::store_each(engine, vec![end.into()]);
}

fn engine(connection: Connection) -> Engine {
    Engine::Sqlite(Sqlite::new(connection, Arc::default()))
}

/// Every question but that for a whole chain, with each of its filters alone and all together.
fn ask_all(connection: &Connection) {
    let db = &Db::Sqlite(connection);
    let (ours, id) = (Tenant::LOCAL, ReceiptId::from_random_bytes([2; 16]));
    for tenant in [None, Some(&ours)] {
        receipt_filters().iter().for_each(|filter| drop(read::list(db, tenant, filter).unwrap()));
        decision_filters().iter().for_each(|wanted| drop(decisions::decisions(db, tenant, wanted).unwrap()));
    }
    for filter in [
        CountFilter::default(),
        CountFilter { chain: Some("main"), ..CountFilter::default() },
        CountFilter { signer: Some("s"), ..CountFilter::default() },
        CountFilter { chain: Some("main"), signer: Some("s"), task_type: Some("k") },
    ] {
        counts::verdict_counts(db, &ours, &filter).unwrap();
    }
    for tenant in [None, Some(&ours)] {
        assert!(receipt_meta::receipt(db, tenant, &id, None).unwrap().is_some());
    }
    receipt_meta::job_receipt(db, &ours, &id).unwrap();
    receipt_meta::request(db, &ours, &id).unwrap();
    read::between(db, &[0; 16], &[255; 16]).unwrap();
    let output = Sha256Digest::of(&[2]).to_string();
    assert_eq!(read::over(db, &ours, &output, &|receipt| Some(Spend::of(receipt))).unwrap().len(), 1);
    read::chain_from(db, &ours, "main", 1, 9).unwrap();
    read::chains(db, &ours).unwrap();
    read::tip(db, &ours, "main").unwrap();
    let spend = Spend::of(&receipt(3, ChainEnd::default()));
    assert!(spends::is_spent(db, &ours, &spend).unwrap());
    spends::spent_by(db, &ours, &spend).unwrap();
    spends::is_superseded(db, &ours, &spend).unwrap();
    let counted = counted::last(db, &ours, &count().key, None).unwrap();
    assert_eq!(counted.as_ref().map(|one| &one.count), Some(&count()));
    assert_eq!(counted::last(db, &ours, &count().key, Some(1)).unwrap(), counted);
    assert_eq!(counted::last(db, &ours, &count().key, Some(0)).unwrap(), None);
    let id = id.to_string();
    assert!(decisions::decision(db, &ours, &id).unwrap().is_some());
    decisions::any_decision(db, &id).unwrap();
    decisions::between(db, "0", "f").unwrap();
    decisions::history(db, &ours, "f").unwrap();
    decisions::last_decision(db).unwrap();
    assert!(decisions::last_in_session(db, &ours, "x").unwrap().is_some());
    reviews::reviews(db, &ours, &id).unwrap();
    reviews::denial(db, &ours, "f", 1).unwrap();
    reviews::allowed_since(db, &ours, &id).unwrap();
    reviews::facts(db, &ours, &id).unwrap();
    reviews::newest_facts(db, &ours, "s").unwrap();
    executions::times_executed(db, &ours, &id).unwrap();
    executions::findings(db, &ours, None, 9, Some(Cursor(9))).unwrap();
    executions::findings(db, &ours, Some("executed_twice"), 9, None).unwrap();
    executions::findings_of(db, &ours, &id).unwrap();
    executions::reports(db, &ours, &id).unwrap();
    for wanted in waiting_filters() {
        queue::list(db, &ours, &wanted, 9).unwrap();
        queue::count(db, &ours, &wanted).unwrap();
    }
    queue::on_subject(db, &ours, "s").unwrap();
    let notices = queue::notices(db, None).unwrap();
    assert_eq!(queue::waiting_since(db).unwrap(), (1, Some(notices[0].since)));
    assert_eq!(queue::notice(db, &ours, notices[0].place).unwrap().as_ref(), notices.first());
    decisions::on_subject(db, &ours, "s", 9).unwrap();
    reviews::on_subject(db, &ours, "s", 9).unwrap();
    reviews::last_approval_of(db, &ours, "p").unwrap();
    reviews::since(db, &ours, 1, 9).unwrap();
    activity::decisions(db, &ours, 0).unwrap();
    activity::agents(db, &ours, 0, 9).unwrap();
    activity::verdicts(db, &ours, 0).unwrap();
    counts::by_task_type(db, &ours, 9).unwrap();
    sessions::of_decision(db, &ours, &id).unwrap();
    assert_eq!(runs::newest(db, Some(&ours), 9, Some(Cursor(9))).unwrap().runs.len(), 1);
    assert_eq!(executions::all_findings(db, 9, None).unwrap().findings.len(), 2);
    executions::unreported(db, 9).unwrap();
    runs::step_run(db, &ours, "local", "r", "s").unwrap();
    runs::begun(db, &ours, "r", "local").unwrap();
    assert_eq!(runs::runs(db, &ours, "r").unwrap().len(), 1);
    assert_eq!(runs::newest(db, None, 9, None).unwrap().runs.len(), 1);
    answers::answer(db, &ours, "k").unwrap();
    jobs::job(db, &ours, &ReceiptId::from_random_bytes([2; 16])).unwrap();
    jobs::jobs(db, &[ReceiptId::from_random_bytes([2; 16])]).unwrap();
    assert_eq!(jobs::jobs_of(db, "o").unwrap().len(), 1);
    for claim in claims() {
        claims::is_claimable(db, &claim).unwrap();
    }
    assert!(!claims::are_lost(db, 1).unwrap());
    assert_eq!(claims::figures(db).unwrap().owned, 1);
    assert_eq!(workers::workers(db, 1).unwrap().len(), 2);
    assert!(workers::worker(db, "o", 1).unwrap().is_some());
    assert_eq!(duties::holder(db, "d", 1).unwrap(), None);
    clock::latest(db).unwrap();
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
        DecisionsWanted { to_review: true, filter: of_role(), ..none() },
        all,
    ]
}

fn of_role() -> QueueFilter {
    QueueFilter { roles: Some(vec!["lead".to_owned(), "x".to_owned()]), ..QueueFilter::default() }
}

fn waiting_filters() -> Vec<WaitingWanted> {
    let text = || Some("x".to_owned());
    let none = WaitingWanted::default;
    vec![
        none(),
        WaitingWanted { after: Some(Cursor(1)), ..none() },
        WaitingWanted { before: Some(Cursor(9)), ..none() },
        WaitingWanted { filter: of_role(), ..none() },
        WaitingWanted { text: text(), role: text(), agent: text(), after: Some(Cursor(1)), ..none() },
    ]
}

fn recorded(mut connection: Connection, work: fn(Connection) -> Connection) -> (Connection, BTreeSet<String>) {
    let statements = Statements::default();
    let record = Arc::clone(&statements);
    let traced = move |event: TraceEvent<'_>| {
        if let TraceEvent::Stmt(_, sql) = event {
            record.lock().unwrap().insert(sql.to_owned());
        }
    };
    connection.trace_v2(TraceEventCodes::SQLITE_TRACE_STMT, Some(traced)).unwrap();
    let mut connection = work(connection);
    connection.trace_v2(TraceEventCodes::SQLITE_TRACE_STMT, None::<fn(TraceEvent<'_>)>).unwrap();
    let statements = statements.lock().unwrap().clone();
    (connection, statements)
}

/// How many steps SQLite takes to answer every question in a store with so many receipts and decisions.
fn steps(rows: u32) -> i32 {
    let home = tempfile::TempDir::new().unwrap();
    let path = home.path().join("store.db");
    drop(Store::open(&path).unwrap());
    let connection = sqlite::open_to_write(&path).unwrap();
    let mut engine = engine(write_all(connection));
    let mut writes = Vec::new();
    for row in 0..rows {
        let id = ReceiptId::from_random_bytes((u128::from(row) + 1).to_be_bytes());
        let new = NewReceipt::chained(id, None, "main", move |tip| {
            let mut draft = draft(&row.to_be_bytes());
            draft.receipt_id = id;
            draft.tier = u8::try_from(row % 3).unwrap();
            draft.task = Some(Task { task_id: Some((row / 4).to_string()), task_type: None, description: None });
            draft.link(tip);
            draft.unsigned()
        });
        writes.push(new.into());
        let decision_id = ReceiptId::from_random_bytes((u128::from(row) + 1).to_be_bytes());
        let mut new = decision(decision_id, u64::from(row) + 1, row % 50 == 0);
        new.decided_at = row.into();
        new.fingerprint = "many".to_owned();
        // Some wait for a review; most are decisions on a subject whose decisions waited before.
        new.about.subject = if row < 20 { row.to_string() } else { "s".to_owned() };
        (new.about.facts, new.about.candidate) = (None, None);
        writes.push(new.into());
    }
    writer::store_each(&mut engine, writes);
    // Another connection: the steps of a statement are counted from when it was prepared, over all its runs.
    let mut connection = sqlite::open_to_read(&path).unwrap();
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
    let connection = sqlite::open_to_write(&path).unwrap();
    let (connection, mut statements) = recorded(connection, write_all);
    let (connection, asked) = recorded(connection, |connection| {
        ask_all(&connection);
        assert_eq!(read::chain(&Db::Sqlite(&connection), &Tenant::LOCAL, "main").unwrap().len(), 2);
        connection
    });
    statements.extend(asked);
    let (mut faulty, mut fine) = (Vec::new(), BTreeSet::new());
    for sql in
        statements.iter().filter(|sql| !["BEGIN", "COMMIT", "ROLLBACK", "--"].iter().any(|word| sql.starts_with(word)))
    {
        let mut explain = connection.prepare(&format!("EXPLAIN QUERY PLAN {sql}")).unwrap();
        let steps = explain.raw_query().mapped(|row| row.get::<_, String>(3));
        let plan = steps.collect::<rusqlite::Result<Vec<_>>>().unwrap();
        // `SCAN` of a subquery or of constants reads no table.
        let reads_none = ["SCAN (", "SCAN once_", "SCAN of_range", "SCAN CONSTANT ROW"];
        let is_scan = |step: &str| step.starts_with("SCAN ") && !reads_none.iter().any(|none| step.starts_with(none));
        let reads_all = |step: &String| is_scan(step) || step.contains("TEMP B-TREE");
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
