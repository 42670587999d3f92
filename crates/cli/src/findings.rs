//! Findings about documents, in the forms that people and other programs read.

use std::io::{self, Write};

use clap::ValueEnum;
use proofmark_receipt::{Json, Object};
use quick_junit::{NonSuccessKind, Report, TestCase, TestCaseStatus, TestSuite};

use crate::paint::{Paint, tame};

/// How findings are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Form {
    /// For people, with the line and a caret
    Human,
    /// One JSON object a line
    Json,
    /// SARIF 2.1.0, for code scanning
    Sarif,
    /// Workflow commands of GitHub Actions
    Github,
    /// JUnit's XML
    Junit,
}

/// Something wrong with a document.
#[derive(Clone, Debug)]
pub(crate) struct Finding {
    pub(crate) file: String,
    /// From 1; none where it is about the document as a whole.
    pub(crate) place: Option<(u64, u64)>,
    /// Stable.
    pub(crate) code: String,
    pub(crate) error: bool,
    pub(crate) message: String,
    /// The line it is on.
    pub(crate) excerpt: Option<String>,
}

impl Finding {
    /// A finding at a place of the document `text`.
    pub(crate) fn at(file: &str, text: &[u8], place: Option<(u64, u64)>, code: &str, message: String) -> Finding {
        let excerpt = place.and_then(|(line, _)| {
            let index = usize::try_from(line.checked_sub(1)?).ok()?;
            String::from_utf8_lossy(text).lines().nth(index).map(str::to_owned)
        });
        Finding { file: file.to_owned(), place, code: code.to_owned(), error: true, message, excerpt }
    }

    /// `file:line:column`, as far as it is known.
    pub(crate) fn label(&self) -> String {
        self.place.map_or_else(|| self.file.clone(), |(line, column)| format!("{}:{line}:{column}", self.file))
    }

    fn severity(&self) -> &'static str {
        if self.error { "error" } else { "warning" }
    }

    /// The line, and a caret below the column.
    pub(crate) fn caret(&self) -> Option<String> {
        let ((_, column), excerpt) = (self.place?, self.excerpt.as_ref()?);
        let before = usize::try_from(column.saturating_sub(1)).ok()?;
        let indent: String = excerpt.chars().take(before).map(|c| if c == '\t' { '\t' } else { ' ' }).collect();
        Some(format!("    {}\n    {indent}^", tame(excerpt)))
    }
}

/// Writes findings about these files; files without any count as well where the form says what was looked at.
pub(crate) fn write(out: &mut impl Write, form: Form, files: &[String], findings: &[Finding]) -> anyhow::Result<()> {
    match form {
        Form::Human => human(out, files, findings)?,
        Form::Json => findings.iter().try_for_each(|finding| writeln!(out, "{}", object(finding).to_text()))?,
        Form::Github => findings.iter().try_for_each(|finding| github(out, finding))?,
        Form::Sarif => writeln!(out, "{}", sarif(findings).to_text())?,
        Form::Junit => junit(files, findings).serialize(&mut *out)?,
    }
    Ok(())
}

fn human(out: &mut impl Write, files: &[String], findings: &[Finding]) -> io::Result<()> {
    let paint = Paint::for_stdout();
    for finding in findings {
        let severity = paint.bad(finding.severity());
        writeln!(out, "{severity}[{}] {}: {}", finding.code, tame(&finding.label()), tame_lines(&finding.message))?;
        if let Some(caret) = finding.caret() {
            writeln!(out, "{caret}")?;
        }
    }
    match findings.len() {
        0 => writeln!(out, "{} {} checked, nothing found", paint.good("ok"), count(files.len(), "file")),
        found => writeln!(out, "{} in {}", count(found, "finding"), count(files.len(), "file")),
    }
}

/// Messages may hold an excerpt with a caret, whose lines stay lines.
fn tame_lines(text: &str) -> String {
    text.lines().map(tame).collect::<Vec<_>>().join("\n    ")
}

fn count(number: usize, what: &str) -> String {
    format!("{number} {what}{}", if number == 1 { "" } else { "s" })
}

fn object(finding: &Finding) -> Json {
    let mut object = Object::new();
    object.insert("file", finding.file.as_str());
    if let Some((line, column)) = finding.place {
        object.insert("line", line);
        object.insert("column", column);
    }
    object.insert("code", finding.code.as_str());
    object.insert("severity", finding.severity());
    object.insert("message", finding.message.as_str());
    object.into()
}

/// Escapes what GitHub's workflow commands give a meaning.
fn github(out: &mut impl Write, finding: &Finding) -> io::Result<()> {
    let escape = |text: &str| text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A");
    let file = escape(&finding.file).replace(':', "%3A").replace(',', "%2C");
    let (line, column) = finding.place.unwrap_or((1, 1));
    let severity = finding.severity();
    writeln!(
        out,
        "::{severity} file={file},line={line},col={column},title={}::{}",
        finding.code,
        escape(&finding.message)
    )
}

fn sarif(findings: &[Finding]) -> Json {
    let text = |text: &str| member("text", text);
    let mut driver = Object::new();
    driver.insert("name", "proofmark");
    driver.insert("version", env!("CARGO_PKG_VERSION"));
    let results = findings.iter().map(|finding| {
        let mut location = Object::new();
        location.insert("artifactLocation", member("uri", finding.file.as_str()));
        if let Some((line, column)) = finding.place {
            let mut region = Object::new();
            region.insert("startLine", line);
            region.insert("startColumn", column);
            location.insert("region", region);
        }
        let mut result = Object::new();
        result.insert("ruleId", finding.code.as_str());
        result.insert("level", finding.severity());
        result.insert("message", text(&finding.message));
        result.insert("locations", vec![Json::from(member("physicalLocation", location))]);
        Json::from(result)
    });
    let results: Vec<Json> = results.collect();
    let mut run = Object::new();
    run.insert("tool", member("driver", driver));
    run.insert("columnKind", "unicodeCodePoints");
    run.insert("results", results);
    let mut log = Object::new();
    log.insert("$schema", "https://json.schemastore.org/sarif-2.1.0.json");
    log.insert("version", "2.1.0");
    log.insert("runs", vec![Json::from(run)]);
    log.into()
}

fn member(name: &str, value: impl Into<Json>) -> Object {
    let mut object = Object::new();
    object.insert(name, value);
    object
}

fn junit(files: &[String], findings: &[Finding]) -> Report {
    let mut suite = TestSuite::new("lint");
    for file in files {
        let own: Vec<&Finding> = findings.iter().filter(|finding| finding.file == *file).collect();
        if own.is_empty() {
            suite.add_test_case(TestCase::new(file.as_str(), TestCaseStatus::success()));
        }
        for finding in own {
            let mut status = TestCaseStatus::non_success(NonSuccessKind::Failure);
            status.set_message(finding.message.as_str()).set_type(finding.code.as_str());
            suite.add_test_case(TestCase::new(format!("{} {}", finding.label(), finding.code), status));
        }
    }
    let mut report = Report::new("proofmark");
    report.add_test_suite(suite);
    report
}
