//! Node.js.

use super::{Toolchain, Trial};

pub(super) const QUIET: &str = "--no-warnings";

/// Lets the harness load ES modules under a name of its own. Submissions run without a flag as well.
pub(super) const MODULES: &str = "--experimental-vm-modules";

pub(super) const HARNESS: &str = include_str!("node.js");

/// Else node looks for what a file without a name is called.
pub(super) const PATH_AS_GIVEN: &str = "--preserve-symlinks-main";

/// Without threads of V8, which a fork would not have: the pool has one even so, and 0 stands for as many as there are cores.
/// Large pages come with a fork; small ones of a file are left out, and a short case spends a quarter of its time reading them.
const WARM: &[&str] = &["--single-threaded", "--v8-pool-size=1", "--use-largepages=silent"];

static ADDON: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/node"));

/// Uses every part of node that has threads or an event loop, makes V8 collect garbage and compile, and ends in each way.
pub(super) const TRIAL: Trial = Trial {
    arguments: WARM,
    // Where node looks whether there are large pages.
    shown: &["/sys/kernel/mm/transparent_hugepage/enabled"],
    addon_path: "/proofmark.node",
    addon: ADDON,
    submission: include_str!("node_trial.js"),
    expressions: &[
        ("works()", Some("V[\"timer\",\"immediate\",\"file\",\"deflated\",\"module\",\"import\",200000,899997]\n")),
        ("failsLater()", None),
        ("waitsForEver()", None),
        ("process.exit(0)", None),
        ("process.abort()", None),
    ],
};

pub(super) static TOOLCHAIN: Toolchain = NODE;

pub(super) const NODE: Toolchain = Toolchain {
    name: "node",
    version_parts: 1,
    prefixes: &["nodejs", "node", "javascript"],
    executables: &["node", "nodejs"],
    versions: &[],
    minimum: None,
    package: "nodejs",
    probe: &["-p", "process.versions.node+'\\n'+process.execPath"],
    needs: &["/usr/share/nodejs"],
    has_own_library: true,
    harness: Some(&[QUIET, MODULES, "-e", HARNESS]),
    forks: true,
    trial: Some(TRIAL),
    modules: &[],
    whole: &[QUIET, PATH_AS_GIVEN],
    extension: "",
    // A file that is denied is not absent: node gives up over a configuration it may not read.
    variables: &["UV_THREADPOOL_SIZE=1", "OPENSSL_CONF=/dev/null"],
    project_variables: &[],
    threads: 16,
    // V8 reserves far more than it uses; its real use is what the supervisor adds up.
    reserved_bytes: 1 << 30,
    memory_exception: None,
    // V8 aborts when its heap is full, and says so in one of several ways; `process.abort()` writes a trace alone.
    memory_signals: &[libc::SIGABRT, libc::SIGTRAP],
    memory_words: &["FATAL ERROR", "Fatal ", "out of memory", "bad_alloc", "Check failed"],
    packages: None,
};
