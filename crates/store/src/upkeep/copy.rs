//! Copies a whole store into another, of either engine.
//!
//! **The source** is locked for the whole time, as the writer locks it for a group: nothing is stored in it meanwhile, so
//! nothing that was answered is left behind. Its lock ends with the mark that it was moved, or with the process.
//!
//! **The destination** is marked as an unfinished copy before its first row, and sealed but for the table that is being copied:
//! no program can use it. Tables are copied one after the other, in portions by primary key, each a group of the
//! destination. A copy that was interrupted goes on behind the last row of each table, if nothing was stored in the source
//! since; else it begins anew. All numbers stay, so that cursors and chains stay valid.
//!
//! **The end.** Every row of both stores is compared. Then the source is sealed, and after it the destination is opened: at no
//! moment can both be written. Interrupted between the two, the same command opens the destination.

use std::path;
use std::sync::LazyLock;

use thiserror::Error;

use crate::engine::connect::{self, Connected};
use crate::error::StoreError;
use crate::fault::Fault;
use crate::group::writer;
use crate::insert::Insert;
use crate::mark::{Mark, Origin};
use crate::place::Place;
use crate::row::Row;
use crate::statement::{Record, Statement};
use crate::table::Table;
use crate::tables::TABLES;
use crate::upkeep::check::scan;
use crate::upkeep::check::{self, CheckedStore, Checking, Used, Wrong};
use crate::upkeep::seal;
use crate::value::Value;

/// How many rows are read at a time, at most and at first.
const MAX_ROWS: usize = 2_000;
const FIRST_ROWS: usize = 64;

/// How many bytes a portion is to have.
const PORTION_BYTES: usize = 4 << 20;

/// How the rows of each table are inserted.
static INSERTS: LazyLock<Vec<Insert>> = LazyLock::new(|| TABLES.iter().map(|table| Insert::into(table)).collect());

/// What to copy.
#[derive(Clone, Debug)]
pub struct CopyOrder {
    pub from: Place,
    pub to: Place,
    /// Copy a source that has faults, as it is.
    pub with_faults: bool,
}

/// What a copy is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CopyStep {
    /// Verifies the source.
    Checking,
    Copying,
    /// Compares source and destination.
    Comparing,
}

/// A finished copy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Copied {
    /// How many rows each table has.
    pub rows: Vec<(&'static str, u64)>,
    /// How many of all rows an earlier run had copied.
    pub earlier: u64,
    pub source: CheckedStore,
}

/// Who is told while a copy is made.
pub struct CopyWatch<'a> {
    /// What it does, the table, and how many rows of it are done.
    pub progress: &'a mut dyn FnMut(CopyStep, &'static str, u64),
    /// A fault of the source.
    pub fault: &'a mut dyn FnMut(Wrong),
}

/// Why a store is not copied. The source is then as before.
#[derive(Debug, Error)]
pub enum CopyError {
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error("copy the store `{0}`: source and destination are the same")]
    Same(Place),
    #[error("copy into the store `{place}`: it has rows of its own, in `{table}`")]
    NotEmpty { place: Place, table: &'static str },
    #[error("copy into the store `{place}`: it is an unfinished copy of another store, `{from}`")]
    OtherCopy { place: Place, from: String },
    #[error("copy the store `{place}`: it has {faults} {}", if *.faults == 1 { "fault" } else { "faults" })]
    Faults { place: Place, faults: u64 },
    #[error("copy the row {row} of `{table}`: its text has the character U+0000, which PostgreSQL cannot store")]
    Nul { table: &'static str, row: String },
    #[error("copy the store: the row {row} of `{table}` differs between source and destination")]
    Differs { table: &'static str, row: String },
}

impl CopyError {
    /// Whether the source is not as it should be.
    #[must_use]
    pub fn is_fault_of_source(&self) -> bool {
        matches!(self, Self::Faults { .. })
    }

    /// What to do about it.
    #[must_use]
    pub fn help(&self) -> Option<String> {
        let text = match self {
            Self::Store(error) => return error.help(),
            Self::Same(_) => "name another store with `--to`",
            Self::NotEmpty { .. } => "name a new file or an empty database with `--to`",
            Self::OtherCopy { .. } => "finish that copy, or name another store with `--to`",
            Self::Faults { .. } => "see `proofmark store check`; to copy it as it is, add `--with-faults`",
            Self::Nul { .. } => "copy to a file, which can store it",
            Self::Differs { .. } => "run the command again",
        };
        Some(text.to_owned())
    }
}

/// Copies a store, and marks it as moved. Run again, it finishes what was interrupted.
///
/// # Errors
/// [`CopyError`]
pub fn copy(order: &CopyOrder, watch: &mut CopyWatch<'_>) -> Result<Copied, CopyError> {
    let (from, to) = (absolute(&order.from)?, absolute(&order.to)?);
    if from == to || is_same_file(&from, &to) {
        return Err(CopyError::Same(from));
    }
    let mut source = Side(connect::connect_existing(from)?);
    source.lock()?;
    // Behind the lock: nobody marks or opens it any more.
    let source_mark = source.mark()?;
    let mut destination = Side(connect::connect(to)?);
    let origin = Origin { place: source.0.place.to_string(), latest: source.latest()? };
    source.refuse_moved(source_mark.as_ref(), &mut destination, &origin)?;
    // Before the first row is copied: a fault that is found later would have been copied for nothing.
    let checked = check(&source.0, order.with_faults, watch)?;
    let mut copying = Copying { source, destination, origin, copied: 0, goes_on: false };
    copying.prepare()?;
    let rows = copying.all(watch)?;
    copying.finish(source_mark.is_some())?;
    let all: u64 = rows.iter().map(|(_, rows)| rows).sum();
    Ok(Copied { rows, earlier: all.saturating_sub(copying.copied), source: checked })
}

/// Verifies the source but for signatures, which no copy changes.
fn check(source: &Connected, with_faults: bool, watch: &mut CopyWatch<'_>) -> Result<CheckedStore, CopyError> {
    let progress = &mut *watch.progress;
    let checking = Checking {
        judge: &mut |_| Ok(Used::default()),
        found: &mut *watch.fault,
        progress: &mut |table, rows| progress(CopyStep::Checking, table, rows),
    };
    let checked = source.readers.read(None, |db| check::check(db, checking))?;
    match checked.faults {
        0 => Ok(checked),
        _ if with_faults => Ok(checked),
        faults => Err(CopyError::Faults { place: source.place.clone(), faults }),
    }
}

/// One of the two stores.
struct Side(Connected);

struct Copying {
    source: Side,
    destination: Side,
    origin: Origin,
    /// How many rows this run has copied.
    copied: u64,
    /// Whether an earlier run had copied some.
    goes_on: bool,
}

impl Copying {
    /// Marks and seals an empty destination, or finds out where an earlier run was interrupted.
    fn prepare(&mut self) -> Result<(), CopyError> {
        let Self { destination, origin, .. } = self;
        destination.begin()?;
        match destination.mark()? {
            None => {
                destination.require_empty()?;
                destination.seal_all(&Mark::Unfinished(origin.clone()))?;
            }
            Some(Mark::Unfinished(earlier)) if earlier == *origin => self.goes_on = true,
            Some(Mark::Unfinished(earlier)) if earlier.place == origin.place => self.clear()?,
            Some(Mark::Unfinished(earlier)) => {
                return Err(CopyError::OtherCopy { place: destination.0.place.clone(), from: earlier.place });
            }
            Some(Mark::Moved { to }) => {
                return Err(StoreError::Moved { place: destination.0.place.clone(), to }.into());
            }
        }
        self.destination.commit()
    }

    /// Deletes what was copied when the source had other rows.
    fn clear(&mut self) -> Result<(), CopyError> {
        let mark = Mark::Unfinished(self.origin.clone());
        // Backwards, so that no row is deleted before those that refer to it.
        for table in TABLES.iter().rev() {
            self.destination.unseal(table.name)?;
            self.destination.run(vec![Statement::other(format!("DELETE FROM {}", table.name), [])])?;
        }
        self.destination.seal_all(&mark)
    }

    /// Copies and compares all tables; how many rows each has.
    fn all(&mut self, watch: &mut CopyWatch<'_>) -> Result<Vec<(&'static str, u64)>, CopyError> {
        for insert in INSERTS.iter() {
            self.copy_table(insert, watch)?;
        }
        match self.compare_all(watch) {
            // What an earlier run had copied may be older than the recorded time tells.
            Err(CopyError::Differs { .. }) if self.goes_on => {
                self.destination.begin()?;
                self.clear()?;
                self.destination.commit()?;
                self.copied = 0;
                for insert in INSERTS.iter() {
                    self.copy_table(insert, watch)?;
                }
                self.compare_all(watch)
            }
            compared => compared,
        }
    }

    fn copy_table(&mut self, insert: &'static Insert, watch: &mut CopyWatch<'_>) -> Result<(), CopyError> {
        let table = insert.table;
        let mark = Mark::Unfinished(self.origin.clone());
        let mut portions = Portions::after(self.destination.last(table)?);
        let mut done = 0;
        loop {
            let rows = portions.next(table, &mut self.source)?;
            if rows.is_empty() {
                return Ok(());
            }
            if matches!(self.destination.0.place, Place::Database(_)) {
                refuse_nul(table, &rows)?;
            }
            done += rows.len() as u64;
            self.copied += rows.len() as u64;
            let inserts = rows.into_iter().map(|Record(row)| Statement::Insert { insert, row }).collect();
            let destination = &mut self.destination;
            // Within one group, so that no other process ever finds the table open.
            destination.begin()?;
            destination.unseal(table.name)?;
            destination.run_together(inserts)?;
            destination.seal(table.name, &mark)?;
            destination.commit()?;
            (watch.progress)(CopyStep::Copying, table.name, done);
        }
    }

    /// Compares every row of both; how many rows each table has.
    fn compare_all(&mut self, watch: &mut CopyWatch<'_>) -> Result<Vec<(&'static str, u64)>, CopyError> {
        TABLES.iter().map(|table| Ok((table.name, self.compare(table, watch)?))).collect()
    }

    fn compare(&mut self, table: &'static Table, watch: &mut CopyWatch<'_>) -> Result<u64, CopyError> {
        let (mut portions, mut done) = (Portions::after(None), 0);
        loop {
            let (after, rows) = (portions.after.clone(), portions.rows);
            let ours = portions.next(table, &mut self.source)?;
            // As many from both, so that a row that is missing shows where it is missing.
            let theirs = self.destination.page(table, after.as_deref(), rows)?;
            if ours != theirs {
                let longest = ours.len().max(theirs.len());
                let differs = (0..longest).find(|at| ours.get(*at) != theirs.get(*at));
                let row = differs.and_then(|at| ours.get(at).or(theirs.get(at)));
                let row = row.map(|row| named(table, row)).unwrap_or_default();
                return Err(CopyError::Differs { table: table.name, row });
            }
            if ours.is_empty() {
                return Ok(done);
            }
            done += ours.len() as u64;
            (watch.progress)(CopyStep::Comparing, table.name, done);
        }
    }

    /// Closes the source, and then opens the destination.
    fn finish(&mut self, is_closed: bool) -> Result<(), CopyError> {
        let Self { source, destination, origin, .. } = self;
        let turn = source.rows("SELECT turn, identity FROM clock", Vec::new())?.pop();
        // From here on nobody writes the source; the destination follows, and no moment has two stores that can be written.
        if !is_closed {
            source.seal_all(&Mark::Moved { to: destination.0.place.to_string() })?;
        }
        source.commit()?;
        destination.begin()?;
        for table in seal::all_tables() {
            destination.unseal(table)?;
        }
        destination.run(seal::remove(destination.0.engine.spelling()))?;
        destination.run(vec![writer::record(origin.latest)])?;
        if let Some(Record(turn)) = turn {
            let sql = "UPDATE clock SET turn = CASE WHEN turn < $1 THEN $1 ELSE turn END, identity = $2";
            destination.run(vec![Statement::other(sql, turn)])?;
        }
        destination.commit()
    }
}

impl Side {
    /// Begins a group that lasts as long as the whole copy.
    fn lock(&mut self) -> Result<(), CopyError> {
        self.begin()?;
        // While the destination stores a portion nothing is asked here.
        let patient = Statement::other("SET LOCAL idle_in_transaction_session_timeout = 0", []);
        match self.0.place {
            Place::Database(_) => self.run(vec![patient]),
            Place::File(_) => Ok(()),
        }
    }

    /// Refuses a source that was moved, unless it was moved to this very destination and the copy was interrupted then.
    fn refuse_moved(&self, own: Option<&Mark>, destination: &mut Self, origin: &Origin) -> Result<(), CopyError> {
        let place = self.0.place.clone();
        match own {
            None => Ok(()),
            Some(Mark::Unfinished(origin)) => Err(StoreError::Unfinished { place, from: origin.place.clone() }.into()),
            Some(Mark::Moved { to }) => {
                let interrupted = *to == destination.0.place.to_string()
                    && destination.mark()? == Some(Mark::Unfinished(origin.clone()));
                if interrupted { Ok(()) } else { Err(StoreError::Moved { place, to: to.clone() }.into()) }
            }
        }
    }

    fn require_empty(&mut self) -> Result<(), CopyError> {
        for table in &TABLES {
            if self.last(table)?.is_some() {
                return Err(CopyError::NotEmpty { place: self.0.place.clone(), table: table.name });
            }
        }
        Ok(())
    }

    fn seal_all(&mut self, mark: &Mark) -> Result<(), CopyError> {
        let spelling = self.0.engine.spelling();
        self.run(seal::put(mark))?;
        self.run(seal::prepare_seals(spelling))?;
        for table in seal::all_tables() {
            self.unseal(table)?;
            self.seal(table, mark)?;
        }
        Ok(())
    }

    fn seal(&mut self, table: &str, mark: &Mark) -> Result<(), CopyError> {
        self.run(seal::seal(self.0.engine.spelling(), table, mark))
    }

    fn unseal(&mut self, table: &str) -> Result<(), CopyError> {
        self.run(seal::unseal(self.0.engine.spelling(), table))
    }

    fn mark(&mut self) -> Result<Option<Mark>, CopyError> {
        if self.rows(seal::exists(self.0.engine.spelling()), Vec::new())?.is_empty() {
            return Ok(None);
        }
        let rows = self.rows(seal::READ, Vec::new())?;
        rows.first().map(|row| seal::read(&Row::Record(row))).transpose().map_err(|fault| self.failed(&fault))
    }

    fn latest(&mut self) -> Result<i64, CopyError> {
        let rows = self.rows("SELECT latest FROM clock", Vec::new())?;
        rows.first().map_or(Ok(0), |row| row.get(0)).map_err(|fault| self.failed(&fault))
    }

    /// The greatest key of a table.
    fn last(&mut self, table: &Table) -> Result<Option<Vec<Value>>, CopyError> {
        Ok(self.rows(&last_key(table), Vec::new())?.pop().map(|Record(key)| key))
    }

    /// At most so many rows behind a key.
    fn page(&mut self, table: &Table, after: Option<&[Value]>, rows: usize) -> Result<Vec<Record>, CopyError> {
        let values = after.into_iter().flatten().cloned().chain([rows.into()]).collect();
        self.rows(&page(table, after.is_some()), values)
    }

    fn rows(&mut self, sql: &str, values: Vec<Value>) -> Result<Vec<Record>, CopyError> {
        let rows = self.0.engine.rows(sql.to_owned(), values);
        rows.map_err(|fault| self.failed(&fault))
    }

    /// Runs the statements one after the other: each may need what those before it have made.
    fn run(&mut self, statements: Vec<Statement>) -> Result<(), CopyError> {
        statements.into_iter().try_for_each(|statement| self.run_together(vec![statement]))
    }

    /// Runs the statements before anything that comes after them.
    fn run_together(&mut self, statements: Vec<Statement>) -> Result<(), CopyError> {
        let run = self.0.engine.tell(statements).and_then(|()| self.0.engine.ask(&[]));
        run.map(drop).map_err(|fault| self.failed(&fault))
    }

    fn begin(&mut self) -> Result<(), CopyError> {
        self.0.engine.begin().map_err(|fault| self.failed(&fault))
    }

    fn commit(&mut self) -> Result<(), CopyError> {
        self.0.engine.commit().map_err(|fault| self.failed(&fault))
    }

    fn failed(&self, fault: &Fault) -> CopyError {
        StoreError::of_fault(&self.0.place, fault).into()
    }
}

/// The rows of a table in the order of its key, so many at a time that a portion has about [`PORTION_BYTES`].
struct Portions {
    after: Option<Vec<Value>>,
    rows: usize,
}

impl Portions {
    fn after(after: Option<Vec<Value>>) -> Self {
        Self { after, rows: FIRST_ROWS }
    }

    fn next(&mut self, table: &Table, side: &mut Side) -> Result<Vec<Record>, CopyError> {
        let rows = side.page(table, self.after.as_deref(), self.rows)?;
        if let Some(last) = rows.last() {
            self.after = Some(key(table, last).cloned().collect());
        }
        let bytes = rows.iter().flat_map(|Record(values)| values).map(Value::size).sum::<usize>().max(1);
        // By the rows just read: those that follow are mostly as long. It grows slowly, because one of them may be much longer.
        let fitting = rows.len().saturating_mul(PORTION_BYTES) / bytes;
        self.rows = fitting.clamp(1, self.rows.saturating_mul(2)).min(MAX_ROWS);
        Ok(rows)
    }
}

fn refuse_nul(table: &Table, rows: &[Record]) -> Result<(), CopyError> {
    match rows.iter().find(|Record(values)| values.iter().any(Value::has_nul)) {
        Some(row) => Err(CopyError::Nul { table: table.name, row: named(table, row) }),
        None => Ok(()),
    }
}

fn key<'a>(table: &'a Table, Record(values): &'a Record) -> impl Iterator<Item = &'a Value> {
    table.key.iter().filter_map(|column| values.get(table.place(column)?))
}

/// Asks for rows in the order of the key: `after` says whether the values of a key come first, behind which they begin. The last
/// value is how many.
fn page(table: &Table, after: bool) -> String {
    let (name, columns, keys) = (table.name, table.list(), table.key.join(", "));
    if !after {
        return format!("SELECT {columns} FROM {name} ORDER BY {keys} LIMIT $1");
    }
    let (values, limit) = (scan::parameters(table.key.len()), table.key.len() + 1);
    format!("SELECT {columns} FROM {name} WHERE ({keys}) > ({values}) ORDER BY {keys} LIMIT ${limit}")
}

/// Asks for the greatest key.
fn last_key(table: &Table) -> String {
    let descending: Vec<String> = table.key.iter().map(|column| format!("{column} DESC")).collect();
    format!("SELECT {} FROM {} ORDER BY {} LIMIT 1", table.key.join(", "), table.name, descending.join(", "))
}

/// The key of a row, for messages.
fn named(table: &Table, row: &Record) -> String {
    table
        .key
        .iter()
        .zip(key(table, row))
        .map(|(column, value): (&&str, &Value)| format!("{column} {}", value.shown()))
        .collect::<Vec<_>>()
        .join(", ")
}

/// The place, with the whole path of a file.
fn absolute(place: &Place) -> Result<Place, StoreError> {
    match place {
        Place::File(path) => path::absolute(path).map(Place::File).map_err(|error| StoreError::of_io(path, &error)),
        Place::Database(_) => Ok(place.clone()),
    }
}

/// Whether two paths lead to one file.
fn is_same_file(from: &Place, to: &Place) -> bool {
    let (Place::File(from), Place::File(to)) = (from, to) else { return false };
    from.canonicalize().ok().is_some_and(|from| to.canonicalize().is_ok_and(|to| from == to))
}

#[cfg(test)]
mod tests {
    use tempfile::TempDir;

    use super::*;
    use crate::store::Store;

    #[test]
    fn a_copy_that_was_interrupted_at_its_very_end_is_opened() {
        let home = TempDir::new().unwrap();
        let (from, to) = (home.path().join("from.db"), home.path().join("to.db"));
        Store::open(&from).unwrap().probe().unwrap();
        let mut watch = CopyWatch { progress: &mut |_, _, _| {}, fault: &mut |_| {} };
        {
            let mut source = Side(connect::connect_existing(Place::from(&from)).unwrap());
            source.lock().unwrap();
            let origin = Origin { place: source.0.place.to_string(), latest: source.latest().unwrap() };
            let destination = Side(connect::connect(Place::from(&to)).unwrap());
            let mut copying = Copying { source, destination, origin, copied: 0, goes_on: false };
            copying.prepare().unwrap();
            copying.all(&mut watch).unwrap();
            let moved = Mark::Moved { to: to.display().to_string() };
            copying.source.seal_all(&moved).unwrap();
            copying.source.commit().unwrap();
        }
        assert!(Store::open(&from).unwrap().probe().is_err());
        assert!(matches!(Store::open(&to).err(), Some(StoreError::Unfinished { .. })));
        let order = |to: &std::path::Path| CopyOrder { from: (&from).into(), to: to.into(), with_faults: false };
        let elsewhere = copy(&order(&home.path().join("other.db")), &mut watch);
        assert!(matches!(elsewhere, Err(CopyError::Store(StoreError::Moved { .. }))), "{elsewhere:?}");
        copy(&order(&to), &mut watch).unwrap();
        Store::open(&to).unwrap().probe().unwrap();
    }
}
