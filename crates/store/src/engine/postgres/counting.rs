//! Has the server count the rows of tables that grow quickly. It does so by itself only after a minute, and until then its plans are
//! those for smaller tables.

use std::collections::BTreeMap;

use crate::fault::Fault;
use crate::group::settle::Statement;
use crate::row::Row;

/// The tables whose plans matter.
const TABLES: [&str; 9] =
    ["receipts", "requests", "chains", "decisions", "session_entries", "jobs", "answers", "spent", "reviews"];

/// A table is counted when this process has added this many times as many rows as it had.
const GROWTH: i64 = 4;

/// The fewest rows that are counted.
const FEWEST: i64 = 32;

/// How much of a table is looked at: 300 times as many rows. The server looks at ten times as many when it counts by itself.
pub(super) const SAMPLE: &str = "SET default_statistics_target = 10";

/// Asks how many rows the server thinks each table has; less than none where it never counted them.
pub(super) const ASK: &str = "SELECT CAST(relname AS text), CAST(reltuples AS bigint) FROM pg_catalog.pg_class
     WHERE relkind = 'r' AND relnamespace = CAST(current_schema() AS regnamespace)";

/// How many rows each table had when it was counted, and how many were added since.
#[derive(Default)]
pub(super) struct Counting(BTreeMap<&'static str, (i64, i64)>);

impl Counting {
    /// By the rows that answer [`ASK`].
    pub(super) fn read(rows: &[Row<'_>]) -> Result<Self, Fault> {
        let mut counted = BTreeMap::new();
        for row in rows {
            if let Some(table) = TABLES.into_iter().find(|table| row.text(0).is_ok_and(|name| name == *table)) {
                counted.insert(table, (row.get::<i64>(1)?.max(FEWEST), 0));
            }
        }
        Ok(Self(counted))
    }

    /// Notes rows that are added.
    pub(super) fn note(&mut self, statements: &[Statement]) {
        for Statement { sql, .. } in statements {
            let table = sql.strip_prefix("INSERT INTO ").and_then(|rest| rest.split_whitespace().next());
            if let Some((_, added)) = table.and_then(|table| self.0.get_mut(table)) {
                *added += 1;
            }
        }
    }

    /// The statement that counts what is to be counted now, if anything is. What another process is counting is left to that.
    pub(super) fn due(&mut self) -> Option<String> {
        let mut due = Vec::new();
        for (table, (counted, added)) in &mut self.0 {
            if *added >= GROWTH * *counted {
                (*counted, *added) = (*counted + *added, 0);
                due.push(*table);
            }
        }
        (!due.is_empty()).then(|| format!("ANALYZE (SKIP_LOCKED) {}", due.join(", ")))
    }
}
