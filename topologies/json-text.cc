/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "topologies/json-text.h"

#include "contrib/rdma/core/shown-text.h"

#include <algorithm>
#include <set>
#include <vector>

namespace topo
{

using nlohmann::json;

namespace
{

constexpr int kDeepest = 100;

/// "file:line:column" of byte `position` (counted from 1, as nlohmann's parse_error does).
std::string
Place(const std::string& text, const std::string& file, size_t position)
{
    size_t line = 1;
    size_t column = 1;
    const size_t end = std::min(position > 0 ? position - 1 : 0, text.size());
    for (size_t i = 0; i < end; ++i)
    {
        if (text[i] == '\n')
        {
            ++line;
            column = 1;
        }
        else
        {
            ++column;
        }
    }
    return file + ":" + std::to_string(line) + ":" + std::to_string(column);
}

/// The byte, counted from 0, of the bracket that is one too deep.
size_t
TooDeepAt(const std::string& text)
{
    size_t found = 0;
    ForEachBracket(text, 0, [&found](size_t at, int depth) {
        const bool tooDeep = depth > kDeepest + 1; // the callback counts those above
        found = tooDeep ? at : 0;
        return !tooDeep;
    });
    return found;
}

/// The text in quotes in nlohmann's message: "1e999".
std::string
QuotedIn(const std::string& what)
{
    const size_t first = what.find('\'');
    const size_t last = what.rfind('\'');
    return first < last ? what.substr(first + 1, last - first - 1) : "";
}

/// \param what of a json::out_of_range
std::string
TooLarge(const std::string& what)
{
    return "the number '" + rdma::Shown(QuotedIn(what), 40) +
           "' is beyond the range of double-precision numbers";
}

} // namespace

std::string
JsonReason(const std::string& what)
{
    static const std::string kMark = "column ";
    std::string reason = what;
    if (what.find("number overflow") != std::string::npos)
    {
        return TooLarge(what);
    }
    if (const auto at = what.find(kMark); at != std::string::npos)
    {
        if (const auto colon = what.find(": ", at); colon != std::string::npos)
        {
            reason = what.substr(colon + 2);
        }
    }
    for (char& c : reason)
    {
        if (static_cast<unsigned char>(c) < 0x20)
        {
            c = ' ';
        }
    }
    return rdma::Shown(reason, 400); // it quotes the text that was read last, whole
}

size_t
JsonByte(const json::exception& error, const std::string& text)
{
    if (const auto* parse = dynamic_cast<const json::parse_error*>(&error))
    {
        return parse->byte > 0 ? parse->byte - 1 : 0;
    }
    const size_t at = text.find(QuotedIn(error.what()));
    return at == std::string::npos ? 0 : at;
}

JsonText
ParseJsonText(const std::string& text, const std::string& file)
{
    JsonText result;
    std::vector<std::set<std::string>> keys;
    std::string repeated;
    std::string cut; // has a NUL: readers of numbers and names would see only the text before it
    bool tooDeep = false;
    const auto watch = [&](int depth, json::parse_event_t event, json& parsed) {
        if (depth > kDeepest)
        {
            tooDeep = true; // printing a value is recursive
            return false;
        }
        switch (event)
        {
        case json::parse_event_t::object_start:
            keys.emplace_back();
            break;
        case json::parse_event_t::object_end:
            if (!keys.empty())
            {
                keys.pop_back();
            }
            break;
        case json::parse_event_t::key:
            if (!keys.empty() && !keys.back().insert(parsed.get<std::string>()).second &&
                repeated.empty())
            {
                repeated = parsed.get<std::string>();
            }
            break;
        default:
            break;
        }
        if ((event == json::parse_event_t::key || event == json::parse_event_t::value) &&
            parsed.is_string() && cut.empty() &&
            parsed.get_ref<const std::string&>().find('\0') != std::string::npos)
        {
            cut = parsed.get<std::string>();
        }
        return true;
    };
    // The parser takes it for the end, and would not look at later text.
    if (const std::size_t nul = text.find('\0'); nul != std::string::npos)
    {
        result.error = {"",
                        "",
                        "malformed JSON: a NUL byte; allowed: text",
                        "",
                        Place(text, file, nul + 1)};
        return result;
    }
    try
    {
        result.value = json::parse(text, watch);
    }
    catch (const json::exception& e) // malformed, or a number out of range
    {
        result.error = {"",
                        "",
                        "malformed JSON: " + JsonReason(e.what()),
                        "",
                        Place(text, file, JsonByte(e, text) + 1)};
        return result;
    }
    if (tooDeep)
    {
        result.value = nullptr;
        result.error = {"",
                        "",
                        "more than " + std::to_string(kDeepest) +
                            " objects and lists within each other",
                        "",
                        Place(text, file, TooDeepAt(text) + 1)};
        return result;
    }
    if (!cut.empty())
    {
        const size_t at = text.find("\\u0000");
        result.error = {"",
                        "",
                        "the string " + rdma::Shown(json(cut).dump(), 100) +
                            " has a NUL character; allowed: strings without",
                        "",
                        at == std::string::npos ? file : Place(text, file, at + 1)};
        return result;
    }
    if (!repeated.empty())
    {
        // The second time it stands there as a key, as near as text search tells.
        const std::string quoted = json(repeated).dump();
        const size_t first = text.find(quoted);
        const size_t second = first == std::string::npos ? first : text.find(quoted, first + 1);
        result.error = {"",
                        "",
                        "the key " + rdma::Shown(quoted, 100) + " stands twice in one object",
                        "",
                        second == std::string::npos ? file : Place(text, file, second + 1)};
    }
    return result;
}

} // namespace topo
