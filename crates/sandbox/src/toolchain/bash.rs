//! GNU bash, with the programs of the host it may call.

use super::Toolchain;

pub(super) static TOOLCHAIN: Toolchain = Toolchain {
    name: "bash",
    version_parts: 2,
    prefixes: &["bash"],
    executables: &["bash"],
    versions: &[],
    minimum: None,
    package: "bash",
    probe: &["-c", "echo ${BASH_VERSINFO[0]}.${BASH_VERSINFO[1]}.${BASH_VERSINFO[2]}"],
    needs: &["/usr/bin", "/bin", "/etc/alternatives"],
    harness: None,
    forks: false,
    whole: &["--noprofile", "--norc"],
    extension: "",
    variables: &[],
    project_variables: &[],
    threads: 0,
    reserved_bytes: 0,
    memory_exception: None,
    memory_signals: &[],
    packages: None,
};
