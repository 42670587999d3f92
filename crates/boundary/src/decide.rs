//! Policy, request, evidence and history to a decision. It fails closed: what is unknown, unmatched or goes wrong is
//! never an allow.

mod applies;
mod finding;
mod judge;
mod rules;

use std::sync::Arc;

use proofmark_receipt::{Sha256Digest, Timestamp};

pub use finding::{Finding, Reason, Standing};
pub(crate) use finding::{Kind, RuleRef};
pub(crate) use judge::{Assumption, Judged, World, judge};
pub(crate) use rules::call_words;

use crate::change::{self, Change, Witness};
use crate::evidence::{Evidence, Item};
use crate::policy::{Mode, Policy};
use crate::request::Request;
use crate::ruling::{Outcome, Ruling};

/// When a decision is made, and what went before.
#[derive(Clone, Debug, PartialEq)]
pub struct Moment {
    /// The present.
    pub now: Timestamp,
    /// What went before.
    pub history: History,
}

/// What the keeper of decisions knows of this action's past.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct History {
    /// How often the action with this fingerprint was denied in this run.
    pub denied: u64,
}

/// A document a decision spends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Spend {
    /// Its id.
    pub receipt_id: String,
    /// The name under which it is spent ([`proofmark_receipt::Receipt::content`]).
    pub content: Sha256Digest,
}

/// Whether an action may execute, why, and how to go on.
#[derive(Clone, Debug)]
pub struct Decision {
    pub(crate) ruling: Ruling,
    pub(crate) shadowed: Option<Ruling>,
    pub(crate) findings: Vec<Finding>,
    pub(crate) spends: Vec<Spend>,
    pub(crate) changes: Vec<Change>,
    pub(crate) witness: Option<Witness>,
    pub(crate) steps: u64,
    pub(crate) denied_before: u64,
    pub(crate) decided_at: Timestamp,
    pub(crate) expires_at: Timestamp,
    pub(crate) action_hash: Sha256Digest,
    pub(crate) facts_hash: Sha256Digest,
    pub(crate) policy_hash: Sha256Digest,
    pub(crate) fingerprint: Sha256Digest,
}

/// Decides. The same arguments always give the same decision.
#[must_use]
pub fn decide(policy: &Policy, request: &Request, evidence: &Evidence, moment: &Moment) -> Decision {
    let world = World { policy, request, evidence, moment, assumed: &[] };
    let judged = judge(&world);
    let expires_at = expiry(&world, &judged);
    let (ruling, shadowed) = shadow(policy.mode, &judged);
    let (changes, witness) = match ruling {
        Ruling::Allow | Ruling::AllowWithWarning | Ruling::TerminalBlock => (Vec::new(), None),
        Ruling::LocalReplan | Ruling::UpstreamReplan | Ruling::HumanReview => change::changes(&world, &judged),
    };
    Decision {
        ruling,
        shadowed,
        spends: if ruling.allows() && shadowed.is_none() { spends(&judged) } else { Vec::new() },
        changes,
        witness,
        steps: judged.steps,
        denied_before: judged.denied_before,
        findings: judged.findings,
        decided_at: moment.now.clone(),
        expires_at,
        action_hash: request.action_hash(),
        facts_hash: request.facts_hash(),
        policy_hash: policy.hash(),
        fingerprint: request.fingerprint(policy),
    }
}

impl Decision {
    /// What it comes to.
    #[must_use]
    pub fn ruling(&self) -> Ruling {
        self.ruling
    }

    /// The outcome as receipts write it.
    #[must_use]
    pub fn outcome(&self) -> Outcome {
        self.ruling.outcome()
    }

    /// Whether the action may execute now.
    #[must_use]
    pub fn allows(&self) -> bool {
        self.ruling.allows()
    }

    /// What it would have come to, had the policy not been in shadow mode; `None` when that is what it came to.
    #[must_use]
    pub fn shadowed(&self) -> Option<Ruling> {
        self.shadowed
    }

    /// The reasons, in policy order.
    pub fn reasons(&self) -> impl Iterator<Item = &Reason> {
        self.findings.iter().filter_map(|finding| finding.reason.as_ref())
    }

    /// What was found for every rule that was looked at, in policy order.
    #[must_use]
    pub fn findings(&self) -> &[Finding] {
        &self.findings
    }

    /// The evidence the rules looked at, in policy order.
    pub fn evidence(&self) -> impl Iterator<Item = &Item> {
        self.findings.iter().flat_map(|finding| &finding.evidence)
    }

    /// The documents to be recorded as spent, in the same step as the decision.
    #[must_use]
    pub fn spends(&self) -> &[Spend] {
        &self.spends
    }

    /// What would change the decision: all of it together makes it an allow.
    #[must_use]
    pub fn changes(&self) -> &[Change] {
        &self.changes
    }

    /// What the changes are proven by: a request and documents with which it is an allow.
    #[must_use]
    pub fn witness(&self) -> Option<&Witness> {
        self.witness.as_ref()
    }

    /// The hash of the action, which approvals are bound to.
    #[must_use]
    pub fn action_hash(&self) -> Sha256Digest {
        self.action_hash
    }

    /// The hash of the action without what only says how it is shown: what denials are counted under.
    #[must_use]
    pub fn fingerprint(&self) -> Sha256Digest {
        self.fingerprint
    }

    /// When it stops to hold.
    #[must_use]
    pub fn expires_at(&self) -> &Timestamp {
        &self.expires_at
    }

    /// How many steps its predicates took.
    #[must_use]
    pub fn steps(&self) -> u64 {
        self.steps
    }

    /// Whether asking for the same action again, unchanged, is of no use.
    ///
    /// It is the second denial, it waits for a human, its path ends, or nothing is known that would change it.
    #[must_use]
    pub fn must_not_retry_same_action(&self) -> bool {
        match self.ruling {
            Ruling::Allow | Ruling::AllowWithWarning => false,
            Ruling::LocalReplan | Ruling::UpstreamReplan => self.denied_before > 0 || self.changes.is_empty(),
            Ruling::HumanReview | Ruling::TerminalBlock => true,
        }
    }
}

/// In shadow mode what would have been blocked is allowed with a warning; errors are not.
fn shadow(mode: Mode, judged: &Judged) -> (Ruling, Option<Ruling>) {
    let hard = judged.findings.iter().any(|finding| finding.hard);
    match (mode, judged.ruling.allows(), hard) {
        (Mode::Shadow, false, false) => (Ruling::AllowWithWarning, Some(judged.ruling)),
        (Mode::Enforce, _, _) | (Mode::Shadow, true, _) | (Mode::Shadow, false, true) => (judged.ruling, None),
    }
}

fn spends(judged: &Judged) -> Vec<Spend> {
    let mut spends: Vec<Spend> = Vec::new();
    for item in judged.findings.iter().flat_map(|finding| &finding.evidence) {
        if let Item::Document { document, refusal: None, single_use: true, .. } = item
            && !spends.iter().any(|spend| spend.content == document.content)
        {
            spends.push(Spend { receipt_id: document.receipt_id.clone(), content: document.content });
        }
    }
    spends
}

/// A decision holds no longer than what it rests on.
fn expiry(world: &World<'_>, judged: &Judged) -> Timestamp {
    let mut at = world.moment.now.unix_millis().saturating_add(world.policy.valid_for_millis);
    for finding in &judged.findings {
        for item in &finding.evidence {
            let Item::Document { document, refusal: None, .. } = item else { continue };
            if let Some(approval) = &document.approval {
                at = at.min(approval.expires_at.unix_millis());
            }
            if let Some(max_age) = judge::max_age(world.policy, finding.source) {
                at = at.min(document.verified_at.unix_millis().saturating_add(max_age));
            }
        }
    }
    Timestamp::from_unix_millis(at)
}

/// A text shared by findings.
pub(crate) type Shared = Arc<str>;
