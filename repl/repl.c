/* minifut repl: lines become declarations, which are kept, expressions, which are answered, and
 * commands. One loop reads; whatever parses, checks or computes is a worker's (worker.h), so that
 * nothing that is typed ends the dialogue but `:quit` and the end of its input. */
#include "repl/repl.h"

#include "base/version.h"
#include "command/args.h"
#include "command/signals.h"
#include "command/source.h"
#include "common/spell.h"
#include "repl/ask.h"
#include "repl/edit.h"
#include "repl/offer.h"
#include "repl/worker.h"

#include <ctype.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

typedef struct {
    Session *session;
    char *file; /* that :load has read last, or NULL */
    Edit *edit;
    Out input;  /* what has been typed of an unfinished text */
    int number; /* of the text */
    bool failed, quit;
} Repl;

/* What is done with a text. */
typedef enum { DO_ANSWER, DO_SHOW, DO_ALL, DO_TYPE, DO_EXPLAIN, DO_LOAD, DO_LIST, DO_DOC } Doing;

/* Exit codes of workers, besides those of commands. */
enum { CODE_UNFINISHED = 100, CODE_DECLARED };

typedef struct {
    const Session *session;
    FePiece text;
    Doing doing;
    const char *name; /* of DO_LIST, DO_DOC */
    bool more;        /* an unfinished text may go on */
} Task;

/* --- Workers -------------------------------------------------------------------------------- */

/* Says what is wrong with a text that cannot be read. */
static int refuse(void)
{
    diag_flush();
    return diag_exit_code();
}

static int read_and_answer(Task *t, FILE *found)
{
    FePiece *p = &t->text;
    FeReading reading = fe_reading(arena_new(), p->name, p->text, p->n);
    if ((reading == FE_UNFINISHED || reading == FE_NOTHING) && t->more)
        return CODE_UNFINISHED; /* a comment may be about what follows */
    if (reading == FE_UNFINISHED || reading == FE_WRONG)
        return refuse();
    if (reading == FE_NOTHING)
        return 0;
    if (reading == FE_DECLS) {
        int code = ask_declare(t->session, p, found);
        return code ? code : CODE_DECLARED;
    }
    p->exp = true;
    return ask_value(t->session, p, SHOW_TYPE | SHOW_ENDS);
}

static int work(void *env, FILE *found)
{
    Task *t = env;
    session_fix_sources(t->session);
    switch (t->doing) {
    case DO_ANSWER: return read_and_answer(t, found);
    case DO_SHOW: return ask_value(t->session, &t->text, SHOW_TYPE | SHOW_ENDS);
    case DO_ALL: return ask_value(t->session, &t->text, SHOW_VALUE);
    case DO_TYPE: return ask_type(t->session, &t->text, true);
    case DO_EXPLAIN: return ask_explain(t->session, &t->text);
    case DO_LOAD: return ask_load(t->session, &t->text, found);
    case DO_LIST: return ask_names(t->session, &t->text, t->name);
    case DO_DOC: return ask_doc(t->session, &t->text, t->name);
    }
    return EXIT_BUG;
}

/* Has a worker do it; its exit code, 1 if it has none. What it found is kept if `keep` is its code.
 */
static int have_done(Repl *r, Task *t, int keep)
{
    t->session = r->session;
    WorkEnd end = worker_run(work, t);
    if (end.code == keep && !session_add(r->session, &t->text, end.found)) {
        fprintf(stderr, "minifut: what was defined cannot be kept\n");
        end.code = EXIT_USER;
    }
    if (worker_interrupted() || end.signal == SIGINT) {
        fprintf(stderr, "interrupted\n");
        r->quit = !edit_is_terminal(r->edit); /* a script ends */
    } else if (end.signal) {
        fprintf(stderr, "minifut: this has ended by a signal: %s\n", strsignal(end.signal));
    }
    if (end.found)
        fclose(end.found);
    int code = end.code < 0 ? EXIT_USER : end.code == keep ? 0 : end.code;
    r->failed |= code && code != CODE_UNFINISHED;
    return code;
}

enum { KEEP_NOTHING = -2 };

/* --- Commands ------------------------------------------------------------------------------- */

/* 0, or an exit code. */
static int do_exp(Repl *r, const char *exp, Doing doing)
{
    Task t = {.doing = doing, .text = {.name = "<expression>", .text = exp, .exp = true}};
    t.text.n = strlen(exp);
    return have_done(r, &t, KEEP_NOTHING);
}

static void do_type(Repl *r, const char *exp)
{
    do_exp(r, exp, DO_TYPE);
}

static void do_explain(Repl *r, const char *exp)
{
    do_exp(r, exp, DO_EXPLAIN);
}

static void do_all(Repl *r, const char *exp)
{
    do_exp(r, exp, DO_ALL);
}

static void do_time(Repl *r, const char *exp)
{
    struct timespec from, to;
    clock_gettime(CLOCK_MONOTONIC, &from);
    if (do_exp(r, exp, DO_SHOW) != 0)
        return;
    clock_gettime(CLOCK_MONOTONIC, &to);
    printf("%.3f s, checked and interpreted\n",
           (double)(to.tv_sec - from.tv_sec) + 1e-9 * (double)(to.tv_nsec - from.tv_nsec));
}

static void do_name(Repl *r, const char *name, Doing doing)
{
    Task t = {.doing = doing, .name = name, .text = {.name = "<input>", .text = ""}};
    have_done(r, &t, KEEP_NOTHING);
}

static void do_list(Repl *r, const char *module)
{
    do_name(r, module, DO_LIST);
}

static void do_doc(Repl *r, const char *name)
{
    do_name(r, name, DO_DOC);
}

/* Reads a file into a new session, which takes the place of the one that there is; NULL, and that
 * stays, if it is no program. Else the old one, to be freed. */
static Session *load(Repl *r, const char *file)
{
    Session *old = r->session;
    Arena *a = arena_new();
    Task t = {.doing = DO_LOAD, .text = {.name = file}};
    diag_reset();
    r->session = session_new();
    t.text.text = source_read(a, file, true, NO_LOC, &t.text.n);
    bool ok = t.text.text && have_done(r, &t, 0) == 0;
    diag_flush();
    r->failed |= !ok;
    if (!ok) {
        session_free(r->session);
        r->session = old;
    }
    arena_free(a);
    return ok ? old : NULL;
}

static void do_reload(Repl *r, const char *rest)
{
    Session *old = r->session;
    (void)rest;
    if (r->file && !(old = load(r, r->file)))
        return;
    if (!r->file)
        r->session = session_new();
    bool loaded = r->file && old->pieces.n && !strcmp(old->pieces.at[0].text.name, r->file);
    for (int i = loaded ? 1 : 0; i < old->pieces.n; i++) {
        Task t = {.doing = DO_ANSWER, .text = old->pieces.at[i].text};
        have_done(r, &t, CODE_DECLARED);
    }
    session_free(old);
}

static void do_load(Repl *r, const char *file)
{
    if (!*file) {
        do_reload(r, file);
        return;
    }
    Session *old = load(r, file);
    if (old)
        session_free(old);
    if (old || !r->file) { /* else `:reload` is still about the one before */
        free(r->file);
        r->file = strdup(file);
    }
}

static void do_help(Repl *r, const char *rest);

static void do_quit(Repl *r, const char *rest)
{
    (void)rest;
    r->quit = true;
}

typedef struct {
    const char *name, *argument;
    void (*run)(Repl *r, const char *rest);
    const char *does;
    bool names; /* stand behind it */
} Command;

static const Command commands[] = {
    {":type", "EXPRESSION", do_type, "its type", true},
    {":explain", "EXPRESSION", do_explain,
     "its versions, as `minifut explain` tells them: of a function, and of the values defined here",
     true},
    {":all", "EXPRESSION", do_all, "its value without dots, however large it is", true},
    {":time", "EXPRESSION", do_time, "its value, and how long it took", true},
    {":load", "[FILE]", do_load, "begins anew, with the definitions of a program", false},
    {":list", "[MODULE]", do_list, "what has been defined, or what a module has", true},
    {":doc", "NAME", do_doc, "what is said of a name", true},
    {":reload", "", do_reload, "reads the files again, and what was defined since", false},
    {":help", "", do_help, "this list", false},
    {":quit", "", do_quit, "ends this, as Ctrl-D does", false},
};
enum { N_COMMANDS = sizeof commands / sizeof *commands };

static void do_help(Repl *r, const char *rest)
{
    (void)r;
    (void)rest;
    puts("An expression is interpreted; definitions (def, let, type, module, open, import) are "
         "kept.\n"
         "A text that is not finished goes on in the next line; an empty line ends it.\n");
    for (const Command *c = commands; c < commands + N_COMMANDS; c++)
        printf("  %-9s %-11s %s\n", c->name, c->argument, c->does);
    puts("\nThe beginning of a command is enough. Tab completes, Ctrl-C interrupts.");
}

/* The command that a line begins with; NULL: there is none. */
static const Command *command_of(const char *line)
{
    size_t n = strcspn(line, " \t");
    for (const Command *c = commands; n > 1 && c < commands + N_COMMANDS; c++)
        if (strncmp(c->name, line, n) == 0)
            return c;
    return NULL;
}

static void run_command(Repl *r, char *line)
{
    const Command *c = command_of(line);
    size_t n = strcspn(line, " \t");
    char *rest = line + n + strspn(line + n, " \t");
    for (size_t k = strlen(rest); k && isspace((unsigned char)rest[k - 1]);)
        rest[--k] = '\0';
    line[n] = '\0';
    rt_spelling s = rt_spell(line);
    if (!c) {
        for (c = commands; c < commands + N_COMMANDS; c++)
            rt_spell_try(&s, c->name);
        fprintf(stderr, "unknown command '%s'%s\n", line,
                s.nearest ? rt_spell_hint(&s) : ": `:help` lists them");
        r->failed = true;
        return;
    }
    if (c->names && *c->argument != '[' && !*rest) {
        fprintf(stderr, "%s: which %s?\n", c->name, c->run == do_doc ? "name" : "expression");
        r->failed = true;
        return;
    }
    c->run(r, rest);
}

/* --- The dialogue --------------------------------------------------------------------------- */

static bool is_blank(const char *s, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!isspace((unsigned char)s[i]))
            return false;
    return true;
}

/* Nothing but blanks and comments? */
static bool says_nothing(const char *s, size_t n)
{
    const char *end = s + n;
    while (s < end) {
        const char *next = memchr(s, '\n', (size_t)(end - s));
        next = next ? next + 1 : end;
        while (s < next && isspace((unsigned char)*s))
            s++;
        if (s < next && (next - s < 2 || s[0] != '-' || s[1] != '-'))
            return false;
        s = next;
    }
    return true;
}

static void forget_input(Repl *r)
{
    out_free(&r->input);
    r->input = (Out){0};
}

/* Has what has been typed answered; `more`: unless it is not finished. */
static void answer(Repl *r, bool more)
{
    Arena *a = arena_new();
    Task t = {.doing = DO_ANSWER, .more = more};
    t.text = (FePiece){.name = arena_printf(a, "<input %d>", r->number + 1),
                       .text = r->input.text,
                       .n = r->input.n};
    if (have_done(r, &t, CODE_DECLARED) != CODE_UNFINISHED) {
        edit_note(r->edit, r->input.text);
        forget_input(r);
        r->number++;
    }
    arena_free(a);
}

static void take_line(Repl *r, const char *line, size_t n)
{
    bool blank = is_blank(line, n);
    if (!r->input.n && blank)
        return;
    const char *word = line + strspn(line, " \t");
    if (*word == ':' && says_nothing(r->input.text, r->input.n)) {
        char *copy = strdup(word);
        forget_input(r);
        edit_note(r->edit, line);
        if (copy)
            run_command(r, copy);
        free(copy);
        return;
    }
    out_putn(&r->input, line, n);
    out_puts(&r->input, "\n");
    answer(r, !blank);
}

static void converse(Repl *r)
{
    while (!r->quit) {
        size_t n = 0;
        const char *line = edit_line(r->edit, r->input.n ? ". " : "> ", &n);
        if (line) {
            take_line(r, line, n);
        } else if (edit_is_terminal(r->edit) && worker_interrupted() && !worker_ended()) {
            edit_give_up(r->edit);
            forget_input(r);
        } else {
            if (edit_is_terminal(r->edit))
                putchar('\n');
            if (r->input.n && !worker_ended())
                answer(r, false);
            return;
        }
    }
}

static void offer(void *env, const char *line, size_t cursor, Offers *offers)
{
    const Repl *r = env;
    size_t word = strcspn(line, " \t");
    if (!r->input.n && *line == ':' && cursor <= word) {
        offers->from = 0;
        for (const Command *c = commands; c < commands + N_COMMANDS; c++)
            if (strncmp(c->name, line, cursor) == 0)
                vec_push(offers->a, &offers->words, arena_printf(offers->a, "%s ", c->name));
        return;
    }
    const Command *c = !r->input.n && *line == ':' ? command_of(line) : NULL;
    if (c && !c->names) {
        if (c->run == do_load)
            offer_files(line, cursor, offers);
        return;
    }
    size_t skip = c ? word : 0, before = r->input.n;
    const char *text = arena_printf(offers->a, "%s%s", before ? r->input.text : "", line + skip);
    offer_names(r->session, text, before + cursor - skip, offers);
    offers->from = offers->from - before + skip;
}

static int take_file(void *env, const char *word)
{
    const char **file = env;
    if (*file) {
        fprintf(stderr, "minifut repl: one program at a time: '%s' and '%s'\n", *file, word);
        return EXIT_USAGE;
    }
    *file = word;
    return -1;
}

int repl_main(int argc, char **argv)
{
    const char *file = NULL;
    const ArgRow rows[] = {{0}};
    const Args args = {"minifut repl",
                       "usage: minifut repl [prog.sf]\n\n"
                       "A dialogue: expressions are interpreted, definitions kept, `:help` lists "
                       "commands.\n",
                       rows,
                       0,
                       &file,
                       NULL,
                       take_file,
                       "sf",
                       NULL};
    int code = args_read(&args, argc, argv);
    if (code >= 0)
        return code;
    Repl r = {.session = session_new()};
    catch_signals(worker_signal);
    r.edit = edit_open(offer, &r);
    bool terminal = edit_is_terminal(r.edit);
    if (terminal)
        printf("minifut %s: an expression, a definition, or :help\n", version_text());
    if (file)
        do_load(&r, file);
    if (terminal || !r.failed)
        converse(&r);
    edit_close(r.edit);
    forget_input(&r);
    session_free(r.session);
    free(r.file);
    if (worker_ended()) {
        signal(worker_ended(), SIG_DFL);
        raise(worker_ended());
    }
    return r.failed && !terminal ? EXIT_USER : 0;
}
