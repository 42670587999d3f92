//! Compiles what runs in a cell beside a submission, without a standard library and a few kilobytes each; the crate carries
//! it as bytes: the init and the launcher, static programs, and the modules that a warm Python and a warm Node.js load.

use std::env;
use std::path::PathBuf;
use std::process::{Command, ExitCode};

/// The folder of their sources.
const FOLDER: &str = "cell";

/// Each part, `<name>.rs` in the folder and `<name>` in the output, and what it is compiled with besides [`OPTIONS`].
const PARTS: [(&str, [&str; 4]); 4] = [("init", PROGRAM), ("launcher", PROGRAM), ("python", MODULE), ("node", MODULE)];

/// What every part is compiled with.
const OPTIONS: [&str; 8] = [
    "-Copt-level=s",
    "-Cpanic=abort",
    "-Coverflow-checks=off",
    "-Cdebug-assertions=off",
    "-Cdebuginfo=0",
    "-Cstrip=symbols",
    "-Clink-arg=-nostartfiles",
    "-Clink-arg=-nostdlib",
];

/// A program that needs nothing of the file tree it starts in.
const PROGRAM: [&str; 4] =
    ["--crate-type=bin", "-Crelocation-model=static", "-Ctarget-feature=+crt-static", "-Clink-arg=-static"];

/// A module that finds what it calls in the process that loads it, at once and not in every fork.
const MODULE: [&str; 4] =
    ["--crate-type=cdylib", "-Crelocation-model=pic", "-Ctarget-feature=-crt-static", "-Clink-arg=-Wl,-z,now"];

fn main() -> ExitCode {
    println!("cargo::rerun-if-changed={FOLDER}");
    for (name, options) in PARTS {
        if let Err(why) = compile(name, &options) {
            println!("cargo::error=failed to compile `{FOLDER}/{name}.rs`: {why}");
            return ExitCode::FAILURE;
        }
    }
    ExitCode::SUCCESS
}

fn compile(name: &str, options: &[&str]) -> Result<(), String> {
    let variable = |name: &str| env::var_os(name).unwrap_or_default();
    let out = PathBuf::from(variable("OUT_DIR")).join(name);
    let mut compile = Command::new(variable("RUSTC"));
    compile.args(["--edition=2024", "--crate-name", name, "--target"]).arg(variable("TARGET"));
    if let Some(linker) = env::var_os("RUSTC_LINKER") {
        let mut option = std::ffi::OsString::from("-Clinker=");
        option.push(linker);
        compile.arg(option);
    }
    compile.args(OPTIONS).args(options).arg("-o").arg(out).arg(format!("{FOLDER}/{name}.rs"));
    match compile.status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("the compiler ended with {status}")),
        Err(error) => Err(format!("start the compiler: {error}")),
    }
}
