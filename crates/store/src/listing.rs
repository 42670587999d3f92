//! Lists, newest first: which rows a page has.
//!
//! "Newest" is by the order in which rows were stored, which is that of their sequence numbers. In an index, entries with equal
//! columns have that order, too. So the newest rows with some values in all its columns are read off its end, however many
//! there are. Each index of a list begins with the columns of one filter and ends with those of [`Table::groups`], which have
//! few values. A list looks through the index once for each of their values that occurs, and merges what it finds. Thus one
//! index serves its filter with each of the groups, and without.
//!
//! A period is a range of sequence numbers, nearly ([`crate::times`]).

use rusqlite::types::Value;
use rusqlite::{Connection, params_from_iter};

use crate::times::{self, Period, Span};

/// What is listed.
pub(crate) struct Table {
    pub(crate) name: &'static str,
    /// The last columns of each of its indexes for lists, in their order.
    pub(crate) groups: &'static [&'static str],
    /// The column that a period is about.
    pub(crate) time: &'static str,
    /// The table that says when the rows of each block were made.
    pub(crate) times: &'static str,
}

/// Which rows.
pub(crate) struct Listing {
    pub(crate) table: &'static Table,
    /// Those of any of these parts.
    pub(crate) parts: Vec<Part>,
    /// For each of [`Table::groups`] its value; NULL stands for any.
    pub(crate) groups: Vec<Value>,
    pub(crate) period: Period,
    /// How many at most.
    pub(crate) limit: usize,
}

/// Rows that one index finds.
#[derive(Clone, Default)]
pub(crate) struct Part {
    /// The columns with which the index begins, with their values; without any, the whole table is one part, in which the
    /// groups do not matter.
    pub(crate) index: Vec<Condition>,
    /// What is looked up in the rows that are found.
    pub(crate) checks: Vec<Condition>,
    /// A condition without values.
    pub(crate) only: Option<&'static str>,
}

/// A column and its value.
pub(crate) type Condition = (&'static str, Value);

/// One end of an index: rows that have their order there.
struct Range {
    sql: String,
    values: Vec<Value>,
}

/// The sequence numbers of the rows, newest first. They are of one moment only inside a transaction.
pub(crate) fn newest(connection: &Connection, listing: &Listing) -> rusqlite::Result<Vec<i64>> {
    let ranges = listing.ranges(connection)?;
    let mut found = Vec::new();
    for span in times::spans(connection, listing.table.times, &listing.period)? {
        let left = listing.limit.saturating_sub(found.len());
        let mut of_span = Vec::new();
        for range in &ranges {
            of_span.extend(range.newest(connection, span, left)?);
        }
        of_span.sort_unstable_by(|one: &i64, other| other.cmp(one));
        of_span.truncate(left);
        found.append(&mut of_span);
        if found.len() >= listing.limit {
            break;
        }
    }
    Ok(found)
}

/// The values of a column that begins an index, each once. The time it takes grows with their number, not with that of rows.
pub(crate) fn distinct(connection: &Connection, table: &str, column: &str) -> rusqlite::Result<Vec<String>> {
    let sql = format!("SELECT {column} FROM {table} WHERE {column} > ?1 ORDER BY {column} LIMIT 1");
    let mut statement = connection.prepare_cached(&sql)?;
    let mut all: Vec<String> = Vec::new();
    loop {
        let mut rows = statement.query([all.last().map_or("", String::as_str)])?;
        let Some(row) = rows.next()? else { return Ok(all) };
        all.push(row.get(0)?);
    }
}

impl Listing {
    fn ranges(&self, connection: &Connection) -> rusqlite::Result<Vec<Range>> {
        let mut ranges = Vec::new();
        for part in &self.parts {
            if part.index.is_empty() || self.table.groups.is_empty() {
                ranges.push(self.range(part, &[]));
                continue;
            }
            for values in part.groups(connection, self.table)? {
                let is_wanted = |(wanted, value): (&Value, &Value)| *wanted == Value::Null || wanted == value;
                if self.groups.iter().zip(&values).all(is_wanted) {
                    ranges.push(self.range(part, &values));
                }
            }
        }
        Ok(ranges)
    }

    fn range(&self, part: &Part, groups: &[Value]) -> Range {
        let Table { name, time, .. } = self.table;
        let groups = self.table.groups.iter().copied().zip(groups.iter().cloned());
        let (mut sql, mut values) = (format!("SELECT sequence FROM {name} WHERE sequence BETWEEN ? AND ?"), Vec::new());
        let mut narrow = |condition: String, value: Value| {
            sql = format!("{sql} AND {condition}");
            values.push(value);
        };
        part.index.iter().cloned().chain(groups).for_each(|(column, value)| narrow(format!("{column} = ?"), value));
        // The sign keeps SQLite from using another index for these, which would not be in the order of the list.
        part.checks.iter().cloned().for_each(|(column, value)| narrow(format!("+{column} = ?"), value));
        self.period.since.into_iter().for_each(|since| narrow(format!("+{time} >= ?"), since.into()));
        self.period.until.into_iter().for_each(|until| narrow(format!("+{time} < ?"), until.into()));
        let only = part.only.map_or_else(String::new, |only| format!(" AND {only}"));
        Range { sql: format!("{sql}{only} ORDER BY sequence DESC LIMIT ?"), values }
    }
}

impl Part {
    /// The values that the groups have together in this part's rows. Only as many entries of the index are read.
    fn groups(&self, connection: &Connection, table: &Table) -> rusqlite::Result<Vec<Vec<Value>>> {
        let columns = table.groups.join(", ");
        let begins = self.index.iter().map(|(column, _)| format!("{column} = ?")).collect::<Vec<_>>().join(" AND ");
        let after = format!(" AND ({columns}) > ({})", vec!["?"; table.groups.len()].join(", "));
        let statement = |after| {
            let sql = format!("SELECT {columns} FROM {} WHERE {begins}{after} ORDER BY {columns} LIMIT 1", table.name);
            connection.prepare_cached(&sql)
        };
        let (mut first, mut next) = (statement("")?, statement(&after)?);
        let mut all: Vec<Vec<Value>> = Vec::new();
        loop {
            let index = self.index.iter().map(|(_, value)| value);
            let mut rows = match all.last() {
                None => first.query(params_from_iter(index))?,
                Some(last) => next.query(params_from_iter(index.chain(last)))?,
            };
            let Some(row) = rows.next()? else { return Ok(all) };
            all.push((0..table.groups.len()).map(|column| row.get(column)).collect::<rusqlite::Result<_>>()?);
        }
    }
}

impl Range {
    fn newest(&self, connection: &Connection, span: Span, limit: usize) -> rusqlite::Result<Vec<i64>> {
        let mut statement = connection.prepare_cached(&self.sql)?;
        let bounds = [Value::from(span.first), Value::from(span.last)];
        let limit = Value::from(i64::try_from(limit).unwrap_or(i64::MAX));
        let values = bounds.iter().chain(&self.values).chain([&limit]);
        statement.query_map(params_from_iter(values), |row| row.get(0))?.collect()
    }
}
