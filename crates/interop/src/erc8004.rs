//! Answers for the Validation Registry of ERC-8004 ("Trustless Agents"): a receipt becomes a call of `validationResponse`.
//!
//! Nothing here reaches a chain: a wallet of the validator signs and sends the call.

use std::str::FromStr;

use proofmark_receipt::{Json, Object, Receipt, Verdict, hex, object};
use sha3::{Digest, Keccak256};

use crate::ExportError;
use crate::document::{Document, check_verified_work};

/// The function of the registry, as its selector is computed from it.
pub const FUNCTION: &str = "validationResponse(bytes32,uint8,string,bytes32,string)";

/// The longest address of a response, in bytes. Each costs the sender, and readers of a chain have their own limits.
pub const MAX_URI_BYTES: usize = 2_048;

/// The bytes of a word of Ethereum's ABI.
const WORD: usize = 32;

/// Words before the texts: two hashes, the response, and where each of the texts begins.
const HEAD_WORDS: usize = 5;

/// The hash that identifies a request for validation: KECCAK-256 of the request, which the agent gave to the registry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RequestHash([u8; WORD]);

/// Where the receipt can be fetched: an absolute URI, or nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ResponseUri(String);

/// Why the registry does not accept a text.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ArgumentError {
    #[error("expected `0x` and 64 hex digits")]
    NotHash,
    /// What an unset variable holds.
    #[error("the hash is zero, which identifies no request")]
    ZeroHash,
    #[error("expected an absolute URI, as `https://…` or `ipfs://…`, without spaces and in ASCII")]
    NotUri,
    #[error("the URI has {0} bytes, and at most {MAX_URI_BYTES} are written to a chain")]
    LongUri(usize),
}

/// The arguments of one call of [`FUNCTION`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ValidationResponse {
    request: RequestHash,
    response: u8,
    uri: ResponseUri,
    hash: [u8; WORD],
    tag: &'static str,
}

impl ValidationResponse {
    /// What a receipt answers to a request.
    ///
    /// `response` is 100 for `pass`, 0 for `fail`, and for `partial` the share of checks that passed, in percent and rounded down.
    /// `responseHash` is KECCAK-256 of the receipt's text, signature included. `tag` names what verified.
    ///
    /// # Errors
    /// [`ExportError::Document`] when the signature is not valid; [`ExportError::NoJudgment`] for a receipt that is not of verified work,
    /// and [`ExportError::NoScore`] for the verdict `error`.
    pub fn new(receipt: &Receipt, request: RequestHash, uri: ResponseUri) -> Result<Self, ExportError> {
        Document::from(receipt.clone()).signer()?;
        check_verified_work(receipt)?;
        let response = score(receipt)?;
        let tag = if receipt.tier() == 0 { "tests" } else { "constraints" };
        Ok(Self { request, response, uri, hash: keccak256(receipt.to_text().as_bytes()), tag })
    }

    /// The data of a transaction to the registry: the selector of the function, and the arguments in Ethereum's ABI.
    #[must_use]
    pub fn call_data(&self) -> Vec<u8> {
        let uri = text(&self.uri.0);
        let head = HEAD_WORDS * WORD;
        let words = [
            self.request.0,
            word(u64::from(self.response)),
            word(head as u64),
            self.hash,
            word(head.saturating_add(uri.len()) as u64),
        ];
        let selector = keccak256(FUNCTION.as_bytes()).into_iter().take(4);
        selector.chain(words.into_iter().flatten()).chain(uri).chain(text(self.tag)).collect()
    }

    /// The arguments by the names of the standard, and the call data, for people and wallets.
    #[must_use]
    pub fn document(&self) -> Object {
        object! {
            "function": FUNCTION,
            "requestHash": prefixed(&self.request.0),
            "response": u64::from(self.response),
            "responseURI": self.uri.0.as_str(),
            "responseHash": prefixed(&self.hash),
            "tag": self.tag,
            "data": Json::from(prefixed(&self.call_data())),
        }
    }
}

/// A whole number from 0 to 100.
fn score(receipt: &Receipt) -> Result<u8, ExportError> {
    let results = receipt.results();
    match receipt.verdict() {
        Verdict::Pass => Ok(100),
        Verdict::Fail => Ok(0),
        Verdict::Partial => {
            let share = (u128::from(results.passed) * 100).checked_div(u128::from(results.total));
            share.and_then(|share| u8::try_from(share).ok()).ok_or(ExportError::NoScore)
        }
        Verdict::Error => Err(ExportError::NoScore),
    }
}

impl FromStr for RequestHash {
    type Err = ArgumentError;

    fn from_str(text: &str) -> Result<Self, ArgumentError> {
        let hash = text.strip_prefix("0x").and_then(hex::decode::<WORD>).ok_or(ArgumentError::NotHash)?;
        if hash == [0; WORD] { Err(ArgumentError::ZeroHash) } else { Ok(Self(hash)) }
    }
}

impl FromStr for ResponseUri {
    type Err = ArgumentError;

    fn from_str(text: &str) -> Result<Self, ArgumentError> {
        if text.len() > MAX_URI_BYTES {
            return Err(ArgumentError::LongUri(text.len()));
        }
        let (scheme, rest) = text.split_once(':').ok_or(ArgumentError::NotUri)?;
        let letter = scheme.starts_with(|first: char| first.is_ascii_alphabetic());
        let named = scheme.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte));
        let written = rest.bytes().all(|byte| byte.is_ascii_graphic());
        if letter && named && written && !rest.is_empty() {
            Ok(Self(text.to_owned()))
        } else {
            Err(ArgumentError::NotUri)
        }
    }
}

/// A number in a word, its most significant byte first.
fn word(number: u64) -> [u8; WORD] {
    let mut word = [0; WORD];
    word.iter_mut().rev().zip(number.to_le_bytes()).for_each(|(to, byte)| *to = byte);
    word
}

/// A text as the ABI has it: its length, and its bytes with zeros to a whole word.
fn text(text: &str) -> Vec<u8> {
    let mut encoded = word(text.len() as u64).to_vec();
    encoded.extend_from_slice(text.as_bytes());
    encoded.resize(encoded.len().next_multiple_of(WORD), 0);
    encoded
}

fn keccak256(bytes: &[u8]) -> [u8; WORD] {
    Keccak256::digest(bytes).into()
}

fn prefixed(bytes: &[u8]) -> String {
    format!("0x{}", hex::encode(bytes))
}
