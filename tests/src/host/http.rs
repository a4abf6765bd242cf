//! Requests to the host, without a program in between.

use std::net::SocketAddr;

use anyhow::{Context, Result};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpStream, UnixStream};

use super::process::Host;
use crate::patience::patiently;

/// An answer.
#[derive(Clone, Debug)]
pub struct Answer {
    /// Its status code.
    pub status: u16,
    /// The lines of its head, but for the first.
    pub headers: Vec<(String, String)>,
    /// What follows.
    pub body: String,
}

impl Answer {
    /// The value of a header, by its name in lower case.
    pub fn header(&self, name: &str) -> Option<&str> {
        let mut headers = self.headers.iter();
        headers
            .find(|(other, _)| other == name)
            .map(|(_, value)| value.as_str())
    }

    fn parse(text: &str) -> Option<Self> {
        let (head, body) = text.split_once("\r\n\r\n")?;
        let mut lines = head.lines();
        let status = lines.next()?.strip_prefix("HTTP/1.1 ")?;
        let headers = lines.map(|line| {
            let (name, value) = line.split_once(':').unwrap_or((line, ""));
            (name.to_ascii_lowercase(), value.trim().to_owned())
        });
        Some(Self {
            status: status.get(..3)?.parse().ok()?,
            headers: headers.collect(),
            body: body.to_owned(),
        })
    }
}

impl Host {
    /// Asks on the admin socket. `headers`: whole lines, each with its end.
    ///
    /// # Errors
    ///
    /// When there is no answer.
    pub async fn ask(&self, method: &str, path: &str, headers: &str) -> Result<Answer> {
        let stream = UnixStream::connect(self.admin_socket()).await?;
        exchange(stream, method, path, headers).await
    }

    /// Where it serves its metrics over TCP, once it does.
    ///
    /// # Errors
    ///
    /// When it does not for far too long.
    pub async fn metrics_address(&self) -> Result<SocketAddr> {
        const SERVED: &str = "metrics are served";
        self.logged(SERVED).await?;
        let log = self.log();
        let mut lines = log.lines().filter(|line| line.contains(SERVED));
        let line = lines.next_back().context("it is in the log")?;
        let (_, address) = line.split_once("address=").context("the line names it")?;
        Ok(address.trim().parse()?)
    }
}

/// Asks over TCP, as [`Host::ask`].
///
/// # Errors
///
/// When there is no answer.
pub async fn ask_tcp(
    address: SocketAddr,
    method: &str,
    path: &str,
    headers: &str,
) -> Result<Answer> {
    let stream = TcpStream::connect(address).await?;
    exchange(stream, method, path, headers).await
}

async fn exchange(
    mut stream: impl AsyncRead + AsyncWrite + Unpin,
    method: &str,
    path: &str,
    headers: &str,
) -> Result<Answer> {
    let request = format!("{method} {path} HTTP/1.1\r\nHost: nri-host\r\n{headers}\r\n");
    let answer = patiently(&format!("the answer to {method} {path}"), async {
        stream.write_all(request.as_bytes()).await?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await?;
        anyhow::Ok(answer)
    })
    .await??;
    Answer::parse(&answer).with_context(|| format!("no answer in HTTP: {answer:?}"))
}
