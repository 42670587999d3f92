//! To which host a request is addressed, and whether a page in a browser sent it.
//!
//! Without API keys every program on this host may do everything, so a page must not: not by a name of its own for the
//! loopback (DNS rebinding), and not from another port of this host.

use std::net::{Ipv4Addr, Ipv6Addr};

use axum::http::{HeaderMap, HeaderName, StatusCode, Uri, header};

use crate::problem::Problem;

/// The port of `http` where none is written (RFC 9110, section 4.2.1).
const HTTP_PORT: u16 = 80;
/// The same of `https`.
const HTTPS_PORT: u16 = 443;
/// Fetch Metadata: how the page that asks is related to this server. Browsers let no page change it.
const SEC_FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");
/// The same: whether a tab is to show the answer.
const SEC_FETCH_MODE: HeaderName = HeaderName::from_static("sec-fetch-mode");
const SEC_FETCH_DEST: HeaderName = HeaderName::from_static("sec-fetch-dest");

/// A host and a port, in their one spelling.
#[derive(Debug, PartialEq, Eq)]
struct Authority {
    host: Host,
    port: u16,
}

#[derive(Debug, PartialEq, Eq)]
enum Host {
    V4(Ipv4Addr),
    V6(Ipv6Addr),
    /// In lower case.
    Name(String),
}

/// Refuses a request that does not have one strictly spelt `Host`.
pub fn is_addressed(uri: &Uri, headers: &HeaderMap) -> Result<(), Problem> {
    authority(uri, headers).map(drop)
}

/// Refuses a request that is not addressed to the loopback, or that a page of another origin has sent.
pub(crate) fn is_of_this_host(uri: &Uri, headers: &HeaderMap) -> Result<(), Problem> {
    is_to_this_host(uri, headers)?;
    // Browsers send some requests of other sites, such as those for images, without `Origin` but with this header.
    // `same-site` is another port of this host; `none` is an address that the user entered. Programs send neither.
    if is_from_same_site(headers) { Ok(()) } else { Err(foreign("a page of another site has sent it")) }
}

/// Refuses a request that is not addressed to the loopback, or that names another origin as its own.
pub fn is_to_this_host(uri: &Uri, headers: &HeaderMap) -> Result<(), Problem> {
    let authority = authority(uri, headers)?;
    if !authority.host.is_loopback() {
        return Err(foreign("it is addressed to another host"));
    }
    let mut origins = headers.get_all(header::ORIGIN).iter();
    match (origins.next().map(|origin| origin.to_str().unwrap_or_default()), origins.next()) {
        (None, None) => Ok(()),
        (Some(origin), None)
            if origin.strip_prefix("http://").and_then(Authority::read).as_ref() == Some(&authority) =>
        {
            Ok(())
        }
        // Also two origins, one that is not text, and `null` (a sandboxed frame or a file).
        (Some(_) | None, _) => Err(foreign("a page of another origin has sent it")),
    }
}

/// Where a request for a page comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Visit {
    /// From a page of this server, from the address bar, or from a program.
    Own,
    /// From a link on a page of another site, into a tab of its own.
    ByLink,
    /// From a page of another site in any other way: in a frame, by a script, as an image.
    Embedded,
}

impl Visit {
    /// Where the browser says that it comes from.
    #[must_use]
    pub fn of(headers: &HeaderMap) -> Self {
        let only = |name: HeaderName, value: &[u8]| {
            let mut values = headers.get_all(name).iter();
            values.next().is_some_and(|found| found.as_bytes() == value) && values.next().is_none()
        };
        if is_from_same_site(headers) {
            Self::Own
        } else if only(SEC_FETCH_MODE, b"navigate") && only(SEC_FETCH_DEST, b"document") {
            Self::ByLink
        } else {
            Self::Embedded
        }
    }
}

/// Refuses a form that no page of this very server has sent, scheme apart: a proxy in front of it may speak TLS. Returns
/// whether it was sent over TLS.
pub fn is_own_form(uri: &Uri, headers: &HeaderMap) -> Result<bool, Problem> {
    let refused = || {
        Problem::new(StatusCode::FORBIDDEN, "foreign_origin", "a page of another origin has sent this form")
            .help("send it from the page itself; a proxy has to pass the `Host` on as the browser sent it")
    };
    // This comes first, so that what is refused for its host is refused with that reason.
    authority(uri, headers)?;
    // Browsers send `Origin` with every form.
    let mut origins = headers.get_all(header::ORIGIN).iter();
    let (Some(origin), None) = (origins.next().and_then(|origin| origin.to_str().ok()), origins.next()) else {
        return Err(refused());
    };
    let (origin, port, tls) = match (origin.strip_prefix("http://"), origin.strip_prefix("https://")) {
        (Some(origin), _) => (origin, HTTP_PORT, false),
        (_, Some(origin)) => (origin, HTTPS_PORT, true),
        (None, None) => return Err(refused()),
    };
    let host = headers.get(header::HOST).and_then(|host| host.to_str().ok());
    let host = host.and_then(|host| Authority::read_with(host, port));
    // Not `none`: nobody enters a form into the address bar.
    let mut sites = headers.get_all(SEC_FETCH_SITE).iter();
    if host.is_some() && Authority::read_with(origin, port) == host && sites.all(|site| site == "same-origin") {
        Ok(tls)
    } else {
        Err(refused())
    }
}

fn is_from_same_site(headers: &HeaderMap) -> bool {
    headers.get_all(SEC_FETCH_SITE).iter().all(|site| matches!(site.as_bytes(), b"same-origin" | b"none"))
}

/// Whether a host, with or without a port, is this one under any of its names.
pub fn is_loopback(authority: &str) -> bool {
    Authority::read(authority).is_some_and(|authority| authority.host.is_loopback())
}

/// The host that the request is addressed to: its `Host`, which its target has to repeat where it names one (RFC 9112,
/// section 3.2).
fn authority(uri: &Uri, headers: &HeaderMap) -> Result<Authority, Problem> {
    let mut hosts = headers.get_all(header::HOST).iter();
    let host = match (hosts.next(), hosts.next()) {
        (Some(host), None) => host.to_str().ok().and_then(Authority::read),
        (_, _) => None,
    };
    let host =
        host.ok_or_else(|| unaddressed("has to have one `Host`, a name or an address with or without a port"))?;
    match uri.authority() {
        Some(target)
            if uri.scheme_str() != Some("http") || Authority::read(target.as_str()).as_ref() != Some(&host) =>
        {
            Err(unaddressed("names a host in its target that is not its `Host`"))
        }
        Some(_) | None => Ok(host),
    }
}

impl Authority {
    /// Reads `host[:port]` of RFC 3986, section 3.2, of `http`: no user, and no port that is empty.
    fn read(text: &str) -> Option<Self> {
        Self::read_with(text, HTTP_PORT)
    }

    /// The same, where this is the port if none is written.
    fn read_with(text: &str, default_port: u16) -> Option<Self> {
        let (host, rest) = match text.strip_prefix('[') {
            Some(rest) => {
                let (address, rest) = rest.split_once(']')?;
                (Host::V6(address.parse().ok()?), rest)
            }
            None => {
                let (name, rest) = text.split_at(text.find(':').unwrap_or(text.len()));
                (Host::named(name)?, rest)
            }
        };
        let port = match rest.strip_prefix(':') {
            // `parse` would let a plus through.
            Some(digits) if digits.bytes().all(|byte| byte.is_ascii_digit()) => digits.parse().ok()?,
            None if rest.is_empty() => default_port,
            Some(_) | None => return None,
        };
        Some(Self { host, port })
    }
}

impl Host {
    fn named(name: &str) -> Option<Self> {
        if name.is_empty() || !name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte)) {
            return None;
        }
        // Other spellings of 127.0.0.1, such as `2130706433`, stay names and are not the loopback.
        Some(name.parse().map_or_else(|_| Self::Name(name.to_ascii_lowercase()), Self::V4))
    }

    fn is_loopback(&self) -> bool {
        match self {
            Self::V4(address) => address.is_loopback(),
            Self::V6(address) => address.is_loopback(),
            // The owner of any other name can let it resolve to the loopback (DNS rebinding).
            Self::Name(name) => name == "localhost",
        }
    }
}

fn unaddressed(what: &str) -> Problem {
    Problem::bad("invalid_host", format!("the request {what}"))
        .help("send it to http://127.0.0.1, or to the name of this server")
}

fn foreign(why: &str) -> Problem {
    let message = format!("without `--api-keys`, only loopback requests are accepted, and none from pages: {why}");
    Problem::new(StatusCode::FORBIDDEN, "foreign_origin", message)
        .help("use http://127.0.0.1, or start the server with `--api-keys`")
}

#[cfg(test)]
mod tests {
    use axum::response::IntoResponse;

    use super::*;

    /// What is refused of a request with these lines of a head, as the code of the problem.
    fn refused(target: &str, lines: &[(&'static str, &str)]) -> Option<StatusCode> {
        let mut headers = HeaderMap::new();
        for (name, value) in lines {
            headers.append(*name, value.parse().unwrap());
        }
        is_of_this_host(&target.parse().unwrap(), &headers).err().map(|problem| problem.into_response().status())
    }

    #[test]
    fn this_host_has_one_name_strictly_spelt() {
        for host in ["localhost", "LOCALHOST:1", "127.0.0.1", "127.9.9.9:8700", "[::1]", "[::1]:65535"] {
            assert_eq!(refused("/", &[("host", host)]), None, "{host}");
        }
        for host in [
            "",
            "localhost:evil.com",
            "localhost:",
            "localhost:+80",
            "localhost:65536",
            "localhost:80:80",
            "localhost/",
            "user@localhost",
            "localhost,localhost",
            "localhost localhost",
            "[::1",
            "[::1]evil.com",
            "[::1]80",
            "[localhost]",
            "::1",
        ] {
            assert_eq!(refused("/", &[("host", host)]), Some(StatusCode::BAD_REQUEST), "{host}");
        }
        for host in
            ["evil.com", "localhost.evil.com", "localhost.", "127.0.0.1.evil.com", "0.0.0.0", "[::]", "2130706433"]
        {
            assert_eq!(refused("/", &[("host", host)]), Some(StatusCode::FORBIDDEN), "{host}");
        }
        assert_eq!(refused("/", &[]), Some(StatusCode::BAD_REQUEST));
        assert_eq!(refused("/", &[("host", "localhost"), ("host", "localhost")]), Some(StatusCode::BAD_REQUEST));
    }

    #[test]
    fn a_target_with_a_host_names_the_same_one() {
        assert_eq!(refused("http://localhost:80/v1", &[("host", "localhost")]), None);
        for target in ["http://evil.com/", "http://localhost:81/", "https://localhost/", "http://a@localhost/"] {
            assert_eq!(refused(target, &[("host", "localhost")]), Some(StatusCode::BAD_REQUEST), "{target}");
        }
        assert_eq!(refused("http://localhost/", &[]), Some(StatusCode::BAD_REQUEST));
    }

    #[test]
    fn a_page_has_the_scheme_host_and_port_of_this_server() {
        let with = |name: &'static str, value: &str| refused("/", &[("host", "localhost:8700"), (name, value)]);
        assert_eq!(with("origin", "http://localhost:8700"), None);
        for origin in [
            "http://localhost:3000",
            "http://localhost",
            "https://localhost:8700",
            "http://127.0.0.1:8700",
            "http://localhost:8700/",
            "http://evil.com",
            "null",
            "",
        ] {
            assert_eq!(with("origin", origin), Some(StatusCode::FORBIDDEN), "{origin}");
        }
        let twice = [("host", "localhost"), ("origin", "http://localhost"), ("origin", "http://localhost")];
        assert_eq!(refused("/", &twice), Some(StatusCode::FORBIDDEN));
        for site in ["same-origin", "none"] {
            assert_eq!(with("sec-fetch-site", site), None, "{site}");
        }
        for site in ["same-site", "cross-site", "", "None"] {
            assert_eq!(with("sec-fetch-site", site), Some(StatusCode::FORBIDDEN), "{site}");
        }
    }

    #[test]
    fn a_form_is_of_a_page_of_this_very_origin() {
        let sent = |lines: &[(&'static str, &str)]| {
            let mut headers = HeaderMap::new();
            for (name, value) in lines {
                headers.append(*name, value.parse().unwrap());
            }
            is_own_form(&"/ui/decisions/1".parse().unwrap(), &headers).ok()
        };
        let from = |host: &str, origin: &str| sent(&[("host", host), ("origin", origin)]);
        assert_eq!(from("localhost:8700", "http://localhost:8700"), Some(false));
        assert_eq!(from("proofmark.example", "https://proofmark.example"), Some(true));
        assert_eq!(from("proofmark.example:443", "https://proofmark.example"), Some(true));
        assert_eq!(from("proofmark.example", "http://proofmark.example:80"), Some(false));
        for (host, origin) in [
            ("localhost:8700", "http://localhost:3000"),
            ("localhost:8700", "http://localhost"),
            ("localhost:8700", "http://127.0.0.1:8700"),
            ("localhost:8700", "null"),
            ("localhost:8700", ""),
            ("localhost:8700", "file://localhost:8700"),
            ("proofmark.example", "https://evil.example"),
            ("proofmark.example:80", "https://proofmark.example"),
        ] {
            assert_eq!(from(host, origin), None, "{host} {origin}");
        }
        let own = [("host", "localhost"), ("origin", "http://localhost")];
        assert_eq!(sent(&own[..1]), None, "a browser names the origin of every form");
        assert_eq!(sent(&[own[0], own[1], own[1]]), None);
        for (site, expected) in
            [("same-origin", Some(false)), ("none", None), ("same-site", None), ("cross-site", None)]
        {
            assert_eq!(sent(&[own[0], own[1], ("sec-fetch-site", site)]), expected, "{site}");
        }
    }

    #[test]
    fn a_link_of_another_site_opens_a_page_and_nothing_else_does() {
        let visit = |lines: &[(&'static str, &str)]| {
            Visit::of(
                &lines.iter().map(|(name, value)| (HeaderName::from_static(name), value.parse().unwrap())).collect(),
            )
        };
        let (cross, navigate) = (("sec-fetch-site", "cross-site"), ("sec-fetch-mode", "navigate"));
        assert_eq!(visit(&[]), Visit::Own);
        assert_eq!(visit(&[("sec-fetch-site", "same-origin")]), Visit::Own);
        assert_eq!(visit(&[cross, navigate, ("sec-fetch-dest", "document")]), Visit::ByLink);
        assert_eq!(visit(&[cross, navigate, ("sec-fetch-dest", "iframe")]), Visit::Embedded);
        assert_eq!(visit(&[cross, ("sec-fetch-mode", "no-cors"), ("sec-fetch-dest", "image")]), Visit::Embedded);
        assert_eq!(visit(&[("sec-fetch-site", "same-site")]), Visit::Embedded);
    }
}
