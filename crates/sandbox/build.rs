//! Compiles the init of a cell: a static program of a few kilobytes, without a
//! standard library, that the crate carries as bytes.

use std::env;
use std::path::PathBuf;
use std::process::{Command, ExitCode};

const SOURCE: &str = "init/main.rs";

/// What makes it a program that needs nothing of the file tree it starts in.
const OPTIONS: [&str; 11] = [
    "-Copt-level=s",
    "-Cpanic=abort",
    "-Coverflow-checks=off",
    "-Cdebug-assertions=off",
    "-Cdebuginfo=0",
    "-Cstrip=symbols",
    "-Crelocation-model=static",
    "-Ctarget-feature=+crt-static",
    "-Clink-arg=-nostartfiles",
    "-Clink-arg=-nostdlib",
    "-Clink-arg=-static",
];

fn main() -> ExitCode {
    println!("cargo::rerun-if-changed={SOURCE}");
    let variable = |name: &str| env::var_os(name).unwrap_or_default();
    let out = PathBuf::from(variable("OUT_DIR")).join("init");
    let mut compile = Command::new(variable("RUSTC"));
    compile.args(["--edition=2024", "--crate-name=init", "--crate-type=bin", "--target"]).arg(variable("TARGET"));
    if let Some(linker) = env::var_os("RUSTC_LINKER") {
        let mut option = std::ffi::OsString::from("-Clinker=");
        option.push(linker);
        compile.arg(option);
    }
    compile.args(OPTIONS).arg("-o").arg(out).arg(SOURCE);
    match compile.status() {
        Ok(status) if status.success() => ExitCode::SUCCESS,
        Ok(status) => failed(&format!("the compiler ended with {status}")),
        Err(error) => failed(&format!("start the compiler: {error}")),
    }
}

fn failed(why: &str) -> ExitCode {
    println!("cargo::error=failed to compile the init of a cell, `{SOURCE}`: {why}");
    ExitCode::FAILURE
}
