//! The fields that each object of a workflow or a workflow policy may have: what the readers accept and the JSON Schemas
//! list.

/// A workflow.
pub const WORKFLOW: &[&str] =
    &["name", "description", "class", "context", "tools", "onFailure", "reviewers", "logPolicy", "steps", "lint"];
/// Somebody who may approve attempts and reopen steps.
pub const REVIEWER: &[&str] = &["name", "key", "passkey", "roles"];
/// A step of a workflow.
pub const STEP: &[&str] = &[
    "id",
    "description",
    "agent",
    "class",
    "prompt",
    "outputs",
    "verification",
    "onFailure",
    "next",
    "goto",
    "terminal",
    "lint",
];
/// One way on from a step.
pub const NEXT: &[&str] = &["when", "goto"];
/// A verification block.
pub const VERIFICATION: &[&str] =
    &["onMissingEvidence", "retryPrompt", "evidence", "toolCalls", "receipts", "approvals", "noOtherMutations"];
/// A rule about the payload.
pub const EVIDENCE: &[&str] = &["id", "path", "expect", "rejectMessage"];
/// What a value must be, where it is not a plain value.
pub const EXPECT: &[&str] = &["predicate", "equals"];
/// A condition on one argument, or one part of a result.
pub const PART: &[&str] = &["expect"];
/// A rule about the recorded tool calls.
pub const TOOL_CALL: &[&str] = &[
    "id",
    "name",
    "source",
    "surface",
    "server",
    "origin",
    "earlier",
    "when",
    "min",
    "max",
    "before",
    "after",
    "args",
    "exactArgs",
    "status",
    "result",
    "rejectMessage",
];
/// A rule about receipts. The snake_case spellings are those of action policies, and are accepted as well.
pub const RECEIPT: &[&str] = &[
    "id",
    "kind",
    "suite",
    "specification",
    "anySuite",
    "any_suite",
    "tests",
    "testsFrom",
    "tests_from",
    "comparison",
    "strength",
    "counterRun",
    "counter_run",
    "environment",
    "verdict",
    "tier",
    "output",
    "signer",
    "maxAge",
    "max_age",
    "singleUse",
    "single_use",
    "quorum",
    "judgment",
    "logged",
    "witnesses",
    "rejectMessage",
];
/// A rule that asks for a person.
pub const APPROVAL: &[&str] = &["id", "role", "count", "distinct", "passkey", "rejectMessage"];
/// What happens to a step that is not accepted.
pub const ON_FAILURE: &[&str] = &["action", "maxAttempts", "retryStrategy", "initialDelayMs", "maxDelayMs", "jitter"];
/// Which tools change something.
pub const TOOLS: &[&str] = &["mutating", "readonly"];
/// A tool of these lists that is not only a name.
pub const TOOL: &[&str] = &["name", "source", "surface", "server", "origin"];
/// A policy.
pub const POLICY: &[&str] =
    &["name", "description", "tools", "classes", "reviewers", "requirements", "exemptions", "lint"];
/// The classes of a policy.
pub const CLASSES: &[&str] = &["mutating", "readonly"];
/// What a policy demands.
pub const DEMANDS: &[&str] = &[
    "requireVerification",
    "minEvidence",
    "allowWarn",
    "noOtherMutations",
    "toolCalls",
    "receipts",
    "maxAttempts",
    "maxDelayMs",
    "strategies",
];
/// A requirement: what a policy demands, and of what.
pub const REQUIREMENT: &[&str] = &[
    "scope",
    "class",
    "requireVerification",
    "minEvidence",
    "allowWarn",
    "noOtherMutations",
    "toolCalls",
    "receipts",
    "maxAttempts",
    "maxDelayMs",
    "strategies",
];
/// What a requirement or an exemption is about.
pub const SCOPE: &[&str] = &["workflow", "step", "agent", "class"];
/// An exemption.
pub const EXEMPTION: &[&str] = &["requirement", "scope", "reason", "approver", "expires"];
