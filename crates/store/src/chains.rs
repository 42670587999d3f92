//! The names of chains.

use rusqlite::{Connection, OptionalExtension};

use crate::tenant::Tenant;

/// The number of the tenant's chain of this name.
pub(crate) fn chain_id(connection: &Connection, tenant: &Tenant, name: &str) -> rusqlite::Result<Option<i64>> {
    let mut statement = connection.prepare_cached("SELECT chain_id FROM chains WHERE tenant = ?1 AND name = ?2")?;
    statement.query_row([tenant.as_str(), name], |row| row.get(0)).optional()
}
