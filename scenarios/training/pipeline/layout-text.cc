/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/training/pipeline/layout-text.h"

#include <algorithm>
#include <charconv>

namespace training
{

namespace
{

constexpr std::size_t kMostLetters = 100000;

constexpr const char* kAllowed =
    "; allowed: E (embedding), t (block), m (prediction module), L (loss), '|' between pieces, "
    "X*N and (X)*N, as E|(t|)*6L, or numbers of blocks, as 2-3-3-1";

bool
IsDigit(char c)
{
    return c >= '0' && c <= '9';
}

/// Reads "*3" at the begin of the text and passes it; 1 if there is none.
std::optional<std::size_t>
TakeTimes(std::string_view& text)
{
    if (text.size() < 2 || text[0] != '*' || !IsDigit(text[1]))
    {
        return 1;
    }
    std::size_t times = 0;
    const auto [after, bad] = std::from_chars(text.data() + 1, text.data() + text.size(), times);
    text.remove_prefix(static_cast<std::size_t>(after - text.data()));
    return bad == std::errc() && times <= kMostLetters ? std::optional(times) : std::nullopt;
}

/// Writes out repetitions of letters or, with `groups`, of what stands in parentheses.
/// \return nothing: it would be too long
std::optional<std::string>
Unrolled(std::string_view text, bool groups)
{
    std::string all;
    while (!text.empty())
    {
        std::string piece(1, text[0]);
        const std::size_t end = groups && text[0] == '(' ? text.find(')') : std::string_view::npos;
        const bool group = end != std::string_view::npos && end > 1;
        piece = group ? std::string(text.substr(1, end - 1)) : piece;
        std::string_view rest = text.substr(group ? end + 1 : 1);
        const auto times = !groups || group ? TakeTimes(rest) : std::optional<std::size_t>(1);
        if (!times || all.size() + *times * piece.size() > kMostLetters)
        {
            return std::nullopt;
        }
        for (std::size_t i = 0; i < *times; ++i)
        {
            all += piece;
        }
        text = rest;
    }
    return all;
}

/// "2-3-3-1"; nothing: it is no such list.
std::optional<std::vector<uint32_t>>
ParseNumbers(std::string_view text)
{
    std::vector<uint32_t> numbers;
    const char* at = text.data();
    const char* const end = at + text.size();
    while (true)
    {
        uint32_t count = 0;
        const auto [after, bad] = std::from_chars(at, end, count);
        if (bad != std::errc() || count > kMostLetters || (after != end && *after != '-'))
        {
            return std::nullopt;
        }
        numbers.push_back(count);
        if (after == end)
        {
            return numbers;
        }
        at = after + 1;
    }
}

std::string
Ordinal(std::size_t piece, std::size_t pieces)
{
    return "piece " + std::to_string(piece + 1) + " of " + std::to_string(pieces);
}

/// The problem of a text without repetitions; empty: there is none.
std::string
ProblemOf(const std::string& letters)
{
    const auto odd = letters.find_first_not_of("EtmL|");
    if (odd != std::string::npos)
    {
        return "has '" + letters.substr(odd, 1) + "'" + kAllowed;
    }
    if (letters.empty() || letters.front() != 'E' || letters.back() != 'L' ||
        std::count(letters.begin(), letters.end(), 'E') != 1 ||
        std::count(letters.begin(), letters.end(), 'L') != 1)
    {
        return "must begin with its only E (embedding) and end with its only L (loss)";
    }
    const std::size_t module = letters.find('m');
    if (module != std::string::npos && letters.find_first_of("t|", module) != std::string::npos)
    {
        return "has m (prediction module) ahead of other layers than L (loss), beside which it "
               "computes here; allowed: mL at the end";
    }
    return "";
}

} // namespace

PipelineLayout
ParsePipelineLayout(std::string_view given)
{
    PipelineLayout layout;
    if (auto numbers = ParseNumbers(given))
    {
        layout.blocks = std::move(*numbers);
    }
    else
    {
        std::string text(given);
        text.erase(std::remove(text.begin(), text.end(), ','), text.end());
        const auto groups = Unrolled(text, true);
        const auto letters = groups ? Unrolled(*groups, false) : std::nullopt;
        layout.problem = letters ? ProblemOf(*letters)
                                 : "has more than " + std::to_string(kMostLetters) + " layers";
        if (!layout.problem.empty())
        {
            return layout;
        }
        layout.blocks.push_back(0);
        for (const char letter : *letters)
        {
            layout.blocks.back() += letter == 't' ? 1 : 0;
            if (letter == '|')
            {
                layout.blocks.push_back(0);
            }
        }
        layout.predictors =
            static_cast<uint32_t>(std::count(letters->begin(), letters->end(), 'm'));
    }
    const std::size_t pieces = layout.blocks.size();
    for (std::size_t i = 1; i + 1 < pieces; ++i)
    {
        if (layout.blocks[i] == 0)
        {
            layout.problem = "has no layers in " + Ordinal(i, pieces) + "; allowed: at least one";
            break;
        }
    }
    return layout;
}

} // namespace training
