//! Clients behind proxies that the operator names. Nobody else's word on an address counts.
//!
//! All connections of a proxy are of one address, so not they are limited for each address but the requests on them: by the address that
//! the proxy says, in `Forwarded` (RFC 7239) or `X-Forwarded-For`. Who says both, or what cannot be read, counts for the proxy itself.
//!
//! A proxy of connections says once whose each is, before everything else ([`crate::proxy_header`]). The connection is of that address.

use std::net::IpAddr;
use std::str::FromStr;
use std::sync::Arc;

use axum::extract::Request;
use axum::http::{HeaderMap, HeaderName, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

use crate::body;
use crate::connections::Who;
use crate::share::Shares;

const X_FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");
/// The most requests at once of clients behind proxies; one address has a quarter.
const MAX_REQUESTS: usize = 4_096;

/// The most requests at once of accounts that ask by the socket, which is what their tenant has; one account has a quarter.
const MAX_OF_ACCOUNTS: usize = MAX_REQUESTS / 4;

/// A network of addresses, as in `10.0.0.0/8`; an address alone is one of itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Network {
    first: u128,
    bits: u32,
}

/// The text is not a network.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a network; write an address, or one as in `10.0.0.0/8` whose bits behind the prefix are 0")]
pub struct NetworkError(String);

impl FromStr for Network {
    type Err = NetworkError;

    fn from_str(text: &str) -> Result<Self, NetworkError> {
        let read = || {
            let (address, length) = text.split_once('/').map_or((text, None), |(one, other)| (one, Some(other)));
            let address: IpAddr = address.parse().ok()?;
            let whole = if address.is_ipv4() { 32 } else { 128 };
            let length = match length {
                // `parse` would let a plus through.
                Some(digits) if digits.bytes().all(|byte| byte.is_ascii_digit()) => digits.parse().ok()?,
                Some(_) => return None,
                None => whole,
            };
            let bits = 128 - whole + Some(length).filter(|length| *length <= whole)?;
            let first = in_v6(address);
            (first & mask(bits) == first).then_some(Self { first, bits })
        };
        read().ok_or_else(|| NetworkError(text.to_owned()))
    }
}

impl Network {
    fn has(self, address: IpAddr) -> bool {
        in_v6(address) & mask(self.bits) == self.first
    }
}

/// An address as one of IPv6: those of IPv4 are `::ffff:…`.
fn in_v6(address: IpAddr) -> u128 {
    match address {
        IpAddr::V4(address) => address.to_ipv6_mapped().to_bits(),
        IpAddr::V6(address) => address.to_bits(),
    }
}

fn mask(bits: u32) -> u128 {
    u128::MAX.checked_shl(128 - bits).unwrap_or_default()
}

/// The proxies, and the requests of clients behind them.
pub(crate) struct Proxies {
    networks: Vec<Network>,
    /// Of the proxies of connections.
    of_connections: Vec<Network>,
    requests: Arc<Shares<Who>>,
    /// The requests of accounts that ask by the socket.
    of_accounts: Arc<Shares<Who>>,
}

/// Who a request is of, in its extensions, where many share what their tenant or their proxy has: a client behind a proxy, or an account
/// that asks by the socket.
#[derive(Clone)]
pub(crate) struct Sender {
    who: Who,
    requests: Arc<Shares<Who>>,
}

impl Sender {
    pub(crate) fn who(&self) -> Who {
        self.who
    }
}

impl Proxies {
    /// The proxies that say of each request who sent it, and those that say it of each connection.
    pub(crate) fn of(networks: Vec<Network>, of_connections: Vec<Network>) -> Arc<Self> {
        let (requests, of_accounts) = (Shares::of(MAX_REQUESTS), Shares::of(MAX_OF_ACCOUNTS));
        Arc::new(Self { networks, of_connections, requests, of_accounts })
    }

    /// Whether a connection from this address begins with the header of a proxy of connections.
    pub(crate) fn introduces(&self, address: IpAddr) -> bool {
        self.of_connections.iter().any(|network| network.has(address))
    }

    /// Whether it is the address of a proxy.
    pub(crate) fn has(&self, address: IpAddr) -> bool {
        self.networks.iter().any(|network| network.has(address))
    }

    /// The client who sent a request with these headers through the proxy at this address. `None` if the address is not that of a proxy.
    pub(crate) fn behind(&self, from: IpAddr, headers: &HeaderMap) -> Option<Sender> {
        self.has(from)
            .then(|| Sender { who: self.client(headers).unwrap_or(from).into(), requests: Arc::clone(&self.requests) })
    }

    /// The account that has a connection by the socket. `None` for other connections.
    pub(crate) fn account(&self, who: Who) -> Option<Sender> {
        matches!(who, Who::Account(_)).then(|| Sender { who, requests: Arc::clone(&self.of_accounts) })
    }

    /// The last address that is not a proxy: what stands before it the client may have written.
    fn client(&self, headers: &HeaderMap) -> Option<IpAddr> {
        let all = |name| -> Option<Vec<&str>> {
            headers.get_all(name).iter().map(|value: &axum::http::HeaderValue| value.to_str().ok()).collect()
        };
        let (forwarded, others) = (all(header::FORWARDED)?, all(X_FORWARDED_FOR)?);
        let addresses: Vec<&str> = match (forwarded.is_empty(), others.is_empty()) {
            (false, true) => elements(&forwarded).map(forwarded_for).collect::<Option<_>>()?,
            (true, false) => elements(&others).collect(),
            (true, true) | (false, false) => return None,
        };
        for address in addresses.into_iter().rev() {
            let address = node(address)?;
            if !self.has(address) {
                return Some(address);
            }
        }
        None
    }
}

fn elements<'a>(lines: &[&'a str]) -> impl Iterator<Item = &'a str> {
    // An address never contains a comma, so it does not matter that a quoted text with a comma is cut in two.
    lines.iter().flat_map(|line| line.split(',')).map(str::trim).collect::<Vec<_>>().into_iter()
}

/// The node of `for` in an element of `Forwarded`.
fn forwarded_for(element: &str) -> Option<&str> {
    let mut pairs = element.split(';').filter_map(|pair| pair.trim().split_once('='));
    let (_, node) = pairs.find(|(name, _)| name.eq_ignore_ascii_case("for"))?;
    match node.strip_prefix('"') {
        Some(quoted) => quoted.strip_suffix('"'),
        None => Some(node),
    }
}

/// An address with or without a port; `unknown` and hidden names (RFC 7239, section 6) are none.
fn node(text: &str) -> Option<IpAddr> {
    if let Some(rest) = text.strip_prefix('[') {
        let (address, port) = rest.split_once(']')?;
        let is_port = port.is_empty() || port.strip_prefix(':').is_some_and(|port| port.parse::<u16>().is_ok());
        return address.parse::<std::net::Ipv6Addr>().ok().filter(|_| is_port).map(IpAddr::V6);
    }
    text.parse().ok().or_else(|| text.parse::<std::net::SocketAddrV4>().ok().map(|socket| IpAddr::V4(*socket.ip())))
}

/// Counts a request for the client or the account that has sent it, until it is answered.
pub(crate) async fn counted(request: Request, next: Next) -> Response {
    let Some(sender) = request.extensions().get::<Sender>() else { return next.run(request).await };
    match sender.requests.take(&sender.who, 1) {
        Ok(share) => body::holding(next.run(request).await, share),
        Err(problem) => problem.into_response(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn proxies(networks: &[&str]) -> Arc<Proxies> {
        Proxies::of(networks.iter().map(|network| network.parse().unwrap()).collect(), Vec::new())
    }

    /// Who a request is of that has these headers and comes from 10.0.0.1.
    fn who(lines: &[(&'static str, &str)]) -> Who {
        let mut headers = HeaderMap::new();
        for (name, value) in lines {
            headers.append(*name, value.parse().unwrap());
        }
        let proxies = proxies(&["10.0.0.0/8", "2001:db8:1::/48"]);
        proxies.behind("10.0.0.1".parse().unwrap(), &headers).unwrap().who
    }

    fn at(address: &str) -> Who {
        Who::from(address.parse::<IpAddr>().unwrap())
    }

    #[test]
    fn networks_are_read_strictly() {
        let network = |text: &str| text.parse::<Network>();
        let has = |text: &str, address: &str| network(text).unwrap().has(address.parse().unwrap());
        assert!(has("10.0.0.0/8", "10.255.0.1") && !has("10.0.0.0/8", "11.0.0.1"));
        assert!(has("192.0.2.7", "::ffff:192.0.2.7") && !has("192.0.2.7", "192.0.2.8"));
        assert!(has("0.0.0.0/0", "1.2.3.4") && !has("0.0.0.0/0", "2001:db8::1"));
        assert!(has("::/0", "2001:db8::1") && has("2001:db8::/32", "2001:db8:ffff::1"));
        for wrong in
            ["", "10.0.0.1/8", "10.0.0.0/33", "10.0.0.0/+8", "10.0.0.0/", "proxy", "2001:db8::/129", "10.0.0.0/8/8"]
        {
            assert!(network(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn the_last_address_that_is_no_proxy_is_the_clients() {
        let xff = "x-forwarded-for";
        assert_eq!(who(&[(xff, "203.0.113.9")]), at("203.0.113.9"));
        assert_eq!(
            who(&[(xff, "198.51.100.1, 203.0.113.9, 10.2.3.4")]),
            at("203.0.113.9"),
            "the client wrote the first"
        );
        assert_eq!(who(&[(xff, "198.51.100.1"), (xff, "203.0.113.9:4711")]), at("203.0.113.9"));
        for (said, client) in [
            ("for=203.0.113.9", "203.0.113.9"),
            ("For=\"203.0.113.9:80\";proto=https", "203.0.113.9"),
            ("proto=https; for=\"[2001:db8::7]:4711\"", "2001:db8::7"),
            ("for=198.51.100.1, for=203.0.113.9;by=10.0.0.1, for=\"[2001:db8:1::1]\"", "203.0.113.9"),
        ] {
            assert_eq!(who(&[("forwarded", said)]), at(client), "{said}");
        }
    }

    #[test]
    fn what_cannot_be_told_counts_for_the_proxy() {
        let xff = "x-forwarded-for";
        let own = at("10.0.0.1");
        assert_eq!(who(&[]), own);
        // A client may write the one that its proxy does not.
        assert_eq!(who(&[(xff, "203.0.113.9"), ("forwarded", "for=198.51.100.1")]), own);
        for said in ["unknown", "203.0.113.9, ", "_hidden", "203.0.113.9 203.0.113.8", "2001:db8::7]:1", "10.9.9.9"] {
            assert_eq!(who(&[(xff, said)]), own, "{said}");
        }
        for said in ["for=unknown", "by=203.0.113.9", "for=\"203.0.113.9", "for=203.0.113.9, proto=http"] {
            assert_eq!(who(&[("forwarded", said)]), own, "{said}");
        }
        let headers = [(X_FORWARDED_FOR, "203.0.113.9".parse().unwrap())].into_iter().collect();
        assert!(
            proxies(&["10.0.0.0/8"]).behind("192.0.2.1".parse().unwrap(), &headers).is_none(),
            "anybody can say it"
        );
    }

    #[test]
    fn one_address_behind_a_proxy_leaves_requests_to_others() {
        let proxies = proxies(&["10.0.0.1"]);
        let of = |client: &str| {
            let headers = [(X_FORWARDED_FOR, client.parse().unwrap())].into_iter().collect();
            proxies.behind("10.0.0.1".parse().unwrap(), &headers).unwrap()
        };
        let take = |client: &str| {
            let behind = of(client);
            behind.requests.take(&behind.who, 1)
        };
        let held: Vec<_> = (0..).map_while(|_| take("203.0.113.9").ok()).collect();
        assert_eq!(held.len(), MAX_REQUESTS / 4);
        assert!(take("203.0.113.8").is_ok());
        drop(held);
        assert!(take("203.0.113.9").is_ok());
    }
}
