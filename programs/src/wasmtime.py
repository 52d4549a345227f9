"""Runs a program on Wasmtime in a separate process: the counterpart of child_process.rs.

usage: wasmtime.py PACKAGES --report FILE [--dir HOST GUEST]... MODULE [ARGS]...
"""

import argparse
import ctypes
import gc
import sys
import time

sys.path.insert(0, sys.argv[1])

import wasmtime  # noqa: E402
from wasmtime import _ffi as ffi  # noqa: E402


def status(field):
    """A field of this process's status, in bytes."""
    for line in open("/proc/self/status"):
        if line.startswith(field):
            return int(line.split()[1]) << 10


def forget_peak_memory():
    try:
        with open("/proc/self/clear_refs", "w") as file:
            file.write("5")
    except OSError:
        pass


def compile_module(engine, binary, size):
    """What wasmtime.Module does, without another copy of the binary."""
    pointer = ctypes.POINTER(ffi.wasmtime_module_t)()
    error = ffi.wasmtime_module_new(engine.ptr(), binary, size, ctypes.byref(pointer))
    if error:
        raise wasmtime.WasmtimeError._from_ptr(error)
    return wasmtime.Module._from_ptr(pointer)


def request():
    parser = argparse.ArgumentParser()
    parser.add_argument("--report", required=True)
    parser.add_argument("--dir", nargs=2, action="append", default=[])
    parser.add_argument("module")
    parser.add_argument("args", nargs=argparse.REMAINDER)
    return parser.parse_args(sys.argv[2:])


def main():
    asked = request()
    config = wasmtime.Config()
    config.wasm_exceptions = True
    config.wasm_function_references = True
    config.wasm_gc = True
    engine = wasmtime.Engine(config)
    linker = wasmtime.Linker(engine)
    linker.define_wasi()
    wasi = wasmtime.WasiConfig()
    wasi.argv = [asked.module, *asked.args]
    wasi.inherit_stdout()
    wasi.inherit_stderr()
    for host, guest in asked.dir:
        wasi.preopen_dir(host, guest)
    store = wasmtime.Store(engine)
    store.set_wasi(wasi)

    contents = open(asked.module, "rb").read()
    binary = (ctypes.c_uint8 * len(contents)).from_buffer_copy(contents)
    del contents
    gc.collect()
    forget_peak_memory()
    memory = status("VmRSS:")
    wall, processor = time.monotonic_ns(), time.process_time_ns()
    module = compile_module(engine, binary, len(binary))
    compiling = time.monotonic_ns() - wall, time.process_time_ns() - processor
    memory = max(status("VmHWM:") - memory, 0)

    wall, processor = time.monotonic_ns(), time.process_time_ns()
    code = 0
    try:
        linker.instantiate(store, module).exports(store)["_start"](store)
    except wasmtime.ExitTrap as error:
        code = error.code
    running = time.monotonic_ns() - wall, time.process_time_ns() - processor

    with open(asked.report, "w") as report:
        print(*compiling, memory, *running, file=report)
    sys.exit(code)


main()
