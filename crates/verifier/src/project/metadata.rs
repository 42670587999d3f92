//! What a receipt says of how a project was verified, beside its checks.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use proofmark_checks::{
    Command, Environment, Job, Judgment, PackagesFrom, Program, Report, ReportForm, Reveal, SkipPolicy, SkippedTest,
};
use proofmark_receipt::{Json, Object, object};

/// How much of the command is shown, in characters.
const MAX_COMMAND_CHARS: usize = 1_000;
/// How many folders of packages are named.
const MAX_PACKAGES: usize = 16;
/// How much the skipped tests may take together, in bytes of JSON.
const MAX_SKIPPED_BYTES: usize = 8 << 10;
/// How many reasons of skipped tests are counted.
const MAX_REASONS: usize = 8;

/// What was run.
pub(crate) struct Run<'a> {
    pub(crate) job: &'a Job,
    pub(crate) environment: Option<&'a Environment>,
}

/// Adds the settings in force, and the skipped tests. `run` is what was run, if anything was.
pub(crate) fn describe(metadata: &mut Object, command: &Command, judgment: &Judgment, run: Option<&Run<'_>>) {
    let shown = command.reveal != Reveal::None;
    let mut settings = Object::new();
    if shown {
        settings.insert("command", words(command));
        settings.insert("report", report(&command.report));
        settings.insert("packages", run.map(packages).unwrap_or_default());
        let added =
            run.and_then(|run| run.environment).map(|environment| environment.added.as_slice()).unwrap_or_default();
        if !added.is_empty() {
            settings.insert("pythonpath", added.iter().map(|folder| Json::from(folder.as_str())).collect::<Vec<_>>());
        }
    }
    settings.insert("skipped", command.skipped.as_str());
    if let Some(run) = run.filter(|_| shown) {
        settings.insert("limits", limits(run.job));
    }
    metadata.insert("settings", settings);
    if command.skipped == SkipPolicy::Ignore {
        metadata.insert("skipped", skipped(&judgment.skipped, shown));
    }
}

fn words(command: &Command) -> String {
    let words = command.words.join(" ");
    match words.char_indices().nth(MAX_COMMAND_CHARS) {
        Some((end, _)) => format!("{}…", words.get(..end).unwrap_or_default()),
        None => words,
    }
}

fn report(report: &Report) -> String {
    match report {
        Report::File(path) => path.clone(),
        Report::Stdout(ReportForm::Tap) => "stdout:tap".to_owned(),
        Report::Stdout(ReportForm::JUnit) => "stdout:junit".to_owned(),
        Report::ExitStatus => "exit status".to_owned(),
    }
}

/// The installed packages that the command could read.
fn packages(run: &Run<'_>) -> Vec<Json> {
    let Program::Command(project) = &run.job.program else { return Vec::new() };
    let python = run.environment.and_then(|environment| environment.from.as_ref()).map(|from| match from {
        PackagesFrom::Project(folder) => folder.as_str(),
        PackagesFrom::Venv => "venv",
        PackagesFrom::Lock => "lock",
        PackagesFrom::Host => run.job.language.as_str(),
    });
    let folders = project.folders.iter().map(|folder| folder.at.as_str());
    python.into_iter().chain(folders).take(MAX_PACKAGES).map(Json::from).collect()
}

fn limits(job: &Job) -> Object {
    let milliseconds = u64::try_from(job.limits.total_timeout.as_millis()).unwrap_or(u64::MAX);
    object! {
        "timeout_ms": milliseconds,
        "memory_mb": u64::from(job.limits.memory_mb),
        "disk_mb": u64::from(job.limits.disk_mb),
        "output_bytes": job.limits.output_bytes as u64,
        "processes": u64::from(job.limits.processes),
    }
}

/// How many tests were skipped, why, and which. Reasons count all of them; of the tests, as many are named as fit.
fn skipped(tests: &[SkippedTest], shown: bool) -> Object {
    object! {
        "count": tests.len() as u64,
        "reasons"?: shown.then(|| reasons(tests)).filter(|reasons| !reasons.is_empty()),
        "tests"?: shown.then(|| fitting(tests.iter().map(skipped_test))),
    }
}

fn skipped_test(test: &SkippedTest) -> Json {
    object! { "name": test.name.as_str(), "reason"?: test.reason.as_deref() }.into()
}

/// The reasons that most tests were skipped for, the most frequent first.
fn reasons(tests: &[SkippedTest]) -> Vec<Json> {
    let mut counts: BTreeMap<&str, u64> = BTreeMap::new();
    for reason in tests.iter().filter_map(|test| test.reason.as_deref()) {
        *counts.entry(reason).or_default() += 1;
    }
    let mut counts: Vec<(&str, u64)> = counts.into_iter().collect();
    // A stable sort: among reasons that are as frequent, the order is that of their texts.
    counts.sort_by_key(|(_, count)| Reverse(*count));
    let reasons = counts.into_iter().take(MAX_REASONS);
    reasons.map(|(reason, count)| object! { "reason": reason, "count": count }.into()).collect()
}

fn fitting(items: impl Iterator<Item = Json>) -> Vec<Json> {
    let mut left = MAX_SKIPPED_BYTES;
    let fits = |item: &Json| {
        let rest = left.checked_sub(item.to_text().len() + 1);
        left = rest.unwrap_or(0);
        rest.is_some()
    };
    items.take_while(fits).collect()
}
