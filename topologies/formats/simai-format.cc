/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "topologies/formats/simai-format.h"

#include "contrib/rdma/core/unit-strings.h"
#include "topologies/formats/link-file.h"
#include "topologies/names.h"

#include <algorithm>
#include <set>
#include <utility>

namespace topo
{

namespace
{

/// A file that has been read and checked.
struct SimaiFile
{
    uint32_t nodes = 0;
    uint32_t gpus = 0;
    uint32_t gpusPerServer = 1;
    std::string gpu;
    std::vector<FileLink> nics;   ///< GPU (a) to switch (b), in the order of GPUs
    std::vector<FileLink> fabric; ///< switch to switch, in the order of the file
    std::vector<bool> isSwitch;   ///< of the network, by node
    rdma::BitRate nvLink;         ///< of a GPU; 0: there is none
    rdma::Duration nvLinkDelay;   ///< the longest of a GPU's links to NVSwitches

    uint32_t ServerOf(NodeId gpuNode) const
    {
        return gpuNode / gpusPerServer;
    }
};

class SimaiReader : private LinkFileReader
{
  public:
    using LinkFileReader::LinkFileReader;

    /// Nothing, and an error in result, if it is wrong.
    std::optional<SimaiFile> Read(TopologyResult& result)
    {
        const bool good = ReadHeader() && ReadIds("NVSwitch", m_nvSwitches, m_isNvSwitch) &&
                          ReadSwitches() && ReadLinks(m_file.nodes, m_links, m_read) &&
                          SortLinks() && CheckServers();
        result = std::move(m_result);
        return good ? std::optional<SimaiFile>(std::move(m_file)) : std::nullopt;
    }

  private:
    bool ReadHeader();
    bool ReadSwitches();
    bool SortLinks();
    bool CheckServers();

    SimaiFile m_file;
    uint64_t m_nvSwitches = 0;
    uint64_t m_switches = 0;
    uint64_t m_links = 0;
    std::vector<bool> m_isNvSwitch;
    std::vector<FileLink> m_read;
    std::vector<uint64_t> m_nvLinkOf; ///< bit/s, by GPU
};

bool
SimaiReader::ReadHeader()
{
    uint64_t nodes = 0;
    uint64_t perServer = 0;
    if (!Number("the number of nodes", detail::kMostNodes, nodes) ||
        !Number("the number of GPUs a server", nodes, perServer) ||
        !Number("the number of NVSwitches", nodes, m_nvSwitches) ||
        !Number("the number of switches", nodes - m_nvSwitches, m_switches) ||
        !Number("the number of links", detail::kMostLinks, m_links))
    {
        return false;
    }
    const FileWord gpu = m_words.Next();
    if (gpu.text.empty() || ParseWhole(gpu.text, UINT64_MAX / 10 - 1))
    {
        return Fail(gpu, "the type of the GPUs, such as H100");
    }
    m_file.gpu = std::string(gpu.text);
    m_file.nodes = static_cast<uint32_t>(nodes);
    m_file.gpus = static_cast<uint32_t>(nodes - m_nvSwitches - m_switches);
    m_file.gpusPerServer = static_cast<uint32_t>(perServer);
    if (perServer == 0 || m_file.gpus == 0 || m_file.gpus % perServer != 0)
    {
        return FailAt(gpu.line,
                      "",
                      std::to_string(nodes) + " nodes less " + std::to_string(m_nvSwitches) +
                          " NVSwitches and " + Counted(m_switches, "switch", "switches") + " are " +
                          Counted(m_file.gpus, "GPU") + ", which do not fill servers of " +
                          std::to_string(perServer) + "; allowed: a multiple of it");
    }
    if (perServer > kMostGpus)
    {
        return FailAt(gpu.line,
                      std::to_string(perServer),
                      "is not a number of GPUs a server; allowed: at most " +
                          std::to_string(kMostGpus));
    }
    m_isNvSwitch.assign(nodes, false);
    return true;
}

bool
SimaiReader::ReadSwitches()
{
    m_file.isSwitch = m_isNvSwitch; // an id stands in one of both lists
    if (!ReadIds("switch", m_switches, m_file.isSwitch))
    {
        return false;
    }
    for (uint32_t n = 0; n < m_file.nodes; ++n)
    {
        if (m_file.isSwitch[n] != (n >= m_file.gpus))
        {
            return FailAt(2,
                          std::to_string(n),
                          std::string(n < m_file.gpus ? "is a switch" : "is a GPU") +
                              "; allowed: GPUs come first, 0 to " +
                              std::to_string(m_file.gpus - 1));
        }
        m_file.isSwitch[n] = m_file.isSwitch[n] && !m_isNvSwitch[n];
    }
    return true;
}

/// The links by what they join.
bool
SimaiReader::SortLinks()
{
    constexpr uint32_t kNone = UINT32_MAX;
    std::vector<uint32_t> serverOfNvSwitch(m_file.nodes, kNone);
    m_nvLinkOf.assign(m_file.gpus, 0);
    bool losesInside = false;
    for (FileLink& link : m_read)
    {
        if (link.b < m_file.gpus)
        {
            std::swap(link.a, link.b);
        }
        const std::string ends = std::to_string(link.a) + " " + std::to_string(link.b);
        const bool fromGpu = link.a < m_file.gpus;
        if (m_file.isSwitch[link.b])
        {
            if (!fromGpu && m_isNvSwitch[link.a])
            {
                return FailAt(link.line,
                              ends,
                              "joins an NVSwitch and no GPU; allowed: NVSwitches join the GPUs "
                              "of a server");
            }
            (fromGpu ? m_file.nics : m_file.fabric).push_back(link);
            continue;
        }
        if (!fromGpu || !m_isNvSwitch[link.b])
        {
            return FailAt(link.line,
                          ends,
                          std::string(fromGpu ? "joins two GPUs" : "joins an NVSwitch and no GPU") +
                              "; allowed: a GPU and its server's NVSwitches, a GPU and a switch, "
                              "two switches");
        }
        uint32_t& server = serverOfNvSwitch[link.b];
        server = server == kNone ? m_file.ServerOf(link.a) : server;
        if (server != m_file.ServerOf(link.a))
        {
            return FailAt(link.line,
                          ends,
                          "leads to an NVSwitch of server " + std::to_string(server) +
                              ", and the GPU stands in server " +
                              std::to_string(m_file.ServerOf(link.a)) +
                              "; allowed: an NVSwitch of its own server");
        }
        constexpr rdma::Duration kLongest = rdma::Milliseconds(500); // 1 s a message
        if (link.delay > kLongest)
        {
            return FailAt(link.line,
                          ends,
                          "has a delay of " + rdma::ToString(link.delay) +
                              " to an NVSwitch; allowed: at most " + rdma::ToString(kLongest));
        }
        m_nvLinkOf[link.a] += link.rate.bps;
        m_file.nvLinkDelay = std::max(m_file.nvLinkDelay, link.delay);
        losesInside |= link.bitErrorRate > 0;
    }
    if (losesInside)
    {
        m_result.notes.push_back(m_name + ": error rates of links to NVSwitches ignored: messages "
                                          "inside a server are not lost");
    }
    NoteLosses({&m_file.nics, &m_file.fabric});
    std::stable_sort(m_file.nics.begin(),
                     m_file.nics.end(),
                     [](const FileLink& a, const FileLink& b) { return a.a < b.a; });
    return true;
}

/// All servers are alike.
bool
SimaiReader::CheckServers()
{
    std::vector<uint32_t> nicsOf(m_file.gpus / m_file.gpusPerServer, 0);
    for (const FileLink& link : m_file.nics)
    {
        ++nicsOf[m_file.ServerOf(link.a)];
    }
    for (size_t s = 0; s < nicsOf.size(); ++s)
    {
        if (nicsOf[s] == 0 || nicsOf[s] != nicsOf[0] || nicsOf[s] > kMostNics)
        {
            return FailAt(1,
                          "server " + std::to_string(s),
                          "has " + Counted(nicsOf[s], "link") + " to switches; allowed: 1 to " +
                              std::to_string(kMostNics) + ", as many as server 0, " +
                              std::to_string(nicsOf[0]));
        }
    }
    for (uint32_t g = 0; g < m_file.gpus; ++g)
    {
        if (m_nvLinkOf[g] != m_nvLinkOf[0] || (m_nvLinkOf[g] == 0 && m_file.gpusPerServer > 1) ||
            m_nvLinkOf[g] > kFastestLink.bps)
        {
            return FailAt(1,
                          "GPU " + std::to_string(g),
                          "has " + rdma::ToString(rdma::BitRate(m_nvLinkOf[g])) +
                              " to NVSwitches; allowed: a rate above 0, the same of all GPUs (GPU "
                              "0 has " +
                              rdma::ToString(rdma::BitRate(m_nvLinkOf[0])) + ")");
        }
    }
    m_file.nvLink = rdma::BitRate(m_nvLinkOf[0]);
    return true;
}

/// The number of rails that NICs hang on, NIC i on rail i mod rails; 0: on none.
uint32_t
RailsOfFile(const SimaiFile& file, uint32_t nics)
{
    // NICs that share a switch, as numbers of NICs of their servers.
    std::vector<std::set<uint32_t>> at(file.nodes);
    for (size_t i = 0; i < file.nics.size(); ++i)
    {
        at[file.nics[i].b].insert(static_cast<uint32_t>(i % nics));
    }
    for (uint32_t rails = nics; rails > 1; --rails)
    {
        const bool fits =
            nics % rails == 0 && std::all_of(at.begin(), at.end(), [rails](const auto& numbers) {
                return numbers.empty() ||
                       std::all_of(numbers.begin(), numbers.end(), [&](uint32_t n) {
                           return n % rails == *numbers.begin() % rails;
                       });
            });
        if (fits)
        {
            return rails;
        }
    }
    return 0;
}

/// Whether no switch joins two rails.
bool
RailsAreApart(const SimaiFile& file, uint32_t nics, uint32_t rails)
{
    std::vector<NodeId> root(file.nodes);
    for (NodeId n = 0; n < file.nodes; ++n)
    {
        root[n] = n;
    }
    const auto find = [&root](NodeId n) {
        while (root[n] != n)
        {
            n = root[n] = root[root[n]];
        }
        return n;
    };
    for (const FileLink& link : file.fabric)
    {
        root[find(link.a)] = find(link.b);
    }
    std::vector<uint32_t> railOf(file.nodes, UINT32_MAX);
    for (size_t i = 0; i < file.nics.size(); ++i)
    {
        const uint32_t rail = static_cast<uint32_t>(i % nics) % rails;
        uint32_t& known = railOf[find(file.nics[i].b)];
        known = known == UINT32_MAX ? rail : known;
        if (known != rail)
        {
            return false;
        }
    }
    return true;
}

uint32_t
NicsPerServer(const SimaiFile& file)
{
    return static_cast<uint32_t>(file.nics.size() / (file.gpus / file.gpusPerServer));
}

Topology
BuildSimai(const SimaiFile& file)
{
    const uint32_t servers = file.gpus / file.gpusPerServer;
    std::vector<bool> isHost(file.nodes, false);
    std::fill(isHost.begin(), isHost.begin() + file.gpus, true);
    std::vector<FileLink> all = file.nics;
    all.insert(all.end(), file.fabric.begin(), file.fabric.end());
    const std::vector<uint8_t> tier = TiersFromHosts(isHost, all);

    Topology t;
    detail::AddServers(&t, servers);
    std::vector<NodeId> nodeOf(file.nodes, 0);
    for (NodeId n = 0; n < file.nodes; ++n)
    {
        nodeOf[n] = n < file.gpus      ? file.ServerOf(n)
                    : file.isSwitch[n] ? t.AddSwitch("switch-" + std::to_string(n), tier[n])
                                       : 0;
    }
    for (const FileLink& link : all)
    {
        t.Connect(nodeOf[link.a], nodeOf[link.b], link.rate, link.delay, link.bitErrorRate);
    }
    Description about;
    const uint32_t nics = NicsPerServer(file);
    about.rails = RailsOfFile(file, nics);
    about.railsApart = about.rails > 1 && RailsAreApart(file, nics, about.rails);
    t.Describe(std::move(about));
    return t;
}

} // namespace

bool
IsSimaiTopology(const std::string& path)
{
    constexpr size_t kHeader = 6;
    const std::vector<std::string> words = FirstWords(path);
    if (words.size() < kHeader || words[0][0] == '{' || words[0][0] == '[')
    {
        return false;
    }
    std::vector<std::optional<uint64_t>> numbers;
    for (size_t i = 0; i < kHeader; ++i)
    {
        numbers.push_back(ParseWhole(words[i], UINT64_MAX / 10 - 1));
    }
    const auto known = std::count_if(numbers.begin(), numbers.end(), [](const auto& number) {
        return number.has_value();
    });
    if (known < static_cast<long>(kHeader))
    {
        // With wrong words among the first five, too: its reader names them.
        return !numbers[5] && known >= (words.size() == kHeader ? 3 : 5);
    }
    // All numbers: of HPCC's format if the last three may be ids of switches.
    return words.size() == kHeader &&
           std::any_of(numbers.begin() + 3, numbers.end(), [&](const auto& id) {
               return *id >= *numbers[0];
           });
}

TopologyResult
ReadSimaiTopology(const std::string& text, const std::string& name)
{
    TopologyResult result;
    const auto file = SimaiReader(text, name).Read(result);
    if (file)
    {
        result.topology = BuildSimai(*file);
    }
    return result;
}

std::optional<ServerSpec>
ReadSimaiServer(const std::string& text, const std::string& name, std::vector<Error>& errors)
{
    TopologyResult result;
    const auto file = SimaiReader(text, name).Read(result);
    errors.insert(errors.end(), result.errors.begin(), result.errors.end());
    if (!file)
    {
        return std::nullopt;
    }
    const ServerSpec* const preset = FindServerForGpu(ServerPresets(), file->gpu);
    if (!preset)
    {
        std::vector<std::string> known;
        for (const ServerSpec& server : ServerPresets())
        {
            if (std::find(known.begin(), known.end(), server.gpu) == known.end())
            {
                known.push_back(server.gpu);
            }
        }
        errors.push_back({name + ":1",
                          Quoted(file->gpu),
                          "is a GPU that no server preset has" + DidYouMean(file->gpu, known) +
                              "; allowed: " + JoinNames(known) + ", or --server",
                          ""});
        return std::nullopt;
    }
    for (const auto& nic : file->nics)
    {
        if (nic.rate.bps != file->nics.front().rate.bps)
        {
            errors.push_back({name,
                              "",
                              "has NICs of several rates; allowed: one rate for all, or --server",
                              ""});
            return std::nullopt;
        }
    }
    ServerSpec server = *preset;
    server.name = "server of " + name;
    server.gpus = file->gpusPerServer;
    server.nics = NicsPerServer(*file);
    server.nicRate = file->nics.front().rate;
    if (server.scaleUp.kind != ScaleUp::kNvSwitch)
    {
        server.scaleUp.adds = false;
        server.scaleUp.hostBridge = rdma::BitRate(0);
        server.scaleUp.between = nullptr;
        server.scaleUp.island = 0;
    }
    server.scaleUp.kind = ScaleUp::kNvSwitch;
    if (file->nvLink.bps > 0)
    {
        server.scaleUp.perGpu = file->nvLink;
    }
    // Two links, by an NVSwitch.
    const rdma::Duration way(2 * file->nvLinkDelay.ps);
    server.scaleUp.latency = std::max(server.scaleUp.latency, way);
    if (server.scaleUp.bulkLatency.ps > 0)
    {
        server.scaleUp.bulkLatency = std::max(server.scaleUp.bulkLatency, way);
    }
    server.source = "NVLink, NICs: " + name + "; else as " + preset->name;
    return server;
}

namespace
{

Family
Simai()
{
    Family f("simai", "servers and their network, from a topology file of SimAI");
    f.file = "a topology file of SimAI";
    f.reads = IsSimaiTopology;
    f.make = [](const TopologyRequest& r) { return detail::MakeFromFile(r, ReadSimaiTopology); };
    return f;
}

const RegisteredFamily g_simai(Simai());

} // namespace

} // namespace topo
