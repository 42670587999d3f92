//! The content of a file of a project: in memory, or in a file of the host that the verifier has for itself.

use std::os::fd::OwnedFd;
use std::sync::Arc;

use proofmark_receipt::Sha256Digest;

/// From this size on, content is not held in memory where it comes from a folder or a repository.
pub const STORED_FROM: u64 = 256 << 10;

/// What a file of a project has in it. A clone is of the same bytes, which are not copied.
#[derive(Clone, Debug)]
pub struct Content(Place);

#[derive(Clone, Debug)]
enum Place {
    Here(Arc<Vec<u8>>),
    Stored(Arc<Stored>),
}

/// Content in a file that nobody else can write to.
#[derive(Debug)]
pub struct Stored {
    /// The file, for as long as there is content in it.
    pub file: Arc<OwnedFd>,
    /// Where in it the content begins.
    pub offset: u64,
    /// How long the content is.
    pub bytes: u64,
    /// Its digest.
    pub digest: Sha256Digest,
}

impl Content {
    /// Content that was stored.
    #[must_use]
    pub fn stored(stored: Stored) -> Content {
        Content(Place::Stored(Arc::new(stored)))
    }

    /// The bytes; none of content that is stored.
    #[must_use]
    pub fn here(&self) -> Option<&[u8]> {
        match &self.0 {
            Place::Here(bytes) => Some(bytes),
            Place::Stored(_) => None,
        }
    }

    /// Where it is stored.
    #[must_use]
    pub fn place(&self) -> Option<&Stored> {
        match &self.0 {
            Place::Here(_) => None,
            Place::Stored(stored) => Some(stored),
        }
    }

    /// How many bytes it has.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        match &self.0 {
            Place::Here(bytes) => bytes.len() as u64,
            Place::Stored(stored) => stored.bytes,
        }
    }

    /// Its SHA-256.
    #[must_use]
    pub fn digest(&self) -> Sha256Digest {
        match &self.0 {
            Place::Here(bytes) => Sha256Digest::of(bytes),
            Place::Stored(stored) => stored.digest,
        }
    }
}

impl From<Vec<u8>> for Content {
    fn from(bytes: Vec<u8>) -> Content {
        Content(Place::Here(Arc::new(bytes)))
    }
}

impl PartialEq for Content {
    fn eq(&self, other: &Content) -> bool {
        match (&self.0, &other.0) {
            (Place::Here(one), Place::Here(other)) => one == other,
            _ => self.bytes() == other.bytes() && self.digest() == other.digest(),
        }
    }
}

impl Eq for Content {}
