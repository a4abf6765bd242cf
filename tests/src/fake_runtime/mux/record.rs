//! What went over a connection, for tests to look at.

use std::collections::VecDeque;
use std::time::Instant;

/// Frames that are remembered; older ones only count.
const REMEMBERED: usize = 4096;

/// Which way a frame went.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// From the other side.
    Read,
    /// To the other side.
    Written,
}

/// One frame, without its payload.
#[derive(Debug, Clone, Copy)]
pub struct Frame {
    /// When it was read or written.
    pub at: Instant,
    /// Which way it went.
    pub direction: Direction,
    /// Id of its stream.
    pub stream: u32,
    /// Bytes of its payload.
    pub length: usize,
}

/// The frames of a connection, oldest first, and what they came to.
#[derive(Debug, Clone, Default)]
pub struct Record {
    /// The last few thousand frames.
    pub frames: VecDeque<Frame>,
    /// Bytes read, frame headers included.
    pub bytes_read: usize,
    /// Bytes written, frame headers included.
    pub bytes_written: usize,
}

impl Record {
    pub(super) fn push(&mut self, direction: Direction, stream: u32, length: usize) {
        if self.frames.len() == REMEMBERED {
            self.frames.pop_front();
        }
        self.frames.push_back(Frame {
            at: Instant::now(),
            direction,
            stream,
            length,
        });
    }
}
