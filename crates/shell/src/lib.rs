//! Which programs a shell text starts, with which words and files, as far as the text says it.
//!
//! [`read`] takes a text as `sh`, `bash` and `zsh` read it alike. It finds every command that the text may run, also within groups,
//! substitutions, and the text of `sh -c`. Where the text does not say what runs, or where shells would read it in different ways, the
//! command is *opaque*. Values that a text does not say are uncertain and never left out.
//!
//! | module | what it does |
//! |---|---|
//! | `word`, `lexer` | words, quotes, expansions |
//! | `reader`, `compound`, `redirect` | commands, and how they are joined |
//! | `values`, `braces` | variables and braces: what a word may come to |
//! | `folder` | folders that a command may run in |
//! | `path` | the files that words name |
//! | `command` | one command: the program, and the commands that it starts in turn |
//! | `program`, `options`, `tools`, `find`, `git`, `recipes`, `text_tools` | programs that start others, and their words |
//! | `builtins` | commands of the shell itself, whose words may be evaluated |
//! | `told`, `variables`, `written` | what is known of a command; variables that decide what runs; files that it writes |

mod braces;
mod builtins;
mod command;
mod compound;
mod find;
mod folder;
mod git;
mod lexer;
mod options;
mod path;
mod program;
mod reader;
mod recipes;
mod redirect;
mod text_tools;
mod told;
mod tools;
mod values;
mod variables;
mod word;
mod written;

use std::collections::BTreeSet;

pub use path::{NamedPath, goes_back, is_read_alike, normalized};

/// The most texts that one word may come to.
pub(crate) const MAX_READINGS: usize = 32;

/// The longest text that is read, in bytes.
pub const MAX_TEXT_BYTES: usize = 64 * 1024;
/// The most commands of a text.
pub const MAX_COMMANDS: usize = 1_000;
/// The most bytes of words and paths that are told of a text.
pub(crate) const MAX_TOLD_BYTES: usize = 1024 * 1024;
/// The most files that are told of a text.
pub const MAX_PATHS: usize = 4_000;
/// How deep groups, substitutions and texts within texts may go.
pub(crate) const MAX_DEPTH: usize = 24;

/// Why it is not known what a command runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Cause {
    /// The text is not a command, or not one that all shells read alike.
    Syntax,
    /// The text is too long, or has too many commands or levels.
    TooLarge,
    /// The name of the program is the result of an expansion.
    Program,
    /// A text is run that is put together when it runs, as by `eval`.
    Evaluates,
    /// A shell or an interpreter reads its program from its input.
    Input,
    /// An interpreter has its program as an argument, in a language that is not read here.
    ProgramText,
    /// A variable is set that decides which program runs.
    Variable,
    /// An option starts another program, or it is not known whether it does.
    Option,
    /// The program gets arguments that are not known, and what it does depends on them.
    Arguments,
    /// It runs what a file of the project says under a name, as `make` does.
    Recipe,
    /// Names are given another meaning, as by `alias`.
    Alias,
}

impl Cause {
    /// Every cause.
    pub const ALL: [Self; 11] = [
        Self::Syntax,
        Self::TooLarge,
        Self::Program,
        Self::Evaluates,
        Self::Input,
        Self::ProgramText,
        Self::Variable,
        Self::Option,
        Self::Arguments,
        Self::Recipe,
        Self::Alias,
    ];

    /// Its word.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Syntax => "syntax",
            Self::TooLarge => "too_large",
            Self::Program => "program",
            Self::Evaluates => "evaluates",
            Self::Input => "input",
            Self::ProgramText => "program_text",
            Self::Variable => "variable",
            Self::Option => "option",
            Self::Arguments => "arguments",
            Self::Recipe => "recipe",
            Self::Alias => "alias",
        }
    }
}

/// A command that a text may run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Command {
    /// The name of the program: its file name in the folders of the system, otherwise its path. Empty for a command that only sets
    /// variables or opens files. `None` where it is not known.
    pub program: Option<String>,
    /// The words after it. A word with an expansion is as it stands in the text.
    pub args: Vec<String>,
    /// Whether `args` are the arguments that the program gets.
    pub exact: bool,
    /// The first argument that is not an option, for programs that have commands of their own.
    pub subcommand: Option<String>,
    /// The file that an interpreter, a shell or `make` runs.
    pub script: Option<String>,
    /// The variables that are set for it, with their values where they are known.
    pub assignments: Vec<(String, Option<String>)>,
    /// The files that its words may name, and those that it is redirected to.
    pub paths: Vec<NamedPath>,
    /// Why it is not known what runs. Empty if it is known.
    pub opaque: BTreeSet<Cause>,
}

/// The commands that a text may run. `cwd` is the folder that it starts in, as an absolute path, where that is known.
///
/// A text that cannot be read is one opaque command without a program.
#[must_use]
pub fn read(text: &str, cwd: Option<&str>) -> Vec<Command> {
    let folders = cwd.map(|cwd| BTreeSet::from([path::Folder { path: normalized(cwd), is_changed: false }]));
    command::read(text, folders.as_ref(), 0).unwrap_or_else(|cause| vec![unread(cause)])
}

/// As [`read`], of a program and its arguments.
#[must_use]
pub fn read_words(words: &[&str], cwd: Option<&str>) -> Vec<Command> {
    let quoted: Vec<String> = words.iter().map(|word| format!("'{}'", word.replace('\'', r"'\''"))).collect();
    read(&quoted.join(" "), cwd)
}

/// What [`read`] says of a text that is missing or is not a text.
#[must_use]
pub fn unreadable() -> Vec<Command> {
    vec![unread(Cause::Syntax)]
}

fn unread(cause: Cause) -> Command {
    Command { opaque: BTreeSet::from([cause]), ..Command::default() }
}
