/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Do the credits of a lane cover the round trip of the links?
 */
#include "contrib/rdma/core/ib/ib-credit-reach.h"
#include "contrib/rdma/core/ib/ib-devices.h"
#include "contrib/rdma/core/unit-strings.h"
#include "scenarios/network/infiniband.h"
#include "scenarios/options/format.h"
#include "topologies/names.h"

#include <algorithm>
#include <map>
#include <tuple>

namespace scenario
{

namespace
{

/// "790 ns (158 m)".
std::string
Reach(int64_t ps)
{
    const double metres = static_cast<double>(ps) / static_cast<double>(rdma::kDelayPerMetre.ps);
    return rdma::ToString(rdma::Duration(ps / 1000 * 1000)) +
           Format(metres < 10 ? " (%.1f m)" : " (%.0f m)", metres);
}

} // namespace

rdma::Duration
FecDelay(const FabricSpec& fabric, rdma::BitRate rate)
{
    if (!fabric.infiniBand)
    {
        return rdma::Duration(0);
    }
    if (fabric.ib.flitBytes)
    {
        return {}; // --link-delay has it
    }
    for (const rdma::IbFecName& code : rdma::kIbFecNames)
    {
        if (fabric.ib.fec == code.name)
        {
            return rdma::IbFecDelay(rate, fabric.ib.link, &code.fec);
        }
    }
    return rdma::IbFecDelay(rate, fabric.ib.link);
}

CreditCover
CoverOfCredits(const FabricSpec& fabric, const topo::Topology& topology)
{
    CreditCover cover;
    if (!fabric.infiniBand)
    {
        return cover;
    }
    const auto& nodes = topology.Nodes();
    std::vector<uint64_t> fastest(nodes.size());
    for (const topo::Link& link : topology.Links())
    {
        for (const topo::NodeId end : {link.a, link.b})
        {
            fastest[end] = std::max(fastest[end], link.rate.bps);
        }
    }
    rdma::IbCreditLoop loop;
    loop.bufferBlocks = static_cast<uint32_t>(fabric.ib.laneBuffer.value / rdma::kIbBlockBytes);
    loop.shift = static_cast<uint32_t>(__builtin_ctz(fabric.ib.creditBlock / rdma::kIbBlockBytes));
    loop.updateBlocks = rdma::IbUpdateBlocks(loop.bufferBlocks,
                                             rdma::kIbUpdateShare,
                                             rdma::IbLargestPacketBlocks(fabric.mtu),
                                             loop.shift);
    const uint32_t wire = fabric.frames.FullWire(fabric.mtu);
    loop.packetBlocks = rdma::IbBlocksOfWire(wire);

    loop.otherBlocks = loop.Packets() / fabric.ackEvery + 1;

    // Links that are alike, by what decides: rate, delay, and whether a switch receives, with a
    // faster port or without.
    std::map<std::tuple<uint64_t, int64_t, int>, std::pair<uint64_t, std::string>> kinds;
    for (topo::LinkId i = 0; i < topology.Links().size(); ++i)
    {
        const topo::Link& link = topology.Links()[i];
        for (const bool fromA : {true, false})
        {
            const topo::NodeId to = fromA ? link.b : link.a;
            const int receiver = nodes[to].kind != topo::NodeKind::kSwitch ? 0
                                 : fastest[to] > link.rate.bps             ? 2
                                                                           : 1;
            auto& kind = kinds[{link.rate.bps, link.delay.ps, receiver}];
            if (kind.first++ == 0)
            {
                kind.second = topology.LinkName(i, fromA);
            }
        }
    }
    double leastMargin = 0;
    rdma::IbCreditLoop worst;
    const std::pair<uint64_t, std::string>* worstKind = nullptr;
    rdma::BitRate worstRate;
    int64_t worstFec = 0;
    int64_t worstDelay = 0;
    for (const auto& [key, kind] : kinds)
    {
        const auto& [bps, delayPs, receiver] = key;
        const rdma::BitRate rate(bps);
        const int64_t fec = FecDelay(fabric, rate).ps;
        loop.packet = rdma::SerializationTime(rdma::Bytes(wire), rate);
        loop.update = rdma::SerializationTime(rdma::Bytes(rdma::kIbFlowControlWire), rate);
        loop.blocking = loop.packet;
        loop.delay = rdma::Duration(delayPs + fec);
        loop.latency = rdma::Duration((receiver ? fabric.switchLatency.ps : 0) +
                                      (receiver == 2 ? loop.packet.ps : 0));
        cover.links += kind.first;
        cover.starved += loop.Covers() ? 0 : kind.first;
        const double margin = static_cast<double>(loop.Packets() * loop.packet.ps) /
                              static_cast<double>(loop.RoundTrip().ps);
        if (!worstKind || margin < leastMargin)
        {
            leastMargin = margin;
            worst = loop;
            worstKind = &kind;
            worstRate = rate;
            worstFec = fec;
            worstDelay = delayPs;
        }
    }
    if (!worstKind)
    {
        return cover;
    }
    const int64_t reach = worst.LongestDelay().ps - worstFec;
    const std::string lane = ExactBytes(fabric.ib.laneBuffer.value) + " a lane";
    if (cover.starved == 0)
    {
        cover.plan = lane + " keep " + rdma::ToString(worstRate) + " busy over " + Reach(reach) +
                     "; links have " + Reach(worstDelay) +
                     (cover.links == worstKind->first ? "" : " where it matters most");
        return cover;
    }
    // The buffer that would be enough, in KiB: the update's share grows with the buffer.
    uint64_t enough = 0;
    uint32_t shift = worst.shift;
    const uint64_t most = rdma::IbMostLaneBytes(rdma::kIbMostCreditShift) / rdma::kIbBlockBytes;
    for (uint32_t blocks = worst.bufferBlocks / 16 * 16 + 16; blocks <= most; blocks += 16)
    {
        while (shift < rdma::kIbMostCreditShift &&
               uint64_t{blocks} * rdma::kIbBlockBytes > rdma::IbMostLaneBytes(shift))
        {
            ++shift;
        }
        rdma::IbCreditLoop larger = worst;
        larger.shift = shift;
        larger.bufferBlocks = blocks;
        larger.otherBlocks = 0;
        larger.otherBlocks = larger.Packets() / fabric.ackEvery + 1;
        larger.updateBlocks = rdma::IbUpdateBlocks(blocks,
                                                   rdma::kIbUpdateShare,
                                                   rdma::IbLargestPacketBlocks(fabric.mtu),
                                                   shift);
        if (larger.Covers())
        {
            enough = uint64_t{blocks} * rdma::kIbBlockBytes;
            break;
        }
    }
    const double share = worst.Share();
    cover.plan = "too few: " + lane + " keep " + rdma::ToString(worstRate) + " busy over " +
                 (reach > 0 ? Reach(reach) : std::string("no cable")) + ", links have " +
                 Reach(worstDelay) + "; a lane that is alone gets " + Format("%.0f%%", 100 * share);
    cover.note =
        "warning: the credits of a lane, " + ExactBytes(fabric.ib.laneBuffer.value) +
        ", do not cover the round trip of " + std::to_string(cover.starved) + " of " +
        topo::Counted(cover.links, "directed link") + ", such as " + worstKind->second + " (" +
        rdma::ToString(worstRate) + ", " + rdma::ToString(rdma::Duration(worstDelay)) +
        "): a lane that is alone gets about " + Format("%.0f%%", 100 * share) + " of its rate";
    if (reach > 0)
    {
        cover.note += "; links of " + Reach(reach) + " are filled";
    }
    if (enough)
    {
        cover.note += "; so is this one with --vl-buffer=" + CanonicalBytes(enough) +
                      (shift > worst.shift
                           ? " --credit-block=" + std::to_string(rdma::kIbBlockBytes << shift) + "B"
                           : "");
    }
    return cover;
}

} // namespace scenario
