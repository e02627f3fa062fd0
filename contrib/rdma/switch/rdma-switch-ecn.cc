/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * What an Ethernet switch tells the congestion controls of a priority: ECN thresholds of its own,
 * and telemetry of its queue.
 */
#include "contrib/rdma/core/shown-text.h"
#include "contrib/rdma/core/unit-strings.h"
#include "rdma-switch.h"

#include "ns3/log.h"

#include <algorithm>
#include <cstdlib>
#include <vector>

namespace ns3
{

NS_LOG_COMPONENT_DEFINE("RdmaSwitchEcn");

namespace
{

std::vector<std::string>
PartsOf(const std::string& text, char between)
{
    std::vector<std::string> parts;
    for (std::size_t at = 0; at <= text.size();)
    {
        const std::size_t end = std::min(text.find(between, at), text.size());
        parts.push_back(text.substr(at, end - at));
        at = end + 1;
    }
    return parts;
}

/// "400KB-1.6MB", or with a probability "400KB-1.6MB-0.2". \return whether it is that
bool
ReadThresholds(const std::string& text, uint64_t most, rdma::EcnParameters& ecn)
{
    const std::vector<std::string> parts = PartsOf(text, '-');
    const auto kmin = rdma::ParseBytes(parts.front());
    const auto kmax = parts.size() > 1 ? rdma::ParseBytes(parts[1]) : std::nullopt;
    if (!kmin || !kmax || *kmin > *kmax || kmax->value > most || parts.size() > 3)
    {
        return false;
    }
    ecn.kmin = *kmin;
    ecn.kmax = *kmax;
    if (parts.size() == 3)
    {
        char* end = nullptr;
        ecn.pmax = std::strtod(parts[2].c_str(), &end);
        return !parts[2].empty() && *end == '\0' && ecn.pmax >= 0 && ecn.pmax <= 1;
    }
    return true;
}

} // namespace

std::string
RdmaSwitch::ReadEcnOfPriority(EcnOfPriority& ecn) const
{
    NS_LOG_FUNCTION(this);
    ecn = {};
    for (const std::string& part : PartsOf(m_ecnOfPriority, ','))
    {
        if (m_ecnOfPriority.empty())
        {
            break;
        }
        const bool colon = part.size() > 1 && part[1] == ':';
        const auto priority = static_cast<std::size_t>(part[0] - '0');
        rdma::EcnParameters own{rdma::Bytes(m_ecnKmin), rdma::Bytes(m_ecnKmax), m_ecnPmax};
        const std::string value = colon ? part.substr(2) : "";
        const bool off = value == "off";
        if (!colon || priority >= ecn.size() || ecn[priority].has ||
            (!off && !ReadThresholds(value, MAX_THRESHOLD, own)))
        {
            return "ns3::RdmaSwitch::EcnOfPriority: '" + rdma::Shown(m_ecnOfPriority, 60) +
                   "'; allowed: a list of priority:KMIN-KMAX, priority:KMIN-KMAX-PMAX or "
                   "priority:off, as 3:400KB-1.6MB,4:off, priorities 0 to 7, each once";
        }
        ecn[priority] = {true, off, own};
    }
    return {};
}

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
