/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "large-pages.h"

#include <cstdint>
#include <cstdlib>
#include <limits>
#include <malloc.h>
#include <sys/mman.h>
#include <unistd.h>

namespace dltrain
{

void
ReserveLargePages(std::size_t bytes)
{
#if defined(__GLIBC__) && defined(MADV_HUGEPAGE)
    constexpr std::size_t PAGE = std::size_t{2} << 20;
    constexpr std::size_t MUCH = 6 * PAGE; // below, caches hide it: assumed
    // Larger blocks are returned to the system when they are freed. With these settings the C
    // library does not adapt its threshold (mallopt(3)).
    constexpr int MAPPED_FROM = 1 << 20;
    constexpr std::size_t MOST = std::numeric_limits<int>::max() / 2;
    if (bytes < MUCH)
    {
        return;
    }
    bytes = bytes < MOST ? bytes : MOST;
    mallopt(M_MMAP_THRESHOLD, MAPPED_FROM);
    mallopt(M_TRIM_THRESHOLD, std::numeric_limits<int>::max());
    mallopt(M_TOP_PAD, static_cast<int>(bytes));
    // Something that has no room in what the heap has left: it grows by `bytes` then, whose pages
    // are the kernel's until they are written to.
    void* probe = std::malloc(mallinfo2().fordblks + 1);
    mallopt(M_TOP_PAD, PAGE);
    const auto begin = (reinterpret_cast<uintptr_t>(probe) + PAGE - 1) / PAGE * PAGE;
    const auto end = reinterpret_cast<uintptr_t>(sbrk(0)) / PAGE * PAGE;
    std::free(probe);
    if (probe && begin < end && end - begin <= 2 * bytes)
    {
        madvise(reinterpret_cast<void*>(begin), end - begin, MADV_HUGEPAGE); // if not, not
    }
#else
    static_cast<void>(bytes);
#endif
}

} // namespace dltrain
