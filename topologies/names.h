/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Names that users type: how they are compared, and "Did you mean ...?". Header only, knows nothing
 * of topologies.
 */
#ifndef TOPOLOGIES_NAMES_H
#define TOPOLOGIES_NAMES_H

#include "contrib/rdma/core/nearest-name.h"

#include <cctype>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace topo
{

/// A name in the form in which names are compared: lower case, without '-', '_' and blanks. A dot
/// is part of a name: gpt3-1.3b is not gpt3-13b. Every list of names is looked up by it, and no
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

/// " (did you mean fat-tree?)", or "" if nothing is near: to be put behind an error message.
inline std::string
DidYouMean(const std::string& name, const std::vector<std::string>& names)
{
    const std::string nearest = rdma::NearestName(name, names);
    return nearest.empty() ? std::string() : " (did you mean " + nearest + "?)";
}

/// "ring, tree or direct": a list for people; "" for an empty list.
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
