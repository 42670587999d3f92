//! Who may approve, and in which roles.

use proofmark_receipt::Trust;

use crate::receipt::ReceiptFact;
use crate::refusal::{Refusal, refuse};
use crate::reviewer::{Person, Reviewer};

/// Somebody whom the policy lists, and the roles that it gives them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListedReviewer {
    /// What people call them.
    pub name: String,
    /// The ways in which they approve, at least one: what any of them signs is signed by one person.
    pub people: Vec<Person>,
    pub roles: Vec<String>,
}

/// Who may approve in which role: those whom the policy lists, and callers to whom the server that decides gives a role.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Roles {
    pub reviewers: Vec<ListedReviewer>,
}

impl ListedReviewer {
    /// Whether this is one of the ways in which they approve.
    #[must_use]
    pub fn is(&self, person: &Person) -> bool {
        self.people.contains(person)
    }
}

impl Roles {
    /// Those to whom the policy gives a role, in its order.
    pub fn members(&self, role: &str) -> impl Iterator<Item = &ListedReviewer> + Clone {
        self.reviewers.iter().filter(move |reviewer| reviewer.roles.iter().any(|held| held == role))
    }

    /// Who gave an approval: the holder of the passkey that signed it; else the signer of its receipt, unless the signer names a
    /// reviewer for whom it may speak.
    #[must_use]
    pub fn person(&self, fact: &ReceiptFact) -> Option<Person> {
        if let Some(passkey) = &fact.passkey {
            return Some(Person::Passkey(passkey.clone()));
        }
        let signer = fact.signer?;
        let is_listed =
            || self.reviewers.iter().any(|listed| listed.people.iter().any(|person| is_caller(fact, person)));
        // A signer that may speak for nobody counts as itself; otherwise one key could pose as several reviewers.
        let named = reviewer(fact).filter(|_| fact.vouched || is_listed());
        Some(named.map_or(Person::Key(signer), |reviewer| reviewer.person(signer)))
    }

    /// Whether one person gave both approvals: callers with one id, by whichever server's key, and the keys and passkeys that the
    /// policy lists for one reviewer.
    #[must_use]
    pub fn is_one_person(&self, fact: &ReceiptFact, other: &ReceiptFact) -> bool {
        let (Some(one), Some(other)) = (self.person(fact), self.person(other)) else { return true };
        one.is_same(&other) || self.reviewers.iter().any(|listed| listed.is(&one) && listed.is(&other))
    }

    /// Whether the reviewer of an approval holds this role: by the policy, or by the server that vouches for the reviewer.
    pub(crate) fn holds(&self, fact: &ReceiptFact, role: &str) -> Result<(), Refusal> {
        // A key that is known for other documents approves nothing, whatever lists it: a worker's is on a machine that runs
        // strangers' programs.
        refuse(fact.passkey.is_none() && fact.trust == Trust::Untrusted, Refusal::Signer)?;
        // Another server speaks for the callers that the policy lists, and not for the holders of keys.
        let is_known = fact.vouched || fact.passkey.is_some();
        let own = if is_known { self.person(fact) } else { fact.signer.map(Person::Key) };
        let is_member = |member: &ListedReviewer| {
            member.people.iter().any(|person| own.as_ref() == Some(person) || is_caller(fact, person))
        };
        let by_server = fact.passkey.is_none()
            && fact.vouched
            && reviewer(fact).is_some_and(|reviewer| reviewer.roles.iter().any(|held| held == role));
        let mut members = self.members(role).peekable();
        let is_of_nobody = members.peek().is_none();
        if by_server || members.any(is_member) {
            return Ok(());
        }
        refuse(is_of_nobody, Refusal::RoleOfNobody)?;
        Err(Refusal::Signer)
    }
}

/// Whether the approval names this person as a caller of its signer.
fn is_caller(fact: &ReceiptFact, person: &Person) -> bool {
    match person {
        Person::Key(_) | Person::Passkey(_) => false,
        Person::Caller { id, server } => {
            // What a passkey signed is its holder's, whoever signed the receipt around it.
            fact.passkey.is_none()
                && fact.signer == Some(*server)
                && reviewer(fact).is_some_and(|reviewer| reviewer.id == *id)
        }
    }
}

/// The reviewer that the signer of an approval names.
fn reviewer(fact: &ReceiptFact) -> Option<&Reviewer> {
    fact.approval.as_ref()?.reviewer.as_ref()
}
