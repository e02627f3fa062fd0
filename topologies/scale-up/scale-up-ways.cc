/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * How messages are sent over a server's links, from what is known of these.
 */
#include "topologies/scale-up/scale-up-model.h"

#include <algorithm>
#include <stdexcept>

namespace topo
{

namespace
{

/// Picoseconds a byte at a rate times an efficiency, rounded.
uint64_t
PsPerByte(rdma::BitRate rate, double efficiency, int fractionBits)
{
    if (rate < rdma::Mbps(1))
    {
        throw std::invalid_argument("ScaleUpModel: a rate below 1 Mb/s");
    }
    // In whole bit/s, so that an efficiency of 1 changes nothing.
    const auto bps = static_cast<uint64_t>(static_cast<double>(rate.bps) * efficiency + 0.5);
    const unsigned __int128 one = static_cast<unsigned __int128>(8000000000000ULL) << fractionBits;
    return static_cast<uint64_t>((one + bps / 2) / bps);
}

} // namespace

ScaleUpModel::ScaleUpModel(const ScaleUp& spec, uint32_t gpus, const LibraryModel* library)
    : m_switch(gpus),
      m_ports(3 * static_cast<std::size_t>(gpus))
{
    SetWays(spec, library, 0);
    if (spec.kind == ScaleUp::kNvLinkIslands)
    {
        if (!spec.between || spec.between->kind != ScaleUp::kPcie || spec.island == 0)
        {
            throw std::invalid_argument("ScaleUpModel: islands without GPUs, or without PCIe "
                                        "between them");
        }
        m_island = spec.island;
        m_ports.resize(4 * static_cast<std::size_t>(gpus));
        SetWays(*spec.between, library, kWays);
    }
}

void
ScaleUpModel::SetWays(const ScaleUp& links, const LibraryModel* library, uint8_t first)
{
    if (links.latency.ps < 0 || links.bulkLatency.ps < 0)
    {
        throw std::invalid_argument("ScaleUpModel: negative latency");
    }
    if (!(links.efficiency >= 0.001 && links.efficiency <= 1))
    {
        throw std::invalid_argument("ScaleUpModel: an efficiency that is not in [0.001, 1]");
    }
    uint64_t psPerByte = PsPerByte(links.perGpu, links.efficiency, kFractionBits);
    if (links.kind == ScaleUp::kPcie)
    {
        const uint64_t bridge = PsPerByte(links.hostBridge, links.efficiency, kFractionBits);
        psPerByte = std::max(psPerByte, bridge);
        m_bridgeShare =
            static_cast<uint64_t>((static_cast<Work>(psPerByte) << kFractionBits) / bridge);
    }
    const bool oneWay = links.bulkLatency.ps == 0; // whatever the size
    m_ways[first + kSmall] = {links.latency.ps, oneWay ? psPerByte : 2 * psPerByte};
    m_ways[first + kBulk] = {oneWay ? links.latency.ps : links.bulkLatency.ps, psPerByte};
    for (uint32_t i = 0; library && i < kProtocols; ++i)
    {
        const ProtocolTimes& times = library->protocols[i];
        if (times.inside.ps < 0 || !(times.insideShare > 0 && times.insideShare <= 1))
        {
            throw std::invalid_argument("ScaleUpModel: a protocol with a negative latency, or a "
                                        "share that is not in (0, 1]");
        }
        const uint64_t rate =
            times.insideShare == 1
                ? psPerByte
                : static_cast<uint64_t>(static_cast<double>(psPerByte) / times.insideShare);
        const auto protocol = static_cast<Protocol>(i);
        m_ways[first + 1 + WayNumber(protocol, false)] = {times.inside.ps, rate};
        m_ways[first + 1 + WayNumber(protocol, true)] = {times.inside.ps +
                                                             library->PostInside(protocol).ps,
                                                         rate};
    }
}

} // namespace topo
