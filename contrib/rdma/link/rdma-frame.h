/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef RDMA_FRAME_H
#define RDMA_FRAME_H

#include "contrib/rdma/core/object-pool.h"
#include "contrib/rdma/core/roce-sizes.h"
#include "contrib/rdma/core/telemetry-hop.h"
#include "rdma-journey.h"

#include "ns3/mac48-address.h"
#include "ns3/node-window-unit.h"
#include "ns3/packet.h"

#include <array>
#include <cstdint>
#include <memory>
#include <utility>

namespace ns3
{

/**
 * \ingroup rdma
 * What a frame is: a RoCEv2 packet by its opcode (rdma::RoceOpcode has the numbers), or one of two
 * kinds that have no transport header.
 */
enum class RdmaOpcode : uint8_t
{
    SEND_FIRST = static_cast<uint8_t>(rdma::RoceOpcode::kSendFirst),
    SEND_MIDDLE = static_cast<uint8_t>(rdma::RoceOpcode::kSendMiddle),
    SEND_LAST = static_cast<uint8_t>(rdma::RoceOpcode::kSendLast),
    SEND_LAST_IMM = static_cast<uint8_t>(rdma::RoceOpcode::kSendLastWithImmediate),
    SEND_ONLY = static_cast<uint8_t>(rdma::RoceOpcode::kSendOnly),
    SEND_ONLY_IMM = static_cast<uint8_t>(rdma::RoceOpcode::kSendOnlyWithImmediate),
    WRITE_FIRST = static_cast<uint8_t>(rdma::RoceOpcode::kWriteFirst),
    WRITE_MIDDLE = static_cast<uint8_t>(rdma::RoceOpcode::kWriteMiddle),
    WRITE_LAST = static_cast<uint8_t>(rdma::RoceOpcode::kWriteLast),
    WRITE_LAST_IMM = static_cast<uint8_t>(rdma::RoceOpcode::kWriteLastWithImmediate),
    WRITE_ONLY = static_cast<uint8_t>(rdma::RoceOpcode::kWriteOnly),
    WRITE_ONLY_IMM = static_cast<uint8_t>(rdma::RoceOpcode::kWriteOnlyWithImmediate),
    READ_REQUEST = static_cast<uint8_t>(rdma::RoceOpcode::kReadRequest),
    READ_RESPONSE_FIRST = static_cast<uint8_t>(rdma::RoceOpcode::kReadResponseFirst),
    READ_RESPONSE_MIDDLE = static_cast<uint8_t>(rdma::RoceOpcode::kReadResponseMiddle),
    READ_RESPONSE_LAST = static_cast<uint8_t>(rdma::RoceOpcode::kReadResponseLast),
    READ_RESPONSE_ONLY = static_cast<uint8_t>(rdma::RoceOpcode::kReadResponseOnly),
    ACKNOWLEDGE = static_cast<uint8_t>(rdma::RoceOpcode::kAcknowledge),
    UD_SEND_ONLY = static_cast<uint8_t>(rdma::RoceOpcode::kDatagramSendOnly),
    UD_SEND_ONLY_IMM = static_cast<uint8_t>(rdma::RoceOpcode::kDatagramSendOnlyWithImmediate),
    CNP = static_cast<uint8_t>(rdma::RoceOpcode::kCnp),
    NDP_ACK = static_cast<uint8_t>(rdma::RoceOpcode::kNdpAck),
    NDP_NACK = static_cast<uint8_t>(rdma::RoceOpcode::kNdpNack),
    NDP_PULL = static_cast<uint8_t>(rdma::RoceOpcode::kNdpPull),
    RETURNED = static_cast<uint8_t>(rdma::RoceOpcode::kReturned),
    REQUEST_TO_SEND = static_cast<uint8_t>(rdma::RoceOpcode::kRequestToSend),
    SWITCH_REPORT = static_cast<uint8_t>(rdma::RoceOpcode::kSwitchReport),
    PAUSE = 0xf0,        //!< no BTH: an IEEE 802.1Qbb frame
    PACKET = 0xf1,       //!< no BTH: an ordinary ns3::Packet hangs off RdmaFrame::extra
    FLOW_CONTROL = 0xf2, //!< no LRH either: an InfiniBand link's flow-control packet
    ETHERNET = 0xf3,     //!< as PACKET, but switches forward it (RdmaPackets)
};

/// \return whether the frame carries message data (and is counted as a data packet)
constexpr bool
IsData(RdmaOpcode opcode)
{
    return rdma::HasPayload(static_cast<rdma::RoceOpcode>(opcode));
}

/// \return whether the frame is a request of a reliable connection: of a SEND, WRITE or READ
constexpr bool
IsRequest(RdmaOpcode opcode)
{
    return opcode <= RdmaOpcode::READ_REQUEST;
}

/// \return whether the frame is part of the answer to a READ
constexpr bool
IsReadResponse(RdmaOpcode opcode)
{
    return opcode >= RdmaOpcode::READ_RESPONSE_FIRST && opcode <= RdmaOpcode::READ_RESPONSE_ONLY;
}

/// \return whether the frame is an answer of NDP's: psn is then what its sender expects
constexpr bool
IsNdpAnswer(RdmaOpcode opcode)
{
    return opcode >= RdmaOpcode::NDP_ACK && opcode <= RdmaOpcode::NDP_PULL;
}

/// \return whether the frame ends a request of a reliable connection
constexpr bool
IsLast(RdmaOpcode opcode)
{
    return rdma::detail::IsOneOf(static_cast<rdma::RoceOpcode>(opcode), 0x1f3c);
}

/// \return whether the frame is of a WRITE and takes no receive request: FIRST, MIDDLE, LAST, ONLY
constexpr bool
IsPlainWrite(RdmaOpcode opcode)
{
    return rdma::detail::IsOneOf(static_cast<rdma::RoceOpcode>(opcode), 0x5c0);
}

/// \return whether a responder needs a receive request for this packet: the first of a SEND, the
/// last of a WRITE with immediate
constexpr bool
TakesReceive(RdmaOpcode opcode)
{
    return rdma::detail::IsOneOf(static_cast<rdma::RoceOpcode>(opcode), 0xa31);
}

/// \return whether the frame is of a SEND of a reliable connection
constexpr bool
IsSend(RdmaOpcode opcode)
{
    return opcode <= RdmaOpcode::SEND_ONLY_IMM;
}

/// \return whether the frame carries immediate data
constexpr bool
HasImmediate(RdmaOpcode opcode)
{
    return rdma::HasImmediate(static_cast<rdma::RoceOpcode>(opcode));
}

/// \return whether the frame carries an RETH
constexpr bool
HasReth(RdmaOpcode opcode)
{
    return rdma::HasReth(static_cast<rdma::RoceOpcode>(opcode));
}

/// Rare attachments of a frame; the common frame has none.
struct RdmaFrameExtra;

/**
 * \ingroup rdma
 * What switches find a frame's way by: Ethernet's by a hash of the flow's 5-tuple, computed once a
 * flow (and by the endpoint); InfiniBand's by the LIDs that it goes from and to.
 */
class RdmaRoute
{
  public:
    RdmaRoute() = default; // as a frame's other fields: unset

    static constexpr RdmaRoute OfFlow(uint32_t hash)
    {
        return RdmaRoute(hash);
    }

    static constexpr RdmaRoute OfLids(uint16_t source, uint16_t destination)
    {
        return RdmaRoute(uint32_t{source} << 16 | destination);
    }

    /// For frames that no switch looks up: ordinary packets, and what links say to each other.
    static constexpr RdmaRoute None()
    {
        return RdmaRoute(0);
    }

    /// \pre Ethernet
    constexpr uint32_t GetFlowHash() const
    {
        return m_bits;
    }

    /// \pre InfiniBand
    constexpr uint16_t GetSourceLid() const
    {
        return static_cast<uint16_t>(m_bits >> 16);
    }

    /// \pre InfiniBand
    constexpr uint16_t GetDestinationLid() const
    {
        return static_cast<uint16_t>(m_bits);
    }

    /// \return what a switch may hash: the same for all packets of a flow, or of a pair of LIDs
    constexpr uint32_t GetKey() const
    {
        return m_bits;
    }

    /// Bits of a UDP source port that RoCEv2 leaves to choose (rdma::RoceSourcePort).
    static constexpr uint16_t ENTROPY_MASK = 0x3fff;

    /// \return route of a packet of the flow whose source port differs in these bits: another path.
    /// Every switch mixes all bits again (rdma::EcmpPick), so this is as good as hashing the
    /// 5-tuple anew, and the entropy can be recovered from it. \pre Ethernet
    constexpr RdmaRoute WithEntropy(uint16_t entropy) const
    {
        return RdmaRoute(m_bits ^ (entropy & ENTROPY_MASK));
    }

  private:
    constexpr explicit RdmaRoute(uint32_t bits)
        : m_bits(bits)
    {
    }

    uint32_t m_bits;
};

/**
 * \ingroup rdma
 * A frame in flight or in a queue: one cache line, pooled, never an ns3::Packet (DESIGN: the data
 * plane, 1).
 *
 * A frame is always owned by exactly one place: a NIC making it, a port's queue, a link's in-flight
 * list, or the pool. So one `next` pointer serves all lists and nothing is copied on the way.
 */
struct alignas(64) RdmaFrame : NodeWindowFrame
{
    /// Bits of `flags`.
    enum Flag : uint8_t
    {
        ECT = 1,            //!< ECN-capable transport
        CE = 2,             //!< congestion experienced
        ACK_REQUEST = 4,    //!< AckReq bit of the BTH
        ECN_ECHO = 4,       //!< an ACKNOWLEDGE: the packet that it answers was marked CE
        NAK = 8,            //!< an ACKNOWLEDGE whose AETH says NAK, PSN sequence error
        RETRANSMITTED = 16, //!< (not on the wire) the sender sent this PSN before
        END_OF_POST =
            32, //!< (not on the wire) last packet of what was posted, which may be several requests
        RNR_NAK = 64,    //!< an ACKNOWLEDGE whose AETH says receiver not ready
        FATAL_NAK = 128, //!< an ACKNOWLEDGE with another NAK, which no retry helps
        // Bits of requests:
        TRIMMED = 8,          //!< a switch has cut its payload off
        TRIMMABLE = 64,       //!< a switch may do so
        NOTHING_BEHIND = 128, //!< the sender has nothing to send behind it
    };

    RdmaFrame* next;    //!< next in whatever list holds the frame
    int64_t time;       //!< in flight: when it is delivered, ps
    uint32_t wireBytes; //!< on the wire: preamble, frame, FCS and inter-packet gap

    // Endpoints (RdmaFabric has at most MAX_ENDPOINTS) and what the BTH has of 24 bits; the bytes
    // that they leave are the label's.
    uint32_t src : 24; //!< endpoint
    uint32_t label0 : 8;
    uint32_t dst : 24; //!< endpoint
    uint32_t label1 : 8;
    uint32_t destQp : 24;
    uint32_t label2 : 8;
    uint32_t psn : 24;
    uint32_t label3 : 8;

    RdmaRoute route;    //!< what switches choose its way by
    uint32_t aux;       //!< immediate data (data frames), MSN (ACKs), pause quanta (PAUSE), FCTBS
                        //!< (FLOW_CONTROL), PSN of the packet answered (NDP_ACK, NDP_NACK),
                        //!< credits asked for (REQUEST_TO_SEND; RdmaEqdsTransport: in data, too)
    uint32_t dmaLength; //!< RETH length, AETH syndrome (ACKs; above the low byte: ECHOES_ENTROPY),
                        //!< source queue pair (UD), FCCL (FLOW_CONTROL), pulls given so far
                        //!< (NDP_ACK, NDP_NACK, NDP_PULL), packets to be sent again
                        //!< (REQUEST_TO_SEND)
    uint16_t payload;   //!< bytes of message data, without padding
    uint16_t inPort;    //!< in a switch: where it came in; InfiniBand: with its VL there << 13; on
                        //!< a link with RdmaLinkRetry: its number
    RdmaOpcode opcode;
    uint8_t priority; //!< 0..7; InfiniBand: the VL
    uint8_t flags;

    union {
        uint8_t classEnable;  //!< PAUSE: class-enable vector
        uint8_t dscp;         //!< RoCEv2: 6 bits, and LOST
        uint8_t serviceLevel; //!< InfiniBand: 4 bits, and COUNTED, CORRUPTED
    };

    RdmaFrameExtra* extra; //!< null, or what hangs off

    static constexpr uint32_t MAX_ENDPOINTS = (1U << 24) - 1; //!< and one number for everybody

    /// Not on the wire, so that observers know whose a frame is: the low half of the id of the
    /// request that it is of, which an answer has from what it answers (RdmaWorkRequest::id).
    /// Frames from another process have none.
    void SetLabel(uint64_t id)
    {
        label0 = id & 0xff;
        label1 = id >> 8 & 0xff;
        label2 = id >> 16 & 0xff;
        label3 = id >> 24 & 0xff;
    }

    uint32_t GetLabel() const
    {
        return label0 | label1 << 8 | label2 << 16 | uint32_t{label3} << 24;
    }

    /// Label of frames that answer no request: pulls, and what links say to each other.
    static constexpr uint32_t NO_LABEL = UINT32_MAX;

    /// RoCEv2, in dmaLength of an ACK: it says which entropy the packet had that it answers, in the
    /// 14 bits from bit 8 on (RdmaPathSelector). Where a header has them is assumed, and their
    /// bytes are not counted.
    static constexpr uint32_t ECHOES_ENTROPY = 0x80000000;
    static constexpr uint32_t ENTROPY_SHIFT = 8;

    /// InfiniBand, in serviceLevel and not on the wire: its VCRC will be found wrong.
    static constexpr uint8_t CORRUPTED = 0x80;
    /// The same: a receiver with bit errors has counted its credits.
    static constexpr uint8_t COUNTED = 0x40;
    /// InfiniBand, in serviceLevel and not on the wire: it was on the way when its link was cut.
    /// CORRUPTED and COUNTED, too.
    static constexpr uint8_t WIRE_LOST = 0x20;
    /// RoCEv2, in dscp and not on the wire: it was on the way when its link went down.
    static constexpr uint8_t LOST = 0x80;

    /// RoCEv2, in dscp and not on the wire: its FCS will be found wrong where it is whole.
    static constexpr uint8_t BAD = 0x40;

    /// Preamble, start delimiter and inter-packet gap (IEEE 802.3, 4A.2): on the wire, never in a
    /// buffer.
    static constexpr uint32_t WIRE_ONLY_BYTES = rdma::kPreambleBytes + rdma::kInterFrameGapBytes;

    /// Wire bytes of a RoCEv2 packet without extended headers and payload.
    static constexpr uint32_t DATA_OVERHEAD_BYTES =
        WIRE_ONLY_BYTES + rdma::kEthernetHeaderBytes + rdma::kIpv4HeaderBytes +
        rdma::kUdpHeaderBytes + rdma::kBthBytes + rdma::kIcrcBytes + rdma::kFcsBytes;

    /// \return bytes that buffers count: Ethernet header to FCS. Of standard frames; a port that
    /// may have others knows them (RdmaPort::GetFrameBytes)
    uint32_t FrameBytes() const
    {
        return wireBytes - WIRE_ONLY_BYTES;
    }
};

static_assert(sizeof(RdmaFrame) == 64, "a frame is one cache line");

/**
 * \ingroup rdma
 * What a packet collects on its way for a congestion control that asks for it
 * (RdmaCongestionOps::GetNeeds), and what its ACK carries back. The bytes it takes on the wire are
 * RdmaCongestionOps::GetHeaderBytes.
 */
struct RdmaTelemetry
{
    /// On longer paths the first so many hops are kept. HPCC's header has room for 5: a Clos
    /// network of 3 tiers.
    static constexpr uint32_t MAX_HOPS = 8;

    using Hop = rdma::TelemetryHop;

    int64_t sent;       //!< its sender starts to send it, ps
    int64_t held;       //!< the receiving host had it before it took it: see RdmaNicLimits, ps
    uint8_t hops;       //!< entries of `hop` that are used
    uint8_t switches;   //!< that it came through, however many `hop` has room for
    bool collects;      //!< switches add to `hop`
    uint8_t pint;       //!< rdma::PintEncode of the busiest port on the way; with pintPeriod
    int64_t pintPeriod; //!< T of rdma::PintLink, ps, which switches would be told; 0: no PINT
    std::array<Hop, MAX_HOPS> hop;

    void Start(int64_t now, bool collect)
    {
        sent = now;
        held = 0;
        hops = 0;
        switches = 0;
        collects = collect;
        pint = 0;
        pintPeriod = 0;
    }
};

/// \ingroup rdma
/// What switches tell each other of a frame's way (RdmaCongaLoadBalancer,
/// RdmaConweaveLoadBalancer). In overlay headers that every frame has there; its bytes are not
/// counted.
struct RdmaFrameTag
{
    uint16_t port{0};      //!< port of the first switch by which the frame left
    uint16_t told{0};      //!< port of the last switch whose way is told of; or 0xffff
    uint8_t congestion{0}; //!< most on the way so far
    uint8_t toldCongestion{0};

    // ConWeave's: rdma::ConweaveReceiver::Packet
    uint8_t kind{0};
    uint8_t phase{0};
    uint32_t epoch{0};
    int64_t sent{0}; //!< ps
    int64_t tail{0}; //!< ps
};

/// From RdmaFramePool, and back to it with its frame.
struct RdmaFrameExtra
{
    RdmaFrameExtra* next;                 //!< in the pool
    Ptr<Packet> packet;                   //!< PACKET, ETHERNET: what NetDevice::Send was given
    uint16_t protocol{0};                 //!< EtherType of `packet`
    bool hasTelemetry{false};             //!< whether `telemetry` means anything
    bool hasTag{false};                   //!< whether `tag` means anything
    uint8_t joined{0};                    //!< switches' queues that `journey` tells of, or 255
    RdmaFrameTag tag;                     //!< between the first switch and the last
    uint32_t rank{0};                     //!< RdmaQueueDisc::RankOf
    std::unique_ptr<RdmaJourney> journey; //!< last packet of a message, if NICs note journeys
    RdmaTelemetry telemetry;              //!< data packets and ACKs
    Mac48Address source;                  //!< ETHERNET
    Mac48Address destination;             //!< ETHERNET
};

/**
 * \ingroup rdma
 * The frames of a process, as one of its threads sees them (rdma::ObjectPool).
 */
class alignas(64) RdmaFramePool
{
  public:
    /// \return this thread's
    static RdmaFramePool& Get()
    {
        RdmaFramePool* pool = t_pool;
        return pool ? *pool : EnterThread();
    }

    /// This thread ends: another one may have its pool.
    static void LeaveThread();

    /// \return number of frames allocated and not freed, by all threads. Of a moment when none of
    /// them does either
    static uint64_t GetLive();

    /// \return a frame whose fields are unset but for extra == nullptr
    RdmaFrame* Allocate()
    {
        RdmaFrame* frame = m_frames.Allocate();
        frame->extra = nullptr;
        return frame;
    }

    /// \param frame a frame that no list holds any more
    void Free(RdmaFrame* frame)
    {
        if (frame->extra)
        {
            FreeExtra(frame->extra);
        }
        m_frames.Free(frame);
    }

    /// \return an attachment with nothing in it
    RdmaFrameExtra* AllocateExtra()
    {
        return m_extras.Allocate();
    }

    /// \return memory for an RdmaJourney
    void* AllocateJourney()
    {
        return m_journeys.Allocate();
    }

    void FreeJourney(void* memory)
    {
        m_journeys.Free(static_cast<JourneyMemory*>(memory));
    }

  private:
    struct All;

    /// Memory of a journey, or a pointer to the next free one.
    union JourneyMemory {
        JourneyMemory* next;
        alignas(RdmaJourney) unsigned char bytes[sizeof(RdmaJourney)];
    };

    explicit RdmaFramePool(All& all);

    static All& GetAll();
    static RdmaFramePool& EnterThread();

    void FreeExtra(RdmaFrameExtra* extra)
    {
        if (extra->packet || extra->journey)
        {
            extra->packet = nullptr;
            extra->journey.reset();
        }
        extra->hasTelemetry = extra->hasTag = false;
        extra->rank = 0;
        m_extras.Free(extra);
    }

    /// The library is loaded with the program, so its place is known by then.
    [[gnu::tls_model("initial-exec")]] static inline thread_local RdmaFramePool* t_pool = nullptr;

    rdma::ObjectPool<RdmaFrame> m_frames;
    rdma::ObjectPool<RdmaFrameExtra> m_extras;
    rdma::ObjectPool<JourneyMemory> m_journeys;
};

/// A first-in, first-out list of frames, linked through RdmaFrame::next.
class RdmaFrameList
{
  public:
    bool IsEmpty() const
    {
        return !m_head;
    }

    RdmaFrame* Front() const
    {
        return m_head;
    }

    void PushBack(RdmaFrame* frame)
    {
        frame->next = nullptr;
        if (m_head)
        {
            m_tail->next = frame;
        }
        else
        {
            m_head = frame;
        }
        m_tail = frame;
    }

    RdmaFrame* PopFront()
    {
        RdmaFrame* frame = m_head;
        m_head = frame->next;
        return frame;
    }

    /// Frames that are linked already. \param last ends them
    void Append(RdmaFrame* first, RdmaFrame* last)
    {
        (m_head ? m_tail->next : m_head) = first;
        m_tail = last;
    }

    /// Takes one out. \param before the frame before it; null: the first one goes
    RdmaFrame* PopBehind(RdmaFrame* before)
    {
        if (!before)
        {
            return PopFront();
        }
        RdmaFrame* frame = before->next;
        before->next = frame->next;
        m_tail = frame == m_tail ? before : m_tail;
        return frame;
    }

    /// \pre not empty
    RdmaFrame* Back() const
    {
        return m_tail;
    }

    /// Forgets all frames: they are another list's.
    void Release()
    {
        m_head = nullptr;
    }

    /// Gives all frames back to the pool.
    void Clear()
    {
        while (m_head)
        {
            RdmaFramePool::Get().Free(PopFront());
        }
    }

  private:
    RdmaFrame* m_head{nullptr};
    RdmaFrame* m_tail{nullptr};
};

} // namespace ns3

#endif /* RDMA_FRAME_H */
