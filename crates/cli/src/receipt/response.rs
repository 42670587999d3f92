//! Receipts as answers for the Validation Registry of ERC-8004.

use anyhow::anyhow;
use clap::Args;
use proofmark_interop::erc8004::{RequestHash, ResponseUri, ValidationResponse};
use proofmark_receipt::document::shown;
use proofmark_receipt::{Json, Profile, Receipt, Trust};

use super::exported;
use super::read::{self, Stored};
use crate::config::Config;
use crate::error::with_help;
use crate::options::StoreAt;

/// The members of a response that are not in the receipt.
#[derive(Args)]
pub(super) struct ResponseOptions {
    /// The request that a response of ERC-8004 answers: its `requestHash`, `0x` and 64 hex digits
    #[arg(long, value_name = "HASH")]
    request_hash: Option<String>,
    /// The address of the receipt in a response of ERC-8004 [default: none]
    #[arg(long, value_name = "URI")]
    response_uri: Option<String>,
}

impl ResponseOptions {
    /// The first of these options that was given.
    pub(super) fn given(&self) -> Option<&'static str> {
        let request = self.request_hash.as_ref().map(|_| "--request-hash");
        request.or(self.response_uri.as_ref().map(|_| "--response-uri"))
    }

    /// The call that answers with the one receipt of the store that `ids` names.
    pub(super) fn call(&self, ids: &[String], store: &StoreAt, config: &Config) -> anyhow::Result<Json> {
        let [id] = ids else {
            let help = "name one id, and the request with `--request-hash`";
            return Err(with_help("export several receipts as `erc8004`: each answers its own request", help));
        };
        let (request, uri) = (self.request()?, self.uri()?);
        let receipt = current(id, store, config)?;
        let response = ValidationResponse::new(&receipt, request, uri).map_err(exported::failed)?;
        // The owner of the wallet is responsible for what it sends, so only receipts of trusted signers are exported.
        let trusted = config.known_signers()?.trusted(&[])?;
        let checked = trusted.check(receipt.to_text().as_bytes(), Profile::Vrf);
        if checked.verification.trust != Trust::Trusted {
            let help = "trust its signer with `proofmark trust add NAME SIGNER --for verification`";
            return Err(refused(id, "you do not trust its signer for verifications", help));
        }
        Ok(response.document().into())
    }

    fn request(&self) -> anyhow::Result<RequestHash> {
        let hash = self.request_hash.as_deref().ok_or_else(|| {
            let help = "add `--request-hash`, with the hash by which the agent asked the registry";
            with_help("export as `erc8004`: a response names the request that it answers", help)
        })?;
        hash.parse().map_err(|error| anyhow!("read `--request-hash` `{}`: {error}", shown(hash)))
    }

    fn uri(&self) -> anyhow::Result<ResponseUri> {
        let Some(uri) = &self.response_uri else { return Ok(ResponseUri::default()) };
        uri.parse().map_err(|error| anyhow!("read `--response-uri` `{}`: {error}", shown(uri)))
    }
}

/// The receipt of the store with this id, if no other one has superseded it.
fn current(id: &str, store: &StoreAt, config: &Config) -> anyhow::Result<Receipt> {
    let Stored::Receipt(receipt) = read::stored(id, store, config)? else {
        return Err(refused(
            id,
            "it is a decision, and only a receipt has a score",
            "name the receipt of verified work",
        ));
    };
    let kept = store.open_existing(config)?.all_tenants_receipt(&receipt.receipt_id())?;
    match kept.and_then(|kept| kept.superseded_by) {
        Some(newer) => Err(refused(id, "another receipt superseded it", &format!("export the receipt {newer}"))),
        None => Ok(*receipt),
    }
}

fn refused(id: &str, why: &str, help: &str) -> anyhow::Error {
    with_help(format!("export `{id}` as `erc8004`: {why}"), help)
}
