#include "base/version.h"

#include "version_text.h"

const char *version_text(void)
{
    return VERSION_TEXT;
}
