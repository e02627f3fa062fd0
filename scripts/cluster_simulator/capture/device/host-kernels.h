/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Large tensors of the host that nobody will look at: models are initialized on the host and then
 * moved to GPUs, where values are not known anyway. Filling hundreds of gigabytes with random
 * numbers would take hours, and their memory.
 */
#ifndef CAPTURE_HOST_KERNELS_H
#define CAPTURE_HOST_KERNELS_H

namespace capture
{

/// normal_, uniform_, fill_, zero_ and copy_ leave floating-point tensors of the host alone that
/// have 64 MiB or more; random numbers also smaller ones (1 MiB), once 256 MiB have been drawn.
void InstallHostKernels();

} // namespace capture

#endif // CAPTURE_HOST_KERNELS_H
