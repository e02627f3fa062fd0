/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Which operators take tensors of several devices. The mistake that this finds is the commonest of
 * all: a batch, labels, a model or a mask that was left on the CPU.
 *
 * PyTorch 1.13 has three kinds of operators, by native_functions.yaml (Debian's python3-torch has
 * it, torchgen/packaged/ATen/native/) and torchgen/dest/register_dispatch_key.py beside it:
 *
 *   - most: all tensors are on one device, numbers (of no dimension) included;
 *   - "device_check: NoCheck": pointwise ones and reductions, which leave it to TensorIterator. It
 *     takes a number of the CPU as an input beside tensors of a GPU;
 *   - some of NoCheck that take other devices on purpose: copies, indices of the CPU, fills.
 */
#ifndef CAPTURE_MIXING_H
#define CAPTURE_MIXING_H

#include "operators.h"

namespace capture
{

/// Throws PyTorch's error if one of the tensors is where it may not be.
void CheckDevices(const c10::OperatorHandle& operation, Arguments arguments);

} // namespace capture

#endif // CAPTURE_MIXING_H
