/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef RDMA_CONGESTION_OPS_H
#define RDMA_CONGESTION_OPS_H

#include "contrib/rdma/core/congestion-control.h"
#include "contrib/rdma/core/ecn-law.h"
#include "contrib/rdma/core/input-error.h"
#include "contrib/rdma/core/units.h"

#include "ns3/ns3-compat.h"
#include "ns3/nstime.h"
#include "ns3/object.h"
#include "ns3/rdma-frame.h"

#include <limits>
#include <memory>
#include <string>
#include <vector>

namespace ns3
{

/**
 * \ingroup rdma
 * What a congestion control sees and sets of one queue pair: the NIC keeps it, passes it in, and
 * reads back rate and window.
 */
struct RdmaCongestionState
{
    static constexpr int64_t NEVER = std::numeric_limits<int64_t>::max();
    static constexpr uint64_t UNLIMITED = std::numeric_limits<uint64_t>::max();

    /// What a change of the rate does to the wait for the next packet that an earlier one began.
    enum class Repace : uint8_t
    {
        SHORTEN, //!< what is left of it is at the new rate if that is higher
        KEEP,    //!< nothing: the new rate is that of the packets to come
        SHIFT,   //!< as if the packet before had gone at the new rate, so longer waits too
    };

    // The NIC's:
    rdma::BitRate line;        //!< most that the queue pair may send at: RdmaNic::MaxRate or `port`
    rdma::BitRate port;        //!< rate of the NIC's port
    uint32_t mtu{0};           //!< payload bytes of a full packet
    uint32_t fullWireBytes{0}; //!< wire bytes of a full packet
    uint64_t windowAtLine{0};  //!< RdmaNic::Window (bytes); 0: none
    uint64_t markedFrom{0};    //!< queue of a port of rate `line` from which switches mark all that
                               //!< they mark (bytes): EcnKmax; 0: they do not, or nobody said
    int64_t baseRtt{0};        //!< only if BASE_RTT is needed: see there, ps
    uint64_t bytesSent{0};     //!< payload sent, retransmissions included
    uint64_t bytesInFlight{0}; //!< payload sent and not acknowledged, as of the last event
    // Positions in the stream of all payload that the queue pair sends, as of the last event. An
    // ACK with `ackedPosition` above the `sentPosition` of a moment is that moment's first answer.
    uint64_t sentPosition{0};  //!< position of the next packet: falls back at a retransmission
    uint64_t ackedPosition{0}; //!< all before is acknowledged

    // The algorithm's:
    uint64_t rateBps{0};             //!< on the wire; at or above `port`: not paced
    uint64_t windowBytes{UNLIMITED}; //!< a packet goes while less payload is in flight; at least 1:
                                     //!< a window of less than a packet is a rate of less than a
                                     //!< packet a round trip
    int64_t nextUpdate{NEVER};       //!< call OnUpdate before sending at or after this time (ps)
    uint64_t nextUpdateBytes{UNLIMITED}; //!< or once bytesSent has reached this
    Repace repace{Repace::SHORTEN};
};

/// \ingroup rdma
/// What an acknowledgement says.
struct RdmaAckInfo
{
    uint64_t bytesAcked{0}; //!< payload newly acknowledged
    bool ecnEcho{false};    //!< the packet that it answers was marked (with ECN_ECHO)
    int64_t rtt{-1}; //!< RTT of that packet, by time stamps; -1: unknown, ps (with TIME_STAMP)
    const RdmaTelemetry* telemetry{nullptr}; //!< of that packet; or null (with TELEMETRY;
                                             //!< with TIME_STAMP all but the readings of hops)
};

/// \ingroup rdma
/// What an algorithm's feedback adds to frames, bytes.
struct RdmaHeaderBytes
{
    uint32_t data{0};
    uint32_t ack{0};
};

/**
 * \ingroup rdma
 * Congestion control of queue pairs, as a small interface with the state passed in (after
 * TcpCongestionOps).
 *
 * One object per queue pair, made by Fork() from a prototype whose attributes the user has set. The
 * sender's NIC calls the On... methods and then reads rate and window from the state; the
 * receiver's NIC asks OnDataReceived whether a CNP is due. No timers: an algorithm whose rate
 * changes by itself says when in `nextUpdate` and is asked only if the queue pair has something to
 * send then (periodic timers of each queue pair would cost more events than packets do).
 *
 * What an algorithm needs beyond what every packet has it says in GetNeeds(), GetHeaderBytes() and
 * GetEcn(), and NIC, queue pair and fabric helper see to it: choosing an algorithm is enough. Both
 * ends of a connection have the same one.
 *
 * A new algorithm is one pure header in core/ with the law, its name and presets, one pair of files
 * derived from this class, and its test.
 */
class RdmaCongestionOps : public Object
{
  public:
    static TypeId GetTypeId();

    /// Bits of GetNeeds(): calls that cost time per packet are made only if wanted.
    enum Needs : uint16_t
    {
        NOTHING = 0,
        ON_SEND = 1,        //!< OnSend for every data packet
        EVERY_DATA = 2,     //!< OnDataReceived for every data packet, not only those marked CE
        ACK_PER_PACKET = 4, //!< an ACK for every packet, whatever --ack-every says
        ECN_ECHO = 8,       //!< RdmaAckInfo::ecnEcho
        TIME_STAMP = 16,    //!< RdmaAckInfo::rtt, and of how many switches and how long in the host
        TELEMETRY = 32,     //!< RdmaAckInfo::telemetry, of the switches on the way
        BASE_RTT = 64,      //!< RdmaCongestionState::baseRtt: of a full packet and its ACK to the
                            //!< farthest host and back, nothing else on the way
        PINT = 256,         //!< RdmaTelemetry::pint, with TIME_STAMP and BASE_RTT
        QUIET = 128, //!< not a need: until OnCnp, OnNack, OnTimeout, OnUpdate, OnDataReceived or
                     //!< the ACK of a marked packet, nothing is kept but what Init has set
    };

    ~RdmaCongestionOps() override;

    /// \return the name under which users select it ("dcqcn")
    virtual std::string GetName() const = 0;

    virtual uint16_t GetNeeds() const
    {
        return NOTHING;
    }

    /// \return what the needs add to a frame's headers
    virtual RdmaHeaderBytes GetHeaderBytes() const
    {
        return {};
    }

    /**
     * The marking of switches that goes with the algorithm: by default that of its preset, which
     * core/ has under its name. RdmaFabricHelper sets it unless the user has set the switches'
     * attributes. \param port a rate; thresholds scale with it
     * \return whether it has one of its own
     */
    virtual bool GetEcn(rdma::BitRate port, rdma::EcnParameters& ecn) const;

    /// \return an object for one more queue pair with the same attributes
    virtual Ptr<RdmaCongestionOps> Fork() const = 0;

    /**
     * What the law refuses of the attributes, so that a user hears of it before anything is built.
     * Init aborts on the same. \param state as for Init; what is not known yet (baseRtt) is 0
     * \return "ns3::TimelyCongestionOps::TLow: ..."; empty if nothing is wrong
     */
    virtual std::string Check(const RdmaCongestionState& state) const;

    /// The queue pair exists now: set rate and window. The default is line rate, no window.
    virtual void Init(RdmaCongestionState& state);

    // At the sender. The requester follows rate and window of the state after each of these.

    /// Before a packet is sent: `nextUpdate` or `nextUpdateBytes` has been reached.
    virtual void OnUpdate(RdmaCongestionState& state, rdma::TimePoint now);
    /// With ON_SEND, as a data packet starts to be sent. \param payload bytes
    virtual void OnSend(RdmaCongestionState& state, uint32_t payload, rdma::TimePoint now);
    /// An ACK, NAK, answer of a pull transport or READ response acknowledges something new.
    virtual void OnAck(RdmaCongestionState& state, const RdmaAckInfo& ack, rdma::TimePoint now);
    /// A CNP has come.
    virtual void OnCnp(RdmaCongestionState& state, rdma::TimePoint now);
    /// A NAK has begun a recovery: RdmaRequester::TellCongestionOfNak.
    virtual void OnNack(RdmaCongestionState& state, rdma::TimePoint now);
    /// A time-out is over, and the connection does not give up.
    virtual void OnTimeout(RdmaCongestionState& state, rdma::TimePoint now);

    /// At the receiver: a data packet of this queue pair arrived that was marked CE, or with
    /// EVERY_DATA any. \return whether to send a CNP now
    virtual bool OnDataReceived(const RdmaFrame& frame, rdma::TimePoint now);

    /**
     * Look an algorithm up by name.
     * \return its TypeId; aborts never: `ok` tells
     */
    static TypeId LookupByName(const std::string& name, bool& ok);
    /// \return (name, description) of all algorithms, by name
    static std::vector<std::pair<std::string, std::string>> GetNames();

    /// Upper ends of the checkers of attributes: beyond them a sum leaves 64 bits, and no network
    /// is.
    static constexpr uint64_t MAX_BPS = 1000000000000000; //!< 1 Pb/s
    static constexpr uint64_t MAX_BYTES = 1000000000000000;
    static constexpr double MAX_PACKETS = 1e9;

    /// \return 1,000 s
    static Time MaxTime();

  protected:
    /// \return the checker of an attribute Preset, whose values are the presets that core/ has.
    /// \tparam Preset the enumeration of their values
    template <typename Preset>
    static Ptr<const AttributeChecker> MakePresetChecker(const rdma::CongestionControl& control);
    /// \return a law's error as Check returns it
    std::string Explain(const rdma::InputError& error) const;
    /// Abort if Check finds something: Init of who did not ask.
    void AbortIfRefused(const RdmaCongestionState& state) const;
};

template <typename Preset>
Ptr<const AttributeChecker>
RdmaCongestionOps::MakePresetChecker(const rdma::CongestionControl& control)
{
    const auto checker = Create<EnumCheckerOf<Preset>>();
    for (const auto& preset : control.presets)
    {
        if (&preset == &control.presets.front())
        {
            checker->AddDefault(static_cast<Preset>(preset.value), preset.name);
        }
        else
        {
            checker->Add(static_cast<Preset>(preset.value), preset.name);
        }
    }
    return checker;
}

/**
 * \ingroup rdma
 * What all algorithms of core/ say alike. \tparam Ops the class itself \tparam CONTROL its name and
 * presets \tparam NEEDS bits of Needs \tparam Base what it is derived from otherwise
 */
template <class Ops, const auto& CONTROL, uint16_t NEEDS, class Base = RdmaCongestionOps>
class RdmaNamedOps : public Base
{
  public:
    std::string GetName() const override
    {
        return CONTROL.name;
    }

    uint16_t GetNeeds() const override
    {
        return NEEDS;
    }

    Ptr<RdmaCongestionOps> Fork() const override
    {
        // As CopyObject, which counts a reference to this one: NICs of several threads share it.
        return Ptr<Ops>(new Ops(static_cast<const Ops&>(*this)), false);
    }
};

/**
 * \ingroup rdma
 * One whose law says itself what it refuses. \tparam Law with Error(parameters); the parameters are
 * those that Ops::GetParameters makes of a state and the attributes
 */
template <class Ops, const auto& CONTROL, class Law, uint16_t NEEDS>
class RdmaLawOps : public RdmaNamedOps<Ops, CONTROL, NEEDS>
{
  public:
    std::string Check(const RdmaCongestionState& state) const override
    {
        return this->Explain(Law::Error(static_cast<const Ops*>(this)->GetParameters(state)));
    }
};

/**
 * \ingroup rdma
 * The law of one queue pair: what Fork() copies begins without one.
 */
template <class Law>
class RdmaOwnLaw : public std::unique_ptr<Law>
{
  public:
    RdmaOwnLaw() = default;

    RdmaOwnLaw(const RdmaOwnLaw&)
        : std::unique_ptr<Law>()
    {
    }

    using std::unique_ptr<Law>::operator=;
};

} // namespace ns3

#endif /* RDMA_CONGESTION_OPS_H */
