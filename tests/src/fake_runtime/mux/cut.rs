//! How outgoing messages are cut into frames.

use super::rule::{MESSAGE_HEADER, READ_BUFFER};

/// Where messages that are sent are cut.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Cut {
    /// As the reference runtime writes: 4096 bytes, then the rest.
    #[default]
    Reference,
    /// The ten bytes of the header, then the body: as a plugin must write long messages.
    HeaderApart,
    /// At one offset of each message that is long enough.
    At(usize),
    /// Into frames of so many bytes.
    Every(usize),
    /// As the reference, but handed to the socket in pieces of so many bytes, which end anywhere
    /// in headers and payloads.
    Trickle(usize),
}

impl Cut {
    /// The payloads of the frames that carry `message`.
    pub(super) fn pieces(self, message: &[u8]) -> Vec<&[u8]> {
        let offset = match self {
            Self::Every(size) => return message.chunks(size.max(1)).collect(),
            Self::Reference | Self::Trickle(_) => READ_BUFFER,
            Self::HeaderApart if message.len() <= READ_BUFFER => message.len(),
            Self::HeaderApart => MESSAGE_HEADER,
            Self::At(offset) => offset,
        };
        let (first, rest) = message.split_at(offset.min(message.len()));
        [first, rest]
            .into_iter()
            .filter(|piece| !piece.is_empty())
            .collect()
    }

    /// Most bytes to hand to the socket at once.
    pub(super) fn write_size(self) -> usize {
        match self {
            Self::Trickle(size) => size.max(1),
            _ => usize::MAX,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sizes(cut: Cut, length: usize) -> Vec<usize> {
        cut.pieces(&vec![0; length])
            .iter()
            .map(|piece| piece.len())
            .collect()
    }

    #[test]
    fn pieces_follow_the_cut_and_are_never_empty() {
        assert_eq!(sizes(Cut::Reference, 100), [100]);
        assert_eq!(sizes(Cut::Reference, 4096), [4096]);
        assert_eq!(sizes(Cut::Reference, 10_000), [4096, 5904]);
        assert_eq!(sizes(Cut::HeaderApart, 4096), [4096]);
        assert_eq!(sizes(Cut::HeaderApart, 4097), [10, 4087]);
        assert_eq!(sizes(Cut::At(0), 12), [12]);
        assert_eq!(sizes(Cut::At(5), 12), [5, 7]);
        assert_eq!(sizes(Cut::At(12), 12), [12]);
        assert_eq!(sizes(Cut::Every(5), 12), [5, 5, 2]);
    }
}
