/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef DLTRAIN_FLUID_TRANSPORT_H
#define DLTRAIN_FLUID_TRANSPORT_H

#include "contrib/dltrain/base/woken-server.h"
#include "formula-transport.h"
#include "topologies/scale-up/fair-link.h"

#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

namespace dltrain
{

/**
 * Moves messages as fluids, without packets, over the very links that their packets would take:
 * NICs' and those between switches, each shared by what is on it (topo::FairLink).
 *
 *     post --> [link 0] --> [link 1] --> ... --> [link n] --> delivered
 *              each from when the first frame is there; done when every link is, and the last frame
 *              has crossed what is behind it
 *
 * A flow goes where ECMP switches send its packets, by the same hash of the same ports, or as
 * InfiniBand's forwarding tables have it. On a link it takes as long as the link shares it, but no
 * less than the links before let it come; alone, all links together take what the closed form of
 * the idle path says (rdma::IdealCompletion), to the picosecond.
 *
 * Messages of a channel cross each link one after the other. A channel has as many in flight as
 * keep an idle path busy until the first is acknowledged; so its sender waits if a link is shared.
 *
 * It has no queues and none of their effects. A message that is held up at one link is not late at
 * the others, which may so do more in parallel than switches that store it. No sender reacts too
 * much or too little, and there are no pauses and no losses. So where links are contended it is
 * faster than packets with any congestion control.
 *
 * Two events a link, and one more a message; what is of a link is touched in events of the node
 * that sends on it.
 */
class FluidTransport : public FormulaTransport
{
  public:
    explicit FluidTransport(const NetworkParts& parts);

  private:
    /// One kind of message at one link of its path.
    struct Leg
    {
        int64_t offset = 0;  ///< ps from the message's begin until its first frame may be sent here
        int64_t alone = 0;   ///< ps that it takes here, alone
        int64_t tail = 0;    ///< ps from its end here until its last frame is at the receiver
        rdma::BitRate speed; ///< at most: the link's own, and what comes in
    };

    /// The common data of all messages of a size on a path.
    struct Course
    {
        std::vector<Leg> legs;
        uint64_t wireBytes = 0;
        int64_t slowest = 0; ///< ps: one behind the other, so far apart
        uint32_t window = 1; ///< messages under way that keep an idle path busy
        uint32_t users = 0;  ///< messages, and a channel
    };

    /// Where a channel crosses a link.
    struct Crossing
    {
        uint32_t end = 0;             ///< end in the fabric: the link out of it
        int64_t lastReach = 0;        ///< ps: when its last message comes here
        bool busy = false;            ///< with one of the channel's
        std::deque<uint32_t> waiting; ///< messages that are here, behind that one
    };

    struct Way
    {
        std::vector<Crossing> crossings;
        uint32_t course = NONE; ///< course of messages from now on
        uint32_t underWay = 0;
        uint32_t number = 0;  ///< grows with every channel that has this number
        bool blocked = false; ///< by the window, until `next` at least
        int64_t next = 0;
    };

    struct Progress
    {
        uint32_t course = NONE;
        uint32_t missing = 0; ///< links that it has not crossed, as the receiver knows
        int64_t begun = 0;
    };

    /// A directed link.
    struct Link : WokenServer<topo::FairLink>
    {
        uint32_t context = 0; ///< ns-3 node id
    };

    /// The links of a network, and the transports that send over it, one for each job.
    struct Links
    {
        std::vector<Link> of; ///< by end
        std::vector<FluidTransport*> users;
    };

    static std::shared_ptr<Links> LinksOf(const NetworkParts& parts);

    enum class EventKind : uint8_t
    {
        REACH, ///< a message comes to a link
        WAKE,  ///< a link has something to tell
        CROSS, ///< a message has crossed a link, as the receiver sees it
        CREDIT ///< a channel's sender knows of a delivery
    };

    struct Event
    {
        EventKind kind;
        uint32_t which; ///< message, end or channel
        uint32_t leg;
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

    /// Sets the pace of a leg whose message comes in more slowly than the link could send it.
    /// \param nearest delay of the path's first link: no news reaches another node sooner
    static void SetPace(Leg& leg, uint64_t wireBytes, rdma::Duration nearest);
    void OnReach(uint32_t message, uint32_t leg, int64_t now);
    void OnWake(uint32_t end, int64_t now);
    void OnCredit(uint32_t channel, int64_t now);
    void Enter(uint32_t message, uint32_t leg, int64_t now);
    void OnCrossed(uint32_t message, uint32_t leg, int64_t now);
    void Wake(uint32_t end);
    /// Drops a use of a course. \param course NONE: no effect
    void Leave(uint32_t course);

    const std::shared_ptr<Links> m_links;
    const uint64_t m_user;            ///< number of this transport among m_links->users
    std::vector<Way> m_ways;          ///< by channel
    std::vector<Progress> m_progress; ///< by message
    Slots<Course> m_courses;
    EventPool<FluidTransport, Event> m_events;
};

} // namespace dltrain

#endif // DLTRAIN_FLUID_TRANSPORT_H
