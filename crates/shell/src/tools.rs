//! Programs whose words start other programs in ways of their own.

use crate::Cause;
use crate::options::Options;
use crate::told::{Start, Told};
use crate::values::Arg;
use crate::variables::is_decisive;

/// Programs that only read what they are given, and show it.
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
        flags: &["-0", "--null", "-r", "--no-run-if-empty", "-t", "-x", "--verbose", "-p"],
        with_value: &[
            "-n",
            "-I",
            "-P",
            "-L",
            "-d",
            "-s",
            "-a",
            "-E",
            "--max-args",
            "--max-procs",
            "--delimiter",
            "--replace",
        ],
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
    for (at, arg) in args.iter().enumerate() {
        match arg.text() {
            Some("-exec" | "-execdir" | "-ok" | "-okdir") => {
                let inner = args.get(at + 1..).unwrap_or_default();
                let end = inner.iter().position(|arg| matches!(arg.text(), Some(";" | "+")));
                let Some(inner) = end.and_then(|end| inner.get(..end)) else { return Told::opaque(Cause::Syntax) };
                let is_found = |arg: &Arg| arg.written.contains("{}");
                if inner.first().is_none_or(is_found) {
                    return Told::opaque(Cause::Program);
                }
                let known = |arg: &Arg| {
                    if is_found(arg) { Arg::unknown(arg.written.clone()) } else { arg.clone() }
                };
                let args: Vec<Arg> = inner.iter().map(known).collect();
                if !args
                    .first()
                    .and_then(Arg::text)
                    .is_some_and(|program| READERS.contains(&program) || program == "sed")
                {
                    told.opaque.insert(Cause::Arguments);
                }
                told.starts.push(Start::Command { args, assignments: Vec::new() });
            }
            Some(_) => {}
            // It could be `-exec`.
            None if arg.readings.is_none() => {
                told.opaque.insert(Cause::Arguments);
            }
            None => {}
        }
        if let Some("-name" | "-iname" | "-path" | "-ipath" | "-regex" | "-not" | "-wholename") =
            args.get(at.wrapping_sub(1)).and_then(Arg::text)
        {
            told.texts.insert(at);
        }
    }
    told
}

pub(crate) fn git(args: &[Arg]) -> Told {
    let mut at = 0;
    while let Some(arg) = args.get(at) {
        let Some(text) = arg.text() else { return Told::opaque(Cause::Arguments) };
        match text {
            "-C" => at += 2,
            "--no-pager" | "-P" | "--no-optional-locks" | "--version" | "--help" | "--literal-pathspecs" => at += 1,
            // A setting can name a program, as can other repositories.
            _ if text.starts_with('-') => return Told::opaque(Cause::Option),
            _ => break,
        }
    }
    let Some(name) = args.get(at).and_then(Arg::text) else { return Told::default() };
    let mut told = Told { subcommand: Some(name.to_owned()), ..Told::default() };
    const RUNS: [&str; 11] = [
        "--exec",
        "--upload-pack",
        "--receive-pack",
        "--ext-diff",
        "--textconv",
        "--open-files-in-pager",
        "--config",
        "--template",
        "--extcmd",
        "--tool",
        "--sub-process",
    ];
    let rest = args.get(at + 1..).unwrap_or_default();
    let runs =
        rest.iter().map_while(|arg| if arg.text() == Some("--") { None } else { Some(arg.text()) }).any(|text| {
            match text {
                // git takes the beginning of a long option for the option.
                Some(text) => {
                    let option = text.split('=').next().unwrap_or(text);
                    option.len() > 3
                        && option.starts_with("--")
                        && RUNS.iter().any(|runs| runs.starts_with(option) || option.starts_with(runs))
                }
                None => false,
            }
        });
    let short =
        |names: &[&str]| rest.iter().filter_map(Arg::text).any(|text| names.iter().any(|name| text.starts_with(name)));
    let starts_others = match name {
        "rebase" => short(&["-x", "-i"]),
        // They ask what to do with each part.
        "add" | "stash" | "restore" | "checkout" | "reset" => {
            let asks = |text: &str| {
                matches!(text, "--patch" | "--interactive" | "--edit")
                    || (text.starts_with('-') && !text.starts_with("--") && text.contains(['p', 'i', 'e']))
            };
            rest.iter().filter_map(Arg::text).any(asks)
        }
        // An editor starts.
        "commit" => !rest.iter().any(|arg| {
            let text = arg.text().unwrap_or(&arg.written);
            let is_short = text.starts_with('-') && !text.starts_with("--") && text.contains(['m', 'F', 'C']);
            is_short
                || ["--message", "--file", "--no-edit", "--fixup", "--reuse-message", "--dry-run"]
                    .iter()
                    .any(|option| text.starts_with(option))
        }),
        "grep" => short(&["-O"]),
        "clone" | "fetch" | "pull" | "ls-remote" => short(&["-u", "-c"]),
        "difftool" | "mergetool" | "filter-branch" | "instaweb" | "gui" | "gitk" | "shell" | "daemon"
        | "web--browse" | "citool" => true,
        "bisect" => rest.first().and_then(Arg::text) == Some("run"),
        "submodule" => rest.iter().any(|arg| arg.text() == Some("foreach")),
        _ => false,
    };
    if runs || starts_others {
        told.opaque.insert(Cause::Option);
    }
    // Which command it is may depend on a word that is not known.
    if let "commit" | "log" | "tag" | "notes" | "stash" | "merge" = name {
        for (index, arg) in args.iter().enumerate().skip(at + 1) {
            let before = args.get(index - 1).and_then(Arg::text);
            let has_message =
                arg.text().is_some_and(|text| text.starts_with("--message=") || text.starts_with("--grep="));
            if has_message
                || before.is_some_and(|text| {
                    text == "--message"
                        || text == "--grep"
                        || (text.starts_with('-') && !text.starts_with("--") && text.ends_with('m'))
                })
            {
                told.texts.insert(index);
            }
        }
    }
    told
}

pub(crate) fn make(args: &[Arg]) -> Told {
    let mut told = Told::opaque(Cause::Recipe);
    let mut file = Arg::known("Makefile");
    for (at, arg) in args.iter().enumerate() {
        let Some(text) = arg.text() else {
            told.opaque.insert(Cause::Arguments);
            continue;
        };
        let is_plain = |value: &str| value.chars().all(|c| c.is_ascii_alphanumeric() || "_./,:+-@%".contains(c));
        match text {
            "-f" | "--file" | "--makefile" => file = args.get(at + 1).cloned().unwrap_or(file),
            "-C" | "--directory" => {
                let folder = args.get(at + 1).and_then(Arg::text).unwrap_or(".");
                file = Arg::known(format!("{folder}/Makefile"));
            }
            _ if text.starts_with("--eval") || text.starts_with("-E") => {
                told.opaque.insert(Cause::ProgramText);
            }
            _ if text.starts_with("-f") => file = Arg::known(text.get(2..).unwrap_or_default()),
            _ if text.starts_with("--file=") || text.starts_with("--makefile=") => {
                file = Arg::known(text.split_once('=').map(|(_, file)| file).unwrap_or_default());
            }
            _ => {}
        }
        let assignment = text.split_once('=').filter(|(name, _)| !name.starts_with('-'));
        if assignment.is_some_and(|(name, value)| is_decisive(name) || !is_plain(value)) {
            told.opaque.insert(Cause::ProgramText);
        }
    }
    told.script = Some(file);
    told
}

/// Programs that run what a file of the project says, under a name.
pub(crate) fn recipes(program: &str, args: &[Arg]) -> Told {
    let mut told = subcommand(program, args);
    let file = match program {
        "just" => "justfile",
        "task" => "Taskfile.yml",
        "rake" => "Rakefile",
        "ninja" => "build.ninja",
        _ => "package.json",
    };
    let is_package = file == "package.json";
    let runs = |name: &str| matches!(name, "run" | "run-script" | "test" | "t" | "start" | "stop" | "restart");
    match told.subcommand.as_deref() {
        Some("exec" | "x" | "dlx" | "explore" | "create" | "init") if is_package => {
            told.opaque.insert(Cause::Option);
        }
        Some(name) if is_package && !runs(name) && program != "yarn" => {}
        _ => {
            told.opaque.insert(Cause::Recipe);
            told.script = Some(Arg::known(file));
        }
    }
    const RUNS: [&str; 13] = [
        "--script-shell",
        "--node-options",
        "--eval",
        "--shell",
        "-f",
        "--justfile",
        "--prefix",
        "-c",
        "-e",
        "-E",
        "-p",
        "--execute",
        "--command",
    ];
    let is_run_option =
        |text: &str| RUNS.iter().any(|option| text == *option || text.starts_with(&format!("{option}=")));
    if args
        .iter()
        .map_while(|arg| if arg.text() == Some("--") { None } else { Some(arg.text()) })
        .flatten()
        .any(is_run_option)
    {
        told.opaque.insert(Cause::Option);
    }
    told
}

/// The first word that is no option. A word that is not known may be one that counts.
pub(crate) fn subcommand(program: &str, args: &[Arg]) -> Told {
    let mut told = Told::default();
    for arg in args {
        match arg.text() {
            Some(text) if text.starts_with(['-', '+']) => {
                // An option before it may take a value, which is then taken for it.
                if program == "cargo" && text.starts_with("--config") {
                    told.opaque.insert(Cause::Option);
                }
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
    let is_eval = matches!(told.subcommand.as_deref(), Some("eval" | "repl"))
        || args.iter().any(|arg| matches!(arg.text(), Some("-e" | "--eval" | "-p" | "--print")));
    match (program, told.subcommand.as_deref()) {
        ("deno" | "bun", _) if is_eval => {
            told.opaque.insert(Cause::ProgramText);
        }
        ("docker" | "podman" | "kubectl", Some("run" | "exec" | "attach" | "compose" | "debug")) => {
            told.opaque.insert(Cause::Option);
        }
        ("uv" | "poetry" | "bundle" | "conda", Some("run" | "exec")) => return runner(program, args),
        ("go", Some("generate" | "tool")) => {
            told.opaque.insert(Cause::Recipe);
        }
        ("go", Some("build" | "test" | "vet" | "run"))
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

pub(crate) fn with_options(args: &[Arg], runs: &[&str]) -> Told {
    let is_one = |text: &str| {
        runs.iter().any(|option| match option.strip_prefix("--") {
            // The beginning of a long option is often taken for it.
            Some(_) => {
                text.len() > 4 && text.starts_with("--") && {
                    let name = text.split('=').next().unwrap_or(text);
                    option.starts_with(name) || name == *option
                }
            }
            None => {
                text.starts_with(option)
                    || (text.starts_with('-')
                        && !text.starts_with("--")
                        && text.ends_with(option.trim_start_matches('-')))
            }
        })
    };
    let mut told = Told::default();
    for arg in args {
        match arg.text() {
            Some(text) if is_one(text) => {
                told.opaque.insert(Cause::Option);
            }
            None if arg.readings.is_none() => {
                told.opaque.insert(Cause::Arguments);
            }
            _ => {}
        }
    }
    told
}

/// Whether a program writes to the file that this word names.
pub(crate) fn writes(program: &str, args: &[Arg], at: usize) -> bool {
    let has = |options: &[&str]| {
        args.iter().filter_map(Arg::text).any(|text| options.iter().any(|option| text.starts_with(option)))
    };
    let operand = |number: usize| {
        let operands = args.iter().enumerate().filter(|(_, arg)| arg.text().is_none_or(|text| !text.starts_with('-')));
        operands.map(|(at, _)| at).nth(number)
    };
    match program {
        "rm" | "rmdir" | "touch" | "mkdir" | "tee" | "truncate" | "chmod" | "chown" | "chgrp" | "mv" | "unlink"
        | "shred" | "ln" | "link" | "patch" | "install" | "mkfifo" | "mknod" | "setfacl" | "chattr" | "unzip"
        | "dd" | "sponge" | "gzip" | "gunzip" | "bzip2" | "xz" | "zip" | "split" | "csplit" => true,
        "cp" | "rsync" => {
            has(&["-t", "--target"])
                || args.iter().rposition(|arg| arg.text().is_none_or(|text| !text.starts_with('-'))) == Some(at)
        }
        "sed" => {
            has(&["-i", "--in-place"])
                || args
                    .iter()
                    .filter_map(Arg::text)
                    .any(|text| text.starts_with('-') && !text.starts_with("--") && text.contains('i'))
        }
        "tar" => true,
        // The second file is what they write.
        "uniq" | "xxd" => operand(1) == Some(at),
        "tree" => has(&["-o"]),
        "curl" => has(&["-o", "-O", "--output", "--remote"]),
        "wget" => true,
        "sort" => has(&["-o", "--output"]),
        "find" => has(&["-delete", "-fprint", "-fls"]),
        "git" => {
            args.iter()
                .filter_map(Arg::text)
                .any(|text| matches!(text, "checkout" | "restore" | "rm" | "mv" | "clean" | "apply" | "am"))
                || has(&["--output", "-o"])
        }
        _ => false,
    }
}

/// Whether a program writes files that its words do not name: those of an archive, or of a patch.
pub(crate) fn writes_unnamed(program: &str, args: &[Arg]) -> bool {
    match program {
        "patch" | "unzip" | "cpio" | "bsdtar" | "7z" | "unrar" => true,
        "tar" => args.iter().enumerate().any(|(at, arg)| {
            let text = arg.text().unwrap_or_default();
            let is_cluster = (at == 0 || text.starts_with('-')) && !text.starts_with("--");
            text.starts_with("--ext") || text.starts_with("--get") || (is_cluster && text.contains('x'))
        }),
        _ => false,
    }
}
