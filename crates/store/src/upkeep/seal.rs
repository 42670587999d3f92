//! How a store is marked and sealed: triggers have the database itself refuse whatever would change a row. So they also hold for
//! processes that have the store open, and for other programs.

use std::fs;
use std::path::Path;

use crate::engine::db::Db;
use crate::engine::{file, sqlite};
use crate::error::StoreError;
use crate::fault::Fault;
use crate::mark::{MOVED_STATE, Mark, Origin, REFUSED, UNFINISHED_STATE};
use crate::place::Place;
use crate::row::Row;
use crate::statement::Statement;
use crate::table::Spelling;
use crate::tables::{OWN, TABLES};
use crate::value::values;

/// Asks for the mark, where its table exists.
pub(crate) const READ: &str = "SELECT state, place, latest FROM copy_mark";

/// The mark in a row of [`READ`].
pub(crate) fn read(row: &Row<'_>) -> Result<Mark, Fault> {
    Ok(Mark::of_columns(row.text(0)?, row.get(1)?, row.get(2)?))
}

/// The mark of a store, if it has one.
pub(crate) fn find(db: &Db<'_>) -> Result<Option<Mark>, Fault> {
    if db.exists(exists(db.spelled(Spelling::Sqlite, Spelling::Postgres)), &[])? {
        db.one(READ, &[], read)
    } else {
        Ok(None)
    }
}

/// As [`find`], of a file that no connection is open to, after [`file::inspect`].
///
/// # Errors
/// As [`file::inspect`], and when the file cannot be read.
pub(crate) fn find_in_file(path: &Path) -> Result<Option<Mark>, StoreError> {
    file::inspect(path)?;
    // A process that has the file open may have left the mark in the log; else the log is not looked at, and not recovered.
    let mut log = path.as_os_str().to_owned();
    log.push("-wal");
    let connection = if fs::metadata(log).is_ok_and(|log| log.len() > 0) {
        sqlite::open_to_read(path)?
    } else {
        file::unlocked(path).map_err(|error| StoreError::of_sqlite(path, &error))?
    };
    find(&Db::Sqlite(&connection)).map_err(|fault| StoreError::of_fault(&Place::File(path.to_owned()), &fault))
}

/// Replaces the mark of a store. Its rows can be changed until they are sealed.
pub(crate) fn put(mark: &Mark) -> Vec<Statement> {
    let (state, place, latest) = match mark {
        Mark::Moved { to } => (MOVED_STATE, to, 0),
        Mark::Unfinished(Origin { place, latest }) => (UNFINISHED_STATE, place, *latest),
    };
    let table =
        "CREATE TABLE IF NOT EXISTS copy_mark (state TEXT NOT NULL, place TEXT NOT NULL, latest BIGINT NOT NULL)";
    vec![
        plain(table),
        plain("DELETE FROM copy_mark"),
        Statement::other(
            "INSERT INTO copy_mark (state, place, latest) VALUES ($1, $2, $3)",
            values![state, place, latest],
        ),
    ]
}

/// Asks whether the table of the mark exists.
pub(crate) fn exists(spelling: Spelling) -> &'static str {
    match spelling {
        Spelling::Sqlite => "SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = 'copy_mark'",
        Spelling::Postgres => {
            "SELECT 1 FROM pg_catalog.pg_tables WHERE schemaname = current_schema() AND tablename = 'copy_mark'"
        }
    }
}

/// Takes the mark away. The tables must not be sealed any more.
pub(crate) fn remove(spelling: Spelling) -> Vec<Statement> {
    let function = matches!(spelling, Spelling::Postgres).then(|| plain("DROP FUNCTION refuse_change()"));
    std::iter::once(plain("DROP TABLE copy_mark")).chain(function).collect()
}

/// What the tables need before they are sealed.
pub(crate) fn prepare_seals(spelling: Spelling) -> Vec<Statement> {
    let function = format!(
        "CREATE OR REPLACE FUNCTION refuse_change() RETURNS trigger LANGUAGE plpgsql AS
         $$ BEGIN RAISE EXCEPTION USING MESSAGE = TG_ARGV[0], ERRCODE = '{REFUSED}'; END $$"
    );
    Vec::from_iter(matches!(spelling, Spelling::Postgres).then(|| plain(&function)))
}

/// All tables that are sealed.
pub(crate) fn all_tables() -> impl Iterator<Item = &'static str> {
    TABLES.iter().chain(&OWN).map(|table| table.name)
}

/// Has the database refuse every change of a table.
pub(crate) fn seal(spelling: Spelling, table: &str, mark: &Mark) -> Vec<Statement> {
    // The text of a trigger takes no parameters, so it stands in it as a literal.
    let refusal = mark.refusal().replace('\'', "''");
    match spelling {
        Spelling::Sqlite => CHANGES
            .iter()
            .map(|change| {
                let (name, body) = (trigger(table, change), format!("SELECT RAISE(ABORT, '{refusal}')"));
                plain(&format!("CREATE TRIGGER {name} BEFORE {change} ON {table} BEGIN {body}; END"))
            })
            .collect(),
        Spelling::Postgres => vec![plain(&format!(
            "CREATE TRIGGER sealed BEFORE INSERT OR UPDATE OR DELETE OR TRUNCATE ON {table}
             FOR EACH STATEMENT EXECUTE FUNCTION refuse_change('{refusal}')"
        ))],
    }
}

/// Undoes [`seal`].
pub(crate) fn unseal(spelling: Spelling, table: &str) -> Vec<Statement> {
    match spelling {
        Spelling::Sqlite => {
            CHANGES.iter().map(|change| plain(&format!("DROP TRIGGER IF EXISTS {}", trigger(table, change)))).collect()
        }
        Spelling::Postgres => vec![plain(&format!("DROP TRIGGER IF EXISTS sealed ON {table}"))],
    }
}

const CHANGES: [&str; 3] = ["INSERT", "UPDATE", "DELETE"];

fn trigger(table: &str, change: &str) -> String {
    format!("sealed_{table}_{}", change.to_ascii_lowercase())
}

fn plain(sql: &str) -> Statement {
    Statement::other(sql.to_owned(), [])
}
