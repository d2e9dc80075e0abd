//! Values of f32 or of f64, as Python decides while the program runs.

use crate::failure::{Failure, Kind};
use sparsight::matrix::Dtype;

/// Something of either value type: a matrix, a product, an array.
pub(crate) enum Typed<A, B> {
    F32(A),
    F64(B),
}

/// Two things of one value type.
type Both<A, B, C, D> = Typed<(A, C), (B, D)>;

/// Does the same for both value types.
macro_rules! with_typed {
    ($any:expr, $one:pat => $body:expr) => {
        match $any {
            $crate::typed::Typed::F32($one) => $body,
            $crate::typed::Typed::F64($one) => $body,
        }
    };
}

/// Makes of either value type something else of the same value type.
macro_rules! map_typed {
    ($any:expr, $one:pat => $body:expr) => {
        match $any {
            $crate::typed::Typed::F32($one) => $crate::typed::Typed::F32($body),
            $crate::typed::Typed::F64($one) => $crate::typed::Typed::F64($body),
        }
    };
}

/// Something of the value type that a [`Dtype`] names.
macro_rules! of_dtype {
    ($dtype:expr => $body:expr) => {
        match $dtype {
            Dtype::F32 => $crate::typed::Typed::F32($body),
            Dtype::F64 | Dtype::Mixed => $crate::typed::Typed::F64($body),
        }
    };
}

pub(crate) use {map_typed, of_dtype, with_typed};

impl<A, B> Typed<A, B> {
    pub(crate) fn dtype(&self) -> Dtype {
        match self {
            Self::F32(_) => Dtype::F32,
            Self::F64(_) => Dtype::F64,
        }
    }

    pub(crate) fn as_ref(&self) -> Typed<&A, &B> {
        map_typed!(self, one => one)
    }

    pub(crate) fn as_mut(&mut self) -> Typed<&mut A, &mut B> {
        map_typed!(self, one => one)
    }

    /// Both, which have to be of one value type: an operator and an array.
    pub(crate) fn with<C, D>(self, array: Typed<C, D>) -> Result<Both<A, B, C, D>, Failure> {
        match (self, array) {
            (Self::F32(one), Typed::F32(other)) => Ok(Typed::F32((one, other))),
            (Self::F64(one), Typed::F64(other)) => Ok(Typed::F64((one, other))),
            _ => Err(other_type()),
        }
    }
}

pub(crate) fn other_type() -> Failure {
    Failure::new(Kind::BadVector, "an array of another value type than the operator")
}

impl<A, B, C> Typed<(A, C), (B, C)> {
    /// What has a value type, and what has none.
    pub(crate) fn split(self) -> (Typed<A, B>, C) {
        match self {
            Self::F32((one, other)) => (Typed::F32(one), other),
            Self::F64((one, other)) => (Typed::F64(one), other),
        }
    }
}
