/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "collectives/core/operation-contents.h"

namespace coll
{

OperationContents::OperationContents(const Collective& what, const RankSets& sets)
    : m_what(what),
      m_sets(sets),
      m_pieces(what.bytes, what.ranks),
      m_blocks(what)
{
}

SymbolicBytes
OperationContents::Buffer(Rank rank) const
{
    const Range piece = m_pieces.Part(rank);
    const uint64_t end = piece.offset + piece.bytes;
    const SymbolicBytes own = Input(rank);
    SymbolicBytes nothing(m_what.bytes);
    switch (m_what.op)
    {
    case Op::kAllReduce:
    case Op::kReduceScatter:
    case Op::kReduce:
        return own;
    case Op::kAllGather:
    case Op::kGather:
        nothing.Write(piece.offset, own.Copy(piece.offset, end));
        return nothing;
    case Op::kBroadcast:
    case Op::kScatter:
        return rank == m_what.root ? own : nothing;
    case Op::kAllToAll:
    case Op::kAllToAllV: {
        const Range kept = m_blocks.InputRange(rank, rank);
        SymbolicBytes output(m_blocks.OutputBytes(rank));
        output.Write(m_blocks.OutputRange(rank, rank).offset,
                     own.Copy(kept.offset, kept.offset + kept.bytes));
        return output;
    }
    case Op::kSendRecv:
        return m_what.ranks > 1 ? nothing : own;
    case Op::kBarrier:
        break;
    }
    return SymbolicBytes(0);
}

SymbolicBytes
OperationContents::Input(Rank rank) const
{
    const uint64_t bytes = IsAllToAll(m_what.op) ? m_blocks.InputBytes(rank) : m_what.bytes;
    return SymbolicBytes(bytes, {m_sets.Single(rank), 0});
}

std::vector<OperationContents::Expected>
OperationContents::Promise(Rank rank) const
{
    std::vector<Expected> promise;
    const Range own = m_pieces.Part(rank);
    switch (m_what.op)
    {
    case Op::kAllReduce:
        promise.push_back({0, m_what.bytes, {m_sets.All(), 0}});
        break;
    case Op::kReduceScatter:
        promise.push_back({own.offset, own.offset + own.bytes, {m_sets.All(), 0}});
        break;
    case Op::kReduce:
        if (rank == m_what.root)
        {
            promise.push_back({0, m_what.bytes, {m_sets.All(), 0}});
        }
        break;
    case Op::kAllGather:
    case Op::kGather:
        for (Rank r = 0; r < m_what.ranks && (m_what.op != Op::kGather || rank == m_what.root); r++)
        {
            const Range piece = m_pieces.Part(r);
            promise.push_back({piece.offset, piece.offset + piece.bytes, {m_sets.Single(r), 0}});
        }
        break;
    case Op::kScatter:
        promise.push_back({own.offset, own.offset + own.bytes, {m_sets.Single(m_what.root), 0}});
        break;
    case Op::kBroadcast:
        promise.push_back({0, m_what.bytes, {m_sets.Single(m_what.root), 0}});
        break;
    case Op::kAllToAll:
    case Op::kAllToAllV:
        for (Rank r = 0; r < m_what.ranks; r++)
        {
            const Range from = m_blocks.InputRange(r, rank);
            const Range to = m_blocks.OutputRange(rank, r);
            promise.push_back(
                {to.offset,
                 to.offset + to.bytes,
                 {m_sets.Single(r),
                  static_cast<int64_t>(from.offset) - static_cast<int64_t>(to.offset)}});
        }
        break;
    case Op::kSendRecv:
        promise.push_back(
            {0, m_what.bytes, {m_sets.Single((rank + m_what.ranks - 1) % m_what.ranks), 0}});
        break;
    case Op::kBarrier:
        break;
    }
    return promise;
}

} // namespace coll
