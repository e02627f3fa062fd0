/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "reports/attribution/collective-join.h"

#include "collectives/core/block-sizes.h"

#include <algorithm>
#include <stdexcept>

namespace reports
{

std::optional<CollectiveRecord>
CollectiveJoin::Add(const CollectivePart& part)
{
    const auto [found, isNew] = m_open.try_emplace({part.communicator, part.sequence});
    Open& open = found->second;
    CollectiveRecord& record = open.record;
    if (isNew)
    {
        static_cast<CollectiveName&>(record) = part;
        open.blocks = part.blocks;
        record.firstStart = record.lastStart = part.entered;
    }
    if (record.op != part.op || record.bytes != part.bytes || record.ranks != part.ranks ||
        !coll::SameBlocks(open.blocks, part.blocks))
    {
        throw std::logic_error("ranks of one communicator entered different collectives");
    }
    record.round = std::max(record.round, part.round);
    record.tag = std::min(record.tag, part.tag);
    record.bytesSent += part.bytesSent;
    record.firstStart = std::min(record.firstStart, part.entered);
    record.lastStart = std::max(record.lastStart, part.entered);
    record.end = std::max(record.end, part.left);
    open.entered += static_cast<uint64_t>(part.entered);
    open.spent += static_cast<uint64_t>(part.left - part.entered);
    open.left.push_back(part.left);
    if (open.left.size() < part.ranks)
    {
        return std::nullopt;
    }
    unsigned __int128 untilAll = 0;
    for (const int64_t left : open.left)
    {
        untilAll += static_cast<uint64_t>(std::min(left, record.lastStart));
    }
    record.meanPs = static_cast<double>(open.spent) / part.ranks;
    record.waitPs = static_cast<double>(untilAll - open.entered) / part.ranks;
    const CollectiveRecord whole = record;
    m_open.erase(found);
    return whole;
}

} // namespace reports
