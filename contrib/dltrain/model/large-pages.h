/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef DLTRAIN_LARGE_PAGES_H
#define DLTRAIN_LARGE_PAGES_H

namespace dltrain
{

/**
 * What has been allocated so far goes into pages of 2 MiB, if it is much, and Linux has them to
 * give (madvise(2), MADV_HUGEPAGE and MADV_COLLAPSE, which is of Linux 6.1): large networks are
 * larger than what the processor's table of pages covers with small ones. To be called when the
 * set-up is done. Nothing else changes.
 */
void UseLargePages();

} // namespace dltrain

#endif // DLTRAIN_LARGE_PAGES_H
