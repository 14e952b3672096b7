/* MD5 (RFC 1321): not safe against anybody, but what Futhark names types by. */
#ifndef BASE_MD5_H
#define BASE_MD5_H

#include <stddef.h>

/* The digest of n bytes in hexadecimal, ended by a zero. */
void md5_hex(const char *text, size_t n, char out[33]);

#endif
