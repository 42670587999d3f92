//! In which roles a reviewer may approve.

use proofmark_receipt::Trust;

use crate::receipt::ReceiptFact;
use crate::reviewer::{Person, Reviewer};

/// Who may approve in which role. In a role that is not pinned, any trusted signer may.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Roles {
    /// Roles and those who hold them.
    pub pinned: Vec<(String, Vec<Person>)>,
    /// The roles that rules ask for. An approval in another role has no effect.
    pub asked: Vec<String>,
}

impl Roles {
    /// Those who hold a role, if it is pinned.
    #[must_use]
    pub fn members(&self, role: &str) -> Option<&[Person]> {
        self.pinned.iter().find(|(name, _)| name == role).map(|(_, members)| members.as_slice())
    }

    /// Who gave an approval: the signer, unless the signer names a reviewer and may vouch for one.
    #[must_use]
    pub fn person(&self, fact: &ReceiptFact) -> Option<Person> {
        let signer = fact.signer?;
        // A signer that may not vouch counts as itself; otherwise one key could pose as several reviewers.
        Some(self.vouched(fact).map_or(Person::Key(signer), |reviewer| reviewer.person(signer)))
    }

    /// Whether the reviewer of an approval may approve in this role.
    pub(crate) fn may_speak(&self, fact: &ReceiptFact, role: &str) -> bool {
        let roles = self.vouched(fact).map_or(&[][..], |reviewer| &reviewer.roles);
        // A server that lists the roles of a caller limits the caller to them; without a list there is no limit.
        let restricted = !roles.is_empty() && !roles.iter().any(|held| held == role);
        match self.members(role) {
            // The pinned key of a server stands for all its callers without roles of their own.
            Some(members) => {
                self.holds(fact, role)
                    || (members.iter().any(|member| matches!(member, Person::Key(key) if fact.signer == Some(*key)))
                        && !restricted)
            }
            None => fact.trust == Trust::Trusted && !restricted,
        }
    }

    /// Whether two approvals cannot both count, because one person gave them in two roles without holding both.
    pub(crate) fn exclude(&self, one: &ReceiptFact, other: &ReceiptFact) -> bool {
        let (Some(first), Some(second)) = (&one.approval, &other.approval) else { return false };
        let held = [&first.role, &second.role].into_iter().all(|role| self.holds(one, role) || self.holds(other, role));
        // An approval in a role that no rule asks for must not exclude one that counts.
        let asked = [&first.role, &second.role].into_iter().all(|role| self.asked.contains(role));
        asked && first.role != second.role && !held && self.person(one) == self.person(other)
    }

    /// Whether the policy, or the server that vouches for the reviewer, gives the reviewer this role.
    fn holds(&self, fact: &ReceiptFact, role: &str) -> bool {
        let own = self.person(fact);
        let caller = self.vouched(fact).map(|reviewer| reviewer.id.as_str());
        self.members(role).is_some_and(|members| {
            members.iter().any(|member| match member {
                Person::Key(_) => own.as_ref() == Some(member),
                Person::Caller { id, server } => fact.signer == Some(*server) && caller == Some(id.as_str()),
            })
        }) || (fact.vouched
            && self.vouched(fact).is_some_and(|reviewer| reviewer.roles.iter().any(|held| held == role)))
    }

    /// The reviewer that the signer names, if the signer may vouch for one: this server, or one that the policy names.
    fn vouched<'f>(&self, fact: &'f ReceiptFact) -> Option<&'f Reviewer> {
        let reviewer = fact.approval.as_ref()?.reviewer.as_ref()?;
        let named = || {
            self.pinned
                .iter()
                .flat_map(|(_, members)| members)
                .any(|member| matches!(member, Person::Caller { server, .. } if fact.signer == Some(*server)))
        };
        (fact.vouched || named()).then_some(reviewer)
    }
}
