/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * The rule for names that users choose in their files: models, layers, operators, servers, jobs,
 * labels, tags. A name is printed, repeated in every row of a table and drawn, so that it is short
 * and printable. (Names in traces that other tools record are only printable: a kernel's has all of
 * its template arguments.)
 */
#ifndef RDMA_CORE_NAME_RULE_H
#define RDMA_CORE_NAME_RULE_H

#include "contrib/rdma/core/shown-text.h"

#include <algorithm>
#include <cstddef>
#include <string_view>

namespace rdma
{

/// Characters of a name.
constexpr size_t kLongestName = 200;

/// What IsName() allows, in words.
constexpr char kNameHelp[] = "UTF-8 without control characters, at most 200 characters";

/// Whether a text, which may be empty, is a name.
inline bool
IsName(std::string_view text)
{
    const auto characters = std::count_if(text.begin(), text.end(), [](char c) {
        return (static_cast<unsigned char>(c) & 0xc0) != 0x80; // not a later byte of one
    });
    return static_cast<size_t>(characters) <= kLongestName && IsPlain(text);
}

} // namespace rdma

#endif // RDMA_CORE_NAME_RULE_H
