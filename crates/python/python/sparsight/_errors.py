"""Exceptions, each with a hint."""

from __future__ import annotations

__all__ = ["BadEpilogue", "BadMatrix", "BadVector", "Infeasible", "NoGpu", "NoProfile", "SparsightError"]


class SparsightError(Exception):
    """Base of all errors of this package.

    Attributes
    ----------
    hint : str or None
        Advice, if any is known.
    """

    def __init__(self, message: str, hint: str | None = None) -> None:
        super().__init__(message)
        self.hint = hint

    def __str__(self) -> str:
        message = super().__str__()
        return f"{message} (hint: {self.hint})" if self.hint else message


class NoGpu(SparsightError):
    """The GPU, driver or run-time compiler was not found."""


class Infeasible(SparsightError):
    """The matrix cannot be held so: too much memory, or too much padding."""


class NoProfile(SparsightError):
    """No profile of a device, or none that can answer."""


class Uncalibrated(NoProfile):
    """A GPU that is here and has no profile. It is calibrated, and the caller does not see this error."""


class BadMatrix(SparsightError, ValueError):
    """The argument is no matrix that can be multiplied with."""


class Unsorted(BadMatrix):
    """The columns of a row do not increase. Where scipy is installed they are sorted, and the caller does not see this error."""


class BadVector(SparsightError, ValueError):
    """A vector of the wrong type, length, strides or device; nothing was launched."""


class BadEpilogue(SparsightError, ValueError):
    """A line of an epilogue that is no expression of its operands, with what the compiler says about it."""
