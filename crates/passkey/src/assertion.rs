//! What an authenticator signed (WebAuthn Level 3, section 7.2).

use base64ct::{Base64UrlUnpadded, Encoding};
use proofmark_receipt::{Json, Object, Sha256Digest, hex, object};

use crate::key::PublicKey;
use crate::origin::Origin;
use crate::passkey::Passkey;

/// The longest id of a credential, in bytes of text (1,023 bytes, section 6.1).
const MAX_CREDENTIAL: usize = 2_046;
/// The longest client data, in bytes. Browsers write less than 300.
const MAX_CLIENT_DATA: usize = 4_096;
/// The authenticator's data without what an assertion of ours does not have: a credential, and extensions.
const DATA_BYTES: usize = 37;
/// The flags of the authenticator's data.
const USER_PRESENT: u8 = 0x01;
const USER_VERIFIED: u8 = 0x04;
const CREDENTIAL_INCLUDED: u8 = 0x40;
const EXTENSIONS_INCLUDED: u8 = 0x80;

/// A digest as client data has it.
pub(crate) fn challenge_text(digest: &Sha256Digest) -> String {
    Base64UrlUnpadded::encode_string(digest.as_bytes())
}

/// What an authenticator answered to a challenge.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Assertion {
    /// The id of the credential in base64url. It says nothing about who signed.
    credential: String,
    /// SHA-256 of the relying party, flags, and the signature counter.
    data: [u8; DATA_BYTES],
    /// The JSON text that the browser made, as it was signed.
    client_data: String,
    /// r and s, or R and S.
    signature: [u8; 64],
}

/// Why an assertion does not count.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AssertionError {
    #[error("it is not complete, or longer than it may be")]
    Malformed,
    #[error("its client data is not what a browser writes for an approval")]
    ClientData,
    #[error("it is over something else than this approval")]
    Challenge,
    #[error("it was made on a page of another origin")]
    Origin,
    #[error("it is for another relying party")]
    RelyingParty,
    #[error("the authenticator has not verified the user")]
    User,
    #[error("its signature is not that of the passkey")]
    Signature,
}

impl Assertion {
    /// Reads `{credential, authenticator_data, client_data, signature}`, as a page sends it and a receipt keeps it: the
    /// credential's id and the client data as texts, the rest in hex. Other members are not looked at.
    ///
    /// # Errors
    /// [`AssertionError::Malformed`].
    pub fn read(object: &Object) -> Result<Self, AssertionError> {
        let text = |name: &str| object.get(name)?.as_str();
        let read = || {
            Some(Self {
                credential: text("credential").filter(|id| id.len() <= MAX_CREDENTIAL)?.to_owned(),
                data: hex::decode_lower(text("authenticator_data")?)?,
                client_data: text("client_data").filter(|text| text.len() <= MAX_CLIENT_DATA)?.to_owned(),
                signature: hex::decode_lower(text("signature")?)?,
            })
        };
        read().ok_or(AssertionError::Malformed)
    }

    /// The assertion of this passkey, as the receipt of an approval keeps it.
    #[must_use]
    pub fn write(&self, passkey: &Passkey) -> Object {
        object! {
            "key": passkey.to_string(),
            "credential": self.credential.as_str(),
            "authenticator_data": hex::encode(&self.data),
            "client_data": self.client_data.as_str(),
            "signature": hex::encode(&self.signature),
        }
    }

    /// The origin that the browser wrote, if it can be one. [`Assertion::verify`] holds it against that of the passkey.
    #[must_use]
    pub fn origin(&self) -> Option<Origin> {
        let client_data = Json::parse(self.client_data.as_bytes()).ok()?;
        client_data.as_object()?.get("origin")?.as_str()?.parse().ok()
    }

    /// The signature counter. An authenticator that does not count has 0.
    #[must_use]
    pub fn counter(&self) -> u32 {
        let [.., a, b, c, d] = self.data;
        u32::from_be_bytes([a, b, c, d])
    }

    /// Whether the holder of the passkey, verified by the authenticator, signed this challenge on a page of the passkey's origin.
    ///
    /// # Errors
    /// [`AssertionError`] names the first check that fails.
    pub fn verify(&self, passkey: &Passkey, challenge: &Sha256Digest) -> Result<(), AssertionError> {
        self.check_client_data(passkey, challenge)?;
        let (relying_party, rest) = self.data.split_at(32);
        let flags = rest.first().copied().unwrap_or_default();
        if relying_party != passkey.origin.relying_party_hash().as_bytes() {
            return Err(AssertionError::RelyingParty);
        }
        let is_verified = flags & USER_PRESENT != 0 && flags & USER_VERIFIED != 0;
        if !is_verified {
            return Err(AssertionError::User);
        }
        // Both would be behind the bytes that there are.
        if flags & (CREDENTIAL_INCLUDED | EXTENSIONS_INCLUDED) != 0 {
            return Err(AssertionError::Malformed);
        }
        if self.is_signed_by(&passkey.key) { Ok(()) } else { Err(AssertionError::Signature) }
    }

    /// Whether this key signed it, whatever it says.
    #[must_use]
    pub fn is_signed_by(&self, key: &PublicKey) -> bool {
        let client_data = Sha256Digest::of(self.client_data.as_bytes());
        key.verifies(&[&self.data[..], client_data.as_bytes()].concat(), &self.signature)
    }

    fn check_client_data(&self, passkey: &Passkey, challenge: &Sha256Digest) -> Result<(), AssertionError> {
        let parsed = Json::parse(self.client_data.as_bytes()).map_err(|_| AssertionError::ClientData)?;
        let client_data = parsed.as_object().ok_or(AssertionError::ClientData)?;
        let text = |name: &str| client_data.get(name).and_then(Json::as_str);
        // A frame of another page may show ours, and the user would not see whose page it is.
        let is_framed = client_data.contains("topOrigin")
            || client_data.get("crossOrigin").is_some_and(|framed| framed.as_bool() != Some(false));
        if text("type") != Some("webauthn.get") || is_framed {
            return Err(AssertionError::ClientData);
        }
        if text("challenge") != Some(challenge_text(challenge).as_str()) {
            return Err(AssertionError::Challenge);
        }
        if text("origin") != Some(passkey.origin.as_str()) {
            return Err(AssertionError::Origin);
        }
        Ok(())
    }
}
