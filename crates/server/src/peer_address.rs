//! Who is at the other end of a connection, for servers whose clients have no keys.

use std::net::{IpAddr, SocketAddr};

use crate::connections::Who;

/// The tables of the kernel with its connections, with the account of each.
const TABLES: [&str; 2] = ["/proc/net/tcp", "/proc/net/tcp6"];
/// Where in a line of these are: the own address, the other one, and the account.
const COLUMNS: [usize; 3] = [1, 2, 7];

/// Both ends of the connection that a request came by.
#[derive(Clone, Copy, Debug)]
pub struct PeerAddress {
    pub(crate) peer: SocketAddr,
    pub(crate) own: SocketAddr,
}

impl PeerAddress {
    /// The account of a program of this host, where the system names it; otherwise the address.
    pub(crate) fn who(&self) -> Who {
        let is_here = self.peer.ip().to_canonical().is_loopback();
        let account = is_here.then(|| TABLES.iter().find_map(|table| self.account_in(table))).flatten();
        account.map_or_else(|| Who::Address(self.peer.ip().to_canonical()), Who::Account)
    }

    fn account_in(&self, table: &str) -> Option<u32> {
        let table = std::fs::read_to_string(table).ok()?;
        let (peer, own) = (written(self.peer), written(self.own));
        table.lines().find_map(|line| {
            let words: Vec<&str> = line.split_whitespace().collect();
            let [first, second, account] = COLUMNS.map(|column| words.get(column).copied().unwrap_or_default());
            // The peer's own end of the connection.
            (first == peer && second == own).then(|| account.parse().ok()).flatten()
        })
    }
}

/// An address as the kernel's tables have it: words of 32 bits in the order of this machine, and the port.
fn written(address: SocketAddr) -> String {
    let bytes = match address.ip() {
        IpAddr::V4(ip) => ip.octets().to_vec(),
        IpAddr::V6(ip) => ip.octets().to_vec(),
    };
    let (words, _) = bytes.as_chunks::<4>();
    let ip: String = words.iter().map(|word| format!("{:08X}", u32::from_ne_bytes(*word))).collect();
    format!("{ip}:{:04X}", address.port())
}

#[cfg(test)]
mod tests {
    use std::net::{TcpListener, TcpStream};
    use std::os::unix::fs::MetadataExt;

    use super::*;

    #[test]
    fn a_program_of_this_host_is_known_by_its_account() {
        let account = std::fs::metadata("/proc/self").unwrap().uid();
        for listen in ["127.0.0.1:0", "[::1]:0"] {
            let Ok(listener) = TcpListener::bind(listen) else { continue };
            let _client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
            let (stream, peer) = listener.accept().unwrap();
            let address = PeerAddress { peer, own: stream.local_addr().unwrap() };
            assert_eq!(address.who(), Who::Account(account), "{listen}");
        }
        let elsewhere: SocketAddr = "192.0.2.1:5".parse().unwrap();
        let address = PeerAddress { peer: elsewhere, own: elsewhere };
        assert_eq!(address.who(), Who::Address(elsewhere.ip()));
    }
}
