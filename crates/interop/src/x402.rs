//! Receipts in the headers of paid HTTP answers (x402): whole if they are short enough, otherwise by their id.
//!
//! A receipt in a header has the same bytes as elsewhere, in base64 (RFC 4648, section 4), so its hash and its signature
//! stay valid. Payments are handled elsewhere.

use base64ct::{Base64, Encoding};
use proofmark_receipt::{Receipt, ReceiptError, ReceiptId};

/// The header that carries a receipt (VRF 1.0, "With x402").
pub const HEADER: &str = "X-VRF-Receipt";
/// The relation of a `Link` that leads to a receipt (RFC 8288).
pub const RELATION: &str = "vrf-receipt";
/// The longest base64 that is put into a header, in bytes: common proxies accept 4 to 8 KiB for all headers together.
pub const MAX_INLINE: usize = 3_500;
/// The longest header that is read, in bytes: other issuers may write longer ones.
pub const MAX_HEADER: usize = 64 << 10;

/// How a receipt goes into the headers of an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Header {
    /// The whole receipt, in base64.
    Inline(String),
    /// The id of a receipt that is stored elsewhere.
    Reference { id: ReceiptId },
}

/// What a header carries.
#[derive(Clone, Debug, PartialEq)]
pub enum Carried {
    /// An unverified receipt, and its bytes exactly as they were sent.
    Receipt { text: String, receipt: Box<Receipt> },
    /// The id of a receipt that is stored elsewhere.
    Id(ReceiptId),
}

/// Why a header carries no receipt.
#[derive(Debug, thiserror::Error)]
pub enum HeaderError {
    #[error("read the header: {0} bytes exceed the limit of {MAX_HEADER}")]
    TooLong(usize),
    /// Neither base64 (RFC 4648, section 4, with its padding and without line breaks) nor an id.
    #[error("read the header: it is neither base64 nor a receipt id")]
    NotBase64,
    #[error("read the header: what it encodes is not UTF-8")]
    NotText,
    #[error("read the receipt in the header: {0}")]
    Receipt(#[from] ReceiptError),
}

impl HeaderError {
    /// What to send instead.
    #[must_use]
    pub fn help(&self) -> Option<String> {
        let help = match self {
            Self::TooLong(_) => "send the receipt's id instead",
            Self::NotBase64 => {
                "send what `proofmark x402 encode` prints: base64 with its padding and without line breaks"
            }
            Self::NotText => "encode the bytes of the receipt unchanged",
            Self::Receipt(error) => return error.help(),
        };
        Some(help.to_owned())
    }
}

/// The header for a receipt, with its bytes unchanged.
///
/// # Errors
/// When the text is not a receipt.
pub fn header(receipt: &str) -> Result<Header, ReceiptError> {
    let read = Receipt::parse(receipt.as_bytes())?;
    // Four characters for every three bytes, or begun three.
    let fits = receipt.len().div_ceil(3).saturating_mul(4) <= MAX_INLINE;
    Ok(match fits {
        true => Header::Inline(Base64::encode_string(receipt.as_bytes())),
        false => Header::Reference { id: read.receipt_id() },
    })
}

impl Header {
    /// The names and values of the headers to set. A receipt that is stored elsewhere has a link to `/v1/receipts/{id}`.
    pub fn fields(&self) -> Vec<(&'static str, String)> {
        match self {
            Header::Inline(base64) => vec![(HEADER, base64.clone())],
            Header::Reference { id } => {
                vec![(HEADER, id.to_string()), ("Link", format!("<{}>; rel=\"{RELATION}\"", path(id)))]
            }
        }
    }
}

/// The path of the receipt with this id on the server.
pub fn path(id: &ReceiptId) -> String {
    format!("/v1/receipts/{id}")
}

/// What a header carries. The signature of the receipt is not verified.
///
/// # Errors
/// [`HeaderError`] when it carries none, or one in a spelling that only some readers accept.
pub fn decode(value: &str) -> Result<Carried, HeaderError> {
    // Before anything is decoded: the header comes from a stranger.
    if value.len() > MAX_HEADER {
        return Err(HeaderError::TooLong(value.len()));
    }
    // An id is never base64, which has no dashes.
    if let Ok(id) = value.parse() {
        return Ok(Carried::Id(id));
    }
    // The decoder accepts one spelling only, so that two headers of one receipt cannot differ.
    let bytes = Base64::decode_vec(value).map_err(|_| HeaderError::NotBase64)?;
    let text = String::from_utf8(bytes).map_err(|_| HeaderError::NotText)?;
    let receipt = Box::new(Receipt::parse(text.as_bytes())?);
    Ok(Carried::Receipt { text, receipt })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const ID: &str = "a1b2c3d4-e5f6-4890-abcd-ef1234567890";

    fn receipt(description: &str, space: &str) -> String {
        let zeros = "0".repeat(64);
        format!(
            r#"{{{space}"vrf_version":"1.0","receipt_id":"{ID}","verified_at":"2026-02-19T00:46:00Z","tier":0,
            "verdict":"error","task":{{"description":"{description}"}},
            "results":{{"total":0,"passed":0,"failed":0,"errors":0,"details":[]}},
            "hashes":{{"specification":"sha256:{zeros}","output":"sha256:{zeros}"}}, "extra": [1.50, 1e2]}}"#
        )
    }

    #[test]
    fn a_long_receipt_goes_by_its_id() {
        let Header::Reference { id } = header(&receipt(&"x".repeat(MAX_INLINE), "")).unwrap() else {
            panic!("3,500 characters do not fit");
        };
        let fields = Header::Reference { id }.fields();
        assert_eq!(fields.first().unwrap().1, ID);
        assert_eq!(fields.last().unwrap().1, format!("</v1/receipts/{ID}>; rel=\"vrf-receipt\""));
        assert_eq!(decode(ID).unwrap(), Carried::Id(ID.parse().unwrap()));
    }

    #[test]
    fn the_limit_is_met_exactly() {
        let fixed = receipt("", "").len();
        let most = MAX_INLINE / 4 * 3;
        assert!(
            matches!(header(&receipt(&"x".repeat(most - fixed), "")), Ok(Header::Inline(text)) if text.len() == MAX_INLINE)
        );
        assert!(matches!(header(&receipt(&"x".repeat(most - fixed + 1), "")), Ok(Header::Reference { .. })));
    }

    #[test]
    fn only_one_spelling_is_read() {
        let Header::Inline(right) = header(&receipt("é", "")).unwrap() else { panic!("it is short") };
        assert!(decode(&right).is_ok());
        let unpadded = right.trim_end_matches('=').to_owned();
        let broken =
            [format!(" {right}"), format!("{right}\n"), format!("{right}="), right.replace('/', "_"), "=".into()];
        for wrong in broken.iter().chain((unpadded != right).then_some(&unpadded)) {
            assert!(*wrong == right || matches!(decode(wrong), Err(HeaderError::NotBase64)), "{wrong:?}");
        }
        assert!(matches!(decode("/////w=="), Err(HeaderError::NotText)));
        assert!(matches!(decode("e30="), Err(HeaderError::Receipt(_))));
        assert!(matches!(decode(""), Err(HeaderError::Receipt(_))));
        assert!(matches!(decode(&"A".repeat(MAX_HEADER + 1)), Err(HeaderError::TooLong(_))));
    }

    proptest! {
        #[test]
        fn the_bytes_come_back_as_they_were(description in "[^\"\\\\\\x00-\\x1f]{0,300}", space in "[ \n\t]{0,9}") {
            let text = receipt(&description, &space);
            if let Header::Inline(value) = header(&text).unwrap() {
                let Carried::Receipt { text: back, .. } = decode(&value).unwrap() else { panic!("a receipt went in") };
                prop_assert_eq!(back, text);
            }
        }

        #[test]
        fn nothing_makes_the_reader_panic(value in any::<String>(), bytes in any::<Vec<u8>>()) {
            drop(decode(&value));
            drop(decode(&Base64::encode_string(&bytes)));
        }
    }
}
