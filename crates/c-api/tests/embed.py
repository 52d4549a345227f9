"""Embeds the shared library, whose path is the first argument, by ctypes alone."""

import ctypes
import sys
from ctypes import POINTER, CFUNCTYPE, Structure, Union, byref, c_char, c_void_p

lib = ctypes.CDLL(sys.argv[1])


class Bytes(Structure):
    _fields_ = [("size", ctypes.c_size_t), ("data", POINTER(c_char))]


class Of(Union):
    _fields_ = [("i32", ctypes.c_int32), ("i64", ctypes.c_int64), ("ref", c_void_p)]


class Val(Structure):
    _fields_ = [("kind", ctypes.c_uint8), ("of", Of)]


class Vals(Structure):
    _fields_ = [("size", ctypes.c_size_t), ("data", POINTER(Val))]


class Pointers(Structure):
    _fields_ = [("size", ctypes.c_size_t), ("data", POINTER(c_void_p))]


Callback = CFUNCTYPE(c_void_p, POINTER(Vals), POINTER(Vals))


def function(name, result, *arguments):
    found = getattr(lib, name)
    found.restype, found.argtypes = result, arguments
    return found


engine = function("wasm_engine_new", c_void_p)()
store = function("wasm_store_new", c_void_p, c_void_p)(engine)
text = b"""
  (module (import "python" "add" (func $add (param i32 i32) (result i32)))
    (func (export "run") (param i32) (result i32) (call $add (local.get 0) (i32.const 2))))
"""
source = Bytes()
function("wasm_byte_vec_new", None, POINTER(Bytes), ctypes.c_size_t, ctypes.c_char_p)(
    byref(source), len(text), text)
module = c_void_p()
error = function("ropewalk_module_new", c_void_p, c_void_p, POINTER(Bytes), POINTER(c_void_p))(
    engine, byref(source), byref(module))
assert not error
lib.wasm_byte_vec_delete(byref(source))


@Callback
def add(arguments, results):
    a, b = (arguments.contents.data[i].of.i32 for i in (0, 1))
    results.contents.data[0].of.i32 = a + b
    return None


valtype = function("wasm_valtype_new", c_void_p, ctypes.c_uint8)
params, results = Pointers(), Pointers()
new_valtypes = function(
    "wasm_valtype_vec_new", None, POINTER(Pointers), ctypes.c_size_t, POINTER(c_void_p))
new_valtypes(byref(params), 2, (c_void_p * 2)(valtype(0), valtype(0)))
new_valtypes(byref(results), 1, (c_void_p * 1)(valtype(0)))
functype = function("wasm_functype_new", c_void_p, POINTER(Pointers), POINTER(Pointers))(
    byref(params), byref(results))
func = function("wasm_func_new", c_void_p, c_void_p, c_void_p, Callback)(store, functype, add)
imports = Pointers(1, (c_void_p * 1)(func))
instance = function(
    "wasm_instance_new", c_void_p, c_void_p, c_void_p, POINTER(Pointers), c_void_p)(
    store, module, byref(imports), None)
run = function("ropewalk_instance_export", c_void_p, c_void_p, ctypes.c_char_p)(instance, b"run")

argument, result = Val(0, Of(i32=40)), Val()
arguments, places = Vals(1, ctypes.pointer(argument)), Vals(1, ctypes.pointer(result))
trap = function("wasm_func_call", c_void_p, c_void_p, POINTER(Vals), POINTER(Vals))(
    run, byref(arguments), byref(places))
assert not trap
print(result.of.i32)
for name, thing in [("functype", functype), ("func", func), ("extern", run),
                    ("instance", instance), ("module", module), ("store", store),
                    ("engine", engine)]:
    function(f"wasm_{name}_delete", None, c_void_p)(thing)
