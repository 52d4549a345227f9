// An interpreter that runs a script, like the command `qjs`.
#include <stdio.h>
#include <stdlib.h>

#include "quickjs-libc.h"
#include "quickjs.h"

int main(int argc, char **argv) {
    if (argc < 2) {
        fprintf(stderr, "usage: js FILE\n");
        return 1;
    }
    JSRuntime *runtime = JS_NewRuntime();
    js_std_init_handlers(runtime);
    JSContext *context = JS_NewContext(runtime);
    js_std_add_helpers(context, argc - 1, argv + 1);
    size_t size;
    uint8_t *text = js_load_file(context, &size, argv[1]);
    if (!text) {
        perror(argv[1]);
        return 1;
    }
    JSValue result = JS_Eval(context, (char *)text, size, argv[1], JS_EVAL_TYPE_GLOBAL);
    int failed = JS_IsException(result);
    if (failed) js_std_dump_error(context);
    js_free(context, text);
    JS_FreeValue(context, result);
    failed |= js_std_loop(context);
    JS_FreeContext(context);
    js_std_free_handlers(runtime);
    JS_FreeRuntime(runtime);
    return failed;
}
