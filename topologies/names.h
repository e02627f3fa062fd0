/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Names that users type: how they are compared, and "Did you mean ...?". Header only, knows nothing
 * of topologies.
 */
#ifndef TOPOLOGIES_NAMES_H
#define TOPOLOGIES_NAMES_H

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace topo
{

/// What is left of a name when spelling does not count: lower case, without '-', '_' and blanks. A
/// dot is part of a name: gpt3-1.3b is not gpt3-13b. By it every list of names is looked up, and no
/// list holds two names that fold alike.
inline std::string
FoldedName(const std::string& name)
{
    std::string folded;
    for (const char c : name)
    {
        if (c != '-' && c != '_' && c != ' ')
        {
            folded += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
        }
    }
    return folded;
}

/// Whether a user's `text` means `name`. A sign between two digits that the name has not is more
/// than spelling: "gpt3-1_3b" is hardly gpt3-13b.
inline bool
SameName(const std::string& text, const std::string& name)
{
    if (text == name)
    {
        return true;
    }
    const std::string folded = FoldedName(text);
    if (folded.empty() || folded != FoldedName(name))
    {
        return false;
    }
    // Folded too, but for the signs between digits, which are all one.
    const auto withSigns = [](const std::string& of) {
        const auto digit = [&of](std::size_t i) {
            return i < of.size() && std::isdigit(static_cast<unsigned char>(of[i]));
        };
        std::string result;
        for (std::size_t i = 0; i < of.size(); ++i)
        {
            const std::string one = FoldedName(of.substr(i, 1));
            result += one.empty() && i > 0 && digit(i - 1) && digit(i + 1) ? "-" : one;
        }
        return result;
    };
    const std::string meant = withSigns(text);
    return meant == folded || meant == withSigns(name);
}

/// Insertions, deletions, substitutions and swaps of neighbours that turn `a` into `b`, upper and
/// lower case being the same (optimal string alignment). Time and memory grow with the product of
/// the lengths.
inline size_t
EditDistance(const std::string& a, const std::string& b)
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

/// The name nearest to `name`, or "" if none is near enough to be what was meant: at most a third
/// of its letters (and at least two) may differ, or one begins with the other. Ties go to the
/// first.
inline std::string
NearestName(const std::string& name, const std::vector<std::string>& names)
{
    // A longer text than this is no misspelt name, and would only cost time.
    constexpr size_t kLongest = 100;
    if (name.empty() || name.size() > kLongest)
    {
        return {};
    }
    std::string best;
    size_t bestDistance = std::max<size_t>(2, name.size() / 3) + 1;
    for (const std::string& candidate : names)
    {
        if (candidate.size() > kLongest)
        {
            continue;
        }
        const size_t distance = EditDistance(name, candidate);
        if (distance < bestDistance && distance < std::max(name.size(), candidate.size()))
        {
            best = candidate;
            bestDistance = distance;
        }
    }
    if (best.empty() && name.size() >= 3)
    {
        for (const std::string& candidate : names)
        {
            const size_t common = std::min(name.size(), candidate.size());
            if (common >= 3 &&
                EditDistance(name.substr(0, common), candidate.substr(0, common)) == 0)
            {
                return candidate;
            }
        }
    }
    return best;
}

/// " (did you mean fat-tree?)", or "" if nothing is near: to be put behind an error message.
inline std::string
DidYouMean(const std::string& name, const std::vector<std::string>& names)
{
    const std::string nearest = NearestName(name, names);
    return nearest.empty() ? std::string() : " (did you mean " + nearest + "?)";
}

/// "ring, tree or direct": a list for people; "" if there are none.
inline std::string
JoinNames(const std::vector<std::string>& names)
{
    std::string text;
    for (size_t i = 0; i < names.size(); ++i)
    {
        text += i == 0 ? "" : i + 1 == names.size() ? " or " : ", ";
        text += names[i];
    }
    return text;
}

/// "1 server", "2 servers"; "3 leaves" if the plural is given.
inline std::string
Counted(uint64_t n, const std::string& one, const std::string& many = "")
{
    return std::to_string(n) + " " + (n == 1 ? one : many.empty() ? one + "s" : many);
}

} // namespace topo

#endif // TOPOLOGIES_NAMES_H
