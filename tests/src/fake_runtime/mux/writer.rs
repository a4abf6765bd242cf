//! The task that writes messages to a trunk's socket.

use std::io;
use std::net::Shutdown;
use std::sync::Arc;

use tokio::io::AsyncWriteExt;
use tokio::net::unix::OwnedWriteHalf;
use tokio::sync::mpsc::UnboundedReceiver;

use super::trunk::{End, Outgoing, Shared, lock};
use super::{Cut, Direction, frame};

/// Writes what is queued until the connection ends.
pub(super) async fn write(
    mut socket: OwnedWriteHalf,
    mut queue: UnboundedReceiver<Outgoing>,
    shared: Arc<Shared>,
) {
    let mut left = shared.limits.written.unwrap_or(usize::MAX);
    while let Some(outgoing) = queue.recv().await {
        let cut = *lock(&shared.cut);
        let mut bytes = match outgoing {
            Outgoing::Message { id, bytes } => encode(id, &bytes, cut, &shared),
            Outgoing::Raw(bytes) => bytes,
            Outgoing::HalfClose => {
                // It fails only if the connection is gone, which the reader sees.
                let _ = shared.socket.shutdown(Shutdown::Write);
                continue;
            }
        };
        bytes.truncate(left);
        let result = tokio::select! {
            result = write_pieces(&mut socket, &bytes, cut.write_size()) => result,
            () = shared.ended() => return,
        };
        if let Err(error) = result {
            return shared.finish(End::Io(error.kind()));
        }
        left -= bytes.len();
        lock(&shared.record).bytes_written += bytes.len();
        if left == 0 {
            return shared.finish(End::Limit);
        }
    }
}

/// Cuts a message into frames.
fn encode(id: u32, message: &[u8], cut: Cut, shared: &Shared) -> Vec<u8> {
    let pieces = cut.pieces(message);
    let mut record = lock(&shared.record);
    for piece in &pieces {
        record.push(Direction::Written, id, piece.len());
    }
    pieces
        .into_iter()
        .flat_map(|piece| frame(id, piece))
        .collect()
}

async fn write_pieces(socket: &mut OwnedWriteHalf, bytes: &[u8], size: usize) -> io::Result<()> {
    for piece in bytes.chunks(size) {
        socket.write_all(piece).await?;
        if size < usize::MAX {
            tokio::task::yield_now().await;
        }
    }
    Ok(())
}
