/* Derivatives become ordinary code. */
#ifndef AD_AD_H
#define AD_AD_H

#include "ir/ir.h"

PassFn ad_differentiate; /* differentiate.c, SOAC dialect: no JVP and VJP are left */

#endif
