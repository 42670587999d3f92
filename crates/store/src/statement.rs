//! What is asked of a database and what it is told, the same for both engines.
//!
//! Texts are written in the spelling that both engines take: parameters are `$1`, `$2`, …. What the two have no common spelling
//! for, [`crate::engine::db::Db::spelled`] chooses. A row is inserted by a value ([`Insert`]).

use std::borrow::Cow;

use crate::insert::Insert;
pub(crate) use crate::row::Record;
use crate::value::Value;

/// A statement that answers with rows.
#[derive(Clone, Debug)]
pub(crate) struct Question {
    pub(crate) text: Text,
    pub(crate) values: Vec<Value>,
}

/// The text of a question.
#[derive(Clone, Debug)]
pub(crate) enum Text {
    /// It is asked by itself.
    Alone(Cow<'static, str>),
    /// It may be asked about many values at once.
    Shared(&'static Texts),
}

/// The text of a question in both spellings of its values: made once, since a group has the question hundreds of times.
#[derive(Debug)]
pub(crate) struct Texts {
    pub(crate) given: String,
    pub(crate) columns: String,
}

/// How the values of a question are spelled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Parameters {
    /// As parameters.
    Given,
    /// As columns of a table of many values (`engine::postgres::asking`).
    Columns,
}

/// A statement that stores.
#[derive(Clone, Debug)]
pub(crate) enum Statement {
    /// A whole row.
    Insert { insert: &'static Insert, row: Vec<Value> },
    /// A change of rows, or what no row is inserted by.
    Other { sql: Cow<'static, str>, values: Vec<Value> },
}

/// A [`Question`] that may be shared: its text, which names its values, and the values. Behind `;` come parts of the text that
/// are put together of their names.
///
/// A macro, because one text is printed in two spellings, and nothing reads a text to find its parameters.
macro_rules! question {
    ($text:literal, $($name:ident: $value:expr),+ $(,)? $(; $($part:ident = $sql:expr),+)?) => {{
        fn text(parameters: $crate::statement::Parameters) -> String {
            // The names are given in the order of the values, wherever and however often the text has them.
            let mut numbers = 1_usize..;
            $(let $name = parameters.next(&mut numbers);)+
            $($(let $part = $sql;)+)?
            format!($text)
        }
        static TEXTS: std::sync::LazyLock<$crate::statement::Texts> = std::sync::LazyLock::new(|| {
            use $crate::statement::{Parameters, Texts};
            Texts { given: text(Parameters::Given), columns: text(Parameters::Columns) }
        });
        $crate::statement::Question {
            text: $crate::statement::Text::Shared(&TEXTS),
            values: vec![$($crate::value::Value::from($value)),+],
        }
    }};
}
pub(crate) use question;

/// The values of a row, each beside the name of its column. All columns of the table have to be there, in their order: else it does
/// not compile.
macro_rules! row {
    ($table:ident { $($column:ident: $value:expr),+ $(,)? }) => {{
        // A column that is added to the table stops the build at each place that inserts its rows.
        const _: () = assert!(
            $table.has_columns(&[$(stringify!($column)),+]),
            "these are not the columns of the table in their order"
        );
        vec![$($crate::value::Value::from($value)),+]
    }};
}
pub(crate) use row;

impl Question {
    /// A question that is asked by itself: it changes rows, or is about no values.
    pub(crate) fn alone(sql: impl Into<Cow<'static, str>>, values: impl Into<Vec<Value>>) -> Self {
        Self { text: Text::Alone(sql.into()), values: values.into() }
    }

    /// Its text by itself.
    pub(crate) fn sql(&self) -> Cow<'static, str> {
        match &self.text {
            Text::Alone(sql) => sql.clone(),
            Text::Shared(texts) => Cow::Borrowed(&texts.given),
        }
    }
}

impl Parameters {
    /// How the next value is spelled. Each calls this once, in their order.
    pub(crate) fn next(self, numbers: &mut impl Iterator<Item = usize>) -> String {
        // Numbers do not end.
        let number = numbers.next().unwrap_or_default();
        match self {
            Self::Given => format!("${number}"),
            Self::Columns => format!("batch.value_{number}"),
        }
    }
}

impl Statement {
    pub(crate) fn other(sql: impl Into<Cow<'static, str>>, values: impl Into<Vec<Value>>) -> Self {
        Self::Other { sql: sql.into(), values: values.into() }
    }

    pub(crate) fn values(&self) -> &[Value] {
        match self {
            Self::Insert { row: values, .. } | Self::Other { values, .. } => values,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_question_is_spelled_for_one_and_for_many() {
        let question =
            question!("SELECT a FROM t WHERE b = {name} AND c <> {other} OR d = {name}", name: "x", other: 1_i64);
        assert_eq!(question.sql(), "SELECT a FROM t WHERE b = $1 AND c <> $2 OR d = $1");
        let Text::Shared(texts) = question.text else { panic!("it is shared") };
        let many = "SELECT a FROM t WHERE b = batch.value_1 AND c <> batch.value_2 OR d = batch.value_1";
        assert_eq!(texts.columns, many);
        assert_eq!(question.values, [Value::from("x"), Value::from(1_i64)]);
    }
}
