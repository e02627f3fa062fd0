/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "part-note.h"

#include "collectives/core/registry.h"

#include <algorithm>
#include <map>
#include <vector>

namespace dltrain
{

namespace
{

/// Made once: a part is told for each rank and collective.
const std::vector<const coll::Algorithm*>&
KnownFor(coll::Op op)
{
    static const std::map<coll::Op, std::vector<const coll::Algorithm*>> all = [] {
        std::map<coll::Op, std::vector<const coll::Algorithm*>> byOp;
        for (const coll::Op one : coll::AllOps())
        {
            byOp[one] = coll::AlgorithmsFor(one);
        }
        return byOp;
    }();
    return all.at(op);
}

} // namespace

PartNote::PartNote(const reports::CollectivePart& part)
    : m_part(part)
{
    const auto& all = KnownFor(part.op);
    const auto found = std::find(all.begin(), all.end(), part.algorithm);
    m_algorithm = static_cast<uint32_t>(found - all.begin());
    m_part.algorithm = nullptr;
    m_part.blocks = nullptr;
}

reports::CollectivePart
PartNote::GetPart() const
{
    reports::CollectivePart part = m_part;
    part.algorithm = KnownFor(part.op).at(m_algorithm);
    return part;
}

} // namespace dltrain
