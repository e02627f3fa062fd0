/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "reports/attribution/message-parts.h"

#include <algorithm>

namespace reports
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
        return "repeating packets";
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

std::string
WordsOfLinks(const std::string& ethernet, const std::string& infiniBand)
{
    const auto differ =
        std::mismatch(ethernet.begin(), ethernet.end(), infiniBand.begin(), infiniBand.end());
    const auto same = static_cast<std::size_t>(differ.first - ethernet.begin());
    const std::size_t word = same == 0 ? 0 : ethernet.rfind(' ', same - 1) + 1;
    return ethernet == infiniBand ? ethernet : ethernet + " or " + infiniBand.substr(word);
}

std::string
GetTimeShareMeaning(TimeShare share)
{
    return WordsOfLinks(GetTimeShareWords(share, rdma::kEthernetWords),
                        GetTimeShareWords(share, rdma::kInfiniBandWords));
}

} // namespace reports
