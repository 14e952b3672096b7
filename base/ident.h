/* C identifiers out of any names: the only place where identifiers of generated code are made. */
#ifndef BASE_IDENT_H
#define BASE_IDENT_H

/* base with what C does not allow escaped: starts with a letter, of at most 56 characters, another
 * one for another base. Interned. */
const char *c_ident(const char *base);
/* c_ident(base)_id. No reserved word and no name of the runtime (rt_..., mf_...) ends in an
 * underscore and digits, so nothing can clash. Interned. */
const char *c_ident_numbered(const char *base, int id);

#endif
