/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Bytes of activations of which only a share S is sent (SparseSpec). An element that is sent has
 * its own bytes and, with the index codec, 4 more; the bitmask codec adds a bit for each element of
 * the whole. A share that both sides know, as of pruned channels, adds nothing.
 *
 * In a ring all-reduce of n ranks whose elements are chosen independently, a sum over k ranks has
 * the elements of their union, 1 - (1 - S)^k of all. A rank sends n - 1 pieces that are sums over
 * 1, 2, ... n - 1 ranks, and then n - 1 that are sums over all of them. With a share that is the
 * same everywhere (kNone) unions do not grow.
 */
#ifndef SCENARIOS_INFERENCE_SPARSE_BYTES_H
#define SCENARIOS_INFERENCE_SPARSE_BYTES_H

#include "scenarios/inference/serving-spec.h"

#include <cstdint>

namespace serving
{

/// Bytes of a message over those of all its elements; above 1 where a codec costs more than it
/// saves. \param elementBytes of an activation
double SparseSendShare(const SparseSpec& sparse, double elementBytes);

/// The same of an all-reduce of so many ranks.
double SparseReduceShare(const SparseSpec& sparse, double elementBytes, uint32_t ranks);

} // namespace serving

#endif // SCENARIOS_INFERENCE_SPARSE_BYTES_H
