/* Grammar of .sf programs: one constructor call (ast.c) per action. Precedences are Futhark's. */
%define api.pure full
%define api.location.type {Loc}
%define parse.error custom
%locations
%expect 0
%lex-param   {void *scanner}
%parse-param {void *scanner} {ParseCtx *ctx}

%code requires {
#include "frontend/syntax/parse.h"
}

%union {
    AExp *exp;
    AExps exps;
    Pat *pat;
    Pats pats;
    TypeExp *te;
    TypeExps tes;
    NameLoc name;
    Step step;
    Steps steps;
    NameLocs sizes;
    Fields fields;
    ADimIndex dim;
    ADimIndices dims;
    TParam tp;
    TParams tps;
    Attr *attr;
    Attrs attrs;
    Def *def;
    int tparam;
    Decl *decl;
    Decls decls;
    ModExp *mod;
    ModType *modtype;
    ModParam modparam;
    ModParams modparams;
    Spec *spec;
    Specs specs;
    ModHead head;
    Case mcase;
    Cases cases;
}

%code {
#include "frontend/syntax/concrete.h"
#include "frontend/syntax/hint.h"

#include "base/intern.h"

#include <ctype.h>
#include <string.h>

#define yylex sf_next_token
#define YYMAXDEPTH 400000 /* states: a `let` takes five; the depth of trees is limited in ast.c */
#define YYMALLOC(n) arena_alloc(ctx->a, n) /* so that no memory is no memory, and not too deep */
#define YYFREE(p) ((void)(p))

#define YYLLOC_DEFAULT(cur, rhs, n)                                                                \
    ((cur) = (n) ? loc_join(YYRHSLOC(rhs, 1), YYRHSLOC(rhs, n))                                    \
                 : (Loc){YYRHSLOC(rhs, 0).end, YYRHSLOC(rhs, 0).end},                              \
     reduced(ctx, yyn, yyssp, rhs))
#define PUSH(list, ...) vec_push(ctx->a, &(list), __VA_ARGS__)
#define FIELD(fs, kind, n, v)                                                                      \
    do {                                                                                           \
        PUSH((fs).names, (n));                                                                     \
        PUSH((fs).kind, (v));                                                                      \
    } while (0)

static void yyerror(const Loc *loc, void *scanner, ParseCtx *ctx, const char *msg);
static void reduced(ParseCtx *ctx, int rule, const void *states, const Loc *rhs);
static Import *make_import(ParseCtx *ctx, const AExp *path, Loc loc);
static NameLoc dotted(ParseCtx *ctx, NameLoc module, NameLoc member, Loc loc);
static NameLoc defined(ParseCtx *ctx, NameLoc n);
static TParamKind lifted_by(ParseCtx *ctx, NameLoc op);
static Attr *make_attr(ParseCtx *ctx, const char *name, Attrs args, Loc loc);
static NameLoc number_field(ParseCtx *ctx, Loc loc);
}

%token YYEOF 0 "end of file"
%token START_FILE START_TYPE START_EXP
%token DEF "`def`" ENTRY "`entry`" LOCAL "`local`" OPEN "`open`" TYPE "`type`" IMPORT "`import`" LET "`let`"
%token MODULE "`module`" INCLUDE "`include`" VAL "`val`" MATCH "`match`" CASE "`case`"
%token IF "`if`" THEN "`then`" ELSE "`else`" IN "`in`" LOOP "`loop`" FOR "`for`" WHILE "`while`"
%token DO "`do`" WITH "`with`" ASSERTION "`assert`" COERCE "`:>`" ARROW "`->`" HASH "`#[`"
%token DOTS2 "`..`" DOTS3 "`...`" DOTS_LT "`..<`" DOTS_GT "`..>`" INDEX "`[`" HOLE "`???`"
%token <name> ID "a name" CONSTR "a constructor" PROJNUM "a field number" VARIABLE "a variable"
%token <exp> LITERAL "a number" STRING "a string"
%token <tparam> QUOTE "`'`"
%type <tparam> lifted
%token <name> OP_PIPE "operator |>" OP_RPIPE "operator <|" OP_OR "operator ||" OP_AND "operator &&"
%token <name> OP_CMP "comparison" LESS "`<`" BANG "`!`" OP_BIT "bit operator" BAR "`|`" OP_SHIFT "shift"
%token <name> OP_ADD "operator +" MINUS "`-`" OP_MUL "operator *" STAR "`*`" OP_POW "operator **"

%nonassoc BOTTOM
%nonassoc CASE
%right ':' COERCE
%right DOTS2 DOTS3 DOTS_LT DOTS_GT
%left '`'
%left WITH
%left '='
%left OP_PIPE
%right OP_RPIPE
%left OP_OR
%left OP_AND
%left OP_CMP LESS
%left OP_BIT BAR
%left OP_SHIFT
%left OP_ADD MINUS
%left OP_MUL STAR
%left OP_POW
%nonassoc JUXT

%type <exp> exp exp1 op range apply lambda atom section let let_body form match
%type <exps> exps
%type <pat> pat case_pat param case_param
%type <pats> pats params params1 case_params
%type <te> type term with_type sum alternative applied payload tapply tatom size ret lret
%type <tes> types
%type <name> bind_name binop not_minus qualified field spec_name
%type <step> step field_step sect_step with_step let_step
%type <steps> with_path let_path sect_path
%type <sizes> sizes lsizes
%type <fields> record_fields pat_fields type_fields
%type <dim> dim
%type <dims> dims dims1
%type <tp> tparam
%type <tps> tparams local_tparams
%type <attr> attr
%type <attrs> attrs
%type <mcase> case
%type <cases> cases
%type <decl> decl def_rest
%type <decls> members
%type <head> mod_head modtype_head
%type <mod> mod_exp mod_apply mod_atom
%type <modparam> mod_param
%type <modparams> mod_params
%type <modtype> mod_type mod_term mod_ret mod_result
%type <spec> spec
%type <specs> specs

%%

start: START_FILE decls
     | START_TYPE type { ctx->type = $type; }
     | START_EXP exp { ctx->exp = $exp; }

decls: %empty
     | decls decl { PUSH(ctx->file->decls, *$2); }
     | decls error {
           if (yychar != YYEOF && (!ctx->at_decl || yylloc.beg != ctx->line_at)) {
               ctx->docs.n = 0;
               ctx->recovering = true;
               yyclearin;
           }
           yyerrok;
       }

decl: DEF def_rest { $$ = mk_decl_end(ctx, $2, @$); }
    | LET def_rest { $$ = mk_decl_end(ctx, $2, @$); }
    | ENTRY def_rest { $$ = mk_decl_end(ctx, $2, @$); $$->def->entry = true; }
    | TYPE lifted ID tparams '=' type { $$ = mk_type_decl(ctx, $3, $2, $4, $6, @$); }
    | mod_head mod_params mod_ret '=' mod_exp { $$ = mk_module_decl(ctx, $1, $2, $3, $5, @$); }
    | modtype_head '=' mod_type { $$ = mk_modtype_decl(ctx, $1, $3, @$); }
    | IMPORT STRING { $$ = mk_import_decl(ctx, make_import(ctx, $2, @$), false, @$); }
    | OPEN mod_exp { $$ = mk_open_decl(ctx, $2, @$); }
    | LOCAL decl { $$ = $2; $$->local = true; }
    | HASH attr ']' decl {
          $$ = $4;
          if ($$->def)
              PUSH($$->def->attrs, $2);
      }

def_rest: bind_name tparams params ret '=' exp {
              $$ = mk_def_decl(ctx, mk_def(ctx, $1, $2, $3, $4, $6, @$)); }
        | param binop param ret '=' exp {
              Pats ps = {0};
              PUSH(ps, $1);
              PUSH(ps, $3);
              $$ = mk_def_decl(ctx, mk_def(ctx, defined(ctx, $2), (TParams){0}, ps, $4, $6, @$));
              $$->def->infix = true; }

lifted: %empty { $$ = TP_TYPE; }
      | '~' { $$ = TP_TYPE_LIFTED_SIZE; }
      | OP_BIT { $$ = lifted_by(ctx, $1); }

/* ---- Modules ---- */

mod_head: MODULE ID { $$ = (ModHead){$2, doc_above(ctx, @$)}; }
modtype_head: MODULE TYPE ID { $$ = (ModHead){$3, doc_above(ctx, @$)}; }

mod_params: %empty { $$ = (ModParams){0}; } | mod_params mod_param { $$ = $1; PUSH($$, $2); }
mod_param: '(' ID ':' mod_type ')' { $$ = (ModParam){$2.name, $2.loc, $4, @$}; }

mod_ret: %empty { $$ = NULL; } | ':' mod_type { $$ = $2; }
mod_result: %empty { $$ = NULL; } | ':' mod_term { $$ = $2; }

mod_exp: mod_apply %prec BOTTOM
       | mod_exp ':' mod_type { $$ = mk_mascribe(ctx, $1, $3, @$); }
       | '\\' mod_param mod_result ARROW mod_exp %prec BOTTOM {
             $$ = mk_mlambda(ctx, $2, $3, $5, @$); }
       | IMPORT STRING {
             $$ = mk_mod(ctx, ME_IMPORT, @$);
             $$->import = make_import(ctx, $2, @$); }

mod_apply: mod_atom
         | mod_apply mod_atom { $$ = mk_mapply(ctx, $1, $2, @$); }

mod_atom: qualified { $$ = mk_mod(ctx, ME_NAME, @$); $$->name = $1.name; }
        | '(' mod_exp ')' { $$ = $2; }
        | '{' members '}' { $$ = mk_mod(ctx, ME_DECLS, @$); mk_members(ctx, $$, $2); }

members: %empty { $$ = (Decls){0}; ctx->docs_from = @$.beg; }
       | members decl { $$ = $1; PUSH($$, *$2); }

mod_type: mod_term %prec BOTTOM
        | mod_term ARROW mod_type {
              $$ = mk_mfun(ctx, (ModParam){NULL, @1, $1, @1}, $3, @$); }
        | '(' ID ':' mod_type ')' ARROW mod_type {
              $$ = mk_mfun(ctx, (ModParam){$2.name, $2.loc, $4, loc_join(@1, @5)}, $7, @$); }

mod_term: qualified { $$ = mk_modtype(ctx, MT_NAME, @$); $$->name = $1.name; }
        | '(' mod_type ')' { $$ = $2; }
        | '{' specs '}' { $$ = mk_modtype(ctx, MT_SPECS, @$); mk_specs(ctx, $$, $2); }
        | mod_term WITH qualified tparams '=' with_type {
              $$ = mk_mwith(ctx, $1, $3, $4, $6, @$); }

with_type: term
         | '?' sizes '.' term { $$ = mk_twrap(ctx, TE_EXISTS, $2, $4, @$); }

specs: %empty { $$ = (Specs){0}; ctx->docs_from = @$.beg; }
     | specs spec { $$ = $1; PUSH($$, $2); }

spec: VAL spec_name tparams ':' type {
          $$ = mk_spec(ctx, SPEC_VAL, $2, @$); $$->tparams = $3; $$->te = $5; }
    | TYPE lifted ID tparams {
          $$ = mk_spec(ctx, SPEC_TYPE, $3, @$); $$->lifted = $2; $$->tparams = $4; }
    | TYPE lifted ID tparams '=' type {
          $$ = mk_spec(ctx, SPEC_TYPE, $3, @$);
          $$->lifted = $2; $$->tparams = $4; $$->te = $6; }
    | MODULE ID ':' mod_type { $$ = mk_spec(ctx, SPEC_MODULE, $2, @$); $$->mtype = $4; }
    | INCLUDE mod_type { $$ = mk_spec(ctx, SPEC_INCLUDE, (NameLoc){NULL, @1}, @$); $$->mtype = $2; }
    | HASH attr ']' spec { $$ = $4; }

spec_name: bind_name | binop { $$ = defined(ctx, $1); }

/* A name, perhaps of a module's member. */
qualified: ID
         | qualified '.' ID { $$ = dotted(ctx, $1, $3, @$); }

bind_name: ID | '(' binop ')' { $$ = defined(ctx, $2); }

binop: not_minus | MINUS
not_minus: OP_PIPE | OP_RPIPE | OP_OR | OP_AND | OP_CMP | LESS | OP_BIT | BAR | OP_SHIFT | OP_ADD
     | OP_MUL | STAR | OP_POW
     | '`' qualified '`' { $$ = $2; }

ret: %empty { $$ = NULL; } | ':' type { $$ = $2; }

tparams: %empty { $$ = (TParams){0}; } | tparams tparam { $$ = $1; PUSH($$, $2); }
tparam: lbr ID ']' { $$ = (TParam){.name = $2.name, .loc = $2.loc, .kind = TP_SIZE}; }
      | QUOTE ID { $$ = (TParam){.name = $2.name, .loc = $2.loc, .kind = $1}; }
local_tparams: %empty { $$ = (TParams){0}; }
      | '[' ID ']' tparams {
            $$ = (TParams){0};
            PUSH($$, (TParam){.name = $2.name, .loc = $2.loc, .kind = TP_SIZE});
            vec_append(ctx->a, &$$, &$4); }
      | QUOTE ID tparams {
            $$ = (TParams){0};
            PUSH($$, (TParam){.name = $2.name, .loc = $2.loc, .kind = $1});
            vec_append(ctx->a, &$$, &$3); }

lbr: '[' | INDEX

/* ---- Patterns ---- */

params: %empty { $$ = (Pats){0}; } | params param { $$ = $1; PUSH($$, $2); }
params1: param { $$ = (Pats){0}; PUSH($$, $1); } | params1 param { $$ = $1; PUSH($$, $2); }

param: ID { $$ = mk_pvar(ctx, $1); }
     | '_' { $$ = mk_pat(ctx, P_WILD, @$); }
     | '(' ')' { $$ = mk_ptuple(ctx, (Pats){0}, @$); }
     | '(' pat ')' { $$ = $2; }
     | '(' binop ')' { $$ = mk_pvar(ctx, defined(ctx, $2)); }
     | '(' pat ',' pats comma ')' { Pats ps = {0}; PUSH(ps, $2); vec_append(ctx->a, &ps, &$4);
                                    $$ = mk_ptuple(ctx, ps, @$); }
     | '{' pat_fields comma '}' { $$ = mk_precord(ctx, $2, @$); }
     | '{' '}' { $$ = mk_ptuple(ctx, (Pats){0}, @$); }
     | LITERAL { $$ = mk_plit(ctx, $1, @$); }
     | CONSTR { $$ = mk_pconstr(ctx, $1, (Pats){0}, @$); }

pat: param
   | param ':' type { $$ = mk_pascribe(ctx, $1, $3, @$); }
   | CONSTR params1 { $$ = mk_pconstr(ctx, $1, $2, @$); }
   | MINUS LITERAL { $$ = mk_plit(ctx, mk_prefix(ctx, "prefix -", @1, $2, @$), @$); }
   | HASH attr ']' pat { $$ = mk_pattr(ctx, $2, $4); }

/* As pat, but before `->`: a function type needs parentheses. */
case_pat: param
   | param ':' term { $$ = mk_pascribe(ctx, $1, $3, @$); }
   | CONSTR case_params { $$ = mk_pconstr(ctx, $1, $2, @$); }
   | MINUS LITERAL { $$ = mk_plit(ctx, mk_prefix(ctx, "prefix -", @1, $2, @$), @$); }
   | HASH attr ']' case_pat { $$ = mk_pattr(ctx, $2, $4); }

case_params: case_param { $$ = (Pats){0}; PUSH($$, $1); }
   | case_params case_param { $$ = $1; PUSH($$, $2); }
case_param: param
   | MINUS LITERAL { $$ = mk_plit(ctx, mk_prefix(ctx, "prefix -", @1, $2, @$), @$); }

pats: pat { $$ = (Pats){0}; PUSH($$, $1); }
    | pats ',' pat { $$ = $1; PUSH($$, $3); }

comma: %empty | ','

/* A field's name: tuples are records with the fields 0, 1, ... */
field: ID | LITERAL { $$ = number_field(ctx, @$); }

pat_fields: ID { $$ = (Fields){0}; FIELD($$, pats, $1.name, mk_pvar(ctx, $1)); }
    | ID ':' type { $$ = (Fields){0};
          FIELD($$, pats, $1.name, mk_pascribe(ctx, mk_pvar(ctx, $1), $3, @$)); }
    | field '=' pat { $$ = (Fields){0}; FIELD($$, pats, $1.name, $3); }
    | pat_fields ',' ID { $$ = $1; FIELD($$, pats, $3.name, mk_pvar(ctx, $3)); }
    | pat_fields ',' ID ':' type { $$ = $1;
          FIELD($$, pats, $3.name, mk_pascribe(ctx, mk_pvar(ctx, $3), $5, loc_join(@3, @5))); }
    | pat_fields ',' field '=' pat { $$ = $1; FIELD($$, pats, $3.name, $5); }

/* ---- Types ---- */

type: term
    | term ARROW type { $$ = mk_tfun(ctx, (NameLoc){0}, $1, $3, @$); }
    | '(' ID ':' type ')' ARROW type { $$ = mk_tfun(ctx, $2, $4, $7, @$);
                                       $$->loc.beg = @2.beg; }
    | '?' sizes '.' type { $$ = mk_twrap(ctx, TE_EXISTS, $2, $4, @$); }

term: tapply
    | sum %prec BOTTOM
    | STAR term { $$ = mk_twrap(ctx, TE_UNIQUE, (NameLocs){0}, $2, @$); }
    | size term { $$ = mk_tarray(ctx, $1, $2, @$); }

sum: alternative { $$ = mk_tsum(ctx, NULL, $1, @$); }
   | sum BAR alternative { $$ = mk_tsum(ctx, $1, $3, @$); }

/* A constructor with its payload: a tuple type of that name. An array is the last: `[]t u` is `[](t u)`. */
alternative: applied
           | applied payload { $$ = mk_tpayload(ctx, $1, $2, @$); }
applied: CONSTR { $$ = mk_ttuple(ctx, (TypeExps){0}, @$); $$->name = $1.name; }
       | applied tatom { $$ = mk_tpayload(ctx, $1, $2, @$); }
payload: size tapply { $$ = mk_tarray(ctx, $1, $2, @$); }
       | size payload { $$ = mk_tarray(ctx, $1, $2, @$); }

tapply: tatom
      | tapply size { $$ = mk_targ(ctx, $1, $2, @$); }
      | tapply tatom { $$ = mk_targ(ctx, $1, $2, @$); }

tatom: qualified { $$ = mk_tname(ctx, $1); }
     | '(' type ')' { $$ = $2; }
     | '(' ')' { $$ = mk_ttuple(ctx, (TypeExps){0}, @$); }
     | '(' type ',' types comma ')' { TypeExps ts = {0}; PUSH(ts, $2); vec_append(ctx->a, &ts, &$4);
                                      $$ = mk_ttuple(ctx, ts, @$); }
     | '{' type_fields comma '}' { $$ = mk_trecord(ctx, $2, @$); }
     | '{' '}' { $$ = mk_ttuple(ctx, (TypeExps){0}, @$); }

types: type { $$ = (TypeExps){0}; PUSH($$, $1); }
     | types ',' type { $$ = $1; PUSH($$, $3); }

type_fields: field ':' type { $$ = (Fields){0}; FIELD($$, types, $1.name, $3); }
     | type_fields ',' field ':' type { $$ = $1; FIELD($$, types, $3.name, $5); }

size: lbr exp ']' { $$ = mk_tsize(ctx, $2, @$); }
    | lbr ']' { $$ = mk_tsize(ctx, NULL, @$); }

sizes: lbr ID ']' { $$ = (NameLocs){0}; PUSH($$, $2); }
     | sizes lbr ID ']' { $$ = $1; PUSH($$, $3); }

/* ---- Expressions: exp may end in a type ascription, exp1 may be a range, op neither; op and exp1
 * stand where a `:` or `..` would be ambiguous ---- */

exp: exp1 %prec BOTTOM
   | exp ':' type { $$ = mk_ascribe(ctx, AE_ASCRIBE, $1, $3, @$); }
   | exp COERCE type { $$ = mk_ascribe(ctx, AE_COERCE, $1, $3, @$); }

exp1: op %prec BOTTOM
    | range

range: op DOTS3 op { $$ = mk_range(ctx, $1, NULL, RANGE_TO, $3, @$); }
     | op DOTS_LT op { $$ = mk_range(ctx, $1, NULL, RANGE_BELOW, $3, @$); }
     | op DOTS_GT op { $$ = mk_range(ctx, $1, NULL, RANGE_ABOVE, $3, @$); }
     | op DOTS2 op DOTS3 op { $$ = mk_range(ctx, $1, $3, RANGE_TO, $5, @$); }
     | op DOTS2 op DOTS_LT op { $$ = mk_range(ctx, $1, $3, RANGE_BELOW, $5, @$); }
     | op DOTS2 op DOTS_GT op { $$ = mk_range(ctx, $1, $3, RANGE_ABOVE, $5, @$); }

op: apply %prec JUXT
  | op OP_PIPE op { $$ = mk_binop(ctx, $2, $1, $3, @$); }
  | op OP_RPIPE op { $$ = mk_binop(ctx, $2, $1, $3, @$); }
  | op OP_OR op { $$ = mk_binop(ctx, $2, $1, $3, @$); }
  | op OP_AND op { $$ = mk_binop(ctx, $2, $1, $3, @$); }
  | op OP_CMP op { $$ = mk_binop(ctx, $2, $1, $3, @$); }
  | op LESS op { $$ = mk_binop(ctx, $2, $1, $3, @$); }
  | op OP_BIT op { $$ = mk_binop(ctx, $2, $1, $3, @$); }
  | op BAR op { $$ = mk_binop(ctx, $2, $1, $3, @$); }
  | op OP_SHIFT op { $$ = mk_binop(ctx, $2, $1, $3, @$); }
  | op OP_ADD op { $$ = mk_binop(ctx, $2, $1, $3, @$); }
  | op MINUS op { $$ = mk_binop(ctx, $2, $1, $3, @$); }
  | op OP_MUL op { $$ = mk_binop(ctx, $2, $1, $3, @$); }
  | op STAR op { $$ = mk_binop(ctx, $2, $1, $3, @$); }
  | op OP_POW op { $$ = mk_binop(ctx, $2, $1, $3, @$); }
  | op '`' qualified '`' op { $$ = mk_binop(ctx, $3, $1, $5, @$); }
  | MINUS op %prec JUXT { $$ = mk_prefix(ctx, "prefix -", @1, $2, @$); }
  | BANG op %prec JUXT { $$ = mk_prefix(ctx, "prefix !", @1, $2, @$); }
  | ASSERTION atom exp %prec BOTTOM { $$ = mk_assert(ctx, $2, $3, @$); }
  | HASH attr ']' exp %prec BOTTOM { $$ = mk_attr(ctx, $2, $4, @$); }
  | IF exp THEN exp ELSE exp %prec BOTTOM { $$ = mk_if(ctx, $2, $4, $6, @$); }
  | match %prec BOTTOM
  | let %prec BOTTOM
  | LOOP lsizes pat form DO exp %prec BOTTOM { $$ = mk_loop(ctx, $2, $3, NULL, $4, $6, @$); }
  | LOOP lsizes pat '=' exp form DO exp %prec BOTTOM {
        $$ = mk_loop(ctx, $2, $3, $5, $6, $8, @$); }
  | lambda
  | apply lambda { $$ = mk_apply(ctx, $1, $2, @$); }
  | op WITH with_path '=' op { $$ = mk_update(ctx, $1, $3, $5, @$); }

match: MATCH exp cases %prec BOTTOM { $$ = mk_match(ctx, $2, $3, @$); }
cases: case { $$ = (Cases){0}; PUSH($$, $1); }
     | cases case { $$ = $1; PUSH($$, $2); }
case: CASE case_pat ARROW exp %prec BOTTOM { $$ = (Case){$2, $4, @$}; }

lambda: '\\' params1 lret ARROW exp %prec BOTTOM { $$ = mk_lambda(ctx, $2, $3, $5, @$); }

lret: %empty { $$ = NULL; } | ':' term { $$ = $2; }

lsizes: %empty { $$ = (NameLocs){0}; } | sizes

form: FOR ID LESS exp { $$ = mk_form(ctx, ALOOP_FOR, mk_pvar(ctx, $2), $4, @$); }
    | FOR pat IN exp { $$ = mk_form(ctx, ALOOP_IN, $2, $4, @$); }
    | WHILE exp { $$ = mk_form(ctx, ALOOP_WHILE, NULL, $2, @$); }

let: LET pat '=' exp let_body { $$ = mk_let(ctx, (NameLocs){0}, $2, $4, $5, @$); }
   | LET sizes pat '=' exp let_body { $$ = mk_let(ctx, $2, $3, $5, $6, @$); }
   | LET ID let_path '=' exp let_body { $$ = mk_letwith(ctx, $2, $3, $5, $6, @$); }
   | LET ID local_tparams params1 ret '=' exp let_body {
         $$ = mk_letfun(ctx, mk_def(ctx, $2, $3, $4, $5, $7, loc_join(@1, @7)), $8, @$); }
   | LET '(' binop ')' local_tparams params1 ret '=' exp let_body {
         $$ = mk_letfun(ctx, mk_def(ctx, defined(ctx, $3), $5, $6, $7, $9, loc_join(@1, @9)),
                        $10, @$); }
   | LET param binop param ret '=' exp let_body {
         Pats ps = {0};
         PUSH(ps, $2);
         PUSH(ps, $4);
         $$ = mk_letfun(ctx, mk_def(ctx, defined(ctx, $3), (TParams){0}, ps, $5, $7, loc_join(@1, @7)),
                        $8, @$); }

let_body: IN exp %prec BOTTOM { $$ = $2; }
        | let

apply: atom
     | apply atom { $$ = mk_apply(ctx, $1, $2, @$); }

atom: LITERAL | STRING
    | HOLE { $$ = mk_exp(ctx, AE_HOLE, @$); }
    | ID { $$ = mk_var(ctx, $1); $$->var.atom = true; }
    | CONSTR { $$ = mk_constr(ctx, $1); }
    | '(' exp ')' { $$ = $2; $$->parens = true; }
    | '(' ')' { $$ = mk_seq(ctx, AE_TUPLE, (AExps){0}, @$); }
    | '(' exp ',' exps comma ')' { AExps es = {0}; PUSH(es, $2); vec_append(ctx->a, &es, &$4);
                                   $$ = mk_seq(ctx, AE_TUPLE, es, @$); }
    | '[' exps comma ']' { $$ = mk_seq(ctx, AE_ARRAY, $2, @$); }
    | '[' ']' { $$ = mk_seq(ctx, AE_ARRAY, (AExps){0}, @$); }
    | '{' record_fields comma '}' { $$ = mk_record(ctx, $2, @$); }
    | '{' '}' { $$ = mk_seq(ctx, AE_TUPLE, (AExps){0}, @$); }
    | atom '.' ID { $$ = mk_proj(ctx, $1, $3.name, @$); }
    | atom '.' '(' exp ')' { $$ = mk_open(ctx, $1, $4, @$); }
    | atom PROJNUM { $$ = mk_proj(ctx, $1, $2.name, @$); }
    | atom INDEX dims ']' { $$ = mk_index(ctx, $1, $3, @$); }
    | section

section: '(' binop ')' { $$ = mk_var(ctx, $2); $$->parens = true; }
       | '(' not_minus op ')' { $$ = mk_opsect(ctx, $2, $3, @$); $$->parens = true; }
       | '(' op binop ')' { $$ = mk_binop(ctx, $3, $2, NULL, @$); $$->parens = true; }
       | '(' sect_path ')' { $$ = mk_update(ctx, NULL, $2, NULL, @$); }

/* Ways into a value: (.a[i].0), x with a[i].0 = v, let x.a[i].0 = v */
sect_path: sect_step { $$ = (Steps){0}; PUSH($$, $1); }
         | sect_path step { $$ = $1; PUSH($$, $2); }
with_path: with_step { $$ = (Steps){0}; PUSH($$, $1); }
         | with_path step { $$ = $1; PUSH($$, $2); }
let_path: let_step { $$ = (Steps){0}; PUSH($$, $1); }
        | let_path step { $$ = $1; PUSH($$, $2); }
sect_step: field_step
         | '.' lbr dims ']' { $$ = mk_step(ctx, NULL, $3, @$); }
with_step: field { $$ = mk_step(ctx, $1.name, (ADimIndices){0}, @$); }
         | lbr dims ']' { $$ = mk_step(ctx, NULL, $2, @$); }
let_step: field_step
        | INDEX dims ']' { $$ = mk_step(ctx, NULL, $2, @$); }
step: field_step
    | lbr dims ']' { $$ = mk_step(ctx, NULL, $2, @$); }
field_step: '.' ID { $$ = mk_step(ctx, $2.name, (ADimIndices){0}, @$); }
          | PROJNUM { $$ = mk_step(ctx, $1.name, (ADimIndices){0}, @$); }

exps: exp { $$ = (AExps){0}; PUSH($$, $1); }
    | exps ',' exp { $$ = $1; PUSH($$, $3); }

record_fields: ID { $$ = (Fields){0}; FIELD($$, exps, $1.name, mk_var(ctx, $1)); }
    | field '=' exp { $$ = (Fields){0}; FIELD($$, exps, $1.name, $3); }
    | record_fields ',' ID { $$ = $1; FIELD($$, exps, $3.name, mk_var(ctx, $3)); }
    | record_fields ',' field '=' exp { $$ = $1; FIELD($$, exps, $3.name, $5); }

dims: %empty { $$ = (ADimIndices){0}; } | dims1 comma
dims1: dim { $$ = (ADimIndices){0}; PUSH($$, $1); }
     | dims1 ',' dim { $$ = $1; PUSH($$, $3); }

dim: exp1 { $$ = (ADimIndex){false, $1, NULL, NULL, @$}; }
   | exp1 ':' { $$ = (ADimIndex){true, $1, NULL, NULL, @$}; }
   | exp1 ':' exp1 { $$ = (ADimIndex){true, $1, $3, NULL, @$}; }
   | exp1 ':' exp1 ':' exp1 { $$ = (ADimIndex){true, $1, $3, $5, @$}; }
   | exp1 ':' ':' exp1 { $$ = (ADimIndex){true, $1, NULL, $4, @$}; }
   | ':' { $$ = (ADimIndex){true, NULL, NULL, NULL, @$}; }
   | ':' exp1 { $$ = (ADimIndex){true, NULL, $2, NULL, @$}; }
   | ':' exp1 ':' exp1 { $$ = (ADimIndex){true, NULL, $2, $4, @$}; }
   | ':' ':' exp1 { $$ = (ADimIndex){true, NULL, NULL, $3, @$}; }

attr: ID { $$ = make_attr(ctx, $1.name, (Attrs){0}, @$); }
    | ID '(' ')' { $$ = make_attr(ctx, $1.name, (Attrs){0}, @$); }
    | ID '(' attrs comma ')' { $$ = make_attr(ctx, $1.name, $3, @$); }
    | VARIABLE { $$ = make_attr(ctx, NULL, (Attrs){0}, @$); $$->variable = $1.name; }
    | LITERAL { $$ = make_attr(ctx, NULL, (Attrs){0}, @$); $$->number = (int64_t)$1->lit.bits; }
attrs: attr { $$ = (Attrs){0}; PUSH($$, $1); }
     | attrs ',' attr { $$ = $1; PUSH($$, $3); }

%%

static void yyerror(const Loc *loc, void *scanner, ParseCtx *ctx, const char *msg)
{
    (void)scanner;
    (void)msg; /* the only message that bison itself makes: its stack is full */
    parse_too_deep(ctx, *loc);
}

#define CHARSYM(c) ((yysymbol_kind_t)YYTRANSLATE(c))

static bool is_name_at(const ParseCtx *ctx, Loc loc)
{
    unsigned char c = (unsigned char)ctx->text[loc.beg - ctx->base];
    return isalpha(c) || c == '_';
}

/* What is said of a token in a message: its own text where that is short, else its class. */
static const char *token_text(ParseCtx *ctx, yysymbol_kind_t kind, Loc loc)
{
    int n = (int)(loc.end - loc.beg);
    if (kind == YYSYMBOL_YYEOF)
        return "end of file";
    if (n > 0 && n <= 30)
        return arena_printf(ctx->a, "`%.*s`", n, ctx->text + (loc.beg - ctx->base));
    return yysymbol_name(kind);
}

/* `x` for every token that is always the same text. */
static const char *symbol_text(ParseCtx *ctx, yysymbol_kind_t t)
{
    const char *s = yysymbol_name(t);
    if (s[0] == '\'' && s[1])
        return arena_printf(ctx->a, "`%.*s`", (int)strcspn(s + 1, "'"), s + 1);
    return s;
}

typedef struct {
    bool has[YYNTOKENS];
} Expected;

static Expected expected_tokens(const yypcontext_t *yyctx)
{
    Expected e = {{false}};
    yysymbol_kind_t toks[YYNTOKENS];
    int n = yypcontext_expected_tokens(yyctx, toks, YYNTOKENS);
    for (int i = 0; i < n; i++)
        e.has[toks[i]] = true;
    return e;
}

/* Takes a class of tokens, which begins all that may stand for `what`, off the list. */
static const char *take_class(Expected *e, const char *what, const yysymbol_kind_t *begins, int n)
{
    for (int i = 0; i < n; i++)
        if (!e->has[begins[i]])
            return NULL;
    for (int i = 0; i < n; i++)
        e->has[begins[i]] = false;
    return what;
}

/* Names for what may come next, grouped, so that the list stays readable; "" if it is too long. */
static const char *expected_text(ParseCtx *ctx, const yypcontext_t *yyctx)
{
    static const yysymbol_kind_t exp[] = {
        YYSYMBOL_LITERAL, YYSYMBOL_STRING, YYSYMBOL_ID,        YYSYMBOL_IF,    YYSYMBOL_LET,
        YYSYMBOL_HOLE,    YYSYMBOL_MATCH,  YYSYMBOL_CONSTR,
        YYSYMBOL_LOOP,    YYSYMBOL_HASH,   YYSYMBOL_ASSERTION, YYSYMBOL_MINUS, YYSYMBOL_BANG,
        CHARSYM('('),     CHARSYM('['),    CHARSYM('{'),       CHARSYM('\\')};
    static const yysymbol_kind_t atom[] = {YYSYMBOL_LITERAL, YYSYMBOL_STRING, YYSYMBOL_ID,
                                           YYSYMBOL_HOLE,    YYSYMBOL_CONSTR,
                                           CHARSYM('('),     CHARSYM('['),    CHARSYM('{')};
    static const yysymbol_kind_t type[] = {YYSYMBOL_ID,  YYSYMBOL_STAR, YYSYMBOL_INDEX, CHARSYM('('),
                                           CHARSYM('['), CHARSYM('{'),  YYSYMBOL_CONSTR};
    static const yysymbol_kind_t pat[] = {YYSYMBOL_ID,  CHARSYM('('),     CHARSYM('_'),
                                          CHARSYM('{'), YYSYMBOL_LITERAL, YYSYMBOL_CONSTR};
    static const yysymbol_kind_t module[] = {YYSYMBOL_ID, YYSYMBOL_IMPORT, CHARSYM('('),
                                             CHARSYM('{'), CHARSYM('\\')};
    static const yysymbol_kind_t modtype[] = {YYSYMBOL_ID, CHARSYM('('), CHARSYM('{')};
    static const yysymbol_kind_t decl[] = {
        YYSYMBOL_DEF,    YYSYMBOL_LET,  YYSYMBOL_ENTRY, YYSYMBOL_TYPE, YYSYMBOL_MODULE,
        YYSYMBOL_IMPORT, YYSYMBOL_OPEN, YYSYMBOL_LOCAL, YYSYMBOL_HASH};
    enum { MAX_SHOWN = 5 };
    Expected e = expected_tokens(yyctx);
    bool operators = e.has[YYSYMBOL_OP_ADD] && e.has[YYSYMBOL_OP_POW];
    const char *list[YYNTOKENS + 1];
    int shown = 0;
    const char *what = take_class(&e, "an expression", exp, sizeof exp / sizeof *exp);
    if (!what && !operators)
        what = take_class(&e, "an expression", atom, sizeof atom / sizeof *atom);
    if (!what && !operators)
        what = take_class(&e, "a type", type, sizeof type / sizeof *type);
    if (!what)
        what = take_class(&e, "a pattern", pat, sizeof pat / sizeof *pat);
    if (!what && !operators)
        what = take_class(&e, "a declaration", decl, sizeof decl / sizeof *decl);
    if (!what)
        what = take_class(&e, "a module", module, sizeof module / sizeof *module);
    if (!what && !operators)
        what = take_class(&e, "a module type", modtype, sizeof modtype / sizeof *modtype);
    if (what)
        list[shown++] = what;
    for (int t = 0; t < YYNTOKENS; t++) {
        /* What only goes on with an expression that might as well end here says little. */
        bool goes_on = (t >= YYSYMBOL_OP_PIPE && t <= YYSYMBOL_OP_POW) || t == YYSYMBOL_COERCE ||
                       (t >= YYSYMBOL_DOTS2 && t <= YYSYMBOL_DOTS_GT) || t == YYSYMBOL_WITH ||
                       (t == CHARSYM(',') && (e.has[CHARSYM(')')] || e.has[CHARSYM(']')] ||
                                              e.has[CHARSYM('}')])) ||
                       t == CHARSYM('`') || t == YYSYMBOL_PROJNUM || t == YYSYMBOL_HASH ||
                       (t == CHARSYM(':') && (operators || e.has[YYSYMBOL_COERCE])) ||
                       (t == CHARSYM('?') && what) ||
                       (t == YYSYMBOL_INDEX && (operators || e.has[CHARSYM('[')]));
        bool argument = operators && (t == YYSYMBOL_LITERAL || t == YYSYMBOL_STRING ||
                                      t == YYSYMBOL_ID || t == YYSYMBOL_CONSTR ||
                                      t == CHARSYM('(') || t == CHARSYM('[') || t == CHARSYM('{') || t == CHARSYM('.'));
        if (e.has[t] && !goes_on && !argument)
            list[shown++] = symbol_text(ctx, (yysymbol_kind_t)t);
    }
    if (shown == 1 && e.has[YYSYMBOL_IN]) { /* the parser has taken the name for a pattern */
        if (ctx->text[ctx->before.beg - ctx->base] == '_' && ctx->before.end == ctx->before.beg + 1)
            return "`in`; write `_i < n` to count without a name";
        return is_name_at(ctx, ctx->before) ? "`<` or `in`" : "`in`";
    }
    if (!shown || shown > MAX_SHOWN)
        return what ? what : "";
    const char *s = list[0];
    for (int i = 1; i < shown; i++)
        s = arena_printf(ctx->a, "%s%s %s", s, i + 1 < shown ? "," : " or", list[i]);
    return s;
}

/* The same of the codes of tokens. */
static SyntaxError syntax_error_at(yysymbol_kind_t t, const Expected *expected, Loc loc)
{
    SyntaxError e = {.token = -1, .loc = loc};
    for (int code = 0; code <= YYMAXUTOK && code < MAX_TOKENS; code++) {
        yysymbol_kind_t kind = YYTRANSLATE(code);
        bool known = code == YYEOF || kind != YYSYMBOL_YYUNDEF;
        e.has[code] = known && expected->has[kind];
        if (known && kind == t)
            e.token = code;
    }
    return e;
}

/* Does it begin a line, or end the file? */
static bool begins_line(const ParseCtx *ctx, Loc loc)
{
    const char *s = ctx->text + (ctx->line_at - ctx->base);
    return s + strspn(s, " \t") >= ctx->text + (loc.beg - ctx->base) || loc.beg == ctx->base + ctx->n;
}

static int yyreport_syntax_error(const yypcontext_t *yyctx, void *scanner, ParseCtx *ctx)
{
    (void)scanner;
    yysymbol_kind_t t = yypcontext_token(yyctx);
    Loc loc = *yypcontext_location(yyctx);
    ctx->unfinished |= t == YYSYMBOL_YYEOF && !ctx->errors;
    if (ctx->too_deep || (t == YYSYMBOL_ID && !is_name_at(ctx, loc))) /* scan_bad has complained */
        return 0;
    const char *tok = token_text(ctx, t, loc), *want = expected_text(ctx, yyctx);
    Expected e = expected_tokens(yyctx);
    SyntaxError error = syntax_error_at(t, &e, loc);
    bool ends = begins_line(ctx, loc) || e.has[YYSYMBOL_IN];
    bool decl = t == YYSYMBOL_DEF || t == YYSYMBOL_ENTRY || t == YYSYMBOL_LOCAL || t == YYSYMBOL_TYPE ||
                t == YYSYMBOL_IMPORT || t == YYSYMBOL_MODULE || t == YYSYMBOL_OPEN;
    bool next = t == YYSYMBOL_YYEOF || (decl && ctx->as == PARSE_FILE);
    const char *hint = syntax_hint(ctx, &error), *meant = syntax_meant(&error);
    if (next && ends && (t == YYSYMBOL_YYEOF || !e.has[YYSYMBOL_VAL]) && ctx->before.beg && loc.beg >= ctx->before.end) /* the culprit is what ends there */
        parse_error(ctx, ctx->before, "%s ends too early%s%s%s",
                    t != YYSYMBOL_YYEOF ? "the definition" : ctx->as == PARSE_EXP ? "the expression" : "the file", *want ? ": expected " : "",
                    *want ? arena_printf(ctx->a, "%s after this", want) : "",
                    e.has[YYSYMBOL_IN] ? "; is the `in` of a `let` missing?" : "");
    else {
        parse_error(ctx, loc, "unexpected %s%s%s%s", tok, *want ? ", expected " : "", want, hint);
        if (meant)
            diag_fix(loc, meant);
    }
    if (!*hint)
        note_open(ctx, &error);
    return 0;
}

/* Bison is about to reduce by the rule, whose right-hand side ends at the top of its stack of states and has the places
 * rhs[1], ... Every reduction passes YYLLOC_DEFAULT, so that no rule has to say what its concrete node is. */
static void reduced(ParseCtx *ctx, int rule, const void *states, const Loc *rhs)
{
    enum { MOST_SYMBOLS = 16 };
    static const unsigned char kinds[] = {
#define KIND(name) [YYSYMBOL_##name] = CN_##name,
        CONCRETE_KINDS(KIND, KIND, KIND)
#undef KIND
    };
#define ONE(name) +1
    _Static_assert(YYNNTS == 1 CONCRETE_KINDS(ONE, ONE, ONE), "CONCRETE_KINDS has every nonterminal");
#undef ONE
    const yy_state_t *top = states;
    CSymbol symbols[MOST_SYMBOLS];
    int n = yyr2[rule];
    if (!ctx->concrete || ctx->concrete->flat || ctx->errors)
        return;
    ASSERT(n <= MOST_SYMBOLS);
    for (int i = 0; i < n; i++) {
        int symbol = yystos[top[i + 1 - n]];
        symbols[i] = (CSymbol){symbol < YYNTOKENS ? CN_TOKEN : (CNodeKind)kinds[symbol], rhs[i + 1]};
    }
    concrete_reduce(ctx, (CNodeKind)kinds[yyr1[rule]], symbols, n);
}

static Import *make_import(ParseCtx *ctx, const AExp *path, Loc loc)
{
    size_t n = (size_t)path->seq.elems.n;
    char *s = arena_alloc(ctx->a, n + 1);
    for (size_t i = 0; i < n; i++)
        s[i] = (char)path->seq.elems.at[i]->lit.bits;
    if (strlen(s) < n)
        parse_error(ctx, path->loc, "the name of a file cannot have a zero byte in it");
    Import *m = NEW(ctx->a, Import);
    *m = (Import){.path = strlen(s) < n ? NULL : s, .loc = loc};
    PUSH(ctx->file->imports, m);
    return m;
}

static NameLoc dotted(ParseCtx *ctx, NameLoc module, NameLoc member, Loc loc)
{
    return (NameLoc){intern_member(module.name, member.name), loc};
}

/* The name of what is defined. */
static NameLoc defined(ParseCtx *ctx, NameLoc n)
{
    if (strchr(n.name, '.') && (isalpha((unsigned char)*n.name) || *n.name == '_'))
        parse_error(ctx, n.loc, "`%s` is a name in a module: it cannot be defined outside", n.name);
    return n;
}

/* The mark behind `type`. */
static TParamKind lifted_by(ParseCtx *ctx, NameLoc op)
{
    if (strcmp(op.name, "^"))
        parse_error(ctx, op.loc, "unexpected `%s` after `type`; there are `type`, `type~`, `type^`",
                    op.name);
    return TP_TYPE_LIFTED;
}

/* The field that a literal in the source names. */
static NameLoc number_field(ParseCtx *ctx, Loc loc)
{
    const char *s = arena_strndup(ctx->a, ctx->text + (loc.beg - ctx->base), loc.end - loc.beg);
    if (s[strspn(s, "0123456789")] || (*s == '0' && s[1]))
        parse_error(ctx, loc, "a field is called by a name or a decimal number, not `%s`", s);
    return (NameLoc){intern(s), loc};
}

static Attr *make_attr(ParseCtx *ctx, const char *name, Attrs args, Loc loc)
{
    Attr *a = NEW(ctx->a, Attr);
    *a = (Attr){.loc = loc, .name = name, .args = args};
    return a;
}
