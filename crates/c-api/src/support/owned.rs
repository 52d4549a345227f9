//! Defines the functions that delete and copy objects, which all look the same.

/// Functions that delete objects.
macro_rules! deleted {
    ($($delete:ident: $ty:ty;)*) => {$(
        #[unsafe(no_mangle)]
        pub extern "C" fn $delete(object: Option<Box<$ty>>) {
            $crate::support::boundary::or_default(|| {
                drop(object);
                Ok(())
            });
        }
    )*};
}

/// Functions that copy and delete objects.
macro_rules! copied {
    ($($copy:ident $delete:ident: $ty:ty;)*) => {$(
        #[unsafe(no_mangle)]
        pub extern "C" fn $copy(object: Option<&$ty>) -> Option<Box<$ty>> {
            $crate::support::boundary::or_default(|| Ok(object.cloned().map(Box::new)))
        }

        $crate::support::owned::deleted! { $delete: $ty; }
    )*};
}

pub(crate) use {copied, deleted};
