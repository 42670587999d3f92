//! Many rows in one statement.
//!
//! Most of what a group stores are rows of few tables, inserted by statements of the same text. They become one statement for
//! each text, which takes an array for each column.

use std::borrow::Cow;
use std::collections::{BTreeSet, HashMap};

use crate::engine::postgres::bind::Kind;
use crate::engine::postgres::connection::Connection;
use crate::engine::postgres::flight::Ready;
use crate::fault::Fault;
use crate::group::settle::Statement;
use crate::value::Value;

/// The most bytes that one statement takes, unless one row has more.
const MAX_BYTES: usize = 8 << 20;

/// An `INSERT` of one row of parameters.
#[derive(Debug, PartialEq, Eq)]
struct Plain<'a> {
    /// Up to `VALUES`.
    head: &'a str,
    /// The place of each column's value among the values, from 0.
    places: Vec<usize>,
    /// What is done where there is a row already, if something is.
    otherwise: Option<Otherwise<'a>>,
}

/// `ON CONFLICT … DO UPDATE …`, which takes its values from the row that was to be inserted.
#[derive(Debug, PartialEq, Eq)]
struct Otherwise<'a> {
    sql: &'a str,
    /// The places of the values that identify the row.
    key: Vec<usize>,
}

/// Rows of statements of one text.
struct Rows {
    sql: Cow<'static, str>,
    rows: Vec<Vec<Value>>,
    /// What identifies the rows that one statement cannot change twice.
    keys: BTreeSet<Vec<Value>>,
}

/// The statements, ready to go. An `INSERT` that stands by itself comes before all that is something else.
///
/// # Errors
/// When the server refuses one of them.
pub(crate) async fn ready(connection: &mut Connection, statements: Vec<Statement>) -> Result<Vec<Ready>, Fault> {
    let Connection { client, statements: prepared, .. } = connection;
    let mut all = Vec::new();
    for Rows { sql, mut rows, .. } in sorted(statements) {
        while !rows.is_empty() {
            let later = rows.split_off(portion(&rows));
            let values = std::mem::replace(&mut rows, later);
            let one = prepared.prepare(client, &sql).await?;
            let Some(plain) = Plain::read(&sql).filter(|_| values.len() > 1) else {
                for values in values {
                    all.push(prepared.ready(client, &sql, values).await?);
                }
                continue;
            };
            let kinds = one.params().iter().map(Kind::of).collect::<Result<Vec<_>, _>>()?;
            let kinds = plain.places.iter().filter_map(|place| kinds.get(*place).copied()).collect::<Vec<_>>();
            let statement = prepared.prepare(client, &plain.of_many(&kinds)).await?;
            let columns = plain.columns(values).into_iter().zip(kinds);
            let values = columns.map(|(column, kind)| kind.bind_all(column)).collect::<Result<_, _>>()?;
            all.push(Ready { statement, values });
        }
    }
    Ok(all)
}

/// Inserts that stand by themselves, by their texts, in the order in which the texts come. Then all else in its order, but
/// together where alike follows alike and no row is changed twice.
fn sorted(statements: Vec<Statement>) -> Vec<Rows> {
    let mut places: HashMap<Cow<'static, str>, Option<usize>> = HashMap::new();
    let (mut inserts, mut others) = (Vec::<Rows>::new(), Vec::<Rows>::new());
    for Statement { sql, values } in statements {
        let place = *places.entry(sql.clone()).or_insert_with(|| {
            Plain::read(&sql).filter(|plain| plain.otherwise.is_none()).map(|_| {
                inserts.push(Rows::new(sql.clone()));
                inserts.len() - 1
            })
        });
        if let Some(insert) = place.and_then(|place| inserts.get_mut(place)) {
            insert.rows.push(values);
            continue;
        }
        let key = Plain::read(&sql).and_then(|plain| plain.key(&values));
        let alike = others.last_mut().filter(|last| last.sql == sql);
        match (alike, key) {
            (Some(alike), Some(key)) if !alike.keys.contains(&key) => {
                alike.keys.insert(key);
                alike.rows.push(values);
            }
            (_, key) => others.push(Rows { sql, rows: vec![values], keys: key.into_iter().collect() }),
        }
    }
    inserts.into_iter().chain(others).collect()
}

/// How many of the first rows go into one statement.
fn portion(rows: &[Vec<Value>]) -> usize {
    let mut bytes = 0_usize;
    let fits = rows.iter().take_while(|row| {
        bytes = bytes.saturating_add(row.iter().map(size).sum());
        bytes <= MAX_BYTES
    });
    fits.count().max(1)
}

fn size(value: &Value) -> usize {
    match value {
        Value::Null | Value::Integer(_) => 8,
        Value::Text(text) => text.len(),
        Value::Bytes(bytes) => bytes.len(),
    }
}

impl Rows {
    fn new(sql: Cow<'static, str>) -> Self {
        Self { sql, rows: Vec::new(), keys: BTreeSet::new() }
    }
}

impl<'a> Plain<'a> {
    /// None where the statement is something else.
    fn read(sql: &'a str) -> Option<Self> {
        let (head, values) = sql.strip_prefix("INSERT INTO ").and_then(|_| sql.split_once("VALUES"))?;
        let (values, rest) = values.trim_start().strip_prefix('(')?.split_once(')')?;
        let place = |value: &str| value.trim().strip_prefix('?')?.parse::<usize>().ok()?.checked_sub(1);
        let places = values.split(',').map(place).collect::<Option<Vec<_>>>()?;
        let otherwise = match rest.trim() {
            "" => None,
            rest => Some(Otherwise::read(rest, head, &places)?),
        };
        Some(Self { head: head.trim_end(), places, otherwise })
    }

    /// The statement that inserts many rows, whose columns have these kinds.
    fn of_many(&self, kinds: &[Kind]) -> String {
        let arrays = kinds.iter().enumerate().map(|(column, kind)| format!("?{}::{}", column + 1, kind.array()));
        let otherwise = self.otherwise.as_ref().map(|otherwise| otherwise.sql).unwrap_or_default();
        format!("{} SELECT * FROM unnest({}) {otherwise}", self.head, arrays.collect::<Vec<_>>().join(", "))
            .trim_end()
            .to_owned()
    }

    /// What identifies the row that is changed where there is one already.
    fn key(&self, values: &[Value]) -> Option<Vec<Value>> {
        self.otherwise.as_ref()?.key.iter().map(|place| values.get(*place).cloned()).collect()
    }

    /// The values of each column.
    fn columns(&self, rows: Vec<Vec<Value>>) -> Vec<Vec<Value>> {
        let mut columns: Vec<Vec<Value>> = self.places.iter().map(|_| Vec::with_capacity(rows.len())).collect();
        for row in rows {
            for (column, place) in columns.iter_mut().zip(&self.places) {
                column.push(row.get(*place).cloned().unwrap_or(Value::Null));
            }
        }
        columns
    }
}

impl<'a> Otherwise<'a> {
    /// What stands behind the values of an insert into the columns of `head`.
    fn read(sql: &'a str, head: &str, places: &[usize]) -> Option<Self> {
        let (key, action) = sql.strip_prefix("ON CONFLICT (")?.split_once(')')?;
        if !action.trim_start().starts_with("DO UPDATE SET ") || action.contains('?') {
            return None;
        }
        let columns: Vec<&str> = head.split_once('(')?.1.split_once(')')?.0.split(',').map(str::trim).collect();
        let place = |column: &str| places.get(columns.iter().position(|name| *name == column.trim())?).copied();
        Some(Self { sql, key: key.split(',').map(place).collect::<Option<_>>()? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::value::values;

    const PLAIN: &str = "INSERT INTO t (a, b)\n   VALUES (?2, ?1)";

    fn statement(sql: &'static str, values: impl Into<Vec<Value>>) -> Statement {
        Statement { sql: sql.into(), values: values.into() }
    }

    #[test]
    fn an_insert_of_parameters_alone_is_plain() {
        let plain = Plain::read(PLAIN).unwrap();
        assert_eq!(plain, Plain { head: "INSERT INTO t (a, b)", places: vec![1, 0], otherwise: None });
        let many = plain.of_many(&[Kind::Text, Kind::Truth]);
        assert_eq!(many, "INSERT INTO t (a, b) SELECT * FROM unnest(?1::text[], ?2::boolean[])");
        let rows = vec![values![1_i64, "x"].to_vec(), values![2_i64, "y"].to_vec()];
        assert_eq!(plain.columns(rows), [values!["x", "y"].to_vec(), values![1_i64, 2_i64].to_vec()]);
        for other in [
            "INSERT INTO t (a) VALUES (?1) ON CONFLICT DO NOTHING",
            "INSERT INTO t (a, b) VALUES (?1, 'x')",
            "INSERT INTO t (a) VALUES ((SELECT max(a) + 1 FROM t))",
            "INSERT INTO t (a) VALUES (?1) RETURNING a",
            "INSERT INTO t (a) VALUES (?)",
            "INSERT INTO t (a) VALUES (?0)",
            "UPDATE t SET a = ?1",
        ] {
            assert_eq!(Plain::read(other), None, "{other}");
        }
    }

    #[test]
    fn inserts_come_first_and_together() {
        let update = "UPDATE t SET a = ?1";
        let other = "INSERT INTO u (a) VALUES (?1)";
        let all = sorted(vec![
            statement(update, values![1_i64]),
            statement(PLAIN, values![2_i64, "x"]),
            statement(other, values![3_i64]),
            statement(update, values![4_i64]),
            statement(PLAIN, values![5_i64, "y"]),
        ]);
        let sizes: Vec<_> = all.iter().map(|rows| (&*rows.sql, rows.rows.len())).collect();
        assert_eq!(sizes, [(PLAIN, 2), (other, 1), (update, 1), (update, 1)]);
        assert_eq!([&all[2].rows[0], &all[3].rows[0]], [&values![1_i64].to_vec(), &values![4_i64].to_vec()]);
    }

    #[test]
    fn sums_are_together_unless_a_row_is_changed_twice() {
        let sum = "INSERT INTO t (a, b, c) VALUES (?1, ?2, ?3)
                   ON CONFLICT (b, a) DO UPDATE SET c = t.c + excluded.c";
        let plain = Plain::read(sum).unwrap();
        assert_eq!(plain.key(&values![1_i64, 2_i64, 3_i64]), Some(values![2_i64, 1_i64].to_vec()));
        let many = plain.of_many(&[Kind::Integer; 3]);
        assert!(many.ends_with("?3::bigint[]) ON CONFLICT (b, a) DO UPDATE SET c = t.c + excluded.c"), "{many}");
        let update = "UPDATE t SET a = ?1";
        let all = sorted(vec![
            statement(sum, values![1_i64, 1_i64, 1_i64]),
            statement(sum, values![1_i64, 2_i64, 1_i64]),
            statement(sum, values![1_i64, 1_i64, 1_i64]),
            statement(update, values![1_i64]),
            statement(sum, values![1_i64, 3_i64, 1_i64]),
        ]);
        let sizes: Vec<_> = all.iter().map(|rows| (&*rows.sql, rows.rows.len())).collect();
        assert_eq!(sizes, [(sum, 2), (sum, 1), (update, 1), (sum, 1)]);
        for other in [
            "INSERT INTO t (a) VALUES (?1) ON CONFLICT (a) DO UPDATE SET a = ?1",
            "INSERT INTO t (a) VALUES (?1) ON CONFLICT (b) DO UPDATE SET a = excluded.a",
            "INSERT INTO t (a) VALUES (?1) ON CONFLICT (a) DO NOTHING",
        ] {
            assert_eq!(Plain::read(other), None, "{other}");
        }
    }

    #[test]
    fn a_statement_takes_as_many_rows_as_fit() {
        let row = |bytes: usize| vec![Value::Bytes(vec![0; bytes])];
        assert_eq!(portion(&[row(MAX_BYTES + 1), row(1)]), 1);
        assert_eq!(portion(&[row(MAX_BYTES / 2), row(MAX_BYTES / 2), row(1)]), 2);
        assert_eq!(portion(&[row(1)]), 1);
    }
}
