/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * The blocks of an all-to-all: the bytes that each rank has for each other one, and their places in
 * the sender's input and the receiver's output.
 *
 *     input of rank i     [ for 0 | for 1 |  for 2  |for 3]     InputRange(i, j)
 *                              |
 *                              v
 *     output of rank 1    [from 0| from 1 |from 2|  from 3 ]    OutputRange(1, i)
 *
 * All-to-all has equal blocks: piece j of a rank's input goes to j (schedule.h). All-to-all-v has a
 * size for each pair: the send counts of MPI_Alltoallv or ncclAllToAllv of all ranks together.
 * Blocks stand one after the other.
 */
#ifndef COLLECTIVES_CORE_BLOCK_SIZES_H
#define COLLECTIVES_CORE_BLOCK_SIZES_H

#include "collectives/core/partition.h"
#include "collectives/core/schedule.h"

#include <cstdint>
#include <memory>
#include <vector>

namespace coll
{

/// The bytes that each rank has for each other one. Immutable: ranks, schedules and tasks share
/// one.
class BlockSizes
{
  public:
    /// \param bytes ranks x ranks entries: the bytes of rank i for rank j at i * ranks + j. Throws
    /// std::invalid_argument if the number of entries differs, or a rank's input or output is
    /// beyond 2^62 bytes
    BlockSizes(Rank ranks, const std::vector<uint64_t>& bytes);

    Rank Ranks() const
    {
        return m_ranks;
    }

    /// Where what `from` has for `to` stands in the input of `from`.
    Range InputRange(Rank from, Rank to) const
    {
        return At(m_inputs, from, to);
    }

    /// Where what `from` has for `to` stands in the output of `to`.
    Range OutputRange(Rank to, Rank from) const
    {
        return At(m_outputs, to, from);
    }

    uint64_t Bytes(Rank from, Rank to) const
    {
        return InputRange(from, to).bytes;
    }

    uint64_t InputBytes(Rank rank) const
    {
        return m_inputs[Index(rank, m_ranks)];
    }

    uint64_t OutputBytes(Rank rank) const
    {
        return m_outputs[Index(rank, m_ranks)];
    }

    /// The largest input of all ranks: Collective::bytes.
    uint64_t LargestInput() const;
    /// The bytes that a rank sends to others, on average.
    double MeanSent() const;

    bool operator==(const BlockSizes& other) const
    {
        return m_inputs == other.m_inputs; // which say it all
    }

  private:
    std::size_t Index(Rank row, Rank column) const
    {
        return static_cast<std::size_t>(row) * (m_ranks + 1) + column;
    }

    Range At(const std::vector<uint64_t>& offsets, Rank row, Rank column) const
    {
        const uint64_t* begin = &offsets[Index(row, column)];
        return {begin[0], begin[1] - begin[0]};
    }

    Rank m_ranks;
    // A row a rank, of ranks + 1 offsets.
    std::vector<uint64_t> m_inputs;
    std::vector<uint64_t> m_outputs;
};

/// Whether two collectives have the same sizes; null: equal blocks.
bool SameBlocks(const BlockSizes* a, const BlockSizes* b);

/// The blocks of an all-to-all or all-to-all-v.
class Blocks
{
  public:
    /// `what` may have any operation. Only all-to-all and all-to-all-v have blocks.
    explicit Blocks(const Collective& what)
        : m_sizes(what.blocks),
          m_ranks(what.ranks),
          m_bytes(what.bytes),
          m_pieces(what.bytes, what.ranks)
    {
    }

    Range InputRange(Rank from, Rank to) const
    {
        return m_sizes ? m_sizes->InputRange(from, to) : m_pieces.Part(to);
    }

    Range OutputRange(Rank to, Rank from) const
    {
        if (m_sizes)
        {
            return m_sizes->OutputRange(to, from);
        }
        const uint64_t each = m_pieces.Part(to).bytes;
        return {from * each, each};
    }

    uint64_t InputBytes(Rank rank) const
    {
        return m_sizes ? m_sizes->InputBytes(rank) : m_bytes;
    }

    uint64_t OutputBytes(Rank rank) const
    {
        return m_sizes ? m_sizes->OutputBytes(rank) : m_ranks * m_pieces.Part(rank).bytes;
    }

  private:
    std::shared_ptr<const BlockSizes> m_sizes;
    Rank m_ranks;
    uint64_t m_bytes;
    Partition m_pieces;
};

/// The shares of all pairs. `bytes` is the input of the rank with most. A share is the weight's
/// part of that rank's sum of weights, rounded down. Not all weights are zero; there are as many as
/// BlockSizes has.
std::vector<uint64_t> BlocksByWeight(Rank ranks,
                                     const std::vector<double>& weights,
                                     uint64_t bytes,
                                     uint64_t unit = 1);

} // namespace coll

#endif // COLLECTIVES_CORE_BLOCK_SIZES_H
