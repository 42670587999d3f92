//! Commands of the shell itself whose words are evaluated in some shell: as the names of variables, or as numbers.

use crate::Cause;
use crate::told::Told;
use crate::values::Arg;
use crate::variables::{evaluates_value, is_decisive};
use crate::word::is_name;

/// `export`, `declare` and their like.
pub(crate) fn declaration(args: &[Arg]) -> Told {
    let mut told = Told { texts: (0..args.len()).collect(), ..Told::default() };
    // A value of such a variable is evaluated, as are subscripts.
    let evaluates =
        args.iter().filter_map(Arg::text).any(|text| text.starts_with('-') && text.contains(['i', 'a', 'A']));
    // So is every later value of a number.
    if args.iter().filter_map(Arg::text).any(|text| text.starts_with('-') && text.contains('i')) {
        told.opaque.insert(Cause::Evaluates);
    }
    for arg in args {
        // Shells that split it take each word for a variable.
        if arg.splits {
            told.opaque.insert(Cause::Variable);
        }
        match arg.text().or(arg.written.split(['=', '$']).next()) {
            Some(text) if !text.starts_with('-') => {
                let name = text.split(['=', '+']).next().unwrap_or_default();
                let value = arg.written.get(name.len()..).unwrap_or_default();
                if is_decisive(name) || !is_name(name) {
                    told.opaque.insert(Cause::Variable);
                }
                let is_set = value.starts_with(['=', '+']);
                if is_set && evaluates_value(name, arg.text().and_then(|text| text.get(name.len() + 1..))) {
                    told.opaque.insert(Cause::Evaluates);
                }
                if evaluates && (arg.text().is_none() || value.contains(['$', '`', '[', '('])) {
                    told.opaque.insert(Cause::Evaluates);
                }
            }
            Some("-x" | "-r" | "-i" | "-a" | "-A" | "-g" | "-l" | "-u" | "-p" | "-gx" | "-rx") => {}
            _ => {
                told.opaque.insert(Cause::Alias);
            }
        }
    }
    told
}

/// Commands whose words are names. A subscript of a name would be evaluated.
pub(crate) fn names_only(args: &[Arg]) -> Told {
    evaluates_if(args.iter().any(|arg| arg.text().is_none_or(|text| text.contains('['))))
}

/// Commands whose words are numbers, which zsh evaluates as expressions.
pub(crate) fn numbers_only(args: &[Arg]) -> Told {
    evaluates_if(!args.iter().all(|arg| arg.is_number))
}

/// `read`, whose options may take a number.
pub(crate) fn read(args: &[Arg]) -> Told {
    let mut takes_number = false;
    for arg in args {
        let Some(text) = arg.text().filter(|_| !takes_number || arg.is_number) else {
            return Told::opaque(Cause::Evaluates);
        };
        // Only the last letter of a group may take the next word.
        let letters = text.strip_prefix('-').unwrap_or_default().trim_end_matches(|c: char| c.is_ascii_digit());
        if !letters.chars().all(|c| "rsapdntNuek".contains(c)) || text.contains('[') {
            return Told::opaque(Cause::Evaluates);
        }
        takes_number = letters == text.get(1..).unwrap_or_default() && letters.ends_with(['n', 't', 'N', 'u', 'k']);
    }
    Told::default()
}

/// `test`: some of its operators evaluate their operands, and a word that is not known may be such an operator.
pub(crate) fn test(args: &[Arg]) -> Told {
    let at = |at: Option<usize>| at.and_then(|at| args.get(at));
    let is_inert = |arg: Option<&Arg>| {
        let is_operator = |text: &str| {
            matches!(text, "=" | "==" | "!=" | "!" | "(" | ")" | "<" | ">" | "]")
                || text.strip_prefix('-').is_some_and(|name| name.len() <= 2 && name.chars().all(char::is_alphabetic))
        };
        arg.is_none_or(|arg| arg.is_number || arg.text().is_some_and(is_operator))
    };
    let is_number = |arg: Option<&Arg>| arg.is_some_and(|arg| arg.is_number);
    let evaluates = args.iter().enumerate().any(|(index, arg)| {
        let (before, after) = (at(index.checked_sub(1)), at(Some(index + 1)));
        match arg.text() {
            _ if arg.splits => true,
            Some("-v" | "-R") => after.is_some_and(|after| after.text().is_none_or(|text| text.contains('['))),
            Some("-t") => after.is_some_and(|after| !after.is_number && !is_inert(Some(after))),
            Some("-eq" | "-ne" | "-lt" | "-le" | "-gt" | "-ge") => !is_number(before) || !is_number(after),
            None if !arg.is_number => !is_inert(before) || !is_inert(after),
            _ => false,
        }
    });
    evaluates_if(evaluates)
}

/// `printf`: the name behind `-v` may have a subscript, and zsh evaluates what it prints as a number.
pub(crate) fn printf(args: &[Arg]) -> Told {
    let mut rest = args;
    if let [first, name, others @ ..] = rest
        && first.text() == Some("-v")
    {
        if !name.text().is_some_and(is_name) {
            return all_texts(args, Told::opaque(Cause::Evaluates));
        }
        rest = others;
    }
    if rest.first().and_then(Arg::text) == Some("--") {
        rest = rest.get(1..).unwrap_or_default();
    }
    let evaluates = rest.split_first().is_some_and(|(format, values)| match format.text() {
        Some(text) => text.starts_with("-v") || (has_number(text) && !values.iter().all(|value| value.is_number)),
        None => format.splits || may_be_option(format) || !values.is_empty(),
    });
    all_texts(args, evaluates_if(evaluates))
}

/// Whether a format has another conversion than those of texts.
fn has_number(format: &str) -> bool {
    let mut parts = format.replace("%%", "");
    parts.retain(|c| !c.is_ascii_digit() && !matches!(c, '-' | '.'));
    parts.split('%').skip(1).any(|part| !part.starts_with(['s', 'b', 'q', 'c']))
}

/// Whether a word that is not known may begin with a sign of options.
fn may_be_option(arg: &Arg) -> bool {
    !arg.written.trim_start_matches('"').starts_with(|c: char| c.is_alphanumeric() || "%/_.,:([".contains(c))
}

fn all_texts(args: &[Arg], told: Told) -> Told {
    Told { texts: (0..args.len()).collect(), ..told }
}

fn evaluates_if(evaluates: bool) -> Told {
    if evaluates { Told::opaque(Cause::Evaluates) } else { Told::default() }
}

/// `set`: only options that change how a shell ends.
pub(crate) fn settings(args: &[Arg]) -> Told {
    const NAMES: [&str; 8] = ["errexit", "nounset", "pipefail", "xtrace", "noglob", "noclobber", "verbose", "errtrace"];
    let mut is_name = false;
    for arg in args {
        let Some(text) = arg.text() else { return Told::opaque(Cause::Variable) };
        if is_name {
            if !NAMES.contains(&text) {
                return Told::opaque(Cause::Alias);
            }
            is_name = false;
        } else if text == "--" {
            break;
        } else if let Some(letters) = text.strip_prefix(['-', '+']) {
            if !letters.chars().all(|letter| "euxfvnCoE".contains(letter)) {
                return Told::opaque(Cause::Variable);
            }
            is_name = letters.contains('o');
        }
    }
    Told::default()
}
