/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef DLTRAIN_SOCKET_PART_H
#define DLTRAIN_SOCKET_PART_H

#include "contrib/dltrain/base/transport.h"
#include "part.h"
#include "reports/stats/loss-counts.h"
#include "scenarios/job/protocol.h"

#include <cstdint>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>

namespace dltrain
{

/// TCP and UDP on all hosts of a fabric.
class SocketStack
{
  public:
    virtual ~SocketStack() = default;

    /// \return packets that hosts gave up above a NIC whose queue was full
    virtual uint64_t GetRefused() const = 0;
    /// \return the sum of LossCounts::GetSent over its transports, which are there
    virtual reports::SegmentCounts GetSent() const = 0;
    /// \param protocol TCP or UDP \param repeats flows begin again when they have ended
    virtual std::unique_ptr<Transport> MakeTransport(const scenario::ProtocolSpec& protocol,
                                                     const NetworkParts& parts,
                                                     bool repeats) = 0;
};

/// ns-3's TCP and UDP. Once it is loaded, ns-3 knows their classes and attributes.
class SocketPart
{
  public:
    static constexpr const char* PART = "tcp";

    virtual ~SocketPart() = default;

    /// Before any event. \param stream first of the random streams \return null: `error` says why
    virtual std::unique_ptr<SocketStack> Install(ns3::RdmaFabric& fabric,
                                                 int64_t stream,
                                                 std::string& error) = 0;
};

template <>
SocketPart*& Part<SocketPart>::Current();

/// A transport that counts its retransmissions or losses.
class LossCounts
{
  public:
    virtual ~LossCounts() = default;

    virtual void AddLosses(nlohmann::ordered_json& json) const = 0;
    /// "; 12 of 3,400 segments sent again, 1 time-out"
    virtual std::string LossesText() const = 0;
    /// \return in the whole run; of UDP, which repeats nothing, the datagrams that were sent
    virtual reports::SegmentCounts GetSent() const = 0;
};

} // namespace dltrain

#endif /* DLTRAIN_SOCKET_PART_H */
