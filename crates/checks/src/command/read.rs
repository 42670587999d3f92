//! The verification block of `mode: command`.

use proofmark_receipt::Sha256Digest;
use proofmark_receipt::document::{Cause, DocumentError, Field, Fields, shown};

use super::{Command, MAX_WORDS, OWN_REPORT, ProjectFile, TAP_REPORTER, files};
use crate::job::Language;
use crate::request::{Reveal, asked_limits};

const FIELDS: [&str; 11] =
    ["kind", "mode", "language", "runtime", "command", "files", "report", "packages", "readable", "limits", "reveal"];

/// Reads a command, and the digest of the submitted files alone.
pub(crate) fn read(verification: &Fields<'_>, submitted: &Field<'_>) -> Result<(Command, Sha256Digest), DocumentError> {
    verification.only(&FIELDS)?;
    let mut all = files::read(submitted)?;
    let digest = files::digest(all.iter().map(|(path, content)| (path.as_str(), content.as_slice())));
    if let Some(own) = verification.get("files") {
        all.extend(files::read(&own)?);
    }
    let field = verification.need("command", "write the command as an array of words, as in `[\"pytest\", \"-q\"]`")?;
    let words = words(&field)?;
    let (language, arguments) = interpreter(&field, &words)?;
    if let Some(asked) = verification.get("language")
        && asked.text()?.parse() != Ok(language)
    {
        return Err(asked.error(Cause::ConflictingFields, format!("the command runs {language}; leave the field out")));
    }
    let report = verification.get("report").map(|field| path(&field)).transpose()?;
    let (arguments, report) = with_report(arguments, report);
    let texts = |name: &str| verification.get(name).map(|field| texts(&field)).transpose();
    let command = Command {
        language,
        runtime: verification.get("runtime").map(|field| field.text().map(str::to_owned)).transpose()?,
        files: all.into_iter().map(|(path, content)| ProjectFile { path, content }).collect(),
        arguments,
        report,
        packages: verification.get("packages").map(|field| field.boolean()).transpose()?.unwrap_or(false),
        readable: texts("readable")?.unwrap_or_default(),
        limits: asked_limits(verification.get("limits"))?,
        reveal: Reveal::read(verification.get("reveal"))?,
    };
    Ok((command, digest))
}

fn words(field: &Field<'_>) -> Result<Vec<String>, DocumentError> {
    let words = texts(field)?;
    if words.is_empty() || words.len() > MAX_WORDS || words.iter().any(|word| word.contains('\0')) {
        return Err(field.error(Cause::InvalidValue, format!("write 1 to {MAX_WORDS} words, without null characters")));
    }
    Ok(words)
}

fn texts(field: &Field<'_>) -> Result<Vec<String>, DocumentError> {
    field.items()?.iter().map(|item| item.text().map(str::to_owned)).collect()
}

fn path(field: &Field<'_>) -> Result<String, DocumentError> {
    let path = field.text()?;
    files::check(path).map_err(|why| field.error(Cause::InvalidValue, why))?;
    Ok(path.to_owned())
}

/// The language a command runs, and the arguments of its interpreter.
fn interpreter(field: &Field<'_>, words: &[String]) -> Result<(Language, Vec<String>), DocumentError> {
    let (program, rest) = words.split_first().map_or(("", words), |(program, rest)| (program.as_str(), rest));
    let module = |name: &str| ["-m".to_owned(), name.to_owned()].into_iter().chain(rest.to_vec()).collect();
    match program {
        "python" | "python3" => Ok((Language::Python, rest.to_vec())),
        "pytest" => Ok((Language::Python, module("pytest"))),
        "node" => Ok((Language::JavaScript, rest.to_vec())),
        "bash" | "sh" => Ok((Language::Bash, rest.to_vec())),
        other => {
            let message = format!(
                "`{}` can not be run; begin with `python3`, `pytest`, `node` or `bash`, as in `[\"bash\", \"run.sh\"]`",
                shown(other)
            );
            Err(field.error(Cause::Unsupported, message))
        }
    }
}

/// Makes a test runner that is known report its tests, where the command does not say how.
fn with_report(mut arguments: Vec<String>, asked: Option<String>) -> (Vec<String>, Option<String>) {
    let named = arguments.iter().enumerate().find_map(|(index, word)| {
        let inline = word.strip_prefix("--junitxml=").or_else(|| word.strip_prefix("--junit-xml="));
        let apart =
            || matches!(word.as_str(), "--junitxml" | "--junit-xml").then(|| arguments.get(index + 1)).flatten();
        inline.map(str::to_owned).or_else(|| apart().cloned())
    });
    let named = asked.or(named).filter(|path| files::check(path).is_ok());
    if named.is_some() {
        return (arguments, named);
    }
    if arguments.starts_with(&["-m".to_owned(), "pytest".to_owned()]) {
        arguments.push(format!("--junitxml={OWN_REPORT}"));
        return (arguments, Some(OWN_REPORT.to_owned()));
    }
    let node_test = arguments.iter().any(|word| word == "--test");
    if node_test && !arguments.iter().any(|word| word.starts_with("--test-reporter")) {
        arguments.insert(0, TAP_REPORTER.to_owned());
    }
    (arguments, None)
}
