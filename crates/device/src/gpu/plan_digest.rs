//! Digest of a plan, which must be the same in all processes: each rank plans by itself, and a share fits the others only if all
//! have planned the same.

use std::fmt::{self, Display, Formatter};

/// The parts of a plan, each a few words or a hash.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PlanDigest(Vec<(String, String)>);

impl PlanDigest {
    /// Adds a part: its name, such as "the GPU", and its value.
    #[must_use]
    pub fn with(mut self, name: &str, value: impl Display) -> Self {
        // Line ends separate them.
        let line = |text: String| text.replace(['\n', '\t'], " ");
        self.0.push((line(name.to_owned()), line(value.to_string())));
        self
    }

    /// The differences from the other plan, in words; `None` if there are none.
    pub fn differs(&self, other: &Self) -> Option<String> {
        for (name, value) in &self.0 {
            match other.0.iter().find(|(known, _)| known == name) {
                Some((_, theirs)) if theirs == value => {}
                Some((_, theirs)) => return Some(format!("{name} is {theirs}, and {value} there")),
                None => return Some(format!("it does not say {name}")),
            }
        }
        let more = other.0.iter().find(|(name, _)| self.0.iter().all(|(known, _)| known != name));
        more.map(|(name, _)| format!("it also says {name}"))
    }

    /// A line each, as they are sent, of which no more than `most` bytes count.
    pub(crate) fn bytes(&self, most: usize) -> Vec<u8> {
        let mut bytes = self.to_string().into_bytes();
        bytes.truncate(most);
        bytes
    }

    /// Reads a digest that was sent.
    pub(crate) fn read(bytes: &[u8]) -> Self {
        let text = String::from_utf8_lossy(bytes);
        let lines = text.lines().filter_map(|line| line.split_once('\t'));
        Self(lines.map(|(name, value)| (name.to_owned(), value.to_owned())).collect())
    }
}

/// A line each: what it is called, a tab, and what it is. For those who let ranks meet by means of their own.
impl Display for PlanDigest {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|(name, value)| writeln!(f, "{name}\t{value}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_digest_read_from_bytes_names_the_same_differences() {
        let one = PlanDigest::default().with("the GPU", "H200\nof\tsome kind").with("parts", 3);
        let came = PlanDigest::read(&one.bytes(1000));
        assert_eq!(came, one);
        assert_eq!(one.to_string(), "the GPU\tH200 of some kind\nparts\t3\n");
        assert_eq!(one.differs(&came), None);
        let two = PlanDigest::default().with("the GPU", "H200 of some kind").with("parts", 4);
        assert_eq!(one.differs(&two), Some("parts is 4, and 3 there".to_owned()));
        assert_eq!(one.differs(&PlanDigest::default()), Some("it does not say the GPU".to_owned()));
        assert_eq!(PlanDigest::default().differs(&one), Some("it also says the GPU".to_owned()));
    }
}
