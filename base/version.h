/* Which minifut this is. */
#ifndef BASE_VERSION_H
#define BASE_VERSION_H

/* "0.9.0 (abc1234)", without the commit if it was not built in a checkout: tools/version.sh. */
const char *version_text(void);

#endif
