//! The table of functions that programs import.

use crate::abi::Version;
use crate::call::{Call, call};
use crate::context::WasiCtx;
use crate::failure::Result;
use crate::functions::{fd, path, poll, process, sock};
use crate::recording::CallId;
use ropewalk::{Caller, Linker, WasmTy};

/// Defines all functions of `wasi_snapshot_preview1`, and of the older `wasi_unstable`, which
/// some compilers still emit. `get` returns the context in a store's data.
///
/// ```
/// use ropewalk::{Engine, Linker, Module, Store};
/// use ropewalk_wasi::{MemoryOutputPipe, WasiCtx};
///
/// # fn main() -> ropewalk::Result<()> {
/// struct Data {
///     wasi: WasiCtx,
/// }
///
/// let engine = Engine::default();
/// let module = Module::new(&engine, r#"
///     (module
///       (import "wasi_snapshot_preview1" "fd_write"
///         (func $fd_write (param i32 i32 i32 i32) (result i32)))
///       (memory (export "memory") 1)
///       (data (i32.const 0) "\08\00\00\00\03\00\00\00hi\n")
///       (func (export "_start")
///         (drop (call $fd_write (i32.const 1) (i32.const 0) (i32.const 1) (i32.const 16)))))
/// "#)?;
/// let mut linker = Linker::new(&engine);
/// ropewalk_wasi::add_to_linker(&mut linker, |data: &mut Data| &mut data.wasi)?;
///
/// let stdout = MemoryOutputPipe::new(1024);
/// let wasi = WasiCtx::builder().stdout(stdout.clone()).build();
/// let mut store = Store::new(&engine, Data { wasi });
/// let instance = linker.instantiate(&mut store, &module)?;
/// instance.get_typed_func::<(), ()>(&mut store, "_start")?.call(&mut store, ())?;
/// assert_eq!(stdout.text(), "hi\n");
/// # Ok(())
/// # }
/// ```
pub fn add_to_linker<T: Send + 'static>(
    linker: &mut Linker<T>,
    get: impl Fn(&mut T) -> &mut WasiCtx + Copy + Send + Sync + 'static,
) -> ropewalk::Result<()> {
    define_version(linker, "wasi_unstable", Version::Unstable, get)?;
    define_version(linker, "wasi_snapshot_preview1", Version::Preview1, get)?;
    let preview1 =
        |name| Import { module: "wasi_snapshot_preview1", name, version: Version::Preview1 };
    // The older version does not have this function.
    sock::sock_accept.define(linker, preview1("sock_accept"), get)
}

/// The names that a program imports a function by.
#[derive(Clone, Copy)]
struct Import {
    module: &'static str,
    name: &'static str,
    version: Version,
}

/// A function that can be imported. `P` is the tuple of its parameters.
trait Importable<P> {
    fn define<T: Send + 'static>(
        self,
        linker: &mut Linker<T>,
        import: Import,
        get: impl Fn(&mut T) -> &mut WasiCtx + Copy + Send + Sync + 'static,
    ) -> ropewalk::Result<()>;
}

/// Implements [`Importable`] for functions with this many parameters.
macro_rules! importable {
    ($($param:ident)*) => {
        impl<Function, $($param),*> Importable<($($param,)*)> for Function
        where
            Function: Fn(&mut Call<'_>, $($param),*) -> Result + Copy + Send + Sync + 'static,
            $($param: WasmTy + Into<i64> + Copy + Sync + 'static,)*
        {
            fn define<T: Send + 'static>(
                self,
                linker: &mut Linker<T>,
                Import { module, name, version }: Import,
                get: impl Fn(&mut T) -> &mut WasiCtx + Copy + Send + Sync + 'static,
            ) -> ropewalk::Result<()> {
                #[allow(non_snake_case, reason = "parameters are named after their types")]
                let function = move |caller: Caller<'_, T>, $($param: $param),*| {
                    let id = CallId { name, arguments: [$($param.into()),*] };
                    call(caller, get, version, id, move |call| self(call, $($param),*))
                };
                linker.func_wrap(module, name, function).map(drop)
            }
        }
    };
}

importable!();
importable!(A);
importable!(A B);
importable!(A B C);
importable!(A B C D);
importable!(A B C D E);
importable!(A B C D E F);
importable!(A B C D E F G);
importable!(A B C D E F G H);
importable!(A B C D E F G H I);

fn define_version<T: Send + 'static>(
    linker: &mut Linker<T>,
    module: &'static str,
    version: Version,
    get: impl Fn(&mut T) -> &mut WasiCtx + Copy + Send + Sync + 'static,
) -> ropewalk::Result<()> {
    macro_rules! define {
        ($($group:ident: $($name:ident)*;)*) => {$($(
            $group::$name.define(linker, Import { module, name: stringify!($name), version }, get)?;
        )*)*};
    }
    define! {
        process: args_get args_sizes_get environ_get environ_sizes_get clock_res_get clock_time_get
            random_get sched_yield proc_raise;
        fd: fd_advise fd_allocate fd_close fd_datasync fd_fdstat_get fd_fdstat_set_flags
            fd_fdstat_set_rights fd_filestat_get fd_filestat_set_size fd_filestat_set_times fd_pread
            fd_prestat_get fd_prestat_dir_name fd_pwrite fd_read fd_readdir fd_renumber fd_seek
            fd_sync fd_tell fd_write;
        path: path_create_directory path_filestat_get path_filestat_set_times path_link path_open
            path_readlink path_remove_directory path_rename path_symlink path_unlink_file;
        poll: poll_oneoff;
        sock: sock_recv sock_send sock_shutdown;
    }
    // It needs no memory and does not return.
    linker.func_wrap(module, "proc_exit", |code: i32| -> ropewalk::Result<()> {
        Err(process::proc_exit(code))
    })?;
    Ok(())
}
