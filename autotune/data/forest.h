/* The thresholds of a program as a forest: who is asked after whose outcome. Rebuilt from the
 * parameter classes `threshold(DEFAULT, PATH)`, where PATH lists the ancestors, `name` for an
 * outcome that was true and `!name` for one that was false (design: "Thresholds"). */
#ifndef AUTOTUNE_DATA_FOREST_H
#define AUTOTUNE_DATA_FOREST_H

#include "base/vec.h"

#include <stdbool.h>
#include <stdint.h>

/* A threshold that no degree of parallelism reaches: the version is never taken. */
#define THRESHOLD_NEVER ((int64_t)1 << 62)
/* A threshold that every degree of parallelism reaches. */
#define THRESHOLD_ALWAYS ((int64_t)1)
/* None: the program decides as if it were not tuned, which may be better than by any number. */
#define THRESHOLD_UNSET ((int64_t)0)

typedef struct {
    const char *name;
    int parent;   /* index of the nearest ancestor, -1 for a root */
    bool outcome; /* of the parent's comparison under which this one is made */
    int64_t def;  /* its default */
} Node;

typedef struct {
    VEC(Node) nodes; /* in program order: ancestors first */
} Forest;

/* Adds a threshold; cls as printed by the program. False if cls is not a threshold class, or names
 * an ancestor that has not been added (wrong is then set to a message). `def` stands for the
 * default that the class calls "def". */
bool forest_add(Arena *a, Forest *f, const char *name, const char *cls, int64_t def,
                const char **wrong);
int forest_find(const Forest *f, const char *name); /* index, -1 if absent */
/* Does the threshold decide whether a loop's launches become one? It chooses no version. */
bool node_is_loop(const Node *n);

#endif
