//! Tenants: everything stored belongs to exactly one.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use proofmark_receipt::document::shown;
use thiserror::Error;

/// The longest name of a tenant, in bytes.
pub const MAX_TENANT: usize = 64;

/// The name of the tenant that the command line works for.
const LOCAL: &str = "local";

/// The owner of rows: 1 to [`MAX_TENANT`] ASCII letters, digits, `-`, `_` and `.`, the first a letter or a digit.
///
/// `Acme` and `acme` are two tenants. `local`, in any case, is the command line's alone.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Tenant(Option<Arc<str>>);

/// Why a text does not name a tenant.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum TenantError {
    /// It is empty.
    #[error("invalid tenant: the name is empty")]
    Empty,
    /// It is reserved for the command line.
    #[error("invalid tenant `{0}`: the name is reserved for the command line")]
    Reserved(String),
    /// It is too long or has other characters.
    #[error(
        "invalid tenant `{given}`: a name has 1 to {MAX_TENANT} letters, digits, `-`, `_` and `.`, and begins with a \
         letter or a digit"
    )]
    Invalid {
        /// The name, escaped and cut to fit a message.
        given: String,
        /// A valid name like it.
        instead: String,
    },
}

impl TenantError {
    /// What to do about it.
    #[must_use]
    pub fn help(&self) -> Option<String> {
        Some(match self {
            Self::Empty => format!("write 1 to {MAX_TENANT} letters, digits, `-`, `_` and `.`"),
            Self::Reserved(_) => "choose another name".to_owned(),
            Self::Invalid { instead, .. } => format!("write for instance `{instead}`"),
        })
    }
}

impl Tenant {
    /// The command line, and a server without API keys.
    pub const LOCAL: Self = Self(None);

    /// The name.
    #[must_use]
    pub fn as_str(&self) -> &str {
        self.0.as_deref().unwrap_or(LOCAL)
    }

    /// A tenant of an API key: any but the command line's.
    ///
    /// # Errors
    /// [`TenantError`] names what is wrong and what to write.
    pub fn of_key(name: &str) -> Result<Self, TenantError> {
        match name.parse()? {
            Self(None) => Err(TenantError::Reserved(LOCAL.to_owned())),
            tenant => Ok(tenant),
        }
    }

    /// The tenant that a row names.
    pub(crate) fn stored(name: &str) -> Self {
        // Not checked again: a row got its name from a `Tenant`.
        Self((name != LOCAL).then(|| name.into()))
    }
}

impl FromStr for Tenant {
    type Err = TenantError;

    fn from_str(name: &str) -> Result<Self, TenantError> {
        if name.is_empty() {
            return Err(TenantError::Empty);
        }
        if name == LOCAL {
            return Ok(Self::LOCAL);
        }
        if name.eq_ignore_ascii_case(LOCAL) {
            return Err(TenantError::Reserved(name.to_owned()));
        }
        let begins = name.starts_with(|c: char| c.is_ascii_alphanumeric());
        if begins && name.len() <= MAX_TENANT && name.chars().all(is_plain) {
            Ok(Self(Some(name.into())))
        } else {
            Err(TenantError::Invalid { given: shown(name), instead: like(name) })
        }
    }
}

impl fmt::Display for Tenant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

fn is_plain(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.')
}

/// A name of plain characters that is like this one.
fn like(name: &str) -> String {
    let plain = name.chars().map(|c| if is_plain(c) { c } else { '.' });
    let begun: String = plain.skip_while(|c| !c.is_ascii_alphanumeric()).take(MAX_TENANT).collect();
    if begun.is_empty() { "tenant".to_owned() } else { begun }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_checked() {
        for good in ["a", "acme.shop", "Acme-2_x", "local2", "9", &"a".repeat(MAX_TENANT)] {
            assert_eq!(Tenant::of_key(good).map(|tenant| tenant.to_string()), Ok(good.to_owned()));
        }
        for bad in [
            "",
            "local",
            "LOCAL",
            "Local",
            "acme/shop",
            "/",
            ".",
            "..",
            "-a",
            "a b",
            "a\0",
            "a\nb",
            "ä",
            &"a".repeat(65),
        ] {
            assert!(Tenant::of_key(bad).is_err(), "{bad:?}");
        }
        assert_eq!("local".parse(), Ok(Tenant::LOCAL));
        let refused = Tenant::of_key("acme/shop");
        assert!(matches!(refused, Err(TenantError::Invalid { instead, .. }) if instead == "acme.shop"));
    }
}
