//! From policy, request, evidence and history to a decision. It fails closed: what is unknown, unmatched or in error is
//! never an allow.

use std::borrow::Cow;

use proofmark_evidence::{Evidence, ReceiptFact, Spend, Subject};
use proofmark_predicate::{Budget, StoppedError};
use proofmark_receipt::{Sha256Digest, Timestamp};

use crate::change::{self, Change, Changes, Witness};
use crate::counted::LimitUse;
use crate::disposition::{Disposition, Outcome};
use crate::evidence::EvidenceItem;
use crate::input::{Input, MAX_DECISION_STEPS};
use crate::judge::{self, JudgedPolicy, Reason, RuleFinding, judge};
use crate::limits::{self, with_limits};
use crate::moment::{Denial, Moment};
use crate::origins::with_origins;
use crate::policy::{ActionPolicy, Limit, Mode};
use crate::request::Request;
use crate::rule_ref::RuleKind;

/// Whether an action may execute, why, and how the agent continues.
#[derive(Clone, Debug)]
pub struct Decision {
    pub(crate) disposition: Disposition,
    pub(crate) shadowed: Option<Disposition>,
    pub(crate) findings: Vec<RuleFinding>,
    pub(crate) spends: Vec<Spend>,
    pub(crate) changes: Changes,
    pub(crate) unread: Vec<ReceiptFact>,
    pub(crate) steps: u64,
    pub(crate) denied_before: u64,
    pub(crate) limits: Vec<LimitUse>,
    pub(crate) denial: Option<Denial>,
    pub(crate) decided_at: Timestamp,
    pub(crate) expires_at: Timestamp,
    pub(crate) subject: Subject,
    pub(crate) facts_hash: Sha256Digest,
    pub(crate) policy_hash: Sha256Digest,
    pub(crate) fingerprint: Sha256Digest,
}

/// The most documents that no rule read and that a decision still records, for the search for changes.
const MAX_UNREAD: usize = 16;

/// Decides. The same arguments always give the same decision.
#[must_use]
pub fn decide(policy: &ActionPolicy, request: &Request, evidence: &Evidence, moment: &Moment) -> Decision {
    // Two budgets: a long search cannot take the steps of a rule, and `binding.steps` counts the rules alone.
    let (judging, searching) = (Budget::new(MAX_DECISION_STEPS), change::budget(&|| false));
    within(policy, request, evidence, moment, &judging, &searching)
}

/// As [`decide`], until `stop` returns true. It is called every few thousand steps.
///
/// # Errors
/// [`StoppedError`] when it was stopped: then nothing was decided.
pub fn decide_until(
    policy: &ActionPolicy,
    request: &Request,
    evidence: &Evidence,
    moment: &Moment,
    stop: &dyn Fn() -> bool,
) -> Result<Decision, StoppedError> {
    let (judging, searching) = (Budget::stopping(MAX_DECISION_STEPS, stop), change::budget(stop));
    let decision = within(policy, request, evidence, moment, &judging, &searching);
    // A stopped rule is unknown, so a decision that was stopped is not what the policy says.
    judging.finish().and(searching.finish()).map(|()| decision)
}

/// The findings of [`decide`], without the search for changes.
#[must_use]
pub fn judge_rules(policy: &ActionPolicy, request: &Request, evidence: &Evidence, moment: &Moment) -> Vec<RuleFinding> {
    let (budget, known) = (Budget::new(MAX_DECISION_STEPS), known(policy, request, moment));
    judge(&Input { policy, request: &known, evidence, moment, assumed: &[], budget: &budget }).findings
}

/// The request with the facts that follow from it and the history.
fn known<'r>(policy: &ActionPolicy, request: &'r Request, moment: &Moment) -> Cow<'r, Request> {
    with_limits(policy, with_origins(policy, request), &moment.history.counted)
}

fn within(
    policy: &ActionPolicy,
    request: &Request,
    evidence: &Evidence,
    moment: &Moment,
    judging: &Budget<'_>,
    searching: &Budget<'_>,
) -> Decision {
    let known = known(policy, request, moment);
    let input = Input { policy, request: &known, evidence, moment, assumed: &[], budget: judging };
    let judged = judge(&input);
    let expires_at = expiry(&input, &judged);
    let (disposition, shadowed) = shadow(policy.mode, &judged);
    let (unread, changes) = match disposition {
        // An allow needs no change, and a path that ended is never resumed (`admits`). A reviewer may still approve it,
        // where a rule says so, and then has to know what is missing.
        Disposition::Allow | Disposition::AllowWithWarning => (Vec::new(), Changes::default()),
        Disposition::TerminalBlock if moment.history.denial.is_some() || !asks_approval(&judged) => {
            (Vec::new(), Changes::default())
        }
        Disposition::TerminalBlock
        | Disposition::LocalReplan
        | Disposition::UpstreamReplan
        | Disposition::HumanReview => {
            let (evidence, unread) = recorded(evidence, &judged);
            (unread, change::changes(&Input { evidence: &evidence, budget: searching, ..input }, &judged))
        }
    };
    Decision {
        disposition,
        shadowed,
        // Shadow mode must not use up what the same action needs once the policy is enforced.
        spends: if disposition.allows() && shadowed.is_none() { spends(&judged) } else { Vec::new() },
        changes,
        unread,
        steps: judged.steps,
        denied_before: judged.denied_before,
        limits: limits::uses(policy, request, &moment.history.counted, &|limit| {
            disposition.allows() && is_judged(policy, &judged, limit)
        }),
        denial: moment.history.denial.clone(),
        findings: judged.findings,
        decided_at: moment.now.clone(),
        expires_at,
        subject: request.subject(),
        facts_hash: request.facts_hash(),
        policy_hash: policy.hash(),
        fingerprint: policy.fingerprint(request),
    }
}

/// Whether the rule of a limit is among the findings: its boundary is about the action.
fn is_judged(policy: &ActionPolicy, judged: &JudgedPolicy, limit: &Limit) -> bool {
    judged.findings.iter().filter(|finding| finding.source.kind == RuleKind::Deny).any(|finding| {
        let boundary = policy.boundaries.get(finding.source.boundary);
        let rule = boundary.and_then(|boundary| boundary.deny.get(finding.source.index));
        rule.and_then(|rule| rule.limit.as_ref()).is_some_and(|judged| judged.id == limit.id)
    })
}

/// Whether approvals are missing that a rule asks for.
fn asks_approval(judged: &JudgedPolicy) -> bool {
    judged.findings.iter().any(|finding| finding.missing_approvals.is_some())
}

/// The documents that the receipt will hold, and those of them that no rule read. The search for changes sees these alone,
/// so that a replay from the receipt finds the same changes.
fn recorded(evidence: &Evidence, judged: &JudgedPolicy) -> (Evidence, Vec<ReceiptFact>) {
    let items = judged.findings.iter().flat_map(|finding| &finding.evidence);
    let read: Vec<_> = items
        .filter_map(|item| if let EvidenceItem::Document { document, .. } = item { Some(&**document) } else { None })
        .collect();
    // By content, not by id: two documents can have one id.
    let documents = evidence.documents().iter().filter(|fact| !read.iter().any(|read| read.content == fact.content));
    let unread: Vec<_> = documents.take(MAX_UNREAD).cloned().collect();
    (Evidence::new(read.into_iter().chain(&unread).cloned().collect()), unread)
}

impl Decision {
    /// What follows for the action.
    #[must_use]
    pub fn disposition(&self) -> Disposition {
        self.disposition
    }

    /// The outcome as receipts write it.
    #[must_use]
    pub fn outcome(&self) -> Outcome {
        self.disposition.outcome()
    }

    /// Whether the action may execute now.
    #[must_use]
    pub fn allows(&self) -> bool {
        self.disposition.allows()
    }

    /// The disposition without shadow mode, where it differs.
    #[must_use]
    pub fn shadowed(&self) -> Option<Disposition> {
        self.shadowed
    }

    /// The reasons, in policy order.
    pub fn reasons(&self) -> impl Iterator<Item = &Reason> {
        self.findings.iter().filter_map(|finding| finding.reason.as_ref())
    }

    /// The findings of all rules that were judged, in policy order.
    #[must_use]
    pub fn findings(&self) -> &[RuleFinding] {
        &self.findings
    }

    /// The evidence that the rules read, in policy order.
    pub fn evidence(&self) -> impl Iterator<Item = &EvidenceItem> {
        self.findings.iter().flat_map(|finding| &finding.evidence)
    }

    /// The documents to record as spent, in one write with the decision.
    #[must_use]
    pub fn spends(&self) -> &[Spend] {
        &self.spends
    }

    /// What the limits of the policy had counted, and what this decision adds, to store in one write with it.
    #[must_use]
    pub fn limits(&self) -> &[LimitUse] {
        &self.limits
    }

    /// What would change the decision. All changes together make it an allow, unless one is
    /// [assumed](Change::is_assumed). Empty when none were found.
    #[must_use]
    pub fn changes(&self) -> &[Change] {
        &self.changes.all
    }

    /// Proves the changes: a request and documents for which the decision allows. `None` when there are no changes, or one is
    /// assumed.
    #[must_use]
    pub fn witness(&self) -> Option<&Witness> {
        self.changes.witness.as_ref()
    }

    /// What an approval of this decision approves.
    #[must_use]
    pub fn subject(&self) -> &Subject {
        &self.subject
    }

    /// The denial that binds it, where a human denied the action.
    #[must_use]
    pub fn denial(&self) -> Option<&Denial> {
        self.denial.as_ref()
    }

    /// The roles that rules ask approvals of for this action, each once, in policy order.
    #[must_use]
    pub fn roles_asked(&self) -> Vec<&str> {
        roles_asked(&self.findings)
    }

    /// How many approvals are missing, over all roles.
    #[must_use]
    pub fn approvals_missing(&self) -> u64 {
        let mut missing: Vec<(&str, usize)> = Vec::new();
        for (role, count) in self.findings.iter().filter_map(|finding| finding.missing_approvals.as_ref()) {
            match missing.iter_mut().find(|(known, _)| *known == &**role) {
                // One approval counts for every rule that asks its role, so the largest demand of a role is enough.
                Some((_, most)) => *most = (*most).max(*count),
                None => missing.push((role, *count)),
            }
        }
        missing.iter().map(|(_, count)| *count as u64).sum()
    }

    /// The hash of the action.
    #[must_use]
    pub fn action_hash(&self) -> Sha256Digest {
        self.subject.action
    }

    /// The hash of the policy.
    #[must_use]
    pub fn policy_hash(&self) -> Sha256Digest {
        self.policy_hash
    }

    /// What denials of the same action are counted under ([`ActionPolicy::fingerprint`]).
    #[must_use]
    pub fn fingerprint(&self) -> Sha256Digest {
        self.fingerprint
    }

    /// When it expires.
    #[must_use]
    pub fn expires_at(&self) -> &Timestamp {
        &self.expires_at
    }

    /// The steps that its predicates took.
    #[must_use]
    pub fn steps(&self) -> u64 {
        self.steps
    }

    /// Whether it is useless to ask for the same action again, unchanged: it was denied before, it waits for a human, its
    /// path ends, or no changes are known.
    #[must_use]
    pub fn must_not_retry_same_action(&self) -> bool {
        match self.disposition {
            Disposition::Allow | Disposition::AllowWithWarning => false,
            Disposition::LocalReplan | Disposition::UpstreamReplan => {
                self.denied_before > 0 || self.changes.all.is_empty()
            }
            Disposition::HumanReview | Disposition::TerminalBlock => true,
        }
    }
}

/// The roles that the rules of these findings ask approvals of, each once, in policy order.
#[must_use]
pub fn roles_asked(findings: &[RuleFinding]) -> Vec<&str> {
    let mut roles: Vec<&str> = Vec::new();
    for item in findings.iter().flat_map(|finding| &finding.evidence) {
        if let EvidenceItem::Document { role: Some(role), .. } | EvidenceItem::NoDocument { role: Some(role), .. } =
            item
            && !roles.contains(&&**role)
        {
            roles.push(role);
        }
    }
    roles
}

/// Shadow mode turns what would be blocked into a warning. Errors stay blocked in every mode: a policy that cannot be
/// evaluated says nothing about what it would have done.
fn shadow(mode: Mode, judged: &JudgedPolicy) -> (Disposition, Option<Disposition>) {
    let hard = judged.findings.iter().any(|finding| finding.hard);
    match (mode, judged.disposition.allows(), hard) {
        (Mode::Shadow, false, false) => (Disposition::AllowWithWarning, Some(judged.disposition)),
        (Mode::Enforce, _, _) | (Mode::Shadow, true, _) | (Mode::Shadow, false, true) => (judged.disposition, None),
    }
}

fn spends(judged: &JudgedPolicy) -> Vec<Spend> {
    let mut spends: Vec<Spend> = Vec::new();
    for item in judged.findings.iter().flat_map(|finding| &finding.evidence) {
        if let EvidenceItem::Document { document, refusal: None, single_use: true, .. } = item
            // One approval can serve several rules, and is spent once.
            && !spends.iter().any(|spend| spend.content == document.content)
        {
            spends.push(document.spend());
        }
    }
    spends
}

/// A decision expires no later than any document that it rests on.
fn expiry(input: &Input<'_>, judged: &JudgedPolicy) -> Timestamp {
    let mut at = input.moment.now.unix_millis().saturating_add(input.policy.valid_for_millis);
    for finding in &judged.findings {
        for item in &finding.evidence {
            // A refused document supports nothing, so its end is of no concern.
            let EvidenceItem::Document { document, refusal: None, .. } = item else { continue };
            if let Some(approval) = &document.approval {
                at = at.min(approval.expires_at.unix_millis());
            }
            if let Some(max_age) = judge::max_age(input.policy, finding.source) {
                at = at.min(document.verified_at.unix_millis().saturating_add(max_age));
            }
        }
    }
    Timestamp::from_unix_millis(at)
}
