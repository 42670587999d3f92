//! The `proofmark` command: parse, call, print, exit.
//!
//! A command names a thing and what is done with it, as in `decision approve`; docs/commands.md has the rule. Where what is:
//!
//! - One file for each command, named after it. A command with subcommands has a folder of the same name: `decision/`, `gate/`,
//!   `guard/`, `hook/`, `init/`, `mcp/`, `policy/`, `receipt/`, `setup/`, `store/`, `verify/`, `workflow/`. `project` has the options of
//!   `verify --dir`, `served_files` the files that `serve` reads again.
//! - What commands have in common: `options` (options with one meaning everywhere), `policy_option` (which action policy is
//!   taken), `presenting` (evidence), `logs` and `log_proof` (which logs are trusted, and
//!   proofs), `config` (the environment, read once), `exit` (the exit codes), `groups` (the groups of the help).
//! - What comes in: `input` (files and standard input, up to a limit), `document` and `source` (documents, and the line where one
//!   is wrong), `passphrase`, `host_file` (configurations of other programs), `shell_words`.
//! - What goes out: `out` (standard output and standard error), `error` (messages with their help), `paint` (colours, and text that
//!   is safe on a terminal), `listing` (tables), `report/` (the formats of results), `table` (tables of cases), `excerpt`,
//!   `decision_page`, `findings_page`, `signed`, `telling` (exports to a collector), `progress`, `in_order` (many results on several cores), `interrupt`, `new_files`.

mod absolute;
mod acp;
mod api_key;
mod completions;
mod config;
mod confirm;
mod decide;
mod decision;
mod decision_page;
mod doctor;
mod document;
mod error;
mod examples;
mod excerpt;
mod exit;
mod finding;
mod findings_page;
mod gate;
mod groups;
mod guard;
mod hook;
mod host_file;
mod host_process;
mod in_order;
mod init;
mod input;
mod interrupt;
mod key;
mod lint;
mod listing;
mod lock_environment;
mod log;
mod log_proof;
mod logs;
mod man;
mod mcp;
mod new_files;
mod options;
mod out;
mod paint;
mod passphrase;
mod policy;
mod policy_option;
mod presenting;
mod progress;
mod project;
mod quorum;
mod receipt;
mod remote;
mod report;
mod review;
mod reviewer;
mod run;
mod serve;
mod served_files;
mod session;
mod session_export;
mod setup;
mod shell_words;
mod signed;
mod source;
mod store;
mod suite;
mod table;
mod telling;
mod trust;
mod verify;
mod work;
mod workflow;
mod x402;

use std::env;
use std::io::ErrorKind;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context;
use clap::{ArgMatches, CommandFactory, FromArgMatches, Parser, Subcommand};

use crate::config::Config;
use crate::exit::Exit;
use crate::paint::ColorName;

/// Verify what agents did: run their work in a sandbox and issue signed receipts that anyone can check offline
#[derive(Parser)]
#[command(name = "proofmark", version, propagate_version = true, after_help = EXIT_CODES)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
    /// When to print with colours: `auto` (if standard output is a terminal), `always` or `never`
    #[arg(long, global = true, value_enum, default_value_t, value_name = "WHEN", hide_possible_values = true, help_heading = GLOBAL)]
    color: ColorName,
    /// Run as if started in this folder
    #[arg(short = 'C', global = true, value_name = "DIR", help_heading = GLOBAL)]
    working_folder: Option<PathBuf>,
}

/// Options that go with every command.
const GLOBAL: &str = "Global options";

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
  PROOFMARK_POLICY      The action policy of decide, serve and policy, where --policy is not given
                        [default: `policy` in the proofmark.yaml of the current folder]
  PROOFMARK_PASSPHRASE  The passphrase of encrypted keys, where --passphrase-file is not given
  PROOFMARK_UPSTREAM_TOKEN
                        The credential that `proofmark guard --upstream` sends, where --upstream-token-file is not given
  NO_COLOR, CLICOLOR_FORCE, FORCE_COLOR
                        Without --color: the first turns colours off, the others turn them on even outside a terminal

Example:
  proofmark verify examples/sort.json";

// A command without a documentation comment here shows the whole one of its arguments, of which the list has the first line.
#[derive(Subcommand)]
enum Command {
    Verify(verify::Verify),
    /// Measure what a suite sees
    #[command(subcommand)]
    Suite(suite::Suite),
    /// Judge responses to workflow steps by their contracts, and test workflows
    #[command(subcommand)]
    Workflow(workflow::Workflow),
    /// Check workflows and policies for mistakes before they run
    Lint(lint::Lint),
    /// Verify, show, list and export receipts
    #[command(subcommand)]
    Receipt(receipt::Receipt),
    Quorum(quorum::Quorum),
    Review(review::Review),
    /// Decide whether an action may execute now, and how to continue if not
    Decide(decide::Decide),
    /// List, show, approve and deny decisions
    #[command(subcommand)]
    Decision(decision::DecisionCommand),
    /// Test, explain, measure and compare action policies
    #[command(subcommand)]
    Policy(policy::Policy),
    /// Stand between an MCP host and an MCP server: every call is decided before the server gets it
    Guard(Box<guard::Guard>),
    /// Decide for a coding agent, before it uses a tool and before it stops
    Hook(Box<hook::Hook>),
    Gate(Box<gate::Gate>),
    /// Serve verification and decisions over HTTP and MCP
    Serve(Box<serve::Serve>),
    /// Run the verifications that servers accept with `proofmark serve --no-verify`
    Work(work::Work),
    /// Serve an agent over the Model Context Protocol, on standard input and output
    Mcp(mcp::Mcp),
    /// List, show and export the sessions that `proofmark guard` and `proofmark hook` recorded
    #[command(subcommand)]
    Session(session::Session),
    /// List and show runs of workflow steps
    #[command(subcommand)]
    Run(run::Run),
    /// List executions that differ from what was decided
    #[command(subcommand)]
    Finding(finding::Finding),
    /// Copy the store to another place, or verify all of it
    #[command(subcommand)]
    Store(store::Store),
    #[command(subcommand)]
    Log(log::Log),
    /// Build, list and remove the environments of `packages: lock`
    #[command(subcommand)]
    Env(lock_environment::Env),
    /// Evaluate jobs of the Agent Commerce Protocol (Virtuals)
    #[command(subcommand)]
    Acp(acp::Acp),
    /// Carry receipts in the headers of paid responses (x402)
    #[command(subcommand)]
    X402(x402::X402),
    /// Set up a project: what to verify, an action policy, and a CI recipe
    Init(init::Init),
    /// Create, show, import and list signing keys
    #[command(subcommand)]
    Key(key::Key),
    /// Add, list and remove the signers that you trust
    #[command(subcommand)]
    Trust(trust::Trust),
    /// List in an action policy who may approve
    #[command(subcommand)]
    Reviewer(reviewer::Reviewer),
    /// Add, list and revoke the API keys of `proofmark serve`
    #[command(subcommand)]
    ApiKey(api_key::ApiKey),
    Setup(Box<setup::Setup>),
    /// Report supported languages and isolation levels
    Doctor(doctor::Doctor),
    /// Write the examples that the documentation and the help use
    Examples(examples::Examples),
    /// Print a shell completion script
    Completions(completions::Completions),
    #[command(hide = true)]
    Man(man::Man),
}

/// The arguments of a hook alone.
#[derive(Parser)]
#[command(name = "proofmark", version, propagate_version = true, disable_help_subcommand = true)]
struct HookArguments {
    #[command(subcommand)]
    command: HookCommand,
}

#[derive(Subcommand)]
enum HookCommand {
    Hook(Box<hook::Hook>),
}

fn main() -> ExitCode {
    // A host waits for each hook. What this does not read is read by the parser of all commands, which takes longer to be made.
    if env::args_os().nth(1).is_some_and(|name| name == "hook")
        && let Ok(HookArguments { command: HookCommand::Hook(hook) }) = HookArguments::try_parse()
        && hook.is_event()
    {
        return exit(Config::from_environment().and_then(|config| hook.run(&config)));
    }
    let parsed = groups::in_help(Arguments::command()).try_get_matches();
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
    exit(result)
}

fn exit(result: anyhow::Result<Exit>) -> ExitCode {
    out::exit_code(result.unwrap_or_else(|error| out::report(&error))).into()
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
    paint::choose(arguments.color);
    if let Some(folder) = &arguments.working_folder {
        env::set_current_dir(folder).with_context(|| format!("run in the folder `{}`", folder.display()))?;
    }
    let config = Config::from_environment()?;
    match arguments.command {
        Command::Verify(command) => command.run(&config),
        Command::Suite(command) => command.run(),
        Command::Workflow(command) => command.run(&config),
        Command::Lint(command) => command.run(&config),
        Command::Receipt(command) => command.run(&config),
        Command::Decide(command) => command.run(&config),
        Command::Decision(command) => command.run(&config),
        Command::Policy(command) => command.run(&config),
        Command::Guard(command) => command.run(&config),
        Command::Hook(command) => command.run(&config),
        Command::Gate(command) => command.run(&config),
        Command::Serve(command) => command.run(&config),
        Command::Work(command) => command.run(&config),
        Command::Mcp(command) => command.run(&config),
        Command::Session(command) => command.run(&config),
        Command::Run(command) => command.run(&config),
        Command::Finding(command) => command.run(&config),
        Command::Quorum(command) => command.run(&config),
        Command::Review(command) => command.run(&config),
        Command::Store(command) => command.run(&config),
        Command::Log(command) => command.run(&config),
        Command::Env(command) => command.run(&config),
        Command::Acp(command) => command.run(&config),
        Command::X402(command) => command.run(&config),
        Command::Init(command) => command.run(),
        Command::Key(command) => command.run(&config),
        Command::Trust(command) => command.run(&config),
        Command::Reviewer(command) => command.run(&config),
        Command::ApiKey(command) => command.run(&config),
        Command::Setup(command) => command.run(&config),
        Command::Doctor(command) => command.run(&config),
        Command::Examples(command) => command.run(),
        Command::Completions(command) => command.run(),
        Command::Man(command) => command.run(),
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> ExitCode {
        ExitCode::from(exit as u8)
    }
}
