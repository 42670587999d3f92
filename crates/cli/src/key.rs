//! `proofmark key`.

use std::io::Write;
use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};
use proofmark_receipt::{Json, Object, SignerId};

use crate::config::{Config, DEFAULT_KEY};
use crate::exit::Exit;
use crate::out;

/// Make, show, import and list signing keys
#[derive(Subcommand)]
pub(crate) enum Key {
    /// Make a signing key
    New(New),
    /// Print the public half of a key
    Show(Show),
    /// Keep a copy of an openssl or OpenSSH Ed25519 key
    Import(Import),
    /// List the keys there are
    List(List),
}

#[derive(Args)]
#[command(after_help = "Example:\n  proofmark key new release --passphrase-file passphrase.txt")]
pub(crate) struct New {
    /// Its name
    #[arg(default_value = DEFAULT_KEY)]
    name: String,
    /// Encrypt it with the passphrase in this file
    #[arg(long, value_name = "FILE")]
    passphrase_file: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Args)]
#[command(after_help = "Examples:\n  proofmark key show\n  proofmark key show release --format jwk")]
pub(crate) struct Show {
    /// Its name, or the path of a key file
    #[arg(default_value = DEFAULT_KEY)]
    name: String,
    /// Print only this form
    #[arg(long, value_enum)]
    format: Option<Form>,
    /// The passphrase is in this file
    #[arg(long, value_name = "FILE")]
    passphrase_file: Option<PathBuf>,
    /// Print JSON
    #[arg(long, conflicts_with = "format")]
    json: bool,
}

#[derive(Args)]
#[command(after_help = "Example:\n  proofmark key import ~/.ssh/id_ed25519 --name release")]
pub(crate) struct Import {
    /// The private key: PKCS#8 PEM or OpenSSH
    file: PathBuf,
    /// Keep it under this name
    #[arg(long, default_value = DEFAULT_KEY)]
    name: String,
    /// The passphrase of an encrypted key, which also protects the copy, is in this file
    #[arg(long, value_name = "FILE")]
    passphrase_file: Option<PathBuf>,
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

#[derive(Clone, Copy, ValueEnum)]
enum Form {
    /// As receipts name it: base64 of the SubjectPublicKeyInfo
    SignerId,
    /// A decentralised identifier
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
        }
    }
}

impl New {
    fn run(self, config: &Config) -> anyhow::Result<Exit> {
        let passphrase = config.passphrase(self.passphrase_file.as_deref())?;
        let key = config.keyring().create(&self.name, passphrase.as_ref())?;
        print(&self.name, &key.signer(), self.json)
    }
}

impl Show {
    fn run(self, config: &Config) -> anyhow::Result<Exit> {
        let passphrase = config.passphrase(self.passphrase_file.as_deref())?;
        let signer = config.keyring().load(&self.name, passphrase.as_ref())?.signer();
        let Some(form) = self.format else { return print(&self.name, &signer, self.json) };
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

impl Import {
    fn run(self, config: &Config) -> anyhow::Result<Exit> {
        let passphrase = config.passphrase(self.passphrase_file.as_deref())?;
        let key = config.keyring().import(&self.name, &self.file, passphrase.as_ref())?;
        print(&self.name, &key.signer(), self.json)
    }
}

impl List {
    fn run(self, config: &Config) -> anyhow::Result<Exit> {
        let keyring = config.keyring();
        let mut out = out::stdout();
        for name in keyring.names()? {
            let path = keyring.path(&name)?;
            match self.json {
                true => writeln!(out, "{}", Json::from(entry(&name, &path)).to_text())?,
                false => writeln!(out, "{name:<20} {}", path.display())?,
            }
        }
        Ok(Exit::Yes)
    }
}

fn entry(name: &str, path: &std::path::Path) -> Object {
    let mut entry = Object::new();
    entry.insert("name", name);
    entry.insert("file", path.display().to_string());
    entry
}

fn print(name: &str, signer: &SignerId, json: bool) -> anyhow::Result<Exit> {
    let mut out = out::stdout();
    if json {
        let mut object = Object::new();
        object.insert("name", name);
        object.insert("signer_id", signer.to_string());
        object.insert("did_key", signer.did_key());
        object.insert("fingerprint", signer.fingerprint());
        object.insert("jwk", signer.jwk());
        writeln!(out, "{}", Json::from(object).to_text())?;
    } else {
        writeln!(out, "key          {name}")?;
        writeln!(out, "signer id    {signer}")?;
        writeln!(out, "did:key      {}", signer.did_key())?;
        writeln!(out, "fingerprint  {}", signer.fingerprint())?;
        writeln!(out, "jwk          {}", Json::from(signer.jwk()).to_text())?;
    }
    Ok(Exit::Yes)
}
