use rusqlite::Connection;

use crate::tenant::Tenant;

/// What a write works with: the open transaction, the tenant whose rows it may touch, and the time it is stored at, in
/// milliseconds after 1970-01-01T00:00:00Z.
#[derive(Clone, Copy)]
pub(crate) struct Scope<'a> {
    pub(crate) connection: &'a Connection,
    pub(crate) tenant: &'a Tenant,
    pub(crate) now: i64,
}
