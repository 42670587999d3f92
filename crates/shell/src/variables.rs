//! Variables of the environment that decide what a command runs.

/// Variables that decide which programs run, or what they load.
const DECISIVE: [&str; 22] = [
    "PATH",
    "IFS",
    "ENV",
    "BASH_ENV",
    "SHELLOPTS",
    "BASHOPTS",
    "PS4",
    "PROMPT_COMMAND",
    "CDPATH",
    "GLOBIGNORE",
    "ZDOTDIR",
    "FPATH",
    "EDITOR",
    "VISUAL",
    "PAGER",
    "MANPAGER",
    "LESSOPEN",
    "LESSCLOSE",
    "SHELL",
    "MAKEFLAGS",
    "MAKEFILES",
    "HOME",
];
const DECISIVE_BEGINNINGS: [&str; 21] = [
    "LD_",
    "DYLD_",
    "GIT_",
    "PYTHON",
    "NODE_OPTIONS",
    "NODE_PATH",
    "RUBY",
    "PERL",
    "JAVA_TOOL",
    "_JAVA",
    "JDK_JAVA",
    "RUSTC",
    "CARGO_",
    "npm_config_",
    "NPM_CONFIG_",
    "BASH_FUNC",
    "GOFLAGS",
    "PHP",
    "LUA_",
    "XDG_CONFIG",
    "PROOFMARK_",
];
/// Variables that begin alike and decide nothing.
const HARMLESS: [&str; 8] = [
    "PYTHONDONTWRITEBYTECODE",
    "PYTHONUNBUFFERED",
    "PYTHONIOENCODING",
    "PYTHONUTF8",
    "PYTHONHASHSEED",
    "CARGO_TERM_COLOR",
    "CARGO_INCREMENTAL",
    "GIT_TERMINAL_PROMPT",
];

/// Whether a variable decides which program runs.
pub(crate) fn is_decisive(name: &str) -> bool {
    let begins = || DECISIVE_BEGINNINGS.iter().any(|begin| name.starts_with(begin));
    DECISIVE.contains(&name) || (begins() && !HARMLESS.contains(&name))
}
