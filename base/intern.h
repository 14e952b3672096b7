/* Interned strings: equal text is the same pointer, alive until exit. */
#ifndef BASE_INTERN_H
#define BASE_INTERN_H

#include <stddef.h>

const char *intern(const char *s);
const char *intern_n(const char *s, size_t n);
/* The name `module.member`. */
const char *intern_member(const char *module, const char *member);

#endif
