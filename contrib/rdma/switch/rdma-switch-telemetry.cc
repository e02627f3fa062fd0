/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * What an Ethernet switch tells the congestion controls of a priority: telemetry of its queue.
 */
#include "rdma-switch.h"

#include <algorithm>

namespace ns3
{

void
RdmaSwitch::TellOfQueue(const RdmaPort& port, RdmaFrame& frame, int64_t now)
{
    if (!frame.extra->hasTelemetry)
    {
        return;
    }
    // Some round trips, so that a law does not follow each burst of others. Assumed.
    constexpr int64_t WINDOW = 20000000;
    const uint8_t priority = frame.priority;
    ToldQueue& queue = m_toldQueues[port.GetPortIndex() * RdmaPort::PRIORITIES + priority];
    for (uint8_t p = 0; p < RdmaPort::PRIORITIES; ++p)
    {
        queue.active |= port.GetQueueBytes(p) ? 1U << p : 0;
    }
    if (now - queue.since >= WINDOW)
    {
        const uint64_t all = port.GetTxWireBytes() - queue.portThen;
        const uint64_t own = std::min(all, queue.sent - queue.sentThen);
        queue.others = static_cast<uint64_t>(static_cast<double>(all - own) * 8e12 /
                                             static_cast<double>(now - queue.since));
        queue.since = now;
        queue.sentThen = queue.sent;
        queue.portThen = port.GetTxWireBytes();
        queue.before = queue.active;
        queue.active = 0;
    }
    RdmaTelemetry& telemetry = frame.extra->telemetry;
    RdmaTelemetry::Hop* hop = telemetry.hops ? &telemetry.hop[telemetry.hops - 1] : nullptr;
    if (telemetry.collects && hop && hop->time == now)
    {
        // What DWRR keeps for it beside those that have had frames, or what they leave.
        const uint64_t rate = port.GetRate();
        const uint8_t strict = port.GetStrictMask();
        const uint8_t rivals = (queue.active | queue.before) & ~strict;
        uint64_t weights = port.GetWeight(priority);
        for (uint8_t p = 0; p < RdmaPort::PRIORITIES; ++p)
        {
            weights += p != priority && (rivals >> p & 1) ? port.GetWeight(p) : 0;
        }
        const uint64_t share = strict >> priority & 1
                                   ? rate
                                   : static_cast<uint64_t>(static_cast<unsigned __int128>(rate) *
                                                           port.GetWeight(priority) / weights);
        hop->txBytes = queue.sent;
        hop->queueBytes = port.GetQueueBytes(priority);
        hop->rateBps = std::max(share, rate - std::min(rate, queue.others));
    }
    queue.sent += frame.wireBytes;
}

} // namespace ns3
