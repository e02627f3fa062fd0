/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef RDMA_QUEUE_PAIR_H
#define RDMA_QUEUE_PAIR_H

#include "contrib/rdma/core/frame-sizes.h"
#include "rdma-loss-recovery.h"
#include "rdma-pull-transport.h"
#include "rdma-requester.h"
#include "rdma-responder.h"
#include "rdma-verbs.h"

#include "ns3/rdma-frame.h"
#include "ns3/simple-ref-count.h"

#include <memory>
#include <string>

namespace ns3
{

class RdmaNic;
class RdmaNicUser;
struct RdmaQueuePairVerbs;

/**
 * \ingroup rdma
 * A queue pair: one end of a reliable connection (InfiniBand Architecture 1, 9.7), or an end of
 * unreliable datagrams (9.8: RdmaDatagrams). It has states and addresses, and joins
 *
 *     RdmaRequester  what is posted, sent and acknowledged
 *     RdmaResponder  what arrives, is delivered and answered
 *     RdmaTransport  how either sees to it that all arrives: agreed by both ends at connection
 *
 * Law (asserted in tests): bytes posted = acknowledged + outstanding (sent) + not yet sent; bytes
 * of READs stand beside, in GetBytesRead().
 *
 * Simplifications: an RDMA WRITE resumed in the middle carries no new RETH (a real requester sends
 * one in a new FIRST packet). ACKs travel with a priority of their own and may overtake READ
 * responses; a requester remembers what such an ACK says, and does not take it for a lost response
 * (9.7.5.1.1 does). ACKs bear no end-to-end credits. Windows of the congestion control do not
 * bound responses, which nothing acknowledges.
 */
class RdmaQueuePair : public SimpleRefCount<RdmaQueuePair>
{
  public:
    /// Largest request, bytes.
    static constexpr uint64_t MAX_REQUEST_BYTES = 1ULL << 31;
    /// Most PSNs outstanding (InfiniBand Architecture 1, 9.7.1: half of the 24-bit space, less
    /// one).
    static constexpr uint64_t MAX_OUTSTANDING = (1ULL << 23) - 1;

    ~RdmaQueuePair();

    /// InfiniBand Architecture 1, 10.3.1.
    enum class State : uint8_t
    {
        RESET,              //!< frames that come are dropped, nothing may be posted
        INIT,               //!< receive requests may be posted
        READY_TO_RECEIVE,   //!< the responder works
        READY_TO_SEND,      //!< the requester works too
        SEND_QUEUE_DRAINED, //!< what has begun to be sent is finished, nothing else begins
        SEND_QUEUE_ERROR,   //!< UD: a send request failed, those behind it are flushed
        ERROR               //!< everything is flushed, frames that come are dropped
    };

    /**
     * Change the state, as ibv_modify_qp does. Allowed: RESET -> INIT -> READY_TO_RECEIVE ->
     * READY_TO_SEND <-> SEND_QUEUE_DRAINED, SEND_QUEUE_ERROR -> READY_TO_SEND, and from any state
     * to ERROR and RESET. RdmaNic::Connect goes all the way for both ends of a connection.
     * \return what is wrong; empty if nothing is
     */
    std::string Modify(State to, const RdmaQueuePairAttributes& attributes = {});

    /// Post to the send queue. In an error state the request comes back flushed.
    RdmaPostResult Post(const RdmaSendRequest& request);
    /// Post to the receive queue. \param bytes room for a SEND
    RdmaPostResult PostReceive(uint64_t bytes, uint64_t id);

    /// Post an RDMA WRITE. \param id comes back at completion
    RdmaPostResult PostWrite(uint64_t bytes, uint64_t id);
    /// Post an RDMA WRITE with immediate data, which the receiver is told.
    RdmaPostResult PostWriteWithImmediate(uint64_t bytes, uint64_t id, uint32_t immediate);
    RdmaPostResult PostSend(uint64_t bytes, uint64_t id);
    RdmaPostResult PostRead(uint64_t bytes, uint64_t id);

    State GetState() const
    {
        return m_state;
    }

    /// \return its place among those of its NIC: RdmaNic::GetQueuePair
    uint32_t GetIndex() const
    {
        return m_index;
    }

    /// \return UDP source port of its RoCEv2 packets to its peer
    uint16_t GetSourcePort() const
    {
        return m_sourcePort;
    }

    /// \return of its peer's packets to it
    uint16_t GetPeerSourcePort() const
    {
        return m_peerSourcePort;
    }

    uint32_t GetNumber() const
    {
        return m_number;
    }

    uint32_t GetPeerNumber() const
    {
        return m_peerNumber;
    }

    RdmaNic* GetNic() const
    {
        return m_nic;
    }

    /// The congestion control, and a path selector, begin anew, as those of a new connection.
    void RestartCongestionControl(int64_t now);

    uint32_t GetPeerEndpoint() const
    {
        return m_peerEndpoint;
    }

    uint8_t GetPriority() const
    {
        return m_priority;
    }

    /// \return as it was made for: a path may have given it another priority
    uint8_t GetServiceLevel() const
    {
        return m_serviceLevel;
    }

    /// \return as RdmaNic::AddClass has it; 0: none of its own
    uint8_t GetClass() const
    {
        return m_class;
    }

    /// \return sizes of its frames
    const rdma::FrameSizes& GetFrameSizes() const
    {
        return *m_sizes;
    }

    const RdmaCongestionState& GetCongestionState() const
    {
        return m_requester.m_sender->cc;
    }

    /// \return its own: who asks may change it
    Ptr<RdmaCongestionOps> GetCongestionOps();

    uint64_t GetBytesPosted() const
    {
        return m_requester.m_postedBytes;
    }

    uint64_t GetBytesAcknowledged() const
    {
        return m_requester.IsSending() ? m_requester.m_sender->ackedBytes
                                       : m_requester.m_postedBytes;
    }

    /// \return PSN of the next request that it takes, without the wrap
    uint64_t GetExpectedPsn() const
    {
        return m_responder.m_expectedPsn;
    }

    /// \return whether any packet of the peer's has come
    bool HasHeard() const
    {
        return m_responder.HasHeard();
    }

    /// \return bytes of the peer's SENDs and WRITEs delivered in order at this end
    uint64_t GetBytesReceived() const
    {
        return m_responder.m_receivedBytes;
    }

    /// \return bytes of this end's READs that have arrived in order
    uint64_t GetBytesRead() const;

    RdmaService GetService() const;

    /// \return receive requests that wait for a message
    uint32_t GetNReceives() const;

    /// \return how this connection sees to it that all arrives
    const RdmaTransport& GetTransport() const
    {
        return *m_transport;
    }

    /// \return most packets outstanding, whatever their size: with some transports the BDP cap
    uint64_t GetMaxOutstanding() const
    {
        return m_requester.m_maxOutstanding;
    }

    /// Who hears of what is posted here and of what arrives here. \param user null: the NIC's
    void SetUser(RdmaNicUser* user)
    {
        m_user = user;
    }

    /// \return who hears; null: nobody
    RdmaNicUser* GetUser() const;

  private:
    friend class RdmaDatagrams;
    friend class RdmaNic;
    friend class RdmaNicScan;
    friend class RdmaLateCnps;
    friend class RdmaPullQueue;
    friend class RdmaRequester;
    friend class RdmaResponder;

    /// Needs of a congestion control that ACKs bear something for.
    static constexpr uint16_t ECHOES =
        RdmaCongestionOps::ECN_ECHO | RdmaCongestionOps::TIME_STAMP | RdmaCongestionOps::TELEMETRY;

    /// Another bit of m_needs: the NIC has a path selector.
    static constexpr uint16_t ENTROPY = 0x4000;

    /// Another one: queue disciplines want RdmaFrameExtra::rank.
    static constexpr uint16_t RANK = 0x2000;

    /// Needs for which data packets have an attachment.
    static constexpr uint16_t ATTACHMENTS =
        RdmaCongestionOps::TIME_STAMP | RdmaCongestionOps::TELEMETRY | RANK;

    RdmaQueuePair(RdmaNic* nic, uint32_t number, uint32_t index);

    bool CanSend() const
    {
        return m_requester.CanSend() || m_respond;
    }

    bool CanReceive() const
    {
        return m_state >= State::READY_TO_RECEIVE && m_state <= State::SEND_QUEUE_ERROR;
    }

    /// \pre CanSend()
    RdmaFrame* MakeFrame(int64_t now);
    /// What all frames of this queue pair to its peer have in common.
    /// \param label RdmaFrame::SetLabel
    RdmaFrame* NewFrame(RdmaOpcode opcode,
                        uint64_t psn,
                        uint32_t wireBytes,
                        uint8_t flags,
                        uint64_t label) const;
    void OnDatagram(const RdmaFrame& frame, int64_t now);

    /// \pre its transport is not pull-based
    RdmaLossRecovery& GetLossRecovery()
    {
        return static_cast<RdmaLossRecovery&>(*m_transport);
    }

    /// \pre its transport is pull-based: m_pulls of requester and responder
    RdmaPullTransport& GetPullTransport()
    {
        return static_cast<RdmaPullTransport&>(*m_transport);
    }

    /// It is its turn in its NIC's RdmaPullQueue.
    RdmaPullTransport::Pull GivePull(bool urgent, int64_t now)
    {
        return m_responder.m_pulls
                   ? GetPullTransport().GivePull(m_responder, urgent, rdma::TimePoint(now))
                   : RdmaPullTransport::Pull{0, false};
    }

    /// Made when first asked for.
    RdmaQueuePairVerbs& GetVerbs();
    /// \param sourcePort, peerSourcePort 0: they follow from the numbers \param maxRateBps most
    /// that this end sends at; 0: as NIC and path have it
    void SetPeer(uint32_t endpoint,
                 uint32_t number,
                 uint64_t firstPsn,
                 uint16_t sourcePort = 0,
                 uint16_t peerSourcePort = 0,
                 uint64_t maxRateBps = 0);
    /// As this scheme says. \param peerBdpCap what the other end may have outstanding
    void SetTransport(const RdmaTransportScheme& scheme, uint64_t peerBdpCap);
    void SetTransport(Ptr<RdmaTransport> transport);
    std::string ConnectTo(const RdmaQueuePairAttributes& attributes);
    std::string StartSending(const RdmaQueuePairAttributes& attributes);
    void Reset();
    void Fail(RdmaStatus first, int64_t now);

    /// \return of success, with what this end knows of both
    RdmaWorkCompletion MakeCompletion(uint64_t id, RdmaOperation operation, int64_t now) const;
    /// A message has arrived whole: whoever listens hears of it.
    void TellMessage(const RdmaMessage& message, int64_t now);

    // What both ends of it need, and every packet.
    uint32_t m_number;
    RdmaNic* m_nic;
    uint32_t m_peerNumber{0};
    uint32_t m_peerEndpoint{0};
    const rdma::FrameSizes* m_sizes{nullptr}; //!< of its class; the NIC has them
    RdmaRoute m_route{RdmaRoute::None()};
    uint16_t m_needs{0}; //!< of the congestion control, and of the transport
    State m_state{State::RESET};
    uint8_t m_priority{3};
    uint8_t m_dscp{24};
    uint8_t m_serviceLevel{3};                   //!< as asked for; a path may have another
    bool m_respond{false};                       //!< READ responses wait to be sent
    uint8_t m_class{0};                          //!< RdmaNic::AddClass
    uint32_t m_resets{0};                        //!< to see whether who was called back did one
    std::unique_ptr<RdmaQueuePairVerbs> m_verbs; //!< null: only WRITEs so far
    Ptr<RdmaTransport> m_transport;
    RdmaRequester m_requester;
    RdmaResponder m_responder;
    RdmaNicUser* m_user{nullptr};
    uint32_t m_index;
    uint16_t m_sourcePort{0};
    uint16_t m_peerSourcePort{0};

  public:
    /// A place for its user; the module does not touch it.
    uint64_t cookie{0};
};

} // namespace ns3

#endif /* RDMA_QUEUE_PAIR_H */
