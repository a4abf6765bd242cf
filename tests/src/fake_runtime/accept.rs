//! Accepting connections: one is served to the end of its handshake before the next is looked at.

use std::os::fd::AsFd;
use std::sync::{Arc, OnceLock};

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use tokio::net::UnixListener;

use super::board::{Board, Complaint};
use super::connection::Connection;
use super::handshake;
use super::mux::End;
use super::session::Session;

/// Accepts until the listener fails or the task is ended.
pub(super) async fn run(listener: UnixListener, board: Arc<Board>) {
    loop {
        let waiting = board.change(|state| state.waiting.pop_front());
        let socket = match waiting {
            Some(socket) => socket,
            None => match listener.accept().await {
                Ok((socket, _)) => socket,
                Err(error) => {
                    let error = error.to_string();
                    return board
                        .change(|state| state.complaints.push(Complaint::Accept { error }));
                }
            },
        };
        let number = board.change(|state| {
            let number = state.connections.len() + 1;
            state.connections.push(Connection::new(number));
            number
        });
        let watched = socket.as_fd().try_clone_to_owned();
        let session = OnceLock::new();
        let handshake = handshake::serve(Arc::clone(&board), number, socket, &session);
        tokio::pin!(handshake);
        // Bytes that the plugin had sent when another connection came.
        let mut suspicion = None;
        loop {
            tokio::select! {
                () = &mut handshake => break,
                Ok((socket, _)) = listener.accept() => {
                    if suspicion.is_none() && watched.as_ref().is_ok_and(is_open) {
                        suspicion = Some(session.get().map_or(0, received));
                    }
                    board.change(|state| state.waiting.push_back(socket));
                }
            }
        }
        let session = session.get();
        if suspicion
            .zip(session)
            .is_some_and(|(before, session)| was_under_way(session, before))
        {
            let overlap = Complaint::Overlap { earlier: number };
            board.change(|state| state.complaints.push(overlap));
        }
    }
}

fn received(session: &Arc<Session>) -> usize {
    session.trunk.received()
}

/// Whether the plugin was in the middle of its handshake when it had sent so many bytes. After the
/// last one it is done, even if that was not read yet, and another may connect.
fn was_under_way(session: &Arc<Session>, sent: usize) -> bool {
    received(session) > sent || session.trunk.end() == Some(End::ClosedByPeer)
}

/// Whether the other side has not closed the connection. A hang-up is reported unasked, and bytes
/// that were not read before it do not matter.
fn is_open(socket: &impl AsFd) -> bool {
    let mut poll_fd = [PollFd::new(socket.as_fd(), PollFlags::empty())];
    matches!(poll(&mut poll_fd, PollTimeout::ZERO), Ok(0))
}
