//! Whatever is submitted, in whatever order and however much of it in one group: stores of both kinds refuse the same, and
//! answer every question alike afterwards.

use std::fmt::Debug;
use std::ops::ControlFlow;

use proofmark_receipt::{
    Draft, Object, Prepared, Receipt, ReceiptId, SigningKey, Task, Timestamp, Trust, Verdict, object,
};
use proofmark_store::{
    After, Answer, Count, CountFilter, Counts, Cursor, DecisionIndex, DecisionsWanted, Execution, Filter, Finding,
    JobEnd, JobState, JudgedRules, NEVER_REPORTED, NewDecision, NewEntries, NewEntry, NewJob, NewReceipt, Pending,
    Review, ReviewVerdict, Runs, Spend, Spends, StepRun, Store, StoreError, StoredPin, Tenant, TenantStore,
    WaitingWanted, Write,
};
use proptest::prelude::*;

use crate::samples::{Home, decision, decision_id, draft, id};

/// How many ids, names and texts of a kind there are: few, so that submissions meet.
const FEW: u32 = 5;
const TENANTS: [&str; 2] = ["local", "a"];
/// Texts that engines may compare, sort or store differently.
const TEXTS: [&str; 5] = ["", "b", "B", "ä\u{1F980}", "a'\"\\%_\n"];
/// Later than all times here, and than now.
const LATE: i64 = 1 << 50;

/// A submission, by numbers that [`writes`] makes sense of.
#[derive(Clone, Copy, Debug)]
struct Step {
    kind: u32,
    tenant: usize,
    /// Which of the few it is about.
    one: u32,
    other: u32,
    /// What else there is to choose.
    choice: u32,
}

fn step() -> impl Strategy<Value = Step> {
    (0..15_u32, 0..2_usize, 0..FEW, 0..FEW, any::<u32>()).prop_map(|(kind, tenant, one, other, choice)| Step {
        kind,
        tenant,
        one,
        other,
        choice,
    })
}

fn tenant(number: usize) -> Tenant {
    TENANTS[number % TENANTS.len()].parse().unwrap()
}

fn text(number: u32) -> String {
    TEXTS[number as usize % TEXTS.len()].to_owned()
}

/// A digit of a number, to choose by.
fn digit(choice: u32, place: u32, below: u32) -> u32 {
    choice.rotate_right(place * 5) % below
}

fn key(number: u32) -> SigningKey {
    SigningKey::from_seed([u8::try_from(number % 2).unwrap(); 32])
}

fn time(number: u32) -> i64 {
    i64::from(number) * 1_800_000
}

fn receipt_draft(step: Step) -> Draft {
    let mut draft = draft(id(0, step.one));
    draft.verdict = [Verdict::Error, Verdict::Partial, Verdict::Fail][digit(step.choice, 1, 3) as usize];
    draft.tier = u8::try_from(digit(step.choice, 2, 3)).unwrap();
    draft.verified_at = Timestamp::from_unix_millis(time(digit(step.choice, 3, 9)));
    let name = |place| (digit(step.choice, place, 3) > 0).then(|| text(digit(step.choice, place, FEW)));
    draft.task = Some(Task { task_id: name(4), task_type: name(5), description: None });
    draft
}

fn receipt(step: Step) -> Receipt {
    receipt_draft(step).sign(&key(step.other)).unwrap()
}

fn new_receipt(step: Step) -> NewReceipt {
    let key = key(step.other);
    let mut draft = receipt_draft(step);
    let new = match digit(step.choice, 6, 6) {
        0 => NewReceipt::received(receipt(step), Trust::Trusted),
        1 => NewReceipt::received(receipt(step), Trust::Untrusted),
        2 | 3 => NewReceipt::single(receipt(step)),
        chain => {
            // The ids of receipts that are signed here are random: no two tenants sign one document.
            draft.task.get_or_insert_default().description = Some(TENANTS[step.tenant % TENANTS.len()].to_owned());
            NewReceipt::chained(draft.receipt_id, Some(key.signer()), format!("chain {chain}"), move |tip| {
                let mut draft = draft.clone();
                draft.link(tip);
                draft.sign(&key)
            })
        }
    };
    let supersedes = (digit(step.choice, 7, 4) == 0).then(|| id(0, step.other));
    let request = (digit(step.choice, 8, 3) == 0).then(|| "{}".to_owned());
    NewReceipt { request, supersedes, ..new }
}

fn new_decision(store: &TenantStore<'_>, step: Step) -> NewDecision {
    let allowed = digit(step.choice, 1, 3) == 0;
    let name = |place| (digit(step.choice, place, 3) > 0).then(|| text(digit(step.choice, place, FEW)));
    let number = digit(step.choice, 2, 12);
    // Mostly the next one, as far as the caller knows.
    let decided = store.action_history(&text(step.one)).unwrap().decided;
    let nth = if digit(step.choice, 3, 4) == 0 { 1 } else { decided + 1 };
    let new = decision(u64::from(number), &text(step.one), nth, allowed);
    let policy = proofmark_receipt::Sha256Digest::of(b"policy");
    let about = DecisionIndex {
        agent: name(4),
        class: name(5),
        mode: "stop".to_owned(),
        expires_at: time(digit(step.choice, 6, 9)),
        candidate: name(0),
        action: name(1).map(|name| object! { "tool": name }.to_text()),
        tool: name(2),
        session: name(6),
        review: !allowed && digit(step.choice, 3, 3) > 0,
        wanted: u64::from(digit(step.choice, 4, 2)) + 1,
        // The documents here name none.
        roles: Vec::new(),
        subject: text(number),
        facts: name(5),
        judged: name(3).map(|rules| JudgedRules { policy, rules }),
    };
    NewDecision { decided_at: time(digit(step.choice, 5, 9)), about, ..new }
}

fn decision_of(step: Step) -> String {
    decision_id(u64::from(digit(step.choice, 2, 12)))
}

fn review(step: Step) -> Review {
    let is_denial = digit(step.choice, 1, 4) == 0;
    Review {
        decision_id: decision_of(step),
        fingerprint: text(step.other),
        subject: text(digit(step.choice, 2, 12)),
        verdict: if is_denial { ReviewVerdict::Denied } else { ReviewVerdict::Approved },
        reviewer: text(step.one),
        person: text(step.one),
        role: if is_denial { String::new() } else { text(digit(step.choice, 3, 2) + 1) },
        note: "n".to_owned(),
        receipt_id: None,
        reviewed_at: time(digit(step.choice, 4, 9)),
        until: time(digit(step.choice, 5, 12)),
    }
}

fn entries(step: Step) -> NewEntries {
    let entry = |number| {
        let id = id(step.choice, number);
        NewEntry {
            id,
            kind: if number == 0 { "decided" } else { "result" },
            decision_id: (number == 0).then(|| decision_of(step)),
            sign: Box::new(move |tip| {
                let key = SigningKey::from_seed([1; 32]);
                let entry = Prepared::new(id, object! { "entry_id": id.to_string(), "metadata": Object::new() }, &key)?;
                Ok(entry.sign(tip, &key)?.into_parts().0)
            }),
        }
    };
    let after = if digit(step.choice, 1, 3) == 0 { After::Entry(None) } else { After::Any };
    NewEntries { session: text(step.one), after, entries: (0..=digit(step.choice, 4, 3)).map(entry).collect() }
}

fn job(step: Step) -> NewJob {
    NewJob {
        job_id: id(0, step.one),
        request: "{}".to_owned(),
        checks: 1,
        chain: "main".to_owned(),
        supersedes: None,
        accepted: "{}".to_owned(),
        needs: ["", "python"][digit(step.choice, 3, 2) as usize].to_owned(),
        owner: (digit(step.choice, 1, 2) == 0).then(|| text(step.other)),
        created_at: time(step.one),
    }
}

fn write(store: &TenantStore<'_>, step: Step) -> Write {
    match step.kind {
        0..=2 => new_receipt(step).into(),
        3..=4 => new_decision(store, step).into(),
        5 => review(step).into(),
        6 => {
            let documents =
                (0..=digit(step.choice, 3, 2)).map(|more| Spend::of(&receipt(Step { one: step.one + more, ..step })));
            Spends { documents: documents.collect(), by: text(step.other) }.into()
        }
        7 => {
            let version = u64::from(digit(step.choice, 1, 3)) + 1;
            let (run, step_name) = (text(step.one), text(step.other));
            let begun_by = ["local", "key"][digit(step.choice, 2, 2) as usize].to_owned();
            StepRun { run, begun_by, step: step_name, version, state: step.choice.to_string() }.into()
        }
        8 => {
            let request = proofmark_receipt::Sha256Digest::of(&[1]);
            Answer { key: text(step.one), request, document: step.choice.to_string() }.into()
        }
        9 => job(step).into(),
        10 => {
            let states = [JobState::Done, JobState::Cancelled, JobState::Failed("x".to_owned())];
            let state = states[digit(step.choice, 1, 3) as usize].clone();
            JobEnd { job_id: id(0, step.one), owner: text(step.other), attempt: 0, state }.into()
        }
        11 => match digit(step.choice, 1, 2) {
            0 => {
                let executed = digit(step.choice, 3, 2) == 0;
                Execution { decision_id: decision_of(step), executed, document: "{}".to_owned() }.into()
            }
            _ => {
                let code = [NEVER_REPORTED, "executed_twice"][digit(step.choice, 3, 2) as usize].to_owned();
                Finding { decision_id: decision_of(step), code, message: text(step.one), found_at: time(step.other) }
                    .into()
            }
        },
        12 => entries(step).into(),
        13 => {
            let key = proofmark_receipt::Sha256Digest::of(&step.one.to_be_bytes());
            let count = Count { key, nth: u64::from(digit(step.choice, 1, 3)) + 1, total: step.choice.to_string() };
            Counts { counts: vec![count], at: time(step.other), by: decision_of(step) }.into()
        }
        _ => StoredPin {
            server: text(step.one),
            tool: text(step.other),
            account: text(digit(step.choice, 3, 2)),
            definition: proofmark_receipt::Sha256Digest::of(&step.choice.to_be_bytes()),
            document: "{}".to_owned(),
            is_approved: digit(step.choice, 2, 2) == 0,
            waits: (digit(step.choice, 1, 2) == 0).then(|| "changed".to_owned()),
        }
        .into(),
    }
}

/// One write, or two of different kinds that are stored together. No caller submits two that meet.
fn submit(store: &Store, step: Step) -> Pending {
    let store = store.of(&tenant(step.tenant));
    let mut writes = vec![write(&store, step)];
    let second = Step { kind: 5 + digit(step.choice, 7, 10), one: step.other, other: step.one, ..step };
    if digit(step.choice, 9, 4) == 0 && second.kind != step.kind {
        writes.push(write(&store, second));
    }
    store.submit_all(writes)
}

/// What a submission is answered, without the time.
fn answer(pending: Pending) -> Result<String, StoreError> {
    let written = pending.wait()?;
    let decision = written.decision.map(|decision| decision.text().to_owned());
    Ok(format!("{:?} {decision:?}", written.receipt.map(|receipt| receipt.to_text())))
}

/// What a store of either kind answers to every question, without times that its clock told.
fn everything(store: &Store) -> Vec<String> {
    let mut all = Answers(Vec::new());
    of_runs(&mut all, |limit, after| store.all_tenants_runs(limit, after));
    all.note("last decision", store.all_tenants_last_decision());
    all.note("all findings", store.all_tenants_findings(99, None));
    all.note("unreported", store.all_tenants_unreported(LATE));
    all.note("prefix", (store.all_tenants_find("0000"), store.all_tenants_find_decisions("6f1c1c62")));
    for filter in filters() {
        all.note("all receipts", (&filter, store.all_tenants_receipts(&filter)));
    }
    for wanted in decisions_wanted() {
        all.note("all decisions", (&wanted, store.all_tenants_decisions(&wanted)));
    }
    for number in 0..FEW + 1 {
        all.note("receipt of any", store.all_tenants_receipt(&id(0, number)));
    }
    for name in TENANTS {
        of_tenant(&store.of(&name.parse().unwrap()), &mut all);
    }
    all.0
}

struct Answers(Vec<String>);

impl Answers {
    fn note(&mut self, question: &str, answer: impl Debug) {
        self.0.push(format!("{question}: {answer:?}"));
    }

    fn note_sorted(&mut self, question: &str, answers: Vec<impl Debug>) {
        let mut answers: Vec<String> = answers.iter().map(|answer| format!("{answer:?}")).collect();
        answers.sort();
        self.note(question, answers);
    }
}

fn filters() -> Vec<Filter> {
    let all = || Filter { limit: 99, ..Filter::default() };
    let few = || Filter { limit: 2, ..Filter::default() };
    let mut filters = vec![
        all(),
        few(),
        Filter { verdict: Some(Verdict::Error), ..all() },
        Filter { tier: Some(1), verdict: Some(Verdict::Fail), ..all() },
        Filter { chain: Some("chain 4".to_owned()), ..all() },
        Filter { chain: Some("chain 5".to_owned()), signer: Some(key(0).signer().to_string()), ..all() },
        Filter { signer: Some(key(1).signer().to_string()), tier: Some(0), ..few() },
        Filter { since: Some(time(2)), until: Some(time(5)), ..all() },
        Filter { after: Some("s4".parse().unwrap()), ..few() },
    ];
    filters.extend(TEXTS.map(|text| Filter { task_id: Some(text.to_owned()), ..all() }));
    filters
}

fn decisions_wanted() -> Vec<DecisionsWanted> {
    let all = || DecisionsWanted { limit: 99, ..DecisionsWanted::default() };
    let mut wanted = vec![
        all(),
        DecisionsWanted { limit: 2, ..all() },
        DecisionsWanted { outcome: Some("allow".to_owned()), ..all() },
        DecisionsWanted { to_review: true, ..all() },
        DecisionsWanted { since: Some(time(2)), until: Some(time(5)), ..all() },
        DecisionsWanted { after: Some("s4".parse().unwrap()), ..all() },
    ];
    for text in TEXTS.map(|text| Some(text.to_owned())) {
        wanted.push(DecisionsWanted { agent: text.clone(), ..all() });
        wanted.push(DecisionsWanted { class: text.clone(), to_review: true, ..all() });
        wanted.push(DecisionsWanted { tool: text, ..all() });
    }
    wanted
}

fn of_tenant(store: &TenantStore<'_>, all: &mut Answers) {
    of_receipts(store, all);
    of_decisions(store, all);
    for text in TEXTS {
        let step = |other: &str| store.step_run("local", text, other);
        all.note("steps", (store.step_runs(text), TEXTS.map(step), store.begun(text, "local"), store.answer(text)));
        let entries = store.session_entries(text, 1, 9).unwrap();
        let entries: Vec<_> = entries.into_iter().map(|one| (one.kind, one.decision_id, one.document)).collect();
        let mut results = Vec::new();
        let tip = store.session_since(text, 0, &mut |document| {
            results.push(document.to_owned());
            ControlFlow::Continue(())
        });
        all.note("entries", (entries, tip, results));
    }
    of_runs(all, |limit, after| store.runs(limit, after));
    for limit in [2, 99] {
        let sessions = store.sessions(limit, None).unwrap();
        let named: Vec<_> = sessions.sessions.into_iter().map(|one| (one.session, one.entries)).collect();
        all.note("sessions", (named, sessions.next));
    }
    all.note("pins", store.pins());
}

/// All runs on one page, and on pages of two.
fn of_runs(all: &mut Answers, list: impl Fn(usize, Option<Cursor>) -> Result<Runs, StoreError>) {
    let steps =
        |page: Runs| page.runs.into_iter().map(|run| run.into_iter().map(|one| (one.tenant, one.step)).collect());
    let whole = list(99, None).unwrap();
    assert_eq!(whole.next, None);
    let whole: Vec<Vec<_>> = steps(whole).collect();
    let (mut paged, mut after) = (Vec::new(), None);
    loop {
        let page = list(2, after).unwrap();
        after = page.next;
        paged.extend(steps(page));
        if after.is_none() {
            break;
        }
    }
    assert_eq!(paged, whole);
    all.note("runs", whole);
}

fn of_receipts(store: &TenantStore<'_>, all: &mut Answers) {
    for filter in filters() {
        all.note("receipts", (&filter, store.list(&filter)));
    }
    for number in 0..FEW + 1 {
        let id: ReceiptId = id(0, number);
        all.note("receipt", (store.receipt(&id), store.job_receipt(&id), store.request(&id)));
        all.note("receipt by", store.receipt_by(&id, &key(1).signer().to_string()));
        all.note("job", store.job(&id));
    }
    all.note(
        "over",
        store.receipts_over(&draft(id(0, 0)).hashes.output.to_string(), &|receipt| Some(Spend::of(receipt))),
    );
    let keys: Vec<_> = (0..FEW).map(|number| proofmark_receipt::Sha256Digest::of(&number.to_be_bytes())).collect();
    for until in [None, Some(time(2))] {
        let keys: Vec<_> = keys.iter().map(|key| (*key, until)).collect();
        all.note("counted", store.last_counts(&keys));
    }
    all.note("chains", store.chains());
    for chain in ["chain 4", "chain 5"] {
        all.note("chain", (store.chain(chain), store.chain_from(chain, 1, 2), store.tip(chain)));
        let filter = CountFilter { chain: Some(chain), ..CountFilter::default() };
        all.note("counts of chain", store.verdict_counts(&filter));
    }
    for text in TEXTS {
        let filter = CountFilter { task_type: Some(text), ..CountFilter::default() };
        all.note("counts of type", store.verdict_counts(&filter));
    }
    all.note("counts", (store.verdict_counts(&CountFilter::default()), store.task_type_counts(9)));
    all.note("hours", (store.verdicts_by_hour(0), store.verdicts_by_hour(time(4))));
}

fn of_decisions(store: &TenantStore<'_>, all: &mut Answers) {
    for wanted in decisions_wanted() {
        all.note("decisions", (&wanted, store.decisions(&wanted)));
    }
    for number in 0..12 {
        let id = &decision_id(number);
        all.note("decision", (store.decision(id), store.facts(id), store.allowed_since(id), store.reviews(id)));
        let reports: Vec<_> = store.execution_reports(id).unwrap().into_iter().map(|(executed, _)| executed).collect();
        all.note("reports", (reports, store.times_executed(id), store.findings_of(id), store.session_of(id)));
    }
    for text in TEXTS {
        let state = store.action_state(text).unwrap();
        // Nothing here lasts until now, so no denial does.
        all.note("action", (store.action_history(text), state.history, state.denial));
        all.note(
            "subject",
            (
                store.decisions_on(text, 3),
                store.reviews_on(text, 9),
                store.last_approval_of(text),
                store.waiting_on(text),
            ),
        );
        all.note("denial", (store.denial(text, 0), store.denial(text, time(6)), store.newest_facts(text)));
    }
    let text = |text: &str| WaitingWanted { text: Some(text.to_owned()), ..WaitingWanted::default() };
    let agent = WaitingWanted { agent: Some("b".to_owned()), ..WaitingWanted::default() };
    for wanted in [WaitingWanted::default(), agent, text("B"), text("ä"), text("tool"), text("6f1c")] {
        all.note("waiting", (&wanted, store.waiting(&wanted, 2), store.waiting_count(&wanted)));
    }
    all.note("activity", (store.decision_counts(time(3)), store.agent_counts(0, 9), store.reviews_since(time(2), 9)));
    all.note("findings", (store.findings(None, 2, None), store.findings(Some(NEVER_REPORTED), 9, None)));
}

/// What does not depend on the order of submissions that are about different things: PostgreSQL's engine settles those of a
/// group in an order of its own.
fn regardless_of_order(store: &Store) -> Vec<String> {
    let mut all = Answers(Vec::new());
    for store in TENANTS.map(|name| store.of(&name.parse().unwrap())) {
        for number in 0..FEW + 1 {
            let stored = store.receipt(&id(0, number)).unwrap();
            let stored = stored.map(|one| (one.superseded_by, one.chain, one.spent, one.others, one.trust));
            all.note("receipt", (stored, store.job(&id(0, number)).unwrap().map(|job| job.state)));
        }
        for text in TEXTS {
            all.note("action", (store.action_history(text), store.answer(text), store.step_runs(text)));
            let waits = store.waiting_on(text).unwrap();
            all.note("waits", waits.map(|one| (one.decision.decision_id, one.asked)));
        }
        for number in 0..12 {
            let id = &decision_id(number);
            let stored = store.decision(id).unwrap().map(|stored| (stored.fingerprint, stored.about));
            all.note("decision", (stored, store.facts(id), store.allowed_since(id), store.times_executed(id)));
            all.note_sorted("reviews", store.reviews(id).unwrap());
        }
        all.note("counts", (store.verdict_counts(&CountFilter::default()), store.task_type_counts(9), store.chains()));
        all.note("activity", (store.decision_counts(0), store.agent_counts(0, 9), store.verdicts_by_hour(0)));
        all.note("pins", store.pins());
    }
    all.0
}

/// Where two texts begin to differ.
fn difference(one: &str, other: &str) -> String {
    let same = one.chars().zip(other.chars()).take_while(|(one, other)| one == other).count();
    let part = |text: &str| text.chars().skip(same.saturating_sub(300)).take(600).collect::<String>();
    format!("{}\n… {}\n… {}", one.chars().take(200).collect::<String>(), part(one), part(other))
}

fn assert_alike([one, other]: [Vec<String>; 2]) {
    assert_eq!(one.len(), other.len());
    for (one, other) in one.iter().zip(&other) {
        assert!(one == other, "{}", difference(one, other));
    }
}

fn config(cases: u32) -> ProptestConfig {
    ProptestConfig { cases, max_shrink_iters: 100, ..ProptestConfig::default() }
}

#[test]
fn what_comes_one_after_another() {
    proptest!(config(5), |(steps in proptest::collection::vec(step(), 1..120))| {
        let Some(database) = Home::database() else { return Ok(()) };
        let homes = [Home::file(), database];
        let stores = homes.each_ref().map(Home::open);
        for step in steps {
            let [file, database] = stores.each_ref().map(|store| answer(submit(store, step)));
            prop_assert_eq!(file, database, "{:?}", step);
        }
        assert_alike(stores.each_ref().map(everything));
    });
}

#[test]
fn what_comes_at_once() {
    let group = proptest::collection::vec(step(), 1..60);
    proptest!(config(5), |(groups in proptest::collection::vec(group, 1..4))| {
        let Some(database) = Home::database() else { return Ok(()) };
        let homes = [Home::file(), database];
        let stores = homes.each_ref().map(Home::open);
        for group in groups {
            let [file, database] = [0, 1].map(|kind| {
                // What is submitted while the writer waits is one group.
                let hold = homes[kind].hold();
                let pending: Vec<_> = group.iter().map(|step| submit(&stores[kind], *step)).collect();
                hold.release();
                pending.into_iter().map(|pending| answer(pending).map(drop)).collect::<Vec<_>>()
            });
            for (step, (file, database)) in group.iter().zip(file.iter().zip(&database)) {
                prop_assert_eq!(file, database, "{:?}", step);
            }
        }
        assert_alike(stores.each_ref().map(regardless_of_order));
    });
}
