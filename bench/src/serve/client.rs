//! Clients of a server: one connection each, one request after another.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, bail};

/// A connection that stays open.
pub(crate) struct Client {
    reader: BufReader<TcpStream>,
    host: String,
}

impl Client {
    pub(crate) fn connect(address: &str) -> anyhow::Result<Self> {
        let stream = TcpStream::connect(address).context("failed to connect")?;
        stream.set_nodelay(true)?;
        Ok(Self { reader: BufReader::new(stream), host: address.to_owned() })
    }

    /// Gets a page and answers the status and the body.
    pub(crate) fn get(&mut self, path: &str) -> anyhow::Result<(u16, String)> {
        let request = format!("GET {path} HTTP/1.1\r\nhost: {}\r\n\r\n", self.host);
        self.reader.get_mut().write_all(request.as_bytes())?;
        self.answer()
    }

    /// How many bytes a file has as the server packs it.
    pub(crate) fn packed_length(&mut self, path: &str) -> anyhow::Result<usize> {
        let request = format!("GET {path} HTTP/1.1\r\nhost: {}\r\naccept-encoding: gzip\r\n\r\n", self.host);
        self.reader.get_mut().write_all(request.as_bytes())?;
        Ok(self.answer_bytes()?.1.len())
    }

    /// Posts JSON and answers the status and the body.
    pub(crate) fn post(&mut self, path: &str, body: &str) -> anyhow::Result<(u16, String)> {
        let request = format!(
            "POST {path} HTTP/1.1\r\nhost: {}\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
            self.host,
            body.len()
        );
        self.reader.get_mut().write_all(request.as_bytes())?;
        self.answer()
    }

    fn answer(&mut self) -> anyhow::Result<(u16, String)> {
        let (status, body) = self.answer_bytes()?;
        Ok((status, String::from_utf8(body)?))
    }

    fn answer_bytes(&mut self) -> anyhow::Result<(u16, Vec<u8>)> {
        let mut line = String::new();
        self.reader.read_line(&mut line)?;
        let status = line.split(' ').nth(1).and_then(|status| status.parse().ok()).context("no answer")?;
        let mut length = 0;
        loop {
            line.clear();
            self.reader.read_line(&mut line)?;
            match line.trim_end().split_once(':') {
                None => break,
                Some((name, value)) if name.eq_ignore_ascii_case("content-length") => length = value.trim().parse()?,
                Some(_) => {}
            }
        }
        let mut body = vec![0; length];
        self.reader.read_exact(&mut body)?;
        Ok((status, body))
    }
}

/// How many a second, and how long one takes.
pub(crate) struct Figures {
    pub(crate) each_second: f64,
    pub(crate) median: Duration,
    pub(crate) p99: Duration,
    pub(crate) count: usize,
}

/// Lets `clients` threads do `work(client, number)` for as long as `least`, each in a state of its own.
pub(crate) fn load<S>(
    clients: usize,
    least: Duration,
    begin: impl Fn() -> anyhow::Result<S> + Sync,
    work: impl Fn(&mut S, u64) -> anyhow::Result<()> + Sync,
) -> anyhow::Result<Figures> {
    let (stop, number) = (AtomicBool::new(false), AtomicU64::new(0));
    let started = Instant::now();
    let mut times = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..clients)
            .map(|_| {
                scope.spawn(|| {
                    let mut state = begin()?;
                    let mut times = Vec::new();
                    while !stop.load(Ordering::Relaxed) {
                        let begun = Instant::now();
                        work(&mut state, number.fetch_add(1, Ordering::Relaxed))?;
                        times.push(begun.elapsed());
                    }
                    anyhow::Ok(times)
                })
            })
            .collect();
        std::thread::sleep(least);
        stop.store(true, Ordering::Relaxed);
        let mut all = Vec::new();
        for thread in threads {
            match thread.join() {
                Ok(times) => all.extend(times?),
                Err(_) => bail!("a client panicked"),
            }
        }
        Ok(all)
    })?;
    let took = started.elapsed();
    times.sort();
    let at = |share: usize| times.get(times.len() * share / 100).or(times.last()).copied().unwrap_or_default();
    Ok(Figures {
        each_second: times.len() as f64 / took.as_secs_f64(),
        median: at(50),
        p99: at(99),
        count: times.len(),
    })
}
