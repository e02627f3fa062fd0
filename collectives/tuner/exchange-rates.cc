/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "collectives/tuner/exchange-rates.h"

#include "collectives/core/placement.h"
#include "collectives/tuner/possible-choices.h"

#include <algorithm>

namespace coll
{

namespace
{

/// NCCL_P2P_PER_CHANNEL_NET_BW: the rate that NCCL expects of a channel, GB/s (src/graph/paths.cc).
constexpr double kExpectedOfChannel = 14e9;
/// Sends or receives that one channel works at together: NCCL_MAX_DEV_WORK_P2P_PER_BATCH
/// (src/include/device.h).
constexpr uint64_t kTogether = 8;
/// NCCL_P2P_NET_CHUNKSIZE, and 32 times NCCL_P2P_NVL_CHUNKSIZE (src/init.cc, src/enqueue.cc).
constexpr uint64_t kPartBetweenServers = 128 << 10;
constexpr uint64_t kPartInServer = 32 * (512 << 10);

uint32_t
PowerOfTwoFrom(double least)
{
    uint32_t power = 1;
    while (power < least)
    {
        power *= 2;
    }
    return power;
}

} // namespace

ExchangeRates::ExchangeRates(const Placement& placement, const Machine& machine)
{
    const topo::ExchangeChannels& channels = machine.library.channels;
    const uint64_t ranks = placement.serverOf.size();
    if (!machine.hasLibrary || channels.inServer == 0 || ranks == 0)
    {
        return;
    }
    m_inside = channels.inside;
    const bool several = HasSeveralServers(placement);
    uint32_t all = channels.inServer;
    m_most = all;
    m_part = kPartInServer;
    if (several)
    {
        const auto nics = static_cast<uint32_t>(Rails(placement).size());
        all = std::min(PowerOfTwoFrom(static_cast<double>(channels.aNic) * nics), channels.most);
        m_most = PowerOfTwoFrom(std::max(2.0, machine.nicRate / kExpectedOfChannel));
        m_part = kPartBetweenServers;
        while (m_most > 1 && m_most * ((ranks + kTogether - 1) / kTogether) > all)
        {
            m_most /= 2;
        }
    }
    const rdma::BitRate outside(channels.outside.bps * m_most);
    if (several && static_cast<double>(outside.bps) < machine.nicRate * 8)
    {
        m_outside = outside;
    }
    m_least = m_most;
    while (m_least > 1 && m_least * ranks > all)
    {
        m_least /= 2;
    }
}

uint32_t
ExchangeRates::Channels(uint64_t bytes) const
{
    uint32_t channels = m_least; // 0: there are none to count
    while (channels != 0 && channels <= m_most / 2 && (bytes + channels - 1) / channels > m_part)
    {
        channels *= 2;
    }
    return channels;
}

rdma::BitRate
ExchangeRates::Inside(uint64_t bytes) const
{
    return rdma::BitRate(m_inside.bps * Channels(bytes));
}

bool
MaySlowDown(const ExchangeRates& rates,
            const Algorithm& algorithm,
            Op op,
            const Placement& placement,
            const Machine& machine)
{
    const auto rate = static_cast<double>(rates.Outside().bps);
    if (rate == 0)
    {
        return false;
    }
    const bool allAtOnce = IsAllToAll(op) && algorithm.Name() == std::string("direct");
    std::size_t most = 0; // in a server
    for (const auto& ranks : RanksByServer(placement))
    {
        most = std::max(most, ranks.size());
    }
    const auto elsewhere = static_cast<double>(placement.serverOf.size() - most);
    return !allAtOnce || rate * elsewhere < machine.nicRate * 8;
}

} // namespace coll
