/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef DLTRAIN_SCALE_UP_TRANSPORT_H
#define DLTRAIN_SCALE_UP_TRANSPORT_H

#include "slots.h"
#include "topologies/scale-up-model.h"
#include "transport.h"

#include "ns3/event-impl.h"
#include "ns3/node-windows.h"
#include "ns3/ptr.h"

#include <cstdint>
#include <memory>
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

    using Transport::Open;
    ChannelId Open(const ChannelName& name,
                   TransportUser& user,
                   uint64_t cookie,
                   uint64_t mostBps) override;
    void Post(ChannelId channel, const TransportPost& post) override;
    void PrefetchPost(ChannelId channel, uint32_t depth) const override;
    void Close(ChannelId channel) override;
    std::string Describe(ChannelId channel) const override;
    uint64_t GetBytesArrived() const override;

  private:
    struct alignas(64) Channel
    {
        TransportUser* user;
        uint64_t cookie;
        ChannelName name;
        uint16_t fromGpu;
        uint16_t toGpu;
    };

    /// A cache line, with what is looked at ahead of its arrival.
    struct alignas(64) Message
    {
        uint32_t channel;
        uint32_t immediate;
        uint64_t bytes;
        int64_t posted; ///< ps
        results::PathRecord* cause;
        const TransportUser* user;
        uint64_t id;
        uint64_t cookie; ///< the channel's
    };

    static_assert(sizeof(Message) == 64);

    struct Server;

    /// Of a server: pending several times at once, it may be, also when the server is gone.
    class WakeEvent : public ns3::EventImpl
    {
      public:
        explicit WakeEvent(Server* server)
            : m_server(server)
        {
        }

        void Disown()
        {
            m_server = nullptr;
        }

      protected:
        void Notify() override;

      private:
        Server* m_server; ///< null: gone
    };

    /// Touched in events of its own only.
    struct alignas(64) Server : public ns3::NodeWindowAhead
    {
        Server(uint32_t number, uint32_t context, const topo::ServerSpec& server);
        ~Server();

        /// What has arrived now.
        void OnWake();
        /// Ask the model when it wants to be.
        void ScheduleWake();
        void Prefetch(int64_t ticks, uint32_t depth) const override;

        const uint32_t number;
        const uint32_t context;     ///< ns-3 node id
        bool awake = false;         ///< its messages arrive now
        ns3::Ptr<WakeEvent> event;  ///< OnWake
        std::vector<int64_t> wakes; ///< pending ones, the next last
        Slots<Message> messages;    ///< the model's cookies are their numbers
        Slots<Channel> channels;
        uint64_t bytesArrived = 0;
        topo::ScaleUpModel model;
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

    /// Of the model.
    uint16_t PortOf(uint32_t place, uint32_t lane) const;

    const Places& m_places;
    uint32_t m_gpus;
    std::vector<std::unique_ptr<Server>> m_servers; ///< null: another rank's
};

} // namespace dltrain

#endif // DLTRAIN_SCALE_UP_TRANSPORT_H
