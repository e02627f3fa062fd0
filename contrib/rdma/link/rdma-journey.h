/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef RDMA_JOURNEY_H
#define RDMA_JOURNEY_H

#include "ns3/prefetch-line.h"

#include <algorithm>
#include <boost/container/small_vector.hpp>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

namespace ns3
{

class RdmaPort;
struct RdmaFrame;

/**
 * \ingroup rdma
 * Where the time of a message went, from its post to its last byte: kept with its last packet,
 * whose arrival completes the message unless it has overtaken others. All times in ps; they add up
 * to the whole, exactly (asserted in tests).
 *
 *     posted ---- in the sender -----> the last packet starts ---- in the network ----> arrived
 *                                                        ---- overtook, lateByLoss ---> complete
 *
 * In the sender, from the post on: the line time of the message's other packets, and of earlier
 * messages of the queue pair that were waiting; that of packets that went again, of whichever
 * message; then for all these together, pauses of the NIC's port (PFC), the pace that the
 * congestion control sets, a closed window (of those whose receivers give credits or pulls: none of
 * these is there); and what is left, which is other queue pairs' turns. Where these overlap the
 * first in this order counts. If the last packet itself goes again, all since it went first is
 * repeating.
 *
 * In the network: serialization, propagation and pipelines of the last packet, and for each switch
 * the time it waits in the egress queue: while that port is paused, and otherwise, behind others.
 * Behind whom is told by the frames at the head of the queue when it joins it: whose are most bytes
 * of the first 32.
 */
struct alignas(64) RdmaJourney
{
    /// A flow as its frames name it.
    struct Flow
    {
        uint32_t src{0};
        uint32_t dst{0};
        uint32_t destQp{0};
        uint32_t label{0};    //!< RdmaFrame::GetLabel of the first of its frames there
        bool known{false};    //!< false: the queue was empty, or as follows
        bool ordinary{false}; //!< ordinary packets (RdmaPackets), of whichever flow
    };

    /// Switches of which a journey has room for what it notes there: those between two hosts of a
    /// fat-tree of three tiers. Of more it asks for memory.
    static constexpr std::size_t COMMON_HOPS = 5;

    /// At a switch.
    struct Hop
    {
        const RdmaPort* egress{nullptr};
        int64_t queued{0}; //!< behind others
        int64_t paused{0};
        int64_t line{0};          //!< the packet's time on the line there
        int64_t reach{0};         //!< RdmaPort::GetReachPs
        uint32_t end{UINT32_MAX}; //!< RdmaPort::GetEnd
        Flow behind;
    };

    /// Are the packets from one endpoint to another of interest, all of them?
    using Wanted = std::function<bool(uint32_t from, uint32_t to)>;

    // What a switch looks at comes first, a cache line, and a line for each switch (CheckLines): a
    // message is in the cache of none that it comes to.

    uint64_t request{0}; //!< RdmaWorkRequest::id
    int64_t posted{0};
    uint32_t wireBytes{0};    //!< of the last packet
    uint32_t nic{UINT32_MAX}; //!< RdmaPort::GetEnd of the NIC that sends
    bool counts{false};       //!< its way is told when the packet comes: RdmaNic::NoteWays
    bool wayOnly{false}; //!< of another packet than the last: of each hop only `end` is noted, and
                         //!< of what is before them only `request`, `posted` and `nic`

  private:
    int64_t m_pausedBefore{0}; //!< of the egress port and priority, when it joined

  public:
    boost::container::small_vector<Hop, COMMON_HOPS> hops;
    int64_t backlog{0};    //!< line time of earlier messages of its queue pair
    int64_t ownPackets{0}; //!< line time of the message's other packets
    int64_t nicPaused{0};  //!< the NIC's port was paused
    int64_t throttled{0};  //!< paced by the congestion control
    int64_t window{0};     //!< window closed, or no credit
    int64_t others{0};     //!< turns of other queue pairs of the NIC
    int64_t repeating{0};  //!< line time of what went again; all since the last packet went first
    int64_t started{0};    //!< when the last packet starts to be sent
    int64_t overtook{0};   //!< from there until all before it had come too, on slower ways
    int64_t lateByLoss{0}; //!< the same, if what came last had been sent again
    int64_t line{0};       //!< the last packet's at the NIC: as Hop
    int64_t reach{0};      //!< the last packet's at the NIC: as Hop

    /// A message has one: they are recycled, like frames.
    static void* operator new(std::size_t size);
    static void operator delete(void* memory);

    /// What Join and Leave will look at is fetched. \param joined queues that it has joined
    void PrefetchHop(uint32_t joined) const
    {
        PrefetchLine(this);
        if (joined < COMMON_HOPS)
        {
            PrefetchLine(reinterpret_cast<const char*>(this) + 64 * (1 + joined));
        }
    }

    /// It joins the egress queue of a switch. \param frame has it
    void Join(const RdmaPort* egress, const RdmaFrame& frame, int64_t now);
    /// It leaves it. \param joined when it joined, ps
    void Leave(RdmaPort& egress, const RdmaFrame& frame, int64_t joined, int64_t now);

  private:
    /// Fails to compile if a switch's part lies in two lines.
    static void CheckLines();
};

/**
 * \ingroup rdma
 * Times of a posted request, for its journey. Until its last packet has been sent: the queue pair's
 * clock when it was posted. Afterwards: where its time had gone by then. One cache line.
 */
struct RdmaRequestTimes
{
    static constexpr int64_t NOT_NOTED = -2; //!< it was posted before journeys were noted
    static constexpr int64_t WAITS = -1;     //!< its last packet is still to be sent

    struct Base
    {
        int64_t line;
        int64_t again;
        int64_t paused;
        int64_t throttled;
        int64_t window;
    };

    struct Spent
    {
        int64_t backlog;
        int64_t ownPackets;
        int64_t nicPaused;
        int64_t throttled;
        int64_t window;
        int64_t others;
        int64_t repeating;
    };

    int64_t started{NOT_NOTED}; //!< WAITS, or when the last packet was sent, the first time

    union {
        Base base;   //!< started == WAITS
        Spent spent; //!< started >= 0
    };

    RdmaRequestTimes() // nothing else is looked at until it is WAITS
    {
    }
};

/**
 * \ingroup rdma
 * What a queue pair remembers for the journeys of its messages: times so far, ps.
 */
struct RdmaSenderClock
{
    int64_t throttled{0};  //!< paced so far
    int64_t window{0};     //!< window closed so far
    int64_t line{0};       //!< line time of all packets so far, the first time
    int64_t again{0};      //!< time of packets that went again, and what a receiver that was not
                           //!< ready has asked to wait
    int64_t lineBefore{0}; //!< `line` when the message's first packet went whose turn it is

    /// Times of each request, at its place among the requests; those after the last noted one have
    /// none.
    std::vector<RdmaRequestTimes> times;

    int64_t windowSince{-1}; //!< closed since; -1: open
    bool ways{false};        //!< of the queue pair as it is connected, packets' ways are noted

    /// The oldest requests are gone.
    void Forget(std::size_t requests)
    {
        const std::size_t gone = std::min(requests, times.size());
        times.erase(times.begin(), times.begin() + static_cast<std::ptrdiff_t>(gone));
    }
};

} // namespace ns3

#endif /* RDMA_JOURNEY_H */
