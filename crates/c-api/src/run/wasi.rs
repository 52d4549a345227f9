//! Contexts of WASI programs.

use crate::objects::store::wasm_store_t;
use crate::support::boundary::{or_default, required};
use crate::support::c_string::{path, string, text};
use crate::support::error::{or_error, ropewalk_error_t};
use crate::support::owned::deleted;
use crate::support::vector::Vector;
use anyhow::{Context, Result};
use ropewalk_wasi::{DirPerms, FilePerms, MemoryInputPipe, WasiCtx, WasiCtxBuilder};
use std::ffi::c_char;
use std::fs::File;

/// A builder of contexts, which grant nothing by default.
pub struct ropewalk_wasi_t(WasiCtxBuilder);

type Builder<'a> = Option<&'a mut ropewalk_wasi_t>;

fn set(wasi: Builder<'_>, run: impl FnOnce(&mut WasiCtxBuilder) -> Result<()>) {
    or_default(|| run(&mut required(wasi, "a context of WASI")?.0));
}

#[unsafe(no_mangle)]
pub extern "C" fn ropewalk_wasi_new() -> Option<Box<ropewalk_wasi_t>> {
    or_default(|| Ok(Some(Box::new(ropewalk_wasi_t(WasiCtx::builder())))))
}

deleted! {
    "ropewalk_wasi": ropewalk_wasi_t;
}

/// # Safety
///
/// The argument must end with a zero.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ropewalk_wasi_add_arg(wasi: Builder<'_>, argument: *const c_char) {
    set(wasi, |builder| {
        // SAFETY: the caller's promise.
        builder.arg(unsafe { string(argument, "an argument")? }.to_bytes());
        Ok(())
    });
}

/// # Safety
///
/// Name and value must end with a zero.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ropewalk_wasi_set_env(
    wasi: Builder<'_>,
    name: *const c_char,
    value: *const c_char,
) {
    set(wasi, |builder| {
        // SAFETY: the caller's promise.
        let (name, value) = unsafe { (string(name, "a name")?, string(value, "a value")?) };
        builder.env(name.to_bytes(), value.to_bytes());
        Ok(())
    });
}

/// Functions that inherit something from the host's process.
macro_rules! inherited {
    ($($function:ident: $inherit:ident;)*) => {$(
        #[unsafe(no_mangle)]
        pub extern "C" fn $function(wasi: Builder<'_>) {
            set(wasi, |builder| {
                builder.$inherit();
                Ok(())
            });
        }
    )*};
}

inherited! {
    ropewalk_wasi_inherit_env: inherit_env;
    ropewalk_wasi_inherit_stdin: inherit_stdin;
    ropewalk_wasi_inherit_stdout: inherit_stdout;
    ropewalk_wasi_inherit_stderr: inherit_stderr;
}

#[unsafe(no_mangle)]
pub extern "C" fn ropewalk_wasi_set_stdin_bytes(wasi: Builder<'_>, bytes: Option<&Vector<u8>>) {
    set(wasi, |builder| {
        let bytes = required(bytes, "bytes")?.elements()?.to_vec();
        builder.stdin(MemoryInputPipe::new(bytes));
        Ok(())
    });
}

/// # Safety
///
/// The path must end with a zero.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ropewalk_wasi_set_stdout_file(
    wasi: Builder<'_>,
    file: *const c_char,
) -> Option<Box<ropewalk_error_t>> {
    or_error(|| {
        let builder = &mut required(wasi, "a context of WASI")?.0;
        // SAFETY: the caller's promise.
        let file = unsafe { path(file)? };
        let cannot = || format!("cannot write {}", file.display());
        builder.stdout(File::create(file).with_context(cannot)?);
        Ok(())
    })
}

/// # Safety
///
/// The paths must end with a zero.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ropewalk_wasi_preopen_dir(
    wasi: Builder<'_>,
    host: *const c_char,
    guest: *const c_char,
    writable: bool,
) -> Option<Box<ropewalk_error_t>> {
    or_error(|| {
        let builder = &mut required(wasi, "a context of WASI")?.0;
        // SAFETY: the caller's promise.
        let (host, guest) = unsafe { (path(host)?, text(guest, "a path")?) };
        let (directories, files) = match writable {
            true => (DirPerms::all(), FilePerms::all()),
            false => (DirPerms::READ, FilePerms::READ),
        };
        builder.preopened_dir(host, guest, directories, files)?;
        Ok(())
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn ropewalk_store_set_wasi(
    store: Option<&wasm_store_t>,
    wasi: Option<Box<ropewalk_wasi_t>>,
) -> Option<Box<ropewalk_error_t>> {
    or_error(|| {
        let mut wasi = required(wasi, "a context of WASI")?;
        let context = wasi.0.build();
        required(store, "a store")?.0.enter(|mut store| {
            store.data_mut().wasi = Some(context);
            Ok(())
        })
    })
}
