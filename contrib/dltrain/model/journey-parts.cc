/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "journey-parts.h"

#include "contrib/rdma/core/units.h"

#include "ns3/rdma-port.h"

namespace dltrain
{

using results::At;
using results::MessageParts;
using results::TimeParts;
using results::TimeShare;

JourneyParts::JourneyParts(const ns3::RdmaFabric& fabric, const PortIndex& portIndex)
    : m_portIndex(portIndex)
{
    for (uint32_t e = 0; e < fabric.GetNEndpoints(); ++e)
    {
        m_limits |= fabric.GetNic(e)->GetLimits() != nullptr;
    }
}

const MessageParts&
JourneyParts::Divide(const ns3::RdmaJourney& journey, int64_t end)
{
    TimeParts& parts = m_divided.parts;
    parts = {};
    parts[At(TimeShare::BACKLOG)] = journey.backlog;
    parts[At(TimeShare::NIC_TURNS)] = journey.others;
    parts[At(TimeShare::NIC_PAUSED)] = journey.nicPaused;
    parts[At(TimeShare::THROTTLED)] = journey.throttled;
    parts[At(TimeShare::WINDOW)] = journey.window;
    parts[At(TimeShare::REPEATING)] = journey.repeating;
    parts[At(TimeShare::SERIALIZATION)] = journey.ownPackets;

    int64_t network = end - journey.started;
    int64_t lines = 0; // exact serialization on every link
    m_divided.hops.clear();
    const auto cross = [&](const ns3::RdmaPort* out, int64_t waited) {
        const int64_t way = out->GetDelayPs() + out->GetPeer()->GetReceiveLatencyPs();
        parts[At(TimeShare::PROPAGATION)] += way;
        network -= way;
        const int64_t line =
            rdma::SerializationTime(rdma::Bytes(journey.wireBytes), rdma::BitRate(out->GetRate()))
                .ps;
        lines += line;
        m_divided.hops.push_back({});
        m_divided.hops.back().port = m_portIndex.at(out);
        m_divided.hops.back().time = waited + line + way;
        m_divided.hops.back().waited = waited;
        return &m_divided.hops.back();
    };
    MessageParts::Hop* nic =
        cross(journey.nic, journey.started - journey.posted - journey.ownPackets);
    nic->time += journey.ownPackets;
    nic->paused = journey.nicPaused;
    int64_t most = 0;
    for (std::size_t i = 0; i < At(TimeShare::SERIALIZATION); ++i)
    {
        if (parts[i] > most)
        {
            most = parts[i];
            nic->why = static_cast<TimeShare>(i);
        }
    }
    for (const ns3::RdmaJourney::Hop& hop : journey.hops)
    {
        const int64_t waited = hop.queued + hop.paused;
        MessageParts::Hop* here = cross(hop.egress, waited);
        here->paused = hop.paused;
        here->behind = {hop.behind.known, hop.behind.src, hop.behind.dst, hop.behind.tag};
        here->why = hop.paused > hop.queued ? TimeShare::PAUSED : TimeShare::QUEUED;
        parts[At(TimeShare::QUEUED)] += hop.queued;
        parts[At(TimeShare::PAUSED)] += hop.paused;
        network -= waited;
    }
    // What is left are the lines; with limits of NICs the host's side as well.
    const int64_t host = m_limits ? network - lines : 0;
    parts[At(TimeShare::HOST)] = host;
    parts[At(TimeShare::SERIALIZATION)] += network - host;
    return m_divided;
}

} // namespace dltrain
