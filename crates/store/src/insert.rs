//! Statements that insert rows of a table, as values: their texts, how two rows of one key become one, and which rows no
//! database could find again.

use std::sync::OnceLock;

use crate::error::StoreError;
use crate::table::{Kind, Table};
use crate::value::Value;

/// The most bytes that a row has in one of its indexes. PostgreSQL takes 2,704 with what it adds itself. SQLite would take more;
/// but a store can be copied into the other kind, and both refuse the same.
pub(crate) const MAX_KEY: usize = 2_600;

/// What a value takes in an index of PostgreSQL beside its own bytes, at most.
const AROUND_VALUE: usize = 16;

/// A statement that inserts a row, with the values of all columns in their order.
#[derive(Debug)]
pub(crate) struct Insert {
    pub(crate) table: &'static Table,
    pub(crate) or: Or,
    texts: OnceLock<Texts>,
}

/// What is done where a row of the same key is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Or {
    /// It never is: the writer has asked before.
    Fail,
    /// It stays as it is.
    Keep,
    /// It is changed. It is found by these columns.
    Change { key: &'static [&'static str], sets: &'static [Set] },
}

/// What becomes of a column of the row that is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Set {
    /// It has the new value.
    Replace(&'static str),
    /// The new value is added.
    Add(&'static str),
    /// It has the lesser of both.
    Least(&'static str),
    /// It has the greater of both.
    Greatest(&'static str),
}

/// What is made of an insert when it is first used.
#[derive(Debug)]
struct Texts {
    one: String,
    many: String,
    /// The places of the texts and bytes of each key and index.
    searched: Vec<Vec<usize>>,
}

impl Insert {
    /// Inserts a row that is new.
    pub(crate) const fn into(table: &'static Table) -> Self {
        Self::or(table, Or::Fail)
    }

    /// Inserts a row, or changes the one with the same primary key.
    pub(crate) const fn or_change(table: &'static Table, sets: &'static [Set]) -> Self {
        Self::or(table, Or::Change { key: table.key, sets })
    }

    pub(crate) const fn or(table: &'static Table, or: Or) -> Self {
        Self { table, or, texts: OnceLock::new() }
    }

    /// The statement for one row, whose values are parameters.
    pub(crate) fn one(&self) -> &str {
        &self.texts().one
    }

    /// The statement for many rows, as PostgreSQL takes them: a parameter is the values of a column, as an array.
    pub(crate) fn many(&self) -> &str {
        &self.texts().many
    }

    /// What identifies the row that is changed where it is there already.
    pub(crate) fn key(&self, row: &[Value]) -> Vec<Value> {
        let key = if let Or::Change { key, .. } = self.or { key } else { self.table.key };
        key.iter().filter_map(|column| row.get(self.table.place(column)?).cloned()).collect()
    }

    /// Does to a row that is not stored yet what the statement does to one that is.
    pub(crate) fn change(&self, row: &mut [Value], new: &[Value]) {
        let Or::Change { sets, .. } = self.or else { return };
        for set in sets {
            let Some(place) = self.table.place(set.column()) else { continue };
            if let (Some(value), Some(new)) = (row.get_mut(place), new.get(place)) {
                *value = set.of(value, new);
            }
        }
    }

    /// Why a row cannot be stored, where it would have to be found by too many bytes. A row that fails in the database fails its
    /// whole group; this one is refused alone.
    pub(crate) fn refusal(&self, row: &[Value]) -> Option<StoreError> {
        let size = |place: &usize| row.get(*place).map_or(0, |value| AROUND_VALUE + value.length());
        let bytes = self.texts().searched.iter().map(|places| places.iter().map(size).sum()).max()?;
        (bytes > MAX_KEY).then_some(StoreError::LongKey { bytes, max: MAX_KEY })
    }

    fn texts(&self) -> &Texts {
        // Once, because the writer needs them for each of hundreds of rows a group.
        self.texts.get_or_init(|| {
            let columns = self.table.columns;
            let head = format!("INSERT INTO {} ({})", self.table.name, self.table.list());
            let or = self.or.print(self.table);
            let list = |of: &dyn Fn(usize, Kind) -> String| {
                let all = columns.iter().zip(1..).map(|(column, number)| of(number, column.kind));
                all.collect::<Vec<_>>().join(", ")
            };
            let one = format!("{head} VALUES ({}){or}", list(&|number, _| format!("${number}")));
            let arrays = list(&|number, kind| format!("${number}::{}[]", kind.of_postgres()));
            let many = format!("{head} SELECT * FROM unnest({arrays}){or}");
            // Numbers have room beside the longest texts.
            let is_long = |place: &usize| {
                columns.get(*place).is_some_and(|column| matches!(column.kind, Kind::Text | Kind::Bytes))
            };
            let places = |columns: &[&str]| {
                columns.iter().filter_map(|column| self.table.place(column)).filter(is_long).collect()
            };
            Texts { one, many, searched: self.table.searched().map(places).collect() }
        })
    }
}

impl Or {
    fn print(self, table: &Table) -> String {
        match self {
            Self::Fail => String::new(),
            Self::Keep => " ON CONFLICT DO NOTHING".to_owned(),
            Self::Change { key, sets } => {
                let sets: Vec<String> = sets.iter().map(|set| set.print(table.name)).collect();
                format!(" ON CONFLICT ({}) DO UPDATE SET {}", key.join(", "), sets.join(", "))
            }
        }
    }
}

impl Set {
    fn column(self) -> &'static str {
        match self {
            Self::Replace(column) | Self::Add(column) | Self::Least(column) | Self::Greatest(column) => column,
        }
    }

    fn print(self, table: &str) -> String {
        match self {
            Self::Replace(column) => format!("{column} = excluded.{column}"),
            Self::Add(column) => format!("{column} = {table}.{column} + excluded.{column}"),
            Self::Least(column) => bound(table, column, "<"),
            Self::Greatest(column) => bound(table, column, ">"),
        }
    }

    fn of(self, old: &Value, new: &Value) -> Value {
        match (self, old, new) {
            (Self::Add(_), Value::Integer(old), Value::Integer(new)) => Value::Integer(old.saturating_add(*new)),
            (Self::Least(_), old, new) => old.min(new).clone(),
            (Self::Greatest(_), old, new) => old.max(new).clone(),
            // Columns that are added up are numbers, which the tables say.
            (Self::Replace(_) | Self::Add(_), _, new) => new.clone(),
        }
    }
}

/// Neither `min` nor `least` is a function of two values in both engines.
fn bound(table: &str, column: &str, order: &str) -> String {
    format!(
        "{column} = CASE WHEN excluded.{column} {order} {table}.{column} THEN excluded.{column} ELSE {table}.{column} END"
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::statement::row;
    use crate::table::{Index, PLAIN, index, integer, text};

    static T: Table =
        Table { name: "t", columns: &[text("a"), integer("b"), integer("c")], key: &["a"], indexes: INDEXES, ..PLAIN };
    const INDEXES: &[Index] = &[index("t_by_b", &["b DESC", "a"])];

    #[test]
    fn texts_come_from_the_table() {
        let plain = Insert::into(&T);
        assert_eq!(plain.one(), "INSERT INTO t (a, b, c) VALUES ($1, $2, $3)");
        let many = "INSERT INTO t (a, b, c) SELECT * FROM unnest($1::text[], $2::bigint[], $3::bigint[])";
        assert_eq!(plain.many(), many);
        assert_eq!(Insert::or(&T, Or::Keep).many(), format!("{many} ON CONFLICT DO NOTHING"));
        let sum = Insert::or_change(&T, &[Set::Add("b"), Set::Replace("c")]);
        assert_eq!(sum.many(), format!("{many} ON CONFLICT (a) DO UPDATE SET b = t.b + excluded.b, c = excluded.c"));
        let least = Insert::or_change(&T, &[Set::Least("b")]);
        assert!(least.one().ends_with("b = CASE WHEN excluded.b < t.b THEN excluded.b ELSE t.b END"), "{least:?}");
    }

    #[test]
    fn rows_of_one_key_become_one() {
        let insert = Insert::or_change(&T, &[Set::Greatest("b"), Set::Add("c")]);
        let mut stored = row!(T { a: "x", b: 5_i64, c: 1_i64 });
        assert_eq!(insert.key(&stored), [Value::from("x")]);
        for (b, c) in [(4_i64, 2_i64), (7, -4)] {
            insert.change(&mut stored, &row!(T { a: "x", b: b, c: c }));
        }
        assert_eq!(stored, row!(T { a: "x", b: 7_i64, c: -1_i64 }));
    }

    #[test]
    fn a_row_that_no_index_could_hold_is_refused() {
        let insert = Insert::into(&T);
        let of = |length: usize| row!(T { a: "x".repeat(length), b: 1_i64, c: 1_i64 });
        let most = MAX_KEY - AROUND_VALUE;
        assert_eq!(insert.refusal(&of(most)), None);
        let refused = StoreError::LongKey { bytes: MAX_KEY + 1, max: MAX_KEY };
        assert_eq!(insert.refusal(&of(most + 1)), Some(refused));
    }
}
