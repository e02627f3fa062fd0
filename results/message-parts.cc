/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "results/message-parts.h"

namespace results
{

const char*
GetTimeShareName(TimeShare share)
{
    static const char* const names[TIME_SHARES] = {"backlog",
                                                   "nic_turns",
                                                   "nic_paused",
                                                   "throttled",
                                                   "window",
                                                   "repeating",
                                                   "serialization",
                                                   "propagation",
                                                   "queued",
                                                   "paused",
                                                   "host"};
    return names[At(share)];
}

const char*
GetTimeShareWords(TimeShare share, const rdma::LinkWords& link)
{
    switch (share)
    {
    case TimeShare::BACKLOG:
        return "waiting for earlier messages on the same connection";
    case TimeShare::NIC_TURNS:
        return "waiting while the NIC served other connections";
    case TimeShare::NIC_PAUSED:
        return link.heldInNic;
    case TimeShare::THROTTLED:
        return "throttled by congestion control";
    case TimeShare::WINDOW:
        return link.windowClosed;
    case TimeShare::REPEATING:
        return "repeating lost packets";
    case TimeShare::SERIALIZATION:
        return "sending its own bytes";
    case TimeShare::PROPAGATION:
        return "on cables and in switch pipelines";
    case TimeShare::QUEUED:
        return "queued in switches";
    case TimeShare::PAUSED:
        return link.heldInSwitch;
    case TimeShare::HOST:
    case TimeShare::COUNT:
        break;
    }
    return "in the limits of NICs";
}

} // namespace results
