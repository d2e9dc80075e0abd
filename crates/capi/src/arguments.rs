//! Arguments from C that are no arrays: handles, places for answers, text, sizes.

use crate::arrays;
use crate::error::{caught, guarded};
use crate::failure::Failure;
use crate::threads;
use std::ffi::{CStr, c_char, c_int};
use std::ptr::{self, NonNull};

/// The place where a call writes its result.
pub(crate) struct Out<T>(NonNull<T>);

impl<T> Out<T> {
    /// # Safety
    /// `at` is NULL, or it may be written to as long as this lives.
    pub(crate) unsafe fn of(what: &str, at: *mut T) -> Result<Self, Failure> {
        arrays::check(what, at.cast_const(), 1)?;
        NonNull::new(at).map(Self).ok_or_else(|| Failure::null(what))
    }

    pub(crate) fn set(&self, value: T) {
        // SAFETY: it may be written to, by the promise that `of` asks for. What stands there is not read.
        unsafe { self.0.write(value) };
    }
}

impl<H> Out<*mut H> {
    /// Place for a handle: NULL until there is one.
    ///
    /// # Safety
    /// As [`Out::of`].
    pub(crate) unsafe fn of_handle(what: &str, at: *mut *mut H) -> Result<Self, Failure> {
        // SAFETY: as the caller promises.
        let out = unsafe { Self::of(what, at)? };
        out.set(ptr::null_mut());
        Ok(out)
    }

    /// Gives a new handle to the caller, who may use it in any thread, in several at once, and frees it in any.
    pub(crate) fn give(&self, made: H)
    where
        H: Send + Sync,
    {
        self.set(Box::into_raw(Box::new(made)));
    }
}

/// The object of a handle.
///
/// # Safety
/// `handle` is NULL, or was given out by [`Out::give`] and is not freed before `'a` ends.
pub(crate) unsafe fn held<'a, H: Sync>(what: &str, handle: *const H) -> Result<&'a H, Failure> {
    // SAFETY: as the caller promises.
    unsafe { handle.as_ref() }.ok_or_else(|| Failure::null(what))
}

/// Calls `work` with the object of a handle, unless the process was forked after it began to use devices.
///
/// # Safety
/// As for [`held`].
pub(crate) unsafe fn on<H: Sync>(
    what: &str,
    handle: *const H,
    work: impl FnOnce(&H) -> Result<(), Failure>,
) -> c_int {
    guarded(|| {
        // SAFETY: as the caller promises.
        let handle = unsafe { held(what, handle)? };
        threads::refuse_forked()?;
        work(handle)
    })
}

/// Frees a handle; NULL is none.
///
/// # Safety
/// `handle` is NULL, or was given out by [`Out::give`], and is not used now or later.
pub(crate) unsafe fn free<H: Send>(handle: *mut H) {
    if handle.is_null() {
        return;
    }
    // SAFETY: as the caller promises, it was made by `Box::into_raw` and is freed once.
    let owned = unsafe { Box::from_raw(handle) };
    // A call that frees returns no code; the text is kept.
    let _ = caught(|| {
        drop(owned);
        Ok(())
    });
}

/// Text, `None` for NULL.
///
/// # Safety
/// `at` is NULL or text that ends with a NUL and stays as it is as long as `'a`.
pub(crate) unsafe fn text<'a>(what: &str, at: *const c_char) -> Result<Option<&'a str>, Failure> {
    if at.is_null() {
        return Ok(None);
    }
    // SAFETY: as the caller promises.
    let text = unsafe { CStr::from_ptr(at) };
    let is_none = |_| Failure::bad_argument(format!("{what} is no UTF-8: {}", text.to_string_lossy()));
    text.to_str().map(Some).map_err(is_none)
}

/// Writes text, as much as there is room for, with a NUL behind it, as `snprintf` does; nothing where there is room for nothing.
///
/// # Safety
/// `to` is NULL, or `room` bytes may be written there.
pub(crate) unsafe fn write_text(text: &str, to: *mut c_char, room: usize) -> Result<(), Failure> {
    if room == 0 {
        return Ok(());
    }
    if to.is_null() {
        return Err(Failure::null("buf"));
    }
    let (to, len) = (to.cast::<u8>(), text.len().min(room - 1));
    // SAFETY: there is room for `len` bytes and one more, as the caller promises; no borrowed text lies there.
    unsafe {
        ptr::copy_nonoverlapping(text.as_ptr(), to, len);
        to.add(len).write(0);
    }
    Ok(())
}

/// A number of things.
pub(crate) fn size(what: &str, number: i64) -> Result<usize, Failure> {
    usize::try_from(number).map_err(|_| {
        let why = if number < 0 { "is negative" } else { "is more than this machine can address" };
        Failure::bad_argument(format!("{what} = {number} {why}"))
    })
}
