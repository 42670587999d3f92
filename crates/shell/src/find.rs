//! `find` and `xargs`, which start a program with files that they find or are told.

use crate::Cause;
use crate::options::Options;
use crate::told::{Start, Told};
use crate::values::{Arg, Reading};

/// Programs that show, touch or remove the files that they are given, and start nothing.
const READERS: [&str; 23] = [
    "cat",
    "wc",
    "grep",
    "egrep",
    "fgrep",
    "ls",
    "head",
    "tail",
    "stat",
    "file",
    "du",
    "md5sum",
    "sha1sum",
    "sha256sum",
    "basename",
    "dirname",
    "echo",
    "printf",
    "nl",
    "cut",
    "realpath",
    "rm",
    "touch",
];

/// `gets_files` says that its input has the names of files and nothing else.
pub(crate) fn xargs(args: &[Arg], gets_files: bool) -> Told {
    let options = Options {
        flags: &["--replace", "-0", "--null", "-r", "--no-run-if-empty", "-t", "-x", "--verbose", "-p"],
        with_value: &["-n", "-I", "-P", "-L", "-d", "-s", "-a", "-E", "--max-args", "--max-procs", "--delimiter"],
        beginnings: &["-n", "-P", "-I", "-L", "-d", "--max-args=", "--max-procs=", "--delimiter="],
        operands: 0,
    };
    let at = match options.skip(args) {
        Ok(at) => at,
        Err(cause) => return Told::opaque(cause),
    };
    let mut inner = args.get(at..).unwrap_or_default().to_vec();
    let mut told = Told::opaque(Cause::Arguments);
    let Some(program) = inner.first().and_then(Arg::text) else { return told };
    if !READERS.contains(&program) {
        told.opaque.insert(Cause::Program);
    }
    inner.push(Arg { is_file: gets_files, ..Arg::unknown("$@") });
    told.own = Some(at);
    told.starts.push(Start::Command { args: inner, assignments: Vec::new() });
    told
}

pub(crate) fn find(args: &[Arg]) -> Told {
    let mut told = Told::default();
    let found = found(args);
    if args.iter().any(|arg| arg.text() == Some("-delete")) {
        told.made.push(found.clone().unwrap_or_else(|| Arg::unknown(".")));
    }
    let mut at = 0;
    while let Some(arg) = args.get(at) {
        let before = at.checked_sub(1).and_then(|before| args.get(before)?.text());
        if let Some("-name" | "-iname" | "-path" | "-ipath" | "-regex" | "-not" | "-wholename") = before {
            told.texts.insert(at);
        }
        at += 1;
        match arg.text() {
            Some("-exec" | "-execdir" | "-ok" | "-okdir") => {
                let rest = args.get(at..).unwrap_or_default();
                let ends = |at: usize, arg: &Arg| match arg.text() {
                    Some(";") => true,
                    // It ends a command behind the files only.
                    Some("+") => at.checked_sub(1).and_then(|before| rest.get(before)?.text()) == Some("{}"),
                    _ => false,
                };
                let end = rest.iter().enumerate().position(|(at, arg)| ends(at, arg));
                let Some(inner) = end.and_then(|end| rest.get(..end)) else { return Told::opaque(Cause::Syntax) };
                match executed(inner, found.as_ref()) {
                    Some((args, is_reader)) => {
                        if !is_reader {
                            told.opaque.insert(Cause::Arguments);
                        }
                        // These run in the folder of each file.
                        let start = if matches!(arg.text(), Some("-execdir" | "-okdir")) {
                            Start::Elsewhere { args }
                        } else {
                            Start::Command { args, assignments: Vec::new() }
                        };
                        told.starts.push(start);
                    }
                    None => return Told::opaque(Cause::Program),
                }
                at += inner.len();
            }
            Some("-files0-from") => {
                told.opaque.insert(Cause::Option);
            }
            // It could be `-exec`.
            None if arg.readings.is_none() => {
                told.opaque.insert(Cause::Arguments);
            }
            _ => {}
        }
    }
    told
}

/// The command of `-exec`, with what is known of the files, and whether its program only reads.
fn executed(inner: &[Arg], found: Option<&Arg>) -> Option<(Vec<Arg>, bool)> {
    let is_found = |arg: &Arg| arg.written.contains("{}");
    let program = inner.first().filter(|first| !is_found(first))?.text();
    let is_reader = program.is_some_and(|program| READERS.contains(&program) || program == "sed");
    let known = |arg: &Arg| match found.filter(|_| arg.text() == Some("{}")) {
        Some(found) => found.clone(),
        None if is_found(arg) => Arg::unknown(arg.written.clone()),
        None => arg.clone(),
    };
    Some((inner.iter().map(known).collect(), is_reader))
}

/// The files that `find` comes to, as patterns of names below its folders. `None` where its tests say more than that.
fn found(args: &[Arg]) -> Option<Arg> {
    let begin = args.iter().position(|arg| arg.text().is_none_or(|text| text.starts_with(['-', '(', '!'])));
    let (folders, tests) = args.split_at(begin.unwrap_or(args.len()));
    let mut folders: Vec<&str> = folders.iter().filter_map(Arg::text).collect();
    if folders.is_empty() {
        folders.push(".");
    }
    let (mut names, mut is_narrow, mut at) = (Vec::new(), true, 0);
    while let Some(test) = tests.get(at) {
        let value = || tests.get(at + 1)?.text();
        let before = at.checked_sub(1).and_then(|before| tests.get(before)?.text());
        at += match test.text()? {
            "-name" | "-iname" => {
                names.push(value().filter(|name| is_plain_name(name))?);
                2
            }
            "-type" | "-maxdepth" | "-mindepth" | "-size" | "-mtime" | "-mmin" | "-newer" => value().map(|_| 2)?,
            "-path" | "-wholename" if matches!(before, Some("-not" | "!")) => value().map(|_| 2)?,
            "-not" | "!" | "-o" | "-or" | "(" | ")" => {
                is_narrow = false;
                1
            }
            "-print" | "-print0" | "-empty" | "-delete" | "-a" | "-and" => 1,
            "-exec" | "-execdir" | "-ok" | "-okdir" => {
                let end = tests.get(at..)?.iter().position(|arg| matches!(arg.text(), Some(";" | "+")));
                end? + 1
            }
            _ => return None,
        };
    }
    let mut texts = Vec::new();
    for folder in folders {
        texts.extend(names.iter().map(|name| format!("{folder}/{name}")));
        if names.is_empty() || !is_narrow {
            texts.push(folder.to_owned());
        }
    }
    let readings = texts.into_iter().map(|text| Reading { text, pattern: true }).collect();
    Some(Arg { readings: Some(readings), ..Arg::unknown("{}") })
}

/// Whether a command prints names of files that exist, and nothing else.
pub(crate) fn prints_files(args: &[Arg]) -> bool {
    let Some((program, rest)) = args.split_first() else { return false };
    let has_only = |known: &dyn Fn(&str) -> bool| {
        rest.iter().all(|arg| arg.text().map_or(arg.readings.is_some(), |text| !text.starts_with('-') || known(text)))
    };
    match (program.text(), rest.first().and_then(Arg::text)) {
        (Some("ls"), _) => has_only(&|text| text.chars().skip(1).all(|c| "1trSaAd".contains(c))),
        (Some("git"), Some("ls-files")) => {
            has_only(&|text| matches!(text, "-z" | "-m" | "-c" | "-o" | "--cached" | "--modified" | "--others" | "--"))
        }
        (Some("find"), _) => {
            let starts = |arg: &Arg| arg.text().is_none_or(|text| text.starts_with("-exec") || text.starts_with("-ok"));
            found(rest).is_some() && !rest.iter().any(starts)
        }
        _ => false,
    }
}

/// Whether a pattern is a name, or leaves open only what stands before its ending.
fn is_plain_name(name: &str) -> bool {
    let ending = name.rsplit_once('*').map(|(_, ending)| ending);
    !name.contains(['?', '[', '\\']) && ending.is_none_or(is_ending) && !(name.starts_with('.') && ending.is_some())
}

/// Whether it is the ending of a name, as `.rs`.
pub(crate) fn is_ending(text: &str) -> bool {
    text.strip_prefix('.').is_some_and(|ending| !ending.is_empty() && ending.chars().all(char::is_alphanumeric))
}
