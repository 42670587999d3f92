//! GNU bash, with the programs of the host it may call.

use super::Toolchain;

/// The libraries of interpreters in `/usr/bin`, which scripts call too.
const PROBE: &str = "shopt -s nullglob
printf '%s\\n' ${BASH_VERSINFO[0]}.${BASH_VERSINFO[1]}.${BASH_VERSINFO[2]} '' /usr/lib/python3.[0-9]* /usr/lib/ruby/[0-9]*";

pub(super) static TOOLCHAIN: Toolchain = Toolchain {
    name: "bash",
    version_parts: 2,
    prefixes: &["bash"],
    executables: &["bash"],
    versions: &[],
    minimum: None,
    package: "bash",
    probe: &["-c", PROBE],
    needs: &["/usr/bin", "/bin", "/etc/alternatives", "/usr/share/nodejs"],
    has_own_library: false,
    harness: None,
    forks: false,
    trial: None,
    modules: &[],
    whole: &["--noprofile", "--norc"],
    extension: "",
    variables: &[],
    project_variables: &[],
    threads: 0,
    reserved_bytes: 0,
    memory_exception: None,
    memory_signals: &[],
    memory_words: &[],
    packages: None,
};
