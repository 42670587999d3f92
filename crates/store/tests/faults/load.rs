//! Servers that store as much as they can while something fails, and what has to hold afterwards.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use proofmark_receipt::{Json, Link, Receipt, ReceiptId, verify_chain, verify_links};
use proofmark_store::{Decision, DecisionsWanted, Filter, MAX_PAGE, Place, Spend, Spends, Store, StoreError, Write};

use crate::samples::{Local, chained, decision, decision_id, draft, id, sign, single};

/// How many threads of a server store at the same time.
const ASKERS: u32 = 4;
/// How long a store may need to go on after a fault has ended, on a machine under load.
const PATIENCE: Duration = Duration::from_secs(40);
/// Nobody notices that a database was away for so long: groups are settled again, for longer than this.
pub(crate) const MAX_PAUSE: Duration = Duration::from_secs(3);
/// How long an asker may take to count what it was answered, on a machine under load.
const SETTLES: Duration = Duration::from_secs(1);
/// How long an asker waits after an error.
const PAUSE: Duration = Duration::from_millis(20);
/// Of the ids of receipts that every server wants to spend.
const EVIDENCE: u32 = u32::MAX;

/// What was asked for, and the answer.
pub(crate) struct Asked {
    what: What,
    pub(crate) answer: Result<(), StoreError>,
    took: Duration,
}

enum What {
    Receipt {
        id: ReceiptId,
        chain: Option<String>,
    },
    /// A decision that spends the receipt that has this number among [`EVIDENCE`].
    Decision {
        id: String,
        evidence: u32,
    },
}

/// Servers under load.
pub(crate) struct Load {
    over: Arc<AtomicBool>,
    counts: Arc<Counts>,
    threads: Vec<JoinHandle<Vec<Asked>>>,
}

/// How many were stored so far, and how many failed though nothing was wrong with them.
#[derive(Default)]
struct Counts {
    stored: AtomicUsize,
    failed: AtomicUsize,
}

impl Asked {
    /// Whether it failed though nothing was wrong with it.
    pub(crate) fn failed(&self) -> bool {
        self.answer.as_ref().is_err_and(|error| !error.is_refusal())
    }
}

impl Load {
    /// Starts a server for each of these URLs of one store.
    pub(crate) fn start(urls: &[&str]) -> Self {
        Self::start_from(0, urls)
    }

    /// As [`Load::start`], beside servers with lower numbers.
    pub(crate) fn start_from(first: u32, urls: &[&str]) -> Self {
        let mut load = Self { over: Arc::default(), counts: Arc::default(), threads: Vec::new() };
        for (server, url) in (first..).zip(urls) {
            let store = Arc::new(Store::open(Place::parse(url)).unwrap());
            for asker in 0..ASKERS {
                let (store, over, counts) = (Arc::clone(&store), Arc::clone(&load.over), Arc::clone(&load.counts));
                load.threads.push(thread::spawn(move || ask(&store, server * ASKERS + asker, &over, &counts)));
            }
        }
        load
    }

    /// How many were stored so far.
    pub(crate) fn stored(&self) -> usize {
        self.counts.stored.load(Ordering::SeqCst)
    }

    /// How many were stored, once that has not changed for a while.
    pub(crate) fn settled(&self) -> usize {
        let (since, mut before) = (Instant::now(), self.stored());
        loop {
            thread::sleep(SETTLES);
            if self.stored() == before {
                return before;
            }
            assert!(since.elapsed() < PATIENCE, "the servers do not stop");
            before = self.stored();
        }
    }

    /// How many failed so far though nothing was wrong with them.
    pub(crate) fn failed(&self) -> usize {
        self.counts.failed.load(Ordering::SeqCst)
    }

    /// Waits until so many more are stored.
    pub(crate) fn wait_for(&self, more: usize) {
        self.wait_until(&self.counts.stored, more);
    }

    /// Waits until so many more have failed.
    pub(crate) fn wait_for_failures(&self, more: usize) {
        self.wait_until(&self.counts.failed, more);
    }

    fn wait_until(&self, count: &AtomicUsize, more: usize) {
        let (since, before) = (Instant::now(), count.load(Ordering::SeqCst));
        while count.load(Ordering::SeqCst) < before + more {
            assert!(since.elapsed() < PATIENCE, "the servers do not go on");
            assert!(self.threads.iter().all(|thread| !thread.is_finished()), "an asker has panicked");
            thread::sleep(Duration::from_millis(2));
        }
    }

    /// Ends the servers; all that they were asked for.
    pub(crate) fn stop(self) -> Vec<Asked> {
        self.over.store(true, Ordering::SeqCst);
        self.threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
    }
}

fn ask(store: &Store, family: u32, over: &AtomicBool, counts: &Counts) -> Vec<Asked> {
    let mut asked = Vec::new();
    for number in 0.. {
        if over.load(Ordering::SeqCst) {
            break;
        }
        let (what, writes) = wanted(family, number);
        let since = Instant::now();
        let answer = store.local().submit_all(writes).wait().map(drop);
        let took = since.elapsed();
        match &answer {
            Ok(()) => {
                read(store, &what);
                counts.stored.fetch_add(1, Ordering::SeqCst);
            }
            Err(error) if error.is_refusal() => assert!(matches!(error, StoreError::Spent(_)), "{error}"),
            Err(_) => {
                counts.failed.fetch_add(1, Ordering::SeqCst);
                thread::sleep(PAUSE);
            }
        }
        asked.push(Asked { what, answer, took });
    }
    asked
}

/// What was answered is seen, unless nothing is.
fn read(store: &Store, what: &What) {
    if let What::Receipt { id, chain: None } = what {
        match store.local().receipt(id) {
            Ok(found) => assert!(found.is_some(), "{what} was answered and is not seen"),
            Err(error) => assert!(!error.is_refusal(), "{error}"),
        }
    }
}

/// The nth thing that an asker stores: a receipt of the chain that all share, of its own, or of none; or a decision.
fn wanted(family: u32, number: u32) -> (What, Vec<Write>) {
    let receipt = id(family, number);
    let chain = match number % 4 {
        0 => Some("main".to_owned()),
        1 => Some(format!("own {family}")),
        2 => None,
        _ => return decides(u64::from(family) * 1_000_000 + u64::from(number), number / 4),
    };
    let new = chain.as_ref().map_or_else(|| single(receipt), |chain| chained(receipt, chain));
    (What::Receipt { id: receipt, chain }, vec![new.into()])
}

fn decides(number: u64, evidence: u32) -> (What, Vec<Write>) {
    let id = decision_id(number);
    let spends = Spends { documents: vec![Spend::of(&evidence_of(evidence))], by: id.clone() };
    let writes = vec![decision(number, &id, 1, true).into(), spends.into()];
    (What::Decision { id, evidence }, writes)
}

fn evidence_of(number: u32) -> Receipt {
    sign(draft(id(EVIDENCE, number)))
}

/// Checks a store against all that was asked for: every answered row is there and no refused one, nothing is there twice or was
/// never asked for, chains are whole, and nothing is spent twice. The longest time that an answer took.
pub(crate) fn check(url: &str, asked: &[Asked]) -> Duration {
    check_with(url, asked, &[])
}

/// As [`check`], where other servers, of which only what they have `acknowledged` is known, have continued the chain `main`.
pub(crate) fn check_with(url: &str, asked: &[Asked], acknowledged: &[ReceiptId]) -> Duration {
    let store = &Store::open_existing(Place::parse(url)).unwrap();
    let receipts = receipt_ids(store);
    acknowledged.iter().for_each(|id| assert!(receipts.contains(id), "{id} was answered and is not there"));
    let decisions = decisions(store);
    let is_stored = |what: &What| match what {
        What::Receipt { id, .. } => receipts.contains(id),
        What::Decision { id, .. } => decisions.contains_key(id),
    };
    let mut lengths = BTreeMap::<&str, usize>::new();
    let mut spent = BTreeMap::<u32, Vec<&str>>::new();
    let mut count = 0;
    for Asked { what, answer, .. } in asked {
        let stored = is_stored(what);
        match answer {
            Ok(()) => assert!(stored, "{what} was answered and is not there"),
            // Asking again would tell.
            Err(StoreError::Unknown { .. }) => {}
            Err(error) => assert!(!stored, "{what} is there; the answer was: {error}"),
        }
        count += usize::from(stored);
        match what {
            What::Receipt { chain: Some(chain), .. } => *lengths.entry(chain).or_default() += usize::from(stored),
            What::Decision { id, evidence } if stored => spent.entry(*evidence).or_default().push(id),
            _ => {}
        }
    }
    let others = (receipts.len() + decisions.len()).checked_sub(count).unwrap();
    assert!(others == 0 || !acknowledged.is_empty(), "something is stored that was not asked for");
    *lengths.entry("main").or_default() += others;
    for (evidence, by) in spent {
        let spender = store.local().spent_by(&Spend::of(&evidence_of(evidence))).unwrap();
        assert_eq!(by, [spender.as_deref().unwrap()], "receipt {evidence} is spent more than once");
    }
    for (chain, length) in lengths {
        let chain = store.local().chain(chain).unwrap();
        assert_eq!(chain.len(), length);
        verify_chain(&chain, None).unwrap();
    }
    verify_decisions(decisions.into_values().collect());
    asked.iter().map(|asked| asked.took).max().unwrap_or_default()
}

fn receipt_ids(store: &Store) -> BTreeSet<ReceiptId> {
    let mut ids = BTreeSet::new();
    let mut filter = Filter { limit: MAX_PAGE, ..Filter::default() };
    loop {
        let page = store.all_tenants_receipts(&filter).unwrap();
        for stored in page.receipts {
            let id = stored.receipt.receipt_id();
            assert!(ids.insert(id), "{id} is there twice");
        }
        filter.after = page.next;
        if filter.after.is_none() {
            return ids;
        }
    }
}

fn decisions(store: &Store) -> BTreeMap<String, Decision> {
    let mut decisions = BTreeMap::new();
    let mut wanted = DecisionsWanted { limit: MAX_PAGE, ..DecisionsWanted::default() };
    loop {
        let page = store.all_tenants_decisions(&wanted).unwrap();
        for decision in page.decisions {
            let id = decision.decision_id.clone();
            assert!(decisions.insert(id.clone(), decision).is_none(), "{id} is there twice");
        }
        wanted.after = page.next;
        if wanted.after.is_none() {
            return decisions;
        }
    }
}

fn verify_decisions(mut decisions: Vec<Decision>) {
    decisions.sort_by_key(|decision| decision.position);
    let read = |decision: &Decision| Json::parse(decision.document.as_bytes()).unwrap();
    let documents: Vec<Json> = decisions.iter().map(read).collect();
    let links: Vec<_> = decisions
        .iter()
        .zip(&documents)
        .map(|(decision, document)| Link {
            id: decision.decision_id.parse().unwrap(),
            document: document.as_object().unwrap(),
        })
        .collect();
    verify_links(&links, None).unwrap();
}

impl std::fmt::Display for What {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Receipt { id, chain } => write!(formatter, "receipt {id} of chain {chain:?}"),
            Self::Decision { id, .. } => write!(formatter, "decision {id}"),
        }
    }
}
