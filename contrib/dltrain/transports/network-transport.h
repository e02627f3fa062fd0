/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef DLTRAIN_NETWORK_TRANSPORT_H
#define DLTRAIN_NETWORK_TRANSPORT_H

#include "contrib/dltrain/base/cause-queue.h"
#include "contrib/dltrain/base/slots.h"
#include "contrib/dltrain/base/transport.h"
#include "contrib/rdma/core/fixed-list.h"

#include "ns3/rdma-connections.h"

#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <string>
#include <tuple>
#include <unordered_map>
#include <vector>

namespace dltrain
{

/**
 * Moves messages as RDMA work requests, packet by packet. A channel is a connection of two queue
 * pairs (ns3::RdmaConnections), each made by its own host: `from`'s when it opens the channel,
 * `to`'s when the first packet comes. Those of closed channels serve again.
 *
 * The UDP source port, and so the path, follows from the channel's name alone: not from the time of
 * opening, nor from other channels.
 */
class NetworkTransport : public Transport, public ns3::RdmaNicUser, public ns3::RdmaConnectionUser
{
  public:
    explicit NetworkTransport(const NetworkParts& parts);

    void AddUser(TransportUser& user) override;
    using Transport::Open;
    ChannelId Open(const ChannelName& name,
                   TransportUser& user,
                   uint64_t cookie,
                   uint64_t mostBps) override;
    std::optional<Way> FindWay(const ChannelName& name) const override;
    void Post(ChannelId channel, const TransportPost& post) override;
    void PrefetchPost(ChannelId channel, uint32_t depth) const override;
    void CarryCauses() override;
    void Close(ChannelId channel) override;
    void Abort() override;
    void Expect(const ChannelName& name,
                TransportUser& user,
                uint64_t cookie,
                const TransportPost& post,
                int64_t at) override;
    std::string Describe(ChannelId channel) const override;
    uint64_t GetBytesArrived() const override;

    /// \return the UDP source port of the packets of the end that posts
    uint16_t GetSourcePort(ChannelId channel) const;

    /// \return the end that posts; null: another rank has it
    const ns3::RdmaQueuePair* GetSender(ChannelId channel) const
    {
        return m_hosts[HostOf(channel)]->opened[IndexOf(channel)].queuePair;
    }

    /// \return the other end; null: no packet has come so far, or another rank has it
    const ns3::RdmaQueuePair* GetReceiver(ChannelId channel) const
    {
        return m_connections.GetPassive(GetSender(channel));
    }

    /// \return how many were made, of all transports of the fabric
    uint64_t GetQueuePairs() const
    {
        return m_connections.GetQueuePairs();
    }

    // RdmaNicUser
    void OnCompletion(ns3::RdmaQueuePair* qp,
                      const ns3::RdmaWorkRequest& request,
                      ns3::RdmaStatus status,
                      int64_t now) override;
    void OnMessage(ns3::RdmaQueuePair* qp, const ns3::RdmaMessage& message, int64_t now) override;
    void Prefetch(const ns3::RdmaQueuePair* qp, uint32_t depth) const override;

    // RdmaConnectionUser
    void OnAccepted(ns3::RdmaQueuePair* qp, uint64_t channel, int64_t now) override;

  private:
    /// The state of an end for its channel: a cache line.
    struct alignas(64) End
    {
        ns3::RdmaQueuePair* queuePair;
        TransportUser* user;
        uint64_t cookie;
        ChannelId channel;
        ChannelName name;
        CauseQueue* causes; ///< shared by both ends; null: causes are not carried
    };

    static_assert(sizeof(End) == 64);

    /// The state of an endpoint. Its queue pairs' cookies are the addresses of their ends; of those
    /// in `accepted`, or'ed with ACCEPTED.
    struct Host
    {
        using Ends = Slots<End, rdma::FixedList<End>>;

        Ends opened;
        Ends accepted;
        uint64_t bytesBefore = 0; ///< bytes that have arrived here over closed channels
    };

    static constexpr uint64_t ACCEPTED = 1;

    static uint64_t CookieOf(const End& end, bool accepted)
    {
        return reinterpret_cast<uintptr_t>(&end) | (accepted ? ACCEPTED : 0);
    }

    static End* EndOf(const ns3::RdmaQueuePair* qp)
    {
        return reinterpret_cast<End*>(qp->cookie & ~ACCEPTED);
    }

    static ChannelId MakeChannel(uint32_t endpoint, uint32_t index)
    {
        return uint64_t{endpoint} << 32 | index;
    }

    static uint32_t HostOf(ChannelId channel)
    {
        return static_cast<uint32_t>(channel >> 32);
    }

    static uint32_t IndexOf(ChannelId channel)
    {
        return static_cast<uint32_t>(channel);
    }

    /// A channel to a place of another rank, as that rank has to know it.
    struct Opened
    {
        ChannelName name;
        uint32_t number; ///< number of the end that posts
        uint32_t user;   ///< among those that AddUser has told
        uint64_t cookie;
        ChannelId channel;
    };

    /// As NodeWindows::Note tells.
    void TellOpened(const Opened& opened);
    /// Another rank's.
    void Learn(const Opened& opened);

    ns3::RdmaConnectionRequest MakeRequest(const ChannelName& name, ChannelId channel);
    End& Add(uint32_t endpoint, const End& end, bool accepted);
    /// \return one for a new channel; null: causes are not carried
    CauseQueue* TakeCauses();

    ns3::RdmaFabric& m_fabric;
    TraceCollector& m_collector;
    const Places& m_places;
    ns3::RdmaConnections& m_connections;
    scenario::ChannelClass m_channelClass;
    /// By endpoint; null: it has no end here. With many jobs each has this for most endpoints of
    /// the network.
    std::vector<std::unique_ptr<Host>> m_hosts;
    std::mutex m_opening;   ///< guards ends: other hosts look for an end that one has opened
    bool m_carries = false; ///< whether causes are carried
    std::deque<CauseQueue> m_causes;
    std::vector<CauseQueue*> m_idleCauses; ///< queues of closed channels
    std::vector<TransportUser*> m_users;
    uint32_t m_reader = 0;                       ///< number of the reader in NodeWindowRanks
    std::unordered_map<ChannelId, End> m_theirs; ///< other ranks' channels to here, until the first
                                                 ///< packet comes
    /// Channels that other ranks will open: the receiving ends here.
    std::map<std::tuple<uint32_t, uint32_t, uint32_t, uint8_t>, ns3::RdmaQueuePair*> m_expected;
};

} // namespace dltrain

#endif // DLTRAIN_NETWORK_TRANSPORT_H
