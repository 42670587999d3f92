//! `proofmark hook doctor`.

mod checks;
mod switches;

use std::io::Write;
use std::path::Path;

use clap::Args;
use proofmark_hosts::{EVERY_HOST, Finding, Gap, Host, Layer, Reading, State, Surroundings};
use proofmark_receipt::{Json, ReceiptId, object};

use super::config_file::{ConfigFile, Installed};
use super::probe::{MARKERS, Probe};
use crate::config::Config;
use crate::exit::Exit;
use crate::findings_page;
use crate::out;
use crate::paint::Paint;
use crate::remote::{HOW_APART, NOT_APART, asks_a_server};

/// Check that a host's hooks are installed, and that they stop a call which the policy forbids
///
/// The command runs the installed hook as the host does, with a call that makes a marker file, and looks at the answer. The calls
/// are recorded in the session `proofmark-doctor`.
#[derive(Args)]
#[command(after_help = "Example:
  proofmark hook doctor claude

Exit codes: 0 the hooks are in place and stopped the call; 1 they are not, or did not; 2 the command could not find out.")]
pub(crate) struct Doctor {
    /// The host
    #[arg(value_parser = super::hosts())]
    host: &'static Host,
    /// A shell command that the policy forbids, with {} for a marker file that it would make [default: several are tried]
    #[arg(long, value_name = "COMMAND")]
    call: Option<String>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// A host's file with hooks of ours.
struct Found {
    layer: Layer,
    hooks: Vec<Installed>,
}

impl Doctor {
    pub(crate) fn run(self, config: &Config) -> anyhow::Result<Exit> {
        let place = super::surroundings()?;
        let mut findings = Vec::new();
        let found = self.found(&place, config, &mut findings);
        for found in &found {
            findings.extend(checks::of_file(self.host, found));
        }
        findings.extend(checks::of_version(self.host));
        findings.extend(switches::of_host(self.host, &place, &found));
        self.probe(&place, &found, &mut findings);
        let worst = findings.iter().map(|finding| finding.state).max();
        if self.json {
            self.print_json(&findings)?;
        } else {
            self.print(&findings)?;
        }
        Ok(match worst {
            Some(State::Bad) => Exit::No,
            Some(State::Unknown) | None => Exit::NoAnswer,
            Some(State::Good | State::Note) => Exit::Yes,
        })
    }

    /// The files that have hooks of ours.
    fn found(&self, place: &Surroundings, config: &Config, findings: &mut Vec<Finding>) -> Vec<Found> {
        let mut found: Vec<Found> = Vec::new();
        for layer in self.host.installation.layers(place) {
            // In a home folder, a user's file is that of the project as well.
            if found.iter().any(|other| other.layer.path == layer.path) {
                continue;
            }
            let installed = ConfigFile::read(self.host, &layer.path, config).and_then(|file| file.installed());
            match installed {
                // Hosts read all of these files; most people have hooks in one.
                Ok(hooks) if hooks.is_empty() => {}
                Ok(hooks) => found.push(Found { layer, hooks }),
                Err(error) => findings.push(Finding::bad(
                    format!("{}: failed to {}", layer.path.display(), crate::error::message(&error)),
                    "correct the file: the host may read no hook of it",
                )),
            }
        }
        if found.is_empty() {
            findings.push(Finding::bad(
                format!("{} has no hooks of proofmark", self.host.title),
                format!("install them with `proofmark hook install {} --policy FILE`", self.host.name),
            ));
        }
        found
    }

    /// Gives each hook before a tool calls that the policy should forbid.
    fn probe(&self, place: &Surroundings, found: &[Found], findings: &mut Vec<Finding>) {
        let before = self.host.events.before_tool();
        let mut commands: Vec<&[String]> = Vec::new();
        for found in found {
            for installed in found.hooks.iter().filter(|hook| Some(hook.event.as_str()) == before) {
                // The same command in several files gives the same answer.
                if commands.contains(&&installed.command[..]) {
                    continue;
                }
                commands.push(&installed.command);
                if !asks_a_server(&installed.command) {
                    findings.push(Finding::note(format!("{}: {NOT_APART}", found.layer.path.display()), HOW_APART));
                }
                let probe = Probe { host: self.host, installed, folder: &place.project };
                self.probe_one(&probe, &found.layer.path, findings);
            }
        }
    }

    fn probe_one(&self, probe: &Probe<'_>, file: &Path, findings: &mut Vec<Finding>) {
        let file = file.display();
        let runs = self.host.installation.on_failure.runs(&probe.installed.hook);
        let consequence = if runs { "the host runs calls then" } else { "the host refuses every call then" };
        // Nothing makes this file: the hook is asked about the command, which nobody runs.
        let marker = std::env::temp_dir().join(format!("doctor-marker-{}", std::process::id()));
        let markers: Vec<&str> = self.call.as_deref().map_or_else(|| MARKERS.to_vec(), |call| vec![call]);
        for command in markers {
            let filled = command.replace("{}", &marker.display().to_string());
            match probe.shell(&filled) {
                Reading::Denied(reason) if names_a_decision(&reason) => {
                    findings.push(Finding::good(format!("the hook of {file} refused `{filled}`: {reason}")));
                    findings.extend(self.fails_closed(probe, &file.to_string()));
                    return;
                }
                Reading::Allowed => {}
                // It may have been late, or have found no store: that says nothing of the policy.
                Reading::Denied(why) => {
                    let what = format!("the hook of {file} refused `{filled}` without a decision: {why}");
                    findings.push(Finding::bad(what, "run the hook's command by hand, or install it again"));
                    return;
                }
                Reading::Failed(why) => {
                    let what = format!("the hook of {file} gave no answer to `{filled}`: {why}; {consequence}");
                    findings.push(Finding::bad(what, "run the hook's command by hand, or install it again"));
                    return;
                }
            }
        }
        let what = match &self.call {
            Some(call) => format!("the hook of {file} allowed `{call}`"),
            None => format!("the hook of {file} allowed every call that was tried, such as `{}`", MARKERS[0]),
        };
        findings.push(Finding::bad(
            what,
            "use a policy that forbids it, or name a command that the policy forbids with `--call`",
        ));
    }

    fn fails_closed(&self, probe: &Probe<'_>, file: &str) -> Option<Finding> {
        // A hook that cannot read what it is told may have been told of a call.
        (probe.garbage() == Reading::Allowed).then(|| {
            Finding::bad(
                format!("the hook of {file} allows a call whose description cannot be read"),
                "install it again with this version of proofmark",
            )
        })
    }

    fn print(&self, findings: &[Finding]) -> anyhow::Result<()> {
        let (mut out, paint) = (out::stdout(), Paint::for_stdout());
        writeln!(out, "{}", self.host.title)?;
        findings_page::write(&mut out, paint, findings)?;
        writeln!(out, "what this host does without asking")?;
        for Gap { what, remedy } in self.host.gaps.iter().chain(&EVERY_HOST) {
            writeln!(out, "  {what}\n          {}", paint.dim(remedy))?;
        }
        writeln!(out, "administrators\n  {}", self.host.installation.administrator)?;
        Ok(())
    }

    fn print_json(&self, findings: &[Finding]) -> anyhow::Result<()> {
        let gap = |gap: &Gap| Json::from(object! { "what": gap.what, "remedy": gap.remedy });
        let line = object! {
            "host": self.host.name,
            "findings": findings.iter().map(findings_page::object).collect::<Vec<_>>(),
            "gaps": self.host.gaps.iter().chain(&EVERY_HOST).map(gap).collect::<Vec<_>>(),
            "administrator": self.host.installation.administrator,
        };
        Ok(out::stdout().json(&Json::from(line).to_text())?)
    }
}

/// Whether a refusal is that of a decision: these name it.
/// Why the host that is on the path cannot be used, by its version; none where it can, or where that is not known.
pub(super) fn too_old(host: &Host) -> Option<Finding> {
    // Others are not started.
    host.program.as_ref()?.oldest.as_ref()?;
    checks::of_version(host).filter(|finding| finding.state == State::Bad)
}

fn names_a_decision(reason: &str) -> bool {
    reason.split([' ', '.', '`']).any(|word| word.parse::<ReceiptId>().is_ok())
}
