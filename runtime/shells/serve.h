/* Commands and servers: what programs call, and the server's parts among themselves: answers and
 * variables, serve_vars.c; the commands that look into values and make them, serve_values.c; all
 * others, serve.c. */
#ifndef RT_SERVE_H
#define RT_SERVE_H

#include "runtime/values/boundary.h"

/* A variable. Types below 0 are the tuple of all results of entry -1-type. */
typedef struct {
    char *name;
    int type, n; /* components */
    rt_value *values;
    bool consumed;
} rt_var;

typedef struct {
    rt_ctx *ctx;
    const rt_program *prog;
    int n_vars, cap_vars;
    rt_var *vars;
} rt_server;

/* A command: has the n words after its name, and returns false after a failure. */
typedef bool rt_command_fn(rt_server *s, int n, char **w);

/* --- serve_vars.c --- */

/* Announces a failure with its message; returns false. "Or a failure" below: then NULL or false. */
RT_API bool rt_srv_fail(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* Prints a type's name. */
RT_API void rt_srv_print_type(const rt_server *s, int type);
/* The number of its components. */
RT_API int rt_srv_components(const rt_server *s, int type);
/* A field of a record or a tuple: its type and first component; false if there is no such field. */
RT_API bool rt_srv_field(const rt_server *s, int type, const char *name, int *field_type, int *at);
/* Records, and arrays of them. `()` is a record without fields. */
RT_API bool rt_srv_has_fields(const rt_type_def *t);
/* The type with a name, or a failure. */
RT_API bool rt_srv_type(const rt_server *s, const char *name, int *type);
/* The variable with a name, consumed or not; NULL if there is none. */
RT_API rt_var *rt_srv_lookup(const rt_server *s, const char *name);
/* A variable that can be used, or a failure. */
RT_API rt_var *rt_srv_var(const rt_server *s, const char *name);
/* Names for new variables, each another one; or a failure. */
RT_API bool rt_srv_is_new(const rt_server *s, const char *name);
RT_API bool rt_srv_all_new(const rt_server *s, int n, char **names);
/* A new variable that takes over the references of n values. */
RT_API void rt_srv_define(rt_server *s, const char *name, int type, int n, const rt_value *values);
/* It is there no more, and gives up its references; the last one takes its place. */
RT_API void rt_srv_drop(rt_server *s, rt_var *v);

/* --- serve_values.c --- */

RT_API rt_command_fn rt_cmd_kind;
RT_API rt_command_fn rt_cmd_type;
RT_API rt_command_fn rt_cmd_rank;
RT_API rt_command_fn rt_cmd_elemtype;
RT_API rt_command_fn rt_cmd_shape;
RT_API rt_command_fn rt_cmd_digest;
RT_API rt_command_fn rt_cmd_index;
RT_API rt_command_fn rt_cmd_set;
RT_API rt_command_fn rt_cmd_new_array;
RT_API rt_command_fn rt_cmd_fields;
RT_API rt_command_fn rt_cmd_project;
RT_API rt_command_fn rt_cmd_new;
RT_API rt_command_fn rt_cmd_zip;
RT_API rt_command_fn rt_cmd_unzip;
RT_API rt_command_fn rt_cmd_variants;
RT_API rt_command_fn rt_cmd_variant;
RT_API rt_command_fn rt_cmd_construct;
RT_API rt_command_fn rt_cmd_destruct;

/* --- serve.c --- */

/* Answers commands until there are no more; an exit code. */
RT_API int rt_serve(rt_ctx *ctx);

/* --- written.c --- */

/* What the files that options ask for must not be. */
typedef struct {
    const char *program; /* in front of messages */
    bool force;
    int n_read;
    const char **read; /* tuning files */
} rt_outputs;

/* May the option's file be written? What is there already must begin with head (NULL: hold numbers
 * alone). 0, or the exit code after a message. */
RT_API int rt_output_check(const rt_outputs *w, const char *option, const char *path,
                           const char *head);

/* Opens a file for values that a client wants there, whatever it holds: NULL and errno if it cannot
 * be, which holds of a pipe that nobody reads. */
RT_API FILE *rt_store_open(const char *path);

/* --- cli.c --- */

/* The whole program: options, device, values, call, results; or the server. Returns the exit code:
 * 0 well, 1 the data or the run failed, 2 wrong usage. Default entry point: "main", or the only
 * one. */
RT_API int rt_main(const rt_program *prog, int argc, char **argv);

#endif
