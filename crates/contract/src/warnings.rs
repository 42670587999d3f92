//! The names of the warnings of lint.

use proofmark_evidence::DOUBTS;

/// The names of the warnings about workflows and workflow policies that an author can mean, beside [`DOUBTS`].
const WARNINGS: [&str; 30] = [
    "any-signer",
    "any-suite",
    "strength-of-any-suite",
    "call-of-any-server",
    "call-of-any-status",
    "call-of-any-tool",
    "dead-branch",
    "dead-on-failure",
    "dead-retry-prompt",
    "dead-rule",
    "duplicate-rule",
    "exemption-unused",
    "exempts-everything",
    "missing-retry-metadata",
    "needless-allow",
    "never-rejects",
    "no-otherwise",
    "no-retry-left",
    "no-rules",
    "present-claim",
    "self-stated",
    "shadowed-rule",
    "text-of-value",
    "tool-class-conflict",
    "unbound-receipt",
    "unlisted-tool",
    "unnamed-payload",
    "unresolved-reference",
    "verdict-not-pass",
    "weak-readonly",
];

/// The names of all warnings of workflows and workflow policies.
#[must_use]
pub fn warning_codes() -> Vec<&'static str> {
    WARNINGS.into_iter().chain(DOUBTS).collect()
}
