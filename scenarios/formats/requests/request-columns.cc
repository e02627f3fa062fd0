/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/formats/requests/request-columns.h"

#include "contrib/rdma/core/shown-text.h"
#include "scenarios/inference/requests.h"
#include "topologies/names.h"

#include <algorithm>

namespace formats
{

namespace
{

constexpr int kS = 12;
constexpr int kMs = 9;
constexpr int kUs = 6;
constexpr int kNs = 3;

/// "gpu, model and 9 more".
std::string
NamesText(const std::vector<std::string>& names)
{
    std::string text;
    for (const std::string& name : names)
    {
        text += (text.empty() ? "" : ", ") + rdma::Shown(name, 40);
        if (text.size() > 300)
        {
            return text + ", ...";
        }
    }
    return text;
}

std::size_t
FindFirst(const std::vector<std::string>& names, const std::vector<std::string>& wanted)
{
    for (const std::string& name : wanted)
    {
        if (const std::size_t at = FindColumn(names, name); at != kNoColumn)
        {
            return at;
        }
    }
    return kNoColumn;
}

std::string
Missing(const char* what,
        const std::vector<std::string>& names,
        const std::vector<std::string>& allowed)
{
    return std::string("no column has ") + what + "; allowed: " + topo::JoinNames(allowed) +
           "; there are: " + NamesText(names);
}

} // namespace

const std::vector<TimeColumn>&
ArrivalColumns()
{
    static const std::vector<TimeColumn> columns = {
        {"arrival_s", kS},
        {"arrival_ms", kMs},
        {"arrival_us", kUs},
        {"arrival_ns", kNs},
        {"arrival_ps", 0},
        {"arrived_at", kS},        // Vidur
        {"arrival_timestamp", kS}, // Splitwise
        {"arrival_time", kS},
        {"arrival", kS},
        {"timestamp_s", kS},
        {"timestamp_ms", kMs},
        {"timestamp", kS}, // Azure, BurstGPT; of Mooncake ms
    };
    return columns;
}

const std::vector<std::string>&
PromptColumns()
{
    static const std::vector<std::string> columns = {
        "input_tokens",
        "prompt_tokens",
        "ContextTokens",      // Azure
        "Request tokens",     // BurstGPT
        "input_length",       // Mooncake
        "num_prefill_tokens", // Vidur
        "prompt_size",        // Splitwise
        "prompt_len",         // vLLM's benchmarks
        "prompt",
    };
    return columns;
}

const std::vector<std::string>&
OutputColumns()
{
    static const std::vector<std::string> columns = {
        "output_tokens",
        "completion_tokens",
        "GeneratedTokens",   // Azure
        "Response tokens",   // BurstGPT
        "output_length",     // Mooncake
        "num_decode_tokens", // Vidur
        "token_size",        // Splitwise
        "output_len",        // vLLM's benchmarks
        "output",
    };
    return columns;
}

const std::vector<std::string>&
RunColumns()
{
    static const std::vector<std::string> columns = {"gpu", "model", "run"};
    return columns;
}

std::size_t
FindColumn(const std::vector<std::string>& names, const std::string& name)
{
    const auto at = std::find_if(names.begin(), names.end(), [&name](const std::string& other) {
        return topo::SameName(name, other);
    });
    return at == names.end() ? kNoColumn : static_cast<std::size_t>(at - names.begin());
}

RequestColumns
FindRequestColumns(const std::vector<std::string>& names, bool milliseconds)
{
    RequestColumns columns;
    for (const TimeColumn& column : ArrivalColumns())
    {
        columns.arrival = FindColumn(names, column.name);
        columns.digits = milliseconds && column.name == "timestamp" ? kMs : column.digits;
        if (columns.arrival != kNoColumn)
        {
            break;
        }
    }
    columns.prompt = FindFirst(names, PromptColumns());
    columns.output = FindFirst(names, OutputColumns());
    if (columns.prompt == kNoColumn)
    {
        columns.problem = Missing("the prompt's tokens", names, PromptColumns());
    }
    else if (columns.output == kNoColumn)
    {
        columns.problem = Missing("the answer's tokens", names, OutputColumns());
    }
    return columns;
}

std::optional<WidePs>
ParseArrival(const std::string& text, int digits)
{
    const auto number = ParseDecimalTime(text, digits);
    return number ? number : ParseDateTime(text);
}

std::optional<uint32_t>
ParseTokenCount(const std::string& text)
{
    const std::size_t point = std::min(text.find('.'), text.size());
    const bool whole =
        point > 0 && point <= 8 &&
        std::all_of(text.begin(),
                    text.begin() + static_cast<std::ptrdiff_t>(point),
                    [](char c) { return c >= '0' && c <= '9'; }) &&
        std::all_of(text.begin() + static_cast<std::ptrdiff_t>(std::min(point + 1, text.size())),
                    text.end(),
                    [](char c) { return c == '0'; });
    if (!whole)
    {
        return std::nullopt;
    }
    const unsigned long value = std::stoul(text.substr(0, point));
    return value <= serving::kMostTokens ? std::optional(static_cast<uint32_t>(value))
                                         : std::nullopt;
}

} // namespace formats
