//! The fields of an answer that is read again, and why it is none: each is named by where it stands.

use serde_json::{Map, Value};
use sparsight_matrix::Seconds;
use thiserror::Error;

/// Why a text is no answer that a page can be made of.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum NotReported {
    /// No JSON.
    #[error("no JSON: {0}")]
    NotJson(String),
    /// JSON of another kind.
    #[error("{}, not {}", found.as_ref().map_or("JSON without a schema".to_owned(), |found| format!("schema {found}")), wanted.join(" or "))]
    Schema {
        /// What it says.
        found: Option<String>,
        /// What is read here.
        wanted: Vec<&'static str>,
    },
    /// A field is missing, or is not what it should be.
    #[error("{at} is {}, not {wanted}", if *.missing { "missing" } else { "something else" })]
    Field {
        /// Where it stands: `candidates[3].predicted_s`.
        at: String,
        /// What it should be.
        wanted: &'static str,
        /// Whether it is not there at all.
        missing: bool,
    },
}

/// The JSON of an answer with one of these schemas.
pub(super) fn parsed(text: &str, wanted: &[&'static str]) -> Result<Value, NotReported> {
    let value: Value = serde_json::from_str(text).map_err(|e| NotReported::NotJson(e.to_string()))?;
    let found = value.get("schema").and_then(Value::as_str);
    if found.is_some_and(|found| wanted.contains(&found)) {
        return Ok(value);
    }
    Err(NotReported::Schema { found: found.map(ToOwned::to_owned), wanted: wanted.to_vec() })
}

pub(super) const ABOVE_0: &str = "a number above 0";

/// An object, and where in the answer it stands.
#[derive(Debug, Default)]
pub(super) struct Fields<'a> {
    object: Option<&'a Map<String, Value>>,
    at: String,
}

impl<'a> Fields<'a> {
    /// Of a whole answer.
    pub(super) fn of(value: &'a Value) -> Self {
        Self { object: value.as_object(), at: String::new() }
    }

    pub(super) fn path(&self, name: &str) -> String {
        if self.at.is_empty() { name.to_owned() } else { format!("{}.{name}", self.at) }
    }

    pub(super) fn wrong(&self, name: &str, wanted: &'static str) -> NotReported {
        NotReported::Field { at: self.path(name), wanted, missing: false }
    }

    pub(super) fn missing(&self, name: &str, wanted: &'static str) -> NotReported {
        NotReported::Field { at: self.path(name), wanted, missing: true }
    }

    /// The field, unless it is not there or null.
    pub(super) fn value(&self, name: &str) -> Option<&'a Value> {
        self.object?.get(name).filter(|value| !value.is_null())
    }

    pub(super) fn text(&self, name: &str) -> Result<Option<String>, NotReported> {
        let Some(value) = self.value(name) else { return Ok(None) };
        value.as_str().map(|text| Some(text.to_owned())).ok_or_else(|| self.wrong(name, "a text"))
    }

    pub(super) fn needed_text(&self, name: &str) -> Result<String, NotReported> {
        self.text(name)?.ok_or_else(|| self.missing(name, "a text"))
    }

    pub(super) fn count(&self, name: &str) -> Result<Option<u64>, NotReported> {
        let Some(value) = self.value(name) else { return Ok(None) };
        value.as_u64().map(Some).ok_or_else(|| self.wrong(name, "a whole number"))
    }

    pub(super) fn needed_count(&self, name: &str) -> Result<u64, NotReported> {
        self.count(name)?.ok_or_else(|| self.missing(name, "a whole number"))
    }

    /// Not below 0.
    pub(super) fn number(&self, name: &str) -> Result<Option<f64>, NotReported> {
        let Some(value) = self.value(name) else { return Ok(None) };
        let number = value.as_f64().filter(|number| number.is_finite() && *number >= 0.0);
        number.map(Some).ok_or_else(|| self.wrong(name, "a number of 0 or more"))
    }

    /// Between a femtosecond and some ten thousand years.
    pub(super) fn time(&self, name: &str) -> Result<Option<Seconds>, NotReported> {
        let Some(number) = self.number(name)? else { return Ok(None) };
        let is_time = (1e-15..1e12).contains(&number);
        if is_time { Ok(Some(Seconds(number))) } else { Err(self.wrong(name, "a time in seconds")) }
    }

    pub(super) fn flag(&self, name: &str) -> Result<bool, NotReported> {
        let Some(value) = self.value(name) else { return Ok(false) };
        value.as_bool().ok_or_else(|| self.wrong(name, "true or false"))
    }

    pub(super) fn object(&self, name: &str) -> Result<Option<Fields<'a>>, NotReported> {
        let Some(value) = self.value(name) else { return Ok(None) };
        let of = value.as_object().ok_or_else(|| self.wrong(name, "an object"))?;
        Ok(Some(Self { object: Some(of), at: self.path(name) }))
    }

    pub(super) fn needed_object(&self, name: &str) -> Result<Fields<'a>, NotReported> {
        self.object(name)?.ok_or_else(|| self.missing(name, "an object"))
    }

    pub(super) fn array(&self, name: &str) -> Result<&'a [Value], NotReported> {
        let value = self.value(name).ok_or_else(|| self.missing(name, "a list"))?;
        value.as_array().map(Vec::as_slice).ok_or_else(|| self.wrong(name, "a list"))
    }

    /// A list of objects.
    pub(super) fn list(&self, name: &str) -> Result<Vec<Fields<'a>>, NotReported> {
        let fields = |(place, value): (usize, &'a Value)| match value.as_object() {
            Some(of) => Ok(Self { object: Some(of), at: format!("{}[{place}]", self.path(name)) }),
            None => Err(self.wrong(name, "a list of objects")),
        };
        self.array(name)?.iter().enumerate().map(fields).collect()
    }

    pub(super) fn texts(&self, name: &str) -> Result<Vec<String>, NotReported> {
        let text = |value: &Value| value.as_str().map(ToOwned::to_owned);
        let texts: Option<Vec<String>> = self.array(name)?.iter().map(text).collect();
        texts.ok_or_else(|| self.wrong(name, "a list of texts"))
    }
}
