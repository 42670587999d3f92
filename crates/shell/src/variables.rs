//! Variables of the environment that decide what a command runs.

/// Variables that decide which programs run, or what they load.
const DECISIVE: [&str; 43] = [
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
    "NULLCMD",
    "READNULLCMD",
    "path",
    "cdpath",
    "fpath",
    "module_path",
    "TAR_OPTIONS",
    "ZIPOPT",
    "RIPGREP_CONFIG_PATH",
    "PYTEST_ADDOPTS",
    "PYTEST_PLUGINS",
    "GCONV_PATH",
    "COMPILER_PATH",
    "GREP_OPTIONS",
    "RSYNC_RSH",
    "BROWSER",
    "MAVEN_ARGS",
    "MAVEN_OPTS",
    "GRADLE_OPTS",
    "DOTNET_STARTUP_HOOKS",
    "OPENSSL_CONF",
];
/// Variables that are numbers for a shell: a value that is none is evaluated when it is set.
const NUMBERS: [&str; 30] = [
    "BASHPID",
    "BAUD",
    "COLUMNS",
    "DIRSTACKSIZE",
    "EGID",
    "ERRNO",
    "EUID",
    "FUNCNEST",
    "GID",
    "HISTCMD",
    "HISTFILESIZE",
    "HISTSIZE",
    "KEYTIMEOUT",
    "LINENO",
    "LINES",
    "LISTMAX",
    "LOGCHECK",
    "MAILCHECK",
    "OPTIND",
    "PERIOD",
    "PPID",
    "RANDOM",
    "REPORTTIME",
    "SAVEHIST",
    "SECONDS",
    "SHLVL",
    "SRANDOM",
    "TMOUT",
    "TTYIDLE",
    "UID",
];
/// Parameters of zsh that are tables of the shell: what names mean, where folders are, what it has set.
const TABLES: [&str; 23] = [
    "aliases",
    "builtins",
    "commands",
    "dirstack",
    "functions",
    "functrace",
    "galiases",
    "history",
    "historywords",
    "jobdirs",
    "jobstates",
    "jobtexts",
    "keymaps",
    "modules",
    "nameddirs",
    "options",
    "parameters",
    "patchars",
    "reswords",
    "saliases",
    "userdirs",
    "usergroups",
    "widgets",
];
const DECISIVE_BEGINNINGS: [&str; 23] = [
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
    "dis_",
    "functions_",
    "npm_config_",
    "NPM_CONFIG_",
    "BASH_",
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
    DECISIVE.contains(&name) || TABLES.contains(&name) || (begins() && !HARMLESS.contains(&name))
}

/// Whether setting a variable to this value may evaluate it. `None` is a value that is not known.
pub(crate) fn evaluates_value(name: &str, value: Option<&str>) -> bool {
    is_evaluated(name) && !value.is_some_and(|value| value.chars().all(|c| c.is_ascii_digit()))
}

/// Whether a variable is a number for a shell.
pub(crate) fn is_evaluated(name: &str) -> bool {
    NUMBERS.contains(&name) || name.starts_with("TRY_BLOCK_")
}
