//! Which words of a command name files that it writes.

use crate::values::Arg;

/// The words that name files which a program writes, moves or removes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Written {
    Nothing,
    Everything,
    /// The words from this place on.
    From(usize),
}

impl Written {
    pub(crate) fn has(self, at: usize) -> bool {
        match self {
            Self::Nothing => false,
            Self::Everything => true,
            Self::From(from) => at >= from,
        }
    }
}

/// What a program with these words writes, as far as it is known.
pub(crate) fn written(program: &str, args: &[Arg]) -> Written {
    let texts = || args.iter().filter_map(Arg::text);
    let has = |options: &[&str]| texts().any(|text| options.iter().any(|option| text.starts_with(option)));
    // A letter may stand within a group of letters.
    let has_letter =
        |letter: char| texts().any(|text| text.starts_with('-') && !text.starts_with("--") && text.contains(letter));
    let is_operand = |arg: &Arg| arg.text().is_none_or(|text| !text.starts_with('-'));
    let all_if = |condition: bool| if condition { Written::Everything } else { Written::Nothing };
    let second = || args.iter().enumerate().filter(|(_, arg)| is_operand(arg)).map(|(at, _)| at).nth(1);
    let from = |at: Option<usize>| at.map_or(Written::Nothing, Written::From);
    match program {
        "rm" | "rmdir" | "touch" | "mkdir" | "tee" | "truncate" | "chmod" | "chown" | "chgrp" | "mv" | "unlink"
        | "shred" | "ln" | "link" | "patch" | "install" | "mkfifo" | "mknod" | "setfacl" | "chattr" | "unzip"
        | "dd" | "sponge" | "ar" | "gzip" | "gunzip" | "bzip2" | "xz" | "zip" | "split" | "csplit" | "tar" | "wget" => {
            Written::Everything
        }
        // An option may have a value of its own, so it may be any but the first.
        "cp" | "rsync" if !has(&["--"]) && !has_letter('t') && !has_letter('S') => from(second()),
        "cp" | "rsync" => Written::Everything,
        "sed" => all_if(has(&["--i"]) || has_letter('i')),
        // The second file is what they write.
        "uniq" | "xxd" if !texts().any(|text| text.starts_with('-')) => from(second()),
        "uniq" | "xxd" => Written::Everything,
        "tree" => all_if(has_letter('o')),
        "curl" => all_if(has(&["--o", "--remote", "--c", "--d"]) || "oOcD".chars().any(has_letter)),
        "sort" => all_if(has(&["--o"]) || has_letter('o')),
        "find" => all_if(has(&["-fprint", "-fls"])),
        "git" => {
            let changes = |text: &str| matches!(text, "checkout" | "restore" | "rm" | "mv" | "clean" | "apply" | "am");
            all_if(texts().any(changes) || has(&["--ou", "-o"]))
        }
        _ => Written::Nothing,
    }
}

/// Whether a program writes files that its words do not name: those of an archive, or of a patch.
pub(crate) fn writes_unnamed(program: &str, args: &[Arg]) -> bool {
    let texts = || args.iter().filter_map(Arg::text);
    let is_short = |text: &str| text.starts_with('-') && !text.starts_with("--");
    match program {
        "patch" | "unzip" | "cpio" | "bsdtar" | "7z" | "unrar" | "gunzip" | "bunzip2" | "unxz" => true,
        // The target of a link counts from the folder of the link.
        "ln" if links_above(args) => true,
        "ar" => texts().next().is_some_and(|text| text.contains('x')),
        "gzip" | "bzip2" | "xz" => {
            texts().any(|text| text.starts_with("--") || (is_short(text) && text.contains(['d', 'S'])))
        }
        // A copy of the file before, under a name that is made of its own.
        "cp" | "mv" | "ln" | "install" => texts().any(|text| {
            text.starts_with("--b") || text.starts_with("--s") || (is_short(text) && text.contains(['b', 'S']))
        }),
        "sed" => texts().any(|text| {
            let suffix = text.strip_prefix("-i").or_else(|| text.strip_prefix("--in-place="));
            suffix.is_some_and(|suffix| !matches!(suffix, "" | ".bak" | ".orig"))
        }),
        "tar" => args.iter().enumerate().any(|(at, arg)| {
            let text = arg.text().unwrap_or_default();
            let extracts = text.len() > 2 && ["--extract", "--get"].iter().any(|long| long.starts_with(text));
            extracts || ((at == 0 || is_short(text)) && !text.starts_with("--") && text.contains('x'))
        }),
        _ => false,
    }
}

/// Whether a link is made whose target is not known, or begins above the folder of the link.
fn links_above(args: &[Arg]) -> bool {
    let is_symbolic = |text: &str| {
        text.starts_with("--s") || (text.starts_with('-') && !text.starts_with("--") && text.contains('s'))
    };
    let goes_up = |text: &str| !text.starts_with(['/', '~']) && text.split('/').any(|part| part == "..");
    let is_above = |arg: &Arg| arg.text().is_none_or(goes_up);
    args.iter().any(|arg| arg.text().is_none_or(is_symbolic)) && args.iter().any(is_above)
}
