//! Accepting connections: one is served to the end of its handshake before the next is looked at.

use std::collections::VecDeque;
use std::os::fd::AsFd;
use std::sync::Arc;

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use tokio::net::UnixListener;

use super::board::{Board, Complaint};
use super::connection::Connection;
use super::handshake;

/// Accepts until the listener fails or the task is ended.
pub(super) async fn run(listener: UnixListener, board: Arc<Board>) {
    let mut waiting = VecDeque::new();
    loop {
        let socket = match waiting.pop_front() {
            Some(socket) => socket,
            None => match listener.accept().await {
                Ok((socket, _)) => socket,
                Err(_) => return,
            },
        };
        let number = board.change(|state| {
            let number = state.connections.len() + 1;
            state.connections.push(Connection::new(number));
            number
        });
        let watched = socket.as_fd().try_clone_to_owned();
        let handshake = handshake::serve(Arc::clone(&board), number, socket);
        tokio::pin!(handshake);
        loop {
            tokio::select! {
                () = &mut handshake => break,
                Ok((socket, _)) = listener.accept() => {
                    if watched.as_ref().is_ok_and(is_open) {
                        let overlap = Complaint::Overlap { earlier: number };
                        board.change(|state| state.complaints.push(overlap));
                    }
                    waiting.push_back(socket);
                }
            }
        }
    }
}

/// Whether the other side has not closed the connection. A hang-up is reported unasked, and bytes
/// that were not read before it do not matter.
fn is_open(socket: &impl AsFd) -> bool {
    let mut poll_fd = [PollFd::new(socket.as_fd(), PollFlags::empty())];
    matches!(poll(&mut poll_fd, PollTimeout::ZERO), Ok(0))
}
