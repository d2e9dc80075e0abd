//! A model in a file of its own: gzip around two lines of JSON and, for what would be slow to read as text, bytes.
//!
//! ```text
//! {"schema":"sparsight/model/1","model":"boosting","body":1523582}      what this is, and how many bytes follow the text
//! {"format":"sparsight/boosting/13: block, ...","matrices":798, ...}     the model without its trees and network
//! ...                                                                   these
//! ```
//! The checksum over all of it is the one that gzip puts at the end, and that the index knows.

use crate::Error;
use crate::files::profiles_file::ProfilesFile;
use flate2::Compression;
use flate2::bufread::GzDecoder;
use flate2::write::GzEncoder;
use serde::{Deserialize, Serialize};
use serde_json::ser::{CompactFormatter, Formatter, Serializer};
use sparsight_matrix::io::{read_document, read_regular};
use sparsight_model::Storable;
use std::borrow::Cow;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// Schema of the file; that of the model is [`Storable::FORMAT`].
const SCHEMA: &str = "sparsight/model/1";

/// The first line.
#[derive(Debug, Serialize, Deserialize)]
struct Head {
    schema: String,
    /// Name for people: the kind of a file is told by the index.
    model: String,
    /// Bytes behind the text.
    body: usize,
}

/// JSON whose `f64` have seven digits: measured times repeat to three, and all seventeen take twice as much room.
struct SevenDigits;

impl Formatter for SevenDigits {
    fn write_f64<W: ?Sized + Write>(&mut self, writer: &mut W, value: f64) -> io::Result<()> {
        let rounded = format!("{value:.6e}").parse().expect("a number that was written as one");
        CompactFormatter.write_f64(writer, rounded)
    }
}

/// The bytes of a file with `model`, whose fractions are rounded to seven digits: what is read back predicts the same to six.
///
/// # Panics
/// If plain data does not serialise.
pub(super) fn pack<M: Storable>(name: &str, model: &M) -> Vec<u8> {
    let (text, body) = model.split();
    let head = Head { schema: SCHEMA.to_owned(), model: name.to_owned(), body: body.len() };
    let mut whole = serde_json::to_vec(&head).expect("plain data serialises");
    whole.push(b'\n');
    text.serialize(&mut Serializer::with_formatter(&mut whole, SevenDigits)).expect("plain data serialises");
    whole.push(b'\n');
    whole.extend(body);
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(&whole).and_then(|()| encoder.finish()).expect("a Vec takes everything")
}

/// The model in the bytes of the file `path`.
///
/// # Errors
/// [`Error::Damaged`]; [`Error::Schema`] for a file of another version.
pub(super) fn unpack<M: Storable>(path: &Path, packed: &[u8]) -> Result<M, Error> {
    let damaged = |reason: String| Error::Damaged { path: path.to_owned(), reason };
    let bytes = read_document(GzDecoder::new(packed)).map_err(|e| damaged(e.to_string()))?;
    let mut parts = bytes.splitn(3, |&byte| byte == b'\n');
    let (Some(head), Some(text), Some(body)) = (parts.next(), parts.next(), parts.next()) else {
        return Err(damaged("ends within the text".to_owned()));
    };
    let head: Head = serde_json::from_slice(head).map_err(|e| damaged(e.to_string()))?;
    if head.schema != SCHEMA {
        return Err(Error::Schema { path: path.to_owned(), found: head.schema, expected: SCHEMA });
    }
    if head.body != body.len() {
        return Err(damaged(format!("{} bytes follow the text and not {}", body.len(), head.body)));
    }
    let text: M = serde_json::from_slice(text).map_err(|e| damaged(e.to_string()))?;
    text.join(body).map_err(damaged)
}

/// The checksum of what is packed, as it stands before the length at the end; `None` for less than these two.
pub(super) fn crc32(packed: &[u8]) -> Option<u32> {
    let [a, b, c, d, ..] = packed.last_chunk::<8>()?;
    Some(u32::from_le_bytes([*a, *b, *c, *d]))
}

/// Place of the files that an index lists.
#[derive(Debug)]
pub(crate) enum Source {
    /// A folder on disk.
    Folder(PathBuf),
    /// A folder in the file of the shipped profiles.
    Shipped(PathBuf, &'static ProfilesFile),
    /// Nowhere: this process made all models.
    Memory,
}

impl Source {
    /// Returns whether it has what the index calls `file`, as far as that can be told without looking.
    pub(crate) fn has(&self, file: &str) -> bool {
        match self {
            Self::Shipped(folder, shipped) => shipped.has(&folder.join(file)),
            Self::Folder(_) | Self::Memory => true,
        }
    }

    /// The path of a file, for error messages.
    pub(crate) fn path(&self, file: &str) -> PathBuf {
        match self {
            Self::Folder(folder) | Self::Shipped(folder, _) => folder.join(file),
            Self::Memory => Path::new(file).to_owned(),
        }
    }

    /// What is wrong with a file.
    pub(crate) fn damaged(&self, file: &str, reason: &str) -> Error {
        let path = self.path(file);
        match self {
            Self::Shipped(_, shipped) => shipped.damaged(&path, reason),
            Self::Folder(_) | Self::Memory => Error::Damaged { path, reason: reason.to_owned() },
        }
    }

    /// The bytes of a file; `None` if it is not shipped, or there are no files.
    ///
    /// # Errors
    /// [`Error::File`], also if the folder does not have it; [`Error::ProfilesFile`].
    pub(crate) fn read(&self, file: &str) -> Result<Option<Cow<'static, [u8]>>, Error> {
        match self {
            Self::Folder(_) => {
                let path = self.path(file);
                let bytes = read_regular(&path).map_err(|source| Error::File { path, source })?;
                Ok(Some(Cow::Owned(bytes)))
            }
            Self::Shipped(_, shipped) => shipped.read(&self.path(file)),
            Self::Memory => Ok(None),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A model with one part in either form.
    #[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
    struct Halves {
        text: String,
        #[serde(skip)]
        bytes: Vec<u8>,
    }

    impl Storable for Halves {
        const FORMAT: &'static str = "halves/1";

        fn split(&self) -> (Self, Vec<u8>) {
            (Self { text: self.text.clone(), bytes: Vec::new() }, self.bytes.clone())
        }

        fn join(self, body: &[u8]) -> Result<Self, String> {
            if body.contains(&7) {
                return Err("there is a seven".to_owned());
            }
            Ok(Self { bytes: body.to_vec(), ..self })
        }
    }

    fn halves(text: &str, bytes: &[u8]) -> Halves {
        Halves { text: text.to_owned(), bytes: bytes.to_vec() }
    }

    fn gzip(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }

    fn unpacked(packed: &[u8]) -> Result<Halves, Error> {
        unpack(Path::new("p/models/halves.gz"), packed)
    }

    #[test]
    fn a_model_is_unpacked_as_it_was_packed_line_ends_in_the_bytes_included() {
        let model = halves("a\nb", b"\n\n\x00\xff{}\n");
        let packed = pack("halves", &model);
        assert_eq!(unpacked(&packed).unwrap(), model);
        assert_eq!(pack("halves", &model), packed, "the same again");
        let bytes = read_document(GzDecoder::new(&packed[..])).unwrap();
        let mut checksum = flate2::Crc::new();
        checksum.update(&bytes);
        assert_eq!(crc32(&packed), Some(checksum.sum()));
        assert_eq!(crc32(&packed[..7]), None);
    }

    #[test]
    fn fractions_have_seven_digits_and_do_not_change_again() {
        let text = |value: f64| {
            let mut bytes = Vec::new();
            value.serialize(&mut Serializer::with_formatter(&mut bytes, SevenDigits)).unwrap();
            String::from_utf8(bytes).unwrap()
        };
        for value in [0.0, -2.0 / 3.0, 1.234_567_89e-6, f64::MIN_POSITIVE / 3.0, f64::MAX, f64::MIN] {
            let read: f64 = serde_json::from_str(&text(value)).unwrap();
            assert!((read - value).abs() <= value.abs() * 5e-7, "{value:e}");
            assert_eq!(text(read), text(value));
        }
        assert_eq!(text(1.0 / 3.0), "0.3333333");
        assert_eq!([f64::NAN, f64::INFINITY].map(text), ["null", "null"]);
    }

    #[test]
    fn truncated_or_changed_model_files_are_errors_that_name_the_file() {
        let model = halves("text", &[0, 1, 2, 3, 4, 5, 6]);
        let packed = pack("halves", &model);
        for length in 0..packed.len() {
            let error = unpacked(&packed[..length]).unwrap_err();
            assert!(matches!(error, Error::Damaged { .. }), "cut off behind {length}: {error}");
        }
        for at in 0..packed.len() {
            let mut changed = packed.clone();
            changed[at] ^= 0x10;
            // Some bits say nothing, such as when it was packed.
            if let Ok(same) = unpacked(&changed) {
                assert!(at < packed.len() - 8, "byte {at} of the checksum and the length");
                assert_eq!(same, model, "byte {at}");
            }
        }
        let error = unpacked(&packed[..packed.len() - 1]).unwrap_err();
        assert!(error.to_string().starts_with("p/models/halves.gz: "), "{error}");
        assert!(error.hint().unwrap().contains("sparsight lab fit"));
    }

    #[test]
    fn another_version_is_told_from_damage_and_damage_is_named() {
        let of = |text: &str| unpacked(&gzip(text.as_bytes())).unwrap_err();
        let head = |schema: &str, body: usize| {
            format!("{{\"schema\":\"{schema}\",\"model\":\"halves\",\"body\":{body}}}\n")
        };
        let other = of(&(head("sparsight/model/2", 0) + "{}\n"));
        assert!(matches!(other, Error::Schema { .. }), "{other}");
        for (text, word) in [
            (String::new(), "ends within the text"),
            ("x\n{}\n".to_owned(), "expected value"),
            (head(SCHEMA, 0), "ends within the text"),
            (head(SCHEMA, 0) + "{\"text\":\"a\"}", "ends within the text"),
            (head(SCHEMA, 0) + "{}\n", "missing field `text`"),
            (head(SCHEMA, 3) + "{\"text\":\"a\"}\nxy", "2 bytes follow the text and not 3"),
            (head(SCHEMA, 2) + "{\"text\":\"a\"}\nx\u{7}", "there is a seven"),
        ] {
            let error = of(&text);
            let is_damaged = matches!(error, Error::Damaged { .. });
            assert!(is_damaged && error.to_string().contains(word), "{text:?}: {error}");
        }
    }
}
