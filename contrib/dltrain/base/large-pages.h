/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef DLTRAIN_LARGE_PAGES_H
#define DLTRAIN_LARGE_PAGES_H

#include <cstddef>

namespace dltrain
{

/**
 * Puts later allocations into pages of 2 MiB, as far as these bytes reach, if they are many and
 * Linux has such pages (madvise(2), MADV_HUGEPAGE). Large networks exceed the reach of the
 * processor's TLB with small pages, and the kernel has 512 times fewer page faults. To be called
 * before the set-up. Takes no memory by itself; nothing else changes.
 */
void ReserveLargePages(std::size_t bytes);

} // namespace dltrain

#endif // DLTRAIN_LARGE_PAGES_H
