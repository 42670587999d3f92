//! The options of `proofmark serve` on the tokens of an issuer.

use std::path::PathBuf;

use clap::Args;
use proofmark_receipt::{Json, object};
use proofmark_server::{ClaimMap, IssuerUrl, Loaded, Oidc, Source, log_warnings};

use crate::document;
use crate::served_files;

/// The longest audience, in bytes.
const MAX_AUDIENCE: usize = 256;

#[derive(Args)]
pub(super) struct OidcOptions {
    /// Also accept tokens (JWT) of this OpenID Connect issuer, beside API keys: https, or http on this host
    #[arg(long, value_name = "ISSUER", requires_all = ["oidc_audience", "oidc_map"])]
    oidc: Option<IssuerUrl>,
    /// The audience that tokens must be for: the name of this server, or of its client, at the issuer
    #[arg(long, value_name = "AUDIENCE", requires = "oidc", value_parser = audience)]
    oidc_audience: Option<String>,
    /// The rules, in YAML or JSON, that say which claims of a token give which role and tenant
    #[arg(long, value_name = "FILE", requires = "oidc")]
    pub(super) oidc_map: Option<PathBuf>,
}

/// The issuer whose tokens would count.
pub(super) struct FoundIssuer {
    issuer: String,
    audience: String,
    rules: u64,
    keys: u64,
}

impl OidcOptions {
    /// The issuer and the rules, with warnings about the rules.
    pub(super) fn read(&self) -> anyhow::Result<Option<(Oidc, Vec<String>)>> {
        let (Some(issuer), Some(audience), Some(source)) = (&self.oidc, &self.oidc_audience, self.source()) else {
            return Ok(None);
        };
        let Loaded { value: map, warnings } = served_files::load(&source, document::claim_map)?;
        Ok(Some((Oidc { issuer: issuer.clone(), audience: audience.clone(), map }, warnings)))
    }

    /// As [`OidcOptions::read`], but the warnings are logged.
    pub(super) fn logged(&self) -> anyhow::Result<Option<Oidc>> {
        Ok(self.read()?.map(|(oidc, warnings)| {
            log_warnings("oidc_map", &warnings);
            oidc
        }))
    }

    /// The file of rules, which is read again.
    pub(super) fn source(&self) -> Option<Source<ClaimMap>> {
        self.oidc_map.clone().map(served_files::claim_map)
    }

    /// Reads the rules, and asks the issuer once.
    pub(super) fn find(&self) -> anyhow::Result<Option<(FoundIssuer, Vec<String>)>> {
        let Some((Oidc { issuer, audience, map }, mut warnings)) = self.read()? else { return Ok(None) };
        let keys = Oidc::probe(&issuer)?;
        if keys == 0 {
            warnings
                .push(format!("`{}` has no key for RS256, PS256, ES256 or EdDSA: no token counts", issuer.as_str()));
        }
        let found =
            FoundIssuer { issuer: issuer.as_str().to_owned(), audience, rules: map.len() as u64, keys: keys as u64 };
        Ok(Some((found, warnings)))
    }
}

impl FoundIssuer {
    pub(super) fn to_json(&self) -> Json {
        object! {
            "issuer": self.issuer.as_str(),
            "audience": self.audience.as_str(),
            "rules": self.rules,
            "keys": self.keys,
        }
        .into()
    }

    /// In one line.
    pub(super) fn words(&self) -> String {
        let Self { issuer, audience, rules, keys } = self;
        format!("{issuer}, audience {audience}, keys {keys}, rules {rules}")
    }
}

fn audience(text: &str) -> Result<String, String> {
    if (1..=MAX_AUDIENCE).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_graphic()) {
        Ok(text.to_owned())
    } else {
        Err(format!("an audience has 1 to {MAX_AUDIENCE} visible ASCII characters"))
    }
}
