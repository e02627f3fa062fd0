/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef RDMA_GATEWAY_H
#define RDMA_GATEWAY_H

#include "contrib/rdma/core/look-ahead.h"
#include "rdma-frame.h"

#include "ns3/node-window-gateway.h"
#include "ns3/packet.h"
#include "ns3/rdma-event.h"

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace ns3
{

class RdmaPort;

/**
 * \ingroup rdma
 * The way to one other process, for all links that lead there.
 *
 * A fabric can be simulated by several processes ("ranks"), each with some of the nodes. The other
 * end of a cut link is a ghost: a port that has a name, a rate and a place, and hands whatever is
 * sent to it to the gateway. Frames are known when they start to be sent, and are at the other end
 * no earlier than the link's delay after that; in the first part of this time the gateway collects
 * them (rdma::LookAhead), then sends them as records (RdmaFrameRecord), many in one ns3::Packet.
 * The gateway over there puts each on its port with the picosecond at which its last bit arrives,
 * as the sending port would have. So times are exact, and with them the order of all events but for
 * ties, which RdmaEventOrder resolves alike on one process and on many; results are identical.
 *
 * The gateway knows nothing of MPI: somebody gives it a transport (ConnectRanksByMpi has
 * ns-3's, a test a pair of functions). With node windows it needs none, and no time to collect:
 * NodeWindowRanks takes what was sent in a window at its end.
 *
 * Law: frames sent = frames received by the other gateway, once no message is under way.
 */
class RdmaGateway : public NodeWindowGateway
{
  public:
    /// Carries a message: to be handed to the other gateway's Receive at `receiveAt` (ps, a whole
    /// tick, rdma::LookAhead::lookAheadPs from now).
    using Transport = std::function<void(Ptr<Packet> message, int64_t receiveAt)>;

    /// Largest message, as ns-3's MPI interfaces count it: serialized, with their header
    /// (MAX_MPI_MSG_SIZE).
    static constexpr uint32_t MAX_MESSAGE_BYTES = 2000;
    /// The rest is what an ns3::Packet and the interfaces need.
    static constexpr uint32_t MAX_PAYLOAD_BYTES = MAX_MESSAGE_BYTES - 120;

    /// \param rank of the other process \param context of its events
    RdmaGateway(uint32_t rank, uint32_t context, const rdma::LookAhead& split);

    RdmaGateway(const RdmaGateway&) = delete;
    RdmaGateway& operator=(const RdmaGateway&) = delete;

    void SetTransport(Transport transport);
    /// Both gateways must add the links between them in the same order. \param port this side's
    /// \return its number
    uint32_t AddLink(RdmaPort* port);

    /// A port's frame for the other end of a link. \param from when its first bit is there, ps
    /// \param at its last one
    void Send(uint32_t link, RdmaFrame* frame, int64_t from, int64_t at);
    /// Some words to whoever sits at the other end, in a message of their own; at most
    /// MAX_PAYLOAD_BYTES less the header, what is more is cut off.
    void SendNote(const std::string& text);

    /// Some link has RdmaLinkRetry, whose frames have numbers.
    void SetNumbered()
    {
        m_numbered = true;
    }

    void SetNoteCallback(std::function<void(const std::string&)> callback);
    /// Called whenever frames have come.
    void SetArrivalCallback(std::function<void()> callback);

    /// A message of the other gateway, now.
    void Receive(Ptr<Packet> message);

    uint32_t GetRank() const override
    {
        return m_rank;
    }

    const rdma::LookAhead& GetLookAhead() const
    {
        return m_split;
    }

    uint64_t GetFramesSent() const;

    uint64_t GetFramesReceived() const
    {
        return m_framesReceived;
    }

    uint64_t GetMessagesSent() const
    {
        return m_messagesSent;
    }

    // NodeWindowGateway

    /// From now on, instead of the transport.
    void UseWindows() override;
    int64_t GetFirstArrival(uint32_t side) const override;
    void TakeSent(std::vector<uint8_t>& to) override;
    void TakeReceived(const uint8_t* at, const uint8_t* end) override;

  private:
    /// Frames that wait for a window's end, of the units that one thread runs.
    struct alignas(64) Waiting
    {
        std::vector<uint8_t> bytes;
        std::size_t used{0};
        int64_t base{0}; //!< base of the times in `bytes`, ps
        /// Arrival of the first frame's first bit, ps, by the side (NodeWindowTeam) that it goes
        /// to.
        std::array<int64_t, 2> first{INT64_MAX, INT64_MAX};
        uint64_t frames{0}; //!< so far
    };

    enum Kind : uint8_t
    {
        FRAMES,
        NOTE
    };

    /// Every message begins with kind, sequence number and the base of its times.
    static constexpr uint32_t HEADER_BYTES = 1 + 4 + 8;

    void Wait(uint32_t link, RdmaFrame* frame, int64_t from, int64_t at);
    /// \return behind the frame, and its number if it has one
    uint8_t* Write(uint8_t* to, const RdmaFrame& frame, uint32_t link, int64_t at, int64_t base);
    void TakeFrames(const uint8_t* at, const uint8_t* end, int64_t base);
    void Begin(Kind kind, int64_t base);
    void Flush();
    void OnFlush();
    void Process(const std::vector<uint8_t>& message);

    uint32_t m_rank;
    uint32_t m_context;
    rdma::LookAhead m_split;
    Transport m_transport;
    std::vector<RdmaPort*> m_ports; //!< by link
    std::vector<uint8_t> m_message; //!< frames that wait
    uint8_t* m_end{nullptr};        //!< end of the frames in m_message; null: there are none
    int64_t m_base{0};
    int64_t m_flushDue{0};
    bool m_numbered{false};
    uint32_t m_sent{0};     //!< sequence number of the next message
    uint32_t m_expected{0}; //!< sequence number of the next message to come
    std::map<uint32_t, std::vector<uint8_t>> m_early;
    uint64_t m_framesSent{0};
    uint64_t m_framesReceived{0};
    uint64_t m_messagesSent{0};
    std::function<void(const std::string&)> m_onNote;
    std::function<void()> m_onArrival;
    std::vector<Waiting> m_waiting; //!< by thread; empty: without node windows
    RdmaTimer<RdmaGateway, &RdmaGateway::OnFlush> m_timer;
};

} // namespace ns3

#endif /* RDMA_GATEWAY_H */
