//! What the store knows of the time: the latest that was recorded, beside what the clock of a database shows.

use crate::engine::clock::Reading;
use crate::engine::db::Db;
use crate::fault::Fault;

/// The columns of a [`Reading`], of the table `clock`.
pub(crate) fn columns(db: &Db<'_>) -> &'static str {
    db.spelled("latest, NULL", "latest, CAST(extract(epoch FROM clock_timestamp()) * 1000 AS bigint)")
}

pub(crate) fn reading(db: &Db<'_>) -> Result<Reading, Fault> {
    db.only(&format!("SELECT {} FROM clock", columns(db)), &[], |row| {
        Ok(Reading { latest: row.get(0)?, shown: row.get(1)? })
    })
}

/// The latest time that was recorded, in milliseconds after 1970-01-01T00:00:00Z.
pub(crate) fn latest(db: &Db<'_>) -> Result<i64, Fault> {
    db.only("SELECT latest FROM clock", &[], |row| row.get(0))
}
