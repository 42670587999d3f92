//! Programs whose words start other programs in ways of their own.

use crate::Cause;
use crate::options::Options;
use crate::told::{Start, Told};
use crate::values::Arg;

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

pub(crate) fn xargs(args: &[Arg]) -> Told {
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
    inner.push(Arg::unknown("$@"));
    told.own = Some(at);
    told.starts.push(Start::Command { args: inner, assignments: Vec::new() });
    told
}

pub(crate) fn find(args: &[Arg]) -> Told {
    let mut told = Told::default();
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
                match executed(inner) {
                    Some((args, is_reader)) => {
                        if !is_reader {
                            told.opaque.insert(Cause::Arguments);
                        }
                        told.starts.push(Start::Command { args, assignments: Vec::new() });
                    }
                    None => return Told::opaque(Cause::Program),
                }
                at += inner.len();
            }
            Some("-files0-from") => {
                told.opaque.insert(Cause::Arguments);
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

/// The command of `-exec`, whose files are not known, and whether its program only reads.
fn executed(inner: &[Arg]) -> Option<(Vec<Arg>, bool)> {
    let is_found = |arg: &Arg| arg.written.contains("{}");
    let program = inner.first().filter(|first| !is_found(first))?.text();
    let is_reader = program.is_some_and(|program| READERS.contains(&program) || program == "sed");
    let known = |arg: &Arg| if is_found(arg) { Arg::unknown(arg.written.clone()) } else { arg.clone() };
    Some((inner.iter().map(known).collect(), is_reader))
}

/// The first word that is not an option. An option before it may have a value of its own, which would be taken for it.
pub(crate) fn subcommand(program: &str, args: &[Arg]) -> Told {
    const FLAGS: [&str; 14] = [
        "-q",
        "--quiet",
        "-v",
        "--verbose",
        "--offline",
        "--locked",
        "--frozen",
        "--silent",
        "-s",
        "--version",
        "-V",
        "--help",
        "-h",
        "--",
    ];
    let mut told = Told::default();
    for arg in args {
        match arg.text() {
            Some(text) if FLAGS.contains(&text) || (program == "cargo" && text.starts_with('+')) => {}
            Some(text) if text.starts_with('-') => {
                told.opaque.insert(Cause::Option);
                break;
            }
            Some(text) => {
                told.subcommand = Some(text.to_owned());
                break;
            }
            None => {
                told.opaque.insert(Cause::Arguments);
                break;
            }
        }
    }
    let before_end =
        || args.iter().map_while(|arg| if arg.text() == Some("--") { None } else { Some(arg.text()) }).flatten();
    // A setting can name a program.
    if program == "cargo" && before_end().any(|text| text.starts_with("--conf") || text.starts_with("-Z")) {
        told.opaque.insert(Cause::Option);
    }
    let is_eval = matches!(told.subcommand.as_deref(), Some("eval" | "repl"))
        || args.iter().any(|arg| matches!(arg.text(), Some("-e" | "--eval" | "-p" | "--print")));
    match (program, told.subcommand.as_deref()) {
        ("deno" | "bun", _) if is_eval => {
            told.opaque.insert(Cause::ProgramText);
        }
        ("rustup", Some("run")) | ("uv", Some("tool")) => {
            told.opaque.insert(Cause::Option);
        }
        ("bun" | "deno", Some("run")) if args.iter().any(|arg| arg.text().is_none_or(|text| text == "-")) => {
            told.opaque.insert(Cause::Input);
        }
        ("bun", Some("run" | "test")) | ("deno", Some("task")) => {
            told.opaque.insert(Cause::Recipe);
            told.script = Some(Arg::known(if program == "bun" { "package.json" } else { "deno.json" }));
        }
        ("docker" | "podman" | "kubectl", name)
            if !matches!(name, Some("ps" | "images" | "logs" | "version" | "info" | "get" | "describe")) =>
        {
            told.opaque.insert(Cause::Option);
        }
        ("uv" | "poetry" | "bundle" | "conda", Some("run" | "exec")) => return runner(program, args),
        ("go", Some("generate" | "tool")) => {
            told.opaque.insert(Cause::Recipe);
        }
        ("go", Some("build" | "test" | "vet" | "run" | "list"))
            if args.iter().filter_map(Arg::text).any(|text| {
                text.starts_with("-exec")
                    || text.starts_with("--exec")
                    || text.contains("toolexec")
                    || text.contains("vettool")
            }) =>
        {
            told.opaque.insert(Cause::Option);
        }
        _ => {}
    }
    told
}

/// `uv run`, `poetry run`, `bundle exec`: a command in the environment of the project.
fn runner(program: &str, args: &[Arg]) -> Told {
    let at = args.iter().position(|arg| matches!(arg.text(), Some("run" | "exec"))).unwrap_or_default();
    let name = args.get(at).and_then(Arg::text).map(str::to_owned);
    let options = Options {
        flags: &["--frozen", "--locked", "--no-sync", "--offline", "--quiet", "-q", "--"],
        with_value: &[],
        beginnings: &[],
        operands: 0,
    };
    let rest = args.get(at + 1..).unwrap_or_default();
    match options.skip(rest) {
        Ok(skipped) if at == 0 && skipped < rest.len() => {
            let inner = rest.get(skipped..).unwrap_or_default().to_vec();
            // `uv run file.py` runs the file.
            let is_file =
                program == "uv" && inner.first().and_then(Arg::text).is_some_and(|text| text.ends_with(".py"));
            let inner = if is_file { [vec![Arg::known("python")], inner].concat() } else { inner };
            Told {
                starts: vec![Start::Command { args: inner, assignments: Vec::new() }],
                own: Some(at + 1 + skipped),
                subcommand: name,
                ..Told::default()
            }
        }
        _ => Told { subcommand: name, ..Told::opaque(Cause::Option) },
    }
}

pub(crate) fn with_options(program: &str, args: &[Arg]) -> Told {
    let options = crate::options::starting(program).unwrap_or_default();
    let is_one = |at: usize, text: &str| {
        let is_group = (text.starts_with('-') && !text.starts_with("--")) || (at == 0 && program == "tar");
        options.iter().any(|option| match (option.strip_prefix("--"), option.chars().count()) {
            (Some(_), _) => {
                let name = text.split('=').next().unwrap_or(text);
                name.len() > 2 && name.starts_with("--") && option.starts_with(name)
            }
            (None, 1) if *option == "-" || *option == "@" => {
                text == *option || (*option == "@" && text.starts_with('@'))
            }
            (None, 1) => is_group && text.contains(option),
            (None, _) => text.starts_with(option),
        })
    };
    let names_command = matches!(program, "mvn" | "gradle" | "dotnet");
    let first = args.iter().filter_map(Arg::text).find(|text| !text.starts_with('-'));
    let mut told = Told { subcommand: first.filter(|_| names_command).map(str::to_owned), ..Told::default() };
    for (at, arg) in args.iter().enumerate() {
        match arg.text() {
            // A name of another machine.
            Some(text) if program == "tar" && text.split('/').next().is_some_and(|host| host.contains(':')) => {
                told.opaque.insert(Cause::Option);
            }
            Some(text) if is_one(at, text) => {
                told.opaque.insert(Cause::Option);
            }
            None if arg.readings.is_none() || may_be_option(args, at) => {
                told.opaque.insert(Cause::Arguments);
            }
            _ => {}
        }
    }
    told
}

/// Whether a pattern may match a file whose name is an option.
pub(crate) fn may_be_option(args: &[Arg], at: usize) -> bool {
    let is_open = args.get(at).is_some_and(|arg| arg.text().is_none() && arg.written.starts_with(['*', '?', '[']));
    is_open && !args.iter().take(at).any(|arg| arg.text() == Some("--"))
}
