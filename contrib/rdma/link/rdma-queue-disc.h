/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef RDMA_QUEUE_DISC_H
#define RDMA_QUEUE_DISC_H

#include "rdma-frame.h"

#include "ns3/object.h"

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace ns3
{

class RdmaPort;

/**
 * \ingroup rdma
 * Which of the frames that wait in an Ethernet port is sent next: one of these a port, chosen by
 * name (attribute RdmaPort::QueueDisc). Without one a port serves strict priorities, then the
 * others by deficit weighted round robin.
 *
 *     switch, NIC -> RdmaPort::Enqueue -> Push --+-- Pop -> transmitter
 *                                                +-- Evict: no room (switches, lossy priorities)
 *                                                +-- Take: link down, PFC watchdog
 *
 * A class is found by its TypeId: derive it, give it a name, register it, and it is known; a line
 * rdma::RegisteredQueueDisc makes it a value of --queue-disc.
 *
 * The port keeps what belongs to priorities: bytes, the mask of those that wait, PFC's pauses,
 * trace sources, counters. A discipline keeps the frames, apart by priority, linked through
 * RdmaFrame::next or in containers of its own. MAC control frames do not come here. A NIC makes its
 * queue pairs' packets when no frame of its port may go: only ACKs, NAKs, CNPs and pulls wait
 * there.
 *
 * Random numbers come from the seed of Attach, so that runs repeat. Nothing is allocated for each
 * frame. Frames of a queue pair that leave in another order than they came in are overtaken, which
 * go-back-N takes for a loss.
 *
 * Law (asserted in tests): frames pushed = popped + evicted + taken + those that wait.
 */
class RdmaQueueDisc : public Object
{
  public:
    static constexpr int64_t NEVER = INT64_MAX;

    /// Bits of GetNeeds.
    enum Needs : uint16_t
    {
        NOTHING = 0,
        RANK = 1, //!< RankOf: NICs say in each data packet how much of its message is left
    };

    using Visitor = std::function<void(const RdmaFrame&)>;

    static TypeId GetTypeId();
    ~RdmaQueueDisc() override;

    /// \return what it is called in the attribute QueueDisc
    virtual std::string GetName() const = 0;

    /**
     * Before the first frame, once: allocates what it needs.
     * \param port which outlives this; its weights and strict priorities may still change
     * \param seed another one for each port of a fabric
     * \return what is wrong with its attributes, or nothing
     */
    virtual std::string Attach(const RdmaPort& port, uint64_t seed) = 0;

    /// A frame joins the queue of frame->priority. \param now ps
    virtual void Push(RdmaFrame* frame, int64_t now) = 0;

    /**
     * The transmitter is idle. \param eligible bit p: frames of priority p wait, and PFC does not
     * hold them; not 0 \return a frame of one of these priorities, which is not here any more;
     * null: none may go before NotBefore
     */
    virtual RdmaFrame* Pop(uint8_t eligible, int64_t now) = 0;

    /// Asked when Pop returned null. \return when it is to be asked again, more than `now`; NEVER:
    /// when the next frame joins, or PFC releases a priority. ps
    virtual int64_t NotBefore(uint8_t eligible, int64_t now);

    /// The switch has no room for a frame that would join. \return a frame that waits here with the
    /// same priority and leaves instead, to be dropped; null: the arriving one is dropped
    virtual RdmaFrame* Evict(const RdmaFrame& arriving, int64_t now);

    /// All frames of a priority leave at once. \return them, in the order in which they came
    /// (roughly, if that is not known)
    virtual RdmaFrameList Take(uint8_t priority) = 0;

    /// Calls `visit` of each frame that waits with a priority. For observers, not for each frame.
    virtual void ForEach(uint8_t priority, const Visitor& visit) const = 0;

    /// \return bits of Needs. Asked once, of all ports of a fabric
    virtual uint16_t GetNeeds() const;

    /// \return message bytes left when the packet was sent, itself included, at most 2^32 - 1. 0:
    /// of ACKs, CNPs and ordinary packets, and unless some discipline of the fabric needs RANK
    static uint32_t RankOf(const RdmaFrame& frame)
    {
        return frame.extra ? frame.extra->rank : 0;
    }

    /// \return (name, name of the TypeId) of all there are, sorted
    static const std::vector<std::pair<std::string, std::string>>& GetNames();

    /// \param name short, or of the TypeId \return null if there is none
    static Ptr<RdmaQueueDisc> Make(const std::string& name);

    /// \return what is wrong with a name of the attribute QueueDisc, or nothing
    static std::string CheckName(const std::string& name);
};

} // namespace ns3

#endif /* RDMA_QUEUE_DISC_H */
