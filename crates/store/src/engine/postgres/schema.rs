//! The schema of a store in PostgreSQL.
//!
//! A new store begins at the newest version. Migrations bring older ones there, each in a transaction of its own, while servers
//! of the version before still run: first add, and remove a version later. `needs` says which version a program must know to
//! use the store.

use std::borrow::Cow;
use std::thread;
use std::time::{Duration, Instant};

use tokio_postgres::error::SqlState;

use crate::engine::postgres::connection::{Connection, Database, Role};
use crate::engine::postgres::trouble::Trouble;
use crate::engine::sqlite::KNOWN;
use crate::error::StoreError;
use crate::fault::Fault;
use crate::place::Place;
use crate::row::Row;

/// The newest version.
const SCHEMA: &str = include_str!("schema.sql");

/// The version that a program must know to use a new store.
const NEEDS: i64 = KNOWN as i64;

/// What came after the first version that PostgreSQL had. A step adds what older programs can ignore, or raises `needs`.
const MIGRATIONS: &[Migration] = &[];

/// Who makes or changes a schema has this lock: `proofmark` as a number.
const LOCK: i64 = 0x7072_6f6f_666d_726b;

/// How long a migration waits for a lock. While it waits, everyone who needs the table waits behind it.
const LOCK_TIMEOUT: &str = "SET LOCAL lock_timeout = '50ms'";

/// How long a migration is tried again.
const MAX_WAIT: Duration = Duration::from_secs(30);

const TRY_AGAIN: Duration = Duration::from_millis(100);

const DEADLINE: Duration = Duration::from_secs(60);

/// What the schema that new tables would go to contains.
const LOOK: &str = "SELECT current_schema() IS NOT NULL,
    EXISTS (SELECT 1 FROM pg_catalog.pg_tables WHERE schemaname = current_schema()),
    (SELECT count(*) FROM information_schema.columns WHERE table_schema = current_schema()
        AND (table_name, column_name) IN (('schema', 'version'), ('schema', 'needs'), ('receipts', 'receipt_id'))) = 3";

/// One step of the schema's history.
#[derive(Clone, Copy)]
struct Migration {
    /// The version that it makes.
    version: i64,
    /// The version that a program must know afterwards.
    needs: i64,
    sql: &'static str,
}

/// What a database contains.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Found {
    /// No schema of this name.
    NoSchema,
    Nothing,
    /// Tables of another program.
    Foreign,
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
    usable(database.place(), found.map_err(|trouble| trouble.error)?).map(drop)
}

/// Makes the store where there is none, and brings it to the newest version. The connection for writing that it was done on.
///
/// # Errors
/// [`StoreError::Foreign`], [`StoreError::Newer`], [`StoreError::Locked`], and when the database cannot be changed.
pub(crate) fn make(database: &Database) -> Result<Connection, StoreError> {
    let connection = database.connect(Role::Writer).map_err(|trouble| trouble.error)?;
    let schema = database.schema().map(str::to_owned);
    let (connection, made) =
        database.with(connection, DEADLINE, move |connection| Box::pin(make_on(connection, schema)));
    let found = made.map_err(|trouble| trouble.error)?;
    let version = usable(database.place(), found)?;
    match connection {
        Some(connection) => migrate(database, connection, version, MIGRATIONS),
        // The last statement was answered.
        None => Err(Trouble::lost(database.place(), "the connection was lost").error),
    }
}

/// The version of a store that this program can use.
fn usable(place: &Place, found: Found) -> Result<i64, StoreError> {
    match found {
        Found::NoSchema | Found::Nothing => Err(StoreError::Missing { place: place.clone() }),
        Found::Foreign => Err(StoreError::Foreign { place: place.clone() }),
        Found::Store { version, needs } => check(place, version, needs).map(|()| version),
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
        Ok(found) if needs > i64::from(KNOWN) => Err(StoreError::Newer { place, found, known: KNOWN.unsigned_abs() }),
        Ok(_) => Ok(()),
    }
}

async fn look(connection: &mut Connection) -> Result<Found, Fault> {
    let client = &connection.client;
    let rows = client.query(LOOK, &[]).await?;
    let Some(row) = rows.first() else { return Ok(Found::Foreign) };
    let truth = |column| Row::Postgres(row).get::<bool>(column);
    Ok(match (truth(0)?, truth(1)?, truth(2)?) {
        (false, ..) => Found::NoSchema,
        (true, false, _) => Found::Nothing,
        (true, true, false) => Found::Foreign,
        (true, true, true) => {
            let row = client.query_opt("SELECT version, needs FROM schema", &[]).await?;
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
    if !matches!(found, Found::NoSchema | Found::Nothing) {
        return Ok(found);
    }
    // Two servers may start at once: the second waits, and finds what the first has made.
    let lock = format!("BEGIN; SET LOCAL lock_timeout = '30s'; SELECT pg_advisory_xact_lock({LOCK})");
    connection.client.batch_execute(&lock).await?;
    let found = look(connection).await?;
    let make_schema = match (found, schema) {
        (Found::Nothing, _) => String::new(),
        (Found::NoSchema, Some(schema)) => format!("CREATE SCHEMA \"{schema}\";"),
        (found, _) => {
            connection.client.batch_execute("ROLLBACK").await?;
            return Ok(found);
        }
    };
    let note = format!("INSERT INTO schema (\"only\", version, needs) VALUES (0, {KNOWN}, {NEEDS})");
    connection.client.batch_execute(&format!("{make_schema} {SCHEMA} {note}; COMMIT")).await?;
    look(connection).await
}

/// Runs the migrations that a store of `version` has not had.
fn migrate(
    database: &Database,
    mut connection: Connection,
    version: i64,
    migrations: &'static [Migration],
) -> Result<Connection, StoreError> {
    for migration in migrations.iter().filter(|migration| migration.version > version) {
        let until = Instant::now() + MAX_WAIT;
        loop {
            let (same, run) = database.with(connection, DEADLINE, |connection| Box::pin(run(connection, *migration)));
            match (same, run) {
                (Some(same), Ok(())) => {
                    connection = same;
                    break;
                }
                (Some(same), Err(Trouble { state: Some(state), .. }))
                    if state == SqlState::LOCK_NOT_AVAILABLE && Instant::now() < until =>
                {
                    connection = same;
                    thread::sleep(TRY_AGAIN);
                }
                (_, Err(trouble)) => return Err(trouble.error),
                (None, Ok(())) => return Err(Trouble::lost(database.place(), "the connection was lost").error),
            }
        }
    }
    Ok(connection)
}

async fn run(connection: &mut Connection, migration: Migration) -> Result<(), Fault> {
    let Migration { version, needs, sql } = migration;
    let note = format!("UPDATE schema SET version = {version}, needs = {needs} WHERE version < {version}");
    let whole = async {
        // As a group does, so that none is stored by two versions of the schema.
        let begin =
            format!("BEGIN; {LOCK_TIMEOUT}; SELECT pg_advisory_xact_lock({LOCK}); SELECT latest FROM clock FOR UPDATE");
        connection.client.batch_execute(&begin).await?;
        // Another server may have been faster.
        let had: i64 = connection.client.query_one("SELECT version FROM schema", &[]).await?.try_get(0)?;
        let sql: Cow<'_, str> = if had < version { format!("{sql}; {note}; COMMIT").into() } else { "COMMIT".into() };
        Ok(connection.client.batch_execute(&sql).await?)
    };
    let done: Result<(), Fault> = whole.await;
    if done.is_err() {
        connection.client.batch_execute("ROLLBACK").await?;
    }
    done
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};
    use std::sync::Arc;

    use proofmark_testing::postgres::{self as server};

    use super::*;
    use crate::Store;
    use crate::engine::postgres::writing::Writing;
    use crate::group::settle::Statement;
    use crate::value::values;

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
        assert!(postgres.remove("groups").is_some() && postgres.remove("schema").is_some());
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
        assert_eq!(theirs.psql("SELECT version, needs FROM schema"), format!("{KNOWN}|{KNOWN}"));
    }

    #[test]
    fn what_is_not_ours_and_what_is_newer_is_left_alone() {
        let Some(theirs) = server::database() else { return };
        let _made = theirs.psql("CREATE TABLE schema (version text)");
        let foreign = make(&database(&theirs.url())).err().unwrap();
        assert!(matches!(foreign, StoreError::Foreign { .. }), "{foreign}");
        assert_eq!(theirs.psql("SELECT count(*) FROM pg_tables WHERE schemaname = 'public'"), "1");
        // Beside it there is room in a schema of its own.
        let own = format!("{}?search_path=proofs", theirs.url());
        drop(make(&database(&own)).unwrap());
        let _newer = theirs.psql("UPDATE proofs.schema SET version = 1000");
        drop(make(&database(&own)).unwrap());
        let _newer = theirs.psql("UPDATE proofs.schema SET needs = 1000");
        for error in [make(&database(&own)).err().unwrap(), inspect(&database(&own)).unwrap_err()] {
            assert!(matches!(error, StoreError::Newer { found: 1000, known: KNOWN_HERE, .. }), "{error}");
        }
    }

    const KNOWN_HERE: u32 = KNOWN.unsigned_abs();

    #[test]
    fn a_migration_waits_for_readers_without_keeping_others_waiting() {
        const LATER: i64 = KNOWN as i64 + 1;
        const MADE_UP: &[Migration] =
            &[Migration { version: LATER, needs: NEEDS, sql: "ALTER TABLE asked ADD COLUMN made_up bigint" }];
        let Some(theirs) = server::database() else { return };
        let (ours, reader) = (database(&theirs.url()), database(&theirs.url()));
        let connection = make(&ours).unwrap();
        let other = Arc::new(database(&theirs.url()));
        let for_other = other.connect(Role::Writer).unwrap();
        let mut other = Writing::open(other, for_other, Arc::default()).unwrap();
        let holder = reader.connect(Role::Reader).unwrap();
        let hold = "BEGIN; SELECT count(*) FROM asked";
        let (holder, held) = reader.with(holder, DEADLINE, move |holder| {
            Box::pin(async move { Ok(holder.client.batch_execute(hold).await?) })
        });
        held.unwrap();
        thread::scope(|scope| {
            let migrated = scope.spawn(|| migrate(&ours, connection, i64::from(KNOWN), MADE_UP).map(drop));
            // Others store in the table while the migration waits for its turn again and again.
            for number in 0..100 {
                other.begin_with(&[]).unwrap();
                let insert = "INSERT INTO asked (decision_id, facts) VALUES (?1, '')";
                other.tell(vec![Statement::new(insert, values![number.to_string()])]).unwrap();
                other.commit().unwrap();
                thread::sleep(Duration::from_millis(3));
            }
            assert!(!migrated.is_finished());
            drop(holder);
            migrated.join().unwrap().unwrap();
        });
        assert_eq!(theirs.psql("SELECT version, needs FROM schema"), format!("{LATER}|{KNOWN}"));
        // A second server has nothing to do.
        let again = make(&ours).unwrap();
        drop(migrate(&ours, again, i64::from(KNOWN), MADE_UP).unwrap());
    }
}
