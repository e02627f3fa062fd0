/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * How long messages between the GPUs of one server take: a law at message granularity, so that
 * NVLink costs no packets.
 *
 *     GPU a --egress--> [ non-blocking switch, latency L           ] --ingress--> GPU b
 *                       [ PCIe: host bridge, rate H, shared by all ]
 *
 * **The law.** Every GPU has an egress and an ingress port of rate R. An NVLink switch interleaves
 * the packets of all GPUs. So the data in flight from one GPU to another (a pair) are a fluid, and
 * pairs share ports by max-min fairness. The port with the least rate per pair gives each of its
 * pairs that rate, and so on with the rest (Bertsekas & Gallager, Data Networks, 6.5.2). So
 *
 *   - no port carries more than R, the bridge no more than H;
 *   - no pair could be faster without slowing down a pair that is no faster: it has a full port.
 *     While data are in flight from a to b, the egress port of a or the ingress port of b is full
 *     (or the bridge). Hence all is done within
 *         max load of an egress + max load of an ingress port (+ bridge)
 *     of the first post, and any all-to-all of equal messages takes the least possible time;
 *   - it does not matter in which order the calls of one moment come.
 *
 * Messages of a pair go one after the other, in the order of the posts, and arrive in it. The last
 * byte arrives L after it left (cut-through). A message of no bytes takes L and shares nothing, but
 * does not overtake other messages of its pair. A message of a GPU to itself arrives at once (it
 * crosses no link; the compute model has the cost of a copy in memory).
 *
 * **The switch adds up and copies** (NVLink SHARP): it is ports Gpus() to 3 Gpus() - 1, which are
 * never full. Data to the switch load only the sender's egress port; data from it load only the
 * receiver's ingress port. Data to several GPUs at once are as many messages. There are several
 * ports so that messages with different purposes go side by side.
 *
 * **Protocols.** With ScaleUp::bulkLatency a message is sent as NCCL would, in the faster of two
 * ways: LL, where every 4 bytes of data are stored with 4 bytes of flag, takes `latency` and twice
 * the bytes; Simple takes `bulkLatency` and the bytes. Without, all take `latency`. A collective
 * has one protocol, as in NCCL. Messages that channels, loops and several receivers split it into
 * count as one, since the parts share the port and wait for their latencies together. A message
 * that is posted with a Protocol takes that protocol's `inside` and `inside_share` of the rate
 * instead (library-model.h): then the caller has chosen.
 *
 * **Islands** (ScaleUp::kNvLinkIslands). GPUs of an island have ports of its NVLink. For data
 * between islands all GPUs have other ports, with the rates, latencies and the host bridge of
 * ScaleUp::between. Ports of the two kinds share nothing.
 *
 * **Most of a pair.** A message may be posted with an upper limit for its pair's rate, whatever its
 * ports have left. A library that gives a pair some of its channels has such a limit. In the law
 * above, the limit is a port of the pair's own, which is full at that rate.
 *
 * **Assumptions.** R is ScaleUp::perGpu times ScaleUp::efficiency. Both directions are independent.
 * A mesh (DGX-1) is taken as a switch with the sum of a GPU's links: right for ring collectives
 * that NCCL spreads over all links, too fast by up to the number of links for one message to one
 * neighbour. Messages of one pair in different collectives wait for one another.
 *
 * **Use.** Post(), then Arrived() at NextWake(), as often as it returns true. Times never decrease
 * from call to call.
 *
 *     model.Post(0, 1, bytes, now, 7);          // 7 comes back
 *     now = model.NextWake();
 *     while (model.Arrived(now, cookie)) ...
 *
 * Cost: a message alone on its ports is one arrival in a heap, O(log messages in flight). Where
 * pairs share ports, rates are computed anew at most once for each moment at which a pair starts or
 * stops having messages. That is over the pairs that do share: O(pairs x distinct rates), whatever
 * the number of messages that wait. Times are whole picoseconds from integer arithmetic: the same
 * on every machine.
 */
#ifndef TOPOLOGIES_SCALE_UP_SCALE_UP_MODEL_H
#define TOPOLOGIES_SCALE_UP_SCALE_UP_MODEL_H

#include "contrib/rdma/core/units.h"
#include "topologies/limits.h"
#include "topologies/server.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace topo
{

/// The scale-up ports of one server.
class ScaleUpModel
{
  public:
    static constexpr rdma::TimePoint kNever{std::numeric_limits<int64_t>::max()};

    /// Throws std::invalid_argument for a rate below 1 Mb/s, a negative latency, an efficiency that
    /// is not from 0.001 to 1, PCIe without a host bridge rate, or islands without `between`.
    /// \param library null: no message is posted with a protocol
    ScaleUpModel(const ScaleUp& spec, uint32_t gpus, const LibraryModel* library = nullptr);

    /**
     * Posts a message. GPUs are 0..Gpus()-1, the switch is Gpus() to 3 Gpus() - 1; not between
     * ports of the switch (not checked).
     * \param cookie what Arrived() will say
     * \param parts messages that share the port as parts of one: the protocol is that of all of
     * them together
     * \param how 0: as the size says; else WayNumber()
     * \param most that its pair gets while this message is sent; 0: what ports give
     */
    void Post(uint32_t fromGpu,
              uint32_t toGpu,
              rdma::Bytes bytes,
              rdma::TimePoint now,
              uint64_t cookie,
              uint64_t parts = 1,
              uint8_t how = 0,
              rdma::BitRate most = {});

    /// When to call Arrived() next, unless Post() is called before; kNever: nothing is under way.
    rdma::TimePoint NextWake();

    /// The next message that has arrived by now, in the order of arrival, then of posting.
    /// \return whether there was one; call until there is none
    bool Arrived(rdma::TimePoint now, uint64_t& cookie);

    /// The arrivals known to come before a time, by their cookies (lower 32 bits), in no order, at
    /// most kAhead.
    template <class F>
    void ForEachArrival(int64_t until, F what) const
    {
        const std::size_t size = std::min(m_arrivals.size(), kAhead);
        for (std::size_t i = 0; i < size; ++i)
        {
            if (m_arrivals[i].time < until)
            {
                what(m_arrivals[i].cookie);
            }
        }
    }

    /// Prefetches the data that Arrived will look at until then, in three turns with time between
    /// them.
    /// \param turn 0, 1, 2
    /// \param lines gets the begin and end of each range
    template <class F>
    void Prefetch(int64_t until, uint32_t turn, F lines) const
    {
        if (turn == 0)
        {
            lines(m_arrivals.data(), m_arrivals.data() + std::min(m_arrivals.size(), kAhead));
            lines(m_ports.data(), m_ports.data() + m_ports.size());
            lines(m_active.data(), m_active.data() + m_active.size());
            // As many as messages of a window touch most of.
            if (m_pairs.size() <= kAhead)
            {
                lines(m_pairOf.data(), m_pairOf.data() + std::min(m_pairOf.size(), 4 * kAhead));
                lines(m_pairs.data(), m_pairs.data() + m_pairs.size());
                lines(m_placeOf.data(), m_placeOf.data() + m_placeOf.size());
            }
            return;
        }
        if (turn == 1 && m_freeMessage != kNone)
        {
            const Message* next = &m_messages[m_freeMessage]; // the one that Post will take
            lines(next, next + 1);
        }
        const std::size_t size = std::min(m_arrivals.size(), kAhead);
        for (std::size_t i = 0; i < size; ++i)
        {
            if (m_arrivals[i].time >= until)
            {
                continue;
            }
            const Message* message = &m_messages[m_arrivals[i].message];
            if (turn == 1)
            {
                lines(message, message + 1);
            }
            else if (message->pair != kNone && m_pairs.size() > kAhead)
            {
                lines(&m_pairs[message->pair], &m_pairs[message->pair] + 1);
            }
        }
    }

    /// The time of a message when nothing else moves; with islands: within one.
    rdma::Duration IdleTime(rdma::Bytes bytes) const;

    /**
     * **Lent.** A caller that posts all of a server's messages, over pairs that share no port, may
     * take the model's messages out. It then computes their times and those of later messages by
     * the law of a pair that is alone:
     *
     *     begins  = max(posted, finish of the one before)
     *     finish  = begins + Timing::sending              the last byte leaves
     *     arrival = max(LastArrival(), finish + Timing::latency)
     *
     * and puts back the messages in flight before anything else is posted.
     */
    struct Timing
    {
        int64_t sending; ///< ps
        int64_t latency; ///< ps
    };

    struct Lent
    {
        uint64_t cookie = 0;
        int64_t finish = kNeverPs;  ///< ps; kNeverPs: it waits behind other messages of its pair
        int64_t arrival = kNeverPs; ///< ps; the same
    };

    /// Parameters as those of Post.
    Timing TimingOf(rdma::Bytes bytes, uint64_t parts, uint8_t how) const;

    /// Whether a pair is over links of the kind that TimingOf knows, and no bridge that others use.
    bool IsPlain(uint32_t fromGpu, uint32_t toGpu) const
    {
        return m_bridgeShare == 0 && !Crosses(fromGpu, toGpu);
    }

    /// Takes out all that is under way: of each pair in the order of its posts.
    /// \return false: they do not all have their ports for themselves, or some were posted with a
    /// rate, or to their own GPU; then nothing is taken
    bool Lend(rdma::TimePoint now, std::vector<Lent>* lent);

    /// The latest arrival, ps, among a pair's messages that have left.
    int64_t LastArrival(uint32_t fromGpu, uint32_t toGpu)
    {
        return m_pairs[PairOf(fromGpu, toGpu)].lastArrival;
    }

    /// Puts back a message that is in flight now. Call it for each pair in the order of posts; for
    /// messages that arrive at the same time, in the order in which Arrived must report them.
    /// \param lent computed by the law above, its finish as well
    void PutBack(uint32_t fromGpu,
                 uint32_t toGpu,
                 rdma::Bytes bytes,
                 rdma::TimePoint now,
                 uint64_t parts,
                 uint8_t how,
                 const Lent& lent);

    /**
     * **Run apart.** Pairs that share no port with others, nor the bridge, have the same times in a
     * model of their own. So messages of some GPUs may be posted in another model of the same spec,
     * as long as none are under way between these GPUs and any here. TakeOver puts them here.
     */

    /// Whether all pairs share a bridge: then no GPUs can be run apart.
    bool HasBridge() const
    {
        return m_bridgeShare != 0;
    }

    /// Forgets all messages and times.
    void Clear();

    /// Moves the messages of a model that was run apart here, as if they had been posted here.
    /// \param now no earlier than any call of either model
    /// \param cookieOf (its cookie) the cookie here; is asked in the order of posts
    template <class F>
    void TakeOver(ScaleUpModel& apart, rdma::TimePoint now, F cookieOf);

    /// Counts messages that were posted while the model was lent. \param bytes sum over all of them
    void CountPosted(rdma::Bytes bytes)
    {
        m_bytes += bytes;
    }

    /// Sum of all messages posted between different GPUs.
    rdma::Bytes BytesPosted() const
    {
        return m_bytes;
    }

    /// Messages that have not arrived yet.
    uint32_t UnderWay() const
    {
        return m_underWay;
    }

    uint32_t Gpus() const
    {
        return m_switch;
    }

  private:
    static constexpr std::size_t kAhead = 16; ///< a cache's worth is enough
    static constexpr uint32_t kNone = std::numeric_limits<uint32_t>::max();
    static constexpr int64_t kNeverPs = kNever.ps;
    static constexpr int kFractionBits = 40;
    static constexpr uint64_t kFull = uint64_t{1} << kFractionBits; ///< a share: all of a port

    /// The work left: picoseconds at the full rate, with kFractionBits behind the point.
    using Work = unsigned __int128;

    /// A cache line: with many servers, each message is out of the cache when it is needed.
    struct alignas(64) Message
    {
        uint64_t cookie = 0;
        uint64_t bytes = 0;
        uint64_t order = 0;         ///< number of the post
        int64_t arrival = kNeverPs; ///< kNeverPs: not known
        uint32_t pair = kNone;
        uint32_t next = kNone; ///< next message of its pair, or the next free one
        uint8_t how = 0;       ///< in m_ways
        uint64_t most = kFull; ///< most of a port's share
    };

    /// Messages from one GPU to another that have not left, the first one being sent. A cache line.
    struct alignas(64) Pair
    {
        Work left = 0; ///< work of the head
        uint32_t head = kNone;
        uint32_t tail = kNone;
        uint16_t from = 0; ///< in m_ports
        uint16_t to = 0;
        bool bridged = false; ///< it crosses the host bridge
        bool alone = false;   ///< alone on its ports: at the full rate, whatever other pairs do
        uint64_t share = 0;   ///< share of a port; when alone, the most it may have
        int64_t since = 0;    ///< `left` is as of then
        int64_t finish = kNeverPs; ///< the head's last byte leaves
        int64_t lastArrival = std::numeric_limits<int64_t>::min();
    };

    static_assert(sizeof(Message) == 64 && sizeof(Pair) == 64);
    static_assert(4 * kMostGpus <= UINT16_MAX); // ports

    /// Pairs with messages, of one direction of a port.
    struct Side
    {
        uint32_t pairs = 0;
        uint32_t sum = 0; ///< exclusive or of the pairs' numbers: for a single pair, its number
    };

    struct Port
    {
        Side egress;
        Side ingress;
    };

    struct Arrival
    {
        int64_t time;
        uint64_t order;
        uint32_t message;
        uint32_t cookie; ///< its lower half

        /// Part by part.
        void Set(const Arrival& other)
        {
            time = other.time;
            order = other.order;
            message = other.message;
            cookie = other.cookie;
        }

        bool operator<(const Arrival& other) const // for a heap with the earliest first
        {
            return time != other.time ? time > other.time : order > other.order;
        }
    };

    /// How a message is sent.
    struct Way
    {
        int64_t latency = 0;    ///< ps
        uint64_t psPerByte = 0; ///< kFractionBits behind the point
    };

    /// Indices into m_ways: the first two are chosen by size, those of protocols follow.
    static constexpr uint8_t kSmall = 0;
    static constexpr uint8_t kBulk = 1;

    /// Ways per kind of links in m_ways: those between islands follow those inside islands.
    static constexpr uint8_t kWays = 2 + 2 * kProtocols;

    /// Sets the ways of one kind of links, from `first` of m_ways on.
    void SetWays(const ScaleUp& links, const LibraryModel* library, uint8_t first);
    bool Crosses(uint32_t fromGpu, uint32_t toGpu) const;
    /// \param first of its kind of links
    uint8_t WayOf(uint64_t bytes, uint8_t first) const;
    /// \param parts,how as those of Post
    /// \param first of its kind of links
    uint8_t WayOf(uint64_t bytes, uint64_t parts, uint8_t how, uint8_t first) const;
    Work WorkOf(uint64_t bytes, uint8_t how) const;
    Work WorkOf(const Message& message) const;

    /// Whole picoseconds.
    static int64_t Rounded(Work work)
    {
        return static_cast<int64_t>((work + (Work{1} << (kFractionBits - 1))) >> kFractionBits);
    }

    int64_t LatencyOf(const Message& message) const;
    uint32_t PairOf(uint32_t from, uint32_t to);
    /// A message that is nowhere yet. \param way in m_ways \return its number
    uint32_t MakeMessage(uint64_t bytes, uint64_t cookie, uint8_t way);
    /// It is no longer under way.
    void FreeMessage(uint32_t number);
    bool SharesPorts(const Pair& pair) const;

    bool IsSwitch(uint32_t port) const
    {
        return port >= m_switch && port < 3 * m_switch;
    }

    /// Pairs with messages on a side of a port that can be full.
    uint32_t PairsAt(uint32_t port, const Side& side) const;
    void Activate(uint32_t number, int64_t now);
    /// It has messages from now on.
    void Join(uint32_t number);
    /// The messages under way, in the order of their posts.
    std::vector<uint32_t> ListUnderWay() const;
    /// \param here by number of `apart`: the messages' numbers here
    void TakePairs(const ScaleUpModel& apart, const std::vector<uint32_t>& here);
    void Deactivate(uint32_t number);
    void StartAlone(uint32_t number, int64_t at);
    /// Ends the messages that a pair that is alone has sent by now.
    void CatchUp(uint32_t number, int64_t now);
    void Share(uint32_t number, int64_t now);
    /// The head of a pair has left.
    void Leave(Pair& pair, int64_t at);
    void Fly(uint32_t message, int64_t at);
    void Advance(int64_t now);
    void FinishShared(int64_t at);
    void ShareOut(int64_t at);
    void FindShares();
    void DropRecalled();

    uint32_t m_switch;          ///< number of GPUs, and of the first port that is never full
    uint32_t m_island = 0;      ///< GPUs of an island; 0: no islands
    uint64_t m_bridgeShare = 0; ///< share of the bridge, in units of a port's share; 0: no bridge
    rdma::Bytes m_bytes;
    uint64_t m_posts = 0;
    uint32_t m_underWay = 0;
    std::array<Way, 2 * kWays> m_ways;
    std::vector<Port> m_ports; ///< by GPU; the switch's, twice as many; GPUs' links between islands
    std::vector<uint32_t> m_pairOf; ///< [from * GPUs + to]; made when first needed
    /// [(GPU * 2 GPUs + port behind GPUs) * 2 + (from the switch)]; made when first needed
    std::vector<uint32_t> m_switchPairOf;
    std::vector<Pair> m_pairs;
    std::vector<uint32_t> m_placeOf; ///< by pair: its place in m_active, if it is there
    std::vector<uint32_t> m_active;  ///< pairs with messages
    std::vector<Message> m_messages;
    uint32_t m_freeMessage = kNone;
    std::vector<Arrival> m_arrivals;  ///< heap; recalled messages are in it, too
    int64_t m_nextFinish = kNeverPs;  ///< next finish among pairs that share ports
    int64_t m_shareOutAt = kNeverPs;  ///< when rates must be computed anew
    std::vector<uint64_t> m_free;     ///< ShareOut: share left, of egress, ingress ports, bridge
    std::vector<uint32_t> m_waiting;  ///< ShareOut: pairs without a share yet, of the same
    std::vector<uint32_t> m_unshared; ///< ShareOut: pairs
};

template <class F>
void
ScaleUpModel::TakeOver(ScaleUpModel& apart, rdma::TimePoint now, F cookieOf)
{
    Advance(now.ps);
    apart.Advance(now.ps);
    std::vector<uint32_t> here(apart.m_messages.size(), kNone);
    for (const uint32_t number : apart.ListUnderWay())
    {
        const Message& message = apart.m_messages[number];
        here[number] = MakeMessage(message.bytes, cookieOf(message.cookie), message.how);
        m_messages[here[number]].most = message.most;
    }
    TakePairs(apart, here);
    m_bytes += apart.m_bytes;
    apart.Clear();
}

} // namespace topo

#endif // TOPOLOGIES_SCALE_UP_SCALE_UP_MODEL_H
