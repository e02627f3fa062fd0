/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/formats/capture/capture-meta.h"

#include "contrib/rdma/core/shown-text.h"
#include "scenarios/formats/capture/capture-object.h"
#include "scenarios/formats/input-file.h"
#include "scenarios/formats/recording.h"
#include "topologies/json-text.h"
#include "topologies/names.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

namespace formats
{

using coll::Rank;
using nlohmann::json;

namespace
{

constexpr uint64_t kVersion = 1;
constexpr std::size_t kMostNotes = 8; ///< notes of a capture itself

/// Reads the format, and the number of ranks.
bool
ReadHead(CaptureObject& meta, CaptureMeta* read)
{
    if (meta.Has("format") && meta.Text("format") != "dltrain-capture")
    {
        return meta.Fail("format is " + topo::Quoted(meta.Text("format")) +
                         "; allowed: \"dltrain-capture\"");
    }
    const uint64_t version = meta.Whole("version", 1000000, 0);
    if (version != kVersion)
    {
        return meta.Fail("version " + std::to_string(version) +
                         "; allowed: " + std::to_string(kVersion));
    }
    read->ranks = static_cast<uint32_t>(meta.Whole("world", kMostRanks, 0));
    if (meta.IsFine() && read->ranks == 0)
    {
        return meta.Fail("world is 0, or missing; allowed: 1 to " + std::to_string(kMostRanks));
    }
    read->gpusPerServer = static_cast<uint32_t>(meta.Whole("gpus_per_server", 1024, 0));
    return meta.IsFine();
}

bool
ReadGroups(CaptureObject& meta, CaptureMeta* read)
{
    if (!meta.Has("groups") || !meta.At("groups").is_array())
    {
        return meta.Fail("groups is missing, or no list");
    }
    for (const json& kind : meta.At("groups"))
    {
        training::GroupKind& made = read->groupKinds.emplace_back();
        if (!kind.is_object() || !kind.contains("groups") || !kind["groups"].is_array())
        {
            return meta.Fail("groups has a kind without a list of groups");
        }
        if (kind.contains("name") && !kind["name"].is_string())
        {
            return meta.Fail("groups has a kind whose name is no text");
        }
        made.name = kind.value("name", "group");
        std::vector<bool> taken(read->ranks);
        for (const json& group : kind["groups"])
        {
            std::vector<Rank>& ranks = made.groups.emplace_back();
            for (const json& rank : group.is_array() ? group : json::array({-1}))
            {
                if (!rank.is_number_unsigned() || rank.get<uint64_t>() >= read->ranks ||
                    taken[rank.get<Rank>()])
                {
                    return meta.Fail("groups: \"" + rdma::Shown(made.name, 60) +
                                     "\" has what is no rank, or a rank twice; allowed: 0 to " +
                                     std::to_string(read->ranks - 1) + ", each once");
                }
                ranks.push_back(rank.get<Rank>());
                taken[ranks.back()] = true;
            }
            if (ranks.empty())
            {
                return meta.Fail("groups: \"" + rdma::Shown(made.name, 60) +
                                 "\" has a group without ranks");
            }
        }
    }
    return true;
}

bool
ReadRoles(CaptureObject& meta, CaptureMeta* read)
{
    const uint64_t last = read->ranks - 1;
    std::set<Rank> captured;
    for (const uint64_t rank : meta.Wholes("ranks", last))
    {
        captured.insert(static_cast<Rank>(rank));
    }
    for (const uint64_t role : meta.Wholes("role_of", last))
    {
        if (!captured.count(static_cast<Rank>(role)))
        {
            return meta.Fail("role_of names rank " + std::to_string(role) +
                             ", which is none of \"ranks\"");
        }
        read->roleOf.push_back(static_cast<Rank>(role));
    }
    if (meta.IsFine() && read->roleOf.size() != read->ranks)
    {
        return meta.Fail("role_of has " + std::to_string(read->roleOf.size()) +
                         " ranks; allowed: as many as \"world\" says, " +
                         std::to_string(read->ranks));
    }
    read->captured.assign(captured.begin(), captured.end());
    return meta.IsFine();
}

bool
ReadSteps(CaptureObject& meta,
          const std::string& file,
          std::vector<topo::Error>& errors,
          CaptureMeta* read)
{
    if (!meta.Has("steps") || !meta.At("steps").is_object())
    {
        return meta.Fail("steps is missing");
    }
    CaptureObject steps(meta.At("steps"), file, "/steps", errors);
    const auto take = steps.Wholes("take", INT32_MAX);
    if (!steps.IsFine() || take.empty())
    {
        return steps.Fail("take has no step");
    }
    read->step = take.front();
    if (steps.Has("count"))
    {
        const uint64_t count = steps.Whole("count", INT32_MAX, 0);
        for (const uint64_t one : take)
        {
            if (steps.IsFine() && one >= count)
            {
                return steps.Fail("take has step " + std::to_string(one) + " of " +
                                  std::to_string(count) + "; allowed: 0 to " +
                                  std::to_string(count == 0 ? 0 : count - 1));
            }
        }
        if (!steps.IsFine())
        {
            return false;
        }
    }
    if (take.size() > 1)
    {
        read->notes.push_back("of " + topo::Counted(take.size(), "step") + " step " +
                              std::to_string(read->step) + " is run, again and again");
    }
    return true;
}

/// Reads what the step trains, where the capture knows it.
bool
ReadWork(CaptureObject& meta,
         const std::string& file,
         std::vector<topo::Error>& errors,
         CaptureMeta* read)
{
    if (!meta.Has("work"))
    {
        return true;
    }
    if (!meta.At("work").is_object())
    {
        return meta.Fail("work is no JSON object");
    }
    constexpr uint64_t kMost = uint64_t{1} << 50;
    CaptureObject work(meta.At("work"), file, "/work", errors);
    read->samples = work.Whole("samples", kMost, 0);
    read->tokens = work.Whole("tokens", kMost, 0);
    return work.IsFine();
}

/// Checks the keys that ReadFindings (capture-findings.h) and ReadNotes take without checks.
bool
CheckFindings(CaptureObject& meta, const std::string& file, std::vector<topo::Error>& errors)
{
    if (meta.Has("exit_status") && !meta.At("exit_status").is_number_integer())
    {
        return meta.Fail("exit_status is no whole number");
    }
    for (const char* list : {"mistakes", "notes", "memory"})
    {
        if (meta.Has(list) && !meta.At(list).is_array())
        {
            return meta.Fail(std::string(list) + " is no list");
        }
        for (const json& one : meta.Has(list) ? meta.At(list) : json::array())
        {
            const bool isText = std::string(list) == "notes";
            if (isText ? !one.is_string() : !one.is_object())
            {
                return meta.Fail(std::string(list) + " has what is no " +
                                 (isText ? "text" : "JSON object"));
            }
            CaptureObject inside(one, file, std::string("/") + list, errors);
            inside.Whole("peak_allocated_bytes", kMostBytes, 0);
            inside.Whole("peak_reserved_bytes", kMostBytes, 0);
            if (!inside.IsFine())
            {
                return false;
            }
        }
    }
    return true;
}

void
ReadGpu(const CaptureObject& meta, CaptureMeta* read)
{
    if (meta.Has("gpu") && meta.At("gpu").is_object())
    {
        const json name = meta.At("gpu").value("name", json());
        read->gpu = name.is_string() ? name.get<std::string>() : "";
    }
}

void
ReadTorch(const CaptureObject& meta, CaptureMeta* read)
{
    if (meta.Has("torch") && meta.At("torch").is_string())
    {
        read->torch = rdma::Shown(meta.At("torch").get<std::string>(), 20);
    }
}

/// Mistakes in the script, and what the capture could not know.
void
ReadNotes(const CaptureObject& meta, const std::string& file, CaptureMeta* read)
{
    std::vector<std::string> said;
    for (const char* list : {"mistakes", "notes"})
    {
        for (const json& one : meta.Has(list) ? meta.At(list) : json::array())
        {
            const json& text = one.is_object() && one.contains("text") ? one["text"] : one;
            if (text.is_string())
            {
                said.push_back((one.is_object() ? "mistake: " : "") + text.get<std::string>());
            }
        }
    }
    for (std::size_t i = 0; i < std::min(said.size(), kMostNotes); ++i)
    {
        read->notes.push_back(rdma::Shown(said[i], 300));
    }
    if (said.size() > kMostNotes)
    {
        read->notes.push_back(std::to_string(said.size() - kMostNotes) + " more notes in " + file);
    }
}

} // namespace

std::optional<CaptureMeta>
ReadCaptureMeta(const std::string& folder, std::vector<topo::Error>& errors)
{
    const std::string file = folder + "/meta.json";
    const auto text = ReadInput(file, errors);
    if (!text)
    {
        return std::nullopt;
    }
    topo::JsonText parsed = topo::ParseJsonText(*text, file);
    if (!parsed.error.problem.empty())
    {
        errors.push_back(std::move(parsed.error));
        return std::nullopt;
    }
    const json document = std::move(parsed.value);
    CaptureObject meta(document, file, "", errors);
    if (!document.is_object())
    {
        meta.Fail("is no JSON object");
        return std::nullopt;
    }
    CaptureMeta read;
    if (!ReadHead(meta, &read) || !ReadGroups(meta, &read) || !ReadRoles(meta, &read) ||
        !ReadSteps(meta, file, errors, &read) || !ReadWork(meta, file, errors, &read) ||
        !CheckFindings(meta, file, errors))
    {
        return std::nullopt;
    }
    ReadGpu(meta, &read);
    ReadTorch(meta, &read);
    ReadNotes(meta, file, &read);
    return read;
}

} // namespace formats
