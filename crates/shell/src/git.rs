//! Commands of Git, and those that start other programs.

use crate::Cause;
use crate::find::is_ending;
use crate::told::Told;
use crate::values::{Arg, Reading};

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
    // They start programs, make or name other repositories, or take names from a file or from the input.
    const RUNS: [&str; 16] = [
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
        "--separate-git-dir",
        "--bare",
        "--pathspec-from-file",
        "--batch",
        "--stdin",
    ];
    let rest = args.get(at + 1..).unwrap_or_default();
    let runs =
        rest.iter().map_while(|arg| if arg.text() == Some("--") { None } else { Some(arg.text()) }).any(|text| {
            match text {
                // git takes the beginning of a long option for the option.
                Some(text) => {
                    let option = text.split('=').next().unwrap_or(text);
                    option.len() > 2
                        && option.starts_with("--")
                        && RUNS.iter().any(|runs| runs.starts_with(option) || option.starts_with(runs))
                }
                None => false,
            }
        });
    // A letter may stand within a group of letters.
    let has_letter = |letters: &[char]| {
        rest.iter()
            .filter_map(Arg::text)
            .any(|text| text.starts_with('-') && !text.starts_with("--") && text.contains(letters))
    };
    let starts_others = match name {
        "rebase" => has_letter(&['x', 'i']),
        // They ask what to do with each part.
        "add" | "stash" | "restore" | "checkout" | "reset" => {
            let asks = |text: &str| {
                text.len() > 2 && ["--patch", "--interactive", "--edit"].iter().any(|long| long.starts_with(text))
            };
            has_letter(&['p', 'i', 'e']) || rest.iter().filter_map(Arg::text).any(asks)
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
        "grep" => has_letter(&['O']),
        "clone" | "fetch" | "pull" | "ls-remote" => has_letter(&['u', 'c']),
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
    if let "commit" | "tag" | "notes" | "stash" | "merge" = name {
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
    // What it searches for.
    if name == "grep" {
        let is_flag = |arg: &&Arg| arg.text().is_some_and(is_search_flag);
        told.texts.insert(at + 1 + rest.iter().take_while(is_flag).count());
    }
    told
}

/// Whether an option of `git grep` has no value: the first word behind such options is the pattern.
fn is_search_flag(text: &str) -> bool {
    const LONG: [&str; 7] =
        ["--no-index", "--cached", "--untracked", "--line-number", "--ignore-case", "--word-regexp", "--name-only"];
    let letters = text.strip_prefix('-').unwrap_or_default();
    LONG.contains(&text) || (!letters.is_empty() && letters.chars().all(|c| "niwlhHEFPcvIqWo".contains(c)))
}

/// A word as a pathspec: signs of a pattern count though they are quoted, and match names that begin with a dot.
pub(crate) fn pathspec(arg: &Arg) -> Arg {
    let Some(text) = arg.text().filter(|text| !text.starts_with('-')) else { return arg.clone() };
    let tail = text.rsplit(['*', '?', '[']).next().filter(|tail| tail.len() < text.len());
    let is_hidden = |text: &str| text.split('/').any(|name| name.starts_with('.') && name.contains('*'));
    match tail {
        // It has words of its own, which may name all files but one, or ignore case.
        _ if text.starts_with(':') => Arg::unknown(&*arg.written),
        Some(tail) if !is_ending(tail) || is_hidden(text) || text.contains(['?', '[']) => Arg::unknown(&*arg.written),
        Some(_) => Arg { readings: Some(vec![Reading { text: text.to_owned(), pattern: true }]), ..arg.clone() },
        None => arg.clone(),
    }
}
