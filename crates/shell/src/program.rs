//! Programs that start other programs, and what their words mean.

use std::collections::BTreeSet;

use crate::Cause;
use crate::builtins::{declaration, names_only, numbers_only, printf, read, settings, test};
use crate::find::{find, xargs};
use crate::git::git;
use crate::options;
use crate::recipes::{make, recipes};
use crate::text_tools::{awk, jq, searcher, sed};
use crate::told::{Start, Told, is_device};
use crate::tools::{subcommand, with_options};
use crate::values::Arg;

/// What a program does with these words. `gets_files` says that its input has the names of files and nothing else.
pub(crate) fn explain_fed(program: &str, args: &[Arg], gets_files: bool) -> Told {
    if program == "xargs" { xargs(args, gets_files) } else { explain(program, args) }
}

/// What a program does with these words.
pub(crate) fn explain(program: &str, args: &[Arg]) -> Told {
    if let Some(told) = wrapper(program, args) {
        return told;
    }
    match program {
        "sh" | "bash" | "dash" | "zsh" | "ksh" | "mksh" | "ash" | "rbash" => shell(args),
        "fish" | "csh" | "tcsh" | "pwsh" | "osascript" | "busybox" | "toybox" => Told::opaque(Cause::ProgramText),
        "eval" | "trap" | "fc" | "bind" | "complete" | "compgen" => Told::opaque(Cause::Evaluates),
        "source" | "." => match args.first() {
            Some(file) if file.text().is_some_and(|text| !is_device(text)) => shell_script(file),
            _ => Told::opaque(Cause::Input),
        },
        "alias" if !args.is_empty() => Told::opaque(Cause::Alias),
        "set" => settings(args),
        "test" | "[" => test(args),
        "printf" => printf(args),
        "mapfile" | "readarray"
            if args
                .iter()
                .any(|arg| arg.text().is_none_or(|text| text.starts_with(['-']) && text.contains(['C', 'c']))) =>
        {
            Told::opaque(Cause::Evaluates)
        }
        "read" => read(args),
        "mapfile" | "readarray" | "getopts" | "unset" | "wait" => names_only(args),
        "exit" | "return" | "shift" | "break" | "continue" => numbers_only(args),
        "coverage" => coverage(args),
        "let" => Told::opaque(Cause::Evaluates),
        "shopt" | "enable" | "hash" | "setopt" | "unsetopt" | "emulate" | "autoload" | "zmodload" => {
            Told::opaque(Cause::Alias)
        }
        "export" | "declare" | "typeset" | "local" | "readonly" => declaration(args),
        "xargs" => xargs(args, false),
        "find" => find(args),
        "git" => git(args),
        "make" | "gmake" => make(args),
        "npm" | "pnpm" | "yarn" | "just" | "task" | "rake" | "ninja" => recipes(program, args),
        "sed" => sed(args),
        "awk" | "gawk" | "mawk" | "nawk" => awk(args),
        "grep" | "egrep" | "fgrep" | "rg" | "ag" => searcher(program, args),
        "jq" => jq(args),
        "echo" => Told { texts: (0..args.len()).collect(), ..Told::default() },
        _ if options::starting(program).is_some() => with_options(program, args),
        "docker" | "podman" | "kubectl" | "cargo" | "go" | "pip" | "pip3" | "gh" | "glab" | "deno" | "bun"
        | "systemctl" | "brew" | "apt" | "apt-get" | "gem" | "bundle" | "composer" | "rustup" | "uv" | "poetry"
        | "conda" | "terraform" | "helm" | "aws" | "gcloud" | "az" => subcommand(program, args),
        "npx" | "pnpx" | "bunx" | "uvx" | "taskset" | "chrt" | "numactl" | "unbuffer" | "direnv" | "parallel"
        | "watch" | "entr" | "script" | "expect" | "strace" | "ltrace" | "gdb" | "lldb" | "perf" | "valgrind"
        | "at" | "batch" | "chroot" | "unshare" | "nsenter" | "systemd-run" | "su" | "runuser" | "pkexec"
        | "screen" | "tmux" | "vi" | "vim" | "nvim" | "emacs" | "nano" | "ed" | "ex" | "less" | "more" | "man"
        | "sqlite3" | "psql" | "mysql" | "ssh" | "scp" | "sftp" | "ftp" | "telnet" | "nc" | "ncat" | "socat" | "m4"
        | "bc" | "dc" | "ld.so" | "flock" | "run-parts" | "start-stop-daemon" | "crontab" | "doas" | "dbus-launch"
        | "xdg-open" | "open" => Told::opaque(Cause::Option),
        _ => options::interpreter(program).map(|known| interpreter(&known, args)).unwrap_or_default(),
    }
}

/// Programs whose words are a command, after options of their own.
fn wrapper(program: &str, args: &[Arg]) -> Option<Told> {
    let options = options::wrapper(program)?;
    let mut assignments = Vec::new();
    let mut at = match options.skip(args) {
        Ok(at) => at,
        Err(cause) => return Some(Told::opaque(cause)),
    };
    if matches!(program, "env" | "sudo") {
        while let Some((name, value)) = args.get(at).and_then(Arg::text).and_then(|text| text.split_once('=')) {
            assignments.push((name.to_owned(), Some(value.to_owned())));
            at += 1;
        }
        // A word that is not known could set a variable.
        if args.get(at).is_some_and(|arg| arg.text().is_none()) {
            return Some(Told::opaque(Cause::Program));
        }
    }
    at += options.operands;
    // `command -v` only looks.
    let looks = program == "command" && args.iter().take(at).any(|arg| matches!(arg.text(), Some("-v" | "-V")));
    let inner = args.get(at..).filter(|inner| !inner.is_empty() && !looks);
    let Some(inner) = inner else {
        let starts_shell = matches!(program, "sudo" | "setsid" | "nohup") && !looks;
        let opaque = if starts_shell { BTreeSet::from([Cause::Option]) } else { BTreeSet::new() };
        return Some(Told { opaque, ..Told::default() });
    };
    let starts = vec![Start::Command { args: inner.to_vec(), assignments }];
    Some(Told { starts, own: Some(at), ..Told::default() })
}

fn shell(args: &[Arg]) -> Told {
    let mut at = 0;
    while let Some(arg) = args.get(at) {
        let Some(text) = arg.text() else { return Told::opaque(Cause::Input) };
        match text {
            "--" => {
                at += 1;
                break;
            }
            "--version" | "--help" => return Told::default(),
            "--norc" | "--noprofile" | "--login" | "--posix" => at += 1,
            "-o" | "+o" => at += 2,
            _ if text.starts_with("--") => return Told::opaque(Cause::Option),
            _ if text.starts_with(['-', '+']) && text.len() > 1 => {
                let has = |c| text.contains(c);
                if has('s') || has('i') || has('O') {
                    return Told::opaque(Cause::Input);
                }
                at += 1 + usize::from(has('o'));
                if has('c') {
                    return match args.get(at).map(Arg::text) {
                        Some(Some(text)) if !text.starts_with('-') => Told {
                            starts: vec![Start::Text(text.to_owned())],
                            texts: BTreeSet::from([at]),
                            ..Told::default()
                        },
                        _ => Told::opaque(Cause::Evaluates),
                    };
                }
            }
            _ => break,
        }
    }
    match args.get(at) {
        Some(file) if file.text().is_some_and(|text| text != "-" && !is_device(text)) => shell_script(file),
        _ => Told::opaque(Cause::Input),
    }
}

/// A shell looks for a name without a folder in those of `PATH`, too.
fn shell_script(file: &Arg) -> Told {
    let is_searched = !file.text().is_some_and(|text| text.contains('/'));
    let opaque = if is_searched { BTreeSet::from([Cause::Program]) } else { BTreeSet::new() };
    Told { opaque, ..Told::script(file) }
}

/// `coverage run`, which runs a script or, as `python -m` does, a module.
fn coverage(args: &[Arg]) -> Told {
    if args.iter().any(|arg| arg.text().is_none_or(|text| text.starts_with("--rc"))) {
        return Told::opaque(Cause::Option);
    }
    if args.first().and_then(Arg::text) != Some("run") {
        return Told::default();
    }
    let options = options::Options {
        flags: &["--branch", "-a", "--append", "-p", "--parallel-mode", "-L", "--pylib"],
        with_value: &["--source", "--omit", "--include", "--context"],
        beginnings: &["--source=", "--omit=", "--include=", "--context=", "--data-file="],
        operands: 0,
    };
    let rest = args.get(1..).unwrap_or_default();
    let end = rest.iter().position(|arg| matches!(arg.text(), Some("-m" | "--module")));
    let module = end.and_then(|end| rest.get(end + 1)?.text());
    match (options.skip(rest.get(..end.unwrap_or(rest.len())).unwrap_or_default()), end, module) {
        (Ok(_), Some(end), Some(module @ ("pytest" | "unittest"))) => {
            Told { opaque: explain(module, rest.get(end + 2..).unwrap_or_default()).opaque, ..Told::default() }
        }
        (Ok(at), None, _) => rest.get(at).map_or_else(|| Told::opaque(Cause::Option), interpreted),
        _ => Told::opaque(Cause::Option),
    }
}

/// The script of an interpreter.
fn interpreted(script: &Arg) -> Told {
    let is_file = script.text().is_some_and(|text| text != "-" && !is_device(text));
    if is_file { Told::script(script) } else { Told::opaque(Cause::Input) }
}

fn interpreter(known: &options::Interpreter, args: &[Arg]) -> Told {
    let mut at = 0;
    while let Some(arg) = args.get(at) {
        let Some(text) = arg.text() else { return Told::opaque(Cause::ProgramText) };
        if text == "-" {
            return Told::opaque(Cause::Input);
        }
        if !text.starts_with('-') {
            return if matches!(text, "inspect" | "debug") { Told::opaque(Cause::Input) } else { interpreted(arg) };
        }
        if Some(text) == known.module {
            return match args.get(at + 1).and_then(Arg::text) {
                // Its options are those of the program of this name.
                Some(module) => Told {
                    subcommand: Some(module.to_owned()),
                    opaque: explain(module, args.get(at + 2..).unwrap_or_default()).opaque,
                    ..Told::default()
                },
                None => Told::opaque(Cause::ProgramText),
            };
        }
        if known.ends.contains(&text) {
            let rest = args.get(at + 1..).unwrap_or_default();
            // Another option may still give it a program, and behind most of them a file is run.
            let runs_files = text != "--test" && !rest.is_empty();
            if runs_files || rest.iter().any(|arg| arg.text().is_none_or(|text| text.starts_with('-'))) {
                return Told::opaque(Cause::ProgramText);
            }
            return Told { subcommand: Some(text.to_owned()), ..Told::default() };
        }
        if known.with_value.contains(&text) {
            at += 2;
        } else if known.flags.contains(&text) || known.beginnings.iter().any(|begin| text.starts_with(begin)) {
            at += 1;
        } else {
            return Told::opaque(Cause::ProgramText);
        }
    }
    Told::opaque(Cause::Input)
}
