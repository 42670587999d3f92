//! Lists, newest first: which rows a page has.
//!
//! "Newest" is by the order in which rows were stored, which is that of their sequence numbers. In an index, entries with equal
//! columns have that order, too. So the newest rows with some values in all its columns are read off its end, however many
//! there are. Each index of a list begins with the columns of one filter and ends with those of [`Table::groups`], which have
//! few values. A list looks through the index once for each of their values that occurs, and merges what it finds. Thus one
//! index serves its filter with each of the groups, and without.
//!
//! A period is a range of sequence numbers, nearly ([`crate::rows::times`]).

use std::ops::ControlFlow;

use crate::engine::db::Db;
use crate::fault::Fault;
use crate::rows::times::{self, Period, Span};
use crate::value::{Value, values};

/// What is listed.
pub(crate) struct Table {
    pub(crate) name: &'static str,
    /// What each row is joined with, if anything.
    pub(crate) joins: &'static str,
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
    /// The index: SQLite, which does not know how many rows have a value, may choose another unless it is told.
    pub(crate) by: Option<&'static str>,
    /// The columns with which the index begins, with their values; without any, the whole table is one part, in which the
    /// groups do not matter.
    pub(crate) index: Vec<Condition>,
    /// What is looked up in the rows that are found.
    pub(crate) checks: Vec<Condition>,
    /// Conditions that are complete with their values, one of which has to be true.
    pub(crate) any: Option<Vec<(&'static str, Value)>>,
    /// A condition without values.
    pub(crate) only: Option<&'static str>,
}

/// A column and its value.
pub(crate) type Condition = (&'static str, Value);

/// How many ranges, and how many parts, are looked through in one question.
const MAX_RANGES: usize = 100;

/// One end of an index: rows that have their order there.
struct Range {
    from: String,
    /// Columns and how they are compared, with the values.
    conditions: Vec<(String, Value)>,
    any: Option<Vec<(&'static str, Value)>>,
    only: Option<&'static str>,
}

/// The sequence numbers of the rows, newest first. They are of one moment only inside a transaction.
pub(crate) fn newest(db: &Db<'_>, listing: &Listing) -> Result<Vec<i64>, Fault> {
    // Before the spans: which values a group has does not depend on the period.
    let ranges = listing.ranges(db)?;
    let mut found = Vec::new();
    for span in times::spans(db, listing.table.times, &listing.period)? {
        let left = listing.limit.saturating_sub(found.len());
        let mut of_span = Vec::new();
        for ranges in ranges.chunks(MAX_RANGES) {
            of_span.extend(newest_of(db, ranges, span, left)?);
        }
        of_span.sort_unstable_by(|one: &i64, other| other.cmp(one));
        of_span.truncate(left);
        found.append(&mut of_span);
        // Spans come newest first, so the rest has older rows only.
        if found.len() >= listing.limit {
            break;
        }
    }
    Ok(found)
}

/// The rows of these ranges within the span: the newest of each, at most `limit`.
fn newest_of(db: &Db<'_>, ranges: &[Range], span: Span, limit: usize) -> Result<Vec<i64>, Fault> {
    let mut values: Vec<Value> = values![span.first, span.last, limit].into();
    let parts: Vec<String> = ranges.iter().map(|range| range.sql(&mut values)).collect();
    let sql = parts.join(" UNION ALL ");
    db.all(&sql, &values, |row| row.get(0))
}

/// The values of a column that begins an index, each once. The time it takes grows with their number, not with that of rows.
pub(crate) fn distinct(db: &Db<'_>, table: &str, column: &str) -> Result<Vec<String>, Fault> {
    let once = each_once(table, &[], 0, &[column]);
    db.all(&format!("{once} SELECT value_0 FROM once_0 WHERE value_0 IS NOT NULL"), &[], |row| row.get(0))
}

/// SQL for tables `once_0`, `once_1`, …, one for each of `columns`, with the values `value_0`, … that it has together with
/// those before it, each once; the last value may be NULL, too. `known` are columns, and how many values the question has
/// before theirs. The columns follow each other in an index, so that each value is found by a look into it.
pub(crate) fn each_once(table: &str, known: &[&str], before_known: usize, columns: &[&str]) -> String {
    let mut tables = Vec::new();
    for (place, column) in columns.iter().enumerate() {
        // Column by column: of `(verdict, tier) > (?, ?)` SQLite looks through all rows that are equal.
        let given = known.iter().zip(before_known + 1..).map(|(column, number)| format!("{column} = ${number}"));
        let before = columns.iter().take(place).enumerate();
        // The first value behind those of a row of `once`.
        let first = |once: usize, more: Option<String>| {
            let before = before.clone().map(|(place, column)| format!("{column} = once_{once}.value_{place}"));
            let conditions: Vec<String> = given.clone().chain(before).chain(more).collect();
            let only = if conditions.is_empty() { "" } else { " WHERE " };
            format!("(SELECT min({column}) FROM {table}{only}{})", conditions.join(" AND "))
        };
        let of = |once: usize| (0..place).map(|place| format!("once_{once}.value_{place}, ")).collect::<String>();
        let names: Vec<String> = (0..=place).map(|place| format!("value_{place}")).collect();
        let (begin, from) = match place.checked_sub(1) {
            None => (first(place, None), String::new()),
            Some(earlier) => {
                (of(earlier) + &first(earlier, None), format!(" FROM once_{earlier} WHERE value_{earlier} IS NOT NULL"))
            }
        };
        let next = of(place) + &first(place, Some(format!("{column} > once_{place}.value_{place}")));
        tables.push(format!(
            "once_{place} ({}) AS (SELECT {begin}{from} UNION ALL
                 SELECT {next} FROM once_{place} WHERE value_{place} IS NOT NULL)",
            names.join(", ")
        ));
    }
    format!("WITH RECURSIVE {}", tables.join(", "))
}

impl Listing {
    fn ranges(&self, db: &Db<'_>) -> Result<Vec<Range>, Fault> {
        let mut ranges = Vec::new();
        let is_whole = |part: &Part| part.index.is_empty() || self.table.groups.is_empty();
        let divided: Vec<&Part> = self.parts.iter().filter(|part| !is_whole(part)).collect();
        let mut groups = groups(db, self.table, &divided)?.into_iter();
        for part in &self.parts {
            if is_whole(part) {
                ranges.push(self.range(db, part, &[]));
                continue;
            }
            for values in groups.next().unwrap_or_default() {
                let is_wanted = |(wanted, value): (&Value, &Value)| *wanted == Value::Null || wanted == value;
                if self.groups.iter().zip(&values).all(is_wanted) {
                    ranges.push(self.range(db, part, &values));
                }
            }
        }
        Ok(ranges)
    }

    fn range(&self, db: &Db<'_>, part: &Part, groups: &[Value]) -> Range {
        let time = self.table.time;
        let groups = self.table.groups.iter().copied().zip(groups.iter().cloned());
        let equal = part.index.iter().cloned().chain(groups).chain(part.checks.iter().cloned());
        let equal = equal.map(|(column, value)| (format!("{column} ="), value));
        let since = self.period.since.map(|since| (format!("{time} >="), since.into()));
        let until = self.period.until.map(|until| (format!("{time} <"), until.into()));
        let conditions = equal.chain(since).chain(until).collect();
        Range { from: self.table.from(db, part.by), conditions, any: part.any.clone(), only: part.only }
    }
}

impl Range {
    /// The question for its rows, whose first values are the ends of a span and how many; the others are put behind them.
    fn sql(&self, values: &mut Vec<Value>) -> String {
        let mut sql =
            format!("SELECT sequence FROM (SELECT sequence FROM {} WHERE sequence BETWEEN $1 AND $2", self.from);
        for (compared, value) in &self.conditions {
            values.push(value.clone());
            sql += &format!(" AND {compared} ${}", values.len());
        }
        if let Some(any) = &self.any {
            sql = format!("{sql} AND {}", any_of(any, values));
        }
        if let Some(only) = self.only {
            sql = format!("{sql} AND {only}");
        }
        sql + " ORDER BY sequence DESC LIMIT $3) AS of_range"
    }
}

/// SQL for whether one of these conditions is true, whose values are put behind the others.
pub(crate) fn any_of(conditions: &[(&str, Value)], values: &mut Vec<Value>) -> String {
    let conditions = conditions.iter().map(|(condition, value)| {
        values.push(value.clone());
        condition.replace("{}", &format!("${}", values.len()))
    });
    let any = conditions.collect::<Vec<_>>().join(" OR ");
    if any.is_empty() { "1 = 0".to_owned() } else { format!("({any})") }
}

impl Table {
    fn from(&self, db: &Db<'_>, by: Option<&str>) -> String {
        let Self { name, joins, .. } = self;
        match (by, joins.is_empty()) {
            (Some(index), _) => db.spelled(format!("{name} INDEXED BY {index}"), (*name).to_owned()),
            (None, true) => (*name).to_owned(),
            // SQLite keeps to the order of a cross join: the few rows that wait first, and then each one's decision.
            (None, false) => db.spelled(format!("{name} CROSS JOIN {joins}"), format!("{name} JOIN {joins}")),
        }
    }
}

/// For each of the parts, the values that the groups have together in its rows. For each of them a few entries of the index are
/// read.
fn groups(db: &Db<'_>, table: &Table, parts: &[&Part]) -> Result<Vec<Vec<Vec<Value>>>, Fault> {
    let Some(last) = table.groups.len().checked_sub(1) else { return Ok(Vec::new()) };
    let columns = (0..=last).map(|place| format!("value_{place}")).collect::<Vec<_>>().join(", ");
    let mut found = Vec::new();
    for parts in parts.chunks(MAX_RANGES) {
        let (mut questions, mut values) = (Vec::new(), Vec::new());
        for (number, part) in parts.iter().enumerate() {
            let (known, its): (Vec<&str>, Vec<Value>) = part.index.iter().cloned().unzip();
            let once = each_once(&table.from(db, part.by), &known, values.len(), table.groups);
            values.extend(its);
            questions.push(format!(
                "SELECT {number}, {columns} FROM
                     ({once} SELECT {columns} FROM once_{last} WHERE value_{last} IS NOT NULL) AS of_part"
            ));
        }
        let mut of_parts = vec![Vec::new(); parts.len()];
        db.each(&questions.join(" UNION ALL "), &values, |row| {
            let groups = (0..=last).map(|place| row.get(place + 1)).collect::<Result<_, _>>()?;
            of_parts.get_mut(row.get::<usize>(0)?).into_iter().for_each(|of: &mut Vec<_>| of.push(Vec::clone(&groups)));
            Ok(ControlFlow::Continue(()))
        })?;
        found.append(&mut of_parts);
    }
    Ok(found)
}
