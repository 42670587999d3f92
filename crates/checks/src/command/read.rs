//! The verification block of `mode: command`.

use std::collections::BTreeSet;

use proofmark_receipt::Sha256Digest;
use proofmark_receipt::document::{Cause, DocumentError, Field, Fields, shown};

use super::files::Files;
use super::{Command, DEFAULT_COMMAND_DISK_MB, MAX_WORDS, files};
use crate::fields;
use crate::job::ProjectFile;
use crate::language::Language;
use crate::reporting::{self, Report};

const FIELDS: [&str; 12] = [
    // `salt` is not read here: `request::salt` reads it for every kind alike.
    "kind", "mode", "language", "runtime", "command", "files", "report", "packages", "readable", "limits", "reveal",
    "salt",
];

/// Reads a command, and the digest of the submitted files alone.
pub(crate) fn read(verification: &Fields<'_>, submitted: &Field<'_>) -> Result<(Command, Sha256Digest), DocumentError> {
    verification.only(&FIELDS)?;
    let submitted = files::read(submitted)?;
    // Before the request's files replace any of them: `hashes.output` is of what was submitted.
    let digest = files::digest(submitted.iter().map(|(path, content)| (path.as_str(), content.as_slice())));
    let own = verification.get("files");
    let own_files = own.as_ref().map(files::read).transpose()?.unwrap_or_default();
    let limits = fields::limits(verification.get("limits"))?;
    let disk_bytes = u64::from(limits.disk_mb.unwrap_or(DEFAULT_COMMAND_DISK_MB)) << 20;
    // Too much in the request alone is an error of the request; too much together is the submission's fault.
    if let Some((own, why)) = own.zip(files::too_many(&own_files, disk_bytes)) {
        return Err(own.error(Cause::TooMany, why).with_help("leave some out"));
    }
    let field = verification.need("command", "write the command as an array of words, as in `[\"pytest\", \"-q\"]`")?;
    let words = words(&field)?;
    let (language, arguments) = interpreter(&field, &words)?;
    if let Some(asked) = verification.get("language")
        && asked.text()?.parse() != Ok(language)
    {
        return Err(asked
            .error(Cause::ConflictingFields, format!("the command runs {language}"))
            .with_help("leave the field out"));
    }
    let asked = verification.get("report").map(|field| reporting::read(&field)).transpose()?;
    let reporting = language.reporting()(&field, arguments, asked)?;
    let (files, unusable) = together(submitted, own_files, &reporting.report, disk_bytes);
    let texts = |name: &str| verification.get(name).map(|field| texts(&field)).transpose();
    let command = Command {
        language,
        runtime: verification.get("runtime").map(|field| field.text().map(str::to_owned)).transpose()?,
        files,
        unusable,
        arguments: reporting.arguments,
        runner: reporting.runner,
        report: reporting.report,
        packages: verification.get("packages").map(|field| field.boolean()).transpose()?.unwrap_or(false),
        readable: texts("readable")?.unwrap_or_default(),
        limits,
        reveal: fields::reveal(verification.get("reveal"))?,
    };
    Ok((command, digest))
}

/// The files the command runs in, and why they cannot be laid out. That is the submission's doing: the files of the request
/// fit by themselves.
fn together(submitted: Files, own: Files, report: &Report, disk_bytes: u64) -> (Vec<ProjectFile>, Option<String>) {
    let of_request: BTreeSet<String> = own.keys().cloned().collect();
    let mut all = submitted;
    // The files of the request win: a submission must not replace the tests that judge it.
    all.extend(own);
    if let Report::File(report) = report {
        // A file that is there before the run is not a report of the run.
        let below =
            |path: &str| path.strip_prefix(report.as_str()).map(|rest| rest.is_empty() || rest.starts_with('/'));
        all.retain(|path, _| below(path) != Some(true));
    }
    let conflict = files::below_a_file(&all).map(|(file, below)| {
        let (theirs, ours) = if of_request.contains(file) { (below, file) } else { (file, below) };
        format!(
            "the submission has `{}` where the request has `{}`; one would be a file and a folder",
            shown(theirs),
            shown(ours)
        )
    });
    let unusable = conflict.or_else(|| files::too_many(&all, disk_bytes));
    (all.into_iter().map(|(path, content)| ProjectFile { path, content }).collect(), unusable)
}

fn words(field: &Field<'_>) -> Result<Vec<String>, DocumentError> {
    let words = texts(field)?;
    // The words become C strings for `execve`, which a null character would end.
    if words.is_empty() || words.len() > MAX_WORDS || words.iter().any(|word| word.contains('\0')) {
        return Err(field.error(Cause::InvalidValue, format!("write 1 to {MAX_WORDS} words, without null characters")));
    }
    Ok(words)
}

fn texts(field: &Field<'_>) -> Result<Vec<String>, DocumentError> {
    field.items()?.iter().map(|item| item.text().map(str::to_owned)).collect()
}

/// The language a command runs, and the arguments of its interpreter.
fn interpreter(field: &Field<'_>, words: &[String]) -> Result<(Language, Vec<String>), DocumentError> {
    let (program, rest) = words.split_first().map_or(("", words), |(program, rest)| (program.as_str(), rest));
    let Some((language, arguments)) = Language::of_program(program) else {
        let help = format!("begin with {}, as in `[\"bash\", \"run.sh\"]`", Language::programs());
        return Err(field.error(Cause::Unsupported, format!("`{}` cannot be run", shown(program))).with_help(help));
    };
    Ok((language, arguments.iter().map(ToString::to_string).chain(rest.to_vec()).collect()))
}
