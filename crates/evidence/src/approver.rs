//! Who approved: the signer of an approval, or the caller of a server that signed for them; and in which roles they speak.

use std::fmt;
use std::str::FromStr;

use proofmark_receipt::{Json, Object, SignerId, Trust};

use crate::receipt::ReceiptFact;

/// The longest id of a reviewer, in bytes.
const MAX_ID_BYTES: usize = 256;

/// Who an approval says gave it (`metadata.approval.reviewer`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reviewer {
    /// The id of the API key that was used, or the signer id of the key that signed.
    pub id: String,
    /// The reviewer's own key, where it is known.
    pub key: Option<SignerId>,
    /// The roles the reviewer holds, as the server that signed knows them; empty where nobody said.
    pub roles: Vec<String>,
}

/// Somebody who can approve: two approvals of one person are of one, whichever way they were given.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Person {
    /// Who signs with this key.
    Key(SignerId),
    /// The caller with this id, as the server with this key vouches.
    Caller {
        /// The id of the API key.
        id: String,
        /// The server.
        server: SignerId,
    },
}

/// A text does not name a person.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("invalid reviewer")]
pub struct PersonError;

impl PersonError {
    /// What to write instead.
    #[must_use]
    pub fn help(&self) -> Option<&'static str> {
        Some("write a public key, or `reviewer:ID@KEY` for the caller with this id of the server with this key")
    }
}

/// Who may speak in which role. A role that is not here can be claimed by any trusted signer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Roles {
    /// The roles, each with those who hold it.
    pub pinned: Vec<(String, Vec<Person>)>,
    /// The roles that rules ask for: what is said in another one counts for nothing, and against nothing.
    pub asked: Vec<String>,
}

impl Reviewer {
    /// Who signs with a key of their own.
    #[must_use]
    pub fn of_key(key: SignerId) -> Self {
        Self { id: key.to_string(), key: Some(key), roles: Vec::new() }
    }

    /// Reads `{id, key, roles}`, of which the last two may be left out; `None` when it is of another form.
    #[must_use]
    pub fn read(json: &Json) -> Option<Self> {
        let object = json.as_object()?;
        let roles = object.get("roles").map_or(Some(&[][..]), Json::as_array)?;
        let id = object.get("id")?.as_str()?;
        (1..=MAX_ID_BYTES).contains(&id.len()).then_some(())?;
        Some(Self {
            id: id.to_owned(),
            key: object.get("key").map(|key| key.as_str()?.parse().ok()).map_or(Some(None), |key| key.map(Some))?,
            roles: roles.iter().map(|role| role.as_str().map(str::to_owned)).collect::<Option<_>>()?,
        })
    }

    /// What [`Reviewer::read`] reads.
    #[must_use]
    pub fn to_json(&self) -> Json {
        let mut object = Object::new();
        object.insert("id", self.id.as_str());
        if let Some(key) = &self.key {
            object.insert("key", key.to_string());
        }
        if !self.roles.is_empty() {
            object.insert("roles", self.roles.iter().map(|role| Json::from(role.as_str())).collect::<Vec<_>>());
        }
        object.into()
    }

    /// Who this is, where `server` vouches for it.
    #[must_use]
    pub fn person(&self, server: SignerId) -> Person {
        match self.key {
            Some(key) => Person::Key(key),
            None => Person::Caller { id: self.id.clone(), server },
        }
    }
}

impl fmt::Display for Person {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Key(key) => key.fmt(f),
            Self::Caller { id, server } => write!(f, "reviewer:{id}@{server}"),
        }
    }
}

impl FromStr for Person {
    type Err = PersonError;

    fn from_str(text: &str) -> Result<Self, PersonError> {
        let person = match text.strip_prefix("reviewer:") {
            None => text.parse().ok().map(Self::Key),
            // An id may hold an `@`, a key does not.
            Some(rest) => rest.rsplit_once('@').and_then(|(id, server)| {
                let server = server.parse().ok()?;
                (1..=MAX_ID_BYTES).contains(&id.len()).then(|| Self::Caller { id: id.to_owned(), server })
            }),
        };
        person.ok_or(PersonError)
    }
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
