//! An issuer of tokens in this process: its documents over real connections, and its keys, with which tests sign any tokens.

use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use base64ct::{Base64UrlUnpadded, Encoding};
use ed25519_dalek::{Signer, SigningKey};
use proofmark_receipt::{Json, Object, object};
use ring::rand::SystemRandom;
use ring::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair};

/// How it answers a question.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Manner {
    Well,
    /// It does not answer, and keeps the connection.
    Silent,
    /// It sends more than a document has.
    Endless,
    /// It redirects to an address with a right answer.
    Elsewhere,
    Broken,
    /// It is another issuer.
    Other,
    /// Its keys are where they could be changed on the way.
    FarKeys,
    /// Its set of keys has a name twice.
    Twice,
}

/// An issuer on the loopback.
pub(crate) struct Issuer {
    pub(crate) url: String,
    state: Arc<Mutex<State>>,
    asked: Arc<AtomicUsize>,
}

struct State {
    manner: Manner,
    keys: Vec<Json>,
}

/// A key of the issuer.
pub(crate) enum Key {
    Ed(&'static str, Box<SigningKey>),
    Ec(&'static str, Box<EcdsaKeyPair>),
}

impl Issuer {
    pub(crate) fn start(keys: &[&Key]) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/realm", listener.local_addr().unwrap());
        let state =
            Arc::new(Mutex::new(State { manner: Manner::Well, keys: keys.iter().map(|key| key.public()).collect() }));
        let asked = Arc::new(AtomicUsize::new(0));
        let issuer = Self { url: url.clone(), state: Arc::clone(&state), asked: Arc::clone(&asked) };
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let (state, asked, url) = (Arc::clone(&state), Arc::clone(&asked), url.clone());
                std::thread::spawn(move || answer(&stream.unwrap(), &state, &asked, &url));
            }
        });
        issuer
    }

    pub(crate) fn publish(&self, keys: &[&Key]) {
        self.state.lock().unwrap().keys = keys.iter().map(|key| key.public()).collect();
    }

    pub(crate) fn behave(&self, manner: Manner) {
        self.state.lock().unwrap().manner = manner;
    }

    /// How often it was asked for its keys.
    pub(crate) fn asked(&self) -> usize {
        self.asked.load(Ordering::SeqCst)
    }

    /// The claims of a token that counts.
    pub(crate) fn claims(&self, groups: &[&str]) -> Object {
        let now = now();
        object! {
            "iss": self.url.as_str(),
            "sub": "ann",
            "aud": "proofmark",
            "iat": now,
            "exp": now + 600,
            "groups": groups.iter().copied().map(Json::from).collect::<Vec<_>>(),
        }
    }
}

fn answer(stream: &TcpStream, state: &Mutex<State>, asked: &AtomicUsize, url: &str) {
    let mut reader = BufReader::new(stream);
    while let Some(path) = asked_for(&mut reader) {
        let (manner, keys) = {
            let state = state.lock().unwrap();
            (state.manner, state.keys.clone())
        };
        let elsewhere = path.starts_with("/elsewhere");
        let is_metadata = path.ends_with("/realm/.well-known/openid-configuration");
        asked.fetch_add(usize::from(!is_metadata), Ordering::SeqCst);
        let issuer = if manner == Manner::Other { "http://127.0.0.1:1/other" } else { url };
        let place =
            if manner == Manner::FarKeys { "http://example.org/keys".to_owned() } else { format!("{url}/keys") };
        let body = match is_metadata {
            true => Json::from(
                object! { "issuer": issuer, "jwks_uri": place, "response_types_supported": Vec::<Json>::new() },
            ),
            false => Json::from(object! { "keys": keys }),
        };
        let (head, body) = match manner {
            Manner::Silent => {
                std::thread::sleep(Duration::from_secs(60));
                return;
            }
            Manner::Endless => ("200 x", format!("{{\"a\": \"{}\"}}", "x".repeat(1 << 20))),
            Manner::Elsewhere if !elsewhere => ("302 x", String::new()),
            Manner::Broken => ("500 x", String::new()),
            Manner::Twice => ("200 x", body.to_text().replacen('{', "{\"issuer\": 1, \"keys\": [], ", 1)),
            _ => ("200 x", body.to_text()),
        };
        let length = body.len();
        let head = format!("HTTP/1.1 {head}\r\nlocation: /elsewhere{path}\r\ncontent-length: {length}\r\n\r\n");
        // A server that has read enough closes the connection.
        let mut stream = stream;
        if stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(body.as_bytes())).is_err() {
            return;
        }
    }
}

fn asked_for(reader: &mut impl BufRead) -> Option<String> {
    let head: Vec<String> = reader.by_ref().lines().map_while(Result::ok).take_while(|line| !line.is_empty()).collect();
    Some(head.first()?.split(' ').nth(1)?.to_owned())
}

pub(crate) fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs()
}

pub(crate) fn base64(bytes: impl AsRef<[u8]>) -> String {
    Base64UrlUnpadded::encode_string(bytes.as_ref())
}

impl Key {
    pub(crate) fn ed(id: &'static str, seed: u8) -> Self {
        Self::Ed(id, Box::new(SigningKey::from_bytes(&[seed; 32])))
    }

    pub(crate) fn ec(id: &'static str) -> Self {
        let random = SystemRandom::new();
        let pkcs8 = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &random).unwrap();
        let key = EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, pkcs8.as_ref(), &random).unwrap();
        Self::Ec(id, Box::new(key))
    }

    /// As the issuer publishes it.
    pub(crate) fn public(&self) -> Json {
        match self {
            Self::Ed(id, key) => {
                let x = base64(key.verifying_key().as_bytes());
                object! { "kid": *id, "kty": "OKP", "crv": "Ed25519", "use": "sig", "alg": "EdDSA", "x": x }.into()
            }
            Self::Ec(id, key) => {
                let (x, y) = key.public_key().as_ref().split_first().unwrap().1.split_at(32);
                let (x, y) = (base64(x), base64(y));
                object! { "kid": *id, "kty": "EC", "crv": "P-256", "use": "sig", "x": x, "y": y }.into()
            }
        }
    }

    /// The header of a token that counts.
    pub(crate) fn header(&self) -> Object {
        let (id, algorithm) = match self {
            Self::Ed(id, _) => (id, "EdDSA"),
            Self::Ec(id, _) => (id, "ES256"),
        };
        object! { "alg": algorithm, "kid": *id, "typ": "JWT" }
    }

    pub(crate) fn token(&self, claims: &Object) -> String {
        self.signed(&Json::from(self.header()).to_text(), &Json::from(claims.clone()).to_text())
    }

    /// A token of these two texts.
    pub(crate) fn signed(&self, header: &str, claims: &str) -> String {
        let message = format!("{}.{}", base64(header), base64(claims));
        let signature = match self {
            Self::Ed(_, key) => base64(key.sign(message.as_bytes()).to_bytes()),
            Self::Ec(_, key) => base64(key.sign(&SystemRandom::new(), message.as_bytes()).unwrap()),
        };
        format!("{message}.{signature}")
    }
}
