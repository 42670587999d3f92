//! TypeScript, as Node.js runs it: the types are taken out and not checked.

use super::Toolchain;
use super::node::{HARNESS, MODULES, NODE, PATH_AS_GIVEN, QUIET, TRIAL};

pub(super) static TOOLCHAIN: Toolchain = Toolchain {
    // `module.stripTypeScriptTypes`.
    minimum: Some((22, 13)),
    package: "Node.js 22.13 or later (for submissions in TypeScript; the test runner of a project, such as vitest, does not need it)",
    harness: Some(&[QUIET, MODULES, "-e", HARNESS, "typescript"]),
    whole: &[QUIET, PATH_AS_GIVEN, "--experimental-strip-types"],
    extension: ".ts",
    trial: Some(TRIAL),
    ..NODE
};
