/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "topologies/server.h"

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

bool
ReadLatency(JsonReader& reader,
            const json& object,
            const std::string& path,
            const char* key,
            bool required,
            rdma::Duration& latency)
{
    if (!reader.Read(object, path, key, required, latency))
    {
        return false;
    }
    if (latency > rdma::Milliseconds(1000))
    {
        reader.Fail(path + "/" + key, &object[key], "is more than 1 s");
        return false;
    }
    return true;
}

void
ReadScaleUp(JsonReader& reader, const json& object, const std::string& path, ScaleUp& scaleUp)
{
    if (!reader.IsObject(
            object,
            path,
            {"kind", "per_gpu", "host_bridge", "efficiency", "latency", "bulk_latency"}))
    {
        return;
    }
    std::string kind;
    if (reader.Read(object, path, "kind", true, kind))
    {
        const auto it = std::find(kKinds.begin(), kKinds.end(), kind);
        if (it == kKinds.end())
        {
            reader.Fail(path + "/kind",
                        &object["kind"],
                        "is not " + JoinNames(kKinds) + DidYouMean(kind, kKinds));
            return;
        }
        scaleUp.kind = static_cast<ScaleUp::Kind>(it - kKinds.begin());
        reader.Read(object,
                    path,
                    "host_bridge",
                    scaleUp.kind == ScaleUp::kPcie,
                    kSlowestScaleUp,
                    scaleUp.hostBridge);
        if (scaleUp.kind != ScaleUp::kPcie && object.contains("host_bridge"))
        {
            reader.Fail(path + "/host_bridge",
                        &object["host_bridge"],
                        "has no meaning for " + kind + ", only for pcie");
        }
    }
    reader.Read(object, path, "per_gpu", true, kSlowestScaleUp, scaleUp.perGpu);
    reader.Read(object, path, "efficiency", false, 0.0, 1.0, scaleUp.efficiency);
    ReadLatency(reader, object, path, "latency", true, scaleUp.latency);
    if (ReadLatency(reader, object, path, "bulk_latency", false, scaleUp.bulkLatency) &&
        scaleUp.bulkLatency < scaleUp.latency)
    {
        reader.Fail(path + "/bulk_latency",
                    &object["bulk_latency"],
                    "is less than latency, " + rdma::ToString(scaleUp.latency));
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
    JsonReader reader(fileName, errors);
    const auto document = reader.Parse(text);
    if (!document || !reader.IsObject(*document, "", {"servers"}))
    {
        return std::nullopt;
    }
    const json* list = reader.Member(*document, "", "servers", true);
    if (list && !list->is_array())
    {
        reader.Fail("/servers", list, "is not a list");
        list = nullptr;
    }
    std::vector<ServerSpec> servers;
    for (size_t i = 0; list && i < list->size() && !reader.TooMany(); ++i)
    {
        const json& server = (*list)[i];
        const std::string path = "/servers/" + std::to_string(i);
        if (!reader.IsObject(server,
                             path,
                             {"name", "gpu", "gpus", "nics", "nic_rate", "scale_up", "source"}))
        {
            continue;
        }
        ServerSpec spec;
        uint64_t gpus = 0;
        uint64_t nics = 0;
        if (reader.Read(server, path, "name", true, spec.name) &&
            (spec.name.empty() || FindServer(servers, spec.name)))
        {
            reader.Fail(path + "/name",
                        &server["name"],
                        "is empty, or the name of an earlier server, too");
        }
        reader.Read(server, path, "gpu", true, spec.gpu);
        reader.Read(server, path, "gpus", true, 1, kMostGpus, gpus);
        reader.Read(server, path, "nics", true, 1, kMostNics, nics);
        reader.Read(server, path, "nic_rate", false, kSlowestLink, spec.nicRate);
        reader.Read(server, path, "source", false, spec.source);
        if (const json* scaleUp = reader.Member(server, path, "scale_up", true))
        {
            ReadScaleUp(reader, *scaleUp, path + "/scale_up", spec.scaleUp);
        }
        spec.gpus = static_cast<uint32_t>(gpus);
        spec.nics = static_cast<uint32_t>(nics);
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
