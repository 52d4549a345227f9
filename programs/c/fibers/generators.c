// Generators: a long sequence, a recursive tree walk, and two tree walks at the same
// time.

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "fiber.h"

static void *count(void *argument) {
    for (intptr_t i = 1; i <= (intptr_t)argument; i++) fiber_yield((void *)i);
    return NULL;
}

static void *fibonacci(void *argument) {
    uint32_t a = 0, b = 1;
    for (intptr_t i = 0; i < (intptr_t)argument; i++) {
        fiber_yield((void *)(uintptr_t)b);
        uint32_t next = a + b;
        a = b;
        b = next;
    }
    return NULL;
}

static uint64_t sum(fiber *generator) {
    uint64_t sum = 0;
    for (;;) {
        uintptr_t value = (uintptr_t)fiber_resume(generator, NULL);
        if (fiber_done(generator)) break;
        sum += value;
    }
    fiber_free(generator);
    return sum;
}

struct tree {
    struct tree *left, *right;
    int key;
};

static struct tree *insert(struct tree *tree, int key) {
    if (tree == NULL) {
        tree = calloc(1, sizeof *tree);
        tree->key = key;
    } else if (key < tree->key) {
        tree->left = insert(tree->left, key);
    } else {
        tree->right = insert(tree->right, key);
    }
    return tree;
}

static void visit(struct tree *tree) {
    if (tree == NULL) return;
    visit(tree->left);
    fiber_yield(&tree->key);
    visit(tree->right);
}

static void *walk(void *tree) {
    visit(tree);
    return NULL;
}

static int same_keys(struct tree *a, struct tree *b) {
    fiber *first = fiber_new(walk, a), *second = fiber_new(walk, b);
    int keys = 0;
    for (;;) {
        int *x = fiber_resume(first, NULL), *y = fiber_resume(second, NULL);
        if (x == NULL || y == NULL || *x != *y) break;
        keys++;
    }
    bool same = fiber_done(first) && fiber_done(second);
    fiber_free(first);
    fiber_free(second);
    return same ? keys : -keys;
}

int main(void) {
    printf("sum %llu\n", (unsigned long long)sum(fiber_new(count, (void *)10000000)));
    printf("fibonacci %llu\n", (unsigned long long)sum(fiber_new(fibonacci, (void *)3000000)));
    struct tree *a = NULL, *b = NULL;
    for (int i = 0; i < 20000; i++) a = insert(a, i * 7919 % 20011);
    for (int i = 19999; i >= 0; i--) b = insert(b, i * 7919 % 20011);
    int keys = 0;
    for (int i = 0; i < 50; i++) keys += same_keys(a, b);
    printf("same %d\n", keys);
    b = insert(b, 5);
    printf("different %d\n", same_keys(a, b));
    return 0;
}
