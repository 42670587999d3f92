//! The calls of a session that hooks were asked about.

use proofmark_evidence::CallStatus;
use proofmark_guard::FACT_KINDS;
use proofmark_hosts::{Call, Host, Message};
use proofmark_receipt::{Json, Object, Sha256Digest, Timestamp, object};

/// How long a decision counts for another event about the same call, in milliseconds. A host may ask again in this time, and
/// no longer: it names calls by names that the model's provider chooses.
const SAME_CALL_MS: i64 = 60_000;

/// The kinds of entries that calls are made of.
pub(super) const KINDS: [&str; 7] =
    [FACT_KINDS[0], FACT_KINDS[1], FACT_KINDS[2], FACT_KINDS[3], FACT_KINDS[4], "joined", "opened"];

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
    at: String,
    has_ended: bool,
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
    pub(super) fn take_in(&mut self, entry: &Object) {
        let text = |name: &str| entry.get(name).and_then(Json::as_str).map(str::to_owned);
        let member = |name: &str, inner: &str| Some(entry.get(name)?.as_object()?.get(inner)?.as_str()?.to_owned());
        let kind = text("kind");
        match kind.as_deref() {
            Some("opened") if self.begun.is_none() => self.begun = text("at"),
            Some("undecided") => self.undecided.push(Made {
                id: text("call"),
                tool: text("host_tool").unwrap_or_default(),
                args: member("message", "sha256").unwrap_or_default(),
            }),
            Some(_) | None => {}
        }
        let Some(decision) = text("decision") else { return };
        match kind.as_deref() {
            Some("decided") => self.decided.push(HookedCall {
                decision,
                allowed: entry.get("allowed").and_then(Json::as_bool) == Some(true),
                id: text("call"),
                host_tool: text("host_tool").unwrap_or_default(),
                args: member("message", "sha256").unwrap_or_default(),
                turn: text("turn"),
                twin: text("twin"),
                subagent: member("subagent", "id"),
                at: text("at").unwrap_or_default(),
                has_ended: false,
                has_joined: false,
                is_unsettled: true,
            }),
            Some("result" | "ended") => {
                let status = text("status").and_then(|status| CallStatus::from_word(&status));
                self.with(&decision, |call| {
                    call.has_ended = true;
                    call.is_unsettled = status.is_none_or(CallStatus::is_unsettled);
                });
            }
            Some("joined") => self.with(&decision, |call| call.has_joined = true),
            Some(_) | None => {}
        }
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
            let named = |one: &&HookedCall| one.id.as_ref() == Some(id);
            let open = self.decided.iter().rev().find(|one| named(one) && !one.has_ended);
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
pub(super) fn arguments_digest(args: &Json) -> Object {
    object! { "sha256": digest(args), "bytes": args.to_text().len() as u64 }
}

/// A call of a host's own record.
pub(super) fn made(call: &proofmark_evidence::Call) -> Made {
    Made { id: call.id.clone(), tool: call.tool.clone(), args: digest(&call.arguments) }
}

/// What is recorded of a twin.
pub(super) fn twin_digest(twin: &str) -> String {
    Sha256Digest::of(twin.as_bytes()).to_string()
}
