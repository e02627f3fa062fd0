/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Text that a user gave (an option, a token or a name of a file) in what is printed. It may hold
 * anything: control characters would reach the terminal and act there, and a token of a megabyte
 * would be echoed whole.
 *
 *   Printable(text)   the same text, with what a terminal would act on written as \xNN
 *   IsPlain(text)     whether Printable() leaves it as it is: the rule for names that are read, as
 *                     they go into tables and onto terminals
 *   Shown(text)       the same, shortened in the middle: "aaaa... (1048476 more bytes) ...aaaa"
 */
#ifndef RDMA_CORE_SHOWN_TEXT_H
#define RDMA_CORE_SHOWN_TEXT_H

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>

namespace rdma
{

namespace detail
{

/// Bytes of the character of UTF-8 that `text` begins with, and its number; 0 bytes: it begins
/// with none. The shortest form of numbers up to 0x10ffff without surrogates, as today's UTF-8 is
/// defined (assumed: RFC 3629 has not been looked up).
inline size_t
FirstCharacter(std::string_view text, uint32_t* number)
{
    const auto at = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
    const unsigned char lead = at(0);
    const size_t bytes = lead < 0x80   ? 1
                         : lead < 0xc2 ? 0
                         : lead < 0xe0 ? 2
                         : lead < 0xf0 ? 3
                         : lead < 0xf5 ? 4
                                       : 0;
    if (bytes == 0 || text.size() < bytes)
    {
        return 0;
    }
    uint32_t c = bytes == 1 ? lead : lead & (0x7fU >> bytes);
    for (size_t i = 1; i < bytes; ++i)
    {
        if ((at(i) & 0xc0) != 0x80)
        {
            return 0;
        }
        c = c << 6 | (at(i) & 0x3fU);
    }
    static constexpr uint32_t kLeast[] = {0, 0, 0x80, 0x800, 0x10000};
    *number = c;
    return c < kLeast[bytes] || c > 0x10ffff || (c >= 0xd800 && c < 0xe000) ? 0 : bytes;
}

/// What acts instead of being shown: the control characters C0, DEL and C1, the separators of lines
/// and paragraphs, and those that turn the direction of writing round (embeddings, overrides,
/// isolates and their ends). The list is assumed, not taken from a standard.
inline bool
Acts(uint32_t c)
{
    return c < 0x20 || (c >= 0x7f && c < 0xa0) || c == 0x2028 || c == 0x2029 ||
           (c >= 0x202a && c <= 0x202e) || (c >= 0x2066 && c <= 0x2069);
}

} // namespace detail

/// Without effect on a terminal; what is not UTF-8 is escaped too. `kept`: control characters that
/// stay, such as "\n".
inline std::string
Printable(std::string_view text, std::string_view kept = {})
{
    std::string out;
    out.reserve(text.size());
    while (!text.empty())
    {
        uint32_t number = 0;
        const size_t bytes = detail::FirstCharacter(text, &number);
        if (bytes &&
            (!detail::Acts(number) || (bytes == 1 && kept.find(text[0]) != std::string_view::npos)))
        {
            out += text.substr(0, bytes);
            text.remove_prefix(bytes);
            continue;
        }
        for (size_t i = 0; i < (bytes ? bytes : 1); ++i)
        {
            char escaped[8];
            std::snprintf(escaped, sizeof escaped, "\\x%02x", static_cast<unsigned char>(text[i]));
            out += escaped;
        }
        text.remove_prefix(bytes ? bytes : 1);
    }
    return out;
}

/// Whether a name may go into tables: UTF-8, and nothing in it acts on a terminal or breaks a row.
inline bool
IsPlain(std::string_view text)
{
    return Printable(text) == text;
}

/// What IsPlain() allows, in words.
constexpr char kPlainHelp[] = "UTF-8 without control characters";

/// Printable, and of more than `most` bytes only the beginning and the end.
inline std::string
Shown(std::string_view text, size_t most = 160)
{
    if (text.size() <= most)
    {
        return Printable(text);
    }
    // Never through the middle of a character.
    const auto inside = [&](size_t i) {
        return (static_cast<unsigned char>(text[i]) & 0xc0) == 0x80;
    };
    size_t head = most * 3 / 4;
    size_t tail = text.size() - most / 4;
    for (int i = 0; i < 3 && inside(head); ++i)
    {
        --head;
    }
    for (int i = 0; i < 3 && tail < text.size() && inside(tail); ++i)
    {
        ++tail;
    }
    return Printable(text.substr(0, head)) + "... (" + std::to_string(tail - head) +
           " more bytes) ..." + Printable(text.substr(tail));
}

} // namespace rdma

#endif // RDMA_CORE_SHOWN_TEXT_H
