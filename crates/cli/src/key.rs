//! `proofmark key`.

use std::io::Write;
use std::path::{Path, PathBuf};

use clap::{Args, Subcommand, ValueEnum};
use proofmark_keys::{MAX_KEY_FILE, Passphrase};
use proofmark_receipt::{Json, SignerId, Timestamp, object};
use proofmark_verifier::now;

use crate::config::{Config, DEFAULT_KEY};
use crate::error::with_help;
use crate::exit::Exit;
use crate::input;
use crate::listing::Listing;
use crate::options::Unlock;
use crate::out;

/// Create, show, import and list signing keys
#[derive(Subcommand)]
pub(crate) enum Key {
    /// Create a signing key
    New(New),
    /// Print the public half of a key
    Show(Show),
    /// Import an Ed25519 key of openssl or OpenSSH, encrypted or not
    Import(Import),
    /// List the keys
    List(List),
    /// End a key: what it signs from then on does not count
    End(End),
}

#[derive(Args)]
#[command(mut_arg("passphrase_file", |file| file.help("Encrypt the key with the passphrase in this file [default: $PROOFMARK_PASSPHRASE]")))]
#[command(after_help = "Example:\n  proofmark key new release --passphrase-file passphrase.txt")]
pub(crate) struct New {
    /// The name of the key
    #[arg(default_value = DEFAULT_KEY)]
    name: String,
    #[command(flatten)]
    unlock: Unlock,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Args)]
#[command(after_help = "Examples:\n  proofmark key show\n  proofmark key show reviewer --as jwk")]
pub(crate) struct Show {
    /// The name of the key, or the path of a key file
    #[arg(default_value = DEFAULT_KEY)]
    name: String,
    /// Print the public key in this form only
    #[arg(long = "as", value_enum, value_name = "FORM")]
    form: Option<Form>,
    #[command(flatten)]
    unlock: Unlock,
    /// Print JSON
    #[arg(long, conflicts_with = "form")]
    json: bool,
}

#[derive(Args)]
#[command(mut_arg("passphrase_file", |file| {
    file.help("Decrypt the key, and encrypt the copy, with the passphrase in this file [default: $PROOFMARK_PASSPHRASE, or a prompt on a terminal]")
}))]
#[command(after_help = "Example:\n  proofmark key import ~/.ssh/id_ed25519 --name release")]
pub(crate) struct Import {
    /// The private key, in PKCS#8 PEM or OpenSSH format, or - for standard input
    #[arg(value_name = "FILE|-")]
    file: PathBuf,
    /// The name of the imported key
    #[arg(long, default_value = DEFAULT_KEY)]
    name: String,
    #[command(flatten)]
    unlock: Unlock,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Args)]
#[command(after_help = "Example:\n  proofmark key list --json")]
pub(crate) struct List {
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// End a key: what it signs from then on does not count
///
/// The key stays, and what it signed before counts as before. No command signs with it any more. Its end can be moved to an earlier
/// time, and never to a later one.
#[derive(Args)]
#[command(after_help = "Example:\n  proofmark key end default")]
pub(crate) struct End {
    /// The name of the key
    name: String,
    /// When it ends [default: now]
    #[arg(long, value_name = "TIME")]
    at: Option<Timestamp>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, ValueEnum)]
enum Form {
    /// The signer id of receipts: base64 of the SubjectPublicKeyInfo
    SignerId,
    /// A decentralized identifier
    DidKey,
    /// A JSON Web Key
    Jwk,
    /// SHA-256 of the SubjectPublicKeyInfo
    Fingerprint,
    /// PEM, as openssl reads it
    Pem,
}

impl Key {
    pub(crate) fn run(self, config: &Config) -> anyhow::Result<Exit> {
        match self {
            Key::New(command) => command.run(config),
            Key::Show(command) => command.run(config),
            Key::Import(command) => command.run(config),
            Key::List(command) => command.run(config),
            Key::End(command) => command.run(config),
        }
    }
}

impl New {
    fn run(self, config: &Config) -> anyhow::Result<Exit> {
        let passphrase = self.unlock.passphrase(config)?;
        let key = config.keyring().create(&self.name, passphrase.as_ref())?;
        print(&self.name, &key.signer(), self.json)
    }
}

impl Show {
    fn run(self, config: &Config) -> anyhow::Result<Exit> {
        let signer = self.signer(config)?;
        let Some(form) = self.form else { return print(&self.name, &signer, self.json) };
        let text = match form {
            Form::SignerId => signer.to_string(),
            Form::DidKey => signer.did_key(),
            Form::Jwk => Json::from(signer.jwk()).to_text(),
            Form::Fingerprint => signer.fingerprint(),
            Form::Pem => signer.to_public_pem().trim_end().to_owned(),
        };
        writeln!(out::stdout(), "{text}")?;
        Ok(Exit::Yes)
    }
}

impl Show {
    /// The public half, for which an encrypted key need not be decrypted once it is stored.
    fn signer(&self, config: &Config) -> anyhow::Result<SignerId> {
        // A name that is a path is for `load`, which says what is wrong with others, too.
        if let Ok(Some(signer)) = config.keyring().public(&self.name) {
            return Ok(signer);
        }
        Ok(self.unlock.load(config, &self.name)?.signer())
    }
}

impl Import {
    fn run(self, config: &Config) -> anyhow::Result<Exit> {
        let name = self.file.display().to_string();
        // It is read once: the passphrase may be asked for after the first try.
        let text = (self.file == Path::new("-")).then(key_text).transpose()?;
        let import = |passphrase: Option<&Passphrase>| match &text {
            Some(text) => config.keyring().import_text(&self.name, text, passphrase),
            None => config.keyring().import(&self.name, &self.file, passphrase),
        };
        let (key, _) = self.unlock.unlock(config, &name, import)?;
        print(&self.name, &key.signer(), self.json)
    }
}

/// The private key on standard input.
fn key_text() -> anyhow::Result<Passphrase> {
    let text = String::from_utf8(input::read_stdin(MAX_KEY_FILE)?);
    let text = text.map_err(|_| with_help("read the key on standard input: it is not text", "give it in PEM"))?;
    Ok(Passphrase::new(text))
}

impl List {
    fn run(self, config: &Config) -> anyhow::Result<Exit> {
        let keyring = config.keyring();
        let mut listing = Listing::new(["KEY", "SIGNER", "ENDS", "FILE"]);
        let mut out = out::stdout();
        for name in keyring.names()? {
            let file = keyring.path(&name)?.display().to_string();
            let signer = keyring.public(&name);
            let ends = keyring.end(&name)?.map(|end| end.to_string());
            if self.json {
                let id = signer.ok().flatten().map(|signer| signer.to_string());
                let entry = object! { "name": name, "file": file, "signer_id"?: id, "ends"?: ends };
                out.json(&Json::from(entry).to_text())?;
                continue;
            }
            let signer = match signer {
                Ok(Some(signer)) => signer.to_string(),
                Ok(None) => "encrypted, and not used yet".to_owned(),
                Err(error) => format!("not usable: failed to {error}"),
            };
            listing.push([name.into(), signer.into(), ends.unwrap_or_default().into(), file.into()]);
        }
        drop(out);
        if !self.json {
            listing.print("no keys: `proofmark key new` makes one, as does the first command that signs")?;
        }
        Ok(Exit::Yes)
    }
}

impl End {
    fn run(self, config: &Config) -> anyhow::Result<Exit> {
        let at = self.at.unwrap_or_else(now);
        config.keyring().set_end(&self.name, &at)?;
        let mut out = out::stdout();
        if self.json {
            out.json(&Json::from(object! { "name": self.name, "ends": at.as_str() }).to_text())?;
        } else {
            writeln!(out, "{} ends at {at}", self.name)?;
        }
        Ok(Exit::Yes)
    }
}

fn print(name: &str, signer: &SignerId, json: bool) -> anyhow::Result<Exit> {
    let mut out = out::stdout();
    if json {
        let object = object! {
            "name": name,
            "signer_id": signer.to_string(),
            "did_key": signer.did_key(),
            "fingerprint": signer.fingerprint(),
            "jwk": signer.jwk(),
        };
        out.json(&Json::from(object).to_text())?;
    } else {
        writeln!(out, "key          {name}")?;
        writeln!(out, "signer id    {signer}")?;
        writeln!(out, "did:key      {}", signer.did_key())?;
        writeln!(out, "fingerprint  {}", signer.fingerprint())?;
        writeln!(out, "jwk          {}", Json::from(signer.jwk()).to_text())?;
    }
    Ok(Exit::Yes)
}
