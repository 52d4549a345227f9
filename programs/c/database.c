// SQLite on a directory: inserts, an index, joins, transactions that are rolled
// back, updates and deletes, and finally a dump of the whole database as text.

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sqlite3.h"

static sqlite3 *database;

static void check(int result, const char *what) {
    if (result == SQLITE_OK || result == SQLITE_ROW || result == SQLITE_DONE) return;
    fprintf(stderr, "%s: %s\n", what, sqlite3_errmsg(database));
    exit(1);
}

static void run(const char *sql) {
    check(sqlite3_exec(database, sql, NULL, NULL, NULL), sql);
}

static sqlite3_stmt *prepare(const char *sql) {
    sqlite3_stmt *statement;
    check(sqlite3_prepare_v2(database, sql, -1, &statement, NULL), sql);
    return statement;
}

static void step(sqlite3_stmt *statement) {
    check(sqlite3_step(statement), sqlite3_sql(statement));
    check(sqlite3_reset(statement), sqlite3_sql(statement));
}

static uint32_t next_random(void) {
    static uint32_t state = 2463534242u;
    state ^= state << 13;
    state ^= state >> 17;
    state ^= state << 5;
    return state;
}

// Prints the rows of a query.
static void print(const char *sql) {
    sqlite3_stmt *statement = prepare(sql);
    printf("-- %s\n", sql);
    while (sqlite3_step(statement) == SQLITE_ROW) {
        int columns = sqlite3_column_count(statement);
        for (int i = 0; i < columns; i++) {
            const unsigned char *text = sqlite3_column_text(statement, i);
            printf("%s%s", i == 0 ? "" : "|", text ? (const char *)text : "null");
        }
        printf("\n");
    }
    check(sqlite3_finalize(statement), sql);
}

static void insert_people(int count) {
    sqlite3_stmt *insert = prepare("insert into person(name, town, born) values(?, ?, ?)");
    run("begin");
    for (int i = 0; i < count; i++) {
        char name[32];
        snprintf(name, sizeof name, "person-%08x", next_random());
        sqlite3_bind_text(insert, 1, name, -1, SQLITE_TRANSIENT);
        sqlite3_bind_int(insert, 2, (int)(next_random() % 200));
        sqlite3_bind_int(insert, 3, 1900 + (int)(next_random() % 120));
        step(insert);
    }
    run("commit");
    sqlite3_finalize(insert);
}

static void insert_letters(int count, int people) {
    sqlite3_stmt *insert = prepare("insert into letter(sender, receiver, weight) values(?, ?, ?)");
    run("begin");
    for (int i = 0; i < count; i++) {
        sqlite3_bind_int(insert, 1, 1 + (int)(next_random() % (uint32_t)people));
        sqlite3_bind_int(insert, 2, 1 + (int)(next_random() % (uint32_t)people));
        sqlite3_bind_double(insert, 3, (double)(next_random() % 10000) / 16.0);
        step(insert);
    }
    run("commit");
    sqlite3_finalize(insert);
}

// Many small transactions; every third is rolled back.
static void move_people(int count, int people) {
    sqlite3_stmt *move = prepare("update person set town = (town + ?) % 200 where id = ?");
    for (int i = 0; i < count; i++) {
        run("begin immediate");
        for (int k = 0; k < 5; k++) {
            sqlite3_bind_int(move, 1, 1 + k);
            sqlite3_bind_int(move, 2, 1 + (int)(next_random() % (uint32_t)people));
            step(move);
        }
        run(i % 3 == 0 ? "rollback" : "commit");
    }
    sqlite3_finalize(move);
}

int main(int argc, char **argv) {
    const char *path = argc > 1 ? argv[1] : "data/test.db";
    int scale = argc > 2 ? atoi(argv[2]) : 10;
    int people = 1000 * scale;
    remove(path);
    check(sqlite3_open(path, &database), "open");
    run("pragma journal_mode = delete");
    run("create table town(id integer primary key, name text)");
    run("create table person(id integer primary key, name text, town integer, born integer)");
    run("create table letter(id integer primary key, sender integer, receiver integer, weight real)");
    run("with recursive n(i) as (select 0 union all select i + 1 from n where i < 199) "
        "insert into town select i, 'town ' || i from n");
    insert_people(people);
    insert_letters(3 * people, people);
    run("create index person_town on person(town)");
    run("create index letter_sender on letter(sender)");
    move_people(20 * scale, people);
    print("select t.name, count(*), min(p.born), max(p.born) from person p join town t "
          "on t.id = p.town group by t.id order by count(*) desc, t.id limit 10");
    print("select a.name, b.name, sum(l.weight) from letter l join person a on a.id = l.sender "
          "join person b on b.id = l.receiver where a.town = b.town "
          "group by a.id, b.id order by 3 desc, 1, 2 limit 10");
    print("select born / 10 * 10, count(*), total(length(name)), group_concat(distinct town % 7) "
          "from person group by 1 order by 1");
    run("delete from letter where sender in (select id from person where born < 1950)");
    print("select count(*), sum(weight), avg(receiver) from letter");
    print("with recursive path(a, b, n) as (select sender, receiver, 1 from letter where sender = 17 "
          "union select p.b, l.receiver, n + 1 from path p join letter l on l.sender = p.b "
          "where n < 4) select n, count(*), sum(b) from path group by n order by n");
    run("vacuum");
    print("pragma integrity_check");
    print("select count(*), sum(id), sum(town), sum(born) from person");
    check(sqlite3_close(database), "close");
    return 0;
}
