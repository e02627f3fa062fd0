/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef DLTRAIN_ANALYTIC_TRANSPORT_H
#define DLTRAIN_ANALYTIC_TRANSPORT_H

#include "contrib/dltrain/base/woken-server.h"
#include "formula-transport.h"
#include "topologies/families/nic-server.h"

#include <cstdint>
#include <vector>

namespace dltrain
{

/**
 * Moves messages by a formula, without packets.
 *
 *                 at s                     first byte: s + ideal - W_in
 *     post -----> [ sender's NIC: W_out ] ---- path ----> [ receiver's NIC: W_in ] --> delivered
 *                 last byte leaves: e      last byte: s + ideal, or e + ideal - W_slowest
 *
 * `ideal` is the closed form of an idle path (rdma::IdealCompletion: headers, propagation,
 * pipelines, store and forward, the path's slowest link), W_out, W_slowest and W_in what the
 * message's frames take on the first link, the slowest and the last; the first and last are NICs'
 * work (topo::NicServer). A message is delivered when the receiver's NIC is done with it and its
 * last byte is there. So alone it takes `ideal` to the picosecond, as with packets.
 *
 * Messages of a channel go one after the other, no faster than the slowest link of their path, nor
 * than the most that the channel carries. Apart from that, links between switches have unlimited
 * capacity: nothing is lost, marked, paused or rerouted, and no NIC slows down. A sender whose
 * receiver is shared does not give the unused rate to its other messages. (FluidTransport has those
 * links, too.)
 *
 * Five events a message; a NIC's server is touched by its own host's events only.
 */
class AnalyticTransport : public FormulaTransport
{
  public:
    explicit AnalyticTransport(const NetworkParts& parts);

  private:
    /// How long a message of one kind takes on one path, ps.
    struct Work
    {
        int64_t out = 0;     ///< W_out
        int64_t slowest = 0; ///< the same on the path's slowest link
        int64_t in = 0;      ///< W_in
        int64_t ideal = 0;   ///< from the first byte on
        int64_t tail = 0;    ///< at least, from the sender's NIC's end to the last byte's arrival
    };

    struct Progress
    {
        Work work;
        int64_t begun = 0;
        bool served = false;  ///< by the receiver's NIC
        bool arrived = false; ///< its last byte
    };

    using Side = WokenServer<topo::NicServer>; ///< one of a NIC's two directions

    enum class EventKind : uint8_t
    {
        OUT,   ///< a sender's NIC has something to tell
        REACH, ///< a message comes to the receiver's NIC
        IN,    ///< a receiver's NIC has ended a message
        ARRIVE ///< the last byte is there
    };

    struct Event
    {
        EventKind kind;
        uint32_t which; ///< message or endpoint
    };

    friend class EventPool<AnalyticTransport, Event>;
    void OnEvent(const Event& event, int64_t now);

    std::vector<rdma::PathLink> FindPath(uint32_t channel) override;
    void SetFrames(uint32_t channel,
                   const std::vector<rdma::FrameRun>& frames,
                   int64_t ideal) override;
    void OnPosted(uint32_t message) override;
    void Send(uint32_t channel, int64_t now) override;

    void Wake(std::vector<Side>& sides, EventKind kind, uint32_t endpoint);
    /// The sender's NIC is done with a message.
    void OnOut(uint32_t message, int64_t now);
    void DeliverIfThere(uint32_t message, int64_t now);

    std::vector<Side> m_out; ///< by endpoint
    std::vector<Side> m_in;
    std::vector<Work> m_workOf;         ///< by channel: of its messages from now on
    std::vector<Progress> m_progressOf; ///< by message
    EventPool<AnalyticTransport, Event> m_events;
};

} // namespace dltrain

#endif // DLTRAIN_ANALYTIC_TRANSPORT_H
