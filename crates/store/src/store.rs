use std::io;
use std::path::Path;
use std::sync::{Arc, mpsc};

use proofmark_receipt::document::shown;
use proofmark_receipt::{ChainTip, ReceiptId, Sha256Digest};

use crate::ends::Ends;
use crate::engine::clock::Clock;
use crate::engine::connect::{Connected, absolute, connect, connect_existing};
use crate::engine::db::Db;
use crate::engine::listen::Listening;
use crate::engine::postgres::{self, Database};
use crate::engine::readers::{Readers, Source};
use crate::error::StoreError;
use crate::fault::Fault;
use crate::group::report::{GroupReport, Groups};
use crate::group::writer::{self, Task, Writer};
use crate::hint::Hint;
use crate::mark::Mark;
use crate::place::Place;
use crate::rows::claims::{self, Change, Claim, JobFigures};
use crate::rows::clock;
use crate::rows::decisions::{self, Decision, Decisions, DecisionsWanted};
use crate::rows::duties;
use crate::rows::executions::{self, TenantsFindings};
use crate::rows::jobs::{self, StoredJob};
use crate::rows::log::{self, LogChange, LogState};
use crate::rows::losses::{self, Loss};
use crate::rows::page::Cursor;
use crate::rows::queue::{self, WaitingNotice};
use crate::rows::read::{self, Filter, MIN_PREFIX, Page};
use crate::rows::receipt_meta::{self, StoredReceipt};
use crate::rows::runs::{self, Runs};
use crate::rows::workers::{self, Presence, StoredWorker};
use crate::statement::Statement;
use crate::tenant::Tenant;
use crate::upkeep::check::{self, CheckedStore, Checking};
use crate::upkeep::grant;
use crate::upkeep::seal;
use crate::upkeep::{self, Upkeep};

/// Receipts on disk. Threads share it by reference; processes share its file.
///
/// A tenant's rows are reached only through [`Store::of`]. The functions `all_tenants_…` are for the owner of the file, and
/// for sweeps.
pub struct Store {
    readers: Readers,
    pub(crate) writer: Writer,
    pub(crate) clock: Arc<Clock>,
    groups: Arc<Groups>,
}

impl Store {
    /// Opens the store at `place`. A missing or empty file becomes a new store, with mode 0600, in folders that are made
    /// with mode 0700 where they are missing. An empty database becomes a new store.
    ///
    /// # Errors
    /// [`StoreError::Locked`], [`StoreError::Damaged`], [`StoreError::Newer`], [`StoreError::Foreign`],
    /// [`StoreError::Full`] or [`StoreError::Io`]; the file is then unchanged. Of a database also [`StoreError::Url`],
    /// [`StoreError::Unreachable`], [`StoreError::Denied`] or [`StoreError::Unfit`]. [`StoreError::Unfinished`]
    /// of a copy that is not complete.
    pub fn open(place: impl Into<Place>) -> Result<Self, StoreError> {
        Self::start(connect(place.into())?)
    }

    /// Opens the store at `place` if it exists.
    ///
    /// # Errors
    /// [`StoreError::Missing`], else as [`Store::open`].
    pub fn open_existing(place: impl Into<Place>) -> Result<Self, StoreError> {
        Self::start(connect_existing(place.into())?)
    }

    /// Whether there is a store at `place` that this version can open and write to. Writes and upgrades nothing.
    ///
    /// # Errors
    /// As [`Store::open_existing`], and [`StoreError::Moved`].
    pub fn inspect(place: impl Into<Place>) -> Result<(), StoreError> {
        let place = place.into();
        let found = match &place {
            Place::File(path) => seal::find_in_file(&absolute(path)?)?,
            Place::Database(url) => {
                let database = Arc::new(Database::at(url)?);
                postgres::inspect(&database)?;
                Readers::of_database(database).read(None, seal::find)?
            }
        };
        found.map_or(Ok(()), |mark| Err(StoreError::of_mark(place, mark)))
    }

    /// Writes and reads a row without meaning: whether the disk has room and the database works.
    ///
    /// # Errors
    /// When the store cannot be written or read.
    pub fn probe(&self) -> Result<(), StoreError> {
        let probe: writer::Change = Box::new(|engine, now| {
            engine.tell(vec![writer::probe(now)])?;
            Ok(Hint::NONE)
        });
        self.writer.submit(Task::Change(probe)).wait()?;
        self.read(|db| db.only("SELECT probed FROM probe", &[], |_| Ok(())))
    }

    /// Calls `hear` with what another process may have changed, of jobs alone, as long as the result lives. Hints may come late
    /// or never, and for nothing: nothing may depend on them. `hear` must neither wait nor call the store.
    ///
    /// # Errors
    /// When the operating system cannot start a thread.
    pub fn listen(&self, hear: impl Fn(Hint) + Send + Sync + 'static) -> io::Result<Listening> {
        match self.readers.source() {
            Source::File(path) => Listening::to_file(path.clone(), Box::new(hear)),
            Source::Database(database) => {
                Ok(Listening::to_database(database, Arc::clone(&self.groups.hints), Box::new(hear)))
            }
        }
    }

    /// Calls `watch` with what became of each group of writes of this process, unless another function was given before.
    /// `watch` must neither wait nor call the store: the next group waits.
    pub fn watch_groups(&self, watch: impl Fn(&GroupReport) + Send + Sync + 'static) {
        self.groups.watch(Box::new(watch));
    }

    /// What makes the store slow or large.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn upkeep(&self) -> Result<Upkeep, StoreError> {
        upkeep::upkeep(&self.readers)
    }

    /// The latest time that was recorded here, in milliseconds after 1970-01-01T00:00:00Z. A clock that shows less was set
    /// back.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn latest_time(&self) -> Result<i64, StoreError> {
        self.read(clock::latest)
    }

    /// The time that counts here, in milliseconds after 1970-01-01T00:00:00Z: that of the system, or of the database server, unless a
    /// later time was recorded. Where the clock is behind that by more than [`crate::MAX_CLOCK_SKEW`], it was set back, and time
    /// continues from what was recorded.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn now(&self) -> Result<i64, StoreError> {
        Ok(self.clock.of_reading(self.read(clock::reading)?))
    }

    /// The time that counted here when the clock of this host showed `shown`, both in milliseconds after
    /// 1970-01-01T00:00:00Z. The hosts that share a database may have clocks that differ by hours; what they sign has the time of
    /// the database. A file has the clock of its host.
    ///
    /// It asks nothing: `shown` must not be long ago, and the clock of the database is known since it was last asked or written to.
    #[must_use]
    pub fn time_when(&self, shown: i64) -> i64 {
        self.clock.when(shown)
    }

    /// Begins or renews the lease of a process, which lasts [`crate::LEASE_MS`], and says what it runs.
    ///
    /// # Errors
    /// When the store cannot be written.
    pub fn renew(&self, presence: &Presence) -> Result<(), StoreError> {
        self.change(Change::Renew(presence.clone()))
    }

    /// The processes whose leases last, and those whose leases ended within the last hour; at most
    /// [`crate::MAX_WORKERS`].
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn workers(&self) -> Result<Vec<StoredWorker>, StoreError> {
        let now = self.now()?;
        self.read(|db| workers::workers(db, now))
    }

    /// The process of this name, if it has a lease or had one within the last hour.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn worker(&self, owner: &str) -> Result<Option<StoredWorker>, StoreError> {
        let now = self.now()?;
        self.read(|db| workers::worker(db, owner, now))
    }

    /// Claims jobs that wait for any process, those whose turn it is first. Their requests are left out, because they may be
    /// long: [`crate::TenantStore::job`] has them.
    ///
    /// # Errors
    /// When the store cannot be written.
    pub fn claim(&self, claim: &Claim) -> Result<Vec<StoredJob>, StoreError> {
        // Without jobs nothing is written: processes without work ask several times a second.
        if !self.read(|db| claims::is_claimable(db, claim))? {
            return Ok(Vec::new());
        }
        let (found, claimed) = mpsc::channel();
        self.change(Change::Claim { claim: claim.clone(), found })?;
        // What was found was sent before the commit that was just waited for, so it is here; of a group that was settled
        // again, the last counts.
        Ok(claimed.try_iter().last().unwrap_or_default())
    }

    /// Gives back the jobs of processes whose leases have ended: they wait for any process, or are cancelled if they were to
    /// be. A job that was with [`crate::MAX_LOST`] processes when they ended has failed. How many such jobs there were.
    ///
    /// # Errors
    /// When the store cannot be read or written.
    pub fn give_back_jobs(&self) -> Result<usize, StoreError> {
        let now = self.now()?;
        if !self.read(|db| claims::are_lost(db, now))? {
            return Ok(0);
        }
        let (found, given_back) = mpsc::channel();
        self.change(Change::GiveBack { found })?;
        Ok(given_back.try_iter().last().unwrap_or_default())
    }

    /// Gives back a job that the process `owner` has.
    ///
    /// # Errors
    /// When the store cannot be written.
    pub fn release_job(&self, owner: &str, id: &ReceiptId) -> Result<(), StoreError> {
        self.change(Change::Release { owner: owner.to_owned(), job_id: *id })
    }

    /// Ends the lease of the process `owner`, so that others may run its jobs at once.
    ///
    /// # Errors
    /// When the store cannot be written.
    pub fn give_up_lease(&self, owner: &str) -> Result<(), StoreError> {
        self.change(Change::GiveUp { owner: owner.to_owned() })
    }

    /// Whether the process `owner` has a duty, which is what one process does for all that share the store. It takes it on where no process
    /// has it whose lease lasts.
    ///
    /// # Errors
    /// When the store cannot be read or written.
    pub fn take_on(&self, duty: &str, owner: &str) -> Result<bool, StoreError> {
        let holder = || {
            let now = self.now()?;
            self.read(|db| duties::holder(db, duty, now))
        };
        // Nothing is written while it is held: processes ask every second.
        if let Some(holder) = holder()? {
            return Ok(holder == owner);
        }
        self.change(Change::TakeOn { duty: duty.to_owned(), owner: owner.to_owned() })?;
        Ok(holder()?.is_some_and(|holder| holder == owner))
    }

    /// The jobs that the process `owner` has, of all tenants, without their requests.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn jobs_of(&self, owner: &str) -> Result<Vec<StoredJob>, StoreError> {
        self.read(|db| jobs::jobs_of(db, owner))
    }

    /// The jobs with these ids, of all tenants, without their requests.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn all_tenants_jobs(&self, ids: &[ReceiptId]) -> Result<Vec<StoredJob>, StoreError> {
        self.read(|db| jobs::jobs(db, ids))
    }

    /// How many jobs of all tenants wait, and how many processes have.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn job_figures(&self) -> Result<JobFigures, StoreError> {
        self.read(claims::figures)
    }

    /// Deletes answers that were given, and jobs that ended, longer ago than `age`, in milliseconds; how many, at most twice
    /// [`crate::MAX_PRUNED`]. Receipts stay.
    ///
    /// # Errors
    /// When the store cannot be written.
    pub fn prune(&self, age: i64) -> Result<usize, StoreError> {
        let (found, pruned) = mpsc::channel();
        self.change(Change::Prune { age, found })?;
        Ok(pruned.try_iter().last().unwrap_or_default())
    }

    /// As [`crate::TenantStore::runs`], of all tenants.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn all_tenants_runs(&self, limit: usize, after: Option<Cursor>) -> Result<Runs, StoreError> {
        self.read(|db| runs::newest(db, None, limit, after))
    }

    /// The decision with this id, and its tenant.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn all_tenants_decision(&self, id: &str) -> Result<Option<(Tenant, Decision)>, StoreError> {
        self.read(|db| decisions::any_decision(db, id))
    }

    /// That decisions of all tenants wait for a review, those that have waited longest first, of those behind `after`; at most
    /// [`crate::MAX_NOTICES`].
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn all_tenants_waiting(&self, after: Option<Cursor>) -> Result<Vec<WaitingNotice>, StoreError> {
        self.read(|db| queue::notices(db, after))
    }

    /// How many decisions of all tenants wait for a review, and when the one began to that has waited longest, in milliseconds after
    /// 1970-01-01T00:00:00Z.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn all_tenants_waiting_since(&self) -> Result<(u64, Option<i64>), StoreError> {
        self.read(queue::waiting_since)
    }

    /// The last decision, which the next one links to: decisions of all tenants are one chain.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn all_tenants_last_decision(&self) -> Result<Option<ChainTip>, StoreError> {
        self.read(decisions::last_decision)
    }

    /// The decisions of all tenants that `wanted` describes, newest first.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn all_tenants_decisions(&self, wanted: &DecisionsWanted) -> Result<Decisions, StoreError> {
        self.read(|db| decisions::decisions(db, None, wanted))
    }

    /// All tenants' findings, newest first, at most `limit` and [`crate::MAX_PAGE`], and where the next page begins.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn all_tenants_findings(&self, limit: usize, after: Option<Cursor>) -> Result<TenantsFindings, StoreError> {
        self.read(|db| executions::all_findings(db, limit, after))
    }

    /// Allowed decisions that expired before `until` without a report of their execution or a finding that there is none; at
    /// most [`crate::MAX_LISTED`].
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn all_tenants_unreported(&self, until: i64) -> Result<Vec<(Tenant, Decision)>, StoreError> {
        self.read(|db| executions::unreported(db, until))
    }

    /// The receipt with this id, of any tenant: of several that of the command line, then one issued here.
    ///
    /// # Errors
    /// [`StoreError::Damaged`] when it was changed since it was stored, and when the store cannot be read.
    pub fn all_tenants_receipt(&self, id: &ReceiptId) -> Result<Option<StoredReceipt>, StoreError> {
        self.read(|db| receipt_meta::receipt(db, None, id, None))
    }

    /// The ids of all tenants' receipts that begin with `prefix`, at most [`crate::MAX_FOUND`], in order. `prefix` has at
    /// least [`crate::MIN_PREFIX`] hex digits, with or without dashes.
    ///
    /// # Errors
    /// [`StoreError::Prefix`], and when the store cannot be read.
    pub fn all_tenants_find(&self, prefix: &str) -> Result<Vec<ReceiptId>, StoreError> {
        let (first, last) = id_bounds(prefix)?;
        self.read(|db| read::between(db, &first, &last))
    }

    /// As [`Store::all_tenants_find`], the ids of decisions.
    ///
    /// # Errors
    /// [`StoreError::Prefix`], and when the store cannot be read.
    pub fn all_tenants_find_decisions(&self, prefix: &str) -> Result<Vec<String>, StoreError> {
        let (first, last) = id_bounds(prefix)?;
        self.read(|db| decisions::between(db, &uuid(&first), &uuid(&last)))
    }

    /// The receipts of all tenants that match `filter`, last stored first.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn all_tenants_receipts(&self, filter: &Filter) -> Result<Page, StoreError> {
        self.read(|db| read::list(db, None, filter))
    }

    /// Refuses a store that was moved elsewhere: it can only be read.
    ///
    /// # Errors
    /// [`StoreError::Moved`], and when the store cannot be read.
    pub fn require_current(&self) -> Result<(), StoreError> {
        match self.read(seal::find)? {
            Some(moved) => Err(StoreError::of_mark(self.writer.place().clone(), moved)),
            None => Ok(()),
        }
    }

    /// Verifies everything that is stored, as it is at one moment. Nothing is changed, and nobody waits.
    ///
    /// # Errors
    /// When the store cannot be read, which may be because it is damaged.
    pub fn check(&self, checking: Checking<'_>) -> Result<CheckedStore, StoreError> {
        self.read(|db| check::check(db, checking))
    }

    /// Gives a role of the database the rights of a worker, and takes away its other rights to the store's tables: it can run jobs
    /// and store receipts. All of it, or nothing.
    ///
    /// # Errors
    /// [`StoreError::Role`] for a file, and where the role is not there, owns the store or is a superuser; and when the database
    /// refuses.
    pub fn grant_worker(&self, role: &str) -> Result<(), StoreError> {
        let refused = |reason: &str| StoreError::Role { role: role.to_owned(), reason: reason.to_owned() };
        if matches!(self.writer.place(), Place::File(_)) {
            return Err(refused("the store is a file, and who may open a file may change all of it"));
        }
        let (role, statements) = (role.to_owned(), grant::worker(role)?);
        let give: writer::Change = Box::new(move |engine, _now| {
            let unbound = engine.ask(&[grant::unbound(&role)])?.into_iter().flatten().next();
            if let Some(reason) = unbound.map(|record| record.get::<Option<String>>(0)).transpose()?.flatten() {
                return Err(StoreError::Role { role: role.clone(), reason }.into());
            }
            engine.tell(statements.iter().map(|sql| Statement::other(sql.clone(), [])).collect())?;
            Ok(Hint::NONE)
        });
        self.writer.submit(Task::Change(give)).wait().map(drop)
    }

    /// The statements of [`Store::grant_worker`].
    ///
    /// # Errors
    /// [`StoreError::Role`] where no role can have this name.
    pub fn worker_grants(role: &str) -> Result<Vec<String>, StoreError> {
        grant::worker(role)
    }

    /// From here on the ends of chains are kept in this folder too, in a file for each store, and a chain is not extended that ends
    /// before what was kept, or has another document there.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn keep_ends(self, folder: &Path) -> Result<Self, StoreError> {
        let identity = self.read(losses::identity)?;
        let ends = Ends::at(folder, self.writer.place().clone(), &identity)?;
        let _first_stays = self.groups.ends.set(Arc::new(ends));
        Ok(self)
    }

    /// What chains have lost, by the ends that are kept: until it is accepted they are not extended.
    ///
    /// # Errors
    /// When the store, or what is kept, cannot be read.
    pub fn losses(&self) -> Result<Vec<Loss>, StoreError> {
        let Some(ends) = self.groups.ends.get() else { return Ok(Vec::new()) };
        // Before the store is read, which may go on meanwhile.
        let kept = ends.all()?;
        self.read(|db| losses::losses(db, &kept))
    }

    /// Refuses a store that has lost something: its chains are not extended.
    ///
    /// # Errors
    /// [`StoreError::Behind`] names one of the chains; and as [`Store::losses`].
    pub fn require_whole(&self) -> Result<(), StoreError> {
        match self.losses()?.first() {
            None => Ok(()),
            Some(loss) => Err(loss.error(self.writer.place())),
        }
    }

    /// Has the chains that have lost something go on from what is stored; the next document of each states the loss.
    ///
    /// # Errors
    /// When it cannot be written down.
    pub fn accept_losses(&self, losses: &[Loss]) -> Result<(), StoreError> {
        self.groups.ends.get().map_or(Ok(()), |ends| ends.accept(losses.iter().map(Loss::kept)))
    }

    /// How many entries the transparency log has. The store has one log for all tenants.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn log_length(&self) -> Result<u64, StoreError> {
        self.read(log::length)
    }

    /// The entries of the log from this index on, at most `most` and [`crate::MAX_LOG_ENTRIES`].
    ///
    /// # Errors
    /// [`StoreError::Damaged`] where one is missing, and when the store cannot be read.
    pub fn log_entries(&self, from: u64, most: usize) -> Result<Vec<Sha256Digest>, StoreError> {
        self.read(|db| log::entries(db, from, most))
    }

    /// The index of a document in the log, by its digest.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn log_index(&self, digest: &Sha256Digest) -> Result<Option<u64>, StoreError> {
        self.read(|db| log::index(db, digest))
    }

    /// The hashes of a tile of the log, as they were integrated last.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn log_tile(&self, level: u8, index: u64) -> Result<Option<Vec<u8>>, StoreError> {
        self.read(|db| log::tile(db, level, index))
    }

    /// How far the log is integrated and signed.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn log_state(&self) -> Result<LogState, StoreError> {
        self.read(log::state)
    }

    /// Adds tiles and a checkpoint to the log: whether they were added, or another process had changed the log since.
    ///
    /// # Errors
    /// When the store cannot be written.
    pub fn change_log(&self, change: LogChange) -> Result<bool, StoreError> {
        let (made, answer) = mpsc::channel();
        let apply: writer::Change = Box::new(move |engine, _now| {
            let _not_waited_for = made.send(log::change(engine, &change)?);
            Ok(Hint::NONE)
        });
        self.writer.submit(Task::Change(apply)).wait()?;
        // Of a group that was settled again, the last counts.
        Ok(answer.try_iter().last().unwrap_or_default())
    }

    fn start(connected: Connected) -> Result<Self, StoreError> {
        let Connected { engine, readers, clock, place } = connected;
        if let Some(unfinished @ Mark::Unfinished(_)) = readers.read(None, seal::find)? {
            return Err(StoreError::of_mark(place, unfinished));
        }
        let groups = Arc::new(Groups::default());
        let writer = Writer::start(engine, &place, Arc::clone(&groups));
        let writer = writer.map_err(|error| StoreError::Io { place, reason: error.to_string() })?;
        Ok(Self { readers, writer, clock, groups })
    }

    pub(crate) fn change(&self, change: Change) -> Result<(), StoreError> {
        let apply: writer::Change = Box::new(move |engine, now| change.apply(engine, now));
        self.writer.submit(Task::Change(apply)).wait().map(drop)
    }

    pub(crate) fn read<T>(&self, question: impl FnOnce(&Db<'_>) -> Result<T, Fault>) -> Result<T, StoreError> {
        self.readers.read(None, question)
    }

    pub(crate) fn read_of<T>(
        &self,
        tenant: &Tenant,
        question: impl FnOnce(&Db<'_>) -> Result<T, Fault>,
    ) -> Result<T, StoreError> {
        self.readers.read(Some(tenant), question)
    }
}

/// The smallest and the largest 16 bytes whose hex digits begin with `prefix`.
fn id_bounds(prefix: &str) -> Result<([u8; 16], [u8; 16]), StoreError> {
    let refused = || StoreError::Prefix(shown(prefix));
    let digits: String = prefix.chars().filter(|&character| character != '-').collect();
    let hex = digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    if !hex || digits.len() < MIN_PREFIX || digits.len() > 32 {
        return Err(refused());
    }
    let bound = |rest: &str| {
        let all = digits.clone() + &rest.repeat(32 - digits.len());
        u128::from_str_radix(&all, 16).ok().map(u128::to_be_bytes)
    };
    bound("0").zip(bound("f")).ok_or_else(refused)
}

/// The bytes in the form of ids, whatever their version: bounds of a range have none.
fn uuid(bytes: &[u8; 16]) -> String {
    let mut text = format!("{:032x}", u128::from_be_bytes(*bytes));
    for place in [20, 16, 12, 8] {
        text.insert(place, '-');
    }
    text
}
