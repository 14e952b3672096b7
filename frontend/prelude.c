/* The texts of prelude.sf and prelude_modules.sf inside the compiler. The Makefile makes them
 * string constants. */
#include "frontend/names/names.h"

const char prelude_text[] =
#include "frontend/prelude_text.h"
    ;

const char prelude_modtypes[] =
#include "frontend/prelude_modules_text.h"
    ;
