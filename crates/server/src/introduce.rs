//! Whose a connection is: of the address that it comes from, or of the one that a proxy of connections names.

use std::sync::Arc;
use std::time::Duration;

use tokio::io::AsyncRead;

use crate::connections::{Connection, Who};
use crate::peer::Peer;
use crate::peer_address::PeerAddress;
use crate::proxies::Proxies;
use crate::proxy_header::ProxyHeader;

/// How long a client may take for the head of a request, and stay silent between two; and a proxy, to say whose a connection is.
pub(crate) const MAX_HEADER_TIME: Duration = Duration::from_secs(10);

/// A connection, and whose it is.
pub(crate) struct Accepted<Stream> {
    pub(crate) stream: Stream,
    pub(crate) who: Who,
    pub(crate) peer: Peer,
    /// Both ends, where it came by TCP.
    pub(crate) address: Option<PeerAddress>,
}

/// Waits until the proxy of a connection has said whose it is; none where it does not.
pub(crate) async fn introduce<Stream: AsyncRead + Unpin>(
    mut accepted: Accepted<Stream>,
    connection: Arc<Connection>,
    proxies: Arc<Proxies>,
) -> Option<(Accepted<Stream>, Arc<Connection>)> {
    let header = tokio::select! {
        header = tokio::time::timeout(MAX_HEADER_TIME, ProxyHeader::receive(&mut accepted.stream)) => header,
        () = connection.gives_way() => return None,
    };
    let cause = match header {
        Ok(Ok(client)) => {
            if let Some(client) = client {
                accepted.address = accepted.address.map(|address| PeerAddress { peer: client, ..address });
                accepted.peer = accepted.peer.with_client(client);
                accepted.who = client.ip().into();
            }
            let is_proxy = client.is_some_and(|client| proxies.has(client.ip()));
            return connection.count_for(accepted.who, is_proxy).then_some((accepted, connection));
        }
        Ok(Err(error)) => error.to_string(),
        Err(_) => format!("read the header of the PROXY protocol: it did not come within {MAX_HEADER_TIME:?}"),
    };
    let proxy = accepted.address.map(|address| address.peer.to_string());
    tracing::warn!(proxy, cause, "a connection was closed");
    None
}

#[cfg(test)]
mod tests {
    use std::net::SocketAddr;

    use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream, duplex};

    use super::*;
    use crate::connections::Connections;

    const PROXY: &str = "192.0.2.1:4711";

    fn accepted(stream: DuplexStream) -> Accepted<DuplexStream> {
        let peer: SocketAddr = PROXY.parse().unwrap();
        Accepted { stream, who: peer.ip().into(), peer: Peer::at(peer), address: Some(PeerAddress { peer, own: peer }) }
    }

    /// Whose a connection is, and what is read behind the header, where this is sent and then the connection is closed.
    async fn introduced(sent: &[u8]) -> Option<(SocketAddr, Who, String)> {
        let proxies = Proxies::of(Vec::new(), Vec::new());
        let (mut proxy, stream) = duplex(1 << 10);
        proxy.write_all(sent).await.unwrap();
        drop(proxy);
        let accepted = accepted(stream);
        let connection = Connections::new().open(accepted.who, true).unwrap();
        let (mut accepted, _connection) = introduce(accepted, connection, proxies).await?;
        let mut behind = String::new();
        accepted.stream.read_to_string(&mut behind).await.unwrap();
        Some((accepted.address.unwrap().peer, accepted.who, behind))
    }

    #[tokio::test]
    async fn a_connection_is_of_the_client_that_its_proxy_names() {
        let client: SocketAddr = "203.0.113.9:4712".parse().unwrap();
        let of_client = introduced(b"PROXY TCP4 203.0.113.9 192.0.2.2 4712 443\r\nGET / HTTP/1.1\r\n").await;
        assert_eq!(of_client, Some((client, client.ip().into(), "GET / HTTP/1.1\r\n".to_owned())));
        let proxy: SocketAddr = PROXY.parse().unwrap();
        let of_proxy = introduced(b"PROXY UNKNOWN\r\nGET").await;
        assert_eq!(of_proxy, Some((proxy, proxy.ip().into(), "GET".to_owned())));
        for sent in ["", "GET / HTTP/1.1\r\n", "PROXY TCP4 203.0.113.9", "PROXY TCP4 x y 1 2\r\n"] {
            assert_eq!(introduced(sent.as_bytes()).await, None, "{sent}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_header_that_does_not_come_ends_the_connection() {
        let (mut proxy, stream) = duplex(1 << 10);
        proxy.write_all(b"PROXY TCP4 203.0.113.9").await.unwrap();
        let accepted = accepted(stream);
        let connection = Connections::new().open(accepted.who, true).unwrap();
        assert!(introduce(accepted, connection, Proxies::of(Vec::new(), Vec::new())).await.is_none());
        assert_eq!(proxy.read(&mut [0]).await.unwrap(), 0, "it is closed");
    }

    #[tokio::test]
    async fn a_client_has_as_many_connections_by_a_proxy_as_it_has_itself() {
        let (connections, proxies) = (Connections::at_most(9, 2), Proxies::of(Vec::new(), Vec::new()));
        let mut open = Vec::new();
        for number in [1, 1, 1, 2] {
            let (mut proxy, stream) = duplex(1 << 10);
            let header = format!("PROXY TCP4 203.0.113.{number} 192.0.2.2 4712 443\r\n");
            proxy.write_all(header.as_bytes()).await.unwrap();
            let accepted = accepted(stream);
            let connection = connections.open(accepted.who, true).unwrap();
            let named = introduce(accepted, connection, Arc::clone(&proxies)).await;
            // What has a request does not give way.
            open.push(named.map(|(accepted, connection)| (accepted, connection.begin())));
        }
        assert_eq!(open.iter().map(Option::is_some).collect::<Vec<_>>(), [true, true, false, true]);
    }
}
