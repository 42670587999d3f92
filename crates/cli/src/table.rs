//! Tables of cases, and what became of each case.

use std::path::{Path, PathBuf};

use proofmark_receipt::Json;
use proofmark_receipt::document::DocumentError;

use crate::document::{self, Document};
use crate::error::with_help;
use crate::exit::Exit;
use crate::lint;
use crate::report::{Case, Format, Group, Human, Location, Reporter, Status, Style};

/// Reads a table of cases.
pub(crate) fn read<T>(path: &Path, read: impl FnOnce(&Json) -> Result<T, DocumentError>) -> anyhow::Result<T> {
    const KIND: &str = "table of cases";
    let document = document::read_document(path, KIND)?;
    if let Some(found) = lint::other_than_cases(&document.json) {
        return Err(with_help(
            format!("read the {KIND} `{}`: this is {found}", path.display()),
            "name its table of cases",
        ));
    }
    read(&document.json).map_err(|error| document::failure(KIND, document.finding(&error)))
}

/// A table of cases in a file, in which failing cases are located.
pub(crate) struct Table {
    path: PathBuf,
    document: Option<Document>,
    results: Vec<Case>,
}

impl Table {
    /// A table that was read already, so it can be read.
    pub(crate) fn new(path: &Path) -> anyhow::Result<Table> {
        Ok(Table { path: path.to_owned(), document: Document::read(path)?.ok(), results: Vec::new() })
    }

    /// Adds what became of the next case: how it differs from what the table expects, if it does.
    pub(crate) fn add(&mut self, name: &str, difference: Option<String>) {
        let status = if difference.is_some() { Status::Fail } else { Status::Pass };
        let field = format!("cases[{}]", self.results.len());
        let place = self.document.as_ref().and_then(|document| document.locate(&field));
        let (line, column) = place.unzip();
        let location = Location { file: self.path.display().to_string(), line, column };
        let location = difference.is_some().then_some(location);
        self.results.push(Case { message: difference, location, ..Case::new(name, status) });
    }

    /// Prints the results. `title` is the command.
    pub(crate) fn write(self, format: Format, title: &'static str) -> anyhow::Result<Exit> {
        let group = Group::of_cases(self.path.display().to_string(), self.results);
        let passes = group.status == Status::Pass;
        let mut reporter = Reporter::new(format, title, Human::new(Style::Cases));
        reporter.group(group)?;
        reporter.finish()?;
        Ok(if passes { Exit::Yes } else { Exit::No })
    }
}
