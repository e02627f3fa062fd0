/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "reports/stats/cut-off-record.h"

#include "collectives/core/registry.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <set>
#include <utility>

namespace reports
{

namespace
{

constexpr std::size_t MOST_NAMED = 8; ///< ranks in a line

/// The rank at one end of all of several lost connections; nothing: there is none, or one
/// connection, of which either end may be it.
std::optional<coll::Rank>
RankOfAll(const std::vector<coll::Edge>& lost)
{
    std::set<coll::Rank> common{lost[0].first, lost[0].second};
    std::set<std::pair<coll::Rank, coll::Rank>> pairs;
    for (const auto& [from, to] : lost)
    {
        pairs.emplace(std::minmax(from, to));
        for (auto rank = common.begin(); rank != common.end();)
        {
            rank = *rank == from || *rank == to ? std::next(rank) : common.erase(rank);
        }
    }
    return pairs.size() > 1 && common.size() == 1 ? std::optional(*common.begin()) : std::nullopt;
}

/// "0, 1, 2 and 5 more"
std::string
Named(const std::vector<coll::Rank>& ranks)
{
    std::string text;
    for (std::size_t i = 0; i < std::min(ranks.size(), MOST_NAMED); ++i)
    {
        text += (i ? ", " : "") + std::to_string(ranks[i]);
    }
    return ranks.size() > MOST_NAMED
               ? text + " and " + std::to_string(ranks.size() - MOST_NAMED) + " more"
               : text;
}

} // namespace

std::string
CutOffRecord::InWords() const
{
    std::string text =
        coll::OpName(op) + " of " + std::to_string(bytes) + " B by " + algorithm +
        ", without the messages of rank " + std::to_string(lost[0].first) + " for rank " +
        std::to_string(lost[0].second) +
        (lost.size() > 1 ? " and of " + std::to_string(lost.size() - 1) + " more" : std::string());
    const std::optional<coll::Rank> ofAll = RankOfAll(lost);
    text += ofAll ? ", all from or for rank " + std::to_string(*ofAll) : std::string();
    for (const coll::SplitLanes& one : split)
    {
        text += split.size() == 1 ? ": "
                                  : "; lane " + std::to_string(one.lanes.front()) +
                                        (one.lanes.size() > 1 ? " and others: " : ": ");
        if (one.parts.size() == 1)
        {
            text += "open, nobody is cut off";
            continue;
        }
        // A rank that is cut off alone is the reason, not the ranks beyond it in a tree.
        const auto alone =
            ofAll ? std::find(one.parts.begin(), one.parts.end(), std::vector<coll::Rank>{*ofAll})
                  : one.parts.end();
        if (alone != one.parts.end())
        {
            text += "cut off rank " + std::to_string(*ofAll) + " from all others";
            const char* between = one.parts.size() > 2 ? ", which without it fall into " : "";
            std::size_t named = 0;
            for (auto part = one.parts.begin(); one.parts.size() > 2 && part != one.parts.end();
                 ++part)
            {
                if (part != alone && named++ < MOST_NAMED)
                {
                    text += between + Named(*part);
                    between = "; ";
                }
            }
            text += named > MOST_NAMED
                        ? " and " + std::to_string(named - MOST_NAMED) + " more parts"
                        : std::string();
            continue;
        }
        // The largest part is what the others are cut off from.
        const auto largest =
            std::max_element(one.parts.begin(), one.parts.end(), [](const auto& a, const auto& b) {
                return a.size() < b.size();
            });
        std::string off;
        for (auto part = one.parts.begin(); part != one.parts.end(); ++part)
        {
            if (part != largest)
            {
                off += (off.empty() ? "" : "; ") + Named(*part);
            }
        }
        text += "cut off " +
                std::string(off.find_first_of(",;") == std::string::npos ? "rank " : "ranks ") +
                off + " from " + Named(*largest);
    }
    return text;
}

const Object<CutOffRecord>&
CutOffKeys()
{
    static const Object<coll::SplitLanes> lanes{
        {"lanes: Numbers of rings or trees that are alike", &coll::SplitLanes::lanes},
        {"parts: Ranks that are still joined; one part: nobody is cut off",
         &coll::SplitLanes::parts}};
    static const Object<CutOffRecord> keys{
        {"op: Operation", [](const auto& r) { return coll::OpName(r.op); }},
        {"bytes (B): Size of the collective", &CutOffRecord::bytes},
        {"algorithm: Algorithm", &CutOffRecord::algorithm},
        {"lost: Pairs of ranks: messages from the first to the second failed", &CutOffRecord::lost},
        {"lanes: Rings or trees with such messages", &CutOffRecord::split, lanes}};
    return keys;
}

namespace
{

using CutOff = std::vector<CutOffRecord>;

const Object<CutOff> CUT_OFF{
    {"cut_off: Collectives that hang because messages failed, and the ranks cut off",
     [](const CutOff& all) -> const CutOff& { return all; },
     CutOffKeys()}};
const RegisteredKeys g_cutOff(Section::kFaults, CUT_OFF);

} // namespace

void
AddTo(nlohmann::ordered_json& stats, const std::vector<CutOffRecord>& records)
{
    CUT_OFF.AddTo(stats, records);
}

} // namespace reports
