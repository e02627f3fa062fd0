/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef PREFETCH_LINE_H
#define PREFETCH_LINE_H

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

/// The same of all lines from one address to the other.
inline void
PrefetchLines(const void* begin, const void* end)
{
    for (const char* at = static_cast<const char*>(begin); at < end; at += 64)
    {
        PrefetchLine(at);
    }
}

} // namespace ns3

#endif /* PREFETCH_LINE_H */
