//! A connection whose bytes are the test's own affair.

use anyhow::{Context, Result};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::UnixStream;

use super::mux::rule::{MESSAGE_HEADER, MessageHeader};
use super::mux::{FRAME_HEADER, frame};
use crate::patience::patiently;

/// A connection of a plugin that nothing was read from and nothing written to.
#[derive(Debug)]
pub struct RawConnection {
    socket: UnixStream,
}

/// One ttrpc message and the stream that it came on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RawMessage {
    /// Id of the stream in the mux.
    pub stream: u32,
    /// The message's header.
    pub header: MessageHeader,
    /// Its body, an encoded ttrpc request or response.
    pub body: Vec<u8>,
}

impl RawConnection {
    pub(super) fn new(socket: UnixStream) -> Self {
        Self { socket }
    }

    /// Reads one frame: the stream's id and the payload; `None` at the end of the connection.
    ///
    /// # Errors
    ///
    /// When nothing comes, the connection breaks, or it ends within the frame.
    pub async fn read_frame(&mut self) -> Result<Option<(u32, Vec<u8>)>> {
        patiently("a frame from the plugin", async {
            let mut header = [0; FRAME_HEADER];
            match self.socket.read(&mut header).await? {
                0 => return Ok(None),
                length => self.socket.read_exact(&mut header[length..]).await?,
            };
            let [s0, s1, s2, s3, l0, l1, l2, l3] = header;
            let length = u32::from_be_bytes([l0, l1, l2, l3]);
            let mut payload = vec![0; usize::try_from(length)?];
            self.socket
                .read_exact(&mut payload)
                .await
                .context("within a frame")?;
            Ok(Some((u32::from_be_bytes([s0, s1, s2, s3]), payload)))
        })
        .await?
    }

    /// Reads one message, in as many frames as it comes; `None` at the end of the connection.
    ///
    /// # Errors
    ///
    /// As [`Self::read_frame`], and when frames of two streams are mixed.
    pub async fn read_message(&mut self) -> Result<Option<RawMessage>> {
        let Some((stream, mut bytes)) = self.read_frame().await? else {
            return Ok(None);
        };
        loop {
            if let Some(header) = bytes.first_chunk::<MESSAGE_HEADER>() {
                let header = MessageHeader::parse(header);
                if bytes.len() >= MESSAGE_HEADER + header.length {
                    let body = bytes.split_off(MESSAGE_HEADER);
                    return Ok(Some(RawMessage {
                        stream,
                        header,
                        body,
                    }));
                }
            }
            let (next, payload) = self.read_frame().await?.context("ended within a message")?;
            anyhow::ensure!(
                next == stream,
                "frames of streams {stream} and {next} are mixed"
            );
            bytes.extend(payload);
        }
    }

    /// Writes bytes as they are.
    ///
    /// # Errors
    ///
    /// When the plugin does not read or the connection is gone.
    pub async fn write(&mut self, bytes: &[u8]) -> Result<()> {
        patiently("the plugin to read", self.socket.write_all(bytes)).await??;
        Ok(())
    }

    /// Writes one frame.
    ///
    /// # Errors
    ///
    /// As [`Self::write`].
    pub async fn write_frame(&mut self, stream: u32, payload: &[u8]) -> Result<()> {
        self.write(&frame(stream, payload)).await
    }

    /// The socket itself.
    pub fn into_socket(self) -> UnixStream {
        self.socket
    }
}
