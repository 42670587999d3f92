//! Bodies that are too large, too deep, or packed to harm.

use std::io::{Read, Write};

use flate2::Compression;
use flate2::write::GzEncoder;
use proofmark_testing::Home;

use crate::client::{DECISIONS, NOTE, answer};
use crate::server::Server;

const MEGABYTE: usize = 1 << 20;
/// What a server may use of memory while it refuses 100 MB, in KiB.
const MAX_MEMORY: u64 = 256 << 10;

#[test]
fn a_hundred_megabytes_are_refused_before_they_are_sent() {
    let home = Home::new();
    let server = Server::start(&home, &[]);
    let mut stream = server.connect();
    write!(stream, "{DECISIONS}\r\nhost: localhost\r\nconnection: close\r\ncontent-length: {}\r\n\r\n", 100 * MEGABYTE)
        .unwrap();
    assert_eq!(answer(&mut stream).unwrap().0, 413);
    still_decides(&server);
}

#[test]
fn a_hundred_megabytes_in_chunks_are_refused() {
    let home = Home::new();
    let server = Server::start(&home, &[]);
    let mut stream = server.connect();
    write!(stream, "{DECISIONS}\r\nhost: localhost\r\nconnection: close\r\ntransfer-encoding: chunked\r\n\r\n")
        .unwrap();
    let mut other = stream.try_clone().unwrap();
    let sender = std::thread::spawn(move || {
        let chunk = [b"100000\r\n".as_slice(), &vec![b' '; MEGABYTE], b"\r\n"].concat();
        (0..100).take_while(|_| other.write_all(&chunk).is_ok()).count()
    });
    // The server does not read on, so what it said may be lost when the connection breaks.
    let mut said = Vec::new();
    drop(stream.read_to_end(&mut said));
    let said = String::from_utf8_lossy(&said);
    assert!(said.is_empty() || said.starts_with("HTTP/1.1 413"), "{said}");
    drop(stream);
    assert!(sender.join().unwrap() < 100, "all of it was taken");
    still_decides(&server);
}

#[test]
fn what_unpacks_to_too_much_is_refused() {
    let home = Home::new();
    let server = Server::start(&home, &[]);
    let mut bomb = GzEncoder::new(Vec::new(), Compression::best());
    (0..100).for_each(|_| bomb.write_all(&vec![0; MEGABYTE]).unwrap());
    let bomb = bomb.finish().unwrap();
    assert_eq!(posted(&server, &bomb), 413);
    // Members that follow each other unpack to one text.
    let many = packed(&vec![b' '; MEGABYTE]).repeat(100);
    assert_eq!(posted(&server, &many), 413);
    still_decides(&server);
}

#[test]
fn what_cannot_be_unpacked_is_refused() {
    let home = Home::new();
    let server = Server::start(&home, &[]);
    let once = packed(NOTE.as_bytes());
    assert_eq!(posted(&server, &once), 200);
    assert_eq!(posted(&server, &packed(&once)), 400);
    for end in [0, 1, 10, once.len() / 2, once.len() - 1] {
        assert_eq!(posted(&server, &once[..end]), 400, "{end}");
    }
    let mut wrong = once.clone();
    wrong[once.len() - 5] ^= 1;
    assert_eq!(posted(&server, &wrong), 400);
    assert_eq!(posted(&server, &[once.as_slice(), b"more"].concat()), 400);
    assert_eq!(posted(&server, NOTE.as_bytes()), 400);
    let (status, _) = server.send(&format!("{DECISIONS}\r\ncontent-encoding: br"), NOTE);
    assert_eq!(status, 415);
    let (status, _) = server.send(&format!("{DECISIONS}\r\ncontent-encoding: gzip, gzip"), NOTE);
    assert_eq!(status, 415);
    let twice = format!("{DECISIONS}\r\ncontent-encoding: gzip\r\ncontent-encoding: gzip");
    assert_eq!(server.try_send(&twice, &packed(&once)).unwrap().0, 415);
}

#[test]
fn ten_thousand_levels_are_refused() {
    let home = Home::new();
    let server = Server::start(&home, &[]);
    let lists = "[".repeat(10_000);
    let objects = r#"{"a":"#.repeat(10_000);
    let whole = NOTE.replace("\"done\"", &format!("{lists}{}", "]".repeat(10_000)));
    for path in [
        "/v4/runtime/boundaries/preflight",
        "/v4/runtime/boundaries/executions/report",
        "/v1/events/batch",
        "/v1/decisions",
    ] {
        for body in [&lists, &objects, &whole] {
            assert_eq!(server.post(path, "", body).0, 400, "{path}");
        }
    }
    assert_eq!(posted(&server, &packed(whole.as_bytes())), 400);
    still_decides(&server);
}

fn packed(bytes: &[u8]) -> Vec<u8> {
    let mut packer = GzEncoder::new(Vec::new(), Compression::best());
    packer.write_all(bytes).unwrap();
    packer.finish().unwrap()
}

/// The status a packed body gets.
fn posted(server: &Server, body: &[u8]) -> u16 {
    server.try_send(&format!("{DECISIONS}\r\ncontent-encoding: gzip"), body).unwrap().0
}

fn still_decides(server: &Server) {
    assert_eq!(server.send(DECISIONS, NOTE).0, 200);
    assert!(server.memory() < MAX_MEMORY, "{} KiB", server.memory());
}
