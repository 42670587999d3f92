//! Whether an agent may stop: the contract of a workflow's step is judged by the calls that hooks saw, and by what the host's
//! own record has beside.

use std::collections::HashSet;
use std::thread;
use std::time::Duration;

use proofmark_contract::response::MAX_RESPONSE_BYTES;
use proofmark_contract::{State, TransitionError, Workflow, WorkflowPolicy};
use proofmark_evidence::trace::{self, FORMS, Form};
use proofmark_hosts::{Message, Stop};
use proofmark_receipt::{Json, Sha256Digest, Timestamp, object};
use proofmark_session::{CallStatus, Ended, Event, Kind, Stopped, TextDigest, Undecided, unknown_tool};
use proofmark_verifier::{
    AcceptError, Acceptance, Attempt, AwaitedApproval, Presented, Purpose, Sender, accept, clock,
};

use super::calls::{self, made};
use super::{EXECUTED_UNDECIDED, HookSession, Hooks, TOLD_BY_ANOTHER, undecided};
use crate::decide::DecideError;
use crate::entries::session_entries;
use crate::session_decider::Owner;

/// The kinds of entries that are a trace.
const TRACE_KINDS: [Kind; 5] = [Kind::Opened, Kind::Decided, Kind::Result, Kind::Ended, Kind::Undecided];
/// The most calls without a decision that are recorded at once.
const MAX_UNSEEN: usize = 100;
/// What an unreadable record of the host is recorded as.
const TRANSCRIPT: &str = "transcript";

/// The step that an agent is at.
#[derive(Clone, Copy, Debug)]
pub struct StepAt<'a> {
    pub workflow: &'a Workflow,
    pub policy: Option<&'a WorkflowPolicy>,
    pub step: &'a str,
    /// How long an attempt that comes too early is waited for.
    pub patience: Duration,
}

/// The host's own record of the session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HostRecord {
    /// There is none, or its form is not known.
    Missing,
    /// Its whole lines that may be about calls.
    Lines(String),
    /// Why it cannot be read.
    Unreadable(String),
}

/// What is said of an agent that is about to stop.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StopRuling {
    /// The step is accepted; what to say of it.
    Accepted(String),
    /// It is not accepted, and another attempt may come; the prompt for it.
    Refused(String),
    /// It is not accepted, and no attempt follows; what to say of it.
    Over(String),
    /// The step was judged for the last time before.
    Judged,
}

/// Why a stop cannot be judged.
#[derive(Debug, thiserror::Error)]
pub enum StopError {
    #[error(transparent)]
    Session(#[from] DecideError),
    #[error(transparent)]
    Accept(#[from] AcceptError),
}

impl StopError {
    /// What to do about it.
    #[must_use]
    pub fn help(&self) -> Option<String> {
        match self {
            Self::Session(error) => error.help(),
            Self::Accept(error) => error.help(),
        }
    }
}

impl Hooks {
    /// Judges the step that the agent is at, as an attempt of the run that is named as the session. A subagent has a run of its
    /// own, by its own calls.
    ///
    /// # Errors
    /// When it cannot be judged; no attempt is used up then.
    pub fn stop(
        &self,
        message: &Message,
        stop: &Stop,
        at: &StepAt<'_>,
        record: &HostRecord,
    ) -> Result<StopRuling, StopError> {
        self.in_session(|session| self.stop_in(session, message, stop, at, record))
    }

    fn stop_in(
        &self,
        session: &mut HookSession,
        message: &Message,
        stop: &Stop,
        at: &StepAt<'_>,
        record: &HostRecord,
    ) -> Result<StopRuling, StopError> {
        self.check_sender(session)?;
        // The calls that count are those of this start of the host, even where it has made none.
        if let Some(opened) = self.opened(session, None).filter(|_| !session.is_empty()) {
            session.append(&[opened])?;
        }
        let subagent = message.subagent.as_ref().map(|subagent| subagent.id.as_str());
        self.compare(session, record)?;
        self.compare_back(session, subagent, record)?;
        let run = run_name(&self.settings.session, subagent);
        let calls = self.trace(subagent)?;
        let mut response = stop.message.clone().unwrap_or_default();
        response.truncate(response.floor_char_boundary(MAX_RESPONSE_BYTES));
        let trusted = self.decider.trusted();
        let attempt = Attempt {
            workflow: at.workflow,
            policy: at.policy,
            step: at.step,
            sender: self.sender(),
            run: Some(&run),
            begun_by: None,
            number: None,
            response: response.as_bytes(),
            trace: Some(calls.as_bytes()),
            context: None,
            presented: Presented::default(),
            trusted: trusted.signers(),
            in_order: false,
            purpose: Purpose::Attempt,
            stop: &self.stop,
        };
        match self.attempt(&attempt, at.patience) {
            Ok(Some(accepted)) => {
                let judged = Event::Stop(judged(at.step, subagent, &accepted));
                session.append(&self.entries(session, None, judged))?;
                Ok(match &accepted.awaits {
                    Some(awaited) => waiting(at.step, awaited, stop.again),
                    None => ruling(at.step, &accepted),
                })
            }
            Err(AcceptError::Awaits { awaited, .. }) => Ok(waiting(at.step, &awaited, stop.again)),
            Ok(None) => Ok(StopRuling::Judged),
            Err(AcceptError::Refused { refusal: TransitionError::TooEarly { not_before_ms, .. }, .. }) => {
                let when = Timestamp::from_unix_millis(not_before_ms);
                Ok(StopRuling::Refused(format!(
                    "The next attempt at step `{}` may come at {when}. Wait until then.",
                    at.step
                )))
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Who the run belongs to: the account or the key that asks, where it is known.
    fn sender(&self) -> Sender<'_> {
        let Owner { tenant, asker } = &self.settings.owner;
        match &asker.account {
            Some(id) => Sender { tenant, id, orchestrates: false, asker },
            None => Sender { tenant, asker, ..Sender::LOCAL },
        }
    }

    /// Judges the attempt, after waiting where it comes a little early. None where the step was judged for the last time before.
    fn attempt(&self, attempt: &Attempt<'_>, patience: Duration) -> Result<Option<Acceptance>, AcceptError> {
        let issuer = self.decider.issuer();
        let mut waited = Duration::ZERO;
        loop {
            match accept(attempt, &issuer, Some(&*self.decider)) {
                Err(AcceptError::Refused {
                    refusal: TransitionError::AlreadyAccepted { .. } | TransitionError::AlreadyAborted { .. },
                    ..
                }) => return Ok(None),
                Err(AcceptError::Refused { refusal: TransitionError::TooEarly { early_ms, .. }, .. })
                    if waited + Duration::from_millis(early_ms) <= patience =>
                {
                    // One more: the store's time has milliseconds.
                    let early = Duration::from_millis(early_ms.saturating_add(1));
                    thread::sleep(early);
                    waited += early;
                }
                other => return other.map(Some),
            }
        }
    }

    /// Records what the host's own record says beside what hooks saw: how calls ended that were not known to have ended, and
    /// calls that no hook was asked about.
    pub(super) fn compare(&self, session: &mut HookSession, record: &HostRecord) -> Result<(), DecideError> {
        let lines = match record {
            HostRecord::Missing => return Ok(()),
            HostRecord::Lines(lines) if lines.trim().is_empty() => return Ok(()),
            HostRecord::Lines(lines) => lines,
            HostRecord::Unreadable(why) => return self.unreadable(session, why),
        };
        let Some(form) = self.record_form() else { return Ok(()) };
        let made_calls = match trace::read_as(lines.as_bytes(), form) {
            Ok(trace) => trace.calls,
            Err(error) => return self.unreadable(session, &error.to_string()),
        };
        let mut entries = Vec::new();
        for call in &made_calls {
            let unsettled = call.id.as_deref().and_then(|id| session.known.calls.unsettled(id));
            if let (Some(hooked), CallStatus::Succeeded | CallStatus::Failed) = (unsettled, call.status) {
                entries.push(self.entry(Event::Ended(Ended {
                    call: call.id.clone(),
                    tool: call.tool.clone(),
                    decision: hooked.decision.clone(),
                    status: Some(call.status),
                })));
            }
        }
        // Calls before the first hook are those of a session that began without hooks.
        let begun = session.known.calls.begun.clone();
        let since = |at: Option<&str>| at.zip(begun.as_deref()).is_none_or(|(at, begun)| !self.is_before(at, begun));
        let asked =
            made_calls.iter().filter(|call| self.settings.host.record.asks_about(call) && since(call.at.as_deref()));
        let asked: Vec<_> = asked.collect();
        let unseen = session.known.calls.unseen(self.settings.host, asked.iter().map(|call| made(call)).collect());
        for one in unseen.iter().take(MAX_UNSEEN) {
            let Some(call) = asked.iter().find(|call| made(call) == *one) else { continue };
            entries.push(self.entry(Event::Undecided(Undecided {
                call: call.id.clone(),
                tool: Some(call.tool.clone()),
                host_tool: call.tool.clone(),
                ..undecided(&call.arguments, call.status)
            })));
        }
        if !entries.is_empty() {
            session.append(&entries)?;
        }
        unseen
            .iter()
            .take(MAX_UNSEEN)
            .try_for_each(|one| self.find(one.id.as_deref().unwrap_or(&one.tool), EXECUTED_UNDECIDED))
    }

    /// Records of which calls the host's own record has an end that no hook could record. How they ended is not believed here: the
    /// agent may have written that, and rules look at these calls at once. A call that still runs beside others has no end there.
    pub(super) fn note_lost(&self, session: &mut HookSession, record: &HostRecord) -> Result<(), DecideError> {
        let (HostRecord::Lines(lines), Some(form)) = (record, self.record_form()) else { return Ok(()) };
        // A record that cannot be read is a finding at the stop. Until then its calls have no end.
        let Ok(trace) = trace::read_as(lines.as_bytes(), form) else { return Ok(()) };
        let ended = trace.calls.iter().filter(|call| call.status != CallStatus::Pending);
        let lost = ended.filter_map(|call| session.known.calls.open(call.id.as_deref()?).zip(Some(call)));
        let lost = lost.map(|(hooked, call)| Ended {
            call: call.id.clone(),
            tool: call.tool.clone(),
            decision: hooked.decision.clone(),
            status: Some(CallStatus::Doubtful),
        });
        let entries: Vec<_> = lost.map(|ended| self.entry(Event::Ended(ended))).collect();
        if entries.is_empty() {
            return Ok(());
        }
        session.append(&entries)?;
        Ok(())
    }

    /// The form of trace that the host's own record is in, where it is known.
    fn record_form(&self) -> Option<&'static Form> {
        let form = self.settings.host.record.form();
        FORMS.iter().find(|one| Some(one.as_str()) == form).copied()
    }

    /// Records the calls that hooks were told of and that the host's own record does not have: somebody else told of them.
    fn compare_back(
        &self,
        session: &mut HookSession,
        subagent: Option<&str>,
        record: &HostRecord,
    ) -> Result<(), DecideError> {
        let (HostRecord::Lines(lines), Some(form)) = (record, self.record_form()) else { return Ok(()) };
        // What cannot be read was recorded as that.
        let Ok(trace) = trace::read_as(lines.as_bytes(), form) else { return Ok(()) };
        let made = trace.calls.iter().map(made).collect();
        let untold = session.known.calls.unrecorded(self.settings.host, subagent, made);
        let told = |one: &calls::Made| {
            self.entry(Event::Undecided(Undecided {
                call: one.id.clone(),
                tool: Some(unknown_tool(&one.tool)),
                host_tool: one.tool.clone(),
                status: Some(CallStatus::Doubtful),
                message: TextDigest { sha256: one.args.clone(), ..TextDigest::default() },
                ..Undecided::default()
            }))
        };
        let entries: Vec<_> = untold.iter().take(MAX_UNSEEN).map(told).collect();
        if entries.is_empty() {
            return Ok(());
        }
        session.append(&entries)?;
        let untold = untold.iter().take(MAX_UNSEEN);
        untold.into_iter().try_for_each(|one| self.find(one.id.as_deref().unwrap_or(&one.tool), TOLD_BY_ANOTHER))
    }

    /// Records that the host's own record cannot be read: it could have calls that no hook was asked about.
    fn unreadable(&self, session: &mut HookSession, why: &str) -> Result<(), DecideError> {
        let args = Json::from(object! { "reason": why });
        let one = calls::Made { id: Some(TRANSCRIPT.to_owned()), tool: TRANSCRIPT.to_owned(), args: String::new() };
        if session.known.calls.unseen(self.settings.host, vec![one]).is_empty() {
            return Ok(());
        }
        let event = Event::Undecided(Undecided {
            call: Some(TRANSCRIPT.to_owned()),
            tool: Some(TRANSCRIPT.to_owned()),
            host_tool: TRANSCRIPT.to_owned(),
            ..undecided(&args, CallStatus::Doubtful)
        });
        session.append(&[self.entry(event)])
    }

    /// Whether a host's record says of a call that it was made before an entry. The entry has the time of the store, the call that of
    /// the host.
    fn is_before(&self, call: &str, entry: &str) -> bool {
        let call = call.parse::<Timestamp>().map(|call| clock::when(self.decider.store(), &call));
        call.is_ok_and(|call| entry.parse::<Timestamp>().is_ok_and(|entry| call.unix_millis() < entry.unix_millis()))
    }

    /// The calls of the session, or of a subagent, as a trace.
    fn trace(&self, subagent: Option<&str>) -> Result<String, DecideError> {
        let (mut lines, mut own) = (String::new(), HashSet::new());
        let trusted = self.decider.deciders();
        session_entries(&self.store(), &self.settings.session, &trusted, &mut |text, document| {
            let entry = document.entry().filter(|entry| TRACE_KINDS.contains(&entry.event.kind()));
            if entry.is_some_and(|entry| subagent.is_none_or(|subagent| is_of(&entry.event, subagent, &mut own))) {
                lines.push_str(text);
                lines.push('\n');
            }
        })?;
        // A session without a call has no entry: that is known, too.
        Ok(if lines.is_empty() { "[]".to_owned() } else { lines })
    }
}

/// Whether an entry is about a call of this subagent, whose decisions are `own`. Calls without a decision are everybody's.
fn is_of(event: &Event, subagent: &str, own: &mut HashSet<String>) -> bool {
    match event {
        Event::Decided(decided) => {
            let is_own = decided.subagent.as_ref().is_some_and(|one| one.id == subagent);
            if is_own {
                own.extend(decided.decision.clone());
            }
            is_own
        }
        Event::Result(result) => result.decision.as_ref().is_some_and(|decision| own.contains(decision)),
        Event::Ended(ended) => own.contains(&ended.decision),
        _ => true,
    }
}

/// The name of the run: that of the session, where a run may have it.
fn run_name(session: &str, subagent: Option<&str>) -> String {
    let name = subagent.map_or_else(|| session.to_owned(), |subagent| format!("{session}.{subagent}"));
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | ':');
    if name.len() <= proofmark_verifier::MAX_RUN_NAME && name.chars().all(plain) {
        name
    } else {
        format!("session-{}", Sha256Digest::of(name.as_bytes()))
    }
}

fn judged(step: &str, subagent: Option<&str>, accepted: &Acceptance) -> Stopped {
    Stopped {
        step: step.to_owned(),
        subagent: subagent.map(str::to_owned),
        run: accepted.run.clone(),
        attempt: u64::from(accepted.attempt),
        state: accepted.state.as_str().to_owned(),
        receipt: accepted.receipt.as_ref().map(|receipt| receipt.receipt_id().to_string()),
    }
}

fn ruling(step: &str, accepted: &Acceptance) -> StopRuling {
    let receipt = accepted.receipt.as_ref().map(|receipt| format!(" Receipt {}.", receipt.receipt_id()));
    let receipt = receipt.unwrap_or_default();
    match &accepted.state {
        State::Accepted { .. } | State::AcceptedWithWarnings { .. } => {
            StopRuling::Accepted(format!("Step `{step}` is accepted.{receipt}"))
        }
        State::Retry(retry) => StopRuling::Refused(retry.prompt.clone()),
        // An attempt that was judged is not in the other states.
        State::Aborted { .. } | State::Pending | State::Evaluating { .. } | State::AwaitingApproval { .. } => {
            let failed: Vec<_> = accepted.judgment.failed().map(|rule| rule.message.as_str()).collect();
            let failed = failed.join("; ");
            StopRuling::Over(format!("Step `{step}` is not accepted, and it has no attempts left: {failed}.{receipt}"))
        }
    }
}

/// What is said of a stop while a person is waited for. It is refused once: an agent that goes on until somebody has time only repeats
/// itself.
fn waiting(step: &str, awaited: &AwaitedApproval, again: bool) -> StopRuling {
    let words = awaited.words();
    if again {
        StopRuling::Over(format!("Step `{step}` is not accepted yet. It {words}"))
    } else {
        StopRuling::Refused(format!(
            "Step `{step}` {words}\nDo not approve it yourself, and make no further calls. Once a person has approved it, give the same result again."
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_is_named_as_its_session_where_it_may_be() {
        assert_eq!(run_name("codex-01a2", None), "codex-01a2");
        assert_eq!(run_name("codex-01a2", Some("a1")), "codex-01a2.a1");
        for odd in ["my session", &"x".repeat(100)] {
            let name = run_name(odd, None);
            assert!(name.starts_with("session-") && name.len() <= proofmark_verifier::MAX_RUN_NAME, "{name}");
        }
    }
}
