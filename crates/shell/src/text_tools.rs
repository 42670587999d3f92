//! Programs whose first word is a pattern or a program of their own.

use std::collections::BTreeSet;

use crate::Cause;
use crate::options;
use crate::told::Told;
use crate::tools::may_be_option;
use crate::values::Arg;

/// The first word that is not an option is a pattern, unless an option gives one or names a file with it.
fn pattern_at(args: &[Arg]) -> Option<usize> {
    let known: Option<Vec<&str>> =
        args.iter().map(|arg| arg.text().or_else(|| arg.readings.as_ref().map(|_| arg.written.as_str()))).collect();
    let known = known?;
    let gives = |text: &&str| {
        text.starts_with("--reg")
            || text.starts_with("--fil")
            || text.starts_with("--exp")
            || text.starts_with("--from")
            || (text.starts_with('-') && !text.starts_with("--") && text.contains(['e', 'f']))
    };
    if known.iter().any(gives) {
        return None;
    }
    let end = known.iter().position(|text| *text == "--");
    let operand = known.iter().position(|text| *text == "-" || !text.starts_with('-'));
    match (operand, end) {
        (Some(operand), Some(end)) if end < operand => Some(end + 1),
        (None, Some(end)) => Some(end + 1),
        (operand, _) => operand,
    }
}

pub(crate) fn searcher(program: &str, args: &[Arg]) -> Told {
    let mut told = Told { texts: pattern_at(args).into_iter().collect(), ..Told::default() };
    let runs = args.iter().filter_map(Arg::text).any(|text| {
        (program == "rg"
            && (text.starts_with("--pre")
                || text.starts_with("--hostname-bin")
                || text.starts_with("--search-zip")
                || (text.starts_with('-') && !text.starts_with("--") && text.contains('z'))))
            || (program == "ag" && (text.len() > 2 && "--pager".starts_with(text.split('=').next().unwrap_or(text))))
    });
    if runs
        || (program == "rg"
            && (args.iter().any(|arg| arg.readings.is_none()) || (0..args.len()).any(|at| may_be_option(args, at))))
    {
        told.opaque.insert(Cause::Option);
    }
    told
}

/// `sed` can run programs and write files: only scripts that print, delete and replace are known.
pub(crate) fn sed(args: &[Arg]) -> Told {
    const FLAGS: [&str; 12] = ["-n", "-E", "-r", "-s", "-z", "-u", "-nE", "-En", "-rn", "-nr", "--quiet", "--posix"];
    let is_known = |text: &str| {
        FLAGS.contains(&text)
            || text.starts_with("-i")
            || text == "--in-place"
            || text.starts_with("--in-place=")
            || matches!(text, "-e" | "--expression" | "--")
            || text.starts_with("--expression=")
    };
    let options = args.iter().filter_map(Arg::text).filter(|text| text.starts_with('-') && text.len() > 1);
    if !options.clone().all(is_known) {
        return Told::opaque(Cause::ProgramText);
    }
    // Some have an ending for copies as a word of its own. An empty one is an empty script for the others.
    let ending = args.windows(2).position(|two| two.iter().map(Arg::text).eq([Some("-i"), Some("")]));
    let begin = ending.map_or(0, |ending| ending + 2);
    let at = pattern_at(args.get(begin..).unwrap_or_default()).map(|at| at + begin);
    let mut scripts: Vec<Option<&str>> = at.and_then(|at| args.get(at)).map(Arg::text).into_iter().collect();
    for (index, arg) in args.iter().enumerate() {
        match arg.text() {
            Some("-e" | "--expression") => scripts.push(args.get(index + 1).and_then(Arg::text)),
            Some(text) if text.starts_with("--expression=") => {
                scripts.push(text.split_once('=').map(|(_, script)| script))
            }
            None => scripts.push(None),
            _ => {}
        }
    }
    let is_known = !scripts.is_empty() && scripts.iter().all(|script| script.is_some_and(options::is_plain_sed));
    let mut told = Told { texts: at.into_iter().chain(ending.map(|ending| ending + 1)).collect(), ..Told::default() };
    if !is_known {
        let only_files = scripts.iter().skip(1).all(Option::is_none)
            && scripts.first().copied().flatten().is_some_and(options::is_plain_sed);
        told.opaque.insert(if only_files { Cause::Arguments } else { Cause::ProgramText });
    }
    told
}

pub(crate) fn awk(args: &[Arg]) -> Told {
    let mut at = 0;
    while let Some(text) = args.get(at).and_then(Arg::text).filter(|text| text.starts_with('-')) {
        match text {
            "-F" | "-v" => at += 2,
            _ if text.starts_with("-F") || text.starts_with("-v") => at += 1,
            _ => return Told::opaque(Cause::Option),
        }
    }
    let runs = |text: &str| {
        // Before the first action, `>` compares.
        let actions = text.split_once('{').map_or("", |(_, actions)| actions);
        actions.contains('>')
            || text.replace("||", "").contains('|')
            || ["system", "getline", "@", "print -", "close", "ENVIRON", "SYMTAB", "ARGV"]
                .iter()
                .any(|word| text.contains(word))
    };
    match args.get(at).map(Arg::text) {
        Some(Some(program)) if !runs(program) => Told { texts: BTreeSet::from([at]), ..Told::default() },
        _ => Told { texts: BTreeSet::from([at]), ..Told::opaque(Cause::ProgramText) },
    }
}

/// `jq`: its program may bring in modules from any folder, and has all variables of the environment.
pub(crate) fn jq(args: &[Arg]) -> Told {
    let mut told = Told::default();
    let (mut at, mut program) = (0, None);
    while let Some(arg) = args.get(at) {
        let Some(text) = arg.text() else {
            // Before the program, it could be the program or an option.
            if program.is_none() || arg.splits {
                told.opaque.insert(Cause::ProgramText);
            }
            at += 1;
            continue;
        };
        match text {
            "--arg" | "--argjson" => {
                if args.get(at..).unwrap_or_default().iter().take(3).any(|arg| arg.splits) {
                    told.opaque.insert(Cause::ProgramText);
                }
                told.texts.extend([at + 1, at + 2]);
                at += 2;
            }
            "--slurpfile" | "--rawfile" => {
                told.texts.insert(at + 1);
                at += 2;
            }
            "--indent" => at += 1,
            _ if text.starts_with("--") && !is_plain_option(text) => drop(told.opaque.insert(Cause::Option)),
            _ if text.starts_with('-') && text.contains(['f', 'L']) => drop(told.opaque.insert(Cause::Option)),
            _ if text.starts_with('-') => {}
            _ if program.is_none() => program = Some((at, text)),
            _ => {}
        }
        at += 1;
    }
    if let Some((at, text)) = program {
        told.texts.insert(at);
        if !is_plain_jq(text) {
            told.opaque.insert(Cause::ProgramText);
        }
    }
    told
}

fn is_plain_option(text: &str) -> bool {
    const PLAIN: [&str; 15] = [
        "--",
        "--raw-output",
        "--raw-input",
        "--raw-output0",
        "--null-input",
        "--slurp",
        "--compact-output",
        "--color-output",
        "--monochrome-output",
        "--sort-keys",
        "--ascii-output",
        "--exit-status",
        "--join-output",
        "--args",
        "--jsonargs",
    ];
    PLAIN.contains(&text) || matches!(text, "--tab" | "--seq" | "--stream" | "--version" | "--help")
}

/// Whether a program of `jq` uses only the values that it gets.
fn is_plain_jq(program: &str) -> bool {
    let is_name = |c: char| c == '_' || c.is_ascii_alphanumeric();
    let (mut before, mut name) = ('\n', String::new());
    for c in program.chars().chain(['\n']) {
        if is_name(c) {
            name.push(c);
            continue;
        }
        // Behind a dot, it is the name of a value.
        let decides = match &*name {
            "env" => before != '.',
            "ENV" | "import" | "include" | "modulemeta" | "get_search_list" => true,
            _ => false,
        };
        if decides {
            return false;
        }
        before = c;
        name.clear();
    }
    !program.contains("..env")
}
