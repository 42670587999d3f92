//! Findings about documents, in formats for people and for other programs.

use std::io::{self, Write};

use clap::ValueEnum;
use proofmark_receipt::{Json, object};
use quick_junit::{NonSuccessKind, Report, TestCase, TestCaseStatus, TestSuite};

use crate::excerpt;
use crate::paint::{Paint, printable};

/// The format of findings.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// Text for people, with the line and a caret
    Human,
    /// One JSON object per line
    Json,
    /// SARIF 2.1.0, for code scanning
    Sarif,
    /// Workflow commands of GitHub Actions
    Github,
    /// JUnit XML
    Junit,
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
    /// The line of the place.
    pub(crate) excerpt: Option<String>,
}

impl Finding {
    /// A finding at a place of the document `text`.
    pub(crate) fn at(file: &str, text: &[u8], place: Option<(u64, u64)>, code: &str, message: String) -> Finding {
        let excerpt = place.and_then(|(line, _)| {
            let index = usize::try_from(line.checked_sub(1)?).ok()?;
            // The finding may be that the text is invalid UTF-8.
            String::from_utf8_lossy(text).lines().nth(index).map(str::to_owned)
        });
        Finding { file: file.to_owned(), place, code: code.to_owned(), error: true, message, help: None, excerpt }
    }

    /// `file:line:column`, as far as they are known.
    pub(crate) fn label(&self) -> String {
        self.place.map_or_else(|| self.file.clone(), |(line, column)| format!("{}:{line}:{column}", self.file))
    }

    /// The message and the help, for formats that have one field for both.
    fn text(&self) -> String {
        match &self.help {
            Some(help) => format!("{}\nhelp: {help}", self.message),
            None => self.message.clone(),
        }
    }

    fn severity(&self) -> &'static str {
        if self.error { "error" } else { "warning" }
    }

    /// The line, and a caret below the column.
    pub(crate) fn caret(&self) -> Option<String> {
        let ((_, column), line) = (self.place?, self.excerpt.as_ref()?);
        Some(excerpt::caret(line, column))
    }
}

/// Writes findings about these files. Some formats list the files without findings, too.
pub(crate) fn write(
    out: &mut impl Write,
    format: Format,
    files: &[String],
    findings: &[Finding],
) -> anyhow::Result<()> {
    match format {
        Format::Human => human(out, files, findings)?,
        Format::Json => findings.iter().try_for_each(|finding| writeln!(out, "{}", object(finding).to_text()))?,
        Format::Github => findings.iter().try_for_each(|finding| github(out, finding))?,
        Format::Sarif => writeln!(out, "{}", sarif(findings).to_text())?,
        Format::Junit => junit(files, findings).serialize(&mut *out)?,
    }
    Ok(())
}

fn human(out: &mut impl Write, files: &[String], findings: &[Finding]) -> io::Result<()> {
    let paint = Paint::for_stdout();
    for finding in findings {
        let severity = paint.bad(finding.severity());
        writeln!(
            out,
            "{severity}[{}] {}: {}",
            finding.code,
            printable(&finding.label()),
            printable_lines(&finding.message)
        )?;
        if let Some(caret) = finding.caret() {
            writeln!(out, "{caret}")?;
        }
        if let Some(help) = &finding.help {
            writeln!(out, "  help: {}", printable_lines(help))?;
        }
    }
    match findings.len() {
        0 => writeln!(out, "{} {} checked, no findings", paint.good("ok"), count(files.len(), "file")),
        found => writeln!(out, "{} in {}", count(found, "finding"), count(files.len(), "file")),
    }
}

/// A message may have an excerpt with a caret; its lines stay lines.
fn printable_lines(text: &str) -> String {
    text.lines().map(printable).collect::<Vec<_>>().join("\n    ")
}

fn count(number: usize, what: &str) -> String {
    format!("{number} {what}{}", if number == 1 { "" } else { "s" })
}

fn object(finding: &Finding) -> Json {
    let (line, column) = finding.place.unzip();
    object! {
        "file": finding.file.as_str(),
        "line"?: line,
        "column"?: column,
        "code": finding.code.as_str(),
        "severity": finding.severity(),
        "message": finding.message.as_str(),
        "help"?: finding.help.as_deref(),
    }
    .into()
}

/// A workflow command of GitHub, in which `%`, line breaks and, in its properties, `:` and `,` are escaped.
fn github(out: &mut impl Write, finding: &Finding) -> io::Result<()> {
    let escape = |text: &str| text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A");
    let file = escape(&finding.file).replace(':', "%3A").replace(',', "%2C");
    // GitHub shows no annotation without a line.
    let (line, column) = finding.place.unwrap_or((1, 1));
    let severity = finding.severity();
    writeln!(
        out,
        "::{severity} file={file},line={line},col={column},title={}::{}",
        finding.code,
        escape(&finding.text())
    )
}

fn sarif(findings: &[Finding]) -> Json {
    let result = |finding: &Finding| {
        let region = finding.place.map(|(line, column)| object! { "startLine": line, "startColumn": column });
        let location = object! { "artifactLocation": object! { "uri": finding.file.as_str() }, "region"?: region };
        Json::from(object! {
            "ruleId": finding.code.as_str(),
            "level": finding.severity(),
            "message": object! { "text": finding.text() },
            "locations": vec![Json::from(object! { "physicalLocation": location })],
        })
    };
    let driver = object! { "name": "proofmark", "version": env!("CARGO_PKG_VERSION") };
    let run = object! {
        "tool": object! { "driver": driver },
        // Places count characters, where the default of SARIF is UTF-16 code units.
        "columnKind": "unicodeCodePoints",
        "results": findings.iter().map(result).collect::<Vec<_>>(),
    };
    object! {
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": vec![Json::from(run)],
    }
    .into()
}

fn junit(files: &[String], findings: &[Finding]) -> Report {
    let mut suite = TestSuite::new("lint");
    for file in files {
        let of_file: Vec<&Finding> = findings.iter().filter(|finding| finding.file == *file).collect();
        if of_file.is_empty() {
            suite.add_test_case(TestCase::new(file.as_str(), TestCaseStatus::success()));
        }
        for finding in of_file {
            let mut status = TestCaseStatus::non_success(NonSuccessKind::Failure);
            status.set_message(finding.message.as_str()).set_type(finding.code.as_str());
            if let Some(help) = &finding.help {
                status.set_description(format!("help: {help}"));
            }
            suite.add_test_case(TestCase::new(format!("{} {}", finding.label(), finding.code), status));
        }
    }
    let mut report = Report::new("proofmark");
    report.add_test_suite(suite);
    report
}
