/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "large-pages.h"

#include <cstdint>
#include <fstream>
#include <sstream>
#include <string>
#include <sys/mman.h>

namespace dltrain
{

void
UseLargePages()
{
#ifdef MADV_HUGEPAGE
    constexpr uintptr_t PAGE = uintptr_t{2} << 20;
    constexpr uintptr_t MUCH = 6 * PAGE; // below, caches hide it: assumed
    constexpr int COLLAPSE = 25;          // MADV_COLLAPSE, which the C library may not know yet
    std::ifstream maps("/proc/self/maps");
    for (std::string line; std::getline(maps, line);)
    {
        if (line.find("[heap]") == std::string::npos)
        {
            continue;
        }
        std::istringstream words(line);
        uintptr_t begin = 0;
        uintptr_t end = 0;
        char dash = 0;
        words >> std::hex >> begin >> dash >> end;
        begin = (begin + PAGE - 1) / PAGE * PAGE;
        end = end / PAGE * PAGE;
        if (words && end > begin && end - begin >= MUCH)
        {
            void* memory = reinterpret_cast<void*>(begin); // NOLINT: as the kernel says
            if (madvise(memory, end - begin, MADV_HUGEPAGE) == 0)
            {
                madvise(memory, end - begin, COLLAPSE);
            }
        }
        return;
    }
#endif
}

} // namespace dltrain
