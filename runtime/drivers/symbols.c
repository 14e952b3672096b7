#include "runtime/drivers/dev_driver.h"

#include <dlfcn.h>
#include <string.h>

RT_API bool rt_symbols_find(int n_places, void *const *places, int n, const rt_symbol *symbols)
{
    for (int i = 0; i < n; i++) {
        void *found = NULL;
        for (int k = 0; k < n_places && !found; k++)
            found = dlsym(places[k], symbols[i].name);
        if (!found)
            return false;
        memcpy(symbols[i].to, &found, sizeof found);
    }
    return true;
}
