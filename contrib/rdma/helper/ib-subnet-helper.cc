/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "ib-subnet-helper.h"

#include "contrib/rdma/core/ib/ib-congestion.h"
#include "contrib/rdma/core/ib/ib-path-lengths.h"
#include "contrib/rdma/core/ib/ib-sizes.h"
#include "contrib/rdma/core/ib/ib-tables-reading.h"
#include "contrib/rdma/core/ib/ib-tables.h"
#include "contrib/rdma/core/regular-file.h"
#include "contrib/rdma/core/shown-text.h"

#include "ns3/log.h"

#include <algorithm>
#include <array>
#include <boost/algorithm/string.hpp>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <utility>

namespace ns3
{

NS_LOG_COMPONENT_DEFINE("IbSubnetHelper");

std::string
IbSubnetHelper::Route(const IbFabricConfig& config,
                      rdma::IbFabric fabric,
                      std::vector<uint64_t> linkRates)
{
    NS_LOG_FUNCTION(this);
    m_config = config;
    m_linkRates = std::move(linkRates);
    m_fabric = std::move(fabric);
    m_fabric.linkDown.resize(m_fabric.links.size());
    return Sweep(nullptr);
}

std::string
IbSubnetHelper::SetLinkDown(uint32_t link, bool down)
{
    NS_LOG_FUNCTION(this << link << down);
    std::vector<bool> all = m_fabric.linkDown;
    all[link] = down;
    return SetLinksDown(std::move(all));
}

std::string
IbSubnetHelper::SetLinksDown(std::vector<bool> down)
{
    NS_LOG_FUNCTION(this);
    std::swap(m_fabric.linkDown, down);
    std::string error = Sweep(&m_subnet);
    if (!error.empty())
    {
        m_fabric.linkDown = std::move(down); // all stays as it was
    }
    return error;
}

std::string
IbSubnetHelper::Sweep(const rdma::IbSubnet* previous)
{
    std::vector<std::string> engines;
    boost::split(engines, m_config.routing, boost::is_any_of(","));
    rdma::IbSubnetOptions options;
    options.lmc = m_config.lmc;
    options.unreached = rdma::IbUnreached::kOwnSubnet;
    rdma::IbRoutingOptions routing;
    routing.vls = m_config.lanes;
    routing.unsafe = m_config.unsafe;
    try
    {
        rdma::IbSubnet subnet = rdma::DiscoverIbSubnet(m_fabric, options, previous);
        if (m_config.forwardingFile.empty())
        {
            m_tables = rdma::IbRoute(subnet, engines, routing);
        }
        else if (!previous)
        {
            m_tables = ReadTables(subnet);
        }
        else
        {
            return m_config.forwardingFile + ": tables from a file know no other way when a "
                                             "cable fails";
        }
        m_subnet = std::move(subnet);
    }
    catch (const std::exception& e)
    {
        return e.what();
    }
    return {};
}

rdma::IbTables
IbSubnetHelper::ReadTables(const rdma::IbSubnet& subnet) const
{
    const std::string& file = m_config.forwardingFile;
    rdma::IbTables tables = rdma::IbEmptyTables(subnet, "file", m_config.lanes);
    const std::string why = rdma::WhyUnreadable(file);
    if (!why.empty())
    {
        throw std::runtime_error(file + ": " + why);
    }
    std::ifstream in(file, std::ios::binary);
    rdma::IbReadForwarding(in, file, subnet, tables);
    const rdma::IbCheck check = rdma::IbCheckTables(subnet, tables);
    if (check.broken)
    {
        throw std::runtime_error(file + ": " + std::to_string(check.broken) + " of " +
                                 std::to_string(check.paths) +
                                 " paths do not arrive; the first: " + check.firstBroken);
    }
    return tables;
}

std::string
IbSubnetHelper::LongerPathsNote() const
{
    constexpr double LONGER = 1.02; // less is a matter of a few pairs
    constexpr uint32_t MOST_VLS = 8;
    constexpr std::size_t QUICK = 500; // switches: above, a search for lanes may take minutes
    if (m_tables.engine != "updn")
    {
        return {};
    }
    const rdma::IbPathLengths lengths = rdma::IbMeasurePaths(m_subnet, m_tables);
    if (lengths.taken <= LONGER * lengths.shortest)
    {
        return {};
    }
    const auto text = [](double links) {
        std::array<char, 32> digits{};
        std::snprintf(digits.data(), digits.size(), "%.2f", links);
        return std::string(digits.data());
    };
    const bool isQuick = m_subnet.Switches().size() <= QUICK;
    const uint32_t lanes = isQuick ? rdma::IbLanesOfShortest(m_subnet, MOST_VLS) : MOST_VLS;
    return "note: the subnet: paths of updn have " + text(lengths.taken) +
           " links between switches on average, shortest paths " + text(lengths.shortest) +
           (lanes == 0 ? "; --ib-routing=minhop takes these, and can deadlock"
                       : "; --ib-routing=dfsssp --vls=" + std::to_string(lanes) + " takes these") +
           (isQuick ? "" : ", if these lanes are enough");
}

std::vector<std::string>
IbSubnetHelper::GetNotes() const
{
    const auto& engines = rdma::IbRoutingEngines();
    const bool safe = std::any_of(engines.begin(), engines.end(), [this](const auto& engine) {
        return engine.name == m_tables.engine && engine.deadlockFree;
    });
    std::vector<std::string> notes;
    if (!m_tables.note.empty())
    {
        notes.push_back("note: the subnet: " + m_tables.note);
    }
    if (const std::string longer = LongerPathsNote(); !longer.empty())
    {
        notes.push_back(longer);
    }
    if (!safe || m_config.unsafe)
    {
        const std::string cycle = rdma::IbCheckTables(m_subnet, m_tables).CycleText(m_subnet);
        if (!cycle.empty())
        {
            notes.push_back("warning: the subnet's routes can deadlock: links can wait for room "
                            "in a circle, " +
                            cycle +
                            ", and that for the first; --ib-routing=updn cannot, nor can torus or "
                            "dfsssp with --vls=2 or more, where they can route the network" +
                            (m_config.forwardingFile.empty() ? "" : ", in place of --ib-lfts"));
        }
    }
    return notes;
}

std::string
IbSubnetHelper::Dump(const std::string& folder) const
{
    NS_LOG_FUNCTION(this << folder);
    for (const bool lanes : {false, true})
    {
        const std::string path = folder + (lanes ? "/opensm-sl2vl.dump" : "/opensm-lfts.dump");
        std::string why;
        std::FILE* file = rdma::OpenForWriting(path, &why); // empties it, if it is a file
        if (!file)
        {
            return path + ": cannot be written: " + why;
        }
        std::fclose(file);
        errno = 0;
        std::ofstream out(path, std::ios::binary);
        if (lanes)
        {
            rdma::IbWriteSlToVl(out, m_subnet, m_tables);
        }
        else
        {
            rdma::IbWriteForwarding(out, m_subnet, m_tables);
        }
        out.close();
        if (!out)
        {
            return path + ": cannot be written: " + std::strerror(errno);
        }
    }
    return {};
}

uint16_t
IbSubnetHelper::GetNextPort(uint32_t node, uint32_t endpoint, uint32_t entropy) const
{
    const uint8_t port = m_tables.OutPort(m_subnet.SwitchOfNode(node),
                                          LidOf(m_subnet.Endpoints()[endpoint], entropy));
    return port == rdma::kIbNoPort || port == 0 ? IbSwitch::NO_PORT : rdma::SimulatorPortOf(port);
}

void
IbSubnetHelper::Configure(uint32_t node,
                          IbSwitch& device,
                          const std::function<bool(uint16_t port)>& isDead) const
{
    NS_LOG_FUNCTION(this << node);
    const uint32_t index = m_subnet.SwitchOfNode(node);
    const uint32_t ports = m_subnet.Switches()[index].ports;
    std::vector<uint16_t> forwarding;
    for (const uint8_t port : m_tables.lft[index])
    {
        const uint16_t out =
            port == rdma::kIbNoPort || port == 0 ? IbSwitch::NO_PORT : rdma::SimulatorPortOf(port);
        forwarding.push_back(out != IbSwitch::NO_PORT && isDead(out) ? IbSwitch::DEAD_PORT : out);
    }
    std::vector<uint8_t> lanes;
    if (m_config.lanes > 1)
    {
        for (uint32_t in = 1; in <= ports; ++in)
        {
            for (uint32_t out = 1; out <= ports; ++out)
            {
                const auto& row = m_tables.rows[m_tables.RowOf(index, in, out, ports)];
                lanes.insert(lanes.end(), row.begin(), row.end());
            }
        }
    }
    device.SetTables(std::move(forwarding), std::move(lanes));
}

RdmaPathSource::Path
IbSubnetHelper::GetPath(uint32_t from, uint32_t to, uint8_t serviceLevel, uint32_t entropy) const
{
    const auto& endpoints = m_subnet.Endpoints();
    const rdma::IbSubnet::Endpoint& source = endpoints[from];
    // An endpoint that does not exist has no LID; LID 0 has no way.
    const uint32_t lid = to < endpoints.size() ? LidOf(endpoints[to], entropy) : 0;
    Path path;
    path.route = RdmaRoute::OfLids(source.lid, static_cast<uint16_t>(lid));
    // Where service levels keep the subnet free of deadlock they are the subnet's to choose.
    path.serviceLevel = m_tables.pathSl.empty() || source.switchIndex == rdma::kIbNone
                            ? serviceLevel
                            : m_tables.PathSl(source.switchIndex, lid);
    path.lane = m_config.lanes > 1 ? m_tables.HostVl(from, path.serviceLevel) : 0;
    path.rateBps = m_config.staticRate ? GetStaticRate(from, lid) : 0;
    return path;
}

uint64_t
IbSubnetHelper::GetStaticRate(uint32_t from, uint32_t lid) const
{
    const rdma::IbSubnet::Endpoint& source = m_subnet.Endpoints()[from];
    std::vector<rdma::IbHop> hops;
    if (source.switchIndex == rdma::kIbNone ||
        !rdma::IbTracePath(m_subnet, m_tables, from, lid, hops))
    {
        return 0;
    }
    const auto rateBehind = [this](uint32_t index, uint8_t port) {
        return m_linkRates[m_subnet.Switches()[index].peers[port].link];
    };
    const uint64_t own = rateBehind(source.switchIndex, source.switchPort);
    uint64_t least = own;
    for (const rdma::IbHop& hop : hops)
    {
        least = hop.out ? std::min(least, rateBehind(hop.switchIndex, hop.out)) : least;
    }
    const uint32_t delay = rdma::IbInterPacketDelay(rdma::BitRate(own), rdma::BitRate(least));
    return delay ? own / (1 + delay) : 0;
}

IbPortConfig
MakeIbPortConfig(const IbFabricConfig& config, uint64_t rateBps, uint32_t mtu, std::string& error)
{
    IbPortConfig port;
    while (port.creditShift < rdma::kIbMostCreditShift &&
           config.creditBlock > rdma::kIbBlockBytes << port.creditShift)
    {
        ++port.creditShift;
    }
    const uint64_t least = rdma::IbLeastLaneBytes(mtu, port.creditShift);
    const uint64_t most = rdma::IbMostLaneBytes(port.creditShift);
    if (config.creditBlock != rdma::kIbBlockBytes << port.creditShift)
    {
        error = "InfiniBand: credit blocks of " + std::to_string(config.creditBlock) +
                " B; allowed: 64 (InfiniBand Architecture 1, 7.9.4), or for long links 128, 256, "
                "512, 1024, 2048 or 4096";
    }
    else if (config.lanes != 1 && config.lanes != 2 && config.lanes != 4 && config.lanes != 8)
    {
        error = "InfiniBand: " + std::to_string(config.lanes) +
                " data VLs; allowed: 1, 2, 4 or 8 (InfiniBand Architecture 1, 14.2.5.6; 15 are not "
                "modelled)";
    }
    else if (config.laneBuffer < least || config.laneBuffer > most)
    {
        error = "InfiniBand: " + std::to_string(config.laneBuffer) +
                " B of buffer for a VL; allowed: at least the largest packet, " +
                std::to_string(least) + " B, and at most " + std::to_string(most) +
                " B, which credits can tell";
    }
    port.lanes = config.lanes;
    port.bufferBlocks = static_cast<uint32_t>(config.laneBuffer / 64);
    port.updateBlocks = rdma::IbUpdateBlocks(port.bufferBlocks,
                                             config.updateShare,
                                             rdma::IbLargestPacketBlocks(mtu),
                                             port.creditShift);
    const auto high = rdma::ParseIbVlTable(config.vlHigh);
    const auto low = rdma::ParseIbVlTable(config.vlLow);
    if (!high || !low)
    {
        error = "InfiniBand: VL arbitration '" +
                rdma::Shown(high ? config.vlLow : config.vlHigh, 60) +
                "'; allowed: " + rdma::kIbVlTableHelp;
        return port;
    }
    port.arbitration = config.vlHigh.empty() && config.vlLow.empty()
                           ? rdma::IbVlArbitration::Equal(config.lanes)
                           : rdma::IbVlArbitration{*high, *low, config.highLimit};
    const uint32_t unserved = ((1U << config.lanes) - 1) & ~port.arbitration.ServedMask();
    if (unserved)
    {
        error = "InfiniBand: VL arbitration gives VL " + std::to_string(__builtin_ctz(unserved)) +
                " no turn; allowed: each of the " + std::to_string(config.lanes) +
                " VLs in one of the tables, with a weight above 0";
    }
    // A symbol is 8 bits of data on each lane; four lanes are what cables have.
    port.updatePeriodPs = static_cast<int64_t>(65536 * 4 * 8e12 / static_cast<double>(rateBps));
    return port;
}

} // namespace ns3
