/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef PREFETCH_LINE_H
#define PREFETCH_LINE_H

#include <cstdint>

namespace ns3
{

/**
 * \ingroup rdma
 * The cache line of this address will be needed soon; it need not be anybody's.
 *
 * Not __builtin_prefetch alone: GCC 12.2, as seen in what it made, takes a function that does
 * nothing else for one without effect, and leaves out calls of it. What the statement behind it
 * does is nothing, but it may not be left out, nor whatever holds it.
 */
inline void
PrefetchLine(const void* address)
{
    __builtin_prefetch(address);
    asm volatile("");
}

/// Fetches all cache lines from one address to the other. (The first line may begin before `begin`:
/// steps from `begin` itself would leave out the last line of an object that lies across lines.)
inline void
PrefetchLines(const void* begin, const void* end)
{
    constexpr std::uintptr_t LINE = 64;
    const auto last = reinterpret_cast<std::uintptr_t>(end);
    for (std::uintptr_t at = reinterpret_cast<std::uintptr_t>(begin) / LINE * LINE; at < last;
         at += LINE)
    {
        PrefetchLine(reinterpret_cast<const void*>(at));
    }
}

} // namespace ns3

#endif /* PREFETCH_LINE_H */
