/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef DLTRAIN_NETWORK_TRANSPORT_H
#define DLTRAIN_NETWORK_TRANSPORT_H

#include "transport.h"

#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <tuple>
#include <vector>

namespace dltrain
{

/**
 * Moves messages as RDMA work requests, packet by packet. A channel is a connection of two queue
 * pairs of its own.
 *
 * Those of a closed channel rest, and the next channel of their NIC and priority takes them, once
 * they have rested REUSE_AFTER_PS: reset and connected anew, which is a new queue pair in all but
 * its number; it starts at line rate, with a congestion control that remembers nothing. The wait is
 * for what may still be under way to the old connection, a CNP above all. A host then needs as many
 * as it has channels open at most, and those of the last REUSE_AFTER_PS.
 *
 * With several Ranks all open the same channels in the same order, and close none; a rank hears of
 * the ends it has.
 */
class NetworkTransport : public Transport, public ns3::RdmaNicUser
{
  public:
    explicit NetworkTransport(const NetworkParts& parts);

    static constexpr int64_t REUSE_AFTER_PS = 2000000000;

    ChannelId Open(const ChannelName& name, TransportUser& user, uint64_t cookie) override;
    void Post(ChannelId channel, const TransportPost& post) override;
    void Close(ChannelId channel) override;
    std::string Describe(ChannelId channel) const override;
    uint64_t GetBytesArrived() const override;

    void Expect(const ChannelName& name,
                TransportUser& user,
                uint64_t cookie,
                const TransportPost& post,
                int64_t at) override;

    /// \return the UDP source port of the packets of the end that posts
    uint16_t GetSourcePort(ChannelId channel) const;

    /// \return the end that sends, the end that receives; null: another rank's
    const ns3::RdmaQueuePair* GetSender(ChannelId channel) const
    {
        return m_channels[channel].sender;
    }

    const ns3::RdmaQueuePair* GetReceiver(ChannelId channel) const
    {
        return m_channels[channel].receiver;
    }

    /// \return how many were made
    uint64_t GetQueuePairs() const
    {
        return m_queuePairs;
    }

    // RdmaNicUser
    void OnCompletion(ns3::RdmaQueuePair* qp,
                      const ns3::RdmaWorkRequest& request,
                      ns3::RdmaStatus status,
                      int64_t now) override;
    void OnMessage(ns3::RdmaQueuePair* qp, const ns3::RdmaMessage& message, int64_t now) override;

  private:
    /// Its number is both ends' cookie.
    struct Channel
    {
        ns3::RdmaQueuePair* sender;
        ns3::RdmaQueuePair* receiver;
        TransportUser* user;
        uint64_t cookie;
        ChannelName name;
    };

    struct Resting
    {
        ns3::RdmaQueuePair* queuePair;
        int64_t since;
    };

    /// One end of a channel: rested, or new.
    ns3::RdmaQueuePair* TakeEnd(uint32_t endpoint, uint8_t priority, int64_t now);

    ns3::RdmaFabric& m_fabric;
    TraceCollector& m_collector;
    const Places& m_places;
    std::vector<Channel> m_channels;
    std::vector<uint32_t> m_freeChannels;
    /// By endpoint and priority, the longest first; empty: no channel was closed so far.
    std::vector<std::deque<Resting>> m_resting;
    uint64_t m_queuePairs = 0;
    std::map<std::tuple<uint32_t, uint32_t, uint32_t, uint8_t>, ChannelId> m_expected;
};

} // namespace dltrain

#endif // DLTRAIN_NETWORK_TRANSPORT_H
