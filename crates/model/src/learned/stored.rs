//! How what was learned of a kernel is read: fields that any method has, then, in the same object, the method's own.
//!
//! `serde`'s flattened fields do that, too, but keep the whole object in memory before they look at it, which takes twice as
//! long where a method stores many numbers.

use super::{LearnedKernel, Learner};
use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserialize, DeserializeSeed, Deserializer, Error, IntoDeserializer, MapAccess, Visitor};
use std::fmt;
use std::marker::PhantomData;

impl<'de, L: Learner> Deserialize<'de> for LearnedKernel<L> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(Object(PhantomData))
    }
}

struct Object<L>(PhantomData<L>);

impl<'de, L: Learner> Visitor<'de> for Object<L> {
    type Value = LearnedKernel<L>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("what was learned of a kernel")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let (mut kernel, mut matrices, mut error, mut log_error) = (None, None, None, None);
        let (mut interval, mut least, mut trained) = (None, None, None);
        let first = loop {
            let Some(key) = map.next_key::<String>()? else { break None };
            match key.as_str() {
                "kernel" => kernel = Some(map.next_value()?),
                "matrices" => matrices = Some(map.next_value()?),
                "error" => error = Some(map.next_value()?),
                "log_error" => log_error = Some(map.next_value()?),
                "interval" => interval = Some(map.next_value()?),
                "least" => least = Some(map.next_value()?),
                "trained" => trained = Some(map.next_value()?),
                _ => break Some(key),
            }
        };
        let lacks = A::Error::missing_field;
        Ok(LearnedKernel {
            kernel: kernel.ok_or_else(|| lacks("kernel"))?,
            matrices: matrices.ok_or_else(|| lacks("matrices"))?,
            error: error.ok_or_else(|| lacks("error"))?,
            log_error: log_error.ok_or_else(|| lacks("log_error"))?,
            interval: interval.ok_or_else(|| lacks("interval"))?,
            least: least.ok_or_else(|| lacks("least"))?,
            trained: trained.ok_or_else(|| lacks("trained"))?,
            learned: L::deserialize(MapAccessDeserializer::new(Rest { first, map }))?,
        })
    }
}

/// What is left of an object of which one key was read already.
struct Rest<A> {
    first: Option<String>,
    map: A,
}

impl<'de, A: MapAccess<'de>> MapAccess<'de> for Rest<A> {
    type Error = A::Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, A::Error> {
        match self.first.take() {
            Some(first) => seed.deserialize(first.into_deserializer()).map(Some),
            None => self.map.next_key_seed(seed),
        }
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, A::Error> {
        self.map.next_value_seed(seed)
    }
}
