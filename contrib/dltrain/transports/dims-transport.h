/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef DLTRAIN_DIMS_TRANSPORT_H
#define DLTRAIN_DIMS_TRANSPORT_H

#include "formula-transport.h"

#include <cstdint>
#include <vector>

namespace dltrain
{

/**
 * Moves messages on a network of dimensions (topologies/dimensions.h) as ASTRA-sim's
 * congestion-unaware network does:
 *
 *     post --> [ the link out of the GPU ] -- hops L + bytes / B --> delivered
 *                one message after another, each for bytes / B
 *
 * B is the slowest link's rate on the way, L the propagation of each. There are no headers, and
 * what passes through routers shares nothing.
 *
 * Messages of collectives by dimension are not sent: those take the time of formulas
 * (collectives/schedules/dimension-times.h).
 */
class DimsTransport : public FormulaTransport
{
  public:
    explicit DimsTransport(const NetworkParts& parts);

  private:
    /// Of messages between two GPUs.
    struct Way
    {
        rdma::BitRate rate;
        int64_t latency = 0; ///< ps
    };

    enum class EventKind : uint8_t
    {
        SENT,  ///< the link out of the GPU is done with a message
        ARRIVE ///< its last byte is there
    };

    struct Event
    {
        EventKind kind;
        uint32_t which; ///< channel or message
    };

    friend class EventPool<DimsTransport, Event>;
    void OnEvent(const Event& event, int64_t now);

    std::vector<rdma::PathLink> FindPath(uint32_t channel) override;
    void SetFrames(uint32_t channel,
                   const std::vector<rdma::FrameRun>& frames,
                   int64_t ideal) override;
    void OnPosted(uint32_t message) override;
    void Send(uint32_t channel, int64_t now) override;

    std::vector<Way> m_wayOf;        ///< by channel
    std::vector<int64_t> m_freeFrom; ///< by endpoint: ps, of its link
    EventPool<DimsTransport, Event> m_events;
};

} // namespace dltrain

#endif // DLTRAIN_DIMS_TRANSPORT_H
