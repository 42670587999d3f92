//! Why a document does not meet a demand: one set of codes and messages for all rules.

use crate::receipt::ReceiptFact;

/// The most refused documents that are named for one rule.
const MAX_REFUSED: usize = 4;

/// Why a document does not meet a demand, in the order of the checks: a document that fails a later one is nearer to
/// meeting the demand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Refusal {
    /// It is over other bytes, or approves another action.
    OtherOutput,
    /// It is for more than one action, and not for this one.
    OutOfScope,
    /// It is for another session.
    OtherSession,
    NotValid,
    /// It is about something else, or claims to be two things.
    OtherKind,
    /// The policy gives the role to nobody.
    RoleOfNobody,
    Signer,
    OtherSpecification,
    /// It is a judgment in another role.
    OtherRole,
    /// It is for another suite: another specification, or other tests.
    OtherSuite,
    OtherTests,
    /// Its tests are the submission's own, or of another commit.
    TestsFrom,
    /// The submission decided some of its checks, or it does not say that the verifier decided them.
    Comparison,
    /// Too few mutants of the work failed its tests, or it does not say how many.
    Strength,
    /// Too few of its tests failed with a wrong expectation, or there was no counter-run.
    CounterRun,
    /// Its tests could import other packages, or it does not say which.
    OtherPackages,
    Verdict,
    Tier,
    InTheFuture,
    TooOld,
    Expired,
    /// It does not say that its reviewer was shown this action.
    OtherAction,
    /// A rule asks for a passkey, and it was given otherwise.
    NoPasskey,
    OtherEnvironment,
    OtherAgent,
    /// It is for more than one action, which the rule does not offer.
    ScopeNotOffered,
    /// It is for more than one action, and counts for longer than the rule offers.
    GrantTooLong,
    /// The members of the quorum were not all presented, or do not come to its verdict.
    NotCounted,
    /// Too few of the operators that the rule lists agree.
    QuorumNotMet,
    /// An operator that the rule lists is not among the reviews.
    QuorumIncomplete,
    /// No proof shows that it is in a log of the policy.
    NotLogged,
    /// Too few witnesses of the policy have cosigned its log.
    NotWitnessed,
    /// It was used up before.
    Spent,
    /// Another approval of the same reviewer counts.
    SameReviewer,
    /// Another rule uses it up at the same time.
    UsedByAnotherRule,
}

impl Refusal {
    /// A short stable name.
    #[must_use]
    pub fn code(self) -> &'static str {
        match self {
            Self::OtherOutput => "other_output",
            Self::OutOfScope => "out_of_scope",
            Self::NotValid => "not_valid",
            Self::OtherKind => "other_kind",
            Self::RoleOfNobody => "role_of_nobody",
            Self::Signer => "signer_not_trusted",
            Self::OtherSpecification => "other_specification",
            Self::OtherRole => "other_role",
            Self::OtherSuite => "other_suite",
            Self::OtherTests => "other_tests",
            Self::TestsFrom => "tests_not_held",
            Self::Comparison => "compared_in_process",
            Self::Strength => "too_weak",
            Self::CounterRun => "not_contradicted",
            Self::OtherPackages => "other_packages",
            Self::Verdict => "other_verdict",
            Self::Tier => "other_tier",
            Self::InTheFuture => "dated_in_the_future",
            Self::TooOld => "too_old",
            Self::Expired => "expired",
            Self::OtherAction => "other_action",
            Self::NoPasskey => "no_passkey",
            Self::OtherEnvironment => "other_environment",
            Self::OtherAgent => "other_agent",
            Self::OtherSession => "other_session",
            Self::ScopeNotOffered => "scope_not_offered",
            Self::GrantTooLong => "grant_too_long",
            Self::NotCounted => "not_counted",
            Self::QuorumNotMet => "quorum_not_met",
            Self::QuorumIncomplete => "quorum_incomplete",
            Self::NotLogged => "not_logged",
            Self::NotWitnessed => "not_witnessed",
            Self::Spent => "spent",
            Self::SameReviewer => "same_reviewer",
            Self::UsedByAnotherRule => "used_by_another_rule",
        }
    }

    /// The message, completing "receipt …". Receipts of decisions quote it, and replaying one compares it, so it does not
    /// change.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Self::OtherOutput => "is over other bytes than asked for",
            Self::OutOfScope => "does not reach this action",
            Self::NotValid => "does not verify",
            Self::OtherKind => "is of another kind",
            Self::RoleOfNobody => "is in a role that the policy gives to nobody",
            Self::Signer => "is signed by a key that is not trusted for this",
            Self::OtherSpecification => "is for another specification",
            Self::OtherRole => "is a judgment in another role",
            Self::OtherSuite => "is for another suite",
            Self::OtherTests => "ran other tests",
            Self::TestsFrom => "does not say that its tests come from there",
            Self::Comparison => "does not say that the verifier decided every check",
            Self::Strength => "does not say that enough mutants of the work failed its tests",
            Self::CounterRun => "does not say that enough of its tests failed with a wrong expectation",
            Self::OtherPackages => "does not say that its tests could import these packages alone",
            Self::Verdict => "has another verdict",
            Self::Tier => "is of another tier",
            Self::InTheFuture => "is dated in the future",
            Self::TooOld => "is too old",
            Self::Expired => "has expired",
            Self::OtherAction => "is of another action than its reviewer was shown",
            Self::NoPasskey => "was not given with a passkey",
            Self::OtherEnvironment => "was given for another environment",
            Self::OtherAgent => "was given to another agent",
            Self::OtherSession => "was given for another session",
            Self::ScopeNotOffered => "is for more than one action, which the rule does not offer",
            Self::GrantTooLong => "is for more than one action, and counts for longer than the rule offers",
            Self::NotCounted => "is of a quorum that cannot be counted again from the receipts that were presented",
            Self::QuorumNotMet => "is of a quorum in which too few operators of the rule agree",
            Self::QuorumIncomplete => "is of a quorum without a review of every operator of the rule",
            Self::NotLogged => "is not proven to be in a log of the policy",
            Self::NotWitnessed => "is in a log that too few witnesses of the policy have cosigned",
            Self::Spent => "was used up before",
            Self::SameReviewer => "is by a reviewer whose approval counts already",
            Self::UsedByAnotherRule => "is used up by another rule",
        }
    }
}

/// Refuses when the condition holds.
pub(crate) fn refuse(condition: bool, refusal: Refusal) -> Result<(), Refusal> {
    if condition { Err(refusal) } else { Ok(()) }
}

/// The refused documents that are nearest to meeting the demand, at most `MAX_REFUSED`.
#[must_use]
pub fn nearest(judged: Vec<(&ReceiptFact, Option<Refusal>)>) -> Vec<(&ReceiptFact, Refusal)> {
    let mut refused: Vec<_> =
        judged.into_iter().filter_map(|(fact, refusal)| refusal.map(|refusal| (fact, refusal))).collect();
    // The content breaks ties: receipts of decisions quote this list, and a replay must arrive at the same one.
    refused.sort_by(|left, right| (right.1, left.0.content).cmp(&(left.1, right.0.content)));
    refused.truncate(MAX_REFUSED);
    refused
}
