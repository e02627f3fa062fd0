/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "journey-parts.h"

#include "reports/attribution/message-id.h"

#include "ns3/rdma-frame.h"
#include "ns3/rdma-port.h"

namespace dltrain
{

using reports::At;
using reports::MessageParts;
using reports::TimeParts;
using reports::TimeShare;

namespace
{

/// \return the poster's tag of the message that a frame belongs to; UINT32_MAX: it belongs to none
uint32_t
TagOf(uint32_t label)
{
    return label == ns3::RdmaFrame::NO_LABEL ? UINT32_MAX : reports::MessageId::Tag(label);
}

} // namespace

JourneyParts::JourneyParts(const ns3::RdmaFabric& fabric)
{
    for (uint32_t e = 0; e < fabric.GetNEndpoints(); ++e)
    {
        m_limits |= fabric.GetNic(e)->GetLimits() != nullptr;
    }
}

void
JourneyParts::Divide(const ns3::RdmaJourney& journey, int64_t end, MessageParts& divided) const
{
    TimeParts& parts = divided.parts;
    parts = {};
    parts[At(TimeShare::BACKLOG)] = journey.backlog;
    parts[At(TimeShare::NIC_TURNS)] = journey.others;
    parts[At(TimeShare::NIC_PAUSED)] = journey.nicPaused;
    parts[At(TimeShare::THROTTLED)] = journey.throttled;
    parts[At(TimeShare::WINDOW)] = journey.window;
    parts[At(TimeShare::REPEATING)] = journey.repeating;
    parts[At(TimeShare::SERIALIZATION)] = journey.ownPackets;

    // Packets that came later waited in queues, too, but the place is not known.
    parts[At(TimeShare::QUEUED)] = journey.overtook;
    parts[At(TimeShare::REPEATING)] += journey.lateByLoss;

    int64_t network = end - journey.started - journey.overtook - journey.lateByLoss;
    int64_t lines = 0; // serialization on every link
    divided.hops.resize(1 + journey.hops.size());
    const auto cross =
        [&](MessageParts::Hop& hop, uint32_t port, int64_t waited, int64_t line, int64_t reach) {
            parts[At(TimeShare::PROPAGATION)] += reach;
            network -= reach;
            lines += line;
            hop.port = port;
            hop.time = waited + line + reach;
            hop.waited = waited;
        };
    MessageParts::Hop& nic = divided.hops.front();
    nic = {};
    cross(nic,
          journey.nic,
          journey.started - journey.posted - journey.ownPackets,
          journey.line,
          journey.reach);
    nic.time += journey.ownPackets;
    nic.paused = journey.nicPaused;
    int64_t most = 0;
    for (std::size_t i = 0; i < At(TimeShare::SERIALIZATION); ++i)
    {
        if (parts[i] > most)
        {
            most = parts[i];
            nic.why = static_cast<TimeShare>(i);
        }
    }
    MessageParts::Hop* here = &nic;
    for (const ns3::RdmaJourney::Hop& hop : journey.hops)
    {
        const int64_t waited = hop.queued + hop.paused;
        cross(*++here, hop.end, waited, hop.line, hop.reach);
        here->paused = hop.paused;
        here->behind = {hop.behind.src,
                        hop.behind.dst,
                        TagOf(hop.behind.label),
                        hop.behind.known,
                        hop.behind.ordinary};
        here->why = hop.paused > hop.queued ? TimeShare::PAUSED : TimeShare::QUEUED;
        parts[At(TimeShare::QUEUED)] += hop.queued;
        parts[At(TimeShare::PAUSED)] += hop.paused;
        network -= waited;
    }
    // The rest is the lines; with limits of NICs also the host's side.
    const int64_t host = m_limits ? network - lines : 0;
    parts[At(TimeShare::HOST)] = host;
    parts[At(TimeShare::SERIALIZATION)] += network - host;
}

} // namespace dltrain
