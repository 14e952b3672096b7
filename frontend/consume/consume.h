/* Consumption of values, as the checker sees it. */
#ifndef FRONTEND_CONSUME_CONSUME_H
#define FRONTEND_CONSUME_CONSUME_H

#include "frontend/types/types.h"

/* Reports what is used, or consumed again, after it was consumed in a definition whose types are
 * final; fills in what consumption decides of its nodes. */
void consume_def(Ck *ck, Def *d);

#endif
