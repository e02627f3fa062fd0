/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "topologies/server.h"

#include "contrib/rdma/core/unit-strings.h"
#include "topologies/json-reader.h"
#include "topologies/limits.h"
#include "topologies/names.h"

#include <algorithm>
#include <array>
#include <stdexcept>

namespace topo
{

using nlohmann::json;

namespace
{

const std::vector<std::string> kKinds = {"nvswitch",
                                         "nvlink-mesh",
                                         "pcie",
                                         "nvlink-islands"}; // in the order of ScaleUp::Kind

/// \param need kOptional: `scaleUp` is another server's, which holds where nothing is said
/// \param between islands, so of PCIe
void
ReadScaleUp(JsonObject in, ScaleUp& scaleUp, Need need, bool between = false)
{
    if (!in.Only({"kind",
                  "per_gpu",
                  "host_bridge",
                  "efficiency",
                  "latency",
                  "bulk_latency",
                  "adds",
                  "island",
                  "between",
                  "rack",
                  "spine_share"}))
    {
        return;
    }
    std::string kind = ToString(scaleUp.kind);
    if (in.Text("kind", kind, need) || (need == Need::kOptional && !in.Has("kind")))
    {
        const auto it = std::find(kKinds.begin(), kKinds.end(), kind);
        if (it == kKinds.end())
        {
            in.Fail("kind", "is not " + JoinNames(kKinds) + DidYouMean(kind, kKinds));
            return;
        }
        if (static_cast<ScaleUp::Kind>(it - kKinds.begin()) != scaleUp.kind)
        {
            scaleUp = {}; // of other links nothing holds
            need = Need::kRequired;
        }
        scaleUp.kind = static_cast<ScaleUp::Kind>(it - kKinds.begin());
        const bool pcie = scaleUp.kind == ScaleUp::kPcie;
        in.Rate("host_bridge", scaleUp.hostBridge, kSlowestScaleUp, pcie ? need : Need::kOptional);
        if (!pcie && in.Has("host_bridge"))
        {
            in.Fail("host_bridge", "has no meaning for " + kind + ", only for pcie");
        }
        const bool islands = scaleUp.kind == ScaleUp::kNvLinkIslands;
        if (between && !pcie)
        {
            in.Fail("kind", "is not what connects islands; allowed: pcie");
            return;
        }
        for (const char* key : {"island", "between"})
        {
            if (!islands && in.Has(key))
            {
                in.Fail(key, "has no meaning for " + kind + ", only for nvlink-islands");
            }
        }
        if (islands)
        {
            in.Whole("island", scaleUp.island, 2, kMostGpus, need);
            if (const json* inner = in.Find("between", need))
            {
                auto links = scaleUp.between ? std::make_shared<ScaleUp>(*scaleUp.between)
                                             : std::make_shared<ScaleUp>();
                ReadScaleUp(in.Inner(*inner, "between"), *links, need, true);
                scaleUp.between = links;
            }
        }
    }
    if (in.Flag("adds", scaleUp.adds) && scaleUp.adds && scaleUp.kind != ScaleUp::kNvSwitch)
    {
        in.Fail("adds", "is only for the switch of kind nvswitch; allowed: false");
    }
    for (const char* key : {"rack", "spine_share"})
    {
        if (in.Has(key) && scaleUp.kind != ScaleUp::kNvSwitch)
        {
            in.Fail(key, "has no meaning for " + kind + ", only for nvswitch");
        }
    }
    in.Whole("rack", scaleUp.rack, 1, kMostGpus);
    in.Real("spine_share", scaleUp.spineShare, 0.001, 1);
    constexpr rdma::Duration kLongestLatency = rdma::Milliseconds(1000);
    in.Rate("per_gpu", scaleUp.perGpu, kSlowestScaleUp, need);
    in.Real("efficiency", scaleUp.efficiency, 0.001, 1);
    in.Time("latency", scaleUp.latency, kLongestLatency, "1 s", need);
    if (in.Time("bulk_latency", scaleUp.bulkLatency, kLongestLatency, "1 s") &&
        scaleUp.bulkLatency < scaleUp.latency)
    {
        in.Fail("bulk_latency", "is less than latency, " + rdma::ToString(scaleUp.latency));
    }
}

constexpr std::array<const char*, kProtocols> kProtocolNames = {"ll",
                                                                "ll128",
                                                                "simple",
                                                                "exchange",
                                                                "nvls"};

/// bulk_from: a message's bytes are counted in 64 bits.
constexpr uint64_t kLargestBurst = uint64_t{1} << 40;
/// NCCL's, but for AMD's CPUs, which have 2 us (src/graph/tuning.cc, getNetOverhead).
constexpr rdma::Duration kNetOverhead = rdma::Microseconds(1);

/// The server that "base" names among those that are known; null, and an error, if none.
const ServerSpec*
BaseOf(JsonObject& in, const std::string& base, const std::vector<const ServerSpec*>& known)
{
    const auto its = std::find_if(known.begin(), known.end(), [&base](const ServerSpec* s) {
        return SameName(base, s->name);
    });
    if (its != known.end())
    {
        return *its;
    }
    std::vector<std::string> names;
    for (const ServerSpec* server : known)
    {
        names.push_back(server->name);
    }
    in.Fail("base", "is no preset" + DidYouMean(base, names));
    return nullptr;
}

/// "fall" and "fall_a_gpu" (library-model.h).
void
ReadFall(JsonObject& in, LibraryModel& library)
{
    constexpr double kGiga = 1e9;
    constexpr double kLeast = 1e-3;
    constexpr double kMost = 1e5;
    double each = library.fallAGpu / kGiga;
    in.Real("fall_a_gpu", each, kLeast, kMost);
    library.fallAGpu = each * kGiga;
    const json* const list = in.List("fall");
    if (!list)
    {
        return;
    }
    library.fall.clear();
    for (std::size_t i = 0; i < list->size() && !in.TooMany(); ++i)
    {
        const std::string place = "fall/" + std::to_string(i);
        JsonObject row = in.Inner((*list)[i], place);
        MeasuredFall fall;
        if (!row.Only({"gpus", "all_reduce", "all_gather", "reduce_scatter"}) ||
            !row.Whole("gpus", fall.gpus, 2, 1u << 24, Need::kRequired))
        {
            continue;
        }
        for (const auto& [key, rate] : {std::pair{"all_reduce", &fall.allReduce},
                                        std::pair{"all_gather", &fall.allGather},
                                        std::pair{"reduce_scatter", &fall.reduceScatter}})
        {
            row.Real(key, *rate, kLeast, kMost, Need::kRequired);
            *rate *= kGiga;
        }
        if (!library.fall.empty() && fall.gpus <= library.fall.back().gpus)
        {
            in.Say(place + "/gpus", "is not above the number of the entry before");
        }
        library.fall.push_back(fall);
    }
}

/// `known`: servers whose library others may build on.
void
ReadLibrary(JsonObject in,
            const std::vector<const ServerSpec*>& known,
            const ScaleUp& scaleUp,
            LibraryModel& library)
{
    if (!in.Only({"base",
                  "launch",
                  "exchange_launch",
                  "exchange_nics",
                  "post",
                  "ll",
                  "ll128",
                  "simple",
                  "exchange",
                  "nvls",
                  "channels",
                  "expects",
                  "fall",
                  "fall_a_gpu",
                  "source"}))
    {
        return;
    }
    std::string base;
    const bool based = in.Text("base", base);
    if (based)
    {
        const ServerSpec* const of = BaseOf(in, base, known);
        if (of == nullptr)
        {
            return;
        }
        library = of->library;
        if (of->scaleUp.kind != scaleUp.kind)
        {
            library.expects = {}; // of other links inside
        }
    }
    constexpr rdma::Duration kLongest = rdma::Milliseconds(1000);
    in.Time("launch", library.launch, kLongest, "1 s");
    in.Time("exchange_launch", library.exchangeLaunch, kLongest, "1 s");
    in.Time("post", library.post, kLongest, "1 s");
    in.Whole("exchange_nics", library.exchangeNics, 1, kMostNics);
    in.Text("source", library.source);
    ReadFall(in, library);
    for (uint32_t i = 0; i < kProtocols; ++i)
    {
        const json* part = in.Find(kProtocolNames[i]);
        if (!part)
        {
            if (i == static_cast<uint32_t>(Protocol::kNvls) && !based)
            {
                library.protocols[i] = library.Of(Protocol::kSimple);
            }
            continue;
        }
        JsonObject inner = in.Inner(*part, kProtocolNames[i]);
        if (!inner.Only({"base",
                         "inside",
                         "outside",
                         "inside_share",
                         "outside_share",
                         "between_servers",
                         "bulk_from",
                         "bulk_share"}))
        {
            continue;
        }
        ProtocolTimes& times = library.protocols[i];
        inner.Time("base", times.base, kLongest, "1 s");
        inner.Time("inside", times.inside, kLongest, "1 s");
        inner.Time("outside", times.outside, kLongest, "1 s");
        // A message's bytes on the wire are counted in 64 bits.
        inner.Real("inside_share", times.insideShare, 0.001, 1);
        inner.Real("outside_share", times.outsideShare, 0.001, 1);
        inner.Flag("between_servers", times.betweenServers);
        // One of them is useless without the other, unless the base has it.
        const bool bulk = inner.Has("bulk_from") || inner.Has("bulk_share");
        const Need need = bulk && times.bulkFrom == 0 ? Need::kRequired : Need::kOptional;
        inner.Whole("bulk_from", times.bulkFrom, 1, kLargestBurst, need);
        inner.Real("bulk_share", times.bulkShare, 0.001, 1, need);
    }
    if (const json* part = in.Find("expects"))
    {
        JsonObject inner = in.Inner(*part, "expects");
        LibraryExpectations& expects = library.expects;
        const Need need = expects.nicRate.bps ? Need::kOptional : Need::kRequired;
        if (scaleUp.kind != ScaleUp::kNvSwitch && scaleUp.kind != ScaleUp::kNvLinkMesh)
        {
            in.Say("expects",
                   "has no meaning for " + std::string(ToString(scaleUp.kind)) +
                       ", only for nvswitch and nvlink-mesh");
        }
        else if (inner.Only({"nic_rate", "net_latency", "net_overhead"}))
        {
            expects.netOverhead = expects.nicRate.bps ? expects.netOverhead : kNetOverhead;
            inner.Rate("nic_rate", expects.nicRate, kSlowestLink, need);
            inner.Time("net_latency", expects.netLatency, kLongest, "1 s");
            inner.Time("net_overhead", expects.netOverhead, kLongest, "1 s");
        }
    }
    if (const json* part = in.Find("channels"))
    {
        JsonObject inner = in.Inner(*part, "channels");
        ExchangeChannels& channels = library.channels;
        // All of them, unless the base has the others.
        const Need need = channels.inServer ? Need::kOptional : Need::kRequired;
        if (inner.Only({"inside", "outside", "in_server", "a_nic", "most"}))
        {
            inner.Rate("inside", channels.inside, kSlowestScaleUp, need);
            inner.Rate("outside", channels.outside, kSlowestScaleUp, need);
            inner.Whole("in_server", channels.inServer, 1, kMostChannels, need);
            inner.Whole("a_nic", channels.aNic, 1, kMostChannels, need);
            inner.Whole("most", channels.most, 1, kMostChannels, need);
        }
    }
    const ProtocolTimes& simple = library.Of(Protocol::kSimple);
    if (!simple.betweenServers)
    {
        in.Say("simple/between_servers",
               "false: one protocol has to work everywhere, and that is "
               "simple; allowed: true");
    }
}

} // namespace

const char*
ToString(Protocol protocol)
{
    return kProtocolNames[static_cast<std::size_t>(protocol == Protocol::kNvls ? Protocol::kSimple
                                                                               : protocol)];
}

LibraryModel
ExpectedLibrary(const ScaleUp& scaleUp)
{
    const bool pcie = scaleUp.kind == ScaleUp::kPcie;
    LibraryModel library;
    library.launch = rdma::Microseconds(15);
    library.exchangeLaunch = rdma::Microseconds(15);
    ProtocolTimes& ll = library.Of(Protocol::kLl);
    ll.base = rdma::Nanoseconds(6600);
    ll.inside = scaleUp.latency;
    ll.outside = rdma::Nanoseconds(2700);
    ll.insideShare = 0.5;
    ll.outsideShare = 0.5;
    ProtocolTimes& ll128 = library.Of(Protocol::kLl128);
    ll128.base = rdma::Nanoseconds(14000);
    ll128.inside = rdma::Nanoseconds(pcie ? 2500 : 1900);
    ll128.outside = rdma::Nanoseconds(4000);
    ll128.insideShare = 0.92;
    ll128.outsideShare = 120.0 / 128;
    ll128.betweenServers = !pcie;
    ProtocolTimes& simple = library.Of(Protocol::kSimple);
    simple.base = rdma::Nanoseconds(8400);
    simple.inside = scaleUp.bulkLatency.ps ? scaleUp.bulkLatency : scaleUp.latency;
    simple.outside = rdma::Nanoseconds(14000);
    ProtocolTimes& exchange = library.Of(Protocol::kExchange);
    exchange.inside = simple.inside;
    exchange.outside = simple.outside;
    library.Of(Protocol::kNvls) = simple;
    library.source = "what NCCL expects (src/graph/tuning.cc); launch: assumed";
    return library;
}

const char*
ToString(ScaleUp::Kind kind)
{
    return kKinds[kind].c_str();
}

namespace
{

/// A server; what it does not say is its base's. `known`: servers that it may build on.
void
ReadServer(JsonObject in, const std::vector<const ServerSpec*>& known, ServerSpec& spec)
{
    if (!in.Only(
            {"name", "base", "gpu", "gpus", "nics", "nic_rate", "scale_up", "library", "source"}))
    {
        return;
    }
    std::string base;
    const ServerSpec* of = nullptr;
    if (in.Text("base", base))
    {
        of = BaseOf(in, base, known);
        if (of == nullptr)
        {
            return;
        }
        spec = *of;
        spec.name.clear();
        spec.source = "as " + of->name;
    }
    const Need need = of ? Need::kOptional : Need::kRequired;
    in.Name("name", spec.name);
    in.Text("gpu", spec.gpu, need);
    in.Whole("gpus", spec.gpus, 1, kMostGpus, need);
    in.Whole("nics", spec.nics, 1, kMostNics, need);
    in.Rate("nic_rate", spec.nicRate);
    in.Text("source", spec.source);
    if (const json* scaleUp = in.Find("scale_up", need))
    {
        ReadScaleUp(in.Inner(*scaleUp, "scale_up"), spec.scaleUp, need);
    }
    if (of == nullptr || of->scaleUp.kind != spec.scaleUp.kind)
    {
        spec.library = ExpectedLibrary(spec.scaleUp);
    }
    if (const json* library = in.Find("library"))
    {
        ReadLibrary(in.Inner(*library, "library"), known, spec.scaleUp, spec.library);
    }
}

/// `before`: servers that those of the text may build on, beside their own.
std::optional<std::vector<ServerSpec>>
ReadServersAfter(const std::vector<ServerSpec>& before,
                 const std::string& text,
                 const std::string& fileName,
                 std::vector<Error>& errors)
{
    const size_t errorsBefore = errors.size();
    const auto document = ReadJson(text, fileName, errors);
    if (!document)
    {
        return std::nullopt;
    }
    JsonObject root(*document, "", fileName, errors);
    std::vector<ServerSpec> servers;
    const auto read = [&](JsonObject in) {
        std::vector<const ServerSpec*> known;
        const auto add = [&known](const ServerSpec& server) { known.push_back(&server); };
        std::for_each(servers.begin(), servers.end(), add);
        std::for_each(before.begin(), before.end(), add);
        ServerSpec spec;
        ReadServer(in, known, spec);
        if (!spec.name.empty() && FindServer(servers, spec.name))
        {
            in.Fail("name", "is the name of an earlier server, too");
        }
        servers.push_back(std::move(spec));
    };
    if (document->is_object() && (document->contains("base") || document->contains("name")))
    {
        read(root); // one server
    }
    else if (!root.Only({"servers"}))
    {
        return std::nullopt;
    }
    const json* list = servers.empty() ? root.List("servers", Need::kRequired) : nullptr;
    for (size_t i = 0; list && i < list->size() && !root.TooMany(); ++i)
    {
        read(root.Inner((*list)[i], "servers/" + std::to_string(i)));
    }
    if (errors.size() != errorsBefore)
    {
        return std::nullopt;
    }
    return servers;
}

} // namespace

std::optional<std::vector<ServerSpec>>
ReadServers(const std::string& text, const std::string& fileName, std::vector<Error>& errors)
{
    return ReadServersAfter(ServerPresets(), text, fileName, errors);
}

const std::vector<ServerSpec>&
ServerPresets()
{
    static const std::vector<ServerSpec> presets = [] {
        std::vector<Error> errors;
        auto servers = ReadServersAfter({}, ServerPresetsJson(), "server-presets.cc", errors);
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
