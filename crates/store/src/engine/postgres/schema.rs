//! The schema of a store in PostgreSQL.
//!
//! A new store begins at the version of today. Servers of two versions may use one store at the same time: a new version first adds
//! what older ones can ignore, and takes away a version later. `needs` says which version a program must know to use the store.

use std::time::Duration;

use crate::engine::postgres::connection::{Connection, Database, Role};
use crate::engine::postgres::trouble::Trouble;
use crate::engine::sqlite;
use crate::error::StoreError;
use crate::fault::Fault;
use crate::place::Place;
use crate::row::Row;
use crate::table::Spelling;
use crate::tables;

/// The version of the schema, which is that of files.
const VERSION: i64 = sqlite::VERSION as i64;

/// The version that a program must know to use a new store.
const NEEDS: i64 = VERSION;

/// Who makes a schema has this lock: `proofmark` as a number.
const LOCK: i64 = 0x7072_6f6f_666d_726b;

const DEADLINE: Duration = Duration::from_secs(60);

/// What the schema that new tables would go to contains: any table, a store, a store of a build before version 0.1.0.
const LOOK: &str = "SELECT current_schema() IS NOT NULL,
    EXISTS (SELECT 1 FROM pg_catalog.pg_tables WHERE schemaname = current_schema()),
    (SELECT count(*) FROM information_schema.columns WHERE table_schema = current_schema()
        AND (table_name, column_name) IN (('proofmark', 'version'), ('proofmark', 'needs'), ('receipts', 'receipt_id'))) = 3,
    (SELECT count(*) FROM information_schema.columns WHERE table_schema = current_schema()
        AND (table_name, column_name) IN (('schema', 'version'), ('schema', 'needs'), ('receipts', 'receipt_id'))) = 3";

/// What a database contains.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Found {
    /// No schema of this name.
    NoSchema,
    Nothing,
    /// Tables of another program.
    Foreign,
    /// A store of a build before version 0.1.0.
    Earlier,
    Store {
        version: i64,
        needs: i64,
    },
}

/// Whether there is a store that this program can use. Changes nothing.
///
/// # Errors
/// [`StoreError::Missing`], [`StoreError::Foreign`], [`StoreError::Newer`], and when the database cannot be asked.
pub(crate) fn inspect(database: &Database) -> Result<(), StoreError> {
    let connection = database.connect(Role::Reader).map_err(|trouble| trouble.error)?;
    let (_, found) = database.with(connection, DEADLINE, |connection| Box::pin(look(connection)));
    usable(database.place(), found.map_err(|trouble| trouble.error)?)
}

/// Makes the store where there is none. The connection for writing that it was done on.
///
/// # Errors
/// [`StoreError::Foreign`], [`StoreError::Earlier`], [`StoreError::Newer`], and when the database cannot be changed.
pub(crate) fn make(database: &Database) -> Result<Connection, StoreError> {
    let connection = database.connect(Role::Writer).map_err(|trouble| trouble.error)?;
    let schema = database.schema().map(str::to_owned);
    let (connection, made) =
        database.with(connection, DEADLINE, move |connection| Box::pin(make_on(connection, schema)));
    usable(database.place(), made.map_err(|trouble| trouble.error)?)?;
    // The last statement was answered.
    connection.ok_or_else(|| Trouble::lost(database.place(), "the connection was lost").error)
}

/// Refuses what is no store that this program can use.
fn usable(place: &Place, found: Found) -> Result<(), StoreError> {
    match found {
        Found::NoSchema | Found::Nothing => Err(StoreError::Missing { place: place.clone() }),
        Found::Foreign => Err(StoreError::Foreign { place: place.clone() }),
        Found::Earlier => Err(StoreError::Earlier { place: place.clone() }),
        Found::Store { version, needs } => check(place, version, needs),
    }
}

/// Refuses a store of this version if this program does not know the version that it `needs`.
///
/// # Errors
/// [`StoreError::Newer`], and [`StoreError::Foreign`] for a version that there cannot be.
pub(crate) fn check(place: &Place, version: i64, needs: i64) -> Result<(), StoreError> {
    let place = place.clone();
    match u32::try_from(version) {
        Err(_) => Err(StoreError::Foreign { place }),
        Ok(found) if needs > VERSION => Err(StoreError::Newer { place, found, known: sqlite::VERSION.unsigned_abs() }),
        Ok(_) => Ok(()),
    }
}

async fn look(connection: &mut Connection) -> Result<Found, Fault> {
    let client = &connection.client;
    // The catalogue shows columns of tables that this user may use: a store of somebody else is foreign to it.
    let rows = client.query(LOOK, &[]).await?;
    let Some(row) = rows.first() else { return Ok(Found::Foreign) };
    let truth = |column| Row::Postgres(row).get::<bool>(column);
    Ok(match (truth(0)?, truth(1)?, truth(2)?, truth(3)?) {
        (false, ..) => Found::NoSchema,
        (true, false, ..) => Found::Nothing,
        (true, true, false, false) => Found::Foreign,
        (true, true, false, true) => Found::Earlier,
        (true, true, true, _) => {
            let row = client.query_opt("SELECT version, needs FROM proofmark", &[]).await?;
            match row {
                Some(row) => {
                    let row = Row::Postgres(&row);
                    Found::Store { version: row.get(0)?, needs: row.get(1)? }
                }
                None => Found::Foreign,
            }
        }
    })
}

/// Makes the store in one transaction, unless there is something already. What there is afterwards.
async fn make_on(connection: &mut Connection, schema: Option<String>) -> Result<Found, Fault> {
    let found = look(connection).await?;
    if matches!(found, Found::Store { .. }) {
        add_log(connection).await?;
    }
    if !matches!(found, Found::NoSchema | Found::Nothing) {
        return Ok(found);
    }
    begin_locked(connection).await?;
    let found = look(connection).await?;
    let make_schema = match (found, schema) {
        (Found::Nothing, _) => String::new(),
        (Found::NoSchema, Some(schema)) => format!("CREATE SCHEMA \"{schema}\";"),
        (found, _) => {
            connection.client.batch_execute("ROLLBACK").await?;
            return Ok(found);
        }
    };
    let tables = tables::schema(Spelling::Postgres);
    let note = format!("INSERT INTO proofmark (only_row, version, needs) VALUES (0, {VERSION}, {NEEDS})");
    connection.client.batch_execute(&format!("{make_schema} {tables} {note}; COMMIT")).await?;
    look(connection).await
}

/// Begins a transaction in which no other server makes tables. The second of two waits, and finds what the first has made.
async fn begin_locked(connection: &mut Connection) -> Result<(), Fault> {
    let lock = format!("BEGIN; SET LOCAL lock_timeout = '30s'; SELECT pg_advisory_xact_lock({LOCK})");
    Ok(connection.client.batch_execute(&lock).await?)
}

/// Makes the transparency log of a store that has none, with all that is stored.
async fn add_log(connection: &mut Connection) -> Result<(), Fault> {
    const LOOK: &str =
        "SELECT 1 FROM pg_catalog.pg_tables WHERE schemaname = current_schema() AND tablename = 'log_entries'";
    if connection.client.query_opt(LOOK, &[]).await?.is_some() {
        return Ok(());
    }
    begin_locked(connection).await?;
    let missing = match connection.client.query_opt(LOOK, &[]).await? {
        // Nothing is stored meanwhile.
        None => "LOCK TABLE clock;".to_owned() + &tables::log_schema(Spelling::Postgres),
        Some(_) => String::new(),
    };
    Ok(connection.client.batch_execute(&format!("{missing} COMMIT")).await?)
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};
    use std::thread;

    use proofmark_testing::postgres::{self as server};

    use super::*;
    use crate::Store;

    /// What makes a table: its columns, with types and whether they may be empty; its keys; and its indexes.
    #[derive(Debug, Default, PartialEq, Eq)]
    struct Table {
        columns: Vec<(String, String, bool)>,
        keys: BTreeSet<Vec<String>>,
        indexes: BTreeSet<(String, bool)>,
    }

    fn database(url: &str) -> Database {
        match Place::parse(url) {
            Place::Database(url) => Database::at(&url).unwrap(),
            Place::File(_) => panic!("{url}"),
        }
    }

    fn tables_of_sqlite() -> BTreeMap<String, Table> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("store.db");
        drop(Store::open(&path).unwrap());
        let file = rusqlite::Connection::open(path).unwrap();
        let rows = |sql: &str, table: &str| -> Vec<(String, String, bool)> {
            let mut statement = file.prepare(sql).unwrap();
            let rows = statement.query_map([table], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)));
            rows.unwrap().map(Result::unwrap).collect()
        };
        let names = rows("SELECT name, '', 0 FROM sqlite_schema WHERE type = ?1", "table");
        let table = |name: &str| {
            let columns = "SELECT name, type, \"notnull\" OR pk > 0 FROM pragma_table_info(?1)";
            let primary = "SELECT name, '', 0 FROM pragma_table_info(?1) WHERE pk > 0 ORDER BY pk";
            let unique = "SELECT name, '', 0 FROM pragma_index_list(?1) WHERE origin = 'u'";
            let of_key = "SELECT name, '', 0 FROM pragma_index_info(?1) ORDER BY seqno";
            let indexes = "SELECT name, '', \"unique\" FROM pragma_index_list(?1) WHERE origin = 'c'";
            let names = |rows: Vec<(String, String, bool)>| rows.into_iter().map(|(name, ..)| name).collect::<Vec<_>>();
            let keys = names(rows(unique, name)).into_iter().map(|key| names(rows(of_key, &key)));
            Table {
                columns: rows(columns, name),
                keys: keys.chain([names(rows(primary, name))]).collect(),
                indexes: rows(indexes, name).into_iter().map(|(name, _, unique)| (name, unique)).collect(),
            }
        };
        names.into_iter().map(|(name, ..)| (name.clone(), table(&name))).collect()
    }

    fn tables_of_postgres(database: &server::Database) -> BTreeMap<String, Table> {
        let mut tables: BTreeMap<String, Table> = BTreeMap::new();
        let rows = |sql: &str| -> Vec<Vec<String>> {
            let text = database.psql(sql);
            text.lines().map(|line| line.split('|').map(str::to_owned).collect()).collect()
        };
        for row in rows(
            "SELECT table_name, column_name, is_nullable = 'NO', collation_name,
                    CASE WHEN data_type = 'boolean' THEN 'truth' ELSE data_type END
             FROM information_schema.columns WHERE table_schema = 'public' ORDER BY table_name, ordinal_position",
        ) {
            let [table, column, filled, collation, kind] = row.as_slice() else { panic!("{row:?}") };
            let kind = match (kind.as_str(), collation.as_str()) {
                ("bigint" | "truth", "") => "INTEGER",
                ("text", "C") => "TEXT",
                ("bytea", "") => "BLOB",
                other => panic!("{table}.{column}: {other:?}"),
            };
            let columns = &mut tables.entry(table.clone()).or_default().columns;
            columns.push((column.clone(), kind.to_owned(), filled == "t"));
        }
        for row in rows(
            "SELECT conrelid::regclass, (SELECT string_agg(attname, ',' ORDER BY place)
                 FROM unnest(conkey) WITH ORDINALITY AS key (number, place)
                 JOIN pg_attribute ON attrelid = conrelid AND attnum = number)
             FROM pg_constraint WHERE contype IN ('p', 'u') AND connamespace = 'public'::regnamespace",
        ) {
            let key = row[1].split(',').map(str::to_owned).collect();
            tables.entry(row[0].clone()).or_default().keys.insert(key);
        }
        for row in rows(
            "SELECT indrelid::regclass, indexrelid::regclass, indisunique FROM pg_index
             WHERE indrelid::regclass::text IN (SELECT tablename FROM pg_tables WHERE schemaname = 'public')
                 AND NOT EXISTS (SELECT 1 FROM pg_constraint WHERE conindid = indexrelid)",
        ) {
            tables.entry(row[0].clone()).or_default().indexes.insert((row[1].clone(), row[2] == "t"));
        }
        tables
    }

    #[test]
    fn both_engines_have_the_same_tables() {
        let Some(theirs) = server::database() else { return };
        drop(make(&database(&theirs.url())).unwrap());
        let (sqlite, mut postgres) = (tables_of_sqlite(), tables_of_postgres(&theirs));
        assert!(postgres.remove("groups").is_some() && postgres.remove("proofmark").is_some());
        assert_eq!(sqlite.keys().collect::<Vec<_>>(), postgres.keys().collect::<Vec<_>>());
        for (name, table) in sqlite {
            assert_eq!(Some(&table), postgres.get(&name), "{name}");
        }
        assert_eq!(theirs.psql("SELECT latest FROM clock"), "0");
    }

    #[test]
    fn many_may_make_the_same_store_at_once() {
        let Some(theirs) = server::database() else { return };
        let missing = inspect(&database(&theirs.url())).unwrap_err();
        assert!(matches!(missing, StoreError::Missing { .. }), "{missing}");
        thread::scope(|scope| {
            let all: Vec<_> = (0..4).map(|_| scope.spawn(|| make(&database(&theirs.url())).map(drop))).collect();
            all.into_iter().for_each(|one| one.join().unwrap().unwrap());
        });
        inspect(&database(&theirs.url())).unwrap();
        assert_eq!(theirs.psql("SELECT version, needs FROM proofmark"), format!("{VERSION}|{VERSION}"));
    }

    #[test]
    fn what_is_not_ours_and_what_is_newer_is_left_alone() {
        let Some(theirs) = server::database() else { return };
        let _made = theirs.psql("CREATE TABLE schema (version text)");
        let foreign = make(&database(&theirs.url())).err().unwrap();
        assert!(matches!(foreign, StoreError::Foreign { .. }), "{foreign}");
        assert_eq!(theirs.psql("SELECT count(*) FROM pg_tables WHERE schemaname = 'public'"), "1");
        let _earlier = theirs.psql(
            "ALTER TABLE schema ADD COLUMN needs bigint; CREATE TABLE receipts (receipt_id bytea);
             GRANT SELECT ON schema, receipts TO PUBLIC",
        );
        for error in [make(&database(&theirs.url())).err().unwrap(), inspect(&database(&theirs.url())).unwrap_err()] {
            assert!(matches!(error, StoreError::Earlier { .. }), "{error}");
            assert!(error.help().unwrap().contains("receipt export"));
        }
        assert_eq!(theirs.psql("SELECT count(*) FROM pg_tables WHERE schemaname = 'public'"), "2");
        // Beside it there is room in a schema of its own.
        let own = format!("{}?search_path=proofs", theirs.url());
        drop(make(&database(&own)).unwrap());
        let _newer = theirs.psql("UPDATE proofs.proofmark SET version = 1000");
        drop(make(&database(&own)).unwrap());
        let _newer = theirs.psql("UPDATE proofs.proofmark SET needs = 1000");
        for error in [make(&database(&own)).err().unwrap(), inspect(&database(&own)).unwrap_err()] {
            assert!(matches!(error, StoreError::Newer { found: 1000, known: 1, .. }), "{error}");
        }
    }
}
