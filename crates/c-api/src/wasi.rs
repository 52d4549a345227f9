//! What a program of WASI gets to see of its host.

use crate::boundary::{answer, outcome, required};
use crate::error::ropewalk_error_t;
use crate::module::{string, text};
use crate::store::wasm_store_t;
use crate::vector::Vector;
use anyhow::{Context, Result};
use ropewalk_wasi::{DirPerms, FilePerms, MemoryInputPipe, WasiCtx, WasiCtxBuilder};
use std::ffi::{OsStr, c_char};
use std::fs::File;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// What a program is to get to see. It is nothing if nothing is said.
pub struct ropewalk_wasi_t(WasiCtxBuilder);

type Builder<'a> = Option<&'a mut ropewalk_wasi_t>;

fn set(wasi: Builder<'_>, run: impl FnOnce(&mut WasiCtxBuilder) -> Result<()>) {
    answer(|| run(&mut required(wasi, "a context of WASI")?.0));
}

#[unsafe(no_mangle)]
pub extern "C" fn ropewalk_wasi_new() -> Option<Box<ropewalk_wasi_t>> {
    answer(|| Ok(Some(Box::new(ropewalk_wasi_t(WasiCtx::builder())))))
}

#[unsafe(no_mangle)]
pub extern "C" fn ropewalk_wasi_delete(wasi: Option<Box<ropewalk_wasi_t>>) {
    answer(|| {
        drop(wasi);
        Ok(())
    });
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

#[unsafe(no_mangle)]
pub extern "C" fn ropewalk_wasi_inherit_env(wasi: Builder<'_>) {
    set(wasi, |builder| {
        for (name, value) in std::env::vars_os() {
            builder.env(name.as_bytes(), value.as_bytes());
        }
        Ok(())
    });
}

#[unsafe(no_mangle)]
pub extern "C" fn ropewalk_wasi_inherit_stdin(wasi: Builder<'_>) {
    set(wasi, |builder| {
        builder.inherit_stdin();
        Ok(())
    });
}

#[unsafe(no_mangle)]
pub extern "C" fn ropewalk_wasi_inherit_stdout(wasi: Builder<'_>) {
    set(wasi, |builder| {
        builder.inherit_stdout();
        Ok(())
    });
}

#[unsafe(no_mangle)]
pub extern "C" fn ropewalk_wasi_inherit_stderr(wasi: Builder<'_>) {
    set(wasi, |builder| {
        builder.inherit_stderr();
        Ok(())
    });
}

#[unsafe(no_mangle)]
pub extern "C" fn ropewalk_wasi_set_stdin_bytes(wasi: Builder<'_>, bytes: Option<&Vector<u8>>) {
    set(wasi, |builder| {
        let bytes = required(bytes, "bytes")?.elements()?.to_vec();
        builder.stdin(MemoryInputPipe::new(bytes));
        Ok(())
    });
}

/// A path of C's.
///
/// # Safety
///
/// It must end with a zero.
unsafe fn path<'a>(path: *const c_char) -> Result<&'a Path> {
    // SAFETY: the caller's promise.
    let bytes = unsafe { string(path, "a path")? }.to_bytes();
    Ok(Path::new(OsStr::from_bytes(bytes)))
}

/// # Safety
///
/// The path must end with a zero.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ropewalk_wasi_set_stdout_file(
    wasi: Builder<'_>,
    file: *const c_char,
) -> Option<Box<ropewalk_error_t>> {
    outcome(|| {
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
    outcome(|| {
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
    outcome(|| {
        let mut wasi = required(wasi, "a context of WASI")?;
        let context = wasi.0.build();
        required(store, "a store")?.0.enter(|mut store| {
            store.data_mut().wasi = Some(context);
            Ok(())
        })
    })
}
