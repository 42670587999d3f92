//! What lint finds.

use std::fmt;

use crate::policy::Violation;

/// Something that is wrong with a document, or probably not meant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// A stable name for programs.
    pub code: &'static str,
    pub severity: Severity,
    pub document: DocumentKind,
    /// As in `steps[0].verification.evidence[1]`; `locate` finds its line and column.
    pub path: String,
    pub message: String,
    pub help: String,
}

/// How bad a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Severity {
    /// The workflow cannot run, or not safely.
    Error,
    /// It runs, but probably not as intended.
    Warning,
}

/// The document a finding is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DocumentKind {
    Workflow,
    /// The workflow policy.
    Policy,
}

impl Severity {
    /// `error` or `warning`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Warning => "warning",
        }
    }
}

impl DocumentKind {
    /// `workflow` or `policy`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Workflow => "workflow",
            Self::Policy => "policy",
        }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}`: {} ({})", self.path, self.message, self.code)
    }
}

impl Finding {
    pub(super) fn error(code: &'static str, path: String, message: String, help: &str) -> Self {
        let (severity, document) = (Severity::Error, DocumentKind::Workflow);
        Self { code, severity, document, path, message, help: help.to_owned() }
    }

    pub(super) fn warning(code: &'static str, path: String, message: String, help: &str) -> Self {
        Self { severity: Severity::Warning, ..Self::error(code, path, message, help) }
    }

    pub(super) fn in_policy(self) -> Self {
        Self { document: DocumentKind::Policy, ..self }
    }
}

impl From<Violation> for Finding {
    fn from(violation: Violation) -> Self {
        Self::error(violation.code, violation.path, violation.message, &violation.help)
    }
}
