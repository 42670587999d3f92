use std::fmt;
use std::str::FromStr;

use thiserror::Error;

use crate::{hex, shown};

/// A receipt's id: a UUID version 4 (RFC 9562, section 5.4).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ReceiptId([u8; 16]);

/// The text or bytes are not a UUID version 4.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("`{0}` is not a UUID version 4")]
pub struct ParseReceiptIdError(String);

impl ParseReceiptIdError {
    /// What to write instead.
    pub fn help(&self) -> Option<String> {
        Some("write it as in `f47ac10b-58cc-4372-a567-0e02b2c3d479`".to_owned())
    }
}

impl ReceiptId {
    /// The id of these random bytes, six bits of which become version and variant.
    pub fn from_random_bytes(mut bytes: [u8; 16]) -> Self {
        // Bytes 6 and 8.
        let [.., version, _, variant, _, _, _, _, _, _, _] = &mut bytes;
        *version = *version & 0x0F | 0x40;
        *variant = *variant & 0x3F | 0x80;
        Self(bytes)
    }

    /// The id with these bytes.
    ///
    /// # Errors
    /// [`ParseReceiptIdError`] when version or variant is not that of a UUID version 4.
    pub fn from_bytes(bytes: [u8; 16]) -> Result<Self, ParseReceiptIdError> {
        let id = Self(bytes);
        // Setting version and variant changes every UUID but those of version 4.
        if Self::from_random_bytes(bytes) == id { Ok(id) } else { Err(ParseReceiptIdError(id.to_string())) }
    }

    /// The id's bytes, most significant first.
    pub fn as_bytes(&self) -> &[u8; 16] {
        &self.0
    }
}

impl FromStr for ReceiptId {
    type Err = ParseReceiptIdError;

    /// Reads 8-4-4-4-12 hex digits in either case.
    fn from_str(text: &str) -> Result<Self, ParseReceiptIdError> {
        let id = bytes(text).and_then(|bytes| Self::from_bytes(bytes).ok());
        id.ok_or_else(|| ParseReceiptIdError(shown(text)))
    }
}

/// The bytes of a UUID as it is written.
fn bytes(text: &str) -> Option<[u8; 16]> {
    let mut groups = text.split('-');
    // Capitals are the same id. The document keeps its text, so its hash stays the same.
    let (first, second) = (hex::decode::<4>(groups.next()?)?, hex::decode::<2>(groups.next()?)?);
    let (third, fourth) = (hex::decode::<2>(groups.next()?)?, hex::decode::<2>(groups.next()?)?);
    let last = hex::decode::<6>(groups.next()?)?;
    if groups.next().is_some() {
        return None;
    }
    let mut bytes = [0; 16];
    let parts = first.iter().chain(&second).chain(&third).chain(&fourth).chain(&last);
    bytes.iter_mut().zip(parts).for_each(|(to, from)| *to = *from);
    Some(bytes)
}

impl fmt::Display for ReceiptId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let digits = hex::encode(&self.0);
        let mut rest = digits.as_str();
        for (group, length) in [8, 4, 4, 4, 12].into_iter().enumerate() {
            if group > 0 {
                f.write_str("-")?;
            }
            // Always within the 32 digits.
            let (part, after) = rest.split_at_checked(length).unwrap_or((rest, ""));
            f.write_str(part)?;
            rest = after;
        }
        Ok(())
    }
}

impl fmt::Debug for ReceiptId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_version_4_is_read() {
        let id = ReceiptId::from_random_bytes([0xFF; 16]);
        assert_eq!(id.to_string(), "ffffffff-ffff-4fff-bfff-ffffffffffff");
        assert_eq!(id.to_string().parse(), Ok(id));
        assert_eq!(id.to_string().to_uppercase().parse(), Ok(id));
        for bad in [
            "a1b2c3d4-e5f6-7890-abcd-ef1234567890",
            "f47ac10b-58cc-4372-c567-0e02b2c3d479",
            "f47ac10b58cc4372a5670e02b2c3d479",
            "{f47ac10b-58cc-4372-a567-0e02b2c3d479}",
            "f47ac10b-58cc-4372-a567-0e02b2c3d47g",
            "f47ac10-b58cc-4372-a567-0e02b2c3d479",
            "",
        ] {
            assert!(bad.parse::<ReceiptId>().is_err(), "{bad}");
        }
    }
}
