/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "topologies/server.h"

#include "contrib/rdma/core/unit-strings.h"
#include "topologies/json-reader.h"
#include "topologies/limits.h"
#include "topologies/names.h"

#include <algorithm>
#include <stdexcept>

namespace topo
{

using nlohmann::json;

namespace
{

const std::vector<std::string> kKinds = {"nvswitch",
                                         "nvlink-mesh",
                                         "pcie"}; // in the order of ScaleUp::Kind

void
ReadScaleUp(JsonObject in, ScaleUp& scaleUp)
{
    if (!in.Only({"kind", "per_gpu", "host_bridge", "efficiency", "latency", "bulk_latency"}))
    {
        return;
    }
    std::string kind;
    if (in.Text("kind", kind, Need::kRequired))
    {
        const auto it = std::find(kKinds.begin(), kKinds.end(), kind);
        if (it == kKinds.end())
        {
            in.Fail("kind", "is not " + JoinNames(kKinds) + DidYouMean(kind, kKinds));
            return;
        }
        scaleUp.kind = static_cast<ScaleUp::Kind>(it - kKinds.begin());
        const bool pcie = scaleUp.kind == ScaleUp::kPcie;
        in.Rate("host_bridge",
                scaleUp.hostBridge,
                kSlowestScaleUp,
                pcie ? Need::kRequired : Need::kOptional);
        if (!pcie && in.Has("host_bridge"))
        {
            in.Fail("host_bridge", "has no meaning for " + kind + ", only for pcie");
        }
    }
    constexpr rdma::Duration kLongestLatency = rdma::Milliseconds(1000);
    in.Rate("per_gpu", scaleUp.perGpu, kSlowestScaleUp, Need::kRequired);
    in.RealAbove("efficiency", scaleUp.efficiency, 0, 1);
    in.Time("latency", scaleUp.latency, kLongestLatency, "1 s", Need::kRequired);
    if (in.Time("bulk_latency", scaleUp.bulkLatency, kLongestLatency, "1 s") &&
        scaleUp.bulkLatency < scaleUp.latency)
    {
        in.Fail("bulk_latency", "is less than latency, " + rdma::ToString(scaleUp.latency));
    }
}

} // namespace

const char*
ToString(ScaleUp::Kind kind)
{
    return kKinds[kind].c_str();
}

std::optional<std::vector<ServerSpec>>
ReadServers(const std::string& text, const std::string& fileName, std::vector<Error>& errors)
{
    const size_t errorsBefore = errors.size();
    const auto document = ReadJson(text, fileName, errors);
    if (!document)
    {
        return std::nullopt;
    }
    JsonObject root(*document, "", fileName, errors);
    if (!root.Only({"servers"}))
    {
        return std::nullopt;
    }
    const json* list = root.List("servers", Need::kRequired);
    std::vector<ServerSpec> servers;
    for (size_t i = 0; list && i < list->size() && !root.TooMany(); ++i)
    {
        JsonObject in = root.Inner((*list)[i], "servers/" + std::to_string(i));
        if (!in.Only({"name", "gpu", "gpus", "nics", "nic_rate", "scale_up", "source"}))
        {
            continue;
        }
        ServerSpec spec;
        if (in.Text("name", spec.name, Need::kRequired) &&
            (spec.name.empty() || FindServer(servers, spec.name)))
        {
            in.Fail("name", "is empty, or the name of an earlier server, too");
        }
        in.Text("gpu", spec.gpu, Need::kRequired);
        in.Whole("gpus", spec.gpus, 1, kMostGpus, Need::kRequired);
        in.Whole("nics", spec.nics, 1, kMostNics, Need::kRequired);
        in.Rate("nic_rate", spec.nicRate);
        in.Text("source", spec.source);
        if (const json* scaleUp = in.Find("scale_up", Need::kRequired))
        {
            ReadScaleUp(in.Inner(*scaleUp, "scale_up"), spec.scaleUp);
        }
        servers.push_back(std::move(spec));
    }
    if (errors.size() != errorsBefore)
    {
        return std::nullopt;
    }
    return servers;
}

const std::vector<ServerSpec>&
ServerPresets()
{
    static const std::vector<ServerSpec> presets = [] {
        std::vector<Error> errors;
        auto servers = ReadServers(ServerPresetsJson(), "server-presets.cc", errors);
        if (!servers)
        {
            // A test reads them, so this is never seen by a user.
            throw std::logic_error(errors.at(0).Sentence());
        }
        return *servers;
    }();
    return presets;
}

std::vector<std::string>
ServerNames(const std::vector<ServerSpec>& servers)
{
    std::vector<std::string> names;
    for (const ServerSpec& server : servers)
    {
        names.push_back(server.name);
    }
    return names;
}

const ServerSpec*
FindServer(const std::vector<ServerSpec>& servers, const std::string& name)
{
    for (const ServerSpec& server : servers)
    {
        if (SameName(name, server.name))
        {
            return &server;
        }
    }
    return nullptr;
}

const ServerSpec*
FindServerForGpu(const std::vector<ServerSpec>& servers, const std::string& gpu)
{
    for (const ServerSpec& server : servers)
    {
        if (SameName(gpu, server.gpu))
        {
            return &server;
        }
    }
    return nullptr;
}

} // namespace topo
