/* Continuations: a generator, a question and its answer, cancellation, a host function that
 * suspends its caller, and a continuation from WebAssembly. */

#include "common.h"

static const char TEXT[] =
  "(module"
  "  (type $body (func (result i32)))"
  "  (type $k (cont $body))"
  "  (import \"host\" \"ask\" (tag $ask (param i32) (result i32)))"
  "  (import \"host\" \"read\" (func $read (param i32) (result i32)))"
  "  (tag $yield (export \"yield\") (param i32))"
  "  (tag $cancel (export \"cancel\") (param i32))"
  "  (func $squares (export \"squares\") (param $n i32)"
  "    (local $i i32)"
  "    (loop $next"
  "      (local.set $i (i32.add (local.get $i) (i32.const 1)))"
  "      (suspend $yield (i32.mul (local.get $i) (local.get $i)))"
  "      (br_if $next (i32.lt_s (local.get $i) (local.get $n)))))"
  "  (func (export \"cancelled\") (result i32)"
  "    (block $stop (result i32)"
  "      (try_table (catch $cancel $stop) (suspend $yield (i32.const 0)))"
  "      (i32.const -1)))"
  "  (func $sum (export \"sum\") (result i32)"
  "    (i32.add (call $read (i32.const 1)) (call $read (i32.const 2))))"
  "  (elem declare func $sum)"
  "  (func (export \"make\") (result (ref $k)) (cont.new $k (ref.func $sum))))";

/* Suspends its caller; the value of the resumption is its result. */
static own wasm_trap_t* read_number(
  void* env, const wasm_val_vec_t* args, own wasm_val_vec_t* results
) {
  (void)results;
  return ropewalk_trap_new_suspension(env, args);
}

static own ropewalk_continuation_t* begin(const wasm_instance_t* instance, const char* name) {
  wasm_func_t* func = exported_func(instance, name);
  ropewalk_continuation_t* continuation;
  check(name, ropewalk_continuation_new(func, &continuation));
  wasm_func_delete(func);
  return continuation;
}

/* Answers each question with a hundred times its number, and prints the result. */
static void answer_all(own ropewalk_continuation_t* rest) {
  wasm_val_t answer = WASM_I32_VAL(0);
  wasm_val_vec_t values = WASM_EMPTY_VEC;
  for (;;) {
    ropewalk_resumed_t resumed;
    ropewalk_continuation_resume(rest, &values, &resumed);
    if (resumed.kind != ROPEWALK_SUSPENDED) {
      check_trap("resuming", resumed.trap);
      printf("the sum is %d\n", resumed.values.data[0].of.i32);
      ropewalk_resumed_delete(&resumed);
      return;
    }
    int32_t question = resumed.values.data[0].of.i32;
    printf("asked for %d\n", question);
    answer.of.i32 = 100 * question;
    values.size = 1;
    values.data = &answer;
    rest = resumed.continuation;
    resumed.continuation = NULL;
    ropewalk_resumed_delete(&resumed);
  }
}

int main(void) {
  wasm_engine_t* engine = wasm_engine_new();
  wasm_store_t* store = wasm_store_new(engine);
  wasm_module_t* module = compile(engine, TEXT);

  wasm_functype_t* type = wasm_functype_new_1_1(wasm_valtype_new_i32(), wasm_valtype_new_i32());
  wasm_tagtype_t* tagtype = wasm_tagtype_new(wasm_functype_copy(type));
  wasm_tag_t* ask = wasm_tag_new(store, tagtype);
  wasm_tagtype_delete(tagtype);
  wasm_func_t* read_func = wasm_func_new_with_env(store, type, read_number, ask, NULL);
  wasm_functype_delete(type);
  ropewalk_linker_t* linker = ropewalk_linker_new(engine);
  check("ask", ropewalk_linker_define(linker, "host", "ask", wasm_tag_as_extern(ask)));
  check("read", ropewalk_linker_define(linker, "host", "read", wasm_func_as_extern(read_func)));
  wasm_trap_t* trap;
  wasm_instance_t* instance = ropewalk_linker_instantiate(linker, store, module, &trap);
  check_trap("instantiating", trap);

  /* A generator. */
  ropewalk_continuation_t* rest = begin(instance, "squares");
  wasm_extern_t* yield = ropewalk_instance_export(instance, "yield");
  const wasm_tag_t* tags[] = {wasm_extern_as_tag(yield)};
  wasm_val_t five = WASM_I32_VAL(5);
  wasm_val_vec_t values = {1, &five};
  for (;;) {
    ropewalk_resumed_t resumed;
    ropewalk_continuation_resume_on(rest, 1, tags, &values, &resumed);
    check_trap("squares", resumed.trap);
    if (resumed.kind == ROPEWALK_RETURNED) break;
    printf("%d%s", resumed.values.data[0].of.i32, wasm_tag_same(resumed.tag, tags[0]) ? " " : "?");
    rest = resumed.continuation;
    resumed.continuation = NULL;
    ropewalk_resumed_delete(&resumed);
    values.size = 0;
  }
  printf("\n");

  /* Deleted while it is suspended. */
  ropewalk_resumed_t resumed;
  values.size = 1;
  ropewalk_continuation_resume(begin(instance, "squares"), &values, &resumed);
  ropewalk_resumed_delete(&resumed);

  /* Canceled by an exception. */
  values.size = 0;
  ropewalk_continuation_resume(begin(instance, "cancelled"), &values, &resumed);
  rest = resumed.continuation;
  resumed.continuation = NULL;
  ropewalk_resumed_delete(&resumed);
  wasm_extern_t* cancel = ropewalk_instance_export(instance, "cancel");
  values.size = 1;
  ropewalk_continuation_throw(rest, wasm_extern_as_tag(cancel), &values, &resumed);
  printf("cancelled with %d\n", resumed.values.data[0].of.i32);
  ropewalk_resumed_delete(&resumed);

  /* A host function that suspends. */
  answer_all(begin(instance, "sum"));

  /* A continuation that WebAssembly created. */
  wasm_func_t* make = exported_func(instance, "make");
  wasm_val_vec_t nothing = WASM_EMPTY_VEC;
  wasm_val_t made;
  wasm_val_vec_t made_vec = {1, &made};
  check_trap("make", wasm_func_call(make, &nothing, &made_vec));
  check("the reference", ropewalk_continuation_from_ref(made.of.ref, &rest));
  wasm_val_delete(&made);
  answer_all(rest);

  /* An unhandled tag is a trap, and the store remains usable. */
  ropewalk_continuation_resume_on(begin(instance, "sum"), 1, tags, &nothing, &resumed);
  wasm_message_t message;
  wasm_trap_message(resumed.trap, &message);
  printf("%.27s\n", message.data);
  wasm_byte_vec_delete(&message);
  ropewalk_resumed_delete(&resumed);

  wasm_func_delete(make);
  wasm_extern_delete(yield);
  wasm_extern_delete(cancel);
  wasm_func_delete(read_func);
  wasm_tag_delete(ask);
  wasm_instance_delete(instance);
  ropewalk_linker_delete(linker);
  wasm_module_delete(module);
  wasm_store_delete(store);
  wasm_engine_delete(engine);
  return 0;
}
