//! Defines the functions that delete and copy objects.
//!
//! The names of such functions are derived from the names of types, as in the macros of the
//! headers: `deleted! { "wasm_store": ... }` defines `wasm_store_delete`.

/// Defines `NAME_delete`.
macro_rules! deleted {
    ($($name:literal: $ty:ty;)*) => {$(
        const _: () = {
            #[unsafe(export_name = concat!($name, "_delete"))]
            extern "C" fn delete(object: Option<Box<$ty>>) {
                $crate::support::boundary::or_default(|| {
                    drop(object);
                    Ok(())
                });
            }
        };
    )*};
}

/// Defines `NAME_copy` and `NAME_delete`.
macro_rules! copied {
    ($($name:literal: $ty:ty;)*) => {$(
        const _: () = {
            #[unsafe(export_name = concat!($name, "_copy"))]
            extern "C" fn copy(object: Option<&$ty>) -> Option<Box<$ty>> {
                $crate::support::boundary::or_default(|| Ok(object.cloned().map(Box::new)))
            }
        };

        $crate::support::owned::deleted! { $name: $ty; }
    )*};
}

/// Defines the casts from the type `NAME` to the type `SUPER`, and the checked casts back, which
/// return null for objects that do not match a pattern.
macro_rules! casts {
    (
        $ty:ty, |$it:ident| $matched:expr;
        $($pattern:pat => $name:literal as $super:literal;)*
    ) => {$(
        const _: () = {
            #[unsafe(export_name = concat!("wasm_", $name, "_as_", $super))]
            extern "C" fn up(object: Option<&mut $ty>) -> Option<&mut $ty> {
                object
            }

            #[unsafe(export_name = concat!("wasm_", $name, "_as_", $super, "_const"))]
            extern "C" fn up_const(object: Option<&$ty>) -> Option<&$ty> {
                object
            }

            #[unsafe(export_name = concat!("wasm_", $super, "_as_", $name))]
            extern "C" fn down(object: Option<&mut $ty>) -> Option<&mut $ty> {
                object.filter(|$it| matches!($matched, $pattern))
            }

            #[unsafe(export_name = concat!("wasm_", $super, "_as_", $name, "_const"))]
            extern "C" fn down_const(object: Option<&$ty>) -> Option<&$ty> {
                object.filter(|$it| matches!($matched, $pattern))
            }
        };
    )*};
}

pub(crate) use {casts, copied, deleted};
