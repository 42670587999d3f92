//! The writer: the one thread of a process that changes the database.
//!
//! **Groups.** What is submitted waits in a queue. The writer begins a transaction when there is something to store, settles
//! what waits ([`crate::group::settle`]), and what is submitted while it does so, up to [`MAX_GROUP`], and commits. There is no window in which it
//! waits for more: a group is what came while the commit before was under way, so a single client waits for one commit, and
//! many clients share one. A submission is answered after the commit that holds it, never before.
//!
//! **Refusals.** Each submission is stored as a whole or refused as a whole ([`crate::rows::write`]). A refusal, of which a receipt
//! that cannot be signed is one, changes nothing and leaves the rest of the group alone. A failure of the database (a full disk,
//! a lock that is not given back) rolls the transaction back and fails all of the group.
//!
//! **Failures that pass.** When the connection to a database server is lost, or the server makes the transaction give way, the
//! group is settled again on what is stored by then, for up to [`PATIENCE`]. So callers see a pause when the server is started
//! again, or when another takes its place. No caller was told anything of what is undone, and a commit whose outcome is not
//! known is asked about before anything is settled again ([`crate::engine::postgres`]).
//!
//! **Chains.** A receipt on a chain comes as a function that links and signs it. The writer calls it inside the transaction,
//! with the tip that the chain has there. The transaction excludes all other writers from before the first question until after
//! the commit ([`crate::engine`]), so no other process can move the tip in between. Therefore a chain cannot fork, and no
//! receipt is refused because another process extended its chain first. The store has no key and knows none.
//!
//! **Time.** Rows are dated by the store's clock ([`crate::engine::clock`]), and the commit records the latest time in it.
//!
//! **Crashes.** A process that is killed leaves the write-ahead log with whole commits and perhaps a part of one, which the
//! next process to open the store discards. What was answered is there; of a group that was not committed nothing is.

use std::collections::{BTreeSet, HashMap, HashSet, VecDeque};
use std::io;
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, Sender, SyncSender};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use crate::ends::Ends;
use crate::engine::Engine;
use crate::error::StoreError;
use crate::fault::Fault;
use crate::group::pending::{self, Caller, Pending};
use crate::group::report::{GroupOutcome, GroupReport, Groups};
use crate::group::settle::{self, Chain, Draft, Facts, Key, Known, NUMBERED, Question, Record, Statement, Stop};
use crate::group::write::{self, Write};
use crate::hint::Hint;
use crate::insert::{Insert, Set};
use crate::place::Place;
use crate::statement::row;
use crate::tables::PROBE;
use crate::tenant::Tenant;
use crate::value::values;

/// The most submissions that one commit takes. As many more may wait; a caller that submits beyond that waits as well.
pub const MAX_GROUP: usize = 500;

/// How long groups are settled again because of failures that pass, counted from the first. Callers of later groups are then
/// told at once, until one succeeds.
const PATIENCE: Duration = Duration::from_secs(5);

/// How long the writer waits before it settles a group again for another time.
const PAUSE: Duration = Duration::from_millis(50);

/// How many bytes a probe writes: as many as receipts of ordinary size need.
const PROBE_BYTES: usize = 64 << 10;

/// What is done within a group by statements of its own, at the time that is given; what other processes are told of it. It is
/// done again when the group is settled again.
pub(crate) type Change = Box<dyn Fn(&mut Engine, i64) -> Result<Hint, Fault> + Send>;

/// What the writer can be asked to do.
pub(crate) enum Task {
    Write {
        tenant: Tenant,
        writes: Vec<Write>,
    },
    /// Each by itself. Which of them were refused is sent before the commit, and counts only after it.
    Each {
        tenant: Tenant,
        writes: Vec<Write>,
        refused: Sender<Vec<Option<StoreError>>>,
    },
    Change(Change),
}

/// The thread. When it is dropped, everything submitted has been answered.
pub(crate) struct Writer {
    queue: Option<SyncSender<Submission>>,
    thread: Option<JoinHandle<()>>,
    place: Place,
}

struct Submission {
    task: Task,
    caller: Caller,
}

impl Writer {
    /// Starts a thread that writes to the database at `place`, and tells `groups`.
    ///
    /// # Errors
    /// When the operating system cannot start a thread.
    pub(crate) fn start(engine: Engine, place: &Place, groups: Arc<Groups>) -> io::Result<Self> {
        let (queue, submissions) = mpsc::sync_channel(MAX_GROUP);
        let own_place = place.clone();
        let thread = thread::Builder::new()
            .name("store-writer".to_owned())
            .spawn(move || run(engine, &own_place, &groups, &submissions))?;
        Ok(Self { queue: Some(queue), thread: Some(thread), place: place.clone() })
    }

    /// Where the store is.
    pub(crate) fn place(&self) -> &Place {
        &self.place
    }

    /// Hands `task` to the thread.
    pub(crate) fn submit(&self, task: Task) -> Pending {
        let (caller, pending) = pending::pending(self.place.clone());
        if let Some(queue) = &self.queue {
            // If the thread has ended, the submission is dropped, and `wait` reports that no answer comes.
            drop(queue.send(Submission { task, caller }));
        }
        pending
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        // Without a sender the thread ends once it has answered what is in the queue.
        drop(self.queue.take());
        if let Some(thread) = self.thread.take() {
            // A panic there has been reported by the answers that did not come.
            drop(thread.join());
        }
    }
}

/// Submissions that share a commit, with the answer each of them will get.
#[derive(Default)]
struct Group {
    members: Vec<Member>,
    /// What is still to be settled.
    work: VecDeque<Work>,
    /// What was settled.
    settled: Vec<Work>,
    known: Known,
    /// Whether the transaction has begun.
    is_begun: bool,
    /// The latest time that any of them bears.
    latest: i64,
    /// How much there is to store: one, or as many as there are in [`Task::Each`].
    size: usize,
    /// What other processes are told once it is stored.
    hint: Hint,
    commit_took: Duration,
    /// Where the ends of chains are kept beside the database.
    ends: Option<Arc<Ends>>,
}

/// Why each of several writes was refused, if it was.
type Refusals = Vec<Option<StoreError>>;

/// A submission of a group.
struct Member {
    caller: Caller,
    /// When it is stored, or why not.
    outcome: Option<Result<i64, StoreError>>,
    /// Of [`Task::Each`]: why each of its writes was refused, and who is told.
    each: Option<(Refusals, Sender<Refusals>)>,
}

/// What is stored as a whole or refused as a whole.
struct Unit {
    order: Order,
    tenant: Tenant,
    writes: Vec<Write>,
}

/// Where something is in a group: the place of its submission, and its own in [`Task::Each`].
type Order = (usize, Option<usize>);

/// What a submission asks for.
enum Work {
    Unit(Unit),
    Change(usize, Change),
}

fn run(mut engine: Engine, place: &Place, groups: &Groups, submissions: &Receiver<Submission>) {
    // Since when the database fails.
    let mut failing = None;
    while let Ok(first) = submissions.recv() {
        let (begun, mut group) = (Instant::now(), Group { ends: groups.ends.get().cloned(), ..Group::default() });
        group.admit(first);
        let stored = group.store(&mut engine, submissions, &mut failing);
        let report =
            |outcome| GroupReport { size: group.size, took: begun.elapsed(), commit: group.commit_took, outcome };
        // Told after the answers, which do not wait for it.
        match stored {
            Ok(()) => {
                group.keep_ends();
                let (report, hint) = (report(GroupOutcome::Stored), group.hint);
                group.answer();
                groups.ended(&report, hint);
                engine.rest();
            }
            Err(fault) => {
                let error = StoreError::of_fault(place, &fault);
                let is_unknown = matches!(error, StoreError::Unknown { .. });
                let report = report(if is_unknown { GroupOutcome::Unknown } else { GroupOutcome::Failed });
                group.fail(&error, submissions);
                groups.ended(&report, Hint::NONE);
            }
        }
    }
}

impl Group {
    /// Stores the group in one transaction, which is begun again after failures that pass.
    fn store(
        &mut self,
        engine: &mut Engine,
        submissions: &Receiver<Submission>,
        failing: &mut Option<Instant>,
    ) -> Result<(), Fault> {
        let mut pause = None;
        loop {
            match self.commit(engine, submissions) {
                Ok(()) => {
                    *failing = None;
                    return Ok(());
                }
                Err(fault) => {
                    engine.roll_back();
                    let Fault::Passing(_) = fault else { return Err(fault) };
                    if failing.get_or_insert_with(Instant::now).elapsed() >= PATIENCE {
                        return Err(fault);
                    }
                    // The first time, the connection may just have been idle for too long.
                    pause.replace(PAUSE).into_iter().for_each(thread::sleep);
                    self.begin_again();
                }
            }
        }
    }

    /// Forgets what was settled, which is not stored.
    fn begin_again(&mut self) {
        self.work.extend(self.settled.drain(..));
        self.work.make_contiguous().sort_by_key(Work::order);
        (self.known, self.is_begun, self.latest, self.hint) = (Known::default(), false, 0, Hint::NONE);
        for member in &mut self.members {
            member.outcome = None;
            member.each.iter_mut().for_each(|(refused, _)| refused.fill(None));
        }
    }

    fn commit(&mut self, engine: &mut Engine, submissions: &Receiver<Submission>) -> Result<(), Fault> {
        loop {
            // What came until now shares the round trips.
            while self.size < MAX_GROUP && self.work.len() < engine.most_at_once() {
                let Ok(next) = submissions.try_recv() else { break };
                self.admit(next);
            }
            let Some(next) = self.work.pop_front() else { break };
            match next {
                Work::Unit(unit) => {
                    let units = together(unit, &mut self.work, engine.most_at_once());
                    self.settle(engine, units)?;
                }
                Work::Change(member, change) => {
                    let done = self.now(engine).and_then(|now| Ok((now, change(engine, now)?)));
                    self.settled.push(Work::Change(member, change));
                    let (now, hint) = done?;
                    self.hint |= hint;
                    self.note((member, None), Ok(now));
                }
            }
        }
        self.now(engine)?;
        // At the end, when every write of the group has added to the counts.
        let mut last = self.known.totals();
        last.push(record(self.latest));
        engine.tell(last)?;
        let begun = Instant::now();
        let committed = engine.commit();
        self.commit_took = begun.elapsed();
        committed
    }

    /// Makes a submission a member of the group.
    fn admit(&mut self, Submission { task, caller }: Submission) {
        let member = self.members.len();
        let mut each = None;
        self.size += 1;
        match task {
            Task::Write { tenant, writes } => {
                self.work.push_back(Work::Unit(Unit { order: (member, None), tenant, writes }));
            }
            Task::Each { tenant, writes, refused } => {
                // Each of them is stored or refused by itself, and counts as one.
                self.size += writes.len();
                each = Some((vec![None; writes.len()], refused));
                self.work.extend(writes.into_iter().enumerate().map(|(part, write)| {
                    Work::Unit(Unit { order: (member, Some(part)), tenant: tenant.clone(), writes: vec![write] })
                }));
            }
            Task::Change(change) => self.work.push_back(Work::Change(member, change)),
        }
        self.members.push(Member { caller, outcome: None, each });
    }

    /// Asks within the transaction, which begins with the first questions.
    fn ask(&mut self, engine: &mut Engine, questions: &[Question]) -> Result<Vec<Vec<Record>>, Fault> {
        if self.is_begun {
            engine.ask(questions)
        } else {
            let answers = engine.begin_with(questions)?;
            self.is_begun = true;
            Ok(answers)
        }
    }

    /// The time that counts now, of which there is one only within the transaction.
    fn now(&mut self, engine: &mut Engine) -> Result<i64, Fault> {
        if !self.is_begun {
            self.ask(engine, &[])?;
        }
        let now = engine.now();
        self.latest = self.latest.max(now);
        Ok(now)
    }

    /// Settles units that have nothing in common.
    fn settle(&mut self, engine: &mut Engine, mut units: Vec<Unit>) -> Result<(), Fault> {
        let settled = self.settle_all(engine, &mut units);
        self.settled.extend(units.into_iter().map(Work::Unit));
        settled
    }

    /// Settles the units by answers that are asked for together. What the first of them store is on its way while the others are
    /// settled.
    fn settle_all(&mut self, engine: &mut Engine, units: &mut [Unit]) -> Result<(), Fault> {
        let own: Vec<_> = units.iter().map(|unit| self.questions(unit)).collect();
        let mut asking: Vec<_> = units.iter_mut().zip(own).filter_map(|(unit, own)| Some((unit, own?))).collect();
        self.recall(asking.iter().map(|(unit, _)| &**unit))?;
        let mut questions = self.shared(asking.iter().map(|(unit, _)| &**unit));
        let shared = questions.len();
        let counts: Vec<_> = asking.iter_mut().map(|(_, own)| (own.len(), questions.append(own)).0).collect();
        let mut answers = self.ask(engine, &questions)?.into_iter();
        let facts = &mut Facts(&mut answers.by_ref().take(shared));
        self.learn(asking.iter().map(|(unit, _)| &**unit), facts)?;
        let now = self.now(engine)?;
        for ((unit, _), count) in asking.into_iter().zip(counts) {
            self.latest = unit.writes.iter().map(|Write(write)| write.time()).fold(self.latest, i64::max);
            let mut draft = Draft::new(&unit.tenant, now, &self.known);
            let mut own_answers = answers.by_ref().take(count);
            let mut facts = Facts(&mut own_answers);
            let behind = unit.chains().find_map(|chain| self.known.behind.get(&chain).cloned());
            let settled = match behind {
                Some(behind) => Err(Stop::Refused(behind)),
                None => unit.writes.iter_mut().try_for_each(|Write(write)| write.settle(&mut facts, &mut draft)),
            };
            // One that is refused early has not read them all, and the next must not read them.
            own_answers.for_each(drop);
            let change = draft.finish();
            let refused = match settled {
                Ok(()) => change.refusal(),
                Err(Stop::Refused(refused)) => Some(refused),
                Err(Stop::Fault(fault)) => return Err(fault),
            };
            let outcome = match refused {
                Some(refused) => Err(refused),
                None => {
                    self.hint |= change.hint;
                    let (stores, moved) = change.into_parts();
                    engine.tell(stores)?;
                    self.known.take_in(moved);
                    Ok(now)
                }
            };
            self.note(unit.order, outcome);
        }
        Ok(())
    }

    /// What the unit depends on; `None` if that has a text which no store can hold, so the unit is refused.
    fn questions(&mut self, unit: &Unit) -> Option<Vec<Question>> {
        let questions: Vec<_> = unit.writes.iter().flat_map(|Write(write)| write.questions(&unit.tenant)).collect();
        let chains: Vec<_> = unit.chains().map(|chain| chain.asks(None)).collect();
        match settle::unfit_text(chains.iter().chain(&questions).flat_map(|asked| &asked.values)) {
            Some(refused) => {
                self.note(unit.order, Err(refused));
                None
            }
            None => Some(questions),
        }
    }

    /// Asks what the units share and is not known yet: the last numbers of tables, and the ends of chains.
    fn shared<'a>(&self, units: impl Iterator<Item = &'a Unit>) -> Vec<Question> {
        let numbers = self.known.numbers.is_empty().then(settle::greatest_numbers);
        let ends = self.unknown(units);
        numbers.into_iter().chain(ends.iter().map(|chain| chain.asks(self.known.kept.get(chain)))).collect()
    }

    /// Looks up what this home has kept of the ends that are asked for. Before the transaction begins, or in it: what is kept is never
    /// ahead of what is committed.
    fn recall<'a>(&mut self, units: impl Iterator<Item = &'a Unit>) -> Result<(), StoreError> {
        let Some(ends) = &self.ends else { return Ok(()) };
        let unknown = self.unknown(units);
        if !unknown.is_empty() {
            self.known.kept.extend(ends.of(&unknown)?);
        }
        Ok(())
    }

    /// Keeps the ends that are committed now.
    fn keep_ends(&self) {
        let Some(ends) = &self.ends else { return };
        let Known { extended, ends: known, .. } = &self.known;
        ends.advance(extended.iter().filter_map(|chain| Some((chain, known.get(chain)?.tip.as_ref()?))));
    }

    fn unknown<'a>(&self, units: impl Iterator<Item = &'a Unit>) -> Vec<Chain> {
        let mut seen = HashSet::new();
        units
            .flat_map(Unit::chains)
            .filter(|chain| !self.known.ends.contains_key(chain) && seen.insert(chain.clone()))
            .collect()
    }

    fn learn<'a>(&mut self, units: impl Iterator<Item = &'a Unit>, facts: &mut Facts<'_>) -> Result<(), Fault> {
        if self.known.numbers.is_empty() {
            let greatest = facts.row().unwrap_or_else(|| Record(Vec::new()));
            for (column, table) in NUMBERED.iter().enumerate() {
                self.known.numbers.insert(table.name, greatest.get::<Option<i64>>(column)?.unwrap_or_default());
            }
        }
        for chain in self.unknown(units) {
            let kept = self.known.kept.get(&chain);
            let (end, is_whole) = chain.end(facts.row(), kept)?;
            if let (Some(ends), Some(kept), false) = (&self.ends, kept, is_whole) {
                self.known
                    .behind
                    .insert(chain.clone(), ends.behind(&chain, kept, end.tip.as_ref().map(|tip| tip.position)));
            }
            self.known.ends.insert(chain, end);
        }
        Ok(())
    }

    fn note(&mut self, order: Order, outcome: Result<i64, StoreError>) {
        let (member, part) = order;
        let Some(member) = self.members.get_mut(member) else { return };
        match (part, &mut member.each) {
            (Some(part), Some((refused, _))) => {
                let at = outcome.as_ref().copied().unwrap_or_default();
                refused.iter_mut().skip(part).take(1).for_each(|refused| *refused = outcome.clone().err());
                member.outcome = Some(Ok(at));
            }
            _ => member.outcome = Some(outcome),
        }
    }

    fn answer(self) {
        let mut writes: HashMap<usize, Vec<Write>> = HashMap::new();
        for work in self.settled {
            if let Work::Unit(Unit { order: (member, None), writes: its, .. }) = work {
                writes.insert(member, its);
            }
        }
        for (number, Member { caller, outcome, each }) in self.members.into_iter().enumerate() {
            if let Some((refused, told)) = each {
                // A caller that does not wait does not get them.
                let _not_waited_for = told.send(refused);
            }
            // Every member has an outcome, but for a submission of nothing.
            let stored = outcome.unwrap_or(Ok(self.latest));
            caller.answer(stored.map(|at| write::written(writes.remove(&number).unwrap_or_default(), at)));
        }
    }

    /// Answers `error` to all of the group. When the database is locked it is the answer to all that wait behind it, too: each
    /// of those would wait as long again to get it.
    fn fail(self, error: &StoreError, submissions: &Receiver<Submission>) {
        let also = if matches!(error, StoreError::Locked { .. }) { MAX_GROUP } else { 0 };
        let waiting = submissions.try_iter().take(also).map(|waiting| waiting.caller);
        let callers = self.members.into_iter().map(|member| member.caller);
        callers.chain(waiting).for_each(|caller| caller.answer(Err(error.clone())));
    }
}

/// The units, `first` and those after it, up to the first that is something else, that have no key in common; at most `most`.
/// One that must wait makes all wait that have a key in common with it, so that each key has the order of submission.
fn together(first: Unit, work: &mut VecDeque<Work>, most: usize) -> Vec<Unit> {
    let mut units = vec![first];
    if most < 2 {
        return units;
    }
    let mut taken: BTreeSet<Key> = units.iter().flat_map(Unit::keys).collect();
    let mut later = VecDeque::new();
    while let Some(next) = work.pop_front() {
        match next {
            Work::Unit(unit) if units.len() < most => {
                let keys = unit.keys();
                let is_free = !keys.iter().any(|key| taken.contains(key));
                taken.extend(keys);
                if is_free { units.push(unit) } else { later.push_back(Work::Unit(unit)) }
            }
            other => {
                later.push_back(other);
                break;
            }
        }
    }
    later.append(work);
    *work = later;
    units
}

impl Unit {
    fn keys(&self) -> Vec<Key> {
        self.writes.iter().flat_map(|Write(write)| write.keys(&self.tenant)).collect()
    }

    /// The chains that it continues.
    fn chains(&self) -> impl Iterator<Item = Chain> {
        self.writes.iter().filter_map(|Write(write)| write.chain(&self.tenant))
    }
}

impl Work {
    fn order(&self) -> Order {
        match self {
            Self::Unit(unit) => unit.order,
            Self::Change(member, _) => (*member, None),
        }
    }
}

/// Stores each of `writes` for the command line, in one group.
#[cfg(test)]
pub(crate) fn store_each(engine: &mut Engine, writes: Vec<Write>) {
    let (refused, outcomes) = mpsc::channel();
    let (caller, _pending) = pending::pending(Place::parse("test"));
    let task = Task::Each { tenant: Tenant::LOCAL, writes, refused };
    let mut group = Group::default();
    group.admit(Submission { task, caller });
    group.store(engine, &mpsc::sync_channel(1).1, &mut None).unwrap();
    group.answer();
    assert!(outcomes.recv().unwrap().iter().all(Option::is_none));
}

/// Records that it is at least `now`, so that no process that shares the store goes back behind it.
pub(crate) fn record(now: i64) -> Statement {
    // A time that is not later changes no row, so such a commit writes no page for it.
    Statement::other("UPDATE clock SET latest = $1 WHERE latest < $1", values![now])
}

/// Stores a new value each time.
pub(crate) fn probe(now: i64) -> Statement {
    // Not compressible: a file system that compresses could else find room for it where there is none for a receipt.
    let mut state = now.cast_unsigned() | 1;
    let filler: Vec<u8> = std::iter::repeat_with(|| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state.to_le_bytes()
    })
    .flatten()
    .take(PROBE_BYTES)
    .collect();
    Statement::Insert { insert: &PROBED, row: row!(PROBE { probe: 1_i64, probed: 1_i64, filler: filler }) }
}

static PROBED: Insert = Insert::or_change(&PROBE, &[Set::Add("probed"), Set::Replace("filler")]);
