//! Why a text names no passkey.

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
