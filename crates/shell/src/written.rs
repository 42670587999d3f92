//! Which words of a command name files that it writes.

use crate::values::Arg;

/// The words that name files which a program writes, moves or removes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Written {
    Nothing,
    Everything,
    /// The word at this place.
    One(usize),
}

impl Written {
    pub(crate) fn has(self, at: usize) -> bool {
        match self {
            Self::Nothing => false,
            Self::Everything => true,
            Self::One(one) => one == at,
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
    let one = |at: Option<usize>| at.map_or(Written::Nothing, Written::One);
    match program {
        "rm" | "rmdir" | "touch" | "mkdir" | "tee" | "truncate" | "chmod" | "chown" | "chgrp" | "mv" | "unlink"
        | "shred" | "ln" | "link" | "patch" | "install" | "mkfifo" | "mknod" | "setfacl" | "chattr" | "unzip"
        | "dd" | "sponge" | "gzip" | "gunzip" | "bzip2" | "xz" | "zip" | "split" | "csplit" | "tar" | "wget" => {
            Written::Everything
        }
        "cp" | "rsync" if !has(&["--t"]) && !has_letter('t') => one(args.iter().rposition(is_operand)),
        "cp" | "rsync" => Written::Everything,
        "sed" => all_if(has(&["--i"]) || has_letter('i')),
        // The second file is what they write.
        "uniq" | "xxd" => one(args.iter().enumerate().filter(|(_, arg)| is_operand(arg)).map(|(at, _)| at).nth(1)),
        "tree" => all_if(has_letter('o')),
        "curl" => all_if(has(&["--o", "--remote", "--c", "--d"]) || "oOcD".chars().any(has_letter)),
        "sort" => all_if(has(&["--o"]) || has_letter('o')),
        "find" => all_if(has(&["-delete", "-fprint", "-fls"])),
        "git" => {
            let changes = |text: &str| matches!(text, "checkout" | "restore" | "rm" | "mv" | "clean" | "apply" | "am");
            all_if(texts().any(changes) || has(&["--output", "-o"]))
        }
        _ => Written::Nothing,
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
