/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "collectives/core/block-weights.h"

#include "collectives/core/block-sizes.h"
#include "contrib/rdma/core/shown-text.h"

#include <algorithm>
#include <charconv>
#include <string_view>

namespace coll
{

namespace
{

constexpr double kLargestWeight = 1e15;

bool
ReadWeight(std::string_view text, double* weight)
{
    const char* end = text.data() + text.size();
    const auto [stopped, error] = std::from_chars(text.data(), end, *weight);
    return error == std::errc() && stopped == end && *weight >= 0 && *weight <= kLargestWeight;
}

} // namespace

BlockWeights
RcclTestsWeights(Rank ranks)
{
    BlockWeights weights;
    weights.reserve(static_cast<std::size_t>(ranks) * ranks);
    for (Rank from = 0; from < ranks; ++from)
    {
        for (Rank to = 0; to < ranks; ++to)
        {
            const Rank k = (from + to) % ranks;
            weights.push_back(k == 0 ? 1.0 : 2.0 * k / ranks);
        }
    }
    return weights;
}

bool
ParseBlockWeights(const std::string& text,
                  const std::string& origin,
                  Rank ranks,
                  BlockWeights* weights,
                  std::string* error)
{
    const std::string needed = "; needed: " + std::to_string(ranks) + " lines, one a rank, of " +
                               std::to_string(ranks) + " shares";
    weights->clear();
    constexpr std::string_view kBetween = ", \t\r\v\f";
    uint32_t number = 0;
    Rank rows = 0;
    bool any = false;
    const std::string_view all(text);
    std::size_t next = text.rfind("\xEF\xBB\xBF", 0) == 0 ? 3 : 0;
    while (next < all.size())
    {
        ++number;
        const std::size_t end = std::min(all.find('\n', next), all.size());
        std::string_view line = all.substr(next, end - next);
        next = end + 1;
        line = line.substr(0, line.find('#'));
        const auto at = [&] { return origin + ":" + std::to_string(number) + ": "; };
        std::size_t columns = 0;
        for (std::size_t begin = 0;
             (begin = line.find_first_not_of(kBetween, begin)) != std::string_view::npos;)
        {
            const std::size_t length = line.substr(begin).find_first_of(kBetween);
            const std::string_view word = line.substr(begin, length);
            begin += word.size();
            double weight = 0;
            if (!ReadWeight(word, &weight))
            {
                *error = at() + "'" + rdma::Shown(std::string(word.substr(0, 100)), 60) +
                         "' is no share; allowed: a decimal number, 0 to 1e15";
                return false;
            }
            any = any || weight > 0;
            if (++columns <= ranks && rows < ranks)
            {
                weights->push_back(weight);
            }
        }
        if (columns == 0)
        {
            continue;
        }
        if (rows++ == ranks)
        {
            *error = at() + "a line for a rank that is not there" + needed;
            return false;
        }
        if (columns != ranks)
        {
            *error = at() + std::to_string(columns) + " shares" + needed;
            return false;
        }
    }
    if (rows != ranks)
    {
        *error = origin + ": " + std::to_string(rows) + " lines of shares" + needed;
        return false;
    }
    if (!any)
    {
        *error = origin + ": all shares are 0; allowed: some above";
        return false;
    }
    return true;
}

Collective
AllToAllV(Rank ranks, uint64_t bytes, const BlockWeights& weights, uint32_t elementBytes)
{
    Collective what;
    what.op = Op::kAllToAllV;
    what.ranks = ranks;
    what.bytes = bytes;
    if (!weights.empty())
    {
        what.blocks =
            std::make_shared<BlockSizes>(ranks,
                                         BlocksByWeight(ranks, weights, bytes, elementBytes));
        what.bytes = what.blocks->LargestInput();
    }
    return what;
}

} // namespace coll
