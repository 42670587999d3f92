//! Reports of executions, compared with the decisions they name.

use proofmark_receipt::{Json, Timestamp};
use proofmark_store::{Decision, Execution, StoreError, Tenant, Write};
use proofmark_verifier::clock;

use crate::decide::DecideError;
use crate::decider::{self, Decider, Replayable};
use crate::finding::{FindingCode, Found};

/// How long after a decision expires a report of its execution may still arrive, in milliseconds.
const REPORT_GRACE: i64 = 60_000;

/// A runtime's report of what it did.
#[derive(Clone, Copy, Debug)]
pub struct Report<'a> {
    pub tenant: &'a Tenant,
    /// The decision it names.
    pub decision_id: Option<&'a str>,
    /// Whether the side effect happened.
    pub executed: bool,
    /// With which arguments, where it states them.
    pub args: Option<&'a Json>,
    /// What names the action, as the runtime computed it.
    pub candidate: Option<&'a str>,
    /// The whole report, as JSON.
    pub document: &'a str,
    /// How a repetition of the report is recognised.
    pub replayable: Option<Replayable<'a>>,
}

/// How a report differs from its decision: the codes of findings, none when it agrees.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reported {
    pub findings: Vec<String>,
}

impl Decider {
    /// Stores a report together with what is found. A report that is sent again gets the answer it got.
    ///
    /// # Errors
    /// [`DecideError`]; nothing is stored then.
    pub fn report(&self, report: &Report<'_>) -> Result<Reported, DecideError> {
        let id = report.decision_id.unwrap_or_default();
        let _same_key = report.replayable.map(|one| self.lock("key", report.tenant, one.key));
        // Of two reports on one decision the second must see the first, or it is not found that it was executed twice.
        let _same_decision = self.lock("report", report.tenant, id);
        if let Some(codes) = self.answer(report.tenant, report.replayable)? {
            return Ok(Reported { findings: codes.split_whitespace().map(str::to_owned).collect() });
        }
        let (now, store) = (clock::now_in(&self.store)?, self.store.of(report.tenant));
        let decision = store.decision(id)?;
        // What was executed is compared with what was signed, and never with what somebody wrote beside it.
        decision.as_ref().map(|decision| self.signed(decision)).transpose()?;
        let earlier = store.times_executed(id)?;
        let found = compare(report, decision.as_ref(), earlier, &now);
        let codes: Vec<String> = found.iter().map(|found| found.code.as_str().to_owned()).collect();
        let execution = Execution {
            // The id of a decision that is not this tenant's is not stored.
            decision_id: decision.map_or_else(String::new, |decision| decision.decision_id),
            executed: report.executed,
            document: report.document.to_owned(),
        };
        let mut writes: Vec<Write> = vec![execution.into()];
        writes.extend(found.into_iter().map(|found| found.about(id, &now).into()));
        writes.extend(report.replayable.map(|one| decider::answer(one, codes.join(" ")).into()));
        store.submit_all(writes).wait()?;
        Ok(Reported { findings: codes })
    }

    /// Finds allowed decisions whose execution was never reported, though a report was expected.
    ///
    /// # Errors
    /// When the store cannot be read or written.
    pub fn find_unreported(&self) -> Result<usize, StoreError> {
        // Two sweeps at once would find the same decisions twice.
        let _one_at_a_time = self.lock("sweep", &Tenant::LOCAL, "");
        let now = clock::now_in(&self.store)?;
        let late = self.store.all_tenants_unreported(now.unix_millis().saturating_sub(REPORT_GRACE))?;
        let submitted: Vec<_> = late
            .iter()
            .map(|(tenant, decision)| self.store.of(tenant).submit(NEVER_REPORTED.about(&decision.decision_id, &now)))
            .collect();
        submitted.into_iter().try_for_each(|one| one.wait().map(drop))?;
        Ok(late.len())
    }
}

const NEVER_REPORTED: Found =
    Found { code: FindingCode::NeverReported, message: "it was allowed, and no report says whether it was executed" };
const UNDECIDED: Found =
    Found { code: FindingCode::ExecutedUndecided, message: "it was executed, and there is no decision on it" };
const OTHER_ARGUMENTS: Found =
    Found { code: FindingCode::ExecutedOtherArguments, message: "another action was executed than was decided on" };
const TWICE: Found =
    Found { code: FindingCode::ExecutedTwice, message: "it was executed more than once, and was decided on once" };
const AFTER_EXPIRY: Found = Found {
    code: FindingCode::ExecutedAfterExpiry,
    message: "its execution was reported after the decision had ceased to hold",
};

fn compare(report: &Report<'_>, decision: Option<&Decision>, earlier: u64, now: &Timestamp) -> Vec<Found> {
    if !report.executed {
        return Vec::new();
    }
    let Some(decision) = decision else {
        return vec![UNDECIDED];
    };
    let mut found = Vec::new();
    if !decision.allowed {
        found.push(Found::BLOCKED);
    }
    if is_other_action(report, decision) {
        found.push(OTHER_ARGUMENTS);
    }
    if earlier > 0 {
        found.push(TWICE);
    }
    if now.unix_millis() > decision.about.expires_at {
        found.push(AFTER_EXPIRY);
    }
    found
}

fn is_other_action(report: &Report<'_>, decision: &Decision) -> bool {
    let candidate = decision.about.candidate.as_deref();
    // A report that leaves out what it was to name is one of another action.
    if candidate.is_some() && report.candidate != candidate {
        return true;
    }
    let Some(action) = &decision.about.action else { return false };
    // An action that cannot be read is not the one that was executed.
    let Ok(action) = Json::parse(action.as_bytes()) else { return true };
    let decided = action.as_object().and_then(|action| action.get("args"));
    match (report.args, decided) {
        (Some(executed), Some(decided)) => executed.canonical_vrf() != decided.canonical_vrf(),
        // A report need not state its arguments.
        (_, _) => false,
    }
}
