/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef DLTRAIN_TRANSPORT_H
#define DLTRAIN_TRANSPORT_H

#include "scenarios/job/scenario.h"
#include "topologies/families/dims.h"

#include "ns3/rdma-fabric-helper.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace reports
{
struct MessageParts;
struct PathRecord;
} // namespace reports

namespace dltrain
{

struct ChannelName;
class TraceCollector;

/**
 * The places that exchange messages: GPUs of a cluster, or a network's endpoints themselves.
 *
 * After a cluster's GPUs come the places of its switches that add up. Each server has two, after
 * its last GPU: one where its switch adds up, one where it copies. Then come the units of switches
 * between servers, each as a server of its own, with a NIC for each of its links
 * (coll::Aggregators).
 */
class Places
{
  public:
    /// Place e is endpoint e.
    explicit Places(const ns3::RdmaFabric& fabric);
    /// The NICs of servers that are to be used, by server; each server has ClusterSpec::server's
    /// number of them. Empty: all NICs.
    using NicsInUse = std::vector<std::vector<uint32_t>>;

    /// Place r is rank r: GPU r mod g of logical server r / g. \param fabric built from
    /// cluster.topology; both outlive this
    Places(const scenario::ClusterSpec& cluster,
           const ns3::RdmaFabric& fabric,
           NicsInUse nicsInUse = {});

    bool IsGpu(uint32_t place) const
    {
        return m_areGpus && place < m_firstSwitch;
    }

    /// For a unit: a number after those of servers.
    uint32_t ServerOf(uint32_t place) const
    {
        if (place < m_firstSwitch)
        {
            return place / m_gpus;
        }
        const uint32_t behind = place - m_firstSwitch;
        return behind < m_servers ? behind : behind - m_servers;
    }

    /// For a server's switch: the number of GPUs; for the place where it copies: one more.
    uint32_t GpuOf(uint32_t place) const
    {
        return place < m_firstSwitch               ? place % m_gpus
               : place - m_firstSwitch < m_servers ? m_gpus
                                                   : m_gpus + 1;
    }

    /// \param rail counts a server's NICs, and begins again \param towards the place at the other
    /// end \param plane of the NIC's port, if it has several
    uint32_t EndpointOf(uint32_t place, uint32_t rail, uint32_t towards, uint32_t plane = 0) const
    {
        const uint32_t server = ServerOf(place);
        return m_firstEndpoint[server] + (IsUnit(place) ? PortOfUnit(server, rail % m_nics, towards)
                                                        : NicOf(server, rail) * m_planes + plane);
    }

    /// Where a channel begins. \return endpoint
    uint32_t FromOf(const ChannelName& name) const;
    /// Where it ends. \return endpoint
    uint32_t ToOf(const ChannelName& name) const;

    /// \return the NIC beside a GPU, of its server's
    uint8_t NicBeside(uint32_t place) const
    {
        return static_cast<uint8_t>(uint64_t{GpuOf(place)} * m_nics / m_gpus);
    }

    /// The place where a server's switch adds up.
    uint32_t PlaceOfSwitch(uint32_t server) const
    {
        return m_firstSwitch + server;
    }

    /// Where it copies.
    uint32_t PlaceOfCopier(uint32_t server) const
    {
        return m_firstSwitch + m_servers + server;
    }

    /// The place of a switch between servers. \param unit index into coll::Aggregators
    uint32_t PlaceOfUnit(uint32_t unit) const
    {
        return m_firstSwitch + 2 * m_servers + unit;
    }

    bool IsUnit(uint32_t place) const
    {
        return place >= m_firstSwitch && place - m_firstSwitch >= 2 * m_servers;
    }

    /// \return ns-3 node id
    uint32_t ContextOf(uint32_t place) const
    {
        return m_contextOfServer[ServerOf(place)];
    }

    /// The order of a server's own actions at one picosecond, whenever they were scheduled. All
    /// come after its timers and arriving frames (ns3::RdmaEventOrder).
    enum class Turn : uint8_t
    {
        INSIDE,      ///< messages inside it arrive
        LEAVE,       ///< ranks leave the collectives that these messages have ended
        SEND,        ///< messages that waited for software are sent
        SEND_INSIDE, ///< messages that a message inside it has caused are sent
    };

    /// \return the context of its events of a turn
    uint32_t ContextOfTurn(uint32_t server, Turn turn) const;

    /// Whether there is such an order: else events are in that of their scheduling.
    bool HasTurns() const
    {
        return m_hasTurns;
    }

    uint32_t GetNServers() const
    {
        return m_servers;
    }

    /// Servers, and units of switches.
    uint32_t GetNHosts() const
    {
        return static_cast<uint32_t>(m_firstEndpoint.size());
    }

    uint32_t ContextOfServer(uint32_t server) const
    {
        return m_contextOfServer[server];
    }

    /// \return whether this one of several Ranks simulates the server
    bool IsServerHere(uint32_t server) const
    {
        return m_isServerHere[server];
    }

    bool IsHere(uint32_t place) const
    {
        return m_isServerHere[ServerOf(place)];
    }

  private:
    /// On a network of dimensions: the NIC out of which the way to another place begins, or into
    /// which that from there ends. \return endpoint; nothing elsewhere, and for units
    std::optional<uint32_t> EndTowards(uint32_t place, uint32_t other, bool sends) const;

    uint32_t NicOf(uint32_t server, uint32_t rail) const
    {
        return m_nicsInUse.empty() ? rail % m_nics : m_nicsInUse[server][rail % m_nics];
    }

    /// The plane of a channel where there are several, the same at both ends. It is a hash of the
    /// two places, job, communicator and rail. Channels of the same two NICs take planes in turns
    /// (ChannelName::turn).
    uint32_t PlaneOf(const ChannelName& name) const;

    /// The port of a unit. \param server number of the unit
    uint32_t PortOfUnit(uint32_t server, uint32_t nic, uint32_t towards) const;

    bool m_areGpus;
    uint32_t m_gpus = 1;
    uint32_t m_nics = 1;
    uint32_t m_planes = 1; ///< topo::Description::planes
    NicsInUse m_nicsInUse;
    uint32_t m_servers = 0;
    uint32_t m_firstSwitch = UINT32_MAX; ///< place
    const coll::Aggregators* m_aggregators = nullptr;
    std::vector<uint32_t> m_firstEndpoint;
    std::vector<uint32_t> m_contextOfServer;
    std::optional<topo::DimensionGrid> m_grid;        ///< topo::Description::dimensions
    std::shared_ptr<const topo::PairNics> m_pairNics; ///< topo::Description::nics
    /// By server, where a message's way tells its NICs: the number of its host.
    std::vector<uint32_t> m_hostOf;
    bool m_hasTurns = false; ///< the scheduler knows ns3::RdmaEventOrder
    std::vector<bool> m_isServerHere;
};

/**
 * The unique name of a channel, with its ends. Its path follows from this name (by the UDP source
 * port), not from other channels that were opened before.
 */
struct ChannelName
{
    static constexpr uint8_t SAME_RAIL = UINT8_MAX; ///< above topo::kMostNics

    uint32_t communicator = 0;
    uint32_t from = 0; ///< places; `from` opens and posts
    uint32_t to = 0;
    uint32_t lane = 0;
    uint16_t job = 0;
    uint16_t rail = 0;             ///< NIC of a server: Places::EndpointOf
    uint8_t railThere = SAME_RAIL; ///< NIC of `to`'s server
    uint8_t turn = 0; ///< counts those that share these NICs: they take planes in turns
    uint8_t priority = 3;
    uint8_t trafficClass : 7; ///< scenario::FabricSpec::classes; 0: its job's
    bool single : 1;          ///< it carries one message; so both ends know when it is done

    ChannelName()
        : trafficClass(0),
          single(false)
    {
    }
};

/// A transport's number of a channel; numbers of closed ones are used again.
using ChannelId = uint64_t;

/// \return 64 bits of a name that tell it from others. The rail needs none: it is in the addresses
uint64_t HashOf(const ChannelName& name);

/// A message to be moved.
struct TransportPost
{
    uint64_t bytes = 0;
    uint64_t id = 0; ///< reports::MessageId; OnSent says it
    /// The verb on an RDMA network. The bytes of a READ come from `to`, and are delivered at
    /// `from`.
    ns3::RdmaOperation operation = ns3::RdmaOperation::WRITE;
    bool hasImmediate = false;
    uint32_t immediate = 0;
    uint64_t parts = 1; ///< coll::Schedule::PartsOfMessage
    uint8_t how = 0;    ///< inside a server: 0, as its links have it; else topo::WayNumber()
    /// Inside a server: the most that the two GPUs' messages get meanwhile, bit/s; 0: no limit.
    uint64_t mostBps = 0;
    /// The cause, for the poster: reports::CollectivePaths. It comes back with the delivery where
    /// both ends share memory; with transports between servers, after CarryCauses.
    reports::PathRecord* cause = nullptr;
};

/// A message that has arrived.
struct Delivery
{
    const ChannelName& name; ///< name of its channel, valid during the call
    ChannelId channel;       ///< as Open said
    uint64_t cookie;         ///< as Open was told
    uint32_t immediate;
    reports::PathRecord* cause = nullptr;         ///< cause of the post
    int64_t posted = -1;                          ///< ps; -1: not known, over a network
    const reports::MessageParts* parts = nullptr; ///< of its time, during the call; null: not known
};

/// Hears what became of the messages.
class TransportUser
{
  public:
    virtual ~TransportUser() = default;
    /// At the receiver: a message has arrived whole. A channel's messages arrive in the order of
    /// the posts. The delivery has everything the receiver may use: the sender's own state must not
    /// be touched.
    virtual void OnDelivered(const Delivery& delivery, int64_t now) = 0;
    /// At the poster: the message is acknowledged whole, or has failed. The channel may be closed.
    virtual void OnSent(ChannelId channel,
                        uint64_t cookie,
                        uint64_t id,
                        bool failed,
                        int64_t now) = 0;

    /// A message of a channel will soon be delivered: PrefetchLine what that needs, in two turns,
    /// the second a while after the first, which looks at what that has fetched.
    /// \param cookie the channel's \param cause the message's; null: it is not known
    /// \param turn 0, 1
    virtual void Prefetch(uint64_t /* cookie */,
                          const reports::PathRecord* /* cause */,
                          uint32_t /* turn */) const
    {
    }
};

/**
 * Moves messages. The runner of a job opens channels and posts messages. The transport decides how
 * they travel: RDMA packets (NetworkTransport), a server's own links (ScaleUpTransport), a law
 * without packets (FormulaTransport). `from` opens, posts and closes, in events of its own host, or
 * before the first event; `to` makes its end when the first message comes.
 *
 *     channel = transport.Open(name, user, cookie) // from, to, lane, priority, job
 *     transport.Post(channel, post)                // any number, in order
 *       -> user.OnDelivered(delivery)              // at the receiver, in its context
 *       -> user.OnSent(channel, cookie, id, failed) // at the sender, in its context
 *     transport.Close(channel)                     // nothing is under way
 *
 * Channels of one transport may have different users; several transports, as of several jobs, share
 * the fabric.
 */
class Transport
{
  public:
    virtual ~Transport() = default;

    /// With several Ranks, before the first event, in the same order in all of them: announces a
    /// user that opens channels to other ranks. Without it, a message from another rank must be
    /// announced by Expect.
    virtual void AddUser(TransportUser& /* user */)
    {
    }

    /// Opens a channel from one place to another.
    /// \param user hears of its messages
    /// \param cookie the user's own: comes back with each message
    /// \param mostBps most that it carries between servers, bit/s on the wire (inside one:
    /// TransportPost::mostBps); 0: no limit
    virtual ChannelId Open(const ChannelName& name,
                           TransportUser& user,
                           uint64_t cookie,
                           uint64_t mostBps) = 0;

    ChannelId Open(const ChannelName& name, TransportUser& user, uint64_t cookie)
    {
        return Open(name, user, cookie, 0);
    }

    /// The way that the messages of a channel take.
    struct Way
    {
        std::vector<uint32_t> ends; ///< of RdmaFabric, the sender's first
        std::vector<rdma::PathLink> links;
        std::vector<uint32_t> back; ///< as `ends`, of the ACKs
    };

    /// \return nothing: not known, or not always the same
    virtual std::optional<Way> FindWay(const ChannelName& /* name */) const
    {
        return std::nullopt;
    }

    virtual void Post(ChannelId channel, const TransportPost& post) = 0;

    /// \return ps, of a message between two endpoints alone on the idle network; nothing: as
    /// RdmaFabric has it
    virtual std::optional<int64_t> IdealOf(uint32_t /* from */,
                                           uint32_t /* to */,
                                           uint64_t /* bytes */)
    {
        return std::nullopt;
    }

    /// Post will soon be called: prefetches its data by PrefetchLine. Calls have growing depth,
    /// with a pause between them; each reads data that the one before has fetched.
    /// \param depth from 0
    virtual void PrefetchPost(ChannelId /* channel */, uint32_t /* depth */) const
    {
    }

    /// Deliveries say what their posts did, from the first channel on.
    virtual void CarryCauses()
    {
    }

    virtual void Close(ChannelId channel) = 0;

    /// Between the nodes' events: gives up all channels, even with messages in flight. Users may
    /// still hear of later arrivals.
    virtual void Abort()
    {
    }

    /// With several Ranks, before the first event: a message that `from`, of another rank, will
    /// post at `at` ps to `to`, of this one. In the order of the posts.
    virtual void Expect(const ChannelName& name,
                        TransportUser& user,
                        uint64_t cookie,
                        const TransportPost& post,
                        int64_t at);
    /// \return what a user recognizes a channel by: "h0->h1 qp 2"
    virtual std::string Describe(ChannelId channel) const = 0;
    /// \return bytes that have arrived so far, as far as can be told of messages under way too
    virtual uint64_t GetBytesArrived() const = 0;
};

/// A transport without queue pairs to ask: it counts what arrives itself.
class PacketlessTransport : public Transport
{
  public:
    uint64_t GetBytesArrived() const override
    {
        return m_bytesArrived;
    }

  protected:
    void CountArrived(uint64_t bytes)
    {
        m_bytesArrived += bytes;
    }

  private:
    uint64_t m_bytesArrived = 0;
};

/// State that transports of several jobs on one network share, such as the load of its links. The
/// first transport makes it, and each kind knows its own type.
using NetworkShare = std::shared_ptr<void>;

/// The parts that a transport between servers is made from; all of them outlive the transport.
struct NetworkParts
{
    ns3::RdmaFabric& fabric;
    TraceCollector& collector;
    const Places& places;
    NetworkShare* share = nullptr;            ///< null: no other transport sends
    scenario::ChannelClass channelClass = {}; ///< of channels whose name has no class
};

/**
 * A kind of transport between servers, by its name in scenario::NETWORKS:
 *
 *     static NetworkKind g_packetKind("packet", [](const NetworkParts& parts) { ... });
 */
class NetworkKind
{
  public:
    using Maker = std::unique_ptr<Transport> (*)(const NetworkParts&);

    NetworkKind(const std::string& name, Maker maker);

    static std::unique_ptr<Transport> Make(const std::string& name, const NetworkParts& parts);
};

} // namespace dltrain

#endif // DLTRAIN_TRANSPORT_H
