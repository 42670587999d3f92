//! How the interpreters of this host are found and started: one file and one row for each language.

use std::ops::RangeInclusive;

use proofmark_checks::Language;

/// Declares the module of each language's toolchain, so that no language can be without one.
macro_rules! toolchains {
    ($($module:ident: $language:ident,)*) => {
        $(mod $module;)*

        /// The toolchain of a language.
        pub(crate) fn of(language: Language) -> &'static Toolchain {
            match language {
                $(Language::$language => &$module::TOOLCHAIN,)*
            }
        }
    };
}

toolchains! {
    python: Python,
    node: JavaScript,
    typescript: TypeScript,
    bash: Bash,
    ruby: Ruby,
}

/// Every toolchain, in the order of the languages.
pub(crate) fn all() -> impl Iterator<Item = &'static Toolchain> {
    Language::ALL.into_iter().map(of)
}

/// How the interpreter of one language is found, started and limited.
pub(crate) struct Toolchain {
    /// What receipts call it, before its version.
    pub(crate) name: &'static str,
    /// How many parts of its version receipts name.
    pub(crate) version_parts: usize,
    /// What may stand before the version in a runtime demanded.
    pub(crate) prefixes: &'static [&'static str],
    /// Its executables without a version, the likeliest first.
    pub(crate) executables: &'static [&'static str],
    /// The versions of which there may be an executable such as `python3.11`, by major version.
    pub(crate) versions: &'static [(u32, RangeInclusive<u32>)],
    /// The first version that will do, where not every one does.
    pub(crate) minimum: Option<(u32, u32)>,
    /// What installs it: the Debian package, where that is new enough.
    pub(crate) package: &'static str,
    /// The arguments that make it print, one a line: its version, its real binary (an empty line for the one that was
    /// started), and every path of the host it needs.
    pub(crate) probe: &'static [&'static str],
    /// Further paths it needs where the host has them.
    pub(crate) needs: &'static [&'static str],
    /// Whether these are all modules that its programs find beside packages, and none elsewhere among the host's programs.
    pub(crate) has_own_library: bool,
    /// The arguments that run its harness; without one it runs whole programs alone.
    pub(crate) harness: Option<&'static [&'static str]>,
    /// Whether the harness can fork cases off a warm interpreter.
    pub(crate) forks: bool,
    /// What it takes where the interpreter does not promise to survive a fork.
    pub(crate) trial: Option<Trial>,
    /// What its harness loads before it reads a submission, from little to much (`modules.rs`).
    pub(crate) modules: &'static [&'static str],
    /// The arguments before the file of a whole program.
    pub(crate) whole: &'static [&'static str],
    /// What the name of that file must end with, as in `.ts`.
    pub(crate) extension: &'static str,
    /// What its programs find in their environment, `NAME=value`.
    pub(crate) variables: &'static [&'static str],
    /// What the command of a project finds there besides.
    pub(crate) project_variables: &'static [&'static str],
    /// Threads of its own, which a submission may have on top of its limit.
    pub(crate) threads: u64,
    /// Bytes it maps and does not use.
    pub(crate) reserved_bytes: u64,
    /// The exception that says that the memory is used up.
    pub(crate) memory_exception: Option<&'static str>,
    /// The signals by which it ends itself when its memory is used up.
    pub(crate) memory_signals: &'static [i32],
    /// What it writes before that, any of which tells this from a program that ends itself by such a signal.
    pub(crate) memory_words: &'static [&'static str],
    pub(crate) packages: Option<Packages>,
}

/// How an interpreter is forked that does not promise to survive it. Each must pass a trial first, and a case that ends in it
/// without an answer is run again by a fresh interpreter, so no result is an effect of the fork.
pub(crate) struct Trial {
    /// The arguments of the warm interpreter alone, before those of its harness.
    pub(crate) arguments: &'static [&'static str],
    /// Files of the host that the warm interpreter reads; each is copied, where there is one.
    pub(crate) shown: &'static [&'static str],
    /// Where its harness finds the library that forks.
    pub(crate) addon_path: &'static str,
    pub(crate) addon: &'static [u8],
    /// What every leaf of the trial has as its submission.
    pub(crate) submission: &'static str,
    /// Expressions with the answer that a leaf must write; none where it must end without one.
    pub(crate) expressions: &'static [(&'static str, Option<&'static str>)],
}

/// The packages installed for an interpreter, which the tests of a project may use.
pub(crate) struct Packages {
    /// The arguments with which the interpreter prints their folders, one a line (`site.py`). It is run outside of the sandbox.
    pub(crate) site: &'static [&'static str],
    /// The environment variable that names such folders.
    pub(crate) variable: &'static str,
    /// The command that installs one.
    pub(crate) install: &'static str,
    /// A program of the interpreter that finds packages by name (`packages.py`). It is run outside of the sandbox.
    pub(crate) find: &'static str,
    /// The arguments before the file of a whole program that uses packages.
    pub(crate) whole: &'static [&'static str],
    /// What programs that use packages find in their environment besides, `NAME=value`.
    pub(crate) variables: &'static [&'static str],
}
