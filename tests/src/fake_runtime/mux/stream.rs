//! One stream of the mux, as the `ttrpc` crate wants it: a reader and a writer of bytes.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender};

use super::rule::{MESSAGE_HEADER, MessageHeader};
use super::trunk::Outgoing;

/// A byte stream over the trunk.
///
/// What is written is gathered until a whole ttrpc message is there, since the `ttrpc` crate hands
/// messages over in pieces, and the cutting into frames is the trunk's affair.
#[derive(Debug)]
pub struct MuxStream {
    id: u32,
    /// Payloads of frames. Unbounded, since what it holds is bounded by the one call in flight.
    inbound: UnboundedReceiver<Vec<u8>>,
    /// The frame being read and how much of it was read.
    current: (Vec<u8>, usize),
    outbound: UnboundedSender<Outgoing>,
    gathered: Vec<u8>,
}

impl MuxStream {
    pub(super) fn new(
        id: u32,
        inbound: UnboundedReceiver<Vec<u8>>,
        outbound: UnboundedSender<Outgoing>,
    ) -> Self {
        Self {
            id,
            inbound,
            current: (Vec::new(), 0),
            outbound,
            gathered: Vec::new(),
        }
    }

    /// Hands over each whole message of what was gathered.
    fn send_messages(&mut self) -> io::Result<()> {
        while let Some(header) = self.gathered.first_chunk::<MESSAGE_HEADER>() {
            let end = MESSAGE_HEADER + MessageHeader::parse(header).length;
            if self.gathered.len() < end {
                break;
            }
            let rest = self.gathered.split_off(end);
            let bytes = std::mem::replace(&mut self.gathered, rest);
            self.outbound
                .send(Outgoing::Message { id: self.id, bytes })
                .map_err(|_| io::Error::from(io::ErrorKind::BrokenPipe))?;
        }
        Ok(())
    }
}

impl AsyncRead for MuxStream {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        while this.current.1 == this.current.0.len() {
            match ready!(this.inbound.poll_recv(cx)) {
                Some(payload) => this.current = (payload, 0),
                None => return Poll::Ready(Ok(())),
            }
        }
        let (payload, position) = &mut this.current;
        let length = buf.remaining().min(payload.len() - *position);
        buf.put_slice(&payload[*position..*position + length]);
        *position += length;
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for MuxStream {
    fn poll_write(
        self: Pin<&mut Self>,
        _cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        this.gathered.extend_from_slice(buf);
        Poll::Ready(this.send_messages().map(|()| buf.len()))
    }

    fn poll_flush(self: Pin<&mut Self>, _cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}
