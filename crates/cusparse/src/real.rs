//! cuSPARSE itself: the functions behind those that this library exports, and those that read descriptors.

use libc::{c_char, c_int, c_void};
use std::ffi::{CStr, CString};
use std::sync::OnceLock;

/// `cusparseStatus_t`.
pub(crate) type Status = c_int;
/// `CUSPARSE_STATUS_SUCCESS`.
pub(crate) const SUCCESS: Status = 0;
/// `CUSPARSE_STATUS_NOT_INITIALIZED`: the answer where there is no cuSPARSE at all.
pub(crate) const NOT_INITIALIZED: Status = 1;
/// `CUSPARSE_STATUS_EXECUTION_FAILED`.
pub(crate) const EXECUTION_FAILED: Status = 6;

/// The one major version whose contract is known here; its soname.
const MAJOR: c_int = 12;
const SONAME: &CStr = c"libcusparse.so.12";

type CsrGet = unsafe extern "C" fn(
    *const c_void,
    *mut i64,
    *mut i64,
    *mut i64,
    *mut *const c_void,
    *mut *const c_void,
    *mut *const c_void,
    *mut c_int,
    *mut c_int,
    *mut c_int,
    *mut c_int,
) -> Status;

/// The library that is next in the order of look-ups.
#[derive(Debug)]
pub(crate) struct Cusparse {
    library: Library,
    /// Read descriptors; `None` where one of them is missing or the version is another one: then everything is left to cuSPARSE.
    pub(crate) getters: Option<Getters>,
}

/// A function of cuSPARSE, a pointer `F`, which is looked up until the library is found.
#[derive(Debug)]
pub(crate) struct Real<F>(OnceLock<Option<F>>);

impl<F: Copy> Real<F> {
    pub(crate) const fn new() -> Self {
        Self(OnceLock::new())
    }

    /// The function; `None` without a cuSPARSE, or of one that lacks it.
    ///
    /// # Safety
    /// `F` is of the type that cuSPARSE documents for that name.
    pub(crate) unsafe fn get(&self, name: &CStr) -> Option<F> {
        if let Some(found) = self.0.get() {
            return *found;
        }
        let library = &Cusparse::get()?.library;
        // SAFETY: as the caller promises.
        *self.0.get_or_init(|| unsafe { library.function(name) })
    }
}

/// Functions that read handles and descriptors.
#[derive(Debug)]
pub(crate) struct Getters {
    pub(crate) stream: unsafe extern "C" fn(*mut c_void, *mut *mut c_void) -> Status,
    pub(crate) pointer_mode: unsafe extern "C" fn(*mut c_void, *mut c_int) -> Status,
    pub(crate) format: unsafe extern "C" fn(*const c_void, *mut c_int) -> Status,
    pub(crate) csr: CsrGet,
    pub(crate) vector:
        unsafe extern "C" fn(*const c_void, *mut i64, *mut *const c_void, *mut c_int) -> Status,
}

/// Looks functions up in the next library, or in a cuSPARSE that was loaded out of the global scope.
#[derive(Debug)]
struct Library(Option<*mut c_void>);

// SAFETY: the loader's functions take the handle in any thread.
unsafe impl Send for Library {}
// SAFETY: as above.
unsafe impl Sync for Library {}

impl Library {
    fn find() -> Self {
        let loaded = |name: &CStr| {
            // SAFETY: nothing is loaded, only what is there is found.
            let handle = unsafe { libc::dlopen(name.as_ptr(), libc::RTLD_LAZY | libc::RTLD_NOLOAD) };
            (!handle.is_null()).then_some(handle)
        };
        // Else another version, or a copy that a package has renamed.
        let renamed = || {
            let mut files: Vec<CString> = Vec::new();
            // SAFETY: the function is called with that list before this returns.
            unsafe { libc::dl_iterate_phdr(Some(note_cusparse), (&raw mut files).cast()) };
            files.iter().find_map(|name| loaded(name))
        };
        Self(loaded(SONAME).or_else(renamed))
    }

    fn address(&self, name: &CStr) -> Option<*mut c_void> {
        let name: *const c_char = name.as_ptr();
        // SAFETY: the name ends with NUL.
        let next = unsafe { libc::dlsym(libc::RTLD_NEXT, name) };
        let found = if next.is_null() {
            // SAFETY: as above, and the handle is open.
            self.0.map_or(next, |handle| unsafe { libc::dlsym(handle, name) })
        } else {
            next
        };
        (!found.is_null()).then_some(found)
    }

    /// # Safety
    /// `F` is a pointer to a function, of the type that cuSPARSE documents for that name.
    unsafe fn function<F: Copy>(&self, name: &CStr) -> Option<F> {
        const { assert!(size_of::<F>() == size_of::<*mut c_void>()) };
        // SAFETY: as the caller promises.
        self.address(name).map(|address| unsafe { std::mem::transmute_copy(&address) })
    }
}

/// Adds the name of a loaded file to the list of names `files` if it looks like a cuSPARSE.
///
/// # Safety
/// As `dl_iterate_phdr` calls it, with a list of names.
unsafe extern "C" fn note_cusparse(file: *mut libc::dl_phdr_info, _: usize, files: *mut c_void) -> c_int {
    // SAFETY: as the caller promises.
    let (file, files) = unsafe { (&*file, &mut *files.cast::<Vec<CString>>()) };
    if !file.dlpi_name.is_null() {
        // SAFETY: the loader's name ends with NUL.
        let name = unsafe { CStr::from_ptr(file.dlpi_name) };
        let text = name.to_string_lossy();
        if text.contains("/libcusparse") && !text.contains("/libcusparseLt") {
            files.push(name.to_owned());
        }
    }
    0
}

impl Cusparse {
    /// The library, looked up until it is found.
    pub(crate) fn get() -> Option<&'static Self> {
        static CUSPARSE: OnceLock<Cusparse> = OnceLock::new();
        if let found @ Some(_) = CUSPARSE.get() {
            return found;
        }
        let library = Library::find();
        library.address(c"cusparseSpMV")?;
        // SAFETY: it has a function of cuSPARSE.
        Some(CUSPARSE.get_or_init(|| Self { getters: unsafe { Getters::of(&library) }, library }))
    }
}

impl Getters {
    /// # Safety
    /// The library is a cuSPARSE.
    unsafe fn of(library: &Library) -> Option<Self> {
        // SAFETY: the types are those of cuSPARSE's reference; the pointer is to a live number.
        unsafe {
            let property: unsafe extern "C" fn(c_int, *mut c_int) -> Status =
                library.function(c"cusparseGetProperty")?;
            let mut major = 0;
            // `MAJOR_VERSION` is 0.
            if property(0, &raw mut major) != SUCCESS || major != MAJOR {
                return None;
            }
            Some(Self {
                stream: library.function(c"cusparseGetStream")?,
                pointer_mode: library.function(c"cusparseGetPointerMode")?,
                format: library.function(c"cusparseSpMatGetFormat")?,
                csr: library.function(c"cusparseConstCsrGet")?,
                vector: library.function(c"cusparseConstDnVecGet")?,
            })
        }
    }
}
