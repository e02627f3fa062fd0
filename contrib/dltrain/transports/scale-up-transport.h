/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef DLTRAIN_SCALE_UP_TRANSPORT_H
#define DLTRAIN_SCALE_UP_TRANSPORT_H

#include "contrib/dltrain/base/slots.h"
#include "contrib/dltrain/base/transport.h"
#include "scenarios/job/scenario.h"
#include "topologies/scale-up/scale-up-model.h"
#include "topologies/scale-up/scale-up-packets.h"

#include "ns3/event-impl.h"
#include "ns3/node-windows.h"
#include "ns3/ptr.h"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace dltrain
{

class ScaleUpTally;

/// Borrows a server's messages and computes their times itself: see topo::ScaleUpModel, "Lent".
class ScaleUpBorrower
{
  public:
    virtual ~ScaleUpBorrower() = default;
    /// Somebody else is about to post: ScaleUpTransport::PutBack. In an event of the server.
    virtual void GiveBack(int64_t now) = 0;
    /// In each window in which the server has work: prefetches its data by PrefetchLine. Calls come
    /// in turns, with a pause between them; each reads data that the one before has fetched.
    /// \param until when the window ends, ps
    /// \param depth from 0
    virtual void Prefetch(int64_t until, uint32_t depth) const = 0;
};

/**
 * Moves messages between the GPUs of one server: topo::ScaleUpModel's law, no packets; or, with
 * ClusterSpec::scaleUpFrames, topo::ScaleUpPackets' frames, which nobody may borrow. Servers share
 * nothing.
 */
class ScaleUpTransport : public Transport
{
  public:
    ScaleUpTransport(const Places& places,
                     const scenario::ClusterSpec& cluster,
                     ScaleUpTally& tally);
    ~ScaleUpTransport() override;

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

    /// A message that is lent.
    struct Lent
    {
        ChannelId channel;
        const TransportUser* user;
        uint32_t lane;   ///< the channel's
        uint64_t cookie; ///< the channel's
        uint32_t immediate;
        uint64_t bytes;
        uint64_t id;    ///< TransportPost::id
        int64_t posted; ///< ps
        reports::PathRecord* cause;
        /// As topo::ScaleUpModel::Lent
        int64_t finish;
        int64_t arrival;
    };

    /// Calls what(Lent) for each message that is under way in a server, in no order, of which
    /// finish and arrival are not known.
    template <class F>
    void ForEachUnderWay(uint32_t server, F what) const
    {
        const Server& s = *m_servers[server];
        for (uint32_t i = 0; i < s.messages.All().size(); ++i)
        {
            if (s.messages[i].user)
            {
                what(LentOf(s, i));
            }
        }
    }

    /// Lends a server's messages and links, in an event of the server, until somebody else posts a
    /// message there. \param lent of each channel in the order of the posts
    /// \return false: some meet on a port; nothing is lent
    bool Lend(uint32_t server, int64_t now, ScaleUpBorrower& borrower, std::vector<Lent>* lent);

    /// Puts back the messages in flight: for each channel in the order of the posts, and all in the
    /// order of their posts. The borrower then has none.
    /// \param like `parts` and `how` of all of them
    /// \param posted bytes posted meanwhile
    /// \param arrived bytes
    void PutBack(uint32_t server,
                 int64_t now,
                 const std::vector<Lent>& lent,
                 const TransportPost& like,
                 uint64_t posted,
                 uint64_t arrived);

    /// Holds GPUs of a server, in an event of it, until somebody else posts a message from or to
    /// one of them: then the borrower is told to give back.
    /// \param gpus numbers in the server
    /// \return false: they are in use; nothing is held
    bool Hold(uint32_t server,
              int64_t now,
              const std::vector<uint32_t>& gpus,
              ScaleUpBorrower& borrower);

    /// \param posted, arrived bytes while they were held
    void LetGo(uint32_t server,
               const std::vector<uint32_t>& gpus,
               uint64_t posted,
               uint64_t arrived);

    /// A model like the server's, for messages that are run apart (topo::ScaleUpModel).
    topo::ScaleUpModel MakeModel(uint32_t server) const;
    /// Moves its messages to the server. \param messages by the cookies of `apart`
    void TakeOver(uint32_t server,
                  int64_t now,
                  topo::ScaleUpModel& apart,
                  const std::vector<Lent>& messages);

    /// Whether all pairs of a server share a bridge.
    bool HasBridge(uint32_t server) const
    {
        return m_servers[server]->model.HasBridge();
    }

    struct Ports
    {
        uint32_t from;
        uint32_t to;
    };

    /// \return a channel's ports in its server's model
    Ports PortsOf(ChannelId channel) const;

    /// Nothing comes back; for when nothing runs any more.
    void StopLending(uint32_t server)
    {
        m_servers[server]->borrower = nullptr;
        m_servers[server]->held = 0;
    }

    /// \return false: the channel is over a bridge that others use, or a switch
    bool IsPlain(ChannelId channel) const;
    topo::ScaleUpModel::Timing TimingOf(ChannelId channel, const TransportPost& post) const;
    int64_t LastArrival(ChannelId channel) const;

  private:
    struct alignas(64) Channel
    {
        TransportUser* user;
        uint64_t cookie;
        ChannelName name;
        uint16_t fromGpu;
        uint16_t toGpu;
    };

    /// A cache line, with the data that are read before its arrival.
    struct alignas(64) Message
    {
        uint32_t channel;
        uint32_t immediate;
        uint64_t bytes;
        int64_t posted; ///< ps
        reports::PathRecord* cause;
        const TransportUser* user; ///< null: it is free
        uint64_t id;
        uint64_t cookie; ///< the channel's
    };

    static_assert(sizeof(Message) == 64);

    struct Server;

    /// An event of a server. It may be pending several times at once, even when the server is gone.
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
        Server(const Places& places,
               uint32_t number,
               const topo::ServerSpec& server,
               const topo::ScaleUpFrames* frames);
        ~Server();

        /// Handles the messages that have arrived now.
        void OnWake();
        /// As those of the model, or of frames.
        rdma::TimePoint NextWake();
        bool Arrived(int64_t now, uint64_t& message);
        void Post(const Channel& on, const TransportPost& post, int64_t now, uint32_t message);
        /// Asks the model for its next time.
        void ScheduleWake();
        void Prefetch(int64_t ticks, uint32_t depth) const override;

        const uint32_t number;
        const uint32_t context;     ///< ns-3 node id
        const uint32_t wakeContext; ///< Places::Turn::INSIDE
        bool awake = false;         ///< its messages arrive now
        ScaleUpBorrower* borrower = nullptr;
        std::vector<ScaleUpBorrower*> holders; ///< by GPU
        uint32_t held = 0;                     ///< GPUs with a holder
        ns3::Ptr<WakeEvent> event;             ///< OnWake
        std::vector<int64_t> wakes;            ///< pending ones, the next last
        Slots<Message> messages;               ///< the model's cookies are their numbers
        Slots<Channel> channels;
        uint64_t bytesArrived = 0;
        topo::ScaleUpModel model;
        std::unique_ptr<topo::ScaleUpPackets> packets; ///< null: messages go by the model's law
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

    static Lent LentOf(const Server& server, uint32_t message);
    /// A message that was lent is under way again. \return its number
    static uint32_t Keep(Server& server, const Lent& message);
    /// Somebody else is about to post a message. \param gpu or a port of the switch
    static void EndHold(Server& server, uint32_t gpu, int64_t now);

    /// The port of a place in the model.
    uint16_t PortOf(uint32_t place, uint32_t lane) const;

    const Places& m_places;
    uint32_t m_gpus;
    std::vector<std::unique_ptr<Server>> m_servers; ///< null: another rank's
    const scenario::ClusterSpec& m_cluster;
    ScaleUpTally& m_tally;
};

} // namespace dltrain

#endif // DLTRAIN_SCALE_UP_TRANSPORT_H
