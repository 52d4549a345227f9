/* The families of functions that wasm.h declares by macros. */

#ifndef TESTS_FAMILIES_H
#define TESTS_FAMILIES_H

#define TYPES(X) \
  X(valtype) X(functype) X(globaltype) X(tabletype) X(memorytype) X(tagtype) X(externtype) \
  X(importtype) X(exporttype)

#define EXTERNTYPES(X) X(functype) X(globaltype) X(tabletype) X(memorytype) X(tagtype)

#define VECTORS_OF_POINTERS(X) TYPES(X) X(frame) X(extern)

#define REFERENCES(X) \
  X(trap) X(foreign) X(module) X(func) X(global) X(table) X(memory) X(tag) X(extern) X(instance)

#define EXTERNS(X) X(func) X(global) X(table) X(memory) X(tag)

#endif
