//! A passkey as a policy names it.

use std::fmt;
use std::str::FromStr;

use crate::error::PasskeyError;
use crate::key::PublicKey;
use crate::origin::Origin;

/// A passkey: its public key, and the origin of the pages that it is for. Written `es256:HEX@https://host`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Passkey {
    pub key: PublicKey,
    pub origin: Origin,
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
