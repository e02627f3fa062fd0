/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/inference/sparse-bytes.h"

namespace serving
{

namespace
{

/// \param sent share of the elements
double
CodedShare(const SparseSpec& sparse, double elementBytes, double sent)
{
    switch (sparse.codec)
    {
    case SparseSpec::Codec::kIndex:
        return sent * (1 + 4 / elementBytes);
    case SparseSpec::Codec::kBitmask:
        return sent + 1 / (8 * elementBytes);
    default:
        return sent;
    }
}

} // namespace

double
SparseSendShare(const SparseSpec& sparse, double elementBytes)
{
    return sparse.share < 1 ? CodedShare(sparse, elementBytes, sparse.share) : 1;
}

double
SparseReduceShare(const SparseSpec& sparse, double elementBytes, uint32_t ranks)
{
    if (sparse.share >= 1 || ranks < 2)
    {
        return 1;
    }
    if (sparse.codec == SparseSpec::Codec::kNone)
    {
        return sparse.share;
    }
    double pieces = 0;
    double missing = 1; // share of elements that none of k ranks sends
    for (uint32_t k = 1; k < ranks; ++k)
    {
        missing *= 1 - sparse.share;
        pieces += CodedShare(sparse, elementBytes, 1 - missing);
    }
    missing *= 1 - sparse.share;
    const double others = ranks - 1;
    pieces += others * CodedShare(sparse, elementBytes, 1 - missing);
    return pieces / (2 * others);
}

} // namespace serving
