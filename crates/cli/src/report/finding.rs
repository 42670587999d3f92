//! Mistakes in documents.

use proofmark_receipt::{Json, object};

use super::{Case, Group, Location, Status};

/// A place in a document.
pub(crate) struct Spot {
    /// Line and column, from 1.
    pub(crate) place: (u64, u64),
    /// The line, and a caret below the column.
    pub(crate) caret: String,
}

/// A mistake in a document.
#[derive(Clone, Debug)]
pub(crate) struct Finding {
    pub(crate) file: String,
    /// Line and column, counted from 1; `None` for the document as a whole.
    pub(crate) place: Option<(u64, u64)>,
    /// A name for programs, which does not change.
    pub(crate) code: String,
    pub(crate) error: bool,
    pub(crate) message: String,
    pub(crate) help: Option<String>,
    /// The line of the place, and a caret below the column: no more of a long line than is shown.
    pub(crate) caret: Option<String>,
}

impl Finding {
    /// A finding at a place of a document; `None` for the document as a whole.
    pub(crate) fn at(file: &str, spot: Option<Spot>, code: &str, message: String) -> Finding {
        let (place, caret) = spot.map(|spot| (spot.place, spot.caret)).unzip();
        Finding { file: file.to_owned(), place, code: code.to_owned(), error: true, message, help: None, caret }
    }

    /// `file:line:column`, as far as they are known.
    pub(crate) fn label(&self) -> String {
        self.place.map_or_else(|| self.file.clone(), |(line, column)| format!("{}:{line}:{column}", self.file))
    }

    fn to_json(&self) -> Json {
        let (line, column) = self.place.unzip();
        object! {
            "file": self.file.as_str(),
            "line"?: line,
            "column"?: column,
            "code": self.code.as_str(),
            "severity": self.status_word(),
            "message": self.message.as_str(),
            "help"?: self.help.as_deref(),
        }
        .into()
    }

    fn status_word(&self) -> &'static str {
        if self.error { "error" } else { "warning" }
    }

    fn case(&self) -> Case {
        let (line, column) = self.place.unzip();
        let status = if self.error { Status::Fail } else { Status::Warning };
        Case {
            location: Some(Location { file: self.file.clone(), line, column }),
            code: Some(self.code.clone()),
            message: Some(self.message.clone()),
            caret: self.caret.clone(),
            help: self.help.clone(),
            ..Case::new(format!("{} {}", self.label(), self.code), status)
        }
    }
}

impl Group {
    /// The findings of one file, which passes without any.
    pub(crate) fn of_findings(file: &str, findings: &[&Finding]) -> Group {
        let group = Group::of_cases(file, findings.iter().map(|finding| finding.case()).collect());
        Group { json: findings.iter().map(|finding| finding.to_json().to_text()).collect(), ..group }
    }
}
