/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef COLLECTIVES_OPERATION_CONTENTS_H
#define COLLECTIVES_OPERATION_CONTENTS_H

#include "collectives/block-sizes.h"
#include "collectives/partition.h"
#include "collectives/symbolic-bytes.h"

#include <vector>

namespace coll
{

/// What an operation's ranks hold when it begins, and what it promises that they hold in the end
/// (checker.h has the table).
class OperationContents
{
  public:
    /// Both must outlive it.
    OperationContents(const Collective& what, const RankSets& sets);

    /// What a rank's receives write, and its sends read unless there is a second buffer.
    SymbolicBytes Buffer(Rank rank) const;
    /// HasSecondBuffer(): what its sends read.
    SymbolicBytes Input(Rank rank) const;

    struct Expected
    {
        uint64_t begin;
        uint64_t end;
        Content content;
    };

    /// What a rank must hold in the end, where that is promised.
    std::vector<Expected> Promise(Rank rank) const;

  private:
    const Collective& m_what;
    const RankSets& m_sets;
    Partition m_pieces;
    Blocks m_blocks;
};

} // namespace coll

#endif // COLLECTIVES_OPERATION_CONTENTS_H
