//! Who approved: the signer of an approval, or the caller of a server that signed for them.

use std::fmt;
use std::str::FromStr;

use proofmark_passkey::{Passkey, PasskeyError};
use proofmark_receipt::{Json, SignerId, object};

/// The longest id of a reviewer, in bytes.
const MAX_ID_BYTES: usize = 256;

/// Who an approval says gave it (`metadata.approval.reviewer`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reviewer {
    /// The id of the API key that was used, or of the signer.
    pub id: String,
    /// The reviewer's own key, if known.
    pub key: Option<SignerId>,
    /// The roles the reviewer holds, as the server that signed knows them; empty if unknown.
    pub roles: Vec<String>,
}

/// A way in which a person approves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Person {
    /// The holder of this key.
    Key(SignerId),
    /// A caller of a server, which vouches for the id.
    Caller { id: String, server: SignerId },
    /// The holder of this passkey.
    Passkey(Passkey),
}

/// A text does not name a person.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PersonError {
    #[error("invalid reviewer")]
    Reviewer,
    #[error(transparent)]
    Passkey(#[from] PasskeyError),
}

impl PersonError {
    /// What to write instead.
    #[must_use]
    pub fn help(&self) -> &'static str {
        match self {
            Self::Reviewer => {
                "write a public key, `passkey:…` as the page `/ui/passkey` shows it, or `reviewer:ID@KEY` for the caller with this \
                 id of the server with this key"
            }
            Self::Passkey(error) => error.help(),
        }
    }
}

impl Person {
    /// A caller of a server that there is not, for cases and hypotheses; `number` tells them apart.
    #[must_use]
    pub fn supposed(number: usize) -> Self {
        Self::Caller { id: format!("supposed-{number}"), server: SignerId::from_bytes([0xFF; 32]) }
    }
}

impl Person {
    /// Whether it is one person. The ids of callers are those of an installation, which has more than one key after its key was
    /// replaced, and where several servers share a store: so the key that signed for them does not tell callers apart.
    #[must_use]
    pub fn is_same(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Caller { id, .. }, Self::Caller { id: other, .. }) => id == other,
            (one, other) => one == other,
        }
    }
}

impl Reviewer {
    /// A reviewer who signs with a key of their own.
    #[must_use]
    pub fn of_key(key: SignerId) -> Self {
        Self { id: key.to_string(), key: Some(key), roles: Vec::new() }
    }

    /// Reads `{id, key, roles}`, of which the last two may be left out; `None` when it has another form.
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

    /// The form that [`Reviewer::read`] reads.
    #[must_use]
    pub fn to_json(&self) -> Json {
        let roles: Vec<_> = self.roles.iter().map(|role| Json::from(role.as_str())).collect();
        let object = object! {
            "id": self.id.as_str(),
            "key"?: self.key.map(|key| key.to_string()),
            "roles"?: (!roles.is_empty()).then_some(roles),
        };
        object.into()
    }

    /// The person, for whom `server` vouches.
    #[must_use]
    pub fn person(&self, server: SignerId) -> Person {
        match self.key {
            // The key identifies the same person whether they sign themselves or the server signs for them.
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
            Self::Passkey(passkey) => write!(f, "passkey:{passkey}"),
        }
    }
}

impl FromStr for Person {
    type Err = PersonError;

    fn from_str(text: &str) -> Result<Self, PersonError> {
        if let Some(passkey) = text.strip_prefix("passkey:") {
            return Ok(Self::Passkey(passkey.parse()?));
        }
        let person = match text.strip_prefix("reviewer:") {
            None => text.parse().ok().map(Self::Key),
            // An id may hold an `@`, a key does not.
            Some(rest) => rest.rsplit_once('@').and_then(|(id, server)| {
                let server = server.parse().ok()?;
                (1..=MAX_ID_BYTES).contains(&id.len()).then(|| Self::Caller { id: id.to_owned(), server })
            }),
        };
        person.ok_or(PersonError::Reviewer)
    }
}
