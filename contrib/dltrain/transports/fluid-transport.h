/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef DLTRAIN_FLUID_TRANSPORT_H
#define DLTRAIN_FLUID_TRANSPORT_H

#include "formula-transport.h"
#include "topologies/scale-up/fair-network.h"

#include <cstdint>
#include <memory>
#include <vector>

namespace dltrain
{

/**
 * Moves messages as fluids, without packets, over the very links that their packets would take:
 * NICs' and those between switches. A message is a flow over all links of its path at once. The
 * rates of all flows are max-min fair from end to end (topo::FairNetwork), at every instant.
 *
 *     post --> a flow of the message's bytes --> its bytes are out --> the last frame's way -->
 * there
 *                                                '--> the channel's next message
 *
 * A flow goes where ECMP switches send its packets, by the same hash of the same ports, or as
 * InfiniBand's forwarding tables have it. Alone it takes what the closed form of the idle path says
 * (rdma::IdealCompletion), to the picosecond: its bytes at the rate of its slowest link, and the
 * rest as a latency. If another link holds it up in the end, the latency is that of its first frame
 * to that link and of its last frame from there.
 *
 * Messages of a channel are flows one after the other; so a channel keeps an idle path busy.
 *
 * It has no queues and none of their effects. A flow takes its rate at once, from end to end: no
 * sender reacts too much or too little or late, and there are no pauses and no losses. So where
 * links are contended it is faster than packets with any congestion control.
 *
 * All transports of a network, one for each job, share one set of flows. What a flow does touches
 * flows anywhere, so all nodes are one unit of the engine, and run on one thread.
 */
class FluidTransport : public FormulaTransport
{
  public:
    explicit FluidTransport(const NetworkParts& parts);

  private:
    /// The common data of all messages of a kind on a path.
    struct Course
    {
        int64_t alone = 0;   ///< ps that its bytes take, at the flow's limit
        int64_t latency = 0; ///< ps: all else of the idle path
        int64_t apart = 0;   ///< ps from a begin to the next one, at least
        uint64_t wireBytes = 0;
        std::vector<int64_t> held; ///< ps: the latency by the link that holds it up
        uint32_t users = 0;        ///< messages, and a channel
    };

    struct Way
    {
        std::vector<uint32_t> ends; ///< links, by the end in the fabric that they go out of
        uint32_t flow = NONE;
        uint32_t course = NONE;  ///< course of messages from now on
        int64_t begun = 0;       ///< ps: the message that is a flow now
        int64_t lastArrival = 0; ///< ps
    };

    /// The flows of a network.
    class Flows
    {
      public:
        explicit Flows(const NetworkParts& parts);

        topo::FairNetwork network;
        std::vector<FluidTransport*> users;

        /// Flows have begun, ended or been closed.
        void Changed(int64_t now);

      private:
        enum class Event : uint8_t
        {
            WAKE,   ///< flows may have ended
            SETTLE, ///< the end of an instant with changes
        };

        friend class EventPool<Flows, Event>;
        void OnEvent(const Event& event, int64_t now);
        void Wake();

        uint32_t m_context;           ///< of wakes
        uint32_t m_last;              ///< a context behind all others
        bool m_settles = false;       ///< SETTLE is pending
        std::vector<int64_t> m_wakes; ///< pending ones, the next last
        EventPool<Flows, Event> m_events;
    };

    static std::shared_ptr<Flows> FlowsOf(const NetworkParts& parts);

    /// A message arrives.
    struct Event
    {
        uint32_t message;
    };

    friend class EventPool<FluidTransport, Event>;
    void OnEvent(const Event& event, int64_t now);

    std::vector<rdma::PathLink> FindPath(uint32_t channel) override;
    void SetFrames(uint32_t channel,
                   const std::vector<rdma::FrameRun>& frames,
                   int64_t ideal) override;
    void OnPosted(uint32_t message) override;
    void Send(uint32_t channel, int64_t now) override;
    void OnDelivered(uint32_t message, int64_t now) override;

    /// The bytes of a channel's first message are out.
    /// \param link what held it up, kNone: its own limit
    void OnOut(uint32_t channel, uint32_t link, int64_t now);
    /// Drops a use of a course. \param course NONE: no effect
    void Leave(uint32_t course);

    const std::shared_ptr<Flows> m_flows;
    const uint64_t m_user;            ///< number of this transport among m_flows->users
    std::vector<Way> m_ways;          ///< by channel
    std::vector<uint32_t> m_courseOf; ///< by message
    Slots<Course> m_courses;
    EventPool<FluidTransport, Event> m_events;
};

} // namespace dltrain

#endif // DLTRAIN_FLUID_TRANSPORT_H
