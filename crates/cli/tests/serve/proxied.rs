//! Connections by a proxy that says first whose they are (the PROXY protocol).

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};

use proofmark_testing::Home;
use rustix::net::{AddressFamily, SocketType, bind, connect, socket};

use crate::client::answer;
use crate::server::{Server, keys_file, new_key};

/// Another address of this host, from which a proxy connects.
const PROXY: &str = "127.0.0.2";

fn connect_as_proxy(server: &Server) -> TcpStream {
    let socket = socket(AddressFamily::INET, SocketType::STREAM, None).unwrap();
    bind(&socket, &format!("{PROXY}:0").parse::<SocketAddr>().unwrap()).unwrap();
    connect(&socket, &server.address.parse::<SocketAddr>().unwrap()).unwrap();
    socket.into()
}

/// What is answered to a request behind these bytes; an empty text where the connection is closed.
fn answered(mut stream: TcpStream, header: &[u8], key: &str) -> Option<u16> {
    let request = format!(
        "GET /v1/decisions HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {key}\r\nconnection: close\r\n\r\n"
    );
    // What is closed may be closed before all is written.
    drop(stream.write_all(&[header, request.as_bytes()].concat()));
    answer(&mut stream).ok().map(|(status, _)| status)
}

#[test]
fn a_proxy_says_first_whose_a_connection_is_and_nobody_else_may() {
    let home = Home::new();
    let (key, entry) = new_key("a", "agent", "one.x");
    let file = keys_file(home.path(), &[&entry]);
    let server = Server::start(&home, &["--api-keys", &file, "--proxy-protocol", PROXY]);
    let line = b"PROXY TCP4 203.0.113.9 192.0.2.2 4712 443\r\n";
    let binary =
        [b"\r\n\r\n\0\r\nQUIT\n\x21\x11\0\x0c".as_slice(), &[203, 0, 113, 9, 192, 0, 2, 2, 18, 104, 1, 187]].concat();
    for header in [&line[..], &binary, b"PROXY UNKNOWN\r\n"] {
        assert_eq!(answered(connect_as_proxy(&server), header, &key), Some(200));
    }
    // Anybody else is a client, of whom no byte says who it is.
    for header in [&line[..], &binary] {
        assert!(matches!(answered(server.connect(), header, &key), None | Some(400)));
    }
    assert_eq!(answered(server.connect(), b"", &key), Some(200));
    // A proxy that does not say it is not heard.
    assert_eq!(answered(connect_as_proxy(&server), b"", &key), None);
    server.said("there is none");
    assert_eq!(answered(connect_as_proxy(&server), b"PROXY TCP4 203.0.113.9 192.0.2.2 4712\r\n", &key), None);
    server.said("its addresses are none");
    drop(connect_as_proxy(&server));
    server.said("the connection ended before it");
    let mut silent = connect_as_proxy(&server);
    assert_eq!(silent.read(&mut [0]).unwrap(), 0, "it waits for ever");
    server.said("it did not come within 10s");
}
