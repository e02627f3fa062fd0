/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * The name of a list that a misspelt one is nearest to, for error messages: by its letters, or,
 * where these differ too much, by its words.
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

/// Insertions, deletions, substitutions and swaps of neighbours that turn `a` into `b`, upper and
/// lower case being the same (optimal string alignment). Time and memory grow with the product of
/// the lengths.
inline size_t
EditDistance(std::string_view a, std::string_view b)
{
    const auto lower = [](char c) { return std::tolower(static_cast<unsigned char>(c)); };
    const size_t width = b.size() + 1;
    std::vector<size_t> d((a.size() + 1) * width);
    for (size_t i = 0; i <= a.size(); ++i)
    {
        for (size_t j = 0; j < width; ++j)
        {
            if (i == 0 || j == 0)
            {
                d[i * width + j] = i + j;
                continue;
            }
            const bool same = lower(a[i - 1]) == lower(b[j - 1]);
            size_t best = std::min({d[(i - 1) * width + j] + 1,
                                    d[i * width + j - 1] + 1,
                                    d[(i - 1) * width + j - 1] + (same ? 0 : 1)});
            if (i > 1 && j > 1 && lower(a[i - 1]) == lower(b[j - 2]) &&
                lower(a[i - 2]) == lower(b[j - 1]))
            {
                best = std::min(best, d[(i - 2) * width + j - 2] + 1);
            }
            d[i * width + j] = best;
        }
    }
    return d.back();
}

/// The name nearest to `name`, or "" if none is near enough to be what was meant. The first of
/// these that there is, of several the first: the same in other case; the shortest that begins with
/// it (three letters or more); one of which at most a third of its letters (and at least two)
/// differ; the one that it has the longest beginning in common with, which is half of it and four
/// letters at least, or one that it begins with and then goes on with another word; one that it
/// begins with (three letters or more).
inline std::string
NearestName(std::string_view name, const std::vector<std::string>& names)
{
    // A longer text than this is no misspelt name, and would only cost time.
    constexpr size_t kLongest = 100;
    if (name.empty() || name.size() > kLongest)
    {
        return {};
    }
    const auto inCommon = [name](std::string_view other) {
        size_t n = std::min(name.size(), other.size());
        while (!SameName(name.substr(0, n), other.substr(0, n)))
        {
            --n;
        }
        return n;
    };
    std::string longer;
    std::string near;
    std::string word;
    std::string alike;
    std::string shorter;
    size_t nearest = std::max<size_t>(2, name.size() / 3) + 1;
    size_t most = std::max<size_t>(4, (name.size() + 1) / 2) - 1;
    for (const std::string& candidate : names)
    {
        if (candidate.empty() || candidate.size() > kLongest)
        {
            continue;
        }
        if (SameName(name, candidate))
        {
            return candidate;
        }
        const size_t common = inCommon(candidate);
        if (common == name.size() && common >= 3 &&
            (longer.empty() || candidate.size() < longer.size()))
        {
            longer = candidate;
        }
        const size_t distance = EditDistance(name, candidate);
        if (distance < nearest && distance < std::max(name.size(), candidate.size()))
        {
            near = candidate;
            nearest = distance;
        }
        if (common > most)
        {
            alike = candidate;
            most = common;
        }
        if (common == candidate.size() && common >= 3)
        {
            const bool isWord = !std::isalnum(static_cast<unsigned char>(name[common]));
            std::string& beginning = isWord ? word : shorter;
            beginning = beginning.empty() ? candidate : beginning;
        }
    }
    // "gpus-per-server" shares more of "gpus-per-node" than "gpus" does.
    const std::string& begun = most > word.size() + 2 || word.empty() ? alike : word;
    for (const std::string& found : {longer, near, begun})
    {
        if (!found.empty())
        {
            return found;
        }
    }
    return shorter;
}

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

/// The only one of `names` that has all words of `name`, in any order: "pipeline-schedule" of
/// "schedule". Words stand between dashes or underscores. Empty: none has, or several have.
inline std::string
NearestByParts(std::string_view name, const std::vector<std::string>& names)
{
    constexpr size_t kLongest = 100;
    const auto parts = [](std::string_view text) {
        std::vector<std::string_view> words;
        while (!text.empty())
        {
            const size_t end = std::min(text.find_first_of("-_"), text.size());
            if (end > 0)
            {
                words.push_back(text.substr(0, end));
            }
            text.remove_prefix(std::min(end + 1, text.size()));
        }
        return words;
    };
    const auto wanted = parts(name.substr(0, kLongest));
    std::string only;
    for (const std::string& candidate : names)
    {
        const auto has = parts(candidate);
        const bool hasAll = std::all_of(wanted.begin(), wanted.end(), [&](std::string_view word) {
            return std::any_of(has.begin(), has.end(), [&](std::string_view other) {
                return SameName(word, other);
            });
        });
        if (hasAll && !wanted.empty())
        {
            if (!only.empty())
            {
                return {};
            }
            only = candidate;
        }
    }
    return only;
}

} // namespace rdma

#endif // RDMA_CORE_NEAREST_NAME_H
