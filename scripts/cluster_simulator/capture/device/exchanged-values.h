/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Which tensors' values ranks tell each other.
 */
#ifndef CAPTURE_EXCHANGED_VALUES_H
#define CAPTURE_EXCHANGED_VALUES_H

#include "storage.h"

#include <ATen/ATen.h>

namespace capture
{

/// Such values go from rank to rank.
inline bool
Exchanged(const at::Tensor& tensor)
{
    return tensor.numel() > 0 && InfoOf(tensor).real && tensor.is_contiguous() &&
           c10::isIntegralType(tensor.scalar_type(), true);
}

/// Such values go from rank to rank as well, or that nobody knows them. It has to be so on all
/// ranks, which may have the same number in a small storage or in a large one.
inline bool
Goes(const at::Tensor& tensor)
{
    return tensor.numel() > 0 && tensor.is_contiguous() &&
           (c10::isIntegralType(tensor.scalar_type(), true) ? InfoOf(tensor).real
                                                            : tensor.nbytes() <= kSmallBytes);
}

} // namespace capture

#endif // CAPTURE_EXCHANGED_VALUES_H
