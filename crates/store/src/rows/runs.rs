//! Runs of workflows: the state of each of their steps.

use std::ops::ControlFlow;

use crate::engine::db::Db;
use crate::error::StoreError;
use crate::fault::Fault;
use crate::group::settle::{Draft, Facts, Key, Question, Settle, Stop};
use crate::insert::{Insert, Set};
use crate::row::Row;
use crate::rows::page::{self, Cursor, MAX_LISTED, MAX_PAGE};
use crate::statement::{question, row};
use crate::tables::RUNS;
use crate::tenant::Tenant;
use crate::value::{Value, values};

/// The state of one step in one run of a workflow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StepRun {
    pub run: String,
    /// Who began it: the id of an API key, `local` for the command line. Runs of one name that different
    /// callers began are different runs.
    pub begun_by: String,
    pub step: String,
    /// How often the state has changed. A new state is one more than the stored one.
    pub version: u64,
    /// The state, as JSON.
    pub state: String,
}

/// Some runs, those that changed last first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Runs {
    /// The steps of each, those that changed last first.
    pub runs: Vec<Vec<ListedStep>>,
    /// Where the next page begins; none when this is the last.
    pub next: Option<Cursor>,
}

/// A stored step of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListedStep {
    pub tenant: Tenant,
    pub step: StepRun,
    /// When its state last changed, in milliseconds since 1970.
    pub changed_at: i64,
}

static PUT: Insert = Insert::or_change(
    &RUNS,
    &[Set::Replace("sequence"), Set::Replace("version"), Set::Replace("state"), Set::Replace("updated_at")],
);

impl ListedStep {
    fn is_of_same_run(&self, other: &Self) -> bool {
        (&self.tenant, &self.step.run, &self.step.begun_by) == (&other.tenant, &other.step.run, &other.step.begun_by)
    }
}

impl Settle for StepRun {
    fn keys(&self, tenant: &Tenant) -> Vec<Key> {
        vec![Key::new("run", &[tenant.as_str(), &self.begun_by, &self.run, &self.step])]
    }

    fn questions(&self, tenant: &Tenant) -> Vec<Question> {
        vec![question!(
            "SELECT version FROM runs
             WHERE tenant = {tenant} AND begun_by = {begun_by} AND run = {run} AND step = {step}",
            tenant: tenant.as_str(),
            begun_by: &self.begun_by,
            run: &self.run,
            step: &self.step,
        )]
    }

    fn settle(&mut self, facts: &mut Facts<'_>, draft: &mut Draft<'_>) -> Result<(), Stop> {
        let stored = facts.row().map(|row| row.get::<u64>(0)).transpose()?;
        // A state that was judged on an older one is refused, so that a run moves one transition at a time.
        if self.version != stored.unwrap_or_default() + 1 {
            return Err(StoreError::RunMoved { run: self.run.clone(), step: self.step.clone() }.into());
        }
        let row = row!(RUNS {
            sequence: draft.number(&RUNS),
            tenant: draft.tenant.as_str(),
            begun_by: &self.begun_by,
            run: &self.run,
            step: &self.step,
            version: self.version.cast_signed(),
            updated_at: draft.now,
            state: &self.state,
        });
        draft.insert(&PUT, row);
        Ok(())
    }
}

pub(crate) fn step_run(
    db: &Db<'_>,
    tenant: &Tenant,
    begun_by: &str,
    run: &str,
    step: &str,
) -> Result<Option<StepRun>, Fault> {
    let sql =
        format!("SELECT {} FROM runs WHERE tenant = $1 AND begun_by = $2 AND run = $3 AND step = $4", RUNS.list());
    db.one(&sql, &values![tenant.as_str(), begun_by, run, step], read_run)
}

pub(crate) fn runs(db: &Db<'_>, tenant: &Tenant, run: &str) -> Result<Vec<StepRun>, Fault> {
    let sql =
        format!("SELECT {} FROM runs WHERE tenant = $1 AND run = $2 ORDER BY step, begun_by LIMIT $3", RUNS.list());
    db.all(&sql, &values![tenant.as_str(), run, MAX_LISTED], read_run)
}

/// Runs, those that changed last first; of all tenants, unless one is given.
pub(crate) fn newest(db: &Db<'_>, tenant: Option<&Tenant>, limit: usize, after: Option<Cursor>) -> Result<Runs, Fault> {
    let limit = limit.clamp(1, MAX_PAGE);
    let of_tenant = if tenant.is_some() { "tenant = $4 AND" } else { "" };
    // A run has the place of its last change. The limit of steps is that of memory: nobody counts the steps of a run.
    let sql = format!(
        "SELECT {} FROM
             (SELECT tenant, begun_by, run, sequence AS place FROM runs AS last
              WHERE {of_tenant} sequence < $1 AND sequence =
                  (SELECT max(sequence) FROM runs AS same
                   WHERE same.tenant = last.tenant AND same.run = last.run AND same.begun_by = last.begun_by)
              ORDER BY sequence DESC LIMIT $2) AS listed
             JOIN runs USING (tenant, begun_by, run)
         ORDER BY place DESC, sequence DESC LIMIT $3",
        RUNS.list()
    );
    let before = after.map_or(i64::MAX, |after| after.0);
    let mut values = values![before, page::one_more(limit), page::one_more(MAX_LISTED)].to_vec();
    values.extend(tenant.map(|tenant| Value::from(tenant.as_str())));
    let mut runs: Vec<(i64, Vec<ListedStep>)> = Vec::new();
    let mut steps = 0;
    db.each(&sql, &values, |row| {
        let step = read_listed(row)?;
        steps += 1;
        match runs.last_mut() {
            Some((_, run)) if run.first().is_some_and(|first| first.is_of_same_run(&step)) => run.push(step),
            _ => runs.push((RUNS.fields(row).get("sequence")?, vec![step])),
        }
        Ok(ControlFlow::Continue(()))
    })?;
    let is_cut = steps > MAX_LISTED;
    // The last one may lack steps. By itself it is shown without them.
    if is_cut && runs.len() > 1 {
        runs.pop();
    }
    let last = runs.last().map(|(place, _)| Cursor(*place)).filter(|_| is_cut);
    let (runs, next) = page::cut(runs, limit);
    Ok(Runs { runs, next: next.or(last) })
}

/// Whether `by` began a run of this name, and who else did, if anyone.
pub(crate) fn begun(db: &Db<'_>, tenant: &Tenant, run: &str, by: &str) -> Result<(bool, Option<String>), Fault> {
    // Aggregates give one row even where there is no run; then `max` is NULL.
    let sql = "SELECT coalesce(max(CASE WHEN begun_by = $3 THEN 1 ELSE 0 END), 0),
                      max(CASE WHEN begun_by <> $3 THEN begun_by END)
               FROM runs WHERE tenant = $1 AND run = $2";
    db.only(sql, &values![tenant.as_str(), run, by], |row| Ok((row.get(0)?, row.get(1)?)))
}

fn read_listed(row: &Row<'_>) -> Result<ListedStep, Fault> {
    let (step, row) = (read_run(row)?, RUNS.fields(row));
    Ok(ListedStep { tenant: Tenant::stored(row.text("tenant")?), step, changed_at: row.get("updated_at")? })
}

fn read_run(row: &Row<'_>) -> Result<StepRun, Fault> {
    let row = RUNS.fields(row);
    let version: i64 = row.get("version")?;
    Ok(StepRun {
        run: row.get("run")?,
        begun_by: row.get("begun_by")?,
        step: row.get("step")?,
        version: version.cast_unsigned(),
        state: row.get("state")?,
    })
}
