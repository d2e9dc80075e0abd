//! The last failure of each thread, and the place where panics end.

use crate::failure::Failure;
use crate::status::SS_OK;
use std::cell::RefCell;
use std::ffi::{CString, c_char, c_int};
use std::panic::{self, AssertUnwindSafe};

thread_local! {
    static LAST: RefCell<Option<Last>> = const { RefCell::new(None) };
}

/// The texts of a failure, as C reads them.
struct Last {
    text: CString,
    hint: CString,
}

/// A NUL in the middle becomes a space.
fn c_text(text: &str) -> CString {
    CString::new(text.replace('\0', " ")).unwrap_or_default()
}

/// Keeps its texts for this thread, and gives its code.
fn keep(failure: &Failure) -> c_int {
    let last = Last { text: c_text(&failure.text), hint: c_text(failure.hint.as_deref().unwrap_or("")) };
    // A thread that is ending keeps nothing any more.
    let _ = LAST.try_with(|kept| *kept.borrow_mut() = Some(last));
    failure.code
}

/// Result of `call`, or the code of its failure, whose texts are kept. A panic is a failure, too: it is a mistake of ours, after which
/// everything can still be freed. Locks that a panic poisoned are taken over.
pub(crate) fn caught<R>(call: impl FnOnce() -> Result<R, Failure>) -> Result<R, c_int> {
    match panic::catch_unwind(AssertUnwindSafe(call)) {
        Ok(Ok(done)) => Ok(done),
        Ok(Err(failure)) => Err(keep(&failure)),
        Err(payload) => Err(keep(&Failure::of_panic(payload.as_ref()))),
    }
}

/// The code of a call.
pub(crate) fn guarded(call: impl FnOnce() -> Result<(), Failure>) -> c_int {
    match caught(call) {
        Ok(()) => SS_OK,
        Err(code) => code,
    }
}

/// Text of this thread's last failure, "" if there was none.
fn last(which: impl Fn(&Last) -> &CString) -> *const c_char {
    let kept = LAST.try_with(|last| last.borrow().as_ref().map(|last| which(last).as_ptr()));
    kept.ok().flatten().unwrap_or(c"".as_ptr())
}

/// Text of the last failure of this thread; "" if no call has failed. A call that succeeds leaves it as it
/// is. It is UTF-8, never NULL, and stays there until another call of this thread fails or the thread ends.
#[unsafe(no_mangle)]
pub extern "C" fn ss_last_error() -> *const c_char {
    last(|last| &last.text)
}

/// Advice on the last failure of this thread; "" if none is known. It stays there as long as `ss_last_error`.
#[unsafe(no_mangle)]
pub extern "C" fn ss_last_hint() -> *const c_char {
    last(|last| &last.hint)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::status::{SS_BAD_ARGUMENT, SS_PANIC};
    use std::ffi::CStr;

    fn words(text: *const c_char) -> String {
        // SAFETY: one of the texts above, which lives until the next failure.
        unsafe { CStr::from_ptr(text) }.to_str().unwrap().to_owned()
    }

    #[test]
    fn a_panic_is_a_failure_with_its_words() {
        let row = 7;
        assert_eq!(guarded(|| panic!("row {row} is gone")), SS_PANIC);
        assert_eq!(words(ss_last_error()), "sparsight has panicked: row 7 is gone");
        assert!(words(ss_last_hint()).contains("report"));
        assert_eq!(guarded(|| panic!("plain words")), SS_PANIC);
        assert!(words(ss_last_error()).ends_with("plain words"));
    }

    #[test]
    fn the_last_error_is_kept_per_thread_until_the_next_failure() {
        let failing = || guarded(|| Err(Failure::bad_argument("x\0y").hinted("do not")));
        assert_eq!(failing(), SS_BAD_ARGUMENT);
        assert_eq!(guarded(|| Ok(())), SS_OK);
        assert_eq!((words(ss_last_error()), words(ss_last_hint())), ("x y".to_owned(), "do not".to_owned()));
        let elsewhere = std::thread::spawn(|| (words(ss_last_error()), words(ss_last_hint())));
        assert_eq!(elsewhere.join().unwrap(), (String::new(), String::new()));
        assert_eq!(guarded(|| Err(Failure::bad_argument("another"))), SS_BAD_ARGUMENT);
        assert_eq!((words(ss_last_error()), words(ss_last_hint())), ("another".to_owned(), String::new()));
    }
}
