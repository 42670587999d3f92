//! Programs whose words start other programs in ways of their own.

use crate::Cause;
use crate::options::Options;
use crate::told::{Start, Told};
use crate::values::Arg;

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
        // It reads a program line by line.
        ("deno", None) if !args.iter().any(|arg| matches!(arg.text(), Some("--version" | "-V" | "--help" | "-h"))) => {
            told.opaque.insert(Cause::Input);
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
        ("go", Some("build" | "test" | "vet" | "run" | "list")) if starts_tools(args) => {
            told.opaque.insert(Cause::Option);
        }
        _ => {}
    }
    told
}

/// Whether options of `go` name a program, or are options for one.
fn starts_tools(args: &[Arg]) -> bool {
    // Of the linker, only what sets a text or leaves something out.
    let is_plain = |flags: &str| {
        let mut words = flags.split_whitespace();
        words.all(|word| matches!(word, "-s" | "-w" | "-X") || (!word.starts_with('-') && !word.contains(['\'', '"'])))
    };
    args.iter().enumerate().any(|(at, arg)| {
        let Some(option) = arg.text().and_then(|text| text.strip_prefix('-')) else { return false };
        let option = option.strip_prefix('-').unwrap_or(option);
        let (name, value) = option.split_once('=').map_or((option, None), |(name, value)| (name, Some(value)));
        match name {
            "ldflags" => !value.or_else(|| args.get(at + 1)?.text()).is_some_and(is_plain),
            "exec" | "toolexec" | "vettool" | "overlay" => true,
            _ => name.ends_with("flags"),
        }
    })
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
        let is_group =
            (text.starts_with('-') && !text.starts_with("--")) || (at == 0 && matches!(program, "tar" | "ar"));
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
            Some(text) if is_one(at, text) || sets_property(program, text) => {
                told.opaque.insert(Cause::Option);
            }
            // A pattern with an ending does not match an option that has a value.
            None if !arg.is_file && arg.readings.is_none()
                || (may_be_option(args, at) && (!matches!(program, "wc" | "du") || arg.written.ends_with('*'))) =>
            {
                told.opaque.insert(Cause::Arguments);
            }
            _ => {}
        }
    }
    told
}

/// Whether a word sets a property of a build, which may name a program or options of one.
fn sets_property(program: &str, text: &str) -> bool {
    const PLAIN: [&str; 5] = ["-Dtest", "-DskipTests", "-DskipITs", "-Dmaven.test.skip", "-DfailIfNoTests"];
    match program {
        "mvn" | "gradle" => text.starts_with("-D") && !PLAIN.contains(&text.split('=').next().unwrap_or(text)),
        // A switch with a value, in any case of its letters.
        "dotnet" => {
            text.split_once(':').is_some_and(|(name, _)| {
                let name = name.trim_start_matches(['-', '/']).to_ascii_lowercase();
                text.starts_with(['-', '/']) && !matches!(&*name, "v" | "verbosity" | "m" | "maxcpucount" | "c" | "f")
            }) || matches!(&*text.to_ascii_lowercase(), "-p" | "-property" | "/p" | "/property")
                || text.to_ascii_lowercase().starts_with("-p=")
                || "--property".starts_with(&*text.split('=').next().unwrap_or(text).to_ascii_lowercase())
                    && text.len() > 4
        }
        _ => false,
    }
}

/// Whether a pattern may match a file whose name is an option.
pub(crate) fn may_be_option(args: &[Arg], at: usize) -> bool {
    let is_open = args.get(at).is_some_and(|arg| arg.text().is_none() && arg.written.starts_with(['*', '?', '[']));
    is_open && !args.iter().take(at).any(|arg| arg.text() == Some("--"))
}
