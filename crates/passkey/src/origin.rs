//! The origin of the pages on which a passkey is used.

use std::fmt;
use std::str::FromStr;

use proofmark_receipt::Sha256Digest;

use crate::passkey::PasskeyError;

/// The longest name of a host, in bytes (RFC 1035).
const MAX_HOST: usize = 253;

/// The origin of a page, as browsers write it: `https://host`, `https://host:port`, or `http://localhost:port`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Origin(String);

impl Origin {
    /// The text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The relying party: the host, to which browsers bind passkeys.
    #[must_use]
    pub fn relying_party(&self) -> &str {
        let host = self.0.split_once("://").map_or("", |(_, host)| host);
        host.split_once(':').map_or(host, |(host, _)| host)
    }

    /// SHA-256(relying party), as authenticators write it.
    #[must_use]
    pub fn relying_party_hash(&self) -> Sha256Digest {
        Sha256Digest::of(self.relying_party().as_bytes())
    }
}

/// Whether it is the name of a host, in lower case. Browsers bind no passkey to an address.
fn is_host(host: &str) -> bool {
    let is_label = |label: &str| {
        let bytes = label.as_bytes();
        !bytes.is_empty()
            && bytes.iter().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || *byte == b'-')
            && !label.starts_with('-')
            && !label.ends_with('-')
    };
    let is_number = host.rsplit('.').next().is_some_and(|last| last.bytes().all(|byte| byte.is_ascii_digit()));
    host.len() <= MAX_HOST && host.split('.').all(is_label) && !is_number
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl FromStr for Origin {
    type Err = PasskeyError;

    fn from_str(text: &str) -> Result<Self, PasskeyError> {
        let (scheme, rest) = text.split_once("://").ok_or(PasskeyError::Origin)?;
        let (host, port) = rest.split_once(':').map_or((rest, None), |(host, port)| (host, Some(port)));
        // In the one spelling of browsers, without the port that the scheme implies.
        let is_port = |port: &str| {
            let implied = if scheme == "https" { "443" } else { "80" };
            port.parse::<u16>().is_ok_and(|number| number > 0 && number.to_string() == port) && port != implied
        };
        let is_secure = scheme == "https" || (scheme == "http" && host == "localhost");
        if is_secure && is_host(host) && port.is_none_or(is_port) {
            Ok(Self(text.to_owned()))
        } else {
            Err(PasskeyError::Origin)
        }
    }
}
