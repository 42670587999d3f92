//! In which roles a reviewer may approve.

use proofmark_receipt::Trust;

use crate::receipt::ReceiptFact;
use crate::reviewer::{Person, Reviewer};

/// Who may speak in which role. A role that is not here can be claimed by any trusted signer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Roles {
    /// The roles, each with those who hold it.
    pub pinned: Vec<(String, Vec<Person>)>,
    /// The roles that rules ask for: what is said in another one counts for nothing, and against nothing.
    pub asked: Vec<String>,
}

impl Roles {
    /// Those who hold a role, where that is pinned.
    #[must_use]
    pub fn members(&self, role: &str) -> Option<&[Person]> {
        self.pinned.iter().find(|(name, _)| name == role).map(|(_, members)| members.as_slice())
    }

    /// Who gave an approval: the signer, unless the signer's word on who it was counts.
    #[must_use]
    pub fn person(&self, fact: &ReceiptFact) -> Option<Person> {
        let signer = fact.signer?;
        Some(self.vouched(fact).map_or(Person::Key(signer), |reviewer| reviewer.person(signer)))
    }

    /// Whether an approval may be given in this role by who gave it.
    pub(crate) fn may_speak(&self, fact: &ReceiptFact, role: &str) -> bool {
        let roles = self.vouched(fact).map_or(&[][..], |reviewer| &reviewer.roles);
        let restricted = !roles.is_empty() && !roles.iter().any(|held| held == role);
        match self.members(role) {
            // The pinned key of a server speaks for all its callers that hold no other roles.
            Some(members) => {
                let signs = |member: &Person| matches!(member, Person::Key(key) if fact.signer == Some(*key));
                self.holds(fact, role) || (members.iter().any(signs) && !restricted)
            }
            None => fact.trust == Trust::Trusted && !restricted,
        }
    }

    /// Whether two approvals of one person cannot both count: they are in two roles that this person does not both hold.
    pub(crate) fn exclude(&self, one: &ReceiptFact, other: &ReceiptFact) -> bool {
        let (Some(first), Some(second)) = (&one.approval, &other.approval) else { return false };
        let held = [&first.role, &second.role].into_iter().all(|role| self.holds(one, role) || self.holds(other, role));
        let asked = [&first.role, &second.role].into_iter().all(|role| self.asked.contains(role));
        asked && first.role != second.role && !held && self.person(one) == self.person(other)
    }

    /// Whether who gave an approval was given this role, by the policy or by the server that vouches for them.
    fn holds(&self, fact: &ReceiptFact, role: &str) -> bool {
        let own = self.person(fact);
        let caller = self.vouched(fact).map(|reviewer| reviewer.id.as_str());
        let is = |member: &Person| match member {
            Person::Key(_) => own.as_ref() == Some(member),
            Person::Caller { id, server } => fact.signer == Some(*server) && caller == Some(id.as_str()),
        };
        let by_server = || self.vouched(fact).is_some_and(|reviewer| reviewer.roles.iter().any(|held| held == role));
        self.members(role).is_some_and(|members| members.iter().any(is)) || (fact.vouched && by_server())
    }

    /// Who the signer says it was, where the signer's word on that counts: of this very server, or of one the policy names.
    fn vouched<'f>(&self, fact: &'f ReceiptFact) -> Option<&'f Reviewer> {
        let reviewer = fact.approval.as_ref()?.reviewer.as_ref()?;
        let names = |member: &Person| matches!(member, Person::Caller { server, .. } if fact.signer == Some(*server));
        let named = || self.pinned.iter().flat_map(|(_, members)| members).any(names);
        (fact.vouched || named()).then_some(reviewer)
    }
}
