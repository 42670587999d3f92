//! The names of the warnings of lint.

use proofmark_evidence::DOUBTS;

/// The names of all warnings of policies that are not also of workflows ([`DOUBTS`]).
const OWN: [&str; 35] = [
    "no-boundaries",
    "allows-everything",
    "exempts-everything",
    "call-of-any-status",
    "call-of-any-server",
    "call-about-anything",
    "any-suite",
    "strength-of-any-suite",
    "specification-of-agent",
    "receipt-without-end",
    "log-without-witness",
    "unused-log-policy",
    "verdict-not-pass",
    "scopes-of-spending",
    "role-of-nobody",
    "too-few-keys",
    "one-person-twice",
    "decider-approves",
    "weak-dispatcher",
    "self-stated",
    "no-lower-bound",
    "never-reached",
    "never-allows",
    "conflicting-boundaries",
    "duplicate-rule",
    "regex-in-glob",
    "presentation-of-rule",
    "unused-role",
    "unknown-signal",
    "unknown-label",
    "tool-of-other-class",
    "tool-of-any-server",
    "shadow-mode",
    "long-validity",
    "needless-allow",
];

/// The names of all warnings of policies.
#[must_use]
pub fn warning_codes() -> Vec<&'static str> {
    OWN.into_iter().chain(DOUBTS).collect()
}
