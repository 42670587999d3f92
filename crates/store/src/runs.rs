//! Runs of workflows: the state of each of their steps.

use rusqlite::{Connection, OptionalExtension, Row};

use crate::error::StoreError;
use crate::page::MAX_LISTED;
use crate::scope::Scope;
use crate::tenant::Tenant;

/// The state of one step in one run of a workflow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StepRun {
    pub run: String,
    /// Who began it: the id of an API key, `local` for the command line, empty where it was not recorded. Runs of one name
    /// that different callers began are different runs.
    pub begun_by: String,
    pub step: String,
    /// How often the state has changed. A new state is one more than the stored one.
    pub version: u64,
    /// The state, as JSON.
    pub state: String,
}

/// A stored step of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListedStep {
    pub tenant: Tenant,
    pub step: StepRun,
    /// When its state last changed, in milliseconds since 1970.
    pub changed_at: i64,
}

impl StepRun {
    pub(crate) fn refusal(&self, scope: &Scope<'_>) -> rusqlite::Result<Option<StoreError>> {
        let stored = step_run(scope.connection, scope.tenant, &self.begun_by, &self.run, &self.step)?;
        // A state that was judged on an older one is refused, so that a run moves one transition at a time.
        let next = stored.map_or(0, |stored| stored.version) + 1;
        let moved = || StoreError::RunMoved { run: self.run.clone(), step: self.step.clone() };
        Ok((self.version != next).then(moved))
    }

    pub(crate) fn put(&self, scope: &Scope<'_>) -> rusqlite::Result<()> {
        let sql = "INSERT INTO runs (tenant, begun_by, run, step, version, state, updated_at)
                   VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)
                   ON CONFLICT (tenant, run, step, begun_by) DO UPDATE SET version = ?5, state = ?6, updated_at = ?7";
        let (tenant, version) = (scope.tenant.as_str(), self.version.cast_signed());
        let values = (tenant, &self.begun_by, &self.run, &self.step, version, &self.state, scope.now);
        scope.connection.prepare_cached(sql)?.execute(values).map(drop)
    }
}

pub(crate) fn step_run(
    connection: &Connection,
    tenant: &Tenant,
    begun_by: &str,
    run: &str,
    step: &str,
) -> rusqlite::Result<Option<StepRun>> {
    let sql = format!("SELECT {RUN} FROM runs WHERE tenant = ?1 AND begun_by = ?2 AND run = ?3 AND step = ?4");
    connection.prepare_cached(&sql)?.query_row([tenant.as_str(), begun_by, run, step], read_run).optional()
}

pub(crate) fn runs(connection: &Connection, tenant: &Tenant, run: &str) -> rusqlite::Result<Vec<StepRun>> {
    let sql = format!("SELECT {RUN} FROM runs WHERE tenant = ?1 AND run = ?2 ORDER BY step, begun_by LIMIT ?3");
    let mut statement = connection.prepare_cached(&sql)?;
    statement.query_map((tenant.as_str(), run, MAX_LISTED as i64), read_run)?.collect()
}

pub(crate) fn all_runs(connection: &Connection) -> rusqlite::Result<Vec<ListedStep>> {
    let sql = format!(
        "SELECT {RUN}, tenant, updated_at FROM runs
         ORDER BY updated_at DESC, tenant, run, step, begun_by LIMIT ?1"
    );
    let mut statement = connection.prepare_cached(&sql)?;
    let read = |row: &Row<'_>| {
        let tenant = Tenant::stored(row.get_ref(5)?.as_str()?);
        Ok(ListedStep { tenant, step: read_run(row)?, changed_at: row.get(6)? })
    };
    statement.query_map([MAX_LISTED as i64], read)?.collect()
}

/// Whether `by` began a run of this name, and who else did, if anyone.
pub(crate) fn begun(
    connection: &Connection,
    tenant: &Tenant,
    run: &str,
    by: &str,
) -> rusqlite::Result<(bool, Option<String>)> {
    // Aggregates give one row even where there is no run; then `max` is NULL.
    let sql = "SELECT coalesce(max(begun_by = ?3), 0), max(CASE WHEN begun_by <> ?3 THEN begun_by END)
               FROM runs WHERE tenant = ?1 AND run = ?2";
    let mut statement = connection.prepare_cached(sql)?;
    statement.query_row([tenant.as_str(), run, by], |row| Ok((row.get(0)?, row.get(1)?)))
}

const RUN: &str = "run, begun_by, step, version, state";

fn read_run(row: &Row<'_>) -> rusqlite::Result<StepRun> {
    let version: i64 = row.get(3)?;
    Ok(StepRun {
        run: row.get(0)?,
        begun_by: row.get(1)?,
        step: row.get(2)?,
        version: version.cast_unsigned(),
        state: row.get(4)?,
    })
}
