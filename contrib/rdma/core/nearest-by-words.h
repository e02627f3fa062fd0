/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * The name of a list that has the same words as one that is not in it, for error messages: where
 * letters differ too much for rdma::NearestName.
 */
#ifndef RDMA_CORE_NEAREST_BY_WORDS_H
#define RDMA_CORE_NEAREST_BY_WORDS_H

#include "contrib/rdma/core/nearest-name.h"

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace rdma
{

/// "MinRate" as Min, Rate: a word begins with a capital letter behind a small one.
inline std::vector<std::string_view>
NameWords(std::string_view name)
{
    const auto upper = [&](size_t i) {
        return std::isupper(static_cast<unsigned char>(name[i])) != 0;
    };
    std::vector<std::string_view> words;
    size_t begin = 0;
    for (size_t i = 1; i <= name.size(); ++i)
    {
        if (i == name.size() || (upper(i) && !upper(i - 1)))
        {
            words.push_back(name.substr(begin, i - begin));
            begin = i;
        }
    }
    return words;
}

/// The one of `names` that has most words of `name`, in any order, the first of several: for names
/// that are too far for NearestName, "MinRate" of MinimumRate or "Bandwidth" of PcieBandwidth.
/// Words are the same if one begins the other (three letters at least). Empty if not half of all
/// words of both are the same.
inline std::string
NearestByWords(std::string_view name, const std::vector<std::string>& names)
{
    constexpr size_t kLongest = 100;
    constexpr size_t kLeast = 3;
    std::string best;
    if (name.size() > kLongest)
    {
        return best;
    }
    const auto same = [](std::string_view a, std::string_view b) {
        const size_t shorter = std::min(a.size(), b.size());
        return shorter >= kLeast && SameName(a.substr(0, shorter), b.substr(0, shorter));
    };
    const auto words = NameWords(name);
    double most = 0;
    for (const std::string& candidate : names)
    {
        auto others = NameWords(candidate);
        const double all = static_cast<double>(words.size() + others.size());
        double found = 0;
        for (const std::string_view word : words)
        {
            const auto at = std::find_if(others.begin(), others.end(), [&](std::string_view other) {
                return same(word, other);
            });
            if (at != others.end())
            {
                others.erase(at);
                found += 2;
            }
        }
        if (2 * found >= all && found / all > most)
        {
            most = found / all;
            best = candidate;
        }
    }
    return best;
}

} // namespace rdma

#endif // RDMA_CORE_NEAREST_BY_WORDS_H
