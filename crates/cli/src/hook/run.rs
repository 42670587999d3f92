//! Answers one event of a host.
//!
//! A host starts this command for each event, with the event on standard input. What the host would take for consent (silence,
//! a failure, an answer that is late) is only given where it is meant.

use std::io::{Read, Write, stdin};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::thread;
use std::time::Duration;

use anyhow::{Context, bail};
use clap::{Args, Parser};
use proofmark_agents::{HookEvent, StepToJudge};
use proofmark_decider::{
    Decider, HookRuling, HookSettings, Hooks, Owner, StepAt, StopRuling, Taken, followed, not_executed, session_of,
};
use proofmark_hosts::{Answer, Event, Host, MAX_INPUT_BYTES, Message, Occasion, Stop};
use proofmark_otlp::OtlpEndpoint;
use proofmark_sandbox::hide_from_account;
use proofmark_store::{Store, Tenant};

use super::transcript;
use crate::config::{Config, users_own_home};
use crate::document;
use crate::error::{self, with_help, wrong_arguments};
use crate::exit::Exit;

use crate::guard::{KeepName, check_name};
use crate::host_process;
use crate::lint;
use crate::options::{Recording, Signing, StoreAt, Trusting, duration};
use crate::out;
use crate::remote::{OF_A_DECIDER, Remote};
use crate::telling::{ToldLater, tell_later};

#[derive(Args)]
#[command(mut_arg("server", |server| server.conflicts_with_all(OF_A_DECIDER)))]
pub(super) struct Run {
    /// The host that asks
    #[arg(required = true, value_parser = super::hosts())]
    host: Option<&'static Host>,
    /// The folder of keys, the trust store and the store [default: $PROOFMARK_HOME, as for other commands]
    #[arg(long, value_name = "DIR")]
    home: Option<PathBuf>,
    /// Use the folder of keys and the store below the user's home folder, wherever variables point
    #[arg(long, conflicts_with = "home")]
    own_home: bool,
    /// The action policy
    // The policy is required, and never taken from the project or a variable: the agent that is asked for could write or set that.
    #[arg(long, value_name = "FILE", required_unless_present = "server")]
    policy: Option<PathBuf>,
    /// The name of the session [default: the host's name and that of its session]. `per-launch` is one session for all guards and
    /// hooks that the same start of the host has started
    #[arg(long, value_name = "NAME")]
    session: Option<String>,
    /// The agent, as the policy's facts name it
    #[arg(long, value_name = "ID")]
    agent: Option<String>,
    /// The environment, as the policy's facts name it
    #[arg(long, value_name = "NAME")]
    environment: Option<String>,
    /// How much of a result is recorded: its digest, also how it begins, or all of it
    #[arg(long, value_enum, default_value = "excerpt", value_name = "HOW")]
    keep: KeepName,
    /// Judge a step of this workflow before the agent stops
    #[arg(long, value_name = "FILE", requires = "step")]
    workflow: Option<PathBuf>,
    /// The step that the agent is at
    #[arg(long, value_name = "ID", requires = "workflow")]
    step: Option<String>,
    /// The workflow policy, which the workflow must follow; a server that decides has its own
    #[arg(long, value_name = "FILE", requires = "workflow", conflicts_with = "server")]
    workflow_policy: Option<PathBuf>,
    /// How long a decision may take; after that, the call is not allowed
    #[arg(long, default_value = "2s", value_parser = deadline, value_name = "DURATION")]
    deadline: Duration,
    /// Export a span of each call to this OpenTelemetry collector, over OTLP/HTTP, after the answer; a server that decides has its own
    #[arg(long, value_name = "URL", conflicts_with = "server")]
    otlp: Option<OtlpEndpoint>,
    #[command(flatten)]
    remote: Remote,
    #[command(flatten)]
    signing: Signing,
    #[command(flatten)]
    trusting: Trusting,
    #[command(flatten)]
    store: StoreAt,
    #[command(flatten)]
    recording: Recording,
}

/// How much longer a stop may take to be judged.
const STOP_DEADLINE: Duration = Duration::from_secs(40);
/// How much longer a result may take to be recorded: what is not recorded counts as a call whose end is unknown.
const RECORD_DEADLINE: Duration = Duration::from_secs(20);
/// How long an attempt that comes too early is waited for.
const MAX_PATIENCE: Duration = Duration::from_secs(20);
/// The longest deadline. Hosts wait for a minute or less.
const MAX_DEADLINE: Duration = Duration::from_secs(50);

fn deadline(text: &str) -> Result<Duration, String> {
    duration(text, MAX_DEADLINE)
}

/// What is known of the event while it is answered.
struct Asked {
    about: Mutex<About>,
    /// Set when the answer is late.
    stop: Arc<AtomicBool>,
}

/// What an answer is about.
#[derive(Clone, Copy)]
struct About {
    host: &'static Host,
    occasion: Occasion,
    /// Whether it is a stop that was refused before.
    again: bool,
}

/// The arguments of a hook, as a host gives them.
#[derive(Parser)]
#[command(name = "proofmark hook", no_binary_name = true)]
struct Given {
    #[command(flatten)]
    _run: Run,
}

impl Run {
    /// Whether a host can give these arguments.
    pub(super) fn check(arguments: &[String]) -> anyhow::Result<()> {
        Given::try_parse_from(arguments).map(drop).map_err(|error| wrong_arguments("proofmark hook", &error))
    }

    pub(super) fn run(self, config: &Config) -> anyhow::Result<Exit> {
        // The agent runs as the same account.
        hide_from_account().context("hide the memory of this process")?;
        let host = self.host()?;
        let home = self.home.clone().or_else(|| self.own_home.then(users_own_home));
        let config = &config.for_hook(home);
        // A call is not refused because a collector cannot be reached.
        let told = self.otlp.as_ref().and_then(|collector| {
            tell_later(collector)
                .inspect_err(|error| {
                    out::report(error);
                })
                .ok()
        });
        // What cannot be read may be a call.
        let about = About { host, occasion: Occasion::BeforeTool, again: false };
        let asked = Asked { about: Mutex::new(about), stop: Arc::default() };
        let (answered, answer) = mpsc::channel();
        thread::scope(|scope| {
            let working = thread::Builder::new().name("answer".to_owned()).spawn_scoped(scope, || {
                // The other side waits, unless it was too late.
                drop(answered.send(self.answer(host, config, &asked)));
            });
            let waited = working.map(|_| match answer.recv_timeout(self.deadline) {
                // No call is let through by waiting for it.
                Err(mpsc::RecvTimeoutError::Timeout) if asked.is_stop() => answer.recv_timeout(STOP_DEADLINE),
                Err(mpsc::RecvTimeoutError::Timeout) if asked.is_record() => answer.recv_timeout(RECORD_DEADLINE),
                waited => waited,
            });
            let answer = match waited {
                Ok(Ok(answer)) => {
                    let exit = print(&answer)?;
                    // The host has its answer.
                    if let Some(Err(error)) = told.map(ToldLater::hand_over) {
                        out::report(&error);
                    }
                    return Ok(exit);
                }
                Ok(Err(mpsc::RecvTimeoutError::Timeout)) => asked.late(self.deadline),
                Ok(Err(mpsc::RecvTimeoutError::Disconnected)) | Err(_) => asked.failed(),
            };
            // What still works must not keep the host waiting.
            let exit = print(&answer).map_or(Exit::NoAnswer, out::exit_code);
            std::process::exit(exit as i32)
        })
    }

    /// The answer to the event on standard input.
    fn answer(&self, host: &'static Host, config: &Config, asked: &Asked) -> Answer {
        let mut input = Vec::new();
        let limit = MAX_INPUT_BYTES as u64 + 1;
        let message = match stdin().lock().take(limit).read_to_end(&mut input).context("read standard input") {
            Ok(_) => host.read(&input).map_err(anyhow::Error::new),
            Err(error) => Err(error),
        };
        let message = match message {
            Ok(message) => message,
            Err(error) => return host.answers.deny(Occasion::BeforeTool, &because(&error)),
        };
        let (host, occasion) = (message.told_by.and_then(Host::named).unwrap_or(host), message.occasion);
        let again = matches!(&message.event, Event::Stop(stop) if stop.again);
        let about = About { host, occasion, again };
        asked.is_about(about);
        match &message.event {
            Event::Before(_) => match self.ruled(config, message, &input, asked) {
                Ok(Some(HookRuling::Allowed)) => host.answers.allow(),
                Ok(Some(HookRuling::Blocked(reason))) => host.answers.deny(occasion, &reason),
                Ok(None) => host.answers.deny(occasion, &not_executed("The action was not decided on.")),
                Err(error) => host.answers.deny(occasion, &because(&error)),
            },
            Event::After(..) | Event::Asked(_) => {
                let what =
                    if matches!(message.event, Event::Asked(_)) { "record a request" } else { "record a result" };
                if let Err(error) = self.ruled(config, message, &input, asked) {
                    out::report(&error.context(what));
                }
                host.answers.pass(occasion, None)
            }
            Event::Stop(stop) => match self.stop(config, &message, stop, &input, asked) {
                Ok(None | Some(StopRuling::Judged)) => host.answers.pass(occasion, None),
                Ok(Some(StopRuling::Accepted(note) | StopRuling::Over(note))) => {
                    host.answers.pass(occasion, Some(&note))
                }
                Ok(Some(StopRuling::Refused(prompt))) => host.answers.go_on(occasion, &prompt),
                Err(error) => {
                    let help = error::help(&error).map_or_else(String::new, |help| format!(" ({help})"));
                    about.not_judged(&format!("failed to {}{help}.", error::message(&error)))
                }
            },
            Event::Other => host.answers.pass(occasion, None),
        }
    }

    /// What is ruled on an event about a call, by the server that decides or by this process.
    fn ruled(
        &self,
        config: &Config,
        mut message: Message,
        input: &[u8],
        asked: &Asked,
    ) -> anyhow::Result<Option<HookRuling>> {
        let host = asked.about().host;
        let project = project(host, &message);
        let transcript = message.transcript.clone();
        let record = || transcript::record(host, transcript.as_deref());
        let purpose = match &mut message.event {
            Event::Before(call) => {
                call.paths = call.paths.take().and_then(|paths| followed(&paths, project.as_deref()));
                Purpose::Decide
            }
            Event::After(..) | Event::Stop(_) | Event::Asked(_) | Event::Other => Purpose::Record,
        };
        let Some(server) = self.remote.server_of_hook(config)? else {
            return match self.hooks(config, &message, purpose, asked)?.take(&message, &|| Some(record()))? {
                Taken::Ruled(ruling) => Ok(Some(ruling)),
                Taken::Recorded => Ok(None),
                Taken::NeedsRecord => bail!("decide on the call: the host's own record is missing"),
            };
        };
        let event = HookEvent {
            project,
            paths: if let Event::Before(call) = message.event { call.paths } else { None },
            ..self.told(input)?
        };
        let within = match purpose {
            Purpose::Decide => self.deadline,
            Purpose::Record => RECORD_DEADLINE,
        };
        Ok(server.hook(event, &record, within)?)
    }

    /// What a server that decides is told of every event.
    fn told(&self, input: &[u8]) -> anyhow::Result<HookEvent> {
        Ok(HookEvent {
            host: self.host()?.name.to_owned(),
            event: String::from_utf8(input.to_vec()).context("read the event: it is not UTF-8")?,
            session: self.session_name()?,
            agent: self.agent.clone(),
            environment: self.environment.clone(),
            policy: self.remote.policy_name.clone(),
            project: None,
            process: host_process::of_parent(),
            paths: None,
            record: None,
            stop: None,
        })
    }

    /// Judges the step that the agent is at; none where no step was named.
    fn stop(
        &self,
        config: &Config,
        message: &Message,
        stop: &Stop,
        input: &[u8],
        asked: &Asked,
    ) -> anyhow::Result<Option<StopRuling>> {
        let (Some(file), Some(step)) = (&self.workflow, &self.step) else { return Ok(None) };
        let policy = self.workflow_policy.as_deref().map(document::workflow_policy).transpose()?;
        let workflow = lint::sound_workflow(file, policy.as_ref())?;
        let path = message.transcript.as_deref();
        let host = asked.about().host;
        transcript::wait_for_stop(host, path);
        let record = transcript::settled(host, path);
        let said = transcript::last_message(host, path, stop.message.as_deref());
        if let Some(server) = self.remote.server_of_hook(config)? {
            // With the digests of what it names by files, which the server does not read.
            let workflow = document::read_document(file, "workflow")?.json.to_text();
            let event = HookEvent {
                record: Some(record),
                stop: Some(StepToJudge { workflow, step: step.clone(), message: said }),
                ..self.told(input)?
            };
            return Ok(Some(server.stop(&event, STOP_DEADLINE)?));
        }
        let hooks = self.hooks(config, message, Purpose::Record, asked)?;
        let stop = Stop { message: said, ..stop.clone() };
        let at = StepAt { workflow: &workflow, policy: policy.as_ref(), step, patience: MAX_PATIENCE };
        Ok(Some(hooks.stop(message, &stop, &at, &record)?))
    }

    fn hooks(&self, config: &Config, message: &Message, purpose: Purpose, asked: &Asked) -> anyhow::Result<Hooks> {
        let store = self.store.open(config)?;
        let settings = self.settings(message, asked, &store)?;
        let policy = document::action_policy(self.policy.as_deref().context("name the policy")?);
        let policy = match purpose {
            Purpose::Decide => Some(policy?),
            // A result is recorded whatever the policy says; without one, its values have no labels.
            Purpose::Record => policy.ok(),
        };
        // An entry is signed, whatever it says.
        let key = self.signing.key(config)?;
        let trusted = self.trusting.signers(config)?;
        let decider = Decider::for_command_line(policy, key, store, trusted);
        let decider = decider.recording_facts(self.recording.record_facts);
        Ok(Hooks::new(Arc::new(decider), settings, Arc::clone(&asked.stop)))
    }

    fn session_name(&self) -> anyhow::Result<Option<String>> {
        self.session.as_deref().map(host_process::session).transpose()
    }

    fn host(&self) -> anyhow::Result<&'static Host> {
        // Only a subcommand makes it unnecessary.
        self.host.context("name the host")
    }

    fn settings(&self, message: &Message, asked: &Asked, store: &Store) -> anyhow::Result<HookSettings> {
        let host = self.host()?;
        let given = self.session_name()?;
        let session = session_of(&store.of(&Tenant::LOCAL), "", host, message, given.as_deref())?;
        let unnamed = || with_help("find the session: the event does not name it", "name it with `--session`");
        let session = session.ok_or_else(unnamed)?;
        check_name(&session, "--session")?;
        Ok(HookSettings {
            owner: Owner::local(),
            host,
            session,
            agent: self.agent.clone(),
            environment: self.environment.clone(),
            project: project(asked.about().host, message),
            process: host_process::of_parent(),
            runs: host_process::runs,
            keep: self.keep.into(),
        })
    }
}

/// The folder of the agent's project. Hosts name it in a variable that they set for their hooks; others start the agent in it.
fn project(host: &Host, message: &Message) -> Option<String> {
    let variable = host.events.project_variable.and_then(|name| std::env::var(name).ok());
    let said = message.project.as_ref().or(message.cwd.as_ref());
    let folder = variable.or_else(|| said.cloned()).filter(|folder| folder.starts_with('/'))?;
    Some(folder.trim_end_matches('/').to_owned())
}

/// What the store is opened for.
#[derive(Clone, Copy)]
enum Purpose {
    Decide,
    Record,
}

impl Asked {
    fn is_about(&self, about: About) {
        *self.about.lock().unwrap_or_else(PoisonError::into_inner) = about;
    }

    fn about(&self) -> About {
        *self.about.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn is_stop(&self) -> bool {
        matches!(self.about().occasion, Occasion::Stop | Occasion::SubagentStop)
    }

    fn is_record(&self) -> bool {
        self.about().occasion == Occasion::AfterTool
    }

    /// The answer where nothing was decided in time. What is decided after that is not stored.
    fn late(&self, deadline: Duration) -> Answer {
        self.stop.store(true, Ordering::Relaxed);
        if self.is_stop() {
            return self.about().give_up("it took too long.");
        }
        self.about().give_up(&format!("The action could not be decided within {} s.", deadline.as_secs_f64()))
    }

    fn failed(&self) -> Answer {
        if self.is_stop() {
            return self.about().give_up("the program failed.");
        }
        self.about().give_up("The action could not be decided: the program failed.")
    }
}

impl About {
    fn give_up(self, why: &str) -> Answer {
        match self.occasion {
            Occasion::BeforeTool | Occasion::BeforeRead => self.host.answers.deny(self.occasion, &not_executed(why)),
            Occasion::Stop | Occasion::SubagentStop => self.not_judged(why),
            Occasion::AfterTool | Occasion::Other => self.host.answers.pass(self.occasion, None),
        }
    }

    /// The answer to a stop that cannot be judged: refused once. An agent that cannot do anything about it is not held for ever,
    /// and nothing is accepted.
    fn not_judged(self, why: &str) -> Answer {
        let why = format!("The step could not be judged: {why}");
        if self.again {
            return self.host.answers.pass(self.occasion, Some(&why));
        }
        self.host.answers.go_on(self.occasion, &format!("{why} Say so, and that the step is not done."))
    }
}

/// What the model is told of a failure.
fn because(error: &anyhow::Error) -> String {
    let help = error::help(error).map_or_else(String::new, |help| format!(" ({help})"));
    not_executed(&format!("The action could not be decided: failed to {}{}.", error::message(error), help))
}

/// Writes the answer and nothing else: hosts take a text before or after it for no answer.
fn print(answer: &Answer) -> anyhow::Result<Exit> {
    let mut out = out::stdout();
    out.write_all(answer.as_str().as_bytes())?;
    out.flush()?;
    Ok(Exit::Yes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stop_that_is_judged_too_late_is_refused_once() {
        let answer = |again: bool| {
            let about = About { host: Host::named("claude").unwrap(), occasion: Occasion::Stop, again };
            let asked = Asked { about: Mutex::new(about), stop: Arc::default() };
            asked.late(Duration::from_secs(2))
        };
        let (first, next) = (answer(false), answer(true));
        assert!(
            first
                .as_str()
                .starts_with(r#"{"decision":"block","reason":"The step could not be judged: it took too long."#),
            "{first:?}"
        );
        assert!(
            next.as_str().starts_with(r#"{"systemMessage":"The step could not be judged: it took too long."#),
            "{next:?}"
        );
    }
}
