//! Compiles the init of a cell, its launcher and the addon of Node.js: programs and a library of a few kilobytes, without a
//! standard library, that the crate carries as bytes.

use std::env;
use std::path::PathBuf;
use std::process::{Command, ExitCode};

/// Where they are, each with the name of its file in the output.
const FOLDER: &str = "init";
const OUTPUTS: [(&str, &str, &[&str]); 3] =
    [("init/main.rs", "init", PROGRAM), ("init/launcher.rs", "launcher", PROGRAM), ("init/addon.rs", "addon", LIBRARY)];

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

/// What makes a program that needs nothing of the file tree it starts in.
const PROGRAM: &[&str] =
    &["--crate-type=bin", "-Crelocation-model=static", "-Ctarget-feature=+crt-static", "-Clink-arg=-static"];

/// What makes a library that needs nothing but what its process has loaded.
const LIBRARY: &[&str] = &["--crate-type=cdylib", "-Ctarget-feature=-crt-static"];

fn main() -> ExitCode {
    println!("cargo::rerun-if-changed={FOLDER}");
    for (source, name, kind) in OUTPUTS {
        if let Err(why) = compile(source, name, kind) {
            println!("cargo::error=failed to compile a program of the cell, `{source}`: {why}");
            return ExitCode::FAILURE;
        }
    }
    ExitCode::SUCCESS
}

fn compile(source: &str, name: &str, kind: &[&str]) -> Result<(), String> {
    let variable = |name: &str| env::var_os(name).unwrap_or_default();
    let out = PathBuf::from(variable("OUT_DIR")).join(name);
    let mut compile = Command::new(variable("RUSTC"));
    compile.args(["--edition=2024", "--crate-name", name, "--target"]).arg(variable("TARGET"));
    if let Some(linker) = env::var_os("RUSTC_LINKER") {
        let mut option = std::ffi::OsString::from("-Clinker=");
        option.push(linker);
        compile.arg(option);
    }
    compile.args(OPTIONS).args(kind).arg("-o").arg(out).arg(source);
    match compile.status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("the compiler ended with {status}")),
        Err(error) => Err(format!("start the compiler: {error}")),
    }
}
