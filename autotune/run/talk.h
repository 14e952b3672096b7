/* A running program in server mode: one line out, lines back until `%%% OK`. The
 * program's log (its standard error) is collected beside it. Nothing the program does can hang or
 * kill us: calls have a time limit, a dead program is a failed command. */
#ifndef AUTOTUNE_RUN_TALK_H
#define AUTOTUNE_RUN_TALK_H

#include "base/out.h"

typedef struct Server Server;

/* Starts `prog --server` with more arguments (NULL-terminated, may be NULL) and waits for its first
 * `%%% OK`. `forked`: the program is a shared object, whose main runs in a fork of this process.
 * ranks: by MPI, on so many; 0: without.
 * NULL if it cannot be started; what it said is then in *why. */
Server *server_start(const char *prog, bool forked, int ranks, const char *const *args, Out *why);
void server_stop(Server *s); /* asks it to end, then makes it; NULL is fine */

typedef enum {
    TALK_OK,
    TALK_FAILURE, /* the program's answer was a failure */
    TALK_TIMEOUT, /* no answer in time: the server was killed */
    TALK_DEAD     /* the server is gone */
} TalkStatus;

/* Stands between a failure's reason and what was logged before it. */
#define TALK_LOG "%%% LOG\n"

/* Sends a command line, waits at most `seconds`. The reply's lines (without status lines, a
 * failure's reason first) replace *reply. */
TalkStatus server_command(Server *s, double seconds, Out *reply, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));
/* The log since the last call of this function; valid until the next command. */
const char *server_log(Server *s);

/* From now on SIGINT, SIGTERM and SIGHUP do not end this process but the server that it waits for
 * (TALK_DEAD). */
void server_catch_interrupts(void);
bool server_interrupted(void);

#endif
