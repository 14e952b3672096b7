/* Words of the host's memory that a device writes while the host looks at them. Drivers take 4 us
 * longer to say that a command has ended than its bytes take to come (NVIDIA's, H200). */
#include "runtime/drivers/dev_driver.h"

enum {
    RT_WORD = 4,
    RT_NOT_YET = 0x5bd1e995, /* a word that is not there; if that is what comes it takes longer */
    RT_MOST_LOOKS = 1 << 17  /* some 0.1 ms: what takes longer is not worth them */
};

RT_API void rt_words_expect(volatile uint32_t *words, int64_t to, int64_t bytes)
{
    for (int64_t i = to / RT_WORD; i < (to + bytes) / RT_WORD; i++)
        words[i] = RT_NOT_YET;
}

RT_API bool rt_words_come(const volatile uint32_t *words, int64_t from, int64_t bytes, bool wait)
{
    int looks = wait ? 0 : RT_MOST_LOOKS - 1;
    for (int64_t i = from / RT_WORD; i < (from + bytes + RT_WORD - 1) / RT_WORD; i++)
        while (words[i] == RT_NOT_YET)
            if (++looks >= RT_MOST_LOOKS)
                return false;
    return true;
}
