// An interpreter that runs a script, like the command `lua`.
#include <stdio.h>

#include "lauxlib.h"
#include "lua.h"
#include "lualib.h"

int main(int argc, char **argv) {
    lua_State *lua = luaL_newstate();
    luaL_openlibs(lua);
    lua_newtable(lua);
    for (int i = 1; i < argc; i++) {
        lua_pushstring(lua, argv[i]);
        lua_rawseti(lua, -2, i - 1);
    }
    lua_setglobal(lua, "arg");
    int failed = argc < 2 || luaL_dofile(lua, argv[1]);
    if (failed) fprintf(stderr, "%s\n", argc < 2 ? "usage: lua FILE" : lua_tostring(lua, -1));
    lua_close(lua);
    return failed;
}
