//! Definitions of host functions in the module `host`, which succeed.

use ropewalk::*;
use std::future::Future;
use std::pin::Pin;

/// Defines host functions. Each method is one of [`Linker`] that panics on errors.
pub trait Define<T: 'static> {
    fn linker(&mut self) -> &mut Linker<T>;

    fn host<P, R>(&mut self, name: &str, func: impl IntoFunc<T, P, R>) {
        self.linker().func_wrap("host", name, func).unwrap();
    }

    fn host_new<F>(&mut self, name: &str, ty: FuncType, func: F)
    where
        F: Fn(Caller<'_, T>, &[Val], &mut [Val]) -> Result<()> + Send + Sync + 'static,
    {
        self.linker().func_new("host", name, ty, func).unwrap();
    }

    fn host_async<F, P, R>(&mut self, name: &str, func: F)
    where
        T: Send,
        F: for<'a> Fn(Caller<'a, T>, P) -> Box<dyn Future<Output = R> + Send + 'a>,
        F: Send + Sync + 'static,
        P: WasmResults + 'static,
        R: WasmRet<Values: 'static> + 'static,
    {
        self.linker().func_wrap_async("host", name, func).unwrap();
    }

    fn host_concurrent<F, P, R>(&mut self, name: &str, func: F)
    where
        T: Send,
        F: for<'a> Fn(&'a Accessor<T>, P) -> Pin<Box<dyn Future<Output = R> + Send + 'a>>,
        F: Send + Sync + 'static,
        P: WasmResults + 'static,
        R: WasmRet<Values: 'static> + 'static,
    {
        self.linker().func_wrap_concurrent("host", name, func).unwrap();
    }
}

impl<T: 'static> Define<T> for Linker<T> {
    fn linker(&mut self) -> &mut Linker<T> {
        self
    }
}
