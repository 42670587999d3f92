//! Reading of whole tables, in portions.

use std::ops::ControlFlow;

use crate::engine::db::Db;
use crate::fault::Fault;
use crate::row::Row;
use crate::value::Value;

/// How many rows are read at a time.
const PORTION: usize = 500;

/// How many numbers of rows a statement looks through that answers with wrong rows only.
const WINDOW: i64 = 20_000;

/// Rows of a table in the order of a key that an index has.
pub(super) struct Scan<'a> {
    pub(super) table: &'static str,
    pub(super) key: &'a [&'a str],
    pub(super) columns: &'a str,
    pub(super) condition: &'a str,
}

impl Scan<'_> {
    /// Hands over every row, which begins with the key, and calls `portion` after each portion with the number of rows so far.
    /// `take` cannot ask the database; `portion` can.
    pub(super) fn each<S>(
        &self,
        db: &Db<'_>,
        state: &mut S,
        mut take: impl FnMut(&mut S, &Row<'_>) -> Result<(), Fault>,
        mut portion: impl FnMut(&mut S, u64) -> Result<(), Fault>,
    ) -> Result<(), Fault> {
        // Behind the last key, not by an offset: the database would read all that it leaves out.
        let (mut after, mut done) = (None::<Vec<Value>>, 0_u64);
        loop {
            let values = after.iter().flatten().cloned().chain([PORTION.into()]).collect::<Vec<_>>();
            let mut read = 0;
            db.each(&self.sql(after.is_some()), &values, |row| {
                read += 1;
                after = Some((0..self.key.len()).map(|column| row.get(column)).collect::<Result<_, _>>()?);
                take(state, row).map(|()| ControlFlow::Continue(()))
            })?;
            done += read as u64;
            portion(state, done)?;
            if read < PORTION {
                return Ok(());
            }
        }
    }

    fn sql(&self, is_after: bool) -> String {
        let Self { table, columns, condition, .. } = self;
        let keys = self.key.join(", ");
        let parameters = parameters(self.key.len());
        let (after, limit) =
            if is_after { (format!(" AND ({keys}) > ({parameters})"), self.key.len() + 1) } else { (String::new(), 1) };
        format!("SELECT {keys}, {columns} FROM {table} WHERE {condition}{after} ORDER BY {keys} LIMIT ${limit}")
    }
}

/// So many parameters, as a list.
pub(crate) fn parameters(count: usize) -> String {
    (1..=count).map(|number| format!("${number}")).collect::<Vec<_>>().join(", ")
}

/// Asks for each window of numbers up to the greatest number of a table: from the first, exclusive, to the last.
pub(super) fn windows(
    db: &Db<'_>,
    greatest: &str,
    mut ask: impl FnMut(i64, i64) -> Result<(), Fault>,
) -> Result<(), Fault> {
    // A statement that answers with wrong rows alone would otherwise run for as long as the table takes, and be cut off.
    let last = db.value::<Option<i64>>(greatest, &[])?.flatten().unwrap_or(-1);
    let mut first = -1;
    while first < last {
        let end = first.saturating_add(WINDOW);
        ask(first, end)?;
        first = end;
    }
    Ok(())
}
