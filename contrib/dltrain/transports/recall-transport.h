/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef DLTRAIN_RECALL_TRANSPORT_H
#define DLTRAIN_RECALL_TRANSPORT_H

#include "collectives/recall/recall-book.h"
#include "contrib/dltrain/base/event-pool.h"
#include "contrib/dltrain/base/transport.h"

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace dltrain
{

class Interconnect;
class RecalledLoads;
class TraceCollector;

/**
 * Point-to-point messages that arrive as they did when they went in packets (coll::RecallBook).
 * Before a transport of packets, for messages of which a channel has one at a time: all others go
 * in packets, and tell nothing. A channel's messages of one size are a track; those of equal sizes
 * over equal paths are alike. Which ports they share with others does not matter: checks tell.
 *
 * An episode's first rank is the sender, which hears of the arrival, the second the receiver.
 */
class RecallTransport final : public Transport, private TransportUser, private coll::RecallHost
{
  public:
    /// \param interconnect has the transport of packets; outlives this
    RecallTransport(Interconnect& interconnect, const coll::RecallSettings& settings);

    void AddUser(TransportUser& user) override;
    using Transport::Open;
    ChannelId Open(const ChannelName& name,
                   TransportUser& user,
                   uint64_t cookie,
                   uint64_t mostBps) override;
    void Post(ChannelId channel, const TransportPost& post) override;
    void Close(ChannelId channel) override;
    std::string Describe(ChannelId channel) const override;

    uint64_t GetBytesArrived() const override
    {
        return 0; // the transport of packets counts its own
    }

  private:
    /// A message that is an episode.
    struct Episode
    {
        uint32_t track = UINT32_MAX; ///< UINT32_MAX: it is none
        uint32_t number = 0;
    };

    struct Channel
    {
        ChannelName name; // these never change
        TransportUser* user;
        uint64_t cookie;
        uint64_t mostBps;
        ChannelId inner;
        // the sender's
        uint32_t underWay = 0;                 ///< messages
        bool isHeld = false;                   ///< the only one under way is held
        TransportPost post;                    ///< the one that is held
        std::deque<TransportPost> later;       ///< posted while one was held
        std::map<uint64_t, uint32_t> episodes; ///< by bytes: so far
        // changed between windows only
        std::map<uint64_t, uint32_t> tracks; ///< by bytes
        uint64_t arrives = 0; ///< number of what was told last of an arrival: the one that counts
        uint64_t sent = 0;    ///< the same, of when the sender hears of it
        std::deque<Episode> toArrive; ///< messages in packets
        std::deque<Episode> toBeSent; ///< the same, until the sender hears of it
    };

    /// What is sent of a channel's messages of one size.
    struct Track
    {
        Channel* channel;
        Transport::Way way;
        ns3::RdmaFabric::MessageLoad load;
        uint32_t under = UINT32_MAX; ///< episode that is recalled, or was last
    };

    enum class EventKind : uint8_t
    {
        ARRIVE, ///< at the receiver
        SENT,   ///< at the sender
        LAUNCH, ///< it was held, and goes in packets
    };

    struct EventPayload
    {
        EventKind kind;
        Channel* channel;
        uint32_t immediate;
        reports::PathRecord* cause;
        uint64_t id;
        uint64_t number; ///< Channel::arrives or sent
    };

    using Events = EventPool<RecallTransport, EventPayload>;
    friend Events;
    void OnEvent(const EventPayload& e, int64_t now);

    static Channel* ChannelOf(uint64_t number)
    {
        return reinterpret_cast<Channel*>(number);
    }

    // Between windows:
    /// A message has been posted, alone on its channel.
    void NotePost(Channel& channel,
                  uint64_t bytes,
                  uint32_t episode,
                  uint32_t round,
                  bool held,
                  int64_t now);
    /// One has been posted behind others.
    void NoteBeside(Channel& channel);
    /// One in packets has arrived, or its sender has heard of it.
    void NoteEnd(std::deque<Episode>& messages, uint32_t position, int64_t now);
    uint32_t TrackOf(Channel& channel, uint64_t bytes);

    // TransportUser
    void OnDelivered(const Delivery& delivery, int64_t now) override;
    void OnSent(ChannelId channel, uint64_t cookie, uint64_t id, bool failed, int64_t now) override;

    // coll::RecallHost
    void EndRecalled(uint32_t track, uint32_t episode, uint32_t position, int64_t at) override;
    void LaunchHeld(uint32_t track, uint32_t episode, uint32_t position, int64_t at) override;

    void Cut(uint32_t, uint32_t, uint32_t, int64_t) override
    {
        // Messages are not cut.
    }

    Transport& m_packets;
    const Places& m_places;
    ns3::RdmaFabric& m_fabric;
    TraceCollector& m_collector;
    RecalledLoads& m_loads;
    coll::RecallBook m_book;
    std::vector<Track> m_tracks;
    std::vector<std::deque<Channel>> m_channels; ///< by server
    std::deque<Events> m_events;                 ///< by host
};

} // namespace dltrain

#endif // DLTRAIN_RECALL_TRANSPORT_H
