//! What a request and the `proofmark.yaml` of a project say alike of a command.

use std::collections::{BTreeMap, BTreeSet};

use proofmark_receipt::document::{Cause, DocumentError, Field, Fields, shown};

use super::{CounterSetting, Packages, SkipPolicy, program, words};
use crate::fields;
use crate::reporting::{self, Report};
use crate::suite::{AskedLimits, Reveal};

/// The fields of a request that `proofmark.yaml` may have.
pub const PROJECT_SETTINGS: [&str; 11] = [
    "command",
    "report",
    "runtime",
    "skipped",
    "packages",
    "readable",
    "env",
    "limits",
    "reveal",
    "salt",
    "counter_run",
];
/// The most tests that may pass with a wrong expectation.
const MAX_EXCEPTIONS: usize = 1_000;
/// The most variables of the environment.
pub(crate) const MAX_VARIABLES: usize = 64;
/// The most bytes of their names and values together.
pub(crate) const MAX_VARIABLE_BYTES: usize = 32 << 10;

/// The settings of a command.
pub(super) struct Settings {
    pub(super) runtime: Option<String>,
    pub(super) report: Option<Report>,
    pub(super) skipped: SkipPolicy,
    pub(super) packages: Packages,
    pub(super) readable: Vec<String>,
    pub(super) env: BTreeMap<String, String>,
    pub(super) limits: AskedLimits,
    pub(super) reveal: Reveal,
    pub(super) counter_run: CounterSetting,
}

impl Settings {
    /// Reads all settings but the command.
    pub(super) fn read(fields: &Fields<'_>) -> Result<Settings, DocumentError> {
        let env = fields.get("env").map(|field| variables(&field)).transpose()?;
        Ok(Settings {
            runtime: fields.get("runtime").map(|field| field.text().map(str::to_owned)).transpose()?,
            report: fields.get("report").map(|field| reporting::read(&field)).transpose()?,
            skipped: fields
                .get("skipped")
                .map(|field| field.choice(&SkipPolicy::WORDS))
                .transpose()?
                .unwrap_or_default(),
            packages: fields.get("packages").map(|field| packages(&field)).transpose()?.unwrap_or_default(),
            readable: fields.get("readable").map(|field| words::texts(&field)).transpose()?.unwrap_or_default(),
            env: env.unwrap_or_default(),
            limits: fields::limits(fields.get("limits"))?,
            reveal: fields::reveal(fields.get("reveal"))?,
            counter_run: fields.get("counter_run").map(|field| counter_run(&field)).transpose()?.unwrap_or_default(),
        })
    }
}

/// Checks settings outside of a request: all of [`PROJECT_SETTINGS`] that the document has.
///
/// # Errors
/// As for a request that has them.
pub fn check_settings(fields: &Fields<'_>) -> Result<(), DocumentError> {
    Settings::read(fields)?;
    if let Some(field) = fields.get("command") {
        let words = words::read(&field)?;
        // The project's `package.json`, which is not read yet, says what a script runs.
        if !words.first().is_some_and(|word| program::SCRIPT_RUNNERS.contains(&word.as_str())) {
            program::interpreter(&field, &words, None)?;
        }
    }
    fields.get("salt").map(|field| field.text().map(drop)).transpose().map(drop)
}

/// `true`, `false`, `lock`, or the lock file.
fn packages(field: &Field<'_>) -> Result<Packages, DocumentError> {
    const LOCK: &str = "lock";
    match (field.json.as_bool(), field.json.as_str(), field.json.as_object()) {
        (Some(true), ..) => Ok(Packages::Installed),
        (Some(false), ..) => Ok(Packages::None),
        (_, Some(LOCK), _) => Ok(Packages::Lock(None)),
        (_, _, Some(_)) => {
            let fields = field.fields()?;
            fields.only(&[LOCK])?;
            let file = fields.need(LOCK, "name the lock file, as in `lock: requirements.txt`")?;
            Ok(Packages::Lock(Some(file.text()?.to_owned())))
        }
        _ => Err(field.wrong_type("`true`, `false`, `lock` or an object with `lock`")),
    }
}

/// `true`, `false`, or the tests that may pass with a wrong expectation.
fn counter_run(field: &Field<'_>) -> Result<CounterSetting, DocumentError> {
    if let Some(asked) = field.json.as_bool() {
        return Ok(CounterSetting { asked: Some(asked), except: BTreeSet::new() });
    }
    if field.json.as_object().is_none() {
        return Err(field.wrong_type("`true`, `false` or an object with `except`"));
    }
    let fields = field.fields()?;
    fields.only(&["except"])?;
    let names = fields.need("except", "list the names of tests, as in `except: [tests.test_a::test_b]`")?.items()?;
    if names.len() > MAX_EXCEPTIONS {
        let message = format!("{} tests are more than the {MAX_EXCEPTIONS} that may be excepted", names.len());
        return Err(field.error(Cause::TooMany, message).with_help("write `counter_run: false`"));
    }
    let except = names.iter().map(|name| name.text().map(str::to_owned)).collect::<Result<_, _>>()?;
    Ok(CounterSetting { asked: None, except })
}

fn variables(field: &Field<'_>) -> Result<BTreeMap<String, String>, DocumentError> {
    let mut variables = BTreeMap::new();
    let mut bytes = 0;
    for (name, value) in field.fields()?.iter() {
        let text = value.text()?;
        if !name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
            || name.chars().next().is_none_or(|first| first.is_ascii_digit())
        {
            let message = format!("`{}` is not the name of a variable", shown(name));
            return Err(value.error(Cause::InvalidValue, message).with_help("use letters, digits and `_`"));
        }
        if text.contains('\0') {
            return Err(value.error(Cause::InvalidValue, "a variable has no null character").with_help("leave it out"));
        }
        bytes += name.len() + text.len();
        variables.insert(name.to_owned(), text.to_owned());
    }
    if variables.len() > MAX_VARIABLES || bytes > MAX_VARIABLE_BYTES {
        let message = format!("more than {MAX_VARIABLES} variables, or {MAX_VARIABLE_BYTES} bytes of them");
        return Err(field.error(Cause::TooMany, message).with_help("leave some out"));
    }
    Ok(variables)
}
