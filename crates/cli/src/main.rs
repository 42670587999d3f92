//! The `proofmark` command: parse, call, print, exit.

mod accept;
mod acp;
mod approve;
mod batch;
mod completions;
mod config;
mod decide;
mod doctor;
mod document;
mod exit;
mod findings;
mod input;
mod key;
mod lint;
mod mcp;
mod out;
mod paint;
mod policy;
mod receipt;
mod runs;
mod serve;
mod summary;
mod test;
mod verify;
mod x402;

use std::io::ErrorKind;
use std::process::ExitCode;

use clap::{Parser, Subcommand};

use crate::config::Config;
use crate::exit::Exit;

/// Proof of what agents did: verify work in a sandbox and strike signed receipts
/// that anyone can check offline.
#[derive(Parser)]
#[command(name = "proofmark", version, propagate_version = true, after_help = EXIT_CODES)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

const EXIT_CODES: &str = "Exit codes:
  0  yes: pass, valid, accepted, allowed
  1  no: fail, partial, invalid, untrusted, rejected, blocked, findings
  2  no answer: error verdict, undecidable, malformed input, missing isolation, wrong usage

Example:
  proofmark verify examples/sort.json";

#[derive(Subcommand)]
enum Command {
    /// Run submissions against their tests and strike a receipt of each
    Verify(verify::Verify),
    /// Judge an agent's response to a workflow step by the step's contract
    Accept(accept::Accept),
    /// Decide whether an action may execute now, and how to go on if not
    Decide(decide::Decide),
    /// Approve the action a decision receipt is about, as a human reviewer
    Approve(approve::Approve),
    /// Serve decisions over HTTP
    Serve(serve::Serve),
    /// Serve an agent over the Model Context Protocol
    Mcp(mcp::Mcp),
    /// Make an API key for the server
    ApiKey(serve::ApiKey),
    /// List executions that were not as decided
    Findings(serve::Findings),
    /// Test, explain and measure policies of boundaries
    #[command(subcommand)]
    Policy(policy::Policy),
    /// Find what is wrong with workflows and policies before they run
    Lint(lint::Lint),
    /// Run a table of cases against workflows
    Test(test::Test),
    /// List and show runs of workflow steps
    #[command(subcommand)]
    Runs(runs::Runs),
    /// Check, show, list and export receipts
    #[command(subcommand)]
    Receipt(receipt::Receipt),
    /// Answer evaluators of the Agent Commerce Protocol (Virtuals)
    #[command(subcommand)]
    Acp(acp::Acp),
    /// Put receipts into the headers of paid answers (x402), and take them out
    #[command(subcommand)]
    X402(x402::X402),
    /// Make, show, import and list signing keys
    #[command(subcommand)]
    Key(key::Key),
    /// Say what this host can run and isolate, and what is missing
    Doctor(doctor::Doctor),
    /// Print a completion script for a shell
    Completions(completions::Completions),
}

fn main() -> ExitCode {
    let done = match Arguments::try_parse() {
        Ok(arguments) => run(arguments),
        Err(help) => Ok(print(&help)),
    };
    out::settle(done.unwrap_or_else(|error| exit::report(&error))).into()
}

/// Prints the help, the version or what is wrong with the arguments.
fn print(help: &clap::Error) -> Exit {
    match (help.print(), help.exit_code()) {
        (Err(error), _) if error.kind() != ErrorKind::BrokenPipe => {
            out::unwritten(&anyhow::Error::new(error).context("write the help"));
            Exit::NoAnswer
        }
        (_, 0) => Exit::Yes,
        (_, _) => Exit::NoAnswer,
    }
}

fn run(arguments: Arguments) -> anyhow::Result<Exit> {
    let config = Config::from_environment();
    match arguments.command {
        Command::Verify(command) => command.run(&config),
        Command::Accept(command) => command.run(&config),
        Command::Decide(command) => command.run(&config),
        Command::Approve(command) => command.run(&config),
        Command::Serve(command) => command.run(&config),
        Command::Mcp(command) => command.run(&config),
        Command::ApiKey(command) => command.run(),
        Command::Findings(command) => command.run(&config),
        Command::Policy(command) => command.run(),
        Command::Lint(command) => command.run(),
        Command::Test(command) => command.run(),
        Command::Runs(command) => command.run(&config),
        Command::Receipt(command) => command.run(&config),
        Command::Acp(command) => command.run(&config),
        Command::X402(command) => command.run(&config),
        Command::Key(command) => command.run(&config),
        Command::Doctor(command) => command.run(&config),
        Command::Completions(command) => command.run(),
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> ExitCode {
        ExitCode::from(exit as u8)
    }
}
