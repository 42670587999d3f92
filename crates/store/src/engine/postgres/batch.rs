//! Many rows in one statement.
//!
//! Most of what a group stores are rows of few tables. Those of one insert become one statement, which takes an array for each
//! column.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::ptr;

use crate::engine::postgres::bind::{Bound, Kind};
use crate::engine::postgres::connection::Connection;
use crate::engine::postgres::flight::Ready;
use crate::fault::Fault;
use crate::insert::{Insert, Or};
use crate::statement::Statement;
use crate::value::Value;

/// The most bytes that one statement takes, unless one row has more.
const MAX_BYTES: usize = 8 << 20;

/// What becomes one statement.
#[derive(Debug)]
enum Batch {
    Rows(Rows),
    Other { sql: Cow<'static, str>, values: Vec<Value> },
}

/// Rows of one insert. Where they have too many bytes, they become several statements.
#[derive(Debug)]
struct Rows {
    insert: &'static Insert,
    rows: Vec<Vec<Value>>,
    /// What identifies the rows that one statement cannot change twice.
    keys: BTreeSet<Vec<Value>>,
}

/// The statements, ready to go. Inserts of new rows come before all that is something else.
///
/// # Errors
/// When the server refuses one of them.
pub(crate) async fn ready(connection: &mut Connection, statements: Vec<Statement>) -> Result<Vec<Ready>, Fault> {
    let Connection { client, statements: prepared, .. } = connection;
    let mut all = Vec::new();
    for batch in batches(statements) {
        match batch {
            Batch::Other { sql, values } => all.push(prepared.ready(client, &sql, values).await?),
            Batch::Rows(Rows { insert, mut rows, .. }) => {
                while !rows.is_empty() {
                    let later = rows.split_off(portion(&rows));
                    let values = columns(insert, std::mem::replace(&mut rows, later))?;
                    let statement = prepared.prepare(client, insert.many()).await?;
                    all.push(Ready { statement, values });
                }
            }
        }
    }
    Ok(all)
}

/// New rows by their inserts, in the order in which those come first. Then all else in its order, but rows of one insert together
/// where they follow each other and no row is changed twice.
fn batches(statements: Vec<Statement>) -> Vec<Batch> {
    let (mut new, mut others) = (Vec::<Rows>::new(), Vec::<Batch>::new());
    for statement in statements {
        match statement {
            // They may come first: what else the group does with a row comes after the row in any case.
            Statement::Insert { insert, row } if insert.or == Or::Fail => {
                match new.iter_mut().find(|rows| ptr::eq(rows.insert, insert)) {
                    Some(rows) => rows.rows.push(row),
                    None => new.push(Rows { insert, rows: vec![row], keys: BTreeSet::new() }),
                }
            }
            Statement::Insert { insert, row } => {
                // PostgreSQL refuses a statement that would change a row twice.
                let key = insert.key(&row);
                match others.last_mut() {
                    Some(Batch::Rows(last)) if ptr::eq(last.insert, insert) && !last.keys.contains(&key) => {
                        last.keys.insert(key);
                        last.rows.push(row);
                    }
                    _ => others.push(Batch::Rows(Rows { insert, rows: vec![row], keys: BTreeSet::from([key]) })),
                }
            }
            Statement::Other { sql, values } => others.push(Batch::Other { sql, values }),
        }
    }
    new.into_iter().map(Batch::Rows).chain(others).collect()
}

/// How many of the first rows go into one statement.
fn portion(rows: &[Vec<Value>]) -> usize {
    let mut bytes = 0_usize;
    let fits = rows.iter().take_while(|row| {
        bytes = bytes.saturating_add(row.iter().map(Value::size).sum());
        bytes <= MAX_BYTES
    });
    // One at least: a row that is longer than a statement should be is stored all the same.
    fits.count().max(1)
}

/// The values of each column, as an array.
fn columns(insert: &Insert, rows: Vec<Vec<Value>>) -> Result<Vec<Bound>, Fault> {
    let columns = insert.table.columns;
    let mut all: Vec<Vec<Value>> = columns.iter().map(|_| Vec::with_capacity(rows.len())).collect();
    for row in rows {
        all.iter_mut().zip(row).for_each(|(column, value)| column.push(value));
    }
    columns.iter().zip(all).map(|(column, values)| Kind::of_column(column.kind).bind_all(values)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::insert::Set;
    use crate::table::{PLAIN, Table, integer, text};
    use crate::value::values;

    static T: Table = Table { name: "t", columns: &[text("a"), integer("b")], key: &["a"], ..PLAIN };
    static NEW: Insert = Insert::into(&T);
    static OTHER: Insert = Insert::into(&T);
    static KEEP: Insert = Insert::or(&T, Or::Keep);
    static SUM: Insert = Insert::or_change(&T, &[Set::Add("b")]);

    fn insert(insert: &'static Insert, a: &str, b: i64) -> Statement {
        Statement::Insert { insert, row: values![a, b].into() }
    }

    fn update() -> Statement {
        Statement::other("UPDATE t SET b = 1", [])
    }

    /// How many rows each statement has; none where it is no insert.
    fn sizes(statements: Vec<Statement>) -> Vec<Option<usize>> {
        let size = |batch: &Batch| match batch {
            Batch::Rows(rows) => Some(rows.rows.len()),
            Batch::Other { .. } => None,
        };
        batches(statements).iter().map(size).collect()
    }

    #[test]
    fn new_rows_come_first_and_together() {
        let all = vec![update(), insert(&NEW, "x", 2), insert(&OTHER, "z", 3), update(), insert(&NEW, "y", 5)];
        assert_eq!(sizes(all), [Some(2), Some(1), None, None]);
    }

    #[test]
    fn sums_are_together_unless_a_row_is_changed_twice() {
        let all = vec![
            insert(&SUM, "a", 1),
            insert(&SUM, "b", 1),
            insert(&SUM, "a", 1),
            update(),
            insert(&SUM, "c", 1),
            insert(&KEEP, "c", 1),
        ];
        assert_eq!(sizes(all), [Some(2), Some(1), None, Some(1), Some(1)]);
    }

    #[test]
    fn a_statement_takes_as_many_rows_as_fit() {
        let row = |bytes: usize| vec![Value::Bytes(vec![0; bytes])];
        assert_eq!(portion(&[row(MAX_BYTES + 1), row(1)]), 1);
        assert_eq!(portion(&[row(MAX_BYTES / 2), row(MAX_BYTES / 2), row(1)]), 2);
        assert_eq!(portion(&[row(1)]), 1);
    }
}
