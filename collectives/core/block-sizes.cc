/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "collectives/core/block-sizes.h"

#include <algorithm>
#include <numeric>
#include <stdexcept>
#include <string>

namespace coll
{

namespace
{

constexpr uint64_t kMostBytes = uint64_t{1} << 62; // a sum of two does not wrap

/// Where blocks begin that follow one another, and where the last ends.
template <class SizeOf>
void
AppendOffsets(Rank ranks, const SizeOf& sizeOf, std::vector<uint64_t>* offsets)
{
    uint64_t at = 0;
    offsets->push_back(at);
    for (Rank r = 0; r < ranks; r++)
    {
        const uint64_t size = sizeOf(r);
        if (size > kMostBytes || (at += size) > kMostBytes)
        {
            throw std::invalid_argument("blocks of a rank that add up to more than 2^62 bytes");
        }
        offsets->push_back(at);
    }
}

} // namespace

BlockSizes::BlockSizes(Rank ranks, const std::vector<uint64_t>& bytes)
    : m_ranks(ranks)
{
    if (ranks == 0 || bytes.size() != static_cast<std::size_t>(ranks) * ranks)
    {
        throw std::invalid_argument(std::to_string(ranks) + " ranks, and " +
                                    std::to_string(bytes.size()) + " sizes of blocks");
    }
    const auto sizeOf = [&](Rank from, Rank to) {
        return bytes[static_cast<std::size_t>(from) * ranks + to];
    };
    m_inputs.reserve(bytes.size() + ranks);
    m_outputs.reserve(bytes.size() + ranks);
    for (Rank own = 0; own < ranks; own++)
    {
        AppendOffsets(
            ranks,
            [&](Rank to) { return sizeOf(own, to); },
            &m_inputs);
        AppendOffsets(
            ranks,
            [&](Rank from) { return sizeOf(from, own); },
            &m_outputs);
    }
}

uint64_t
BlockSizes::LargestInput() const
{
    uint64_t largest = 0;
    for (Rank r = 0; r < m_ranks; r++)
    {
        largest = std::max(largest, InputBytes(r));
    }
    return largest;
}

double
BlockSizes::MeanSent() const
{
    double bytes = 0;
    for (Rank r = 0; r < m_ranks; r++)
    {
        bytes += static_cast<double>(InputBytes(r) - Bytes(r, r));
    }
    return bytes / m_ranks;
}

bool
SameBlocks(const BlockSizes* a, const BlockSizes* b)
{
    return a == b || (a && b && *a == *b);
}

bool
operator==(const Collective& a, const Collective& b)
{
    return a.op == b.op && a.bytes == b.bytes && a.ranks == b.ranks && a.root == b.root &&
           SameBlocks(a.blocks.get(), b.blocks.get());
}

std::vector<uint64_t>
BlocksByWeight(Rank ranks, const std::vector<double>& weights, uint64_t bytes, uint64_t unit)
{
    double largest = 0;
    for (Rank r = 0; r < ranks; r++)
    {
        const auto row = weights.begin() + static_cast<std::ptrdiff_t>(r) * ranks;
        largest = std::max(largest, std::accumulate(row, row + ranks, 0.0));
    }
    std::vector<uint64_t> blocks;
    blocks.reserve(weights.size());
    // Whole numbers come out whole, though shares such as 0.4 are not exact in binary.
    constexpr double kRounding = 1 + 1e-12;
    const auto units = static_cast<double>(bytes / unit);
    for (const double weight : weights)
    {
        const double share = weight / largest * kRounding;
        blocks.push_back(static_cast<uint64_t>(units * std::min(share, 1.0)) * unit);
    }
    return blocks;
}

} // namespace coll
