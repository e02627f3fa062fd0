/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * The links between the GPUs of a server in frames: what scale-up-model.h does with fluids, here
 * with queues and credits. A server is a scale-up domain; an NVL72 is one server of 72 GPUs.
 *
 *     GPU a --egress--> [ input buffer, a queue for each output ] --output--> GPU b
 *                         switch, cut-through
 *
 * **Frames.** A link carries flits of 16 bytes. A payload of up to 256 bytes has one flit of header
 * (assumed, after NVLink). A frame is up to ScaleUpFrames::frame bytes of data with all their
 * headers: several payloads at once. With frame = 256 each payload is a frame.
 *
 * **Rate.** Messages get ScaleUp::perGpu times its efficiency on a link, headers and all, as
 * measured; so a flit of a full frame takes its share of that. What is left of the link's raw rate
 * (replay, credits, refresh) is spread over all flits.
 *
 * **Credits.** A sender sends a frame if the next input buffer has room for it. A frame gives its
 * room back when its last flit has left the buffer; the sender knows a link delay later. Each GPU
 * and switch takes its queues in turns (round robin), a frame each: a GPU's are those of its
 * messages' receivers, an output's those of the inputs. A frame is handed on as soon as its head is
 * there (cut-through), but never before its tail could follow.
 *
 * **Two levels.** With ScaleUp::rack below the number of GPUs, GPUs hang on the switch of their
 * rack, and racks on a spine by a link of rack x perGpu x spineShare. Frames between racks go up
 * and down, which has no circle, so credits do not deadlock.
 *
 * **Time.** A message alone takes as long as by the law of scale-up-model.h: the data at the rate,
 * and its way's latency behind the last byte. Of this latency the wire has its part; what remains
 * is the software's and comes last. Messages of a pair go one after another and arrive in order.
 *
 * **The switch adds up and copies** (NVLink SHARP): ports Gpus() to 3 Gpus() - 1, as there. Data to
 * the switch end in its input; data from it begin at the output to a GPU, in turns with the inputs.
 *
 * **Constants.** Switch 200 ns: "25T <= 150 ns, 50T < 200 ns, 100T < 250 ns" is the target of
 * UALink's switches (ualinkconsortium.org, answers to the webinar on 200G 1.0; read 2026-12-01).
 * Link delay 50 ns, buffers of twice the bytes of a round trip of credits: assumed. A server with a
 * latency below 300 ns has both delays shorter, in proportion.
 *
 * **Use.** As ScaleUpModel: Post(), then Arrived() at NextWake(), as often as it returns true. A
 * wake may find nothing: it is a bound below the next arrival, so that frames cost no events of the
 * simulator. Events of frames up to a moment come before posts of that moment.
 *
 * Cost: two to three heap operations a frame and link, on a heap of one entry a link.
 */
#ifndef TOPOLOGIES_SCALE_UP_SCALE_UP_PACKETS_H
#define TOPOLOGIES_SCALE_UP_SCALE_UP_PACKETS_H

#include "contrib/rdma/core/units.h"
#include "topologies/server.h"

#include <cstdint>
#include <deque>
#include <limits>
#include <utility>
#include <vector>

namespace topo
{

/// What frames of scale-up links are.
struct ScaleUpFrames
{
    rdma::Bytes frame{4096};            ///< data of a frame, a multiple of `payload`
    rdma::Bytes payload{256};           ///< data that have one header
    rdma::Bytes flit{16};               ///< a header is one
    rdma::Bytes buffer{0};              ///< of an input of a switch; 0: twice a round trip
    rdma::Duration linkDelay{50000};    ///< of a cable and its ports
    rdma::Duration switchDelay{200000}; ///< of a frame's head, from input to output
};

/// The scale-up links of one server, frame by frame.
class ScaleUpPackets
{
  public:
    static constexpr rdma::TimePoint kNever{std::numeric_limits<int64_t>::max()};

    /// Throws std::invalid_argument if `spec` is not kNvSwitch, or `frames` has a zero where there
    /// is none.
    ScaleUpPackets(const ScaleUp& spec, uint32_t gpus, const ScaleUpFrames& frames = {});

    /**
     * Posts a message; parameters as those of ScaleUpModel::Post, but for
     * \param sending of the message alone, at the full rate: ScaleUpModel::TimingOf
     * \param latency behind its last byte: the same
     */
    void Post(uint32_t from,
              uint32_t to,
              rdma::Bytes bytes,
              rdma::Duration sending,
              rdma::Duration latency,
              rdma::BitRate most,
              rdma::TimePoint now,
              uint64_t cookie);

    /// When to call Arrived() next, unless Post() is called before; kNever: nothing is under way.
    rdma::TimePoint NextWake();

    /// As ScaleUpModel::Arrived.
    bool Arrived(rdma::TimePoint now, uint64_t& cookie);

    /// Of all links together. Data that were posted = data that have arrived + data under way.
    struct Counters
    {
        uint64_t messages = 0; ///< posted between different ports
        uint64_t frames = 0;   ///< sent by GPUs and by switches that add up
        uint64_t flits = 0;    ///< of these frames
        uint64_t data = 0;     ///< bytes, with a protocol's flags
        uint64_t hops = 0;     ///< frames by link
        int64_t stalled = 0;   ///< ps that a link with frames to send waited for credits
        uint64_t deepest = 0;  ///< most bytes that an input buffer has held
    };

    const Counters& GetCounters() const
    {
        return m_counters;
    }

    /// Bytes of an input buffer of a switch.
    uint64_t BufferOf(uint32_t link) const
    {
        return m_links[link].room;
    }

    /// ps that a link has carried flits. \param link GPU g's egress is g, its ingress Gpus() + g
    int64_t BusyOf(uint32_t link) const
    {
        return m_links[link].busy;
    }

    uint32_t Gpus() const
    {
        return m_gpus;
    }

    /// Messages that have not arrived yet.
    uint32_t UnderWay() const
    {
        return m_underWay;
    }

  private:
    static constexpr uint32_t kNone = std::numeric_limits<uint32_t>::max();
    static constexpr int64_t kNeverPs = kNever.ps;

    struct Frame
    {
        uint32_t pair = kNone;
        uint32_t bytes = 0; ///< data
        uint32_t flits = 0;
        uint16_t hop = 0;  ///< in Pair::path
        bool last = false; ///< of its message
        int64_t ready = 0; ///< ps: it may leave by the next link
    };

    struct Message
    {
        uint64_t cookie = 0;
        uint64_t left = 0;   ///< data that no frame has taken
        int64_t latency = 0; ///< ps
        uint64_t gapPs = 0;  ///< ps a byte of data at least, 20 bits behind the point; 0: none
    };

    /// A queue of a link: an input's frames for it, or a pair's messages.
    struct Source
    {
        uint32_t next = kNone;  ///< in turns
        uint32_t pair = kNone;  ///< kNone: frames
        uint32_t input = kNone; ///< the link by which the frames came
        bool queued = false;    ///< it is in the link's turns
        std::deque<Frame> frames;
    };

    /// From one port to another: the messages that wait, and those whose last frame is on its way.
    struct Pair
    {
        uint32_t from = 0;
        uint32_t to = 0;
        uint32_t source = kNone;       ///< of its first link
        std::vector<uint32_t> path;    ///< links
        std::vector<uint32_t> sources; ///< by link behind the first one: the queue there
        std::deque<Message> messages;  ///< not all in frames yet
        std::deque<Message> flying;    ///< all in frames; the last one has not left the last switch
        int64_t idleArrival = 0;       ///< ps: no arrival of flying[0] is before
        int64_t notBefore = 0;         ///< ps: its next frame, by the limit of its rate
        int64_t lastArrival = std::numeric_limits<int64_t>::min();
        bool active = false; ///< in m_active
    };

    /// One direction of a link, with the queues at its beginning.
    struct Link
    {
        uint64_t psPerFlit = 0;   ///< 20 bits behind the point
        uint64_t room = 0;        ///< bytes of the buffer at its end; 0: a GPU, that takes all
        uint64_t used = 0;        ///< of these, what frames have, or their credits are not back
        uint32_t turn = kNone;    ///< the queue that has sent last: its next one is the first
        int64_t free = 0;         ///< ps: it has sent
        int64_t waits = kNeverPs; ///< ps: for credits, since then
        int64_t busy = 0;
        int64_t event = kNeverPs;                         ///< when it tries again, pending
        std::deque<Frame> flying;                         ///< to the next switch, in order
        std::deque<std::pair<int64_t, uint32_t>> credits; ///< coming back: when, bytes
    };

    struct Event
    {
        int64_t at;
        uint64_t order;
        uint32_t link;
        bool arrives; ///< the first of Link::flying is ready; else it tries to send

        bool operator<(const Event& other) const // for a heap with the earliest first
        {
            return at != other.at ? at > other.at : order > other.order;
        }
    };

    struct Arrival
    {
        int64_t at;
        uint64_t order;
        uint64_t cookie;

        bool operator<(const Arrival& other) const
        {
            return at != other.at ? at > other.at : order > other.order;
        }
    };

    /// \param gpuRates its rate, in rates of a GPU's link \return its number
    uint32_t AddLink(double gpuRates, bool toSwitch);
    uint32_t PairOf(uint32_t from, uint32_t to);
    uint32_t SourceAt(uint32_t link, uint32_t input);
    void SetPath(Pair& pair, uint32_t number);
    void Schedule(int64_t at, uint32_t link, bool arrives);
    /// At the end of it, all frames up to a moment have moved.
    void Advance(int64_t now);
    void Queue(uint32_t link, uint32_t source);
    void Try(uint32_t link, int64_t now);
    /// \return the source before the next one, in turns, whose frame may leave; kNone: there is
    /// none \param later the time at which to ask again, if that is sooner
    uint32_t Pick(const Link& link, int64_t now, int64_t* later) const;
    void Send(uint32_t link, uint32_t source, int64_t now);
    void Hand(uint32_t link, int64_t now);
    bool TakeCredits(Link& link, uint32_t bytes, int64_t now);
    uint32_t NextBytes(const Source& source) const;
    uint32_t FlitsOf(uint64_t bytes) const;
    void Deliver(Pair& pair, int64_t tail);
    int64_t BoundOf(const Pair& pair, int64_t now) const;

    uint32_t m_gpus;
    uint32_t m_rack; ///< GPUs of a rack; as m_gpus: one switch
    ScaleUpFrames m_frames;
    double m_psPerByte = 0; ///< of data in full frames, on a GPU's link
    int64_t m_wire = 0;     ///< ps, the wire's part of a latency
    std::vector<Link> m_links;
    std::vector<Source> m_sources;
    std::vector<std::vector<uint32_t>> m_queueOf; ///< by link, by input link: its source
    std::vector<Pair> m_pairs;
    std::vector<uint32_t> m_pairOf;  ///< [from * 3 Gpus() + to]
    std::vector<uint32_t> m_active;  ///< pairs with messages under way
    std::vector<Event> m_events;     ///< heap
    std::vector<Arrival> m_arrivals; ///< heap
    uint64_t m_order = 0;
    uint32_t m_underWay = 0;
    int64_t m_bound = kNeverPs; ///< ps: no arrival that is not known comes before
    Counters m_counters;
};

} // namespace topo

#endif // TOPOLOGIES_SCALE_UP_SCALE_UP_PACKETS_H
