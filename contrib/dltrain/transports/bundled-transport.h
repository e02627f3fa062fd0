/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef DLTRAIN_BUNDLED_TRANSPORT_H
#define DLTRAIN_BUNDLED_TRANSPORT_H

#include "contrib/dltrain/base/transport.h"
#include "scenarios/job/connections.h"

#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

namespace dltrain
{

/**
 * Channels of several queue pairs each: a channel here is a bundle of channels of the transport
 * below, whose lanes are its own times the number of queue pairs and some, so each has a name, a
 * source port and a way of its own.
 *
 *     Post(message k)   in turns: to queue pair k mod n
 *                       split:    a part to each (scenario::ConnectionSpec::PartOf)
 *     OnDelivered       when all its parts have come, and all messages before it
 *     OnSent            when all its parts are acknowledged, or one has failed
 *
 * The receiver needs no extra information: parts of a queue pair arrive in order, so their number
 * gives the message. Its state belongs to its host, the sender's state to the sender's host.
 *
 * The channel's number is that of its first queue pair's. For SENDs and WRITEs; READs, single
 * messages and messages of other ranks that are expected are those of `traffic`, which has no
 * bundles.
 */
class BundledTransport : public Transport
{
  public:
    BundledTransport(std::unique_ptr<Transport> below,
                     const Places& places,
                     const scenario::ConnectionSpec& spec);
    ~BundledTransport() override;

    void AddUser(TransportUser& user) override;
    using Transport::Open;
    ChannelId Open(const ChannelName& name,
                   TransportUser& user,
                   uint64_t cookie,
                   uint64_t mostBps) override;
    void Post(ChannelId channel, const TransportPost& post) override;
    void CarryCauses() override;
    void Close(ChannelId channel) override;
    void Abort() override;
    std::string Describe(ChannelId channel) const override;
    uint64_t GetBytesArrived() const override;

  private:
    /// Hears for a user what the transport below tells.
    class Listener;

    /// A message that is split: parts on their way to be acknowledged.
    struct Sending
    {
        uint64_t id;
        uint32_t left;
        bool failed;
    };

    /// A channel at its sender: belongs to that host.
    struct Bundle
    {
        std::vector<ChannelId> channels; ///< channels of the transport below
        uint64_t posted = 0;             ///< messages
        std::deque<Sending> sending;     ///< when split
    };

    struct Part
    {
        uint32_t immediate;
        reports::PathRecord* cause;
    };

    /// A channel at its receiver.
    struct Arriving
    {
        ChannelId channel = 0;               ///< number of the first queue pair's channel
        uint64_t delivered = 0;              ///< messages
        std::vector<std::deque<Part>> parts; ///< by queue pair: of messages not delivered yet
    };

    /// The key of a channel among those to the same host.
    struct ArrivingKey
    {
        uint64_t places;
        uint64_t job;
        uint64_t lane;

        bool operator==(const ArrivingKey& other) const
        {
            return places == other.places && job == other.job && lane == other.lane;
        }
    };

    struct HashOfKey
    {
        std::size_t operator()(const ArrivingKey& key) const;
    };

    using Receiving = std::unordered_map<ArrivingKey, Arriving, HashOfKey>;

    Listener& ListenerOf(TransportUser& user);
    /// \param channel below, or one here
    Bundle& BundleOf(ChannelId channel);
    void OnPart(TransportUser& user, const Delivery& delivery, int64_t now);
    void OnPartSent(TransportUser& user,
                    ChannelId channel,
                    uint64_t cookie,
                    uint64_t id,
                    bool failed,
                    int64_t now);

    std::unique_ptr<Transport> m_below;
    const Places& m_places;
    scenario::ConnectionSpec m_spec;
    /// Guards the maps, not their contents: hosts of several threads open channels.
    std::mutex m_mutex;
    std::unordered_map<TransportUser*, std::unique_ptr<Listener>> m_listeners;
    std::unordered_map<ChannelId, std::shared_ptr<Bundle>> m_bundles; ///< by each channel below
    std::vector<Receiving> m_receiving;                               ///< by server, or unit
};

} // namespace dltrain

#endif // DLTRAIN_BUNDLED_TRANSPORT_H
