/* Lines from a terminal by libedit, or as they come. */
#include "repl/edit.h"

#include "base/diag.h"
#include "repl/libedit.h"
#include "repl/worker.h"

#include <errno.h>
#include <locale.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

struct Edit {
    bool terminal;
    const Libedit *lib; /* NULL: lines are not edited */
    EditLine *el;
    History *past;
    char *file; /* of the history, or NULL */
    const char *prompt;
    OfferFn *offer;
    void *env;
    char *line; /* n bytes at most */
    size_t n;
};

/* The one that is open: functions that libedit calls get nothing of ours. */
static Edit *now;

/* --- History -------------------------------------------------------------------------------- */

enum { PAST = 1000 }; /* lines */

/* Makes the folders that a path names. */
static void make_folders(char *path)
{
    for (char *p = strchr(path + 1, '/'); p; p = strchr(p + 1, '/')) {
        *p = '\0';
        mkdir(path, 0700);
        *p = '/';
    }
}

/* Where the system says that programs keep such things; NULL: nowhere. */
static char *history_file(void)
{
    const char *state = getenv("XDG_STATE_HOME"), *home = getenv("HOME");
    bool known = state && *state == '/';
    if (!known && !(home && *home))
        return NULL;
    const char *folder = known ? state : home, *inside = known ? "" : "/.local/state";
    size_t n = strlen(folder) + 64;
    char *path = malloc(n);
    if (path)
        snprintf(path, n, "%s%s/minifut/history", folder, inside);
    return path;
}

/* Lines that belong together become one, which a key brings back: the language does not mind, but
 * where a comment ends with its line. */
void edit_note(Edit *e, const char *text)
{
    HistEvent event;
    if (!e->lib || !text[strspn(text, " \t\n")])
        return;
    char *copy = strdup(text), *next = copy;
    bool one = copy && !strstr(copy, "--");
    for (size_t n = one ? strlen(copy) : 0; n && copy[n - 1] == '\n';)
        copy[--n] = '\0';
    for (char *p = copy; one && *p; p++)
        *p = *p == '\n' ? ' ' : *p;
    for (char *line; copy && (line = strsep(&next, "\n"));)
        if (*line)
            e->lib->history(e->past, &event, H_ENTER, line);
    free(copy);
}

/* --- Keys ----------------------------------------------------------------------------------- */

static volatile sig_atomic_t resized, stopped;

static void note_signal(int sig)
{
    *(sig == SIGWINCH ? &resized : &stopped) = 1;
}

/* Another size of the terminal; Ctrl-Z, which finds the terminal as it was, and comes back to the
 * line. */
static void heed_signals(Edit *e)
{
    if (resized)
        e->lib->el_resize(e->el);
    if (stopped) {
        e->lib->el_set(e->el, EL_PREP_TERM, 0);
        signal(SIGTSTP, SIG_DFL); /* by which nothing stops that nobody could go on with */
        raise(SIGTSTP);
        signal(SIGTSTP, note_signal);
        e->lib->el_set(e->el, EL_PREP_TERM, 1);
        e->lib->el_set(e->el, EL_REFRESH);
    }
    resized = stopped = 0;
}

/* One character from the terminal; -1: a signal wants the line to end. */
static int get_key(EditLine *el, wchar_t *c)
{
    (void)el;
    mbstate_t state = {0};
    while (worker_wait(STDIN_FILENO)) {
        char byte;
        struct pollfd input = {.fd = STDIN_FILENO, .events = POLLIN};
        heed_signals(now);
        if (poll(&input, 1, 0) == 0)
            continue;
        ssize_t n = read(STDIN_FILENO, &byte, 1);
        if (n <= 0)
            return (int)n;
        size_t k = mbrtowc(c, &byte, 1, &state);
        if (k == (size_t)-1)
            memset(&state, 0, sizeof state); /* no character: it is left out */
        else if (k != (size_t)-2)
            return 1;
    }
    return -1;
}

/* --- Completion ----------------------------------------------------------------------------- */

static size_t common(const Offers *o)
{
    const char *first = o->words.at[0];
    size_t n = strlen(first);
    for (int i = 1; i < o->words.n; i++) {
        size_t k = 0;
        while (k < n && o->words.at[i][k] == first[k])
            k++;
        n = k;
    }
    return n;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* In columns below the line, of which the editor makes a new one. */
static void list(Offers *o)
{
    enum { MANY = 200 };
    struct winsize size = {.ws_col = 80};
    ioctl(STDOUT_FILENO, TIOCGWINSZ, &size);
    int width = 1, columns = size.ws_col ? size.ws_col : 80;
    qsort(o->words.at, (size_t)o->words.n, sizeof *o->words.at, by_name);
    for (int i = 0; i < o->words.n; i++)
        width = (int)strlen(o->words.at[i]) + 2 > width ? (int)strlen(o->words.at[i]) + 2 : width;
    int across = columns > width ? columns / width : 1,
        shown = o->words.n < MANY ? o->words.n : MANY;
    int down = (shown + across - 1) / across;
    putchar('\n');
    for (int y = 0; y < down; y++, putchar('\n'))
        for (int i = y; i < shown; i += down)
            printf("%-*s", i + down < shown ? width : 0, o->words.at[i]);
    if (shown < o->words.n)
        printf("... and %d more\n", o->words.n - shown);
    fflush(stdout);
}

static unsigned char complete(EditLine *el, int key)
{
    Edit *e = now;
    const LineInfo *at = e->lib->el_line(el);
    size_t n = (size_t)(at->lastchar - at->buffer), cursor = (size_t)(at->cursor - at->buffer);
    Offers o = {.a = arena_new(), .from = cursor};
    char *line = strndup(at->buffer, n);
    unsigned char next = CC_ERROR;
    (void)key;
    if (line)
        e->offer(e->env, line, cursor, &o);
    size_t typed = cursor - o.from, same = o.words.n ? common(&o) : 0;
    if (o.words.n && same > typed) {
        const char *rest = arena_strndup(o.a, o.words.at[0] + typed, same - typed);
        next = e->lib->el_insertstr(el, rest) == 0 ? CC_REFRESH : CC_ERROR;
    } else if (o.words.n > 1) {
        list(&o);
        next = CC_REDISPLAY;
    }
    free(line);
    arena_free(o.a);
    return next;
}

/* --- Life ----------------------------------------------------------------------------------- */

static char *prompt_of(EditLine *el)
{
    (void)el;
    return (char *)now->prompt;
}

/* Keys as other programs have them; the user's own (~/.editrc) count. */
static bool start_editor(Edit *e)
{
    HistEvent event;
    const Libedit *lib = e->lib = libedit_find();
    if (!lib || !(setlocale(LC_CTYPE, "C.UTF-8") || setlocale(LC_CTYPE, "")))
        return false;
    e->el = lib->el_init("minifut", stdin, stdout, stderr);
    e->past = lib->history_init();
    if (!e->el || !e->past)
        return false;
    lib->history(e->past, &event, H_SETSIZE, PAST);
    lib->history(e->past, &event, H_SETUNIQUE, 1);
    if ((e->file = history_file()))
        lib->history(e->past, &event, H_LOAD, e->file);
    lib->el_set(e->el, EL_HIST, lib->history, e->past);
    lib->el_set(e->el, EL_PROMPT, prompt_of);
    lib->el_set(e->el, EL_EDITOR, "emacs");
    lib->el_set(e->el, EL_GETCFN, get_key);
    lib->el_set(e->el, EL_ADDFN, "minifut-complete", "completes a name", complete);
    lib->el_set(e->el, EL_BIND, "^I", "minifut-complete", NULL);
    lib->el_set(e->el, EL_BIND, "^R", "em-inc-search-prev", NULL);
    lib->el_source(e->el, NULL);
    signal(SIGWINCH, note_signal);
    return true;
}

Edit *edit_open(OfferFn *offer, void *env)
{
    Edit *e = calloc(1, sizeof *e);
    ASSERT(e);
    const char *term = getenv("TERM");
    e->offer = offer;
    e->env = env;
    e->terminal = isatty(STDIN_FILENO) && isatty(STDOUT_FILENO);
    now = e;
    if (!(e->terminal && term && strcmp(term, "dumb") != 0 && start_editor(e)))
        e->lib = NULL;
    return e;
}

void edit_close(Edit *e)
{
    HistEvent event;
    if (e->lib && e->file) {
        make_folders(e->file);
        e->lib->history(e->past, &event, H_SAVE, e->file);
    }
    if (e->lib) {
        e->lib->history_end(e->past);
        e->lib->el_end(e->el);
    }
    free(e->file);
    free(e->line);
    free(e);
    now = NULL;
}

void edit_give_up(const Edit *e)
{
    puts(e->lib ? "^C" : ""); /* else the terminal shows the key itself */
}

bool edit_is_terminal(const Edit *e)
{
    return e->terminal;
}

/* A line that is not edited; its length, or -1. */
static ssize_t plain_line(Edit *e)
{
    if (e->terminal)
        fputs(e->prompt, stdout);
    fflush(stdout);
    if (e->terminal && !worker_wait(STDIN_FILENO))
        return -1;
    errno = 0;
    ssize_t n = getline(&e->line, &e->n, stdin);
    if (n < 0 && errno == EINTR)
        clearerr(stdin);
    return n;
}

static ssize_t edited_line(Edit *e)
{
    int n = 0;
    signal(SIGTSTP, note_signal);
    e->lib->el_set(e->el, EL_PREP_TERM, 1); /* before the prompt says that keys may come */
    const char *line = e->lib->el_gets(e->el, &n);
    signal(SIGTSTP, SIG_DFL);
    if (!line || n <= 0)
        return -1;
    free(e->line);
    e->line = strndup(line, (size_t)n);
    e->n = (size_t)n;
    return e->line ? n : -1;
}

const char *edit_line(Edit *e, const char *prompt, size_t *n)
{
    e->prompt = prompt;
    ssize_t got = e->lib ? edited_line(e) : plain_line(e);
    if (got < 0)
        return NULL;
    *n = (size_t)got;
    while (*n && (e->line[*n - 1] == '\n' || e->line[*n - 1] == '\r'))
        e->line[--*n] = '\0';
    return e->line;
}
