//! A passkey as a policy names it.

use std::fmt;
use std::str::FromStr;

use crate::key::PublicKey;
use crate::origin::Origin;

/// A passkey: its public key, and the origin of the pages that it is for. Written `es256:HEX@https://host`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Passkey {
    pub key: PublicKey,
    pub origin: Origin,
}

/// A text does not name a passkey.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PasskeyError {
    #[error("invalid public key of a passkey")]
    Key,
    #[error("invalid origin of a passkey")]
    Origin,
}

impl PasskeyError {
    /// What to write instead.
    #[must_use]
    pub fn help(&self) -> &'static str {
        match self {
            Self::Key => {
                "write it as the page `/ui/passkey` shows it: `es256:` and the 128 lower-case hex digits of a point of P-256, or \
                 `eddsa:` and 64, then `@` and the origin of the page"
            }
            Self::Origin => {
                "write the origin of the page as browsers do: `https://host`, `https://host:port` or `http://localhost:port`"
            }
        }
    }
}

impl fmt::Display for Passkey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}@{}", self.key, self.origin)
    }
}

impl FromStr for Passkey {
    type Err = PasskeyError;

    fn from_str(text: &str) -> Result<Self, PasskeyError> {
        let (key, origin) = text.split_once('@').ok_or(PasskeyError::Key)?;
        Ok(Self { key: key.parse()?, origin: origin.parse()? })
    }
}
