/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/formats/capture/capture-findings.h"

#include "scenarios/formats/input-file.h"
#include "topologies/json-text.h"
#include "topologies/names.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <utility>

namespace formats
{

using nlohmann::json;

namespace
{

/// Mistakes that leave ranks waiting for what never comes, or for something else.
constexpr std::array<const char*, 4> kDeadlocks = {"mismatch", "order", "missing", "unmatched"};

std::string
TextOf(const json& object, const char* key)
{
    const auto found = object.find(key);
    return found != object.end() && found->is_string() ? found->get<std::string>() : "";
}

uint64_t
WholeOf(const json& object, const char* key)
{
    const auto found = object.find(key);
    return found != object.end() && found->is_number_unsigned() ? found->get<uint64_t>() : 0;
}

/// A member that is a list; else an empty one.
json
ListOf(const json& object, const char* key)
{
    const auto found = object.find(key);
    return found != object.end() && found->is_array() ? *found : json::array();
}

Mistake
MistakeOf(const json& object)
{
    Mistake mistake;
    mistake.kind = TextOf(object, "kind");
    mistake.text = TextOf(object, "text");
    for (const json& rank : ListOf(object, "ranks"))
    {
        if (rank.is_number_unsigned())
        {
            mistake.ranks.push_back(rank.get<uint64_t>());
        }
    }
    for (const json& line : ListOf(object, "lines"))
    {
        if (line.is_string())
        {
            mistake.lines.push_back(line.get<std::string>());
        }
    }
    return mistake;
}

} // namespace

std::optional<Findings>
ReadFindings(const std::string& folder)
{
    const std::string file = folder + "/meta.json";
    if (!IsFile(file))
    {
        return std::nullopt;
    }
    std::vector<topo::Error> errors;
    const auto text = ReadInput(file, errors);
    const json meta = text ? topo::JsonOrDiscarded(*text) : json();
    if (!meta.is_object() || TextOf(meta, "format") != "dltrain-capture")
    {
        return std::nullopt;
    }
    Findings findings;
    findings.folder = folder;
    findings.world = WholeOf(meta, "world");
    findings.captured = ListOf(meta, "captured").size();
    const auto status = meta.find("exit_status");
    if (status != meta.end() && status->is_number_integer())
    {
        findings.exitStatus = status->get<int64_t>();
    }
    const auto steps = meta.find("steps");
    if (steps != meta.end() && steps->is_object())
    {
        findings.steps = WholeOf(*steps, "count");
        findings.endedBy = TextOf(*steps, "ended_by");
    }
    for (const json& memory : ListOf(meta, "memory"))
    {
        if (memory.is_object() && WholeOf(memory, "peak_reserved_bytes") > findings.reservedBytes)
        {
            findings.memoryRank = WholeOf(memory, "rank");
            findings.allocatedBytes = WholeOf(memory, "peak_allocated_bytes");
            findings.reservedBytes = WholeOf(memory, "peak_reserved_bytes");
        }
    }
    for (const json& mistake : ListOf(meta, "mistakes"))
    {
        if (mistake.is_object())
        {
            findings.mistakes.push_back(MistakeOf(mistake));
        }
    }
    return findings;
}

std::string
WhyNotSimulated(const Findings& findings)
{
    for (const Mistake& mistake : findings.mistakes)
    {
        const auto found = std::find(kDeadlocks.begin(), kDeadlocks.end(), mistake.kind);
        if (found != kDeadlocks.end())
        {
            return "not simulated: the script has a mistake (" + mistake.kind +
                   ") with which its ranks would wait for ever";
        }
    }
    if (findings.exitStatus != 0)
    {
        return "not simulated: the script failed (status " + std::to_string(findings.exitStatus) +
               ")";
    }
    return "";
}

} // namespace formats
