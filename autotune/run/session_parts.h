/* What the session's files share: what runs (session.c), what goes to the server and comes back
 * (session_data.c), and inputs that are made there (session_script.c). */
#ifndef AUTOTUNE_RUN_SESSION_PARTS_H
#define AUTOTUNE_RUN_SESSION_PARTS_H

#include "autotune/run/session.h"
#include "autotune/run/talk.h"
#include "command/tempdir.h"

/* A parameter, result or record field of the program. */
typedef struct {
    const char *name; /* of a field; else NULL */
    const char *type; /* without '*' */
    bool unique;
} Slot;
typedef VEC(Slot) Slots;
typedef VEC(rt_hvalue) Values;

typedef struct {
    Values values; /* the results that runs must equal */
    bool known;
    VEC(const char *) digests; /* of results that do */
} Expected;

/* The inputs of a data set in the server. */
typedef struct {
    bool there;
    int64_t bytes;
} Resident;

/* An input of a run. */
typedef struct {
    const char *name; /* its variable */
    bool copied;      /* for this run */
} Argument;

struct Session {
    Arena *a;
    SessionOptions o;
    const Datasets *ds;
    Server *server;
    Out reply;
    const char *entry;
    Slots inputs, outputs;
    Forest forest;
    Sizes sizes;
    int64_t *settings;         /* as last asked for; NULL: the defaults */
    int64_t *set_sizes;        /* the same of sizes */
    bool sent, sizes_sent;     /* the server has these settings */
    VEC(const char *) choices; /* makers' */
    int64_t chosen;            /* for all of them ... */
    bool chooses;              /* ... if that was ever said */
    double stop;               /* seconds after which runs give up; 0: never */
    bool stop_sent;            /* the server knows */
    bool parts, parts_sent;    /* runs tell them; the server knows */
    Resident *resident;        /* [dataset] */
    Expected *expected;
    const char *turns; /* the file whose lock says whose turn it is; NULL: nobody else runs */
    int turn;          /* it, opened */
    TempDir tmp;       /* for values in transit */
    const char *value; /* the file there, as a word of the protocol */
};

/* Asks the server; the answer is in s->reply. */
#define ASK(s, ...) server_command((s)->server, (s)->o.timeout, &(s)->reply, __VA_ARGS__)

/* The reason of a failure, as the program tells it: several lines. */
const char *session_failure(Session *s);
/* What went wrong with a command, in words. */
const char *session_reason(Session *s, TalkStatus st, const char *what);
/* The lines of the reply as slots; `named`: each line is "name type". */
Slots session_reply_slots(Session *s, bool named);

/* The variable in the server that is input i of data set d. */
const char *session_input_name(Session *s, int d, int i);
/* Puts a value into the server, as variable `var` of this type. NULL or what is wrong. */
const char *session_put_value(Session *s, const rt_hvalue *v, const char *var, const char *type);
/* Makes the inputs of a data set that has a script; *bytes grows by theirs, as far as they are
 * known. NULL or what is wrong; some inputs may be there then. */
const char *session_make_inputs(Session *s, int d, int64_t *bytes);
/* Sees to it that the server holds data set d's inputs. NULL or what is wrong. */
const char *session_load(Session *s, int d);
/* Frees the inputs of all data sets but d (-1: of all). Were there any? */
bool session_unload_others(Session *s, int d);
/* Nothing is in the server any more. */
void session_forget_resident(Session *s);
/* Has the inputs of the next run ready: copies of those that it consumes. Where there is no room
 * for a copy, it consumes what was sent, which is sent again for the run after it. */
const char *session_prepare(Session *s, int d, Argument *in);
/* ... and afterwards. */
void session_clean_up(Session *s, int d, const Argument *in);

/* Compares the results of a run with what they must be, which is what they are if nothing is known
 * of it. NULL or what is wrong; *is_wrong: they differ. */
const char *session_check_results(Session *s, int d, bool *is_wrong);
void session_free_values(Values *vs);

#endif
