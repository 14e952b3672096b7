/* A look at a program, taken in a process of its own: it is parsed and checked with the texts of
 * open documents, and the tree is asked what stands where. While the document does not parse, an
 * earlier text of it that did is looked at, with the places before and behind what has changed
 * since. */
#ifndef LSP_LOOK_H
#define LSP_LOOK_H

#include "frontend/frontend.h"
#include "lsp/client.h"
#include "lsp/documents.h"
#include "lsp/json.h"
#include "lsp/mend.h"

typedef struct {
    Arena *a;
    const Documents *docs;
    const Document *doc;
    Lines now;        /* of the document */
    Ast *ast;         /* checked, if the look is for more than messages */
    Runs runs;        /* what is the same in the document and in ast->main */
    VEC(Lines) lines; /* of ast->files, as far as they were asked for */
} Look;

typedef enum {
    LOOK_MESSAGES, /* as a compilation would: for its messages */
    LOOK_TREE,     /* at what can be parsed of the document, which is not checked */
    LOOK_AS_IS,    /* at what can be parsed of the document, and what names mean there: nothing is
                      done that comes after types */
    LOOK_CHECKED,  /* at a text that parses, if there is one in which `at` has a place, with all
                      that comes after types */
    LOOK_NAMES,    /* at such a text, and what names mean there */
    LOOK_COMPLETE, /* so, but what stands at `at` is still being written: it is taken for a hole */
    LOOK_ARGUMENT, /* so, also if the text parses without the hole */
} LookKind;

/* `at`: an offset in the document; of LOOK_COMPLETE, where the word begins that ends or stands at
 * `end`. */
Look look_at(Arena *a, const Documents *docs, const Document *doc, LookKind kind, size_t at,
             size_t end);
/* Looks at a document for messages, and keeps in mind what is seen: looks of this process at the
 * same one begin with that. The files that it depends on. */
FilesRead look_keep(Arena *a, const Documents *docs, const Document *doc);
/* In a process that looks at the document already: it has that text now, of which what stands
 * before the first change needs no other look. */
void look_take_text(Arena *a, Document *doc, const char *text);
/* What is kept is also what is looked at while the document is broken. */
void look_keep_more(void);
/* The place in the tree of an offset of the document; false if it has none. */
bool look_place(const Look *l, size_t at, uint32_t *place);
/* ... or that of the text before it that has one. */
uint32_t look_nearest(const Look *l, size_t at);
/* Is it the document as it is now, without a syntax error? */
bool look_is_current(const Look *l);
/* The offset in the document of a place in its tree; false: it is in a part that has changed. */
bool look_offset(const Look *l, uint32_t place, size_t *at);
/* A look at all programs of the workspace, as trees; it is of no document. */
Look look_at_workspace(Arena *a, const Documents *docs, const Client *client);
/* The file that a place is in; NULL: in none that can be shown. */
const File *look_file(const Look *l, Loc loc);
/* The range of a place, in its file; NULL: it is in a part of the document that has changed. */
cJSON *look_range(Look *l, Loc loc);
/* {uri, range} of a place; NULL: there is none. */
cJSON *look_location(Look *l, Loc loc);
/* The URI of a file. */
cJSON *look_uri(const Look *l, const File *f);
/* Whether a file imports another one, perhaps by others, or is it. */
bool look_leads_to(const File *from, const File *to);
/* Of files that were checked later, the names are known behind this. */
void look_sort_uses(Look *l);
/* Reads the files of the workspace that may mention what is called so in a file of the look, since
 * they import that, and checks them, too: they become files of the look. */
void look_at_readers(Look *l, const Client *client, const File *of, const char *name);

/* --- sites.c -------------------------------------------------------------------------------- */

/* A name in a program. */
typedef struct {
    Loc loc;
    const char *name;
    const Binding *bind; /* NULL: the checker did not come so far */
    Loc def;             /* where people see it defined: not the copy of it that a module type or an
                          * application of a parametric module makes; {0, 0}: nowhere */
    const AExp *use;     /* the expression that it is, NULL if it is bound here or in a type */
    bool binds;          /* it is bound here */
    const char *whole; /* a constructor or a field: what it is a part of, which is said by the names
                        * of all its parts, interned; without a binding */
    const AType *of;   /* ... and that, where it is used */
    const TypeExp *alt; /* ... a constructor as it is written, where it binds */
    bool field;         /* ... a field, ... */
    bool pun;           /* ... which is also the variable that has its value: `{x}` */
} Site;

/* What a walk over a file calls, where not NULL. */
typedef struct {
    void *env;
    void (*site)(void *env, const Site *s);
    void (*exp)(void *env, const AExp *e); /* before its parts, as all that follows */
    void (*pat)(void *env, const Pat *p);
    void (*def)(void *env, const Def *d);
} Visit;

void sites_of_file(const Ast *ast, const File *f, const Visit *v);
/* Are both names of one thing? */
bool site_same(const Site *a, const Site *b);
/* Checks the files of the workspace that may have the name of a site, beside the program, since
 * they lead to a file where it is defined: they become files of the look. */
void sites_look_at_readers(Look *l, const Client *client, const Site *s);
/* Where the constructor or field of the site is written in a type; false if it is nowhere. */
bool part_written(const Ast *ast, const Site *s, Site *out);
/* The binding of what is defined at a place, of those that the tree has no room for (NameUse). */
const Binding *bound_at(const Ast *ast, Loc loc);
/* The declaration of the type that is written around a place, or NULL. */
const TypeDecl *type_around(const Ast *ast, Loc loc);
/* The module or type of modules that is declared at a place: what it is, or only its type (a
 * parameter or a specification); both NULL: it is none. */
typedef struct {
    const ModExp *mod;
    const ModType *type;
} ModuleAt;
ModuleAt module_at(const Ast *ast, Loc name);
/* The name at a place; false if there is none. */
bool site_at(const Look *l, uint32_t place, Site *out);
static inline bool loc_has(Loc loc, uint32_t place)
{
    return loc.beg && loc.beg <= place && place <= loc.end;
}

/* --- What is asked (ask/) -------------------------------------------------------------------- */

typedef struct {
    Arena *a;
    const Documents *docs;
    const Client *client;
    const Document *doc; /* or NULL: the request is about no document */
    const cJSON *params;
    Position from, to; /* the position or range in params, 0 if there is none, ... */
    size_t at, end;    /* ... and their offsets */
    const char *said;  /* what query_diagnostics has given, as text, or NULL */
    const char **why;  /* that there is no result: for people */
} Query;

/* No result, for that reason. */
__attribute__((format(printf, 2, 3))) cJSON *query_refuse(const Query *q, const char *fmt, ...);

/* The result of a request; NULL is null. */
cJSON *query_hover(const Query *q);
cJSON *query_definition(const Query *q);
cJSON *query_references(const Query *q);
cJSON *query_highlight(const Query *q);
cJSON *query_renamable(const Query *q);
cJSON *query_rename(const Query *q);
cJSON *query_completion(const Query *q);
cJSON *query_signature(const Query *q);
cJSON *query_symbols(const Query *q);
cJSON *query_workspace_symbols(const Query *q);
cJSON *query_formatting(const Query *q);
cJSON *query_hints(const Query *q);
cJSON *query_actions(const Query *q);
cJSON *query_folds(const Query *q);
cJSON *query_selection(const Query *q);
cJSON *query_tokens(const Query *q);
/* The kinds of tokens that query_tokens knows. */
#define SEMANTIC_TOKENS_OFFERED                                                                    \
    "{\"legend\":{\"tokenTypes\":[\"namespace\",\"type\",\"interface\",\"typeParameter\","         \
    "\"parameter\","                                                                               \
    "\"variable\",\"function\",\"enumMember\",\"operator\"],\"tokenModifiers\":[\"declaration\","  \
    "\"defaultLibrary\"]},\"full\":true}"
/* {diagnostics, parsed}: what is to be published, and whether the document was parsed without an
 * error. */
cJSON *query_diagnostics(const Query *q);

/* --- show.c: types and definitions for people ------------------------------------------------ */

/* A binding as it could be declared: `def f [n] (x: [n]i32): i32`, `x: f32`, `type t = i32`. */
void show_binding(Out *o, Arena *a, const Binding *b, const char *name);
/* The constructor of a sum and what it holds: `#circle f32`. */
const char *show_constructor(Arena *a, const AType *sum, const char *name);
/* The words that are no names, up to a NULL. */
extern const char *const show_keywords[];
bool show_is_keyword(const char *word);
/* What is written about it, or NULL. */
const char *show_doc(const Binding *b);

#endif
