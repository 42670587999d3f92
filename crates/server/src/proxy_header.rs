//! What a proxy of connections sends before everything else: the PROXY protocol, versions 1 and 2 (`proxy-protocol.txt` of HAProxy).
//!
//! Reading takes no byte behind the header: what follows is the client's.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::str::FromStr;

use tokio::io::{AsyncRead, AsyncReadExt};

/// How a header of version 2 begins.
const SIGNATURE: &[u8] = b"\r\n\r\n\0\r\nQUIT\n";
/// How a header of version 1 begins.
const WORD: &[u8] = b"PROXY ";
/// The shortest header of all: `PROXY UNKNOWN` and the end of the line.
const SHORTEST: usize = 15;
/// The longest header of version 1, with the end of its line.
const MAX_LINE: usize = 107;
/// What comes before the addresses in version 2.
const FIXED: usize = 16;
/// The most bytes that a header of version 2 has behind that: addresses, and what the proxy says of TLS.
const MAX_BEHIND: usize = 4_096;

/// What the bytes are that have come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProxyHeader {
    /// A part of a header, of which at least so many bytes are missing.
    Part(usize),
    /// A header: the client that it names, or none where the proxy speaks for itself or does not know the client.
    Whole(Option<SocketAddr>),
}

/// Why there is no header, completing "failed to …".
#[derive(Debug, thiserror::Error)]
pub enum ProxyHeaderError {
    #[error("read the header of the PROXY protocol: {0}")]
    Malformed(&'static str),
    #[error("read the header of the PROXY protocol: the connection ended before it")]
    Missing,
    #[error("read the header of the PROXY protocol ({0})")]
    Io(#[from] io::Error),
}

use ProxyHeaderError::Malformed;

impl ProxyHeader {
    /// Reads a header, of which more may come.
    ///
    /// # Errors
    /// [`ProxyHeaderError::Malformed`] when no header begins like this.
    pub fn read(bytes: &[u8]) -> Result<Self, ProxyHeaderError> {
        let begins = |word: &[u8]| bytes.iter().zip(word).all(|(byte, expected)| byte == expected);
        match bytes.len() {
            _ if !begins(SIGNATURE) && !begins(WORD) => Err(Malformed("there is none")),
            length @ ..SHORTEST => Ok(Self::Part(SHORTEST - length)),
            _ if begins(SIGNATURE) => read_binary(bytes),
            _ => read_line(bytes),
        }
    }

    /// Receives a header: the client that it names, if it does.
    pub(crate) async fn receive(stream: &mut (impl AsyncRead + Unpin)) -> Result<Option<SocketAddr>, ProxyHeaderError> {
        let mut bytes = Vec::new();
        loop {
            match Self::read(&bytes)? {
                Self::Whole(client) => return Ok(client),
                Self::Part(missing) => {
                    let came = (&mut *stream).take(missing as u64).read_to_end(&mut bytes).await?;
                    if came < missing {
                        return Err(ProxyHeaderError::Missing);
                    }
                }
            }
        }
    }
}

/// Version 1: `PROXY TCP4 192.0.2.1 192.0.2.2 4711 443` and the end of the line.
fn read_line(bytes: &[u8]) -> Result<ProxyHeader, ProxyHeaderError> {
    let Some(line) = bytes.strip_suffix(b"\r\n") else {
        let is_line = bytes.len() < MAX_LINE && !bytes.contains(&b'\n');
        return if is_line { Ok(ProxyHeader::Part(1)) } else { Err(Malformed("its line does not end")) };
    };
    if line.contains(&b'\r') {
        return Err(Malformed("it has more than one line"));
    }
    let line = std::str::from_utf8(line).map_err(|_| Malformed("it is not ASCII"))?;
    let words: Vec<&str> = line.split(' ').collect();
    let client = match words.as_slice() {
        // What follows says nothing.
        ["PROXY", "UNKNOWN", ..] => return Ok(ProxyHeader::Whole(None)),
        ["PROXY", "TCP4", from, to, ports @ ..] => ends::<Ipv4Addr>(from, to, ports),
        ["PROXY", "TCP6", from, to, ports @ ..] => ends::<Ipv6Addr>(from, to, ports),
        _ => return Err(Malformed("its addresses are of another kind than TCP4, TCP6 and UNKNOWN")),
    };
    client.map(|client| ProxyHeader::Whole(Some(client))).ok_or(Malformed("its addresses are none"))
}

/// The first of two ends of a connection.
fn ends<Ip: FromStr + Into<IpAddr>>(from: &str, to: &str, ports: &[&str]) -> Option<SocketAddr> {
    let (from, _) = (from.parse::<Ip>().ok()?, to.parse::<Ip>().ok()?);
    let [from_port, to_port] = ports else { return None };
    port(to_port)?;
    Some(SocketAddr::new(from.into(), port(from_port)?))
}

fn port(text: &str) -> Option<u16> {
    // `parse` would let a plus through.
    text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok()).flatten()
}

/// Version 2: the signature, version and command, family, the length of what is behind, addresses, and fields.
fn read_binary(bytes: &[u8]) -> Result<ProxyHeader, ProxyHeaderError> {
    let Some((fixed, behind)) = bytes.split_at_checked(FIXED) else {
        return Ok(ProxyHeader::Part(FIXED - bytes.len()));
    };
    let &[.., command, family, high, low] = fixed else { return Err(Malformed("there is none")) };
    let length = usize::from(u16::from_be_bytes([high, low]));
    if length > MAX_BEHIND {
        return Err(Malformed("it is longer than 4,112 bytes"));
    }
    if !matches!(command, 0x20 | 0x21) {
        return Err(Malformed("its version or its command is unknown"));
    }
    if behind.len() != length {
        return match length.checked_sub(behind.len()) {
            Some(missing) => Ok(ProxyHeader::Part(missing)),
            None => Err(Malformed("something is behind it")),
        };
    }
    // LOCAL: the proxy has connected by itself, and what is behind says nothing.
    if command == 0x20 {
        return Ok(ProxyHeader::Whole(None));
    }
    let (client, fields) = match family {
        // Unknown, and sockets in the file system.
        0x00 => return Ok(ProxyHeader::Whole(None)),
        0x31 => (None, behind.get(216..)),
        0x11 => match behind.split_at_checked(12) {
            Some((&[a, b, c, d, _, _, _, _, high, low, _, _], fields)) => {
                (Some(SocketAddr::new(Ipv4Addr::new(a, b, c, d).into(), u16::from_be_bytes([high, low]))), Some(fields))
            }
            _ => (None, None),
        },
        0x21 => match behind.split_first_chunk::<16>().zip(behind.split_at_checked(36)) {
            Some(((from, _), (&[.., high, low, _, _], fields))) => {
                (Some(SocketAddr::new(Ipv6Addr::from(*from).into(), u16::from_be_bytes([high, low]))), Some(fields))
            }
            _ => (None, None),
        },
        _ => return Err(Malformed("its addresses are of another kind than TCP")),
    };
    let fields = fields.ok_or(Malformed("it is too short for its addresses"))?;
    if !are_fields(fields) {
        return Err(Malformed("its fields do not end where it ends"));
    }
    Ok(ProxyHeader::Whole(client))
}

/// Whether these are fields: a kind, a length of two bytes, and so many bytes. What they say does not matter.
fn are_fields(mut bytes: &[u8]) -> bool {
    while let [_, high, low, rest @ ..] = bytes {
        let Some(next) = rest.get(usize::from(u16::from_be_bytes([*high, *low]))..) else { return false };
        bytes = next;
    }
    bytes.is_empty()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn read(bytes: &[u8]) -> Option<ProxyHeader> {
        ProxyHeader::read(bytes).ok()
    }

    fn binary(command: u8, family: u8, behind: &[u8]) -> Vec<u8> {
        let length = u16::try_from(behind.len()).unwrap().to_be_bytes();
        [SIGNATURE, &[command, family], &length, behind].concat()
    }

    /// A header of version 2 with these ends and fields.
    fn binary_of(from: SocketAddr, to: SocketAddr, fields: &[(u8, Vec<u8>)]) -> Vec<u8> {
        let octets = |ip: IpAddr| match ip {
            IpAddr::V4(ip) => ip.octets().to_vec(),
            IpAddr::V6(ip) => ip.octets().to_vec(),
        };
        let ports = [from.port().to_be_bytes(), to.port().to_be_bytes()].concat();
        let mut behind = [octets(from.ip()), octets(to.ip()), ports].concat();
        for (kind, value) in fields {
            behind.push(*kind);
            behind.extend(u16::try_from(value.len()).unwrap().to_be_bytes());
            behind.extend(value);
        }
        binary(0x21, if from.is_ipv4() { 0x11 } else { 0x21 }, &behind)
    }

    fn line_of(from: SocketAddr, to: SocketAddr) -> String {
        let kind = if from.is_ipv4() { "TCP4" } else { "TCP6" };
        format!("PROXY {kind} {} {} {} {}\r\n", from.ip(), to.ip(), from.port(), to.port())
    }

    #[test]
    fn the_examples_of_the_specification_are_read() {
        for (line, client) in [
            ("PROXY TCP4 255.255.255.255 255.255.255.255 65535 65535\r\n", Some("255.255.255.255:65535")),
            (
                "PROXY TCP6 ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff 65535 65535\r\n",
                Some("[ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff]:65535"),
            ),
            ("PROXY UNKNOWN\r\n", None),
            ("PROXY UNKNOWN ffff:f...f:ffff ffff:f...f:ffff 65535 65535\r\n", None),
            ("PROXY TCP4 192.168.0.1 192.168.0.11 56324 443\r\n", Some("192.168.0.1:56324")),
        ] {
            let client = client.map(|client| client.parse().unwrap());
            assert_eq!(read(line.as_bytes()), Some(ProxyHeader::Whole(client)), "{line}");
        }
        let local = binary(0x20, 0, b"");
        assert_eq!((read(&local), local.len()), (Some(ProxyHeader::Whole(None)), FIXED));
        assert_eq!(read(&binary(0x21, 0, b"anything")), Some(ProxyHeader::Whole(None)));
        assert_eq!(read(&binary(0x21, 0x31, &[0; 216])), Some(ProxyHeader::Whole(None)));
    }

    #[test]
    fn what_is_no_header_is_refused() {
        for line in [
            "GET / HTTP/1.1\r\n",
            "proxy TCP4 192.0.2.1 192.0.2.2 1 2\r\n",
            "PROXY  TCP4 192.0.2.1 192.0.2.2 1 2\r\n",
            "PROXY TCP4 192.0.2.1 192.0.2.2 1\r\n",
            "PROXY TCP4 192.0.2.1 192.0.2.2 1 2 3\r\n",
            "PROXY TCP4 192.0.2.1 192.0.2.2 +1 2\r\n",
            "PROXY TCP4 192.0.2.1 192.0.2.2 1 65536\r\n",
            "PROXY TCP4 192.0.2.1 192.0.2.2 1 \r\n",
            "PROXY TCP4 192.0.2.256 192.0.2.2 1 2\r\n",
            "PROXY TCP4 2001:db8::1 2001:db8::2 1 2\r\n",
            "PROXY TCP6 192.0.2.1 192.0.2.2 1 2\r\n",
            "PROXY TCP6 fe80::1%eth0 fe80::2 1 2\r\n",
            "PROXY UDP4 192.0.2.1 192.0.2.2 1 2\r\n",
            "PROXY TCP4 192.0.2.1 192.0.2.2 1 2\n",
            "PROXY UNKNOWN\rPROXY\r\n",
            "PROXY UNKNOWN \u{e9}\n\n",
        ] {
            assert_eq!(read(line.as_bytes()), None, "{line}");
        }
        let unending = format!("PROXY UNKNOWN {}", "x".repeat(MAX_LINE));
        assert_eq!(read(&unending.as_bytes()[..MAX_LINE]), None);
        assert_eq!(read(&unending.as_bytes()[..MAX_LINE - 1]), Some(ProxyHeader::Part(1)));
        let four = [192, 0, 2, 1, 192, 0, 2, 2, 0, 1, 0, 2];
        for (command, family, behind) in [
            (0x11, 0x11, &four[..]),
            (0x22, 0x11, &four),
            (0x21, 0x12, &four),
            (0x21, 0x13, &four),
            (0x21, 0x41, &four),
            (0x21, 0x11, &four[..11]),
            (0x21, 0x21, &four),
            (0x21, 0x31, &four),
            (0x21, 0x11, &[&four[..], &[4, 0]].concat()),
            (0x21, 0x11, &[&four[..], &[4, 0, 2, 0]].concat()),
            (0x21, 0x11, &[0; MAX_BEHIND + 1]),
        ] {
            assert_eq!(read(&binary(command, family, behind)), None, "{command:x} {family:x} {behind:?}");
        }
    }

    fn address() -> impl Strategy<Value = (SocketAddr, SocketAddr)> {
        let of = |ip: fn(u128) -> IpAddr| {
            any::<(u128, u128, u16, u16)>().prop_map(move |(from, to, one, other)| {
                (SocketAddr::new(ip(from), one), SocketAddr::new(ip(to), other))
            })
        };
        prop_oneof![of(|bits| Ipv4Addr::from_bits(bits as u32).into()), of(|bits| Ipv6Addr::from_bits(bits).into())]
    }

    /// Reads as a connection does: what is asked for, and no more.
    fn received(bytes: &[u8]) -> Result<(ProxyHeader, usize), ProxyHeaderError> {
        let mut came = 0;
        loop {
            match ProxyHeader::read(&bytes[..came])? {
                whole @ ProxyHeader::Whole(_) => return Ok((whole, came)),
                ProxyHeader::Part(missing) if missing == 0 || came + missing > bytes.len() => {
                    return Ok((ProxyHeader::Part(missing), came));
                }
                ProxyHeader::Part(missing) => came += missing,
            }
        }
    }

    proptest! {
        #[test]
        fn what_a_proxy_writes_is_read_and_nothing_behind_it(
            (from, to) in address(),
            fields in prop::collection::vec((any::<u8>(), prop::collection::vec(any::<u8>(), 0..40)), 0..4),
            behind in prop::collection::vec(any::<u8>(), 0..40),
        ) {
            for header in [line_of(from, to).into_bytes(), binary_of(from, to, &fields)] {
                let (read, came) = received(&[&header[..], &behind].concat()).unwrap();
                prop_assert_eq!((read, came), (ProxyHeader::Whole(Some(from)), header.len()));
                for end in 0..header.len() {
                    let part = ProxyHeader::read(&header[..end]).unwrap();
                    let is_part = matches!(part, ProxyHeader::Part(missing) if missing > 0 && end + missing <= header.len());
                    prop_assert!(is_part, "{:?} of {} bytes at {}", part, header.len(), end);
                }
            }
        }

        #[test]
        fn whatever_comes_is_read_to_an_end(
            begins in prop_oneof![Just(&b""[..]), Just(SIGNATURE), Just(WORD), Just(&b"PROXY TCP4 1.1.1.1 "[..])],
            bytes in prop::collection::vec(any::<u8>(), 0..300),
        ) {
            let bytes = [begins, &bytes].concat();
            if let Ok((read, came)) = received(&bytes) {
                prop_assert!(read != ProxyHeader::Part(0) && came <= FIXED + MAX_BEHIND);
            }
        }
    }
}
