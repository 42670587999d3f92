//! The verification block of `mode: command`.

use std::collections::BTreeSet;

use proofmark_receipt::Sha256Digest;
use proofmark_receipt::document::{Cause, DocumentError, Fields, nearest, shown};

use super::held::Held;
use super::settings::{PROJECT_SETTINGS, Settings};
use super::{Command, MissingFile, Unusable, demanded, expand, named, program, words};
use crate::content::Content;
use crate::files::{self, Files, Room};
use crate::job::ProjectFile;
use crate::reporting::{Report, Reporting};

/// The fields of a request beside [`PROJECT_SETTINGS`].
const FIELDS: [&str; 9] = ["kind", "mode", "language", "files", "held", "must_pass", "must_keep", "exclude", "include"];

/// Reads a command, and the digest of the submitted files alone.
pub(crate) fn read(
    verification: &Fields<'_>,
    submitted: Files,
    stored: &[Content],
    room: Room,
) -> Result<(Command, Sha256Digest), DocumentError> {
    // `salt` is not read here: `request::salt` reads it for every kind alike.
    verification.only(&[FIELDS.as_slice(), &PROJECT_SETTINGS].concat())?;
    // Before the request's files replace any of them: `hashes.output` is of what was submitted.
    let digest = files::files_digest(submitted.iter().map(|(path, content)| (path.as_str(), content)));
    let settings = Settings::read(verification)?;
    // The files were chosen before: these are read for the digest of this block.
    for choice in ["exclude", "include"] {
        verification.get(choice).map(|field| words::texts(&field)).transpose()?;
    }
    let own = verification.get("files");
    let own_files = own.as_ref().map(|own| files::read(own, stored, room)).transpose()?.unwrap_or_default();
    let held = verification.get("held").map(|field| Held::read(&field)).transpose()?;
    let room = room.on_disk(settings.limits.disk_mb);
    // Too much in the request alone is an error of the request; too much together is the submission's fault.
    if let Some((own, why)) = own.zip(files::too_many(&own_files, room)) {
        return Err(own.error(Cause::TooMany, why).with_help("leave some out"));
    }
    let field = verification.need("command", "write the command as an array of words, as in `[\"pytest\", \"-q\"]`")?;
    let words = words::read(&field)?;
    let (language, arguments) = program::interpreter(&field, &words, Some(&submitted))?;
    if let Some(asked) = verification.get("language")
        && asked.text()?.parse() != Ok(language)
    {
        return Err(asked
            .error(Cause::ConflictingFields, format!("the command runs {language}"))
            .with_help("leave the field out"));
    }
    let reporting = language.reporting()(&field, arguments, settings.report)?;
    let demanded = demanded::read(verification)?;
    if !demanded.is_empty() && reporting.report == Report::ExitStatus {
        let error = field.error(Cause::ConflictingFields, "the command reports no tests, and some are to pass");
        return Err(error.with_help("set `report`, or leave `must_pass` and `must_keep` out"));
    }
    let held_paths = own_files.keys().cloned().collect();
    let laid_out = together(submitted, own_files, held.as_ref(), &reporting, room);
    let command = Command {
        language,
        reporters: reporting.files.iter().map(|(path, _)| *path).collect(),
        runtime: settings.runtime,
        arguments: expand::expanded(reporting.arguments, &reporting.named, &laid_out.files),
        files: laid_out.files,
        held: held_paths,
        unusable: laid_out.unusable,
        words,
        runner: reporting.runner,
        script: reporting.script,
        named: reporting.named,
        counter_run: settings.counter_run,
        report: reporting.report,
        demanded,
        skipped: settings.skipped,
        packages: settings.packages,
        readable: settings.readable,
        env: settings.env,
        limits: settings.limits,
        reveal: settings.reveal,
    };
    Ok((command, digest))
}

/// The files a command runs in.
struct LaidOut {
    files: Vec<ProjectFile>,
    unusable: Option<Unusable>,
}

/// Lays out the files the command runs in. That they do not fit is the submission's doing: the files of the request fit by
/// themselves.
fn together(submitted: Files, mut own: Files, held: Option<&Held>, reporting: &Reporting, room: Room) -> LaidOut {
    let mut all = match held {
        Some(held) => held.laid_out(submitted, &mut own),
        None => submitted,
    };
    let of_request: BTreeSet<String> = own.keys().cloned().collect();
    // The files of the request win: a submission must not replace the tests that judge it.
    all.extend(own);
    all.extend(reporting.files.iter().map(|(path, text)| ((*path).to_owned(), text.as_bytes().to_vec().into())));
    if let Report::File(report) = &reporting.report {
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
    let unfit = conflict.or_else(|| files::too_many(&all, room));
    let unfit = unfit.map(|message| Unusable { by_request: false, message, missing: None });
    let files: Vec<_> = all.into_iter().map(|(path, content)| ProjectFile { path, content }).collect();
    LaidOut { unusable: unfit.or_else(|| missing(reporting, &files, !of_request.is_empty())), files }
}

/// A path in the command that nobody gave. Where the request brings files of its own, it brings the tests, so the mistake is
/// its; else the submission was to bring them.
fn missing(reporting: &Reporting, files: &[ProjectFile], brings_tests: bool) -> Option<Unusable> {
    let path = named::missing(&reporting.named, files)?;
    let paths: Vec<&str> = files.iter().map(|file| file.path.as_str()).collect();
    let nearest = nearest(path, &paths).map(shown);
    let hint = nearest.as_ref().map_or_else(String::new, |nearest| format!("; did you mean `{nearest}`?"));
    let path = shown(path);
    let message = format!("failed to find `{path}`, which the command names, among the files{hint}");
    Some(Unusable { by_request: brings_tests, message, missing: Some(MissingFile { path, nearest }) })
}
