/* The editor of lines, libedit, if it is installed: looked for when it is wanted, as drivers of
 * devices are, so that neither building nor running the compiler needs it. What is declared here is
 * its interface for programs, which histedit.h has and which has not changed since 2010. */
#ifndef REPL_LIBEDIT_H
#define REPL_LIBEDIT_H

#include <stdbool.h>
#include <stdio.h>
#include <wchar.h>

typedef struct editline EditLine;
typedef struct history History;
typedef struct {
    int num;
    const char *str;
} HistEvent;
typedef struct {
    const char *buffer, *cursor, *lastchar;
} LineInfo;
typedef int HistoryFn(History *, HistEvent *, int, ...);

enum {
    EL_PROMPT = 0,
    EL_EDITOR = 2,
    EL_BIND = 4,
    EL_ADDFN = 9,
    EL_HIST = 10,
    EL_GETCFN = 13,
    EL_PREP_TERM = 16,
    EL_REFRESH = 20
};
enum { H_SETSIZE = 1, H_ENTER = 10, H_LOAD = 17, H_SAVE = 18, H_SETUNIQUE = 20 };
enum { CC_REFRESH = 4, CC_ERROR = 6, CC_REDISPLAY = 8 };

/* ROW(result, name, parameters) */
#define LIBEDIT_CALLS(ROW)                                                                         \
    ROW(EditLine *, el_init, (const char *, FILE *, FILE *, FILE *))                               \
    ROW(void, el_end, (EditLine *))                                                                \
    ROW(const char *, el_gets, (EditLine *, int *))                                                \
    ROW(int, el_set, (EditLine *, int, ...))                                                       \
    ROW(int, el_source, (EditLine *, const char *))                                                \
    ROW(void, el_resize, (EditLine *))                                                             \
    ROW(const LineInfo *, el_line, (EditLine *))                                                   \
    ROW(int, el_insertstr, (EditLine *, const char *))                                             \
    ROW(History *, history_init, (void))                                                           \
    ROW(void, history_end, (History *))                                                            \
    ROW(int, history, (History *, HistEvent *, int, ...))

typedef struct {
#define LIBEDIT_CALL(result, name, params) result(*name) params;
    LIBEDIT_CALLS(LIBEDIT_CALL)
#undef LIBEDIT_CALL
} Libedit;

/* Its functions; NULL: it is not installed. */
const Libedit *libedit_find(void);

#endif
