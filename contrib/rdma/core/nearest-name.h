/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * The name of a list that a misspelt one is nearest to, for error messages: by Levenshtein's
 * distance (V. Levenshtein, "Binary codes capable of correcting deletions, insertions and
 * reversals", 1966), upper and lower case alike.
 */
#ifndef RDMA_CORE_NEAREST_NAME_H
#define RDMA_CORE_NEAREST_NAME_H

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace rdma
{

/// Whether two names differ in case only.
inline bool
SameName(std::string_view a, std::string_view b)
{
    return a.size() == b.size() && std::equal(a.begin(), a.end(), b.begin(), [](char x, char y) {
               return std::tolower(static_cast<unsigned char>(x)) ==
                      std::tolower(static_cast<unsigned char>(y));
           });
}

/// Insertions, deletions and replacements of single characters that make `a` to `b`, case ignored.
inline size_t
NameDistance(std::string_view a, std::string_view b)
{
    std::vector<size_t> row(b.size() + 1);
    for (size_t j = 0; j <= b.size(); ++j)
    {
        row[j] = j;
    }
    for (size_t i = 1; i <= a.size(); ++i)
    {
        size_t diagonal = row[0];
        row[0] = i;
        for (size_t j = 1; j <= b.size(); ++j)
        {
            const size_t replaced =
                diagonal + (SameName(a.substr(i - 1, 1), b.substr(j - 1, 1)) ? 0 : 1);
            diagonal = row[j];
            row[j] = std::min({replaced, row[j] + 1, row[j - 1] + 1});
        }
    }
    return row[b.size()];
}

/// The nearest of `names`, the first of several; empty if none is near: farther than 2 or a third
/// of the name's length (the greater), or nothing in common.
inline std::string
NearestName(std::string_view name, const std::vector<std::string>& names)
{
    constexpr size_t kLongest = 100; // longer is no misspelt name, and would only cost time
    std::string best;
    if (name.empty() || name.size() > kLongest)
    {
        return best;
    }
    size_t least = std::max<size_t>(2, name.size() / 3) + 1;
    for (const std::string& candidate : names)
    {
        const size_t distance = NameDistance(name, candidate);
        if (distance < least && distance < std::max(name.size(), candidate.size()))
        {
            least = distance;
            best = candidate;
        }
    }
    return best;
}

} // namespace rdma

#endif // RDMA_CORE_NEAREST_NAME_H
