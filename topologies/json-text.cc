/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "topologies/json-text.h"

#include "contrib/rdma/core/shown-text.h"
#include "topologies/json-builder.h"

#include <algorithm>

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

namespace
{

/// Hears of what is wrong although it is JSON.
class Watch : public JsonBuilder
{
  public:
    std::string repeated;
    std::string cut; ///< has a NUL: readers of numbers and names would see only the text before it
    bool tooDeep = false;

  private:
    bool OnKey(int, const std::string& key, bool again) override
    {
        repeated = again && repeated.empty() ? key : repeated;
        return OnText(key);
    }

    bool OnText(const std::string& text) override
    {
        cut = cut.empty() && text.find('\0') != std::string::npos ? text : cut;
        return true;
    }

    bool OnOpen(int depth) override
    {
        tooDeep = depth > kDeepest + 1; // printing a value is recursive
        return !tooDeep;
    }
};

} // namespace

JsonText
ParseJsonText(const std::string& text, const std::string& file)
{
    JsonText result;
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
    Watch watch;
    watch.Read(text);
    if (!watch.Reason().empty()) // malformed, or a number out of range
    {
        result.error = {"",
                        "",
                        "malformed JSON: " + watch.Reason(),
                        "",
                        Place(text, file, watch.Byte() + 1)};
        return result;
    }
    if (watch.tooDeep)
    {
        result.error = {"",
                        "",
                        "more than " + std::to_string(kDeepest) +
                            " objects and lists within each other",
                        "",
                        Place(text, file, TooDeepAt(text) + 1)};
        return result;
    }
    result.value = watch.Take();
    const std::string& cut = watch.cut;
    const std::string& repeated = watch.repeated;
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

json
JsonOrDiscarded(const std::string& text)
{
    JsonText parsed = ParseJsonText(text, "");
    return parsed.error ? json(json::value_t::discarded) : std::move(parsed.value);
}

bool
IsTooDeep(const std::string& text)
{
    return TooDeepAt(text) > 0;
}

} // namespace topo
