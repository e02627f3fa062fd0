/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Buffers of switches: whether they suffice, when they mark and when they pause.
 */
#include "contrib/rdma/core/buffer-policy.h"
#include "contrib/rdma/core/congestion-control.h"
#include "contrib/rdma/core/headroom-pools.h"
#include "contrib/rdma/core/shared-buffer.h"
#include "contrib/rdma/core/unit-strings.h"
#include "scenarios/asked/collective.h"
#include "scenarios/asked/fabric.h"
#include "scenarios/asked/network.h"
#include "scenarios/network/network-checker.h"
#include "scenarios/network/network-kinds.h"
#include "scenarios/network/queueing-options.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

namespace scenario
{

namespace
{

/// Bytes to the nearest one.
std::string
BufferText(double bytes)
{
    return ExactBytes(static_cast<uint64_t>(std::llround(bytes)));
}

} // namespace

rdma::SharedBufferConfig
NetworkChecker::BufferOf(const topo::Node& node, double* scale, bool units) const
{
    rdma::SharedBufferConfig config;
    const SwitchValues& values = ValuesOf(node);
    config.losslessMask = values.pfc ? m_lossless : 0;
    config.alpha = values.alpha;
    const auto priorities = static_cast<uint64_t>(__builtin_popcount(m_lossless));
    const rdma::Bytes largest(m_fabric.frames.LargestFrame(m_fabric.mtu));
    *scale = 0;
    for (const topo::LinkId l : node.ports)
    {
        const topo::Link& link = m_topology.Links()[l];
        *scale += static_cast<double>(link.rate.bps) / 100e9;
        const bool toUnit = m_topology.Nodes()[link.a].isUnit || m_topology.Nodes()[link.b].isUnit;
        config.headroomBytes.push_back(
            values.pfc ? rdma::HeadroomBytes(link.rate,
                                             toUnit && !units ? rdma::Duration(0) : link.delay,
                                             values.latency,
                                             rdma::Duration(0),
                                             largest,
                                             m_fabric.timeUnit)
                                 .value *
                             priorities
                       : 0);
    }
    return config;
}

bool
NetworkChecker::Suffices(rdma::SharedBufferConfig* config,
                         double scale,
                         const SwitchValues& values,
                         uint64_t per100G)
{
    config->totalBytes = values.ofSwitch
                             ? values.ofSwitch
                             : static_cast<uint64_t>(scale * static_cast<double>(per100G));
    return rdma::SharedBuffer::WhyNot(*config).empty();
}

void
NetworkChecker::RefuseBuffer(const topo::Node& node, const std::string& why)
{
    const auto id = static_cast<topo::NodeId>(&node - m_topology.Nodes().data());
    for (const PlacedSetting& setting : m_fabric.places)
    {
        if (setting.attribute == "ns3::RdmaSwitch::BufferBytes" &&
            std::binary_search(setting.nodes.begin(), setting.nodes.end(), id))
        {
            m_errors->push_back({setting.where, setting.SaidThere(), node.name + ": " + why, ""});
            return;
        }
    }
}

bool
NetworkChecker::BuffersSuffice()
{
    // With credits a buffer is short for speed, never for frames; pools of headroom, and receive
    // buffers, depend on attributes, by which the switches themselves check theirs.
    if (m_fabric.infiniBand || m_fabric.linkCredits ||
        m_fabric.bufferPolicy == rdma::kHeadroomPoolsPolicy.name)
    {
        return true;
    }
    const topo::Node* worst = nullptr;
    uint64_t least = 0;
    double scale = 0;
    for (const topo::Node& node : m_topology.Nodes())
    {
        if (node.kind != topo::NodeKind::kSwitch || node.ports.empty())
        {
            continue;
        }
        double s = 0;
        auto config = BufferOf(node, &s);
        const SwitchValues& switchHas = ValuesOf(node);
        if (!switchHas.known || Suffices(&config, s, switchHas, std::max(least, switchHas.buffer)))
        {
            continue;
        }
        if (switchHas.ofSwitch)
        {
            RefuseBuffer(node, rdma::SharedBuffer::WhyNot(config));
            return false;
        }
        uint64_t low = 0; // too little
        uint64_t high = 1ULL << 56;
        while (high - low > 1)
        {
            const uint64_t middle = low + (high - low) / 2;
            (Suffices(&config, s, switchHas, middle) ? high : low) = middle;
        }
        worst = &node;
        least = high;
        scale = s;
    }
    if (!worst)
    {
        return true;
    }
    const auto& values = m_read.values;
    Member blamed = &asked::Fabric::buffer;
    for (const Member option : {Member(&asked::Fabric::switchLatency),
                                Member(&asked::Network::linkDelay),
                                Member(&asked::Fabric::buffer)})
    {
        blamed = values.Given(option) ? option : blamed;
    }
    const SwitchValues& has = ValuesOf(*worst);
    auto without = BufferOf(*worst, &scale, false);
    const bool byUnit = m_cluster && values.Given(&asked::Collective::aggregationDelay) &&
                        Suffices(&without, scale, has, has.buffer);
    blamed = byUnit ? Member(&asked::Collective::aggregationDelay) : blamed;
    const std::string delays =
        byUnit ? "the ports of its unit ask for"
               : (m_fromFile ? "the delays of its links in the file"
                             : "--link-delay=" + CanonicalDuration(m_fabric.linkDelay.ps)) +
                     " and --switch-latency=" + CanonicalDuration(has.latency.ps) + " ask for";
    std::string text =
        "switch " + worst->name + " gets a buffer of " +
        BufferText(scale * static_cast<double>(has.buffer)) + ", too small " +
        (has.pfc ? "for the headroom that " + delays : std::string("for two frames")) +
        "; allowed: --buffer=" + CanonicalBytes((least + 999) / 1000 * 1000) + " or more";
    text += !has.pfc     ? ""
            : byUnit     ? ", a shorter --aggregation-delay, or --no-pfc"
            : m_fromFile ? ", shorter links or --no-pfc"
                         : ", a shorter --link-delay or --switch-latency, or --no-pfc";
    const bool byDefault = !values.Given(blamed);
    m_errors->push_back({values.Where(blamed),
                         byDefault ? CanonicalBytes(has.buffer) : values.Raw(blamed),
                         std::move(text),
                         ""});
    return false;
}

void
NetworkChecker::WarnOfMarks()
{
    if (!MarksByThresholds(m_fabric))
    {
        return;
    }
    for (const topo::Node& node : m_topology.Nodes())
    {
        const SwitchValues& has = ValuesOf(node);
        if (node.kind != topo::NodeKind::kSwitch || !has.ecn || !has.known)
        {
            continue;
        }
        for (const topo::LinkId l : node.ports)
        {
            const topo::Link& link = m_topology.Links()[l];
            const double threshold = has.KminAt(link.rate);
            if (threshold < static_cast<double>(FullFrame().value))
            {
                m_notes->push_back("warning: --ecn-kmin=" + CanonicalBytes(has.kmin) + ": " +
                                   std::to_string(static_cast<uint64_t>(threshold)) + " B at " +
                                   rdma::ToString(link.rate) + ", less than one full frame of " +
                                   std::to_string(FullFrame().value) +
                                   " B: a packet is marked even if nothing else is queued");
                return;
            }
        }
    }
}

void
NetworkChecker::WarnOfPauses()
{
    const rdma::CongestionControl* law = rdma::FindCongestionControl(m_fabric.cc);
    if (!m_fabric.marker.empty() || m_fabric.bufferPolicy != rdma::kDynamicPolicy.name)
    {
        return; // the arithmetic below is of RED on the queue, and of dynamic thresholds
    }
    if (m_fabric.infiniBand || !HasPackets(m_fabric) || !law || !law->needsMarks)
    {
        return;
    }
    for (const Fan& fan : m_fans)
    {
        const topo::Endpoint& end = m_topology.Endpoints()[fan.to];
        const topo::Node& node = m_topology.Nodes()[m_topology.Peer(end.host, end.port)];
        const uint32_t ports = std::accumulate(fan.ports.begin(), fan.ports.end(), 0U);
        if (node.kind != topo::NodeKind::kSwitch || node.ports.size() < 3 || ports < 2)
        {
            continue; // one port of the same rate fills no queue
        }
        const SwitchValues& has = ValuesOf(node);
        double scale = 0;
        rdma::SharedBufferConfig config = BufferOf(node, &scale);
        if (!has.ecn || !has.pfc || !has.known || !Suffices(&config, scale, has, has.buffer))
        {
            continue;
        }
        const topo::LinkId l = m_topology.Nodes()[end.host].ports[end.port];
        const rdma::BitRate rate = m_topology.Links()[l].rate;
        const double portRate = has.per100G ? static_cast<double>(rate.bps) / 100e9 : 1;
        const double first = has.KminAt(rate);
        const double share = 1 / config.alpha + ports;
        const auto guaranteed = static_cast<double>(config.guaranteedBytes);
        for (uint8_t priority = 0; priority < fan.ports.size(); ++priority)
        {
            const double senders = fan.ports[priority];
            const double pool =
                static_cast<double>(rdma::SharedBuffer(config).Threshold(priority)) / config.alpha;
            const double longest = senders * (guaranteed + pool / share);
            if (senders == 0 || !(m_lossless >> priority & 1) || longest >= first)
            {
                continue;
            }
            const double more = (first / senders - guaranteed) * share - pool;
            const double buffer = static_cast<double>(has.buffer) + more / scale;
            const auto rounded = [](double bytes, double unit) {
                return CanonicalBytes(static_cast<uint64_t>(std::ceil(bytes / unit) * unit));
            };
            m_notes->push_back(
                "warning: --cc=" + m_fabric.cc +
                " hears of ECN marks alone, and PFC pauses before the first: in " + node.name +
                " the queue to " + EndText(fan.to) + " in priority " + std::to_string(priority) +
                " is paused at " + BufferText(longest) + ", as " + std::to_string(ports) +
                " ports and priorities fill it, and marks begin at " + BufferText(first) +
                "; allowed: --ecn-kmin and --ecn-kmax below " + BufferText(longest / portRate) +
                ", or --buffer=" + rounded(buffer, 10000) + " or more");
            return;
        }
    }
}

} // namespace scenario
