//! Options of programs that start others, as far as they are known. An option that is not known could do anything.

use crate::Cause;
use crate::values::Arg;

/// The options of a program before its first operand.
pub(crate) struct Options {
    pub(crate) flags: &'static [&'static str],
    /// Those that take the next word.
    pub(crate) with_value: &'static [&'static str],
    /// Those that have their value in the same word.
    pub(crate) beginnings: &'static [&'static str],
    /// How many operands come before the command.
    pub(crate) operands: usize,
}

impl Options {
    /// Where the first operand is.
    pub(crate) fn skip(&self, args: &[Arg]) -> Result<usize, Cause> {
        let mut at = 0;
        while let Some(arg) = args.get(at) {
            let text = arg.text().ok_or(Cause::Arguments)?;
            if text == "--" {
                return Ok(at + 1);
            }
            if !text.starts_with('-') {
                break;
            }
            if self.with_value.contains(&text) {
                at += 2;
            } else if self.flags.contains(&text) || self.beginnings.iter().any(|begin| text.starts_with(begin)) {
                at += 1;
            } else {
                return Err(Cause::Option);
            }
        }
        Ok(at)
    }
}

/// Programs that run the command that their words are.
pub(crate) fn wrapper(program: &str) -> Option<Options> {
    let plain = Options { flags: &[], with_value: &[], beginnings: &[], operands: 0 };
    Some(match program {
        "env" => Options {
            flags: &["-i", "-", "--ignore-environment", "-0"],
            with_value: &["-u"],
            beginnings: &["--unset="],
            ..plain
        },
        "command" => Options { flags: &["-p", "-v", "-V"], ..plain },
        "builtin" | "nohup" | "noglob" | "nocorrect" | "chronic" => plain,
        "exec" => Options { flags: &["-c", "-l"], with_value: &["-a"], ..plain },
        "nice" => Options { with_value: &["-n"], beginnings: &["-n", "--adjustment=", "-1"], ..plain },
        "ionice" => Options { flags: &["-t"], with_value: &["-c", "-n"], beginnings: &["-c", "-n"], ..plain },
        "timeout" | "gtimeout" => Options {
            flags: &["--foreground", "--preserve-status", "-v", "--verbose"],
            with_value: &["-k", "-s", "--kill-after", "--signal"],
            beginnings: &["--kill-after=", "--signal=", "-k", "-s"],
            operands: 1,
        },
        "stdbuf" => Options { with_value: &["-i", "-o", "-e"], beginnings: &["-i", "-o", "-e"], ..plain },
        "time" => Options { flags: &["-p", "-v", "--verbose"], with_value: &["-f"], ..plain },
        "setsid" => Options { flags: &["-f", "-w", "-c"], ..plain },
        "sudo" => Options { flags: &["-n", "-E", "-H", "-S", "-b"], with_value: &["-u", "-g"], ..plain },
        "caffeinate" => Options { flags: &["-i", "-d", "-s"], ..plain },
        "xvfb-run" => Options { flags: &["-a"], ..plain },
        _ => return None,
    })
}

/// Options by which a program starts others, takes names of files from a file, or reaches other machines. A letter counts within a group
/// of letters, too, and the beginning of a long option for the option.
pub(crate) fn starting(program: &str) -> Option<&'static [&'static str]> {
    Some(match program {
        "tar" | "bsdtar" => &[
            "--to-command",
            "--checkpoint-action",
            "I",
            "--use-compress-program",
            "F",
            "--info-script",
            "--new-volume-script",
            "--rsh-command",
            "--rmt-command",
            "T",
            "--files-from",
        ],
        "rsync" => &["e", "--rsh", "--rsync-path", "--files-from"],
        "sort" => &["--compress-program", "--files0-from"],
        "fd" | "fdfind" => &["x", "X", "--exec", "--exec-batch"],
        "zip" => &["T", "--unzip-command", "@"],
        "split" => &["--filter"],
        "gcc" | "g++" | "cc" | "c++" | "clang" | "clang++" => {
            &["-wrapper", "-fplugin", "-specs", "-Xclang", "-B", "-", "-include", "@"]
        }
        "rustc" => &["-C", "--codegen", "-"],
        "cmake" => &["-E", "-P"],
        "ctest" => &["--build-and-test", "--test-command", "-S", "-SP"],
        "tox" => &["x", "--override", "exec", "devenv"],
        "pylint" => &["--init-hook", "--load-plugins"],
        "mypy" => &["--python-executable", "--install-types"],
        // What is set for `addopts` is more options.
        "pytest" => {
            &["--pastebin", "--pdb", "--trace", "--pdbcls", "o", "--override-ini", "c", "--config-file", "--basetemp"]
        }
        "mvn" => &["-Dexec", "exec:", "-f", "--file", "-s", "--settings", "--define", "-t", "--toolchains", "-gs"],
        "gradle" => &["-I", "--init-script", "--system-prop"],
        "dotnet" => &["exec", "@"],
        "javac" => &["-J", "@"],
        "rollup" => &["p", "--plugin", "--configPlugin"],
        "mocha" => &["n", "--node-option", "--nodeOption", "--import", "--loader", "--experimental", "--inspect"],
        "ava" => &["--node-arguments", "--nodeArguments", "debug"],
        "tap" => &["--node-arg"],
        "wc" | "du" => &["--files0-from"],
        "ar" => &["M", "@", "--plugin"],
        "nm" | "objdump" | "strings" => &["@", "--plugin"],
        "file" | "date" => &["f", "--files-from", "--file", "C", "--compile"],
        _ => return None,
    })
}

/// An interpreter of a language that is not read here.
pub(crate) struct Interpreter {
    pub(crate) flags: &'static [&'static str],
    pub(crate) with_value: &'static [&'static str],
    pub(crate) beginnings: &'static [&'static str],
    /// The option whose value is a module that is run.
    pub(crate) module: Option<&'static str>,
    /// Options that say all of what it does.
    pub(crate) ends: &'static [&'static str],
}

/// The interpreter of this name.
pub(crate) fn interpreter(program: &str) -> Option<Interpreter> {
    let plain = Interpreter {
        flags: &[],
        with_value: &[],
        beginnings: &[],
        module: None,
        ends: &["--version", "--help", "-v"],
    };
    // `python3.12` is `python`.
    let name = program.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.' || c == '-');
    Some(match name {
        "python" | "pypy" | "pythonw" => Interpreter {
            flags: &["-B", "-b", "-bb", "-d", "-E", "-I", "-O", "-OO", "-q", "-s", "-S", "-u", "-P"],
            with_value: &["-W", "-X"],
            beginnings: &["-W", "-X"],
            module: Some("-m"),
            ends: &["--version", "-V", "-VV", "--help", "-h"],
        },
        "node" | "nodejs" => Interpreter {
            flags: &[
                "--watch",
                "--no-warnings",
                "--enable-source-maps",
                "--trace-warnings",
                "--trace-deprecation",
                "--expose-gc",
                "--experimental-strip-types",
                "--experimental-vm-modules",
                "--no-deprecation",
                "--use-strict",
            ],
            beginnings: &["--max-old-space-size=", "--stack-size=", "--unhandled-rejections="],
            ends: &["--version", "-v", "--help", "-h", "--test"],
            ..plain
        },
        "ruby" => Interpreter {
            flags: &["-w", "-c", "-W0", "-W1", "-W2"],
            beginnings: &["-I"],
            with_value: &["-I"],
            ends: &["--version", "-v", "--help", "-h", "-c"],
            ..plain
        },
        "perl" => Interpreter { flags: &["-w", "-t", "-T", "-c"], ends: &["--version", "-v", "--help"], ..plain },
        "php" => Interpreter { flags: &["-n", "-q", "-l"], ends: &["--version", "-v", "--help", "-h", "-m"], ..plain },
        "ipython" | "irb" | "lua" | "luajit" | "Rscript" | "R" | "julia" | "ghci" | "runghc" | "scala" | "jshell"
        | "tclsh" | "wish" | "elixir" | "iex" | "erl" | "swift" | "kotlin" | "groovy" | "clojure" | "racket"
        | "guile" | "sbcl" | "ocaml" | "octave" | "tsx" | "ts-node" | "coffee" | "raku" | "nu" | "xonsh" => plain,
        _ => return None,
    })
}

/// Whether a script of `sed` has only commands that print, delete and replace, which start and write nothing.
pub(crate) fn is_plain_sed(script: &str) -> bool {
    // Within brackets, the name of a class stands for one sign.
    let mut script = script.to_owned();
    for class in ["space", "alpha", "digit", "alnum", "upper", "lower", "punct", "blank"] {
        script = script.replace(&format!("[:{class}:]"), "x");
    }
    let mut left = script.trim_matches([' ', ';', '\n']);
    if left.is_empty() || left.contains('\\') && left.contains('\n') {
        return false;
    }
    while !left.is_empty() {
        let Some(rest) = address(left).and_then(|rest| command(rest)) else { return false };
        left = rest.trim_start_matches([' ', ';', '\n', '}']);
    }
    true
}

/// Passes over addresses: numbers, `$`, and patterns between slashes.
fn address(mut left: &str) -> Option<&str> {
    loop {
        let rest = match left.chars().next()? {
            '/' => delimited(left.get(1..)?, '/')?,
            '0'..='9' | '$' | ',' | '!' | '~' | '+' | ' ' | '{' => left.get(1..)?,
            _ => return Some(left),
        };
        left = rest;
    }
}

fn command(left: &str) -> Option<&str> {
    let name = left.chars().next()?;
    let rest = left.get(name.len_utf8()..)?;
    match name {
        'p' | 'd' | 'q' | '=' | 'n' | 'N' | 'D' | 'P' | 'h' | 'H' | 'g' | 'G' | 'x' => ends(rest),
        // A text up to the end of the line.
        'a' | 'i' | 'c' if rest.starts_with(' ') && !rest.contains('\\') => {
            Some(rest.split_once('\n').map_or("", |(_, next)| next))
        }
        's' | 'y' => {
            let sign = rest
                .chars()
                .next()
                .filter(|sign| !sign.is_alphanumeric() && !matches!(sign, '\\' | '\n' | ' ' | '[' | ']' | ':'))?;
            let rest = delimited(rest.get(sign.len_utf8()..)?, sign)?;
            let rest = delimited(rest, sign)?;
            // `e` runs what was replaced, `w` writes it.
            ends(rest.trim_start_matches(|c: char| c.is_ascii_digit() || matches!(c, 'g' | 'p' | 'i' | 'I')))
        }
        _ => None,
    }
}

fn ends(left: &str) -> Option<&str> {
    (left.is_empty() || left.starts_with([';', '\n', '}', ' '])).then_some(left)
}

/// What follows the next such sign that is not escaped. Within brackets, programs may read it differently.
fn delimited(left: &str, sign: char) -> Option<&str> {
    let mut escaped = false;
    for (at, c) in left.char_indices() {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '\n' => return None,
            '[' => {
                let (inner, _) = left.get(at + 1..)?.split_once(']')?;
                // In these, a `]` does not end the bracket, or the sign stands within it.
                if matches!(inner, "" | "^") || inner.contains(['[', '\\', sign]) {
                    return None;
                }
            }
            c if c == sign => return left.get(at + c.len_utf8()..),
            _ => {}
        }
    }
    None
}
