//! The calls of a session that hooks were asked about.

use proofmark_hosts::{Call, Host, Message};
use proofmark_receipt::{Json, Sha256Digest, Timestamp};
use proofmark_session::{CallStatus, Entry, Event, FACT_KINDS, Kind, TextDigest};

/// How long a decision counts for another event about the same call, in milliseconds. A host may ask again in this time, and
/// no longer: it names calls by names that the model's provider chooses.
const SAME_CALL_MS: i64 = 60_000;

/// The kinds of entries that calls are made of.
pub(super) const KINDS: [Kind; 9] = {
    let [decided, result, cancelled, ended, undecided, asked, told] = FACT_KINDS;
    [decided, result, cancelled, ended, undecided, asked, told, Kind::Joined, Kind::Opened]
};

/// The calls, in the order of their decisions.
#[derive(Debug, Default)]
pub(super) struct Calls {
    decided: Vec<HookedCall>,
    /// Calls without a decision that are recorded already: the host's name, the tool and the arguments' digest.
    undecided: Vec<Made>,
    /// When the first entry of the session was written.
    pub(super) begun: Option<String>,
}

/// A call by the host's name of it, or by its tool and the digest of its arguments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Made {
    pub(super) id: Option<String>,
    pub(super) tool: String,
    pub(super) args: String,
}

/// A call and the decision on it.
#[derive(Clone, Debug)]
pub(super) struct HookedCall {
    pub(super) decision: String,
    pub(super) allowed: bool,
    pub(super) id: Option<String>,
    pub(super) host_tool: String,
    /// SHA-256 of the arguments.
    args: String,
    turn: Option<String>,
    twin: Option<String>,
    subagent: Option<String>,
    pub(super) at: String,
    has_ended: bool,
    /// Whether a hook was told of its end.
    has_result: bool,
    has_joined: bool,
    /// Whether it is not known how it ended.
    pub(super) is_unsettled: bool,
}

/// The call that an event is about.
pub(super) enum Match<'a> {
    Of(&'a HookedCall),
    /// It is one whose end another event says.
    Twin,
    Nothing,
}

impl Calls {
    /// Takes in an entry of the session's record.
    pub(super) fn take_in(&mut self, Entry { at, event }: &Entry) {
        match event {
            Event::Opened(_) => {
                self.begun.get_or_insert_with(|| at.clone());
            }
            Event::Undecided(undecided) => self.undecided.push(Made {
                id: undecided.call.clone(),
                tool: undecided.host_tool.clone(),
                args: undecided.message.sha256.clone(),
            }),
            Event::Decided(decided) => {
                let Some(decision) = decided.decision.clone() else { return };
                self.decided.push(HookedCall {
                    decision,
                    allowed: decided.allowed,
                    id: decided.call.clone(),
                    host_tool: decided.host_tool.clone().unwrap_or_default(),
                    args: decided.message.sha256.clone(),
                    turn: decided.turn.clone(),
                    twin: decided.twin.clone(),
                    subagent: decided.subagent.as_ref().map(|subagent| subagent.id.clone()),
                    at: at.clone(),
                    has_ended: false,
                    has_result: false,
                    has_joined: false,
                    is_unsettled: true,
                });
            }
            Event::Result(result) => {
                self.ended(result.decision.as_deref(), result.status);
                self.with(result.decision.as_deref().unwrap_or_default(), |call| call.has_result = true);
            }
            Event::Ended(ended) => self.ended(Some(&ended.decision), ended.status),
            Event::Joined(joined) => self.with(&joined.decision, |call| call.has_joined = true),
            _ => {}
        }
    }

    fn ended(&mut self, decision: Option<&str>, status: Option<CallStatus>) {
        self.with(decision.unwrap_or_default(), |call| {
            call.has_ended = true;
            call.is_unsettled = status.is_none_or(CallStatus::is_unsettled);
        });
    }

    /// The decision on this very call: one that the host asks about again, or one of two events about it. None once the call has
    /// ended, since the host may use its name for another one.
    pub(super) fn decided(&self, message: &Message, call: &Call, now: &Timestamp) -> Option<&HookedCall> {
        let (args, twin) = (digest(&call.args), call.twin.as_deref().map(twin_digest));
        self.decided.iter().rev().find(|one| {
            let same = match (&call.id, &one.id) {
                (Some(id), Some(other)) => id == other && one.host_tool == call.host_tool && one.args == args,
                (None, Some(_)) => twin.is_some() && twin == one.twin && message.turn == one.turn && !one.has_joined,
                (_, None) => false,
            };
            same && !one.has_ended && one.is_recent(now)
        })
    }

    /// The call that has ended.
    pub(super) fn to_end(&self, message: &Message, call: &Call) -> Match<'_> {
        let (args, twin) = (digest(&call.args), call.twin.as_deref().map(twin_digest));
        if let Some(id) = &call.id {
            // The name alone does not make it this call: another action under the same name is another one.
            let named =
                |one: &&HookedCall| one.id.as_ref() == Some(id) && one.host_tool == call.host_tool && one.args == args;
            // The host's record may have said before that it ended; the result is the first to say what it brought.
            let open = self.decided.iter().rev().find(|one| named(one) && !one.has_result);
            // Where all calls of this name have ended, the host says it a second time.
            let otherwise = if self.decided.iter().any(|one| named(&one)) { Match::Twin } else { Match::Nothing };
            return open.map_or(otherwise, Match::Of);
        }
        let is_twin = |one: &&HookedCall| twin.is_some() && one.twin == twin && one.turn == message.turn;
        if self.decided.iter().filter(is_twin).any(|one| one.id.is_some()) {
            return Match::Twin;
        }
        let subagent = message.subagent.as_ref().map(|subagent| &subagent.id);
        let same = |one: &&HookedCall| {
            one.id.is_none()
                && !one.has_ended
                && one.subagent.as_ref() == subagent
                && one.host_tool == call.host_tool
                && one.args == args
        };
        // The oldest: calls that are alike end in any order, which makes no difference. One that was blocked does not end.
        let allowed = self.decided.iter().filter(same).find(|one| one.allowed);
        allowed.or_else(|| self.decided.iter().rev().find(same)).map_or(Match::Nothing, Match::Of)
    }

    /// The call with this name whose end is not known.
    pub(super) fn unsettled(&self, id: &str) -> Option<&HookedCall> {
        self.decided
            .iter()
            .rev()
            .find(|one| one.id.as_deref() == Some(id))
            .filter(|one| one.allowed && one.is_unsettled)
    }

    /// Whether there is a call whose end is not known and that the host names.
    pub(super) fn any_unsettled(&self) -> bool {
        self.decided.iter().any(|one| one.id.is_some() && one.allowed && one.is_unsettled)
    }

    /// Whether there is a call that may have been made, that the host names, and of whose end nothing is recorded.
    pub(super) fn any_open(&self) -> bool {
        self.decided.iter().any(HookedCall::is_open)
    }

    /// The call with this name, if nothing is recorded of its end.
    pub(super) fn open(&self, id: &str) -> Option<&HookedCall> {
        self.decided.iter().rev().find(|one| one.id.as_deref() == Some(id)).filter(|one| one.is_open())
    }

    /// Those of the calls made that no hook was asked about and that are not recorded as such.
    pub(super) fn unseen(&self, host: &Host, made: Vec<Made>) -> Vec<Made> {
        // Each call that was seen accounts for one that was made.
        let mut seen: Vec<Made> =
            self.decided.iter().map(HookedCall::made).chain(self.undecided.iter().cloned()).collect();
        made.into_iter()
            .filter(|made| match seen.iter().position(|seen| seen.is(host, made)) {
                Some(at) => {
                    seen.swap_remove(at);
                    false
                }
                None => true,
            })
            .collect()
    }

    /// The calls that hooks were told of and allowed, and that are not among those of the host's record.
    pub(super) fn unrecorded(&self, host: &Host, subagent: Option<&str>, mut recorded: Vec<Made>) -> Vec<Made> {
        let told = self.decided.iter().filter(|call| call.allowed && call.subagent.as_deref() == subagent);
        let told = told.map(HookedCall::made).filter(|made| !self.undecided.contains(made));
        told.filter(|made| match recorded.iter().position(|recorded| recorded.is(host, made)) {
            Some(at) => {
                recorded.swap_remove(at);
                false
            }
            None => true,
        })
        .collect()
    }

    fn with(&mut self, decision: &str, change: impl FnOnce(&mut HookedCall)) {
        if let Some(call) = self.decided.iter_mut().rev().find(|call| call.decision == decision) {
            change(call);
        }
    }
}

impl Made {
    /// Whether both are the same call. Only where both have names these are compared.
    fn is(&self, host: &Host, other: &Self) -> bool {
        let names = [self, other].map(|made| host.record.compared_name(&made.tool));
        match (&self.id, &other.id) {
            (Some(one), Some(other)) => one == other,
            _ => names[0] == names[1] && self.args == other.args,
        }
    }
}

impl HookedCall {
    fn made(&self) -> Made {
        Made { id: self.id.clone(), tool: self.host_tool.clone(), args: self.args.clone() }
    }

    fn is_open(&self) -> bool {
        self.id.is_some() && self.allowed && !self.has_ended
    }

    fn is_recent(&self, now: &Timestamp) -> bool {
        let age = self.at.parse::<Timestamp>().map(|at| now.unix_millis().saturating_sub(at.unix_millis()));
        age.is_ok_and(|age| age.abs() <= SAME_CALL_MS)
    }
}

/// The digest of arguments, whatever the order of their members.
fn digest(args: &Json) -> String {
    Sha256Digest::of(&args.canonical_vrf()).to_string()
}

/// Arguments as an entry names them.
pub(super) fn arguments_digest(args: &Json) -> TextDigest {
    TextDigest { sha256: digest(args), bytes: args.to_text().len() as u64 }
}

/// A call of a host's own record.
pub(super) fn made(call: &proofmark_evidence::Call) -> Made {
    Made { id: call.id.clone(), tool: call.tool.clone(), args: digest(&call.arguments) }
}

/// What is recorded of a twin.
pub(super) fn twin_digest(twin: &str) -> String {
    Sha256Digest::of(twin.as_bytes()).to_string()
}
