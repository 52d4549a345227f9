/* Tasks, fibers, stacks of a bag and first-class stacks. In each design the host continues a stack,
 * and a host function suspends its caller. */

#include "common.h"

static const char TEXT[] =
  "(module"
  "  (type $t (task (param i32) (result i32)))"
  "  (rec"
  "    (type $ping (stack (param i32) (ref null $pong)))"
  "    (type $pong (stack (param i32) (ref null $ping))))"
  "  (import \"host\" \"task\" (func $from-task (param (ref null $t) i32) (result i32)))"
  "  (import \"host\" \"fiber\" (func $from-fiber (param fiberref i32) (result i32)))"
  "  (import \"host\" \"bag\""
  "    (func $swap (param (ref null $ping) i32) (result i32 (ref null $ping))))"
  "  (import \"host\" \"send\" (func $send (param stackref i32) (result i32)))"
  "  (import \"host\" \"new_stack\" (func $new-stack (result stackref)))"
  "  (tag $start (export \"start\") (param i32))"
  "  (tag $end (export \"end\") (param i32))"
  "  (event $ask (export \"ask\") (param i32 stackref))"
  "  (event $told (export \"told\") (param i32 stackref))"
  /* Asks the host for a number, and adds it. */
  "  (func $task (param $me (ref null $t)) (param $x i32) (result i32)"
  "    (i32.add (local.get $x) (call $from-task (local.get $me) (local.get $x))))"
  "  (func (export \"task\") (result (ref $t)) (task.new $t $task))"
  "  (func $fiber (param $me fiberref) (param $x i32) (result i32)"
  "    (i32.add (local.get $x) (call $from-fiber (local.get $me) (local.get $x))))"
  "  (func (export \"fiber\") (result fiberref) (fiber.new $end (on $start $fiber)))"
  /* Doubles numbers. */
  "  (func $doubles (param $x i32) (param $back (ref null $pong))"
  "    (loop $next"
  "      (switch $pong (i32.mul (local.get $x) (i32.const 2)) (local.get $back))"
  "      (local.set $back) (local.set $x)"
  "      (br $next)))"
  "  (func (export \"bag\") (result (ref $ping)) (stack.new $ping $doubles))"
  "  (func (export \"swap\") (param i32) (result i32)"
  "    (call $swap (stack.new $ping $doubles) (local.get 0)) (drop))"
  /* Adds one to numbers. */
  "  (rout $adds (local $back stackref) (local $x i32)"
  "    (block $asked (result i32 stackref)"
  "      (try (stack.start) catch $ask $asked) (unreachable))"
  "    (local.set_cleared $back) (local.set $x)"
  "    (loop $next"
  "      (block $again (result i32 stackref)"
  "        (try"
  "          (stack.switch $told (i32.add (local.get $x) (i32.const 1))"
  "            (local.get_clear $back))"
  "          catch $ask $again)"
  "        (unreachable))"
  "      (local.set_cleared $back) (local.set $x)"
  "      (br $next)))"
  "  (func $new (export \"first-class\") (result stackref)"
  "    (stack.extend $adds (call $new-stack)))"
  "  (func (export \"send\") (param i32) (result i32)"
  "    (block $back (result i32 stackref)"
  "      (try (drop (call $send (call $new) (local.get 0))) catch $told $back)"
  "      (unreachable))"
  "    (drop)))";

static wasm_tag_t *wants, *got;
static wasm_extern_t *start, *end, *ask;

static own wasm_tag_t* exported_tag(const wasm_instance_t* instance, const char* name) {
  return check_made(name, wasm_extern_as_tag(ropewalk_instance_export(instance, name)));
}

/* Suspends its task with a number; the result is the number that the task is resumed with. */
static own wasm_trap_t* from_task(const wasm_val_vec_t* args, own wasm_val_vec_t* results) {
  (void)results;
  ropewalk_task_t* task;
  check("task", ropewalk_task_from_ref(args->data[0].of.ref, &task));
  wasm_val_vec_t values = {1, &args->data[1]};
  wasm_trap_t* trap = ropewalk_trap_new_task_suspension(task, &values);
  ropewalk_task_delete(task);
  return trap;
}

/* Dismounts its fiber, if the parent expects that. */
static own wasm_trap_t* from_fiber(const wasm_val_vec_t* args, own wasm_val_vec_t* results) {
  ropewalk_fiber_t* fiber;
  check("fiber", ropewalk_fiber_from_ref(args->data[0].of.ref, &fiber));
  wasm_val_vec_t values = {1, &args->data[1]};
  wasm_trap_t* trap = NULL;
  if (ropewalk_fiber_can_dismount(fiber, wants)) {
    trap = ropewalk_trap_new_fiber_suspension(fiber, wants, &values, got);
  } else {
    results->data[0].of.i32 = 1000;
  }
  ropewalk_fiber_delete(fiber);
  return trap;
}

static own wasm_trap_t* swap(const wasm_val_vec_t* args, own wasm_val_vec_t* results) {
  (void)results;
  wasm_val_vec_t values = {1, &args->data[1]};
  return ropewalk_trap_new_bag_switch(args->data[0].of.ref, &values);
}

static own wasm_trap_t* send(const wasm_val_vec_t* args, own wasm_val_vec_t* results) {
  (void)results;
  const wasm_ref_t* stack = args->data[0].of.ref;
  wasm_val_vec_t values = {1, &args->data[1]};
  return ropewalk_trap_new_first_class_switch(stack, wasm_extern_as_tag(ask), &values);
}

/* Defines a function that has the type of the next import. */
static void define(
  ropewalk_linker_t* linker, wasm_store_t* store, const wasm_importtype_t* import,
  const char* name, wasm_func_callback_t callback
) {
  const wasm_externtype_t* type = wasm_importtype_type(import);
  wasm_func_t* func = wasm_func_new(store, wasm_externtype_as_functype_const(type), callback);
  check(name, ropewalk_linker_define(linker, "host", name, wasm_func_as_extern(func)));
  wasm_func_delete(func);
}

/* Calls a function without parameters that returns a stack. */
static own wasm_ref_t* make(const wasm_instance_t* instance, const char* name) {
  wasm_func_t* func = exported_func(instance, name);
  wasm_val_vec_t nothing = WASM_EMPTY_VEC;
  wasm_val_t made;
  wasm_val_vec_t made_vec = {1, &made};
  check_trap(name, wasm_func_call(func, &nothing, &made_vec));
  wasm_func_delete(func);
  return made.of.ref;
}

static int32_t number(const wasm_instance_t* instance, const char* name, int32_t x) {
  wasm_func_t* func = exported_func(instance, name);
  wasm_val_t arg = WASM_I32_VAL(x), result;
  wasm_val_vec_t args = {1, &arg}, results = {1, &result};
  check_trap(name, wasm_func_call(func, &args, &results));
  wasm_func_delete(func);
  return result.of.i32;
}

/* The number that came back. */
static int32_t came_back(ropewalk_switched_t* switched) {
  check_trap("switching", switched->trap);
  int32_t x = switched->values.data[0].of.i32;
  ropewalk_switched_delete(switched);
  return x;
}

static void tasks(const wasm_instance_t* instance) {
  wasm_ref_t* reference = make(instance, "task");
  ropewalk_task_t* task;
  check("task", ropewalk_task_from_ref(reference, &task));
  wasm_ref_delete(reference);
  wasm_val_t x = WASM_I32_VAL(5);
  wasm_val_vec_t values = {1, &x};
  ropewalk_switched_t switched;
  ropewalk_task_resume(task, &values, &switched);
  printf("task: %s, asks for %d, ", ropewalk_task_is_suspended(task) ? "suspended" : "?",
    switched.values.data[0].of.i32);
  ropewalk_switched_delete(&switched);
  x.of.i32 = 100;
  ropewalk_task_resume(task, &values, &switched);
  const char* kind = switched.kind == ROPEWALK_TASK_FINISHED ? "finished" : "?";
  printf("%s with %d", kind, came_back(&switched));
  printf("%s\n", ropewalk_task_is_moribund(task) ? ", moribund" : "");
  ropewalk_task_delete(task);

  reference = make(instance, "task");
  check("task", ropewalk_task_from_ref(reference, &task));
  wasm_ref_delete(reference);
  wasm_ref_delete(check_made("reference", ropewalk_task_reference(task)));
  check("release", ropewalk_task_release(task));
  ropewalk_task_resume(task, &values, &switched);
  uint8_t code;
  if (ropewalk_trap_code(switched.trap, &code) && code == ROPEWALK_TRAP_TASK_MORIBUND) {
    printf("task: released\n");
  }
  ropewalk_switched_delete(&switched);
  ropewalk_task_delete(task);
}

static void fibers(const wasm_instance_t* instance) {
  wasm_ref_t* reference = make(instance, "fiber");
  ropewalk_fiber_t* fiber;
  check("fiber", ropewalk_fiber_from_ref(reference, &fiber));
  wasm_ref_delete(reference);
  const wasm_tag_t* on[] = {wasm_extern_as_tag(end), wants};
  wasm_val_t x = WASM_I32_VAL(7);
  wasm_val_vec_t values = {1, &x};
  ropewalk_switched_t switched;
  ropewalk_fiber_mount(fiber, got, &values, 2, on, &switched);
  printf("fiber: %s, ", switched.kind == ROPEWALK_NOT_HANDLED ? "not handled" : "?");
  ropewalk_switched_delete(&switched);
  ropewalk_fiber_mount(fiber, wasm_extern_as_tag(start), &values, 2, on, &switched);
  printf("%s for ", wasm_tag_same(switched.tag, wants) ? "asks" : "?");
  printf("%d, ", came_back(&switched));
  printf("%s, ", ropewalk_fiber_is_suspended(fiber) ? "suspended" : "?");
  x.of.i32 = 200;
  ropewalk_fiber_mount(fiber, got, &values, 1, on, &switched);
  printf("ended with %d", came_back(&switched));
  printf("%s\n", ropewalk_fiber_is_moribund(fiber) ? ", moribund" : "");
  ropewalk_fiber_delete(fiber);

  /* The host function does not dismount it: the parent does not expect the event. */
  reference = make(instance, "fiber");
  check("fiber", ropewalk_fiber_from_ref(reference, &fiber));
  wasm_ref_delete(reference);
  ropewalk_fiber_mount(fiber, wasm_extern_as_tag(start), &values, 1, on, &switched);
  printf("fiber: ended with %d\n", came_back(&switched));
  ropewalk_fiber_delete(fiber);

  reference = make(instance, "fiber");
  check("fiber", ropewalk_fiber_from_ref(reference, &fiber));
  wasm_ref_delete(reference);
  wasm_ref_delete(check_made("reference", ropewalk_fiber_reference(fiber)));
  check("release", ropewalk_fiber_release(fiber));
  printf("fiber: %s\n", ropewalk_fiber_is_moribund(fiber) ? "released" : "?");
  ropewalk_fiber_delete(fiber);
}

static void bag(const wasm_instance_t* instance) {
  wasm_ref_t* reference = make(instance, "bag");
  ropewalk_bag_stack_t *stack, *copy;
  check("stack", ropewalk_bag_stack_from_ref(reference, &stack));
  wasm_ref_delete(reference);
  wasm_val_t x = WASM_I32_VAL(21);
  wasm_val_vec_t values = {1, &x};
  ropewalk_switched_t switched;
  ropewalk_bag_stack_switch(stack, &values, &switched);
  stack = switched.bag_stack;
  switched.bag_stack = NULL;
  printf("bag: %d, ", came_back(&switched));
  check("copy", ropewalk_bag_stack_try_clone(stack, &copy));
  wasm_ref_delete(check_made("reference", ropewalk_bag_stack_into_ref(stack)));
  ropewalk_bag_stack_switch(copy, &values, &switched);
  ropewalk_bag_stack_delete(switched.bag_stack);
  switched.bag_stack = NULL;
  printf("%d, by a host function %d\n", came_back(&switched), number(instance, "swap", 4));
}

static void first_class(wasm_store_t* store, const wasm_instance_t* instance) {
  wasm_ref_t* reference = make(instance, "first-class");
  ropewalk_first_class_stack_t *stack, *copy;
  check("stack", ropewalk_first_class_stack_from_ref(reference, &stack));
  wasm_ref_delete(reference);
  wasm_val_t x = WASM_I32_VAL(41);
  wasm_val_vec_t values = {1, &x};
  ropewalk_switched_t switched;
  ropewalk_first_class_stack_switch(stack, wasm_extern_as_tag(ask), &values, &switched);
  stack = switched.first_class_stack;
  switched.first_class_stack = NULL;
  printf("first-class: %d, ", came_back(&switched));
  check("copy", ropewalk_first_class_stack_try_clone(stack, &copy));
  wasm_ref_delete(check_made("reference", ropewalk_first_class_stack_into_ref(stack)));
  ropewalk_first_class_stack_switch(copy, wasm_extern_as_tag(ask), &values, &switched);
  printf("%d, by a host function %d\n", came_back(&switched), number(instance, "send", 6));

  /* An event traps at the ground of a blank stack. */
  check("blank", ropewalk_first_class_stack_new(store, NULL, &stack));
  ropewalk_first_class_stack_switch(stack, wasm_extern_as_tag(ask), &values, &switched);
  uint8_t code;
  if (ropewalk_trap_code(switched.trap, &code) && code == ROPEWALK_TRAP_EVENT_REACHED_GROUND) {
    printf("first-class: reached the ground\n");
  }
  ropewalk_switched_delete(&switched);
  check("blank", ropewalk_first_class_stack_new(store, NULL, &stack));
  ropewalk_first_class_stack_delete(stack);
}

int main(void) {
  wasm_engine_t* engine = wasm_engine_new();
  wasm_store_t* store = wasm_store_new(engine);
  wasm_module_t* module = compile(engine, TEXT);
  ropewalk_linker_t* linker = ropewalk_linker_new(engine);
  wasm_importtype_vec_t imports;
  wasm_module_imports(module, &imports);
  define(linker, store, imports.data[0], "task", from_task);
  define(linker, store, imports.data[1], "fiber", from_fiber);
  define(linker, store, imports.data[2], "bag", swap);
  define(linker, store, imports.data[3], "send", send);
  wasm_importtype_vec_delete(&imports);
  wasm_trap_t* trap;
  wasm_instance_t* instance = ropewalk_linker_instantiate(linker, store, module, &trap);
  check_trap("instantiating", trap);
  wasm_tagtype_t* type = wasm_tagtype_new(wasm_functype_new_1_0(wasm_valtype_new_i32()));
  wants = wasm_tag_new(store, type);
  got = wasm_tag_new(store, type);
  wasm_tagtype_delete(type);
  start = wasm_tag_as_extern(exported_tag(instance, "start"));
  end = wasm_tag_as_extern(exported_tag(instance, "end"));
  ask = wasm_tag_as_extern(exported_tag(instance, "ask"));

  tasks(instance);
  fibers(instance);
  bag(instance);
  first_class(store, instance);

  wasm_extern_delete(start);
  wasm_extern_delete(end);
  wasm_extern_delete(ask);
  wasm_tag_delete(wants);
  wasm_tag_delete(got);
  wasm_instance_delete(instance);
  ropewalk_linker_delete(linker);
  wasm_module_delete(module);
  wasm_store_delete(store);
  wasm_engine_delete(engine);
  return 0;
}
