/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef DLTRAIN_SCALE_UP_TRANSPORT_H
#define DLTRAIN_SCALE_UP_TRANSPORT_H

#include "event-pool.h"
#include "slots.h"
#include "topologies/scale-up-model.h"
#include "transport.h"

#include <cstdint>
#include <deque>
#include <string>
#include <vector>

namespace dltrain
{

/**
 * Moves messages between the GPUs of one server: topo::ScaleUpModel's law, no packets. Servers
 * share nothing.
 */
class ScaleUpTransport : public Transport
{
  public:
    ScaleUpTransport(const Places& places, const topo::ServerSpec& server);

    ChannelId Open(const ChannelName& name, TransportUser& user, uint64_t cookie) override;
    void Post(ChannelId channel, const TransportPost& post) override;
    void Close(ChannelId channel) override;
    std::string Describe(ChannelId channel) const override;
    uint64_t GetBytesArrived() const override;

  private:
    struct Channel
    {
        TransportUser* user;
        uint64_t cookie;
        ChannelName name;
        uint16_t fromGpu;
        uint16_t toGpu;
    };

    struct Message
    {
        uint32_t channel;
        uint32_t immediate;
        uint64_t bytes;
        uint64_t id;
        uint32_t cause;
        int64_t posted; ///< ps
    };

    /// A server's model has something to tell.
    struct Wake
    {
        uint32_t server;
    };

    /// Touched in events of its own only.
    struct Server
    {
        Server(ScaleUpTransport& transport, const topo::ServerSpec& server);

        topo::ScaleUpModel model;
        std::vector<int64_t> wakes; ///< pending ones, the next last
        bool awake = false;         ///< its messages arrive now
        Slots<Channel> channels;
        Slots<Message> messages; ///< the model's cookies are their numbers
        uint64_t bytesArrived = 0;
        EventPool<ScaleUpTransport, Wake> events;
    };

    static ChannelId MakeChannel(uint32_t server, uint32_t index)
    {
        return uint64_t{server} << 32 | index;
    }

    static uint32_t ServerOf(ChannelId channel)
    {
        return static_cast<uint32_t>(channel >> 32);
    }

    static uint32_t IndexOf(ChannelId channel)
    {
        return static_cast<uint32_t>(channel);
    }

    friend class EventPool<ScaleUpTransport, Wake>;
    /// What arrives in a server now.
    void OnEvent(const Wake& wake, int64_t now);
    /// Ask a server's model when it wants to be.
    void ScheduleWake(uint32_t server);

    const Places& m_places;
    std::deque<Server> m_servers;
};

} // namespace dltrain

#endif // DLTRAIN_SCALE_UP_TRANSPORT_H
