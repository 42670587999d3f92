//! `proofmark log witness`.

use std::net::SocketAddr;
use std::path::PathBuf;

use anyhow::anyhow;
use clap::Args;
use proofmark_log::Witness as Cosigning;
use proofmark_server::serve_witness;
use proofmark_tlog::Cosigner;

use crate::config::Config;
use crate::exit::Exit;
use crate::logs::LogTrust;
use crate::options::Unlock;
use crate::out;
use crate::serve::Logging;

/// Cosign checkpoints of logs over HTTP, each only if it continues the one before
///
/// What was cosigned last is on disk before it is answered. Those who trust this witness know that the log has shown it one history. Give
/// others the key that the command prints at its start. It speaks the protocol of C2SP tlog-witness.
#[derive(Args)]
#[command(after_help = "Examples:
  proofmark key new witness
  proofmark log witness --name witness.example.net/w1 --key witness --log-policy logs.txt --listen 127.0.0.1:8700")]
pub(crate) struct Witness {
    /// The name of the witness: its address without `https://`
    #[arg(long, value_name = "NAME")]
    name: String,
    /// The witness's own key, which signs nothing else: a name, or the path of a key file
    #[arg(long, value_name = "KEY")]
    key: String,
    /// Listen on this address
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:8710")]
    listen: SocketAddr,
    /// The folder of what was cosigned last [default: `witness` in $PROOFMARK_HOME]
    #[arg(long, value_name = "DIR")]
    state: Option<PathBuf>,
    #[command(flatten)]
    trust: LogTrust,
    #[command(flatten)]
    unlock: Unlock,
    #[command(flatten)]
    logging: Logging,
}

impl Witness {
    pub(crate) fn run(self, config: &Config) -> anyhow::Result<Exit> {
        // The log has a name, because `_` would drop it at once; it must live as long as the server.
        let _log = self.logging.start()?;
        let logs = self.trust.read(config)?.vkeys();
        let key = self.unlock.load(config, &self.key)?;
        let cosigner = Cosigner::from_pkcs8_pem(&self.name, &key.to_pkcs8_pem());
        let cosigner = cosigner.map_err(|error| anyhow!("cosign as `{}`: {error}", self.name))?;
        let folder = self.state.clone().unwrap_or_else(|| config.home.join("witness"));
        let witness = Cosigning::open(cosigner, logs, &folder)?;
        let vkey = witness.vkey().to_string();
        serve_witness(witness, self.listen, |address| {
            out::announce(format_args!("witness on http://{address} with the key {vkey}"));
        })
        .map_err(|error| anyhow!("serve the witness on {} ({error})", self.listen))?;
        Ok(Exit::Yes)
    }
}
