//! Entries of a session as they are read again, before anything is believed that they say.

use proofmark_receipt::{
    ChainTip, Json, Sha256Digest, SignatureStatus, SignerId, Timestamp, Trust, Verification, shown, verify_document,
};

use crate::document::SessionDocument;
use crate::event::Event;
use crate::head::SessionHead;

/// The entries of a session in their order, each of which must be linked to the one before it.
///
/// Only the signature of the last entry is verified, by [`SessionChain::end`]: it covers the hash of the entry before it, and so
/// all others. A signer who counts appends to a session only after it has verified it in the same way.
#[derive(Clone, Debug)]
pub struct SessionChain {
    session: String,
    tip: Option<ChainTip>,
    /// The last entry that was added, as long as its signature is not verified.
    last: Option<SessionDocument>,
    /// The decision whose entry is looked for, and the head that it was made on.
    expected: Option<Expected>,
}

#[derive(Clone, Debug)]
struct Expected {
    decision: String,
    entries: u64,
    last_entry: Option<Sha256Digest>,
    is_found: bool,
    /// Whether the entry that it was made on is another one.
    is_on_other: bool,
}

/// Why the entries of a session say nothing. The message completes "failed to …".
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("rely on the session `{session}`: {fault}")]
pub struct SessionError {
    session: String,
    fault: Fault,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
enum Fault {
    #[error("entry {0} cannot be read")]
    Unreadable(u64),
    #[error("entry {0}, {1}, belongs to another session")]
    OtherSession(u64, String),
    #[error("entry {0}, {1}, is not linked to the one before it")]
    NotLinked(u64, String),
    #[error("entry {0}, {1}, is not signed by a trusted key ({2})")]
    Unsigned(u64, String, String),
    #[error("its end is missing: {1} entries were there, and it has {0}")]
    Truncated(u64, u64),
    #[error("entry {0} was replaced")]
    Replaced(u64),
    #[error(
        "its end is missing: the decision `{0}` was made when it had {1} entries, and the entry about it is not there"
    )]
    BehindDecision(String, u64),
    #[error("the decision `{0}` was made when it had other entries")]
    OtherEntries(String),
    #[error("the newest decision in it, `{0}`, does not say where in this session it was made")]
    OtherDecision(String),
    #[error("the newest decision in it, `{0}`, is not signed by a trusted key ({1})")]
    UnsignedDecision(String, String),
}

impl SessionError {
    /// What to do about it.
    #[must_use]
    pub fn help(&self) -> Option<String> {
        let text = match self.fault {
            Fault::Unsigned(..) | Fault::UnsignedDecision(..) => {
                "begin another session, or add its signer with `proofmark trust add` if it is yours"
            }
            Fault::Unreadable(_)
            | Fault::OtherSession(..)
            | Fault::NotLinked(..)
            | Fault::Truncated(..)
            | Fault::Replaced(_)
            | Fault::BehindDecision(..)
            | Fault::OtherEntries(_)
            | Fault::OtherDecision(_) => "begin another session, and find out who has changed the store",
        };
        Some(text.to_owned())
    }
}

impl SessionChain {
    /// The session of this name, of which nothing was read yet.
    #[must_use]
    pub fn new(session: &str) -> Self {
        Self { session: session.to_owned(), tip: None, last: None, expected: None }
    }

    /// The last entry; `None` for a session without entries.
    #[must_use]
    pub fn tip(&self) -> Option<&ChainTip> {
        self.tip.as_ref()
    }

    /// How many entries it has.
    #[must_use]
    pub fn count(&self) -> u64 {
        count(self.tip())
    }

    /// Its end as it is now, as a decision that is made on it binds it.
    #[must_use]
    pub fn head(&self) -> SessionHead {
        SessionHead::of(&self.session, self.tip())
    }

    /// Demands the entry about `decision`, which is the newest one of the session in the store, at the place that its receipt binds:
    /// where entries were deleted from the end, [`SessionChain::end`] says so. `verification` is that of the receipt.
    ///
    /// # Errors
    /// When the receipt is not signed by a trusted signer, or binds no place in this session.
    pub fn expect(
        &mut self,
        decision: &str,
        head: Option<SessionHead>,
        verification: &Verification,
    ) -> Result<(), SessionError> {
        let name = || shown(decision);
        if let Some(cause) = cause(verification) {
            return Err(self.error(Fault::UnsignedDecision(name(), cause)));
        }
        let head = head.filter(|head| head.session == self.session);
        let head = head.ok_or_else(|| self.error(Fault::OtherDecision(name())))?;
        let SessionHead { entries, last_entry, .. } = head;
        // The entries of a decision are stored with it: where more of the session is known, that was read with them.
        let is_found = self.count() > entries;
        let decision = decision.to_owned();
        self.expected = Some(Expected { decision, entries, last_entry, is_found, is_on_other: false });
        self.compare_head();
        Ok(())
    }

    /// Compares the entry that a decision was made on with the one that is there, once it is the last.
    fn compare_head(&mut self) {
        let (count, last) = (self.count(), self.tip().map(|tip| tip.hash));
        if let Some(expected) = self.expected.as_mut().filter(|expected| expected.entries == count) {
            expected.is_on_other = expected.last_entry != last;
        }
    }

    /// Adds the next entry.
    ///
    /// # Errors
    /// When it is not an entry of this session, or does not follow the one before it.
    pub fn add(&mut self, text: &str) -> Result<&SessionDocument, SessionError> {
        let at = self.count();
        let entry = Json::parse(text.as_bytes()).ok().and_then(SessionDocument::read);
        let entry = entry.ok_or_else(|| self.error(Fault::Unreadable(at)))?;
        let id = || entry.link().id.to_string();
        if entry.session() != self.session {
            return Err(self.error(Fault::OtherSession(at, id())));
        }
        let tip = entry.link().follows(self.tip());
        self.tip = Some(tip.ok_or_else(|| self.error(Fault::NotLinked(at, id())))?);
        self.compare_head();
        if let Some(expected) = self.expected.as_mut().filter(|expected| !expected.is_found && at >= expected.entries) {
            let about = entry.event();
            let about = if let Some(Event::Decided(decided)) = &about { decided.decision.as_deref() } else { None };
            expected.is_found = about == Some(&expected.decision);
        }
        Ok(self.last.insert(entry))
    }

    /// When the last entry that was added was recorded; none where none was added, or the entry does not say it.
    #[must_use]
    pub fn last_at(&self) -> Option<Timestamp> {
        self.last.as_ref()?.at().parse().ok()
    }

    /// Verifies that one of `trusted` has signed the last entry that was added. `stored` is the end as the store has it, beside the
    /// entries: they must be the same.
    ///
    /// # Errors
    /// When the last entry is not signed so, and when entries are missing at the end, among them that of the decision that was
    /// [expected](SessionChain::expect).
    pub fn end(&mut self, stored: Option<&ChainTip>, trusted: &[SignerId]) -> Result<(), SessionError> {
        if let Some((entry, tip)) = self.last.as_ref().zip(self.tip())
            && let Some(cause) = cause(&verify_document(entry.document(), trusted))
        {
            return Err(self.error(Fault::Unsigned(tip.position, tip.receipt_id.to_string(), cause)));
        }
        self.last = None;
        if count(stored) < self.count() {
            return Err(self.error(Fault::Truncated(count(stored), self.count())));
        }
        if stored != self.tip() {
            return Err(self.error(Fault::Replaced(self.count().saturating_sub(1))));
        }
        match self.expected.take() {
            Some(Expected { decision, is_on_other: true, .. }) => {
                Err(self.error(Fault::OtherEntries(shown(&decision))))
            }
            Some(Expected { decision, entries, is_found: false, .. }) => {
                Err(self.error(Fault::BehindDecision(shown(&decision), entries)))
            }
            Some(_) | None => Ok(()),
        }
    }

    /// Takes over the end that a trusted signer has just appended to the entries that were added here.
    pub fn appended(&mut self, tip: Option<ChainTip>) {
        if tip.is_some() {
            self.tip = tip;
        }
    }

    fn error(&self, fault: Fault) -> SessionError {
        SessionError { session: shown(&self.session), fault }
    }
}

/// Why a signature does not count; `None` where it does.
fn cause(verification: &Verification) -> Option<String> {
    match (&verification.answer, verification.trust) {
        (SignatureStatus::Valid, Trust::Trusted) => None,
        (SignatureStatus::Valid, Trust::Untrusted | Trust::Unknown) => Some("its signer is not trusted".to_owned()),
        (answer, _) => Some(answer.cause().unwrap_or_else(|| answer.as_str().to_owned())),
    }
}

fn count(tip: Option<&ChainTip>) -> u64 {
    tip.map_or(0, |tip| tip.position.saturating_add(1))
}
