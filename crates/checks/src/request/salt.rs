//! The salt that keeps the digests of a hidden suite from being guessed.

use super::{Code, Field, Fields, RequestError, one_of};
use crate::suite::Reveal;

/// The fewest characters of a salt: 16 random ones of base 64 are 96 bits.
pub(crate) const MIN_SALT_CHARS: usize = 16;
/// The most characters of a salt.
pub(crate) const MAX_SALT_CHARS: usize = 256;

/// Reads the salt, which stands where the fields of the suite do. It is part of what is hashed: anyone who has the suite can
/// compute the digests, and without it nobody can try suites until one of them fits.
pub(super) fn read(verification: &Fields<'_>, reveal: Reveal) -> Result<Option<String>, RequestError> {
    let nested = verification.get("test_suite").map(|suite| suite.fields()).transpose()?;
    let field = one_of(verification.get("salt"), nested.as_ref().and_then(|suite| suite.get("salt")))?;
    match (field, reveal) {
        (Some(field), _) => checked(&field).map(Some),
        (None, Reveal::All | Reveal::Failures) => Ok(None),
        (None, Reveal::None) => {
            let message = format!(
                "`reveal: none` needs a random string of at least {MIN_SALT_CHARS} characters, kept secret with the suite; without it the hidden tests can be guessed from their digest"
            );
            Err(verification.missing("salt", &message))
        }
    }
}

fn checked(field: &Field<'_>) -> Result<String, RequestError> {
    let salt = field.text()?;
    if (MIN_SALT_CHARS..=MAX_SALT_CHARS).contains(&salt.chars().count()) {
        return Ok(salt.to_owned());
    }
    let message = format!("write a random string of {MIN_SALT_CHARS} to {MAX_SALT_CHARS} characters");
    Err(field.error(Code::InvalidValue, message))
}
