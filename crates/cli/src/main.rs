//! The `proofmark` command: parse, call, print, exit.

mod absolute;
mod accept;
mod acp;
mod api_key;
mod approve;
mod completions;
mod config;
mod decide;
mod decision_page;
mod decisions;
mod deny;
mod doctor;
mod document;
mod error;
mod examples;
mod excerpt;
mod exit;
mod gate;
mod guard;
mod hook;
mod host_file;
mod in_order;
mod init;
mod input;
mod interrupt;
mod key;
mod lint;
mod mcp;
mod new_files;
mod options;
mod out;
mod paint;
mod passphrase;
mod policy;
mod progress;
mod project;
mod receipt;
mod report;
mod runs;
mod serve;
mod served_files;
mod sessions;
mod shell_words;
mod signed;
mod source;
mod store;
mod table;
mod trust;
mod verify;
mod work;
mod workflow;
mod x402;

use std::env;
use std::ffi::OsString;
use std::io::ErrorKind;
use std::process::ExitCode;

use clap::{ArgMatches, CommandFactory, FromArgMatches, Parser, Subcommand};

use crate::config::Config;
use crate::exit::Exit;

/// Verify what agents did: run their work in a sandbox and issue signed receipts that anyone can check offline
#[derive(Parser)]
#[command(name = "proofmark", version, propagate_version = true, after_help = EXIT_CODES)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

const EXIT_CODES: &str = "Exit codes:
  0  pass, valid, accepted, allowed
  1  fail, partial, invalid, untrusted, rejected, blocked, findings
  2  no result: error verdict, undecidable, malformed input, no isolation, wrong usage
  130  ended by Ctrl-C

Environment:
  PROOFMARK_HOME        The folder of keys, the trust store and the store
                        [default: proofmark in $XDG_DATA_HOME, or in ~/.local/share]
  PROOFMARK_STORE       The store: a file, or the URL of a PostgreSQL database, where --store is not given
                        [default: proofmark.db in $PROOFMARK_HOME]
  PROOFMARK_PASSPHRASE  The passphrase of encrypted keys, where --passphrase-file is not given
  PROOFMARK_UPSTREAM_TOKEN
                        The credential that `proofmark guard --upstream` sends, where --upstream-token-file is not given
  NO_COLOR              Print without colours

Example:
  proofmark verify examples/sort.json";

// A command without a documentation comment here shows the whole one of its arguments, of which the list has the first line.
#[derive(Subcommand)]
enum Command {
    /// Set up a project: what to verify, an action policy, and a CI recipe
    Init(init::Init),
    Verify(verify::Verify),
    /// Check an agent's response to a workflow step against the step's contract
    Accept(accept::Accept),
    /// Decide whether an action may execute now, and how to continue if not
    Decide(decide::Decide),
    /// Approve the action of a decision, as a human reviewer
    Approve(approve::Approve),
    /// Deny the action of a stored decision, as a human reviewer
    Deny(deny::Deny),
    /// List and show decisions
    #[command(subcommand)]
    Decisions(decisions::Decisions),
    /// Serve verification and decisions over HTTP and MCP
    Serve(serve::Serve),
    /// Run the verifications that servers accept with `proofmark serve --no-verify`
    Work(work::Work),
    /// Serve an agent over the Model Context Protocol, on standard input and output
    Mcp(mcp::Mcp),
    /// Stand between an MCP host and an MCP server: every call is decided before the server gets it
    Guard(Box<guard::Guard>),
    /// Have a coding agent's host ask before each tool and each stop
    Hook(Box<hook::Hook>),
    Gate(Box<gate::Gate>),
    /// List, show and export the sessions that `proofmark guard` and `proofmark hook` recorded
    #[command(subcommand)]
    Sessions(sessions::Sessions),
    /// Add, list and revoke the API keys of `proofmark serve`
    ApiKey(api_key::ApiKey),
    /// List executions that differ from what was decided
    Findings(serve::Findings),
    /// Test, explain, measure and compare action policies
    #[command(subcommand)]
    Policy(policy::Policy),
    /// Test workflows
    #[command(subcommand)]
    Workflow(workflow::Workflow),
    Lint(lint::Lint),
    /// List and show runs of workflow steps
    #[command(subcommand)]
    Runs(runs::Runs),
    /// Verify, show, list and export receipts
    #[command(subcommand)]
    Receipt(receipt::Receipt),
    /// Copy the store to another place, or verify all of it
    #[command(subcommand)]
    Store(store::Store),
    /// Evaluate jobs of the Agent Commerce Protocol (Virtuals)
    #[command(subcommand)]
    Acp(acp::Acp),
    /// Carry receipts in the headers of paid responses (x402)
    #[command(subcommand)]
    X402(x402::X402),
    /// Create, show, import and list signing keys
    #[command(subcommand)]
    Key(key::Key),
    /// Write the examples that the documentation and the help use
    Examples(examples::Examples),
    /// Add, list and remove the signers that you trust
    #[command(subcommand)]
    Trust(trust::Trust),
    /// Report supported languages and isolation levels
    Doctor(doctor::Doctor),
    /// Print a shell completion script
    Completions(completions::Completions),
}

fn main() -> ExitCode {
    let parsed = Arguments::command().try_get_matches_from(current_spelling(env::args_os()));
    // Each command has its own `--json`, but errors are printed here, so the form is taken from the matches.
    let result = match parsed.and_then(|matches| Ok((wants_json(&matches), Arguments::from_arg_matches(&matches)?))) {
        Ok((json, arguments)) => {
            if json {
                out::set_json();
            }
            run(arguments)
        }
        Err(help) => Ok(print(&help)),
    };
    out::exit_code(result.unwrap_or_else(|error| out::report(&error))).into()
}

/// The arguments, with `proofmark test` as `proofmark workflow test`. A hidden subcommand would show in completion
/// scripts.
fn current_spelling(arguments: impl Iterator<Item = OsString>) -> Vec<OsString> {
    let mut arguments: Vec<OsString> = arguments.collect();
    if arguments.get(1).is_some_and(|command| command == "test") {
        arguments.insert(1, "workflow".into());
    }
    arguments
}

/// Whether the command, or the subcommand, is to print JSON.
fn wants_json(matches: &ArgMatches) -> bool {
    // An error means that this command has no such option.
    let json = matches.try_get_one::<bool>("json").ok().flatten().copied();
    let format = matches.try_get_one::<report::Format>("format").ok().flatten().copied();
    json.unwrap_or(false)
        || format == Some(report::Format::Json)
        || matches.subcommand().is_some_and(|(_, inner)| wants_json(inner))
}

/// Prints the help, the version or an error in the arguments.
fn print(help: &clap::Error) -> Exit {
    match (help.print(), help.exit_code()) {
        // A reader that closes the pipe, as `head` does, has seen enough: the exit code stays that of the help.
        (Err(error), _) if error.kind() != ErrorKind::BrokenPipe => {
            out::report_incomplete(&anyhow::Error::new(error).context("write the help"));
            Exit::NoAnswer
        }
        (_, 0) => Exit::Yes,
        (_, _) => Exit::NoAnswer,
    }
}

fn run(arguments: Arguments) -> anyhow::Result<Exit> {
    let config = Config::from_environment();
    match arguments.command {
        Command::Init(command) => command.run(),
        Command::Examples(command) => command.run(),
        Command::Verify(command) => command.run(&config),
        Command::Accept(command) => command.run(&config),
        Command::Decide(command) => command.run(&config),
        Command::Approve(command) => command.run(&config),
        Command::Deny(command) => command.run(&config),
        Command::Decisions(command) => command.run(&config),
        Command::Serve(command) => command.run(&config),
        Command::Work(command) => command.run(&config),
        Command::Mcp(command) => command.run(&config),
        Command::Guard(command) => command.run(&config),
        Command::Hook(command) => command.run(&config),
        Command::Gate(command) => command.run(&config),
        Command::Sessions(command) => command.run(&config),
        Command::ApiKey(command) => command.run(),
        Command::Findings(command) => command.run(&config),
        Command::Policy(command) => command.run(&config),
        Command::Workflow(command) => command.run(),
        Command::Lint(command) => command.run(),
        Command::Runs(command) => command.run(&config),
        Command::Receipt(command) => command.run(&config),
        Command::Store(command) => command.run(&config),
        Command::Acp(command) => command.run(&config),
        Command::X402(command) => command.run(&config),
        Command::Key(command) => command.run(&config),
        Command::Trust(command) => command.run(&config),
        Command::Doctor(command) => command.run(&config),
        Command::Completions(command) => command.run(),
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> ExitCode {
        ExitCode::from(exit as u8)
    }
}
