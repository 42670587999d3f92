//! What was found of a host of agents, or of an account: a line for each, with what to do about it.

use std::io::{self, Write};

use proofmark_hosts::{Finding, State};
use proofmark_receipt::{Json, object};

use crate::exit::Exit;
use crate::paint::{Paint, printable};

/// Writes the findings for people.
pub(crate) fn write(out: &mut impl Write, paint: Paint, findings: &[Finding]) -> io::Result<()> {
    for finding in findings {
        let word = match finding.state {
            State::Good => paint.good("good   "),
            State::Bad => paint.bad("bad    "),
            State::Unknown => paint.warning("unknown"),
            State::Note => paint.dim("note   "),
        };
        writeln!(out, "  {word} {}", printable(&finding.what))?;
        if let Some(help) = &finding.help {
            writeln!(out, "          {}", printable(help))?;
        }
    }
    Ok(())
}

/// A finding for programs.
pub(crate) fn object(finding: &Finding) -> Json {
    let help = finding.help.as_deref();
    object! { "state": finding.state.as_str(), "what": finding.what.as_str(), "help"?: help }.into()
}

/// The finding that `object` has written.
pub(crate) fn read(json: &Json) -> Option<Finding> {
    let object = json.as_object()?;
    let text = |name: &str| object.get(name).and_then(Json::as_str).map(str::to_owned);
    let state = [State::Note, State::Good, State::Unknown, State::Bad];
    let state = state.into_iter().find(|state| Some(state.as_str()) == text("state").as_deref())?;
    Some(Finding { state, what: text("what")?, help: text("help") })
}

/// The exit code where what is not known counts as bad.
pub(crate) fn exit(findings: &[Finding]) -> Exit {
    let is_good = findings.iter().all(|finding| matches!(finding.state, State::Good | State::Note));
    if is_good && !findings.is_empty() { Exit::Yes } else { Exit::No }
}
