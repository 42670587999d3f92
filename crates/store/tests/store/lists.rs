//! Lists are those rows of all that a filter lets through, whatever index finds them.
#![expect(clippy::indexing_slicing, reason = "helpers of tests fail by panicking")]

use proofmark_receipt::{Receipt, SigningKey, Task, Timestamp, Trust, Verdict};
use proofmark_store::{
    CountFilter, Cursor, DecisionIndex, DecisionsWanted, Filter, NewDecision, NewReceipt, Store, Tenant, VerdictCounts,
    WaitingWanted,
};
use proptest::prelude::*;

use crate::samples::{Home, decision, decision_id, draft, id};

/// Several blocks of rows, so that periods skip some.
const ROWS: u32 = 1_100;
const TENANTS: [&str; 2] = ["local", "a"];
const OUTCOMES: [&str; 3] = ["allow", "allow_with_warning", "replan_required"];

struct Rows {
    store: Store,
    /// In the order in which they were stored.
    receipts: Vec<Stored>,
    decisions: Vec<Decided>,
}

struct Stored {
    tenant: Tenant,
    chain: Option<&'static str>,
    brought: bool,
    receipt: Receipt,
}

struct Decided {
    tenant: Tenant,
    id: String,
    outcome: &'static str,
    at: i64,
    about: DecisionIndex,
}

/// A number below `below` that looks like chance and is the same each time.
fn chance(row: u32, what: u32, below: u32) -> u32 {
    let mixed = (row.wrapping_mul(2_654_435_769) ^ what.wrapping_mul(0x9E37_79B9)).wrapping_mul(2_246_822_519);
    (mixed >> 12) % below
}

/// A time near that of the rows stored with it; of some rows it is quite another.
fn time(row: u32) -> i64 {
    let far = chance(row, 9, 40) == 0 && row < ROWS / 2;
    i64::from(if far { chance(row, 10, ROWS) } else { row + chance(row, 11, 30) })
}

fn key(row: u32) -> SigningKey {
    SigningKey::from_seed([u8::try_from(chance(row, 1, 3)).unwrap(); 32])
}

fn rows(home: &Home) -> Rows {
    let store = home.open();
    let (mut receipts, mut decisions, mut pending) = (Vec::new(), Vec::new(), Vec::new());
    for row in 0..ROWS {
        let (stored, new) = receipt(row);
        pending.push(store.of(&stored.tenant).submit(new));
        let (decided, new) = decided(row);
        pending.push(store.of(&decided.tenant).submit(new));
        receipts.push(stored);
        decisions.push(decided);
    }
    for (row, one) in pending.into_iter().enumerate() {
        if let Some(receipt) = one.wait().unwrap().receipt {
            receipts[row / 2].receipt = receipt;
        }
    }
    Rows { store, receipts, decisions }
}

fn receipt(row: u32) -> (Stored, NewReceipt) {
    let verdicts = [Verdict::Pass, Verdict::Pass, Verdict::Pass, Verdict::Fail, Verdict::Partial, Verdict::Error];
    let mut draft = draft(id(7, row));
    draft.verdict = if row == 700 { Verdict::Error } else { verdicts[chance(row, 2, 5) as usize] };
    draft.tier = u8::try_from(chance(row, 3, 3)).unwrap();
    draft.verified_at = Timestamp::from_unix_millis(time(row));
    let task_type = (chance(row, 4, 3) > 0).then(|| format!("type {}", chance(row, 5, 2)));
    let task_id = (chance(row, 6, 3) > 0).then(|| format!("task {}", chance(row, 7, 20)));
    draft.task = Some(Task { task_id, task_type, description: None });
    if draft.verdict == Verdict::Pass {
        draft.results = proofmark_receipt::Results { total: 1, passed: 1, ..Default::default() };
    }
    let tenant: Tenant = TENANTS[chance(row, 8, 2) as usize].parse().unwrap();
    let chain = [None, Some("main"), Some("other")][chance(row, 12, 3) as usize];
    let unlinked = draft.clone().sign(&key(row)).unwrap();
    let brought = chain.is_none() && chance(row, 13, 2) == 0;
    let new = match chain {
        Some(chain) => NewReceipt::chained(draft.receipt_id, Some(key(row).signer()), chain, move |tip| {
            let mut draft = draft.clone();
            draft.link(tip);
            draft.sign(&key(row))
        }),
        None if brought => {
            let trust = if row.is_multiple_of(3) { Trust::Untrusted } else { Trust::Trusted };
            NewReceipt::received(unlinked.clone(), trust)
        }
        None => NewReceipt::single(unlinked.clone()),
    };
    (Stored { tenant, chain, brought, receipt: unlinked }, new)
}

fn decided(row: u32) -> (Decided, NewDecision) {
    let name = |what, below| (chance(row, what, 4) > 0).then(|| format!("n{}", chance(row, what + 1, below)));
    let about = DecisionIndex {
        agent: name(20, 3),
        class: name(22, 3),
        tool: name(24, 9),
        subject: row.to_string(),
        ..DecisionIndex::default()
    };
    let outcome = OUTCOMES[if row == 700 { 2 } else { chance(row, 26, 2) as usize }];
    let tenant: Tenant = TENANTS[chance(row, 27, 2) as usize].parse().unwrap();
    let at = time(row);
    let new = decision(u64::from(row), &row.to_string(), 1, false);
    let new = NewDecision { decided_at: at, outcome: outcome.to_owned(), about: about.clone(), ..new };
    (Decided { tenant, id: decision_id(u64::from(row)), outcome, at, about }, new)
}

fn place(row: u32) -> Cursor {
    format!("s{row}").parse().unwrap()
}

fn maybe<T: Clone + std::fmt::Debug + 'static>(of: Vec<T>) -> impl Strategy<Value = Option<T>> {
    proptest::option::weighted(0.3, proptest::sample::select(of))
}

fn filter() -> impl Strategy<Value = (Option<usize>, Filter)> {
    let narrow = (
        maybe(vec![Verdict::Pass, Verdict::Fail, Verdict::Partial, Verdict::Error]),
        maybe(vec![0_u8, 1, 2, 3]),
        maybe((0..20).map(|number| format!("task {number}")).collect()),
        maybe(vec!["main".to_owned(), "other".to_owned(), "none".to_owned()]),
        maybe((0..4).map(|seed| SigningKey::from_seed([seed; 32]).signer().to_string()).collect()),
    );
    (maybe(vec![0, 1]), narrow, period(), 1..60_usize).prop_map(|(tenant, narrow, (since, until, after), limit)| {
        let (verdict, tier, task_id, chain, signer) = narrow;
        (tenant, Filter { verdict, tier, task_id, chain, signer, since, until, after, limit })
    })
}

fn period() -> impl Strategy<Value = (Option<i64>, Option<i64>, Option<Cursor>)> {
    let time = || proptest::option::weighted(0.4, -10..i64::from(ROWS) + 50);
    (time(), time(), proptest::option::weighted(0.3, (0..ROWS + 10).prop_map(place)))
}

fn lets_through(filter: &Filter, stored: &Stored) -> bool {
    let receipt = &stored.receipt;
    let at = receipt.verified_at().unix_millis();
    filter.verdict.is_none_or(|verdict| receipt.verdict() == verdict)
        && filter.tier.is_none_or(|tier| receipt.tier() == tier)
        && (filter.task_id.is_none() || receipt.task().unwrap().task_id == filter.task_id)
        && filter.chain.as_ref().is_none_or(|chain| stored.chain == Some(chain))
        && filter.signer.as_ref().is_none_or(|signer| receipt.signature().unwrap().signer_id == *signer)
        && filter.since.is_none_or(|since| at >= since)
        && filter.until.is_none_or(|until| at < until)
}

engines! {
    a_page_has_the_receipts_that_a_filter_lets_through,
    a_page_has_the_decisions_that_are_wanted,
    counts_are_those_of_the_receipts,
    a_page_of_long_decisions_ends_early,
}

fn a_page_has_the_receipts_that_a_filter_lets_through(home: &Home) {
    let rows = rows(home);
    proptest!(ProptestConfig::with_cases(400), |((tenant, filter) in filter())| {
        let tenant: Option<Tenant> = tenant.map(|at| TENANTS[at].parse().unwrap());
        // Rows are numbered from 1.
        let before = |row: usize| filter.after.is_none_or(|after| row + 1 < after.to_string()[1..].parse().unwrap());
        let of_tenant = |stored: &Stored| tenant.as_ref().is_none_or(|tenant| stored.tenant == *tenant);
        let all = rows.receipts.iter().enumerate().rev();
        let all = all.filter(|(row, stored)| before(*row) && of_tenant(stored) && lets_through(&filter, stored));
        let all: Vec<_> = all.map(|(_, stored)| stored.receipt.receipt_id()).collect();
        let page = match &tenant {
            Some(tenant) => rows.store.of(tenant).list(&filter).unwrap(),
            None => rows.store.all_tenants_receipts(&filter).unwrap(),
        };
        let listed: Vec<_> = page.receipts.iter().map(|stored| stored.receipt.receipt_id()).collect();
        prop_assert_eq!(&listed, &all[..filter.limit.min(all.len())]);
        prop_assert_eq!(page.next.is_some(), all.len() > filter.limit);
        if let Some(next) = page.next {
            let rest = Filter { after: Some(next), limit: 1, ..filter.clone() };
            let rest = match &tenant {
                Some(tenant) => rows.store.of(tenant).list(&rest).unwrap(),
                None => rows.store.all_tenants_receipts(&rest).unwrap(),
            };
            prop_assert_eq!(rest.receipts[0].receipt.receipt_id(), all[filter.limit]);
        }
    });
}

fn a_page_has_the_decisions_that_are_wanted(home: &Home) {
    let rows = rows(home);
    proptest!(ProptestConfig::with_cases(400), |(
        tenant in maybe(vec![0, 1]),
        (outcome, class, agent, tool) in (
            maybe(OUTCOMES.map(str::to_owned).to_vec()),
            maybe((0..4).map(|number| format!("n{number}")).collect()),
            maybe((0..4).map(|number| format!("n{number}")).collect()),
            maybe((0..10).map(|number| format!("n{number}")).collect()),
        ),
        (since, until, after) in period(),
        limit in 1..60_usize,
    )| {
        let wanted = DecisionsWanted { outcome, class, agent, tool, since, until, limit, after, ..DecisionsWanted::default() };
        let tenant: Option<Tenant> = tenant.map(|at| TENANTS[at].parse().unwrap());
        let fits = |one: &Decided| {
            tenant.as_ref().is_none_or(|tenant| one.tenant == *tenant)
                && wanted.outcome.as_ref().is_none_or(|outcome| one.outcome == outcome)
                && (wanted.class.is_none() || one.about.class == wanted.class)
                && (wanted.agent.is_none() || one.about.agent == wanted.agent)
                && (wanted.tool.is_none() || one.about.tool == wanted.tool)
                && since.is_none_or(|since| one.at >= since)
                && until.is_none_or(|until| one.at < until)
        };
        let before = |row: usize| after.is_none_or(|after| row + 1 < after.to_string()[1..].parse().unwrap());
        let all = rows.decisions.iter().enumerate().rev().filter(|(row, one)| before(*row) && fits(one));
        let all: Vec<_> = all.map(|(_, one)| one.id.clone()).collect();
        let page = match &tenant {
            Some(tenant) => rows.store.of(tenant).decisions(&wanted).unwrap(),
            None => rows.store.all_tenants_decisions(&wanted).unwrap(),
        };
        let listed: Vec<_> = page.decisions.iter().map(|one| one.decision_id.clone()).collect();
        prop_assert_eq!(&listed, &all[..limit.min(all.len())]);
        prop_assert_eq!(page.next.is_some(), all.len() > limit);
    });
}

fn counts_are_those_of_the_receipts(home: &Home) {
    let rows = rows(home);
    proptest!(ProptestConfig::with_cases(400), |(
        tenant in 0..2_usize,
        chain in maybe(vec!["main", "other", "none"]),
        signer in maybe((0..4).map(|seed| SigningKey::from_seed([seed; 32]).signer().to_string()).collect()),
        task_type in maybe(vec!["type 0", "type 1", ""]),
    )| {
        let tenant: Tenant = TENANTS[tenant].parse().unwrap();
        let filter = CountFilter { chain, signer: signer.as_deref(), task_type };
        let mut counts = VerdictCounts::default();
        let like = Filter { chain: chain.map(str::to_owned), signer: signer.clone(), ..Filter::default() };
        for (row, stored) in rows.receipts.iter().enumerate().filter(|(_, stored)| {
            let kind = stored.receipt.task().unwrap().task_type.as_deref();
            stored.tenant == tenant && lets_through(&like, stored) && (task_type.is_none() || kind == task_type)
        }) {
            match stored.receipt.verdict() {
                _ if stored.brought && row.is_multiple_of(3) => { counts.untrusted += 1; continue }
                Verdict::Pass => counts.pass += 1,
                Verdict::Fail => counts.fail += 1,
                Verdict::Partial => counts.partial += 1,
                Verdict::Error => counts.error += 1,
            }
            counts.issued_elsewhere += u64::from(stored.brought);
        }
        prop_assert_eq!(rows.store.of(&tenant).verdict_counts(&filter).unwrap(), counts);
    });
}

fn a_page_of_long_decisions_ends_early(home: &Home) {
    let store = home.open();
    let ours = store.of(&Tenant::LOCAL);
    for number in 0..4 {
        let about = DecisionIndex {
            action: Some(format!("{{\"args\":\"{}\"}}", "x".repeat(3 << 20))),
            review: true,
            wanted: 1,
            subject: number.to_string(),
            ..DecisionIndex::default()
        };
        ours.submit(NewDecision { about, ..decision(number, &number.to_string(), 1, false) }).wait().unwrap();
    }
    let first = ours.decisions(&DecisionsWanted { limit: 9, ..DecisionsWanted::default() }).unwrap();
    assert!(first.next.is_some());
    let rest = DecisionsWanted { limit: 9, after: first.next, ..DecisionsWanted::default() };
    let rest = ours.decisions(&rest).unwrap();
    assert_eq!((first.decisions.len(), rest.decisions.len(), rest.next), (2, 2, None));
    let (waiting, more) = ours.waiting(&WaitingWanted::default(), 9).unwrap();
    assert_eq!((waiting.len(), more), (2, true));
    let after = WaitingWanted { after: Some(waiting[1].place), ..WaitingWanted::default() };
    let (waiting, more) = ours.waiting(&after, 9).unwrap();
    assert_eq!((waiting.len(), more), (2, false));
    let text = WaitingWanted { text: Some("xx".to_owned()), ..WaitingWanted::default() };
    assert_eq!(ours.waiting_count(&text).unwrap(), 4);
}
