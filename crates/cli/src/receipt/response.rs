//! Receipts as answers for the Validation Registry of ERC-8004.

use anyhow::anyhow;
use clap::Args;
use proofmark_interop::erc8004::{FUNCTION, RequestHash, ResponseUri, ValidationResponse};
use proofmark_receipt::{Json, Profile, Trust};

use super::exported;
use super::read::{self, Stored};
use crate::config::Config;
use crate::error::with_help;
use crate::options::StoreAt;

/// What a response has beside the receipt.
#[derive(Args)]
pub(super) struct ResponseOptions {
    /// The request that a response of ERC-8004 answers: its `requestHash`, `0x` and 64 hex digits
    #[arg(long, value_name = "HASH")]
    request_hash: Option<String>,
    /// Where a response of ERC-8004 says that the receipt can be fetched [default: nowhere]
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
            return Err(with_help("export several receipts as `erc8004`: each answers a request of its own", help));
        };
        let request = self.request_hash.as_deref().ok_or_else(|| {
            let help = "add `--request-hash`, with the hash by which the agent asked the registry";
            with_help("export as `erc8004`: a response names the request that it answers", help)
        })?;
        let request: RequestHash =
            request.parse().map_err(|error| anyhow!("read `--request-hash` `{request}`: {error}"))?;
        let uri = self.response_uri.as_deref().map(|uri| {
            uri.parse::<ResponseUri>().map_err(|error| anyhow!("read `--response-uri` `{uri}`: {error}"))
        });
        let uri = uri.transpose()?.unwrap_or_default();
        let Stored::Receipt(receipt) = read::stored(id, store, config)? else {
            let name = FUNCTION.split('(').next().unwrap_or(FUNCTION);
            return Err(anyhow!("export `{id}` as `erc8004`: it is a decision, and `{name}` takes the score of a receipt"));
        };
        let kept = store.open_existing(config)?.all_tenants_receipt(&receipt.receipt_id())?;
        if let Some(newer) = kept.and_then(|kept| kept.superseded_by) {
            let help = format!("export the receipt {newer}");
            return Err(with_help(format!("export `{id}` as `erc8004`: another receipt superseded it"), help));
        }
        let response = ValidationResponse::new(&receipt, request, uri).map_err(exported::failed)?;
        // The wallet's owner stands for what it sends, so a receipt of just anybody in the store is no answer.
        let trusted = config.known_signers()?.trusted(&[])?;
        let checked = trusted.check(receipt.to_text().as_bytes(), Profile::Vrf);
        if checked.verification.trust != Trust::Trusted {
            let help = "trust its signer with `proofmark trust add NAME SIGNER --for verification`";
            return Err(with_help(format!("export `{id}` as `erc8004`: you do not trust its signer for verifications"), help));
        }
        Ok(response.document().into())
    }
}
