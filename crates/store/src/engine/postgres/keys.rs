//! What PostgreSQL cannot store: text with the character U+0000, and rows that are too long for an index.
//!
//! Either would fail the whole group, so such a submission is refused alone, before it reaches the database.

use std::collections::HashMap;

use crate::error::StoreError;
use crate::fault::Fault;
use crate::row::Row;
use crate::value::Value;

/// The most bytes of an index's row. PostgreSQL takes 2,704, with what it adds itself.
const MAX_KEY: usize = 2_600;

/// The most statements whose keys are remembered.
const MAX_KNOWN: usize = 256;

/// The columns of each index.
pub(crate) const INDEXES: &str = "SELECT CAST(tables.relname AS text), CAST(indexes.relname AS text),
        CAST(columns.attname AS text)
    FROM pg_catalog.pg_index
    JOIN pg_catalog.pg_class AS tables ON tables.oid = indrelid
    JOIN pg_catalog.pg_class AS indexes ON indexes.oid = indexrelid
    JOIN pg_catalog.pg_namespace ON pg_namespace.oid = tables.relnamespace AND nspname = current_schema()
    JOIN pg_catalog.pg_attribute AS columns ON attrelid = indrelid AND attnum = ANY (CAST(indkey AS smallint[]))
    ORDER BY 1, 2";

/// The columns of each index of each table.
type Indexes = HashMap<String, Vec<Vec<String>>>;

/// A column of an `INSERT`, and the place of its value, from 0, if that is a parameter.
type Inserted<'a> = (&'a str, Option<usize>);

/// What the rows of a store may be.
#[derive(Default)]
pub(crate) struct Keys {
    indexes: Indexes,
    /// For each statement, the places of its values that belong to one index.
    known: HashMap<String, Vec<Vec<usize>>>,
}

impl Keys {
    /// By the rows that answer [`INDEXES`].
    ///
    /// # Errors
    /// When a row is not as expected.
    pub(crate) fn read(rows: &[Row<'_>]) -> Result<Self, Fault> {
        let mut by_name: HashMap<(String, String), Vec<String>> = HashMap::new();
        for row in rows {
            by_name.entry((row.get(0)?, row.get(1)?)).or_default().push(row.get(2)?);
        }
        let mut indexes = Indexes::new();
        for ((table, _), columns) in by_name {
            indexes.entry(table).or_default().push(columns);
        }
        Ok(Self { indexes, known: HashMap::new() })
    }

    /// Why the statement cannot be stored.
    pub(crate) fn refusal(&mut self, sql: &str, values: &[Value]) -> Option<StoreError> {
        if values.iter().any(Value::has_nul) {
            return Some(StoreError::Text);
        }
        if !self.known.contains_key(sql) {
            if self.known.len() >= MAX_KNOWN {
                self.known.clear();
            }
            self.known.insert(sql.to_owned(), places(sql, &self.indexes));
        }
        let keys = self.known.get(sql)?;
        let length =
            |places: &Vec<usize>| places.iter().filter_map(|place| values.get(*place)).map(size).sum::<usize>();
        let bytes = keys.iter().map(length).max().unwrap_or_default();
        (bytes > MAX_KEY).then_some(StoreError::LongKey { bytes, max: MAX_KEY })
    }
}

/// What a value takes in an index, at most.
fn size(value: &Value) -> usize {
    16 + match value {
        Value::Null | Value::Integer(_) => 0,
        Value::Text(text) => text.len(),
        Value::Bytes(bytes) => bytes.len(),
    }
}

/// The places of an `INSERT`'s values, from 0, that belong to one index.
fn places(sql: &str, indexes: &Indexes) -> Vec<Vec<usize>> {
    let Some((table, columns)) = inserted(sql) else { return Vec::new() };
    let of_index = |index: &Vec<String>| {
        let of_column = |column: &String| columns.iter().find(|(name, _)| name == column).and_then(|(_, place)| *place);
        index.iter().filter_map(of_column).collect()
    };
    indexes.get(table).map(|indexes| indexes.iter().map(of_index).collect()).unwrap_or_default()
}

/// The table of an `INSERT` of one row, and its columns with the places of their values.
fn inserted(sql: &str) -> Option<(&str, Vec<Inserted<'_>>)> {
    let (table, rest) = sql.strip_prefix("INSERT INTO ")?.split_once('(')?;
    let (columns, rest) = rest.split_once(')')?;
    let values = rest.trim_start().strip_prefix("VALUES")?.trim_start().strip_prefix('(')?;
    let place = |value: &str| value.trim().strip_prefix('?')?.parse::<usize>().ok()?.checked_sub(1);
    let places = parts(values).into_iter().map(place);
    Some((table.trim(), columns.split(',').map(str::trim).zip(places).collect()))
}

/// The parts of a list up to its end, with the lists within them whole.
fn parts(list: &str) -> Vec<&str> {
    let (mut parts, mut depth, mut from) = (Vec::new(), 0_usize, 0);
    for (at, character) in list.char_indices() {
        match (character, depth) {
            ('(', _) => depth += 1,
            (',' | ')', 0) => {
                parts.extend(list.get(from..at));
                from = at + 1;
                if character == ')' {
                    break;
                }
            }
            (')', _) => depth -= 1,
            _ => {}
        }
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::value::values;

    #[test]
    fn the_values_of_an_index_are_found_in_every_form_of_insert() {
        let index = |columns: &[&str]| columns.iter().map(|&column| column.to_owned()).collect();
        let indexes = Indexes::from([("t".to_owned(), vec![index(&["a", "b"]), index(&["c"])])]);
        for (sql, found) in [
            ("INSERT INTO t (a, b, c) VALUES (?1, ?2, ?3)", vec![vec![0, 1], vec![2]]),
            ("INSERT INTO t\n (b, d,\n a) VALUES (?3, ?1, ?2) ON CONFLICT (a, b) DO NOTHING", vec![vec![1, 2], vec![]]),
            ("INSERT INTO t (a, b) VALUES ((SELECT max(a, 1) + 1 FROM t), ?1)", vec![vec![0], vec![]]),
            ("INSERT INTO u (a) VALUES (?1)", vec![]),
            ("UPDATE t SET a = ?1", vec![]),
        ] {
            assert_eq!(places(sql, &indexes), found, "{sql}");
        }
    }

    #[test]
    fn what_cannot_be_stored_is_refused() {
        let indexes = Indexes::from([("t".to_owned(), vec![vec!["a".to_owned(), "b".to_owned()]])]);
        let mut keys = Keys { indexes, known: HashMap::new() };
        let sql = "INSERT INTO t (a, b, c) VALUES (?1, ?2, ?3)";
        let (long, short) = ("x".repeat(MAX_KEY / 2), "x");
        assert_eq!(keys.refusal(sql, &values![short, short, "x".repeat(MAX_KEY * 2)]), None);
        assert_eq!(keys.refusal(sql, &values![&long, short, short]), None);
        let refused = keys.refusal(sql, &values![&long, &long, short]);
        assert!(matches!(refused, Some(StoreError::LongKey { .. })), "{refused:?}");
        assert_eq!(keys.refusal(sql, &values![short, short, "a\0b"]), Some(StoreError::Text));
    }
}
