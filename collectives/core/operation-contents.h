/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef COLLECTIVES_CORE_OPERATION_CONTENTS_H
#define COLLECTIVES_CORE_OPERATION_CONTENTS_H

#include "collectives/core/block-sizes.h"
#include "collectives/core/partition.h"
#include "collectives/core/symbolic-bytes.h"

#include <vector>

namespace coll
{

/// The content of ranks' buffers when an operation begins, and the content that it promises at the
/// end (checker.h has the table).
class OperationContents
{
  public:
    /// Both must outlive it.
    OperationContents(const Collective& what, const RankSets& sets);

    /// The buffer that a rank's receives write. Its sends read it unless there is a second buffer.
    SymbolicBytes Buffer(Rank rank) const;
    /// The buffer that its sends read, if HasSecondBuffer().
    SymbolicBytes Input(Rank rank) const;

    struct Expected
    {
        uint64_t begin;
        uint64_t end;
        Content content;
    };

    /// The content that a rank must have at the end, where something is promised.
    std::vector<Expected> Promise(Rank rank) const;

  private:
    const Collective& m_what;
    const RankSets& m_sets;
    Partition m_pieces;
    Blocks m_blocks;
};

} // namespace coll

#endif // COLLECTIVES_CORE_OPERATION_CONTENTS_H
