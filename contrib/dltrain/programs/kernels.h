/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef DLTRAIN_KERNELS_H
#define DLTRAIN_KERNELS_H

namespace dltrain
{

/// Whether dlserve is asked to compare measured kernels (--kernel-times).
bool AsksForKernels(int argc, const char* const* argv);

/**
 * dlserve --kernel-times: the times that iterations have for measured kernels. Says errors, prints
 * medians by kind and GPU, and writes kernels.csv if there is --out.
 * \return exit status
 */
int CompareKernels(int argc, const char* const* argv);

} // namespace dltrain

#endif // DLTRAIN_KERNELS_H
