//! Counts that are kept beside the rows that they count.

use std::collections::HashMap;

use super::Check;
use super::scan::Scan;
use crate::engine::db::Db;
use crate::fault::Fault;
use crate::value::Value;

/// How many rows there are of each key.
#[derive(Default)]
pub(super) struct Counts(HashMap<Vec<Value>, i64>);

impl Counts {
    pub(super) fn add(&mut self, key: impl Into<Vec<Value>>) {
        *self.0.entry(key.into()).or_default() += 1;
    }

    /// Takes away what was counted; what stays is wrong.
    pub(super) fn take(&mut self, key: Vec<Value>, counted: i64) {
        // Below zero where too many are counted: that is wrong as well, and is reported.
        let left = self.0.entry(key).or_default();
        *left = left.saturating_sub(counted);
    }

    /// Compares with a table whose key is that of these counts or continues it: `parts` is how many columns of its key are.
    pub(super) fn compare(
        mut self,
        db: &Db<'_>,
        check: &mut Check<'_>,
        scan: &Scan<'_>,
        parts: usize,
    ) -> Result<(), Fault> {
        scan.each(
            db,
            &mut self,
            |counts, row| {
                let key = (0..parts).map(|column| row.get(column)).collect::<Result<_, _>>()?;
                counts.take(key, row.get(scan.key.len())?);
                Ok(())
            },
            |_, _| Ok(()),
        )?;
        self.report(check, scan.table);
        Ok(())
    }

    /// Reports every key whose count is not that of the rows.
    pub(super) fn report(self, check: &mut Check<'_>, table: &'static str) {
        let mut wrong: Vec<_> = self.0.into_iter().filter(|(_, left)| *left != 0).collect();
        // The order of a hash table differs from run to run; a report should not.
        wrong.sort();
        for (key, left) in wrong {
            let row = key.iter().map(Value::shown).collect::<Vec<_>>().join(", ");
            let rows = if left.abs() == 1 { "row" } else { "rows" };
            let detail = if left > 0 {
                format!("{left} {rows} more than it counts")
            } else {
                format!("{} {rows} fewer than it counts", left.saturating_neg())
            };
            check.wrong("counts", table, row, detail);
        }
    }
}
