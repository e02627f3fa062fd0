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
#include <string>
#include <vector>

namespace dltrain
{

/// Moves messages between the GPUs of one server: topo::ScaleUpModel's law, no packets.
class ScaleUpTransport : public PacketlessTransport
{
  public:
    ScaleUpTransport(const Places& places, const topo::ServerSpec& server);

    ChannelId Open(const ChannelName& name, TransportUser& user, uint64_t cookie) override;
    void Post(ChannelId channel, const TransportPost& post) override;
    void Close(ChannelId channel) override;
    std::string Describe(ChannelId channel) const override;

  private:
    struct Channel
    {
        TransportUser* user;
        uint64_t cookie;
        ChannelName name;
        uint32_t server;
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

    friend class EventPool<ScaleUpTransport, Wake>;
    /// What arrives in a server now.
    void OnEvent(const Wake& wake, int64_t now);
    /// Ask a server's model when it wants to be.
    void ScheduleWake(uint32_t server);

    const Places& m_places;
    std::vector<topo::ScaleUpModel> m_models;  ///< per server
    std::vector<std::vector<int64_t>> m_wakes; ///< per server: pending ones, the next last
    uint32_t m_awake = UINT32_MAX;             ///< the server whose messages arrive now
    Slots<Channel> m_channels;
    Slots<Message> m_messages; ///< the model's cookies are their numbers
    EventPool<ScaleUpTransport, Wake> m_events;
};

} // namespace dltrain

#endif // DLTRAIN_SCALE_UP_TRANSPORT_H
