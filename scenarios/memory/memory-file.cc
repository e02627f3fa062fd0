/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/memory/memory-file.h"

#include "contrib/rdma/core/unit-strings.h"
#include "scenarios/training/spec/memory-place.h"
#include "topologies/json-reader.h"
#include "topologies/names.h"

#include <algorithm>
#include <set>

namespace scenario
{

using training::MemoryTier;

namespace
{

constexpr rdma::Duration kLongestLatency = rdma::Milliseconds(1000);

/// A member that is one of some words. \return its index, or nothing and an error
std::optional<std::size_t>
WordOf(topo::JsonObject& in, const char* key, std::string word, const std::vector<std::string>& all)
{
    if (!in.Text(key, word) && in.Has(key))
    {
        return std::nullopt;
    }
    const auto found = std::find(all.begin(), all.end(), word);
    if (found == all.end())
    {
        in.Fail(key, "is not " + topo::JoinNames(all) + topo::DidYouMean(word, all));
        return std::nullopt;
    }
    return found - all.begin();
}

void
ReadTier(topo::JsonObject in, MemoryTier* tier)
{
    if (!in.Only({"name", "per", "devices", "attached", "rate", "latency", "capacity", "reduces"}))
    {
        return;
    }
    in.Name("name", tier->name);
    const auto attached = WordOf(in, "attached", "link", {"link", "switch", "network"});
    const auto per =
        WordOf(in, "per", attached == 2 ? "cluster" : "server", {"gpu", "server", "cluster"});
    if (!attached || !per)
    {
        return;
    }
    tier->attached = static_cast<MemoryTier::Attached>(*attached);
    tier->per = static_cast<MemoryTier::Per>(*per);
    const bool network = tier->attached == MemoryTier::Attached::kNetwork;
    if (network)
    {
        for (const char* key : {"rate", "latency", "devices"})
        {
            if (in.Has(key))
            {
                in.Fail(key,
                        "has no meaning for a tier on the network: it is that of the memory "
                        "servers' NICs");
            }
        }
        if (tier->per != MemoryTier::Per::kCluster)
        {
            in.Fail("per", "is not of a tier on the network; allowed: cluster");
        }
    }
    else
    {
        in.Rate("rate", tier->rate, rdma::Mbps(1), topo::Need::kRequired);
        in.Time("latency", tier->latency, kLongestLatency, "1 s");
        in.Whole("devices", tier->devices, 1, 1 << 20);
    }
    std::string capacity;
    if (in.Text("capacity", capacity))
    {
        const auto bytes = rdma::ParseBytes(capacity);
        if (!bytes || bytes->value == 0)
        {
            in.Fail("capacity", "is no number of bytes above 0, as \"512GiB\"");
        }
        else
        {
            tier->capacity = bytes->value;
        }
    }
    if (in.Flag("reduces", tier->reduces) && tier->reduces &&
        tier->attached != MemoryTier::Attached::kSwitch)
    {
        in.Fail("reduces", "is of tiers at a switch; allowed: \"attached\": \"switch\"");
    }
}

} // namespace

std::optional<std::vector<MemoryTier>>
ReadMemoryTiers(const std::string& text, const std::string& file, std::vector<topo::Error>& errors)
{
    const std::size_t before = errors.size();
    const auto json = topo::ReadJson(text, file, errors);
    if (!json)
    {
        return std::nullopt;
    }
    std::vector<MemoryTier> tiers;
    topo::JsonObject root(*json, "", file, errors);
    if (root.IsObject() && root.Has("memory-type"))
    {
        root.Say("",
                 "is ASTRA-sim's remote memory; allowed here: {\"tiers\": [...]}. "
                 "--remote-memory takes it for the loads and stores of a trace");
        return std::nullopt;
    }
    const nlohmann::json* list =
        root.Only({"tiers"}) ? root.List("tiers", topo::Need::kRequired) : nullptr;
    if (list && (list->empty() || list->size() > training::kMostTiers))
    {
        root.Say("tiers",
                 "has " + topo::Counted(list->size(), "tier") + "; allowed: 1 to " +
                     std::to_string(training::kMostTiers));
    }
    std::set<std::string> names;
    for (std::size_t i = 0; list && i < list->size(); ++i)
    {
        const std::string at = "tiers/" + std::to_string(i);
        ReadTier(root.Inner((*list)[i], at), &tiers.emplace_back());
        if (!names.insert(tiers.back().name).second)
        {
            root.Say(at + "/name", topo::Quoted(tiers.back().name) + " is another one's name, too");
        }
    }
    return errors.size() > before ? std::nullopt : std::optional(tiers);
}

std::optional<std::vector<MemoryTier>>
ReadRemoteMemory(const std::string& text, const std::string& file, std::vector<topo::Error>& errors)
{
    const std::size_t before = errors.size();
    const auto json = topo::ReadJson(text, file, errors);
    if (!json)
    {
        return std::nullopt;
    }
    topo::JsonObject in(*json, "", file, errors);
    if (in.IsObject() && !in.Has("memory-type"))
    {
        in.Say("",
               std::string("is not ASTRA-sim's remote memory: it has no memory-type") +
                   (in.Has("tiers") ? "; --memory takes files of tiers" : ""));
        return std::nullopt;
    }
    if (!in.Only({"memory-type",
                  "remote-mem-latency",
                  "remote-mem-bw",
                  "num-nodes",
                  "num-npus-per-node"}))
    {
        return std::nullopt;
    }
    const auto type = WordOf(in,
                             "memory-type",
                             "",
                             {"NO_MEMORY_EXPANSION",
                              "PER_NODE_MEMORY_EXPANSION",
                              "PER_NPU_MEMORY_EXPANSION",
                              "MEMORY_POOL"});
    if (!type)
    {
        return std::nullopt;
    }
    std::vector<MemoryTier> tiers;
    if (*type > 0)
    {
        MemoryTier& tier = tiers.emplace_back();
        tier.name = "remote";
        double latency = 0;
        double rate = 0;
        in.Real("remote-mem-latency", latency, 0, 1e9, topo::Need::kRequired);
        in.Real("remote-mem-bw", rate, 1e-3, 1e6, topo::Need::kRequired);
        tier.latency = rdma::Duration(std::llround(latency * 1e3));
        tier.rate = rdma::BitRate(static_cast<uint64_t>(std::llround(rate * 8e9)));
        tier.per = *type == 1   ? MemoryTier::Per::kServer
                   : *type == 2 ? MemoryTier::Per::kGpu
                                : MemoryTier::Per::kCluster;
        if (*type == 1)
        {
            in.Whole("num-npus-per-node", tier.gpus, 1, 1 << 20, topo::Need::kRequired);
        }
    }
    return errors.size() > before ? std::nullopt : std::optional(tiers);
}

} // namespace scenario
