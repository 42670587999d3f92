//! What a table is. From this value come the schemas of both engines, the statements that insert rows, and the order in which
//! columns are read.

use std::fmt::Write as _;

use crate::fault::Fault;
use crate::row::{Readable, Row};

/// The type of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Integer,
    /// In SQLite the integers 0 and 1.
    Truth,
    Text,
    Bytes,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Column {
    pub(crate) name: &'static str,
    pub(crate) kind: Kind,
    is_optional: bool,
    /// How many bytes each of its values has.
    bytes: Option<u8>,
    /// A condition that each of its values fulfils.
    check: Option<&'static str>,
    references: Option<&'static str>,
}

/// An index, beside those of the keys.
#[derive(Debug)]
pub(crate) struct Index {
    pub(crate) name: &'static str,
    /// In SQLite the row's number follows by itself.
    pub(crate) columns: &'static [&'static str],
    pub(crate) is_unique: bool,
    /// Which rows it has, where it does not have all.
    pub(crate) only: Option<&'static str>,
}

/// What becomes of rows once they are stored. PostgreSQL leaves a changed or deleted row where it was until it cleans up: a
/// table that changes again and again is cleaned up soon, and has room on its pages for new versions of its rows.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Fate {
    /// They stay as they are.
    Stay,
    /// They are deleted soon.
    Pass,
    /// They are changed often. So much of a page is filled at first, in percent.
    Change(u8),
}

#[derive(Debug)]
pub(crate) struct Table {
    pub(crate) name: &'static str,
    pub(crate) columns: &'static [Column],
    /// The columns of its primary key.
    pub(crate) key: &'static [&'static str],
    /// Its other keys.
    pub(crate) unique: &'static [&'static [&'static str]],
    pub(crate) indexes: &'static [Index],
    /// Conditions that each row fulfils.
    pub(crate) checks: &'static [&'static str],
    pub(crate) fate: Fate,
    /// Whether SQLite stores the rows in the order of the key: short rows that are found by it alone.
    pub(crate) is_clustered: bool,
}

/// What most tables do not need.
pub(crate) const PLAIN: Table = Table {
    name: "",
    columns: &[],
    key: &[],
    unique: &[],
    indexes: &[],
    checks: &[],
    fate: Fate::Stay,
    is_clustered: false,
};

/// A row with all columns of a table, which are read by their names.
pub(crate) struct Fields<'r> {
    table: &'static Table,
    row: &'r Row<'r>,
    /// How many other columns come first.
    first: usize,
}

pub(crate) const fn integer(name: &'static str) -> Column {
    column(name, Kind::Integer)
}

pub(crate) const fn truth(name: &'static str) -> Column {
    column(name, Kind::Truth)
}

pub(crate) const fn text(name: &'static str) -> Column {
    column(name, Kind::Text)
}

pub(crate) const fn bytes(name: &'static str) -> Column {
    column(name, Kind::Bytes)
}

const fn column(name: &'static str, kind: Kind) -> Column {
    Column { name, kind, is_optional: false, bytes: None, check: None, references: None }
}

pub(crate) const fn index(name: &'static str, columns: &'static [&'static str]) -> Index {
    Index { name, columns, is_unique: false, only: None }
}

impl Kind {
    /// The name of the type in PostgreSQL.
    pub(crate) fn of_postgres(self) -> &'static str {
        match self {
            Self::Integer => "bigint",
            Self::Truth => "boolean",
            Self::Text => "text",
            Self::Bytes => "bytea",
        }
    }
}

impl Column {
    /// It may be NULL.
    pub(crate) const fn optional(self) -> Self {
        Self { is_optional: true, ..self }
    }

    pub(crate) const fn of_bytes(self, bytes: u8) -> Self {
        Self { bytes: Some(bytes), ..self }
    }

    pub(crate) const fn check(self, check: &'static str) -> Self {
        Self { check: Some(check), ..self }
    }

    /// Its values are the key of a row of another table. SQLite watches over it. In PostgreSQL rows of several tables are
    /// inserted in an order that the writer does not choose, and the writer alone sees to it.
    pub(crate) const fn references(self, table: &'static str) -> Self {
        Self { references: Some(table), ..self }
    }

    fn print(&self, engine: Spelling) -> String {
        let Self { name, kind, is_optional, bytes, check, references } = *self;
        let mut text = format!("{name} {}", engine.type_of(kind));
        // Of keys, too: SQLite would let NULL be one.
        if !is_optional {
            text += " NOT NULL";
        }
        if let Some(bytes) = bytes {
            // Writing to a string does not fail.
            let _written = write!(text, " CHECK (length({name}) = {bytes})");
        }
        if let Some(check) = check {
            let _written = write!(text, " CHECK ({check})");
        }
        if let (Some(table), Spelling::Sqlite) = (references, engine) {
            let _written = write!(text, " REFERENCES {table} ({name})");
        }
        text
    }
}

impl Index {
    /// The index that has these rows alone.
    pub(crate) const fn only(self, condition: &'static str) -> Self {
        Self { only: Some(condition), ..self }
    }

    pub(crate) const fn unique(self) -> Self {
        Self { is_unique: true, ..self }
    }

    fn print(&self, table: &Table, engine: Spelling) -> String {
        let mut columns = self.columns.to_vec();
        // As SQLite does by itself, so that lists read the newest rows off the end of it.
        if let (Spelling::Postgres, false, ["sequence"]) = (engine, self.is_unique, table.key)
            && columns.last() != Some(&"sequence")
        {
            columns.push("sequence");
        }
        let unique = if self.is_unique { "UNIQUE " } else { "" };
        let only = self.only.map_or_else(String::new, |only| format!(" WHERE {only}"));
        format!("CREATE {unique}INDEX {} ON {} ({}){only};\n", self.name, table.name, columns.join(", "))
    }
}

/// For which engine a schema is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Spelling {
    Sqlite,
    Postgres,
}

impl Spelling {
    fn type_of(self, kind: Kind) -> &'static str {
        match (self, kind) {
            (Self::Sqlite, Kind::Integer | Kind::Truth) => "INTEGER",
            (Self::Sqlite, Kind::Text) => "TEXT",
            (Self::Sqlite, Kind::Bytes) => "BLOB",
            // Compared byte by byte, as SQLite does.
            (Self::Postgres, Kind::Text) => "text COLLATE \"C\"",
            (Self::Postgres, kind) => kind.of_postgres(),
        }
    }

    /// What follows the columns of a table.
    fn options(self, table: &Table) -> String {
        const CLEANED: &str = "autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000, \
                               autovacuum_vacuum_cost_delay = 0";
        match (self, table.fate) {
            (Self::Sqlite, _) if table.is_clustered => " STRICT, WITHOUT ROWID".to_owned(),
            (Self::Sqlite, _) => " STRICT".to_owned(),
            (Self::Postgres, Fate::Stay) => String::new(),
            (Self::Postgres, Fate::Pass) => format!(" WITH ({CLEANED})"),
            (Self::Postgres, Fate::Change(filled)) => format!(" WITH (fillfactor = {filled}, {CLEANED})"),
        }
    }
}

impl Table {
    /// The statements that make it.
    pub(crate) fn schema(&self, engine: Spelling) -> String {
        let columns = self.columns.iter().map(|column| column.print(engine));
        let key = std::iter::once(format!("PRIMARY KEY ({})", self.key.join(", ")));
        let unique = self.unique.iter().map(|key| format!("UNIQUE ({})", key.join(", ")));
        let checks = self.checks.iter().map(|check| format!("CHECK ({check})"));
        let (within, behind): (Vec<String>, Vec<String>) = unique.partition(|_| engine == Spelling::Sqlite);
        let parts: Vec<String> = columns.chain(key).chain(within).chain(checks).collect();
        let mut text =
            format!("CREATE TABLE {} (\n    {}\n){};\n", self.name, parts.join(",\n    "), engine.options(self));
        let mut indexes: Vec<&Index> = self.indexes.iter().collect();
        if engine == Spelling::Postgres {
            // PostgreSQL takes the index that was made last where it knows no better one, as in a young table: that is to be one that
            // finds one row, and not the index of a list, which finds all rows of a tenant.
            indexes.sort_by_key(|index| index.is_unique);
        }
        indexes.into_iter().for_each(|index| text += &index.print(self, engine));
        behind.iter().for_each(|key| text += &format!("ALTER TABLE {} ADD {key};\n", self.name));
        text
    }

    /// Its columns, as a list.
    pub(crate) fn list(&self) -> String {
        self.columns.iter().map(|column| column.name).collect::<Vec<_>>().join(", ")
    }

    /// As [`Table::list`], with an empty text in the place of a column that may be long and is not wanted.
    pub(crate) fn list_without(&self, long: &str) -> String {
        self.columns
            .iter()
            .map(|column| if column.name == long { "''" } else { column.name })
            .collect::<Vec<_>>()
            .join(", ")
    }

    /// The place of a column, from 0.
    pub(crate) fn place(&self, name: &str) -> Option<usize> {
        self.columns.iter().position(|column| column.name == name)
    }

    /// A row that has the columns of [`Table::list`].
    pub(crate) fn fields<'r>(&'static self, row: &'r Row<'r>) -> Fields<'r> {
        self.fields_after(0, row)
    }

    /// As [`Table::fields`], behind so many other columns.
    pub(crate) fn fields_after<'r>(&'static self, first: usize, row: &'r Row<'r>) -> Fields<'r> {
        Fields { table: self, row, first }
    }

    /// All its keys and indexes: the columns of each.
    pub(crate) fn searched(&self) -> impl Iterator<Item = &'static [&'static str]> {
        let keys = std::iter::once(self.key).chain(self.unique.iter().copied());
        keys.chain(self.indexes.iter().map(|index| index.columns))
    }

    /// Whether these are its columns, in their order. For [`row`](crate::statement::row), which asks the compiler.
    pub(crate) const fn has_columns(&self, names: &[&str]) -> bool {
        if names.len() != self.columns.len() {
            return false;
        }
        let (mut names, mut columns) = (names, self.columns);
        while let ([name, more @ ..], [column, others @ ..]) = (names, columns) {
            if !is_same(name.as_bytes(), column.name.as_bytes()) {
                return false;
            }
            (names, columns) = (more, others);
        }
        true
    }
}

/// `==` of slices, which the compiler cannot evaluate in constants.
const fn is_same(one: &[u8], other: &[u8]) -> bool {
    let (mut one, mut other) = (one, other);
    while let ([first, more @ ..], [second, others @ ..]) = (one, other) {
        if *first != *second {
            return false;
        }
        (one, other) = (more, others);
    }
    one.is_empty() && other.is_empty()
}

impl Fields<'_> {
    /// The value of a column.
    ///
    /// # Errors
    /// [`Fault::Changed`] where it is of another type.
    pub(crate) fn get<T: Readable>(&self, column: &str) -> Result<T, Fault> {
        self.row.get(self.place(column)?)
    }

    /// The text of a column.
    ///
    /// # Errors
    /// As [`Fields::get`].
    pub(crate) fn text(&self, column: &str) -> Result<&str, Fault> {
        self.row.text(self.place(column)?)
    }

    fn place(&self, column: &str) -> Result<usize, Fault> {
        let place = self.table.place(column);
        place.map(|place| self.first + place).ok_or_else(|| Fault::changed(column, "the table has no such column"))
    }
}
