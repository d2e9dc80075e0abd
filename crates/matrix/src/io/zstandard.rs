//! Zstandard (RFC 8878): frames one behind the other, those to be skipped among them.

use super::unpacked::has_more;
use ruzstd::decoding::errors::{FrameDecoderError, ReadFrameHeaderError};
use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder};
use std::io::{self, BufRead, Read};

/// Largest window, bytes: what `zstd --long=31` asks for at most.
const LARGEST_WINDOW: u64 = 1 << 31;

/// Content of all frames of `source`.
pub(super) struct Frames<R> {
    source: R,
    decoder: FrameDecoder,
    /// True if a frame has begun of which not all was handed out.
    is_open: bool,
}

impl<R: BufRead> Frames<R> {
    /// Refuses windows of more than `memory` bytes.
    pub(super) fn new(source: R, memory: u64) -> Self {
        let mut decoder = FrameDecoder::new();
        decoder.set_max_window_size(memory.min(LARGEST_WINDOW));
        Self { source, decoder, is_open: false }
    }

    /// Begins with the next frame, or steps over one that holds nothing to read. `false` at the end of the source.
    fn next(&mut self) -> io::Result<bool> {
        if !has_more(&mut self.source)? {
            return Ok(false);
        }
        match self.decoder.init(&mut self.source) {
            Ok(()) => self.is_open = true,
            Err(FrameDecoderError::ReadFrameHeaderError(ReadFrameHeaderError::SkipFrame {
                length, ..
            })) => {
                let length = u64::from(length);
                if io::copy(&mut self.source.by_ref().take(length), &mut io::sink())? < length {
                    return Err(io::ErrorKind::UnexpectedEof.into());
                }
            }
            Err(cause @ FrameDecoderError::WindowSizeTooBig { .. }) => {
                return Err(io::Error::new(
                    io::ErrorKind::OutOfMemory,
                    format!("memory for its window: {cause}"),
                ));
            }
            Err(cause) => return Err(io::Error::new(io::ErrorKind::InvalidData, cause)),
        }
        Ok(true)
    }

    /// Returns whether the frame that has ended is the one that its checksum was made of; one without counts as that.
    fn is_whole(&self) -> bool {
        self.decoder
            .get_checksum_from_data()
            .is_none_or(|sum| self.decoder.get_calculated_checksum() == Some(sum))
    }
}

impl<R: BufRead> Read for Frames<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            if buffer.is_empty() {
                return Ok(0);
            }
            if !self.is_open {
                if !self.next()? {
                    return Ok(0);
                }
            } else if self.decoder.can_collect() > 0 {
                return self.decoder.read(buffer);
            } else if !self.decoder.is_finished() {
                let one = BlockDecodingStrategy::UptoBlocks(1);
                let decoded = self.decoder.decode_blocks(&mut self.source, one);
                decoded.map_err(|cause| io::Error::new(io::ErrorKind::InvalidData, cause))?;
            } else if self.is_whole() {
                self.is_open = false;
            } else {
                return Err(io::Error::new(io::ErrorKind::InvalidData, "the checksum of a frame is another"));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ruzstd::encoding::{CompressionLevel, compress_to_vec};

    fn packed(text: &[u8]) -> Vec<u8> {
        compress_to_vec(text, CompressionLevel::Fastest)
    }

    fn unpacked(bytes: &[u8], memory: u64) -> io::Result<Vec<u8>> {
        let mut all = Vec::new();
        Frames::new(bytes, memory).read_to_end(&mut all).map(|_| all)
    }

    #[test]
    fn consecutive_frames_are_read_and_skippable_ones_skipped() {
        let text: Vec<u8> = (0..60_000_u32).flat_map(|i| (i * i / 7).to_string().into_bytes()).collect();
        let (head, tail) = text.split_at(1000);
        // A frame to be skipped, of three bytes.
        let skipped = [0x50, 0x2a, 0x4d, 0x18, 3, 0, 0, 0, 1, 2, 3];
        let bytes = [&skipped[..], &packed(head), &skipped, &packed(b""), &packed(tail), &skipped].concat();
        assert_eq!(unpacked(&bytes, 1 << 30).unwrap(), text);
        assert!(unpacked(&[], 1 << 30).unwrap().is_empty());
    }

    #[test]
    fn damaged_truncated_and_oversized_streams_are_errors() {
        let whole = packed(&vec![b'7'; 100_000]);
        assert!(unpacked(&whole[..whole.len() - 1], 1 << 30).is_err());
        assert!(unpacked(&[&whole[..], &[1, 2, 3, 4, 5]].concat(), 1 << 30).is_err());
        assert_eq!(unpacked(&whole, 1 << 9).unwrap_err().kind(), io::ErrorKind::OutOfMemory);
        assert!(unpacked(&[0x50, 0x2a, 0x4d, 0x18, 9, 0, 0, 0, 1], 1 << 30).is_err());
    }
}
