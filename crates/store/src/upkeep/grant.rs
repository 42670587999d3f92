//! The rights of a worker in PostgreSQL: a role that can run jobs and store their receipts, and can neither read nor write what
//! people decide on.

use crate::error::StoreError;
use crate::group::settle::NUMBERED;
use crate::statement::Question;
use crate::table::Table;
use crate::tables::{
    AWAITED, CHAINS, CLOCK, GROUPS, JOBS, LOG_ENTRIES, PROBE, RECEIPT_COUNTS, RECEIPT_TIMES, RECEIPTS, REQUESTS, SPENT,
    VERDICT_COUNTS, VERSION, WORKERS,
};
use crate::value::values;

/// The longest name of a role in PostgreSQL, in bytes.
const MAX_ROLE_BYTES: usize = 63;

const READ: &str = "SELECT";
const ADD: &str = "SELECT, INSERT";
const CHANGE: &str = "SELECT, INSERT, UPDATE";
const ALL: &str = "SELECT, INSERT, UPDATE, DELETE";

/// What a worker does with each table. It does nothing with the others but ask for their greatest numbers, which every group
/// of writes does.
static WORKER: [(&Table, &str); 15] = [
    (&VERSION, READ),
    (&CLOCK, "SELECT, UPDATE"),
    (&PROBE, CHANGE),
    (&GROUPS, ALL),
    (&WORKERS, ALL),
    (&JOBS, ALL),
    (&CHAINS, ADD),
    (&RECEIPTS, ADD),
    (&REQUESTS, ADD),
    (&RECEIPT_TIMES, CHANGE),
    (&RECEIPT_COUNTS, CHANGE),
    (&VERDICT_COUNTS, CHANGE),
    (&SPENT, READ),
    (&AWAITED, READ),
    (&LOG_ENTRIES, ADD),
];

/// The statements that give a role the rights of a worker, and take away every other right in the schema.
///
/// # Errors
/// [`StoreError::Role`] where no role can have this name.
pub(crate) fn worker(role: &str) -> Result<Vec<String>, StoreError> {
    if role.is_empty() || role.len() > MAX_ROLE_BYTES || role.contains('\0') {
        return Err(StoreError::Role { role: role.to_owned(), reason: "no role can have this name".to_owned() });
    }
    let (literal, role) = (role.replace('\'', "''"), format!("\"{}\"", role.replace('"', "\"\"")));
    let in_schema = |format: &str| {
        format!(
            "DO $grant$ BEGIN EXECUTE format('{}', current_schema(), '{literal}'); END $grant$",
            format.replace('\'', "''")
        )
    };
    let mut statements = vec![
        in_schema("REVOKE ALL ON ALL TABLES IN SCHEMA %I FROM %I"),
        in_schema("REVOKE ALL ON SCHEMA %I FROM %I"),
        in_schema("GRANT USAGE ON SCHEMA %I TO %I"),
    ];
    statements.extend(WORKER.iter().map(|(table, rights)| format!("GRANT {rights} ON {} TO {role}", table.name)));
    let numbers = NUMBERED.iter().filter(|table| !WORKER.iter().any(|(other, _)| other.name == table.name));
    statements.extend(numbers.filter_map(|table| {
        let number = table.columns.first()?;
        Some(format!("GRANT SELECT ({}) ON {} TO {role}", number.name, table.name))
    }));
    Ok(statements)
}

/// Asks why the rights of the role would not be all that it can do: a row with the reason, or with NULL.
pub(crate) fn unbound(role: &str) -> Question {
    let of_owner = "(SELECT tableowner FROM pg_catalog.pg_tables
        WHERE schemaname = current_schema() AND tablename = 'receipts')";
    let named = "FROM pg_catalog.pg_roles WHERE rolname = CAST($1 AS text)";
    Question::alone(
        format!(
            "SELECT CASE
                WHEN NOT EXISTS (SELECT 1 {named}) THEN 'there is no such role'
                WHEN (SELECT rolsuper {named}) THEN 'it is a superuser, which can do everything'
                WHEN pg_has_role(CAST(CAST($1 AS text) AS name), {of_owner}, 'MEMBER') THEN 'it owns the tables of the store'
            END"
        ),
        values![role],
    )
}
