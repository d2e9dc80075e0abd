//! What is answered where a command ended early.

use super::Answer;
use serde::Serialize;

/// `sparsight/error/1`: why there is no answer. What goes to standard error says the same in words.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ErrorAnswer {
    /// What went wrong.
    pub error: String,
    /// What can be done about it, where that is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
    /// The exit code of the program.
    pub exit_code: u8,
}

impl Answer for ErrorAnswer {
    const SCHEMA: &'static str = "sparsight/error/1";
}
