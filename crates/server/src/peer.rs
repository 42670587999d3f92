//! The other side of a connection, as the system knows it. Nothing that a client sends says this.

use std::net::{SocketAddr, UdpSocket};

use axum::http::request::Parts;
use proofmark_boundary::{Asker, Separation};

use crate::keys::Caller;

/// The other side of a connection.
#[derive(Clone, Debug)]
pub(crate) enum Peer {
    /// A program at an address: whether that is known to be one of another host.
    Address { is_elsewhere: bool },
    /// A program of an account of this host, which is this far from what decides.
    Account { separation: Separation, caller: Caller },
}

impl Peer {
    /// The peer with this address.
    pub(crate) fn at(address: SocketAddr) -> Self {
        // The system gives a socket an address only if it is one of this host. A proxy of this host counts as this host, whoever is
        // behind it.
        let unused = SocketAddr::new(address.ip().to_canonical(), 0);
        let refused = UdpSocket::bind(unused).is_err_and(|error| error.kind() == std::io::ErrorKind::AddrNotAvailable);
        Self::Address { is_elsewhere: refused && !address.ip().to_canonical().is_loopback() }
    }

    /// The client at this address, for whom this proxy of connections has connected. What the proxy says takes trust away, and gives none.
    pub(crate) fn with_client(self, client: SocketAddr) -> Self {
        match (self, Self::at(client)) {
            (Self::Address { is_elsewhere: true }, of_client @ Self::Address { .. }) => of_client,
            (proxy, _) => proxy,
        }
    }

    /// The peer that has sent a request with this head.
    fn of(parts: &Parts) -> Option<&Self> {
        parts.extensions.get()
    }

    /// The account that has sent a request with this head, as a caller, if it came by the socket.
    pub(crate) fn account(parts: &Parts) -> Option<&Caller> {
        match Self::of(parts)? {
            Self::Account { caller, .. } => Some(caller),
            Self::Address { .. } => None,
        }
    }
}

/// Who asks with a request with this head. `has_key`: the caller is named by an API key.
pub(crate) fn asker(parts: &Parts, caller: &Caller, has_key: bool) -> Asker {
    let separation = match Peer::of(parts) {
        Some(Peer::Account { separation, .. }) => *separation,
        Some(Peer::Address { is_elsewhere: true }) if has_key => Separation::Host,
        Some(Peer::Address { .. }) | None => Separation::None,
    };
    let is_named = has_key || Peer::account(parts).is_some();
    Asker { separation, account: is_named.then(|| caller.id.clone()), ..Asker::default() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_of_this_host_are_not_elsewhere() {
        let is_elsewhere = |address: &str| {
            matches!(Peer::at(SocketAddr::new(address.parse().unwrap(), 4711)), Peer::Address { is_elsewhere: true })
        };
        for own in ["127.0.0.1", "127.9.9.9", "::1", "::ffff:127.0.0.1"] {
            assert!(!is_elsewhere(own), "{own}");
        }
        // A network for documentation (RFC 5737).
        assert!(is_elsewhere("192.0.2.1") && is_elsewhere("::ffff:192.0.2.1"));
        let behind = |proxy: &str, client: &str| {
            let [proxy, client] = [proxy, client].map(|text| SocketAddr::new(text.parse().unwrap(), 4711));
            matches!(Peer::at(proxy).with_client(client), Peer::Address { is_elsewhere: true })
        };
        assert!(behind("192.0.2.1", "203.0.113.9"));
        assert!(!behind("192.0.2.1", "127.0.0.1") && !behind("127.0.0.1", "192.0.2.1"));
    }
}
