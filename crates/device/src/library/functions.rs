//! Functions of a library, by name.

/// Declares a struct of the functions of a library, by the names and types that they have there, and how it is filled in.
macro_rules! functions {
    ($(#[$doc:meta])* $api:ident { $($name:ident: fn($($arg:ty),*) -> $result:ty;)* }) => {
        $(#[$doc])*
        #[derive(Debug)]
        #[allow(non_snake_case, clippy::struct_field_names, reason = "names of the library's")]
        pub(super) struct $api {
            $(pub(super) $name: unsafe extern "C" fn($($arg),*) -> $result,)*
        }

        impl $api {
            /// The functions of `library`, which must stay open.
            ///
            /// # Errors
            /// The name of one that it lacks.
            ///
            /// # Safety
            /// Those that it has are of these types.
            unsafe fn of(library: &libloading::os::unix::Library) -> Result<Self, &'static str> {
                // SAFETY: as the caller promises.
                unsafe {
                    Ok(Self {
                        $($name: *library.get(stringify!($name).as_bytes()).map_err(|_| stringify!($name))?,)*
                    })
                }
            }
        }
    };
}

pub(crate) use functions;
