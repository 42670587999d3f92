//! Reports of executions, held against the decisions they name.

use proofmark_receipt::{Json, Timestamp};
use proofmark_store::{Bundle, Decision, Execution, Finding, NEVER_REPORTED, Pending, StoreError, Tenant};

use crate::clock;
use crate::decide::DecideError;
use crate::decider::{self, Decider, Replayable};

/// How long after a decision's end a report of its execution may still be on its way, in milliseconds.
const REPORT_GRACE: i64 = 60_000;

/// What a runtime says it did.
#[derive(Clone, Copy, Debug)]
pub struct Report<'a> {
    /// Whose it is.
    pub tenant: &'a Tenant,
    /// The decision it names.
    pub decision_id: Option<&'a str>,
    /// Whether the side effect happened.
    pub executed: bool,
    /// With which arguments, where it says so.
    pub args: Option<&'a Json>,
    /// What names the action, as the runtime computed it.
    pub candidate: Option<&'a str>,
    /// All of it, as JSON.
    pub document: &'a str,
    /// How a repetition of the report is known.
    pub replayable: Option<Replayable<'a>>,
}

/// What holding a report against its decision came to: codes of findings, none when all is as it was decided.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reported {
    /// The codes.
    pub findings: Vec<String>,
}

impl Decider {
    /// Keeps a report together with what is found. A report that is sent again gets the answer it got.
    ///
    /// # Errors
    /// [`DecideError`]; nothing is kept then.
    pub fn report(&self, report: &Report<'_>) -> Result<Reported, DecideError> {
        let id = report.decision_id.unwrap_or_default();
        let _same_key = report.replayable.map(|one| self.take_turn("key", report.tenant, one.key));
        let _same_decision = self.take_turn("report", report.tenant, id);
        if let Some(codes) = self.answered(report.tenant, report.replayable)? {
            return Ok(Reported { findings: codes.split_whitespace().map(str::to_owned).collect() });
        }
        let (now, store) = (clock::now_in(&self.store)?, self.store.of(report.tenant));
        let decision = store.decision(id)?;
        let earlier = store.times_executed(id)?;
        let found = compare(report, decision.as_ref(), earlier, &now);
        let codes: Vec<String> = found.iter().map(|(code, _)| (*code).to_owned()).collect();
        let execution = Execution {
            // An id that is none of this tenant's is not counted as one.
            decision_id: decision.map_or_else(String::new, |decision| decision.decision_id),
            executed: report.executed,
            document: report.document.to_owned(),
        };
        let bundle = Bundle {
            execution: Some(execution),
            findings: found.into_iter().map(|found| finding(id, found, &now)).collect(),
            answer: report.replayable.map(|one| decider::answer(one, codes.join(" "))),
            at: now.unix_millis(),
            ..Bundle::default()
        };
        self.keep(report.tenant, bundle)?;
        Ok(Reported { findings: codes })
    }

    /// Finds allowed decisions whose execution was never reported, though a report was expected.
    ///
    /// # Errors
    /// Whatever keeps the store from being read or written.
    pub fn find_unreported(&self) -> Result<usize, StoreError> {
        let _one_at_a_time = self.take_turn("sweep", &Tenant::LOCAL, "");
        let now = clock::now_in(&self.store)?;
        let late = self.store.all_tenants_unreported(now.unix_millis().saturating_sub(REPORT_GRACE))?;
        let submit = |(tenant, decision): &(Tenant, Decision)| {
            let what = (NEVER_REPORTED, "it was allowed, and nobody said whether it was executed");
            let findings = vec![finding(&decision.decision_id, what, &now)];
            self.store.of(tenant).submit_bundle(Bundle { findings, at: now.unix_millis(), ..Bundle::default() })
        };
        let submitted: Vec<_> = late.iter().map(submit).collect();
        submitted.into_iter().try_for_each(Pending::wait)?;
        Ok(late.len())
    }
}

type Found = (&'static str, &'static str);

fn compare(report: &Report<'_>, decision: Option<&Decision>, earlier: u64, now: &Timestamp) -> Vec<Found> {
    if !report.executed {
        return Vec::new();
    }
    let Some(decision) = decision else {
        return vec![("executed_undecided", "it was executed, and there is no decision on it")];
    };
    let about = &decision.about;
    let mut found = Vec::new();
    if !decision.allowed {
        found.push(("executed_blocked", "it was executed though it was not allowed"));
    }
    if is_other_action(report, decision) {
        found.push(("executed_other_arguments", "another action was executed than was decided on"));
    }
    if earlier > 0 {
        found.push(("executed_twice", "it was executed more than once, and was decided on once"));
    }
    if now.unix_millis() > about.expires_at {
        found.push(("executed_after_expiry", "its execution was reported after the decision had ceased to hold"));
    }
    found
}

fn is_other_action(report: &Report<'_>, decision: &Decision) -> bool {
    let candidate = decision.about.candidate.as_deref();
    if candidate.is_some() && report.candidate != candidate {
        return true;
    }
    let Some(action) = &decision.about.action else { return false };
    // What was decided on and cannot be read is not what was executed.
    let Ok(action) = Json::parse(action.as_bytes()) else { return true };
    let decided = action.as_object().and_then(|action| action.get("args"));
    match (report.args, decided) {
        (Some(executed), Some(decided)) => executed.canonical_vrf() != decided.canonical_vrf(),
        (_, _) => false,
    }
}

fn finding(decision_id: &str, (code, message): Found, now: &Timestamp) -> Finding {
    Finding {
        decision_id: decision_id.chars().take(200).collect(),
        code: code.to_owned(),
        message: message.to_owned(),
        found_at: now.unix_millis(),
    }
}
