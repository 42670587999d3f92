//! Connections over TLS. The certificate of the server and its name are always verified.

use std::io;
use std::path::Path;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use futures_util::future::BoxFuture;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio_postgres::Socket;
use tokio_postgres::tls::{ChannelBinding, MakeTlsConnect, TlsConnect, TlsStream};
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName};
use tokio_rustls::rustls::{ClientConfig, RootCertStore};

/// Begins TLS on a connection.
#[derive(Clone)]
pub(crate) struct Tls(Option<TlsConnector>);

/// TLS with one host.
pub(crate) struct Host {
    connector: Option<TlsConnector>,
    name: String,
}

/// A connection over TLS.
pub(crate) struct Stream(tokio_rustls::client::TlsStream<Socket>);

impl Tls {
    /// For connections without TLS.
    pub(crate) fn none() -> Self {
        Self(None)
    }

    /// Trusts the certificates in the PEM file `roots`, else those of the system.
    ///
    /// # Errors
    /// Why there are none.
    pub(crate) fn trusting(roots: Option<&Path>) -> Result<Self, String> {
        let mut trusted = RootCertStore::empty();
        match roots {
            Some(path) => {
                let why = |reason: String| format!("read the certificates `{}`: {reason}", path.display());
                for certificate in CertificateDer::pem_file_iter(path).map_err(|error| why(error.to_string()))? {
                    let certificate = certificate.map_err(|error| why(error.to_string()))?;
                    trusted.add(certificate).map_err(|error| why(error.to_string()))?;
                }
            }
            // Systems have old certificates that are not understood beside those that are.
            None => drop(trusted.add_parsable_certificates(rustls_native_certs::load_native_certs().certs)),
        }
        if trusted.is_empty() {
            return Err("no certificates are there to verify the server by; name a file with `sslrootcert`".to_owned());
        }
        let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .map_err(|error| error.to_string())?
            .with_root_certificates(trusted)
            .with_no_client_auth();
        Ok(Self(Some(TlsConnector::from(Arc::new(config)))))
    }
}

impl MakeTlsConnect<Socket> for Tls {
    type Stream = Stream;
    type TlsConnect = Host;
    type Error = io::Error;

    fn make_tls_connect(&mut self, domain: &str) -> io::Result<Host> {
        // Called for connections without TLS, too.
        Ok(Host { connector: self.0.clone(), name: domain.to_owned() })
    }
}

impl TlsConnect<Socket> for Host {
    type Stream = Stream;
    type Error = io::Error;
    type Future = BoxFuture<'static, io::Result<Stream>>;

    fn connect(self, socket: Socket) -> Self::Future {
        Box::pin(async move {
            let connector = self.connector.ok_or_else(|| io::Error::other("TLS is not set up"))?;
            let name = ServerName::try_from(self.name).map_err(io::Error::other)?;
            connector.connect(name, socket).await.map(Stream)
        })
    }
}

impl TlsStream for Stream {
    fn channel_binding(&self) -> ChannelBinding {
        // The certificate is verified, which shows that nobody stands between.
        ChannelBinding::none()
    }
}

impl AsyncRead for Stream {
    fn poll_read(mut self: Pin<&mut Self>, context: &mut Context<'_>, into: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_read(context, into)
    }
}

impl AsyncWrite for Stream {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_shutdown(context)
    }
}
