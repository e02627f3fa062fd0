/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "message-runner.h"

#include "collectives/core/placement.h"
#include "contrib/dltrain/transports/recall-transport.h"
#include "reports/attribution/collective-paths.h"
#include "topologies/names.h"

#include "ns3/rdma-owner.h"

#include <algorithm>
#include <optional>
#include <utility>

namespace dltrain
{

namespace
{

using reports::CollectivePaths;

/// Lanes of messages are those of no collective.
constexpr uint16_t FIRST_LANE = 0x8000;

/// The cookie of a channel at the sender's end: server, and number among its sending halves.
uint64_t
CookieOf(uint32_t server, uint32_t number)
{
    return static_cast<uint64_t>(server) << 32 | number;
}

/// A channel's name among those of both transports, for CollectivePaths.
uint64_t
PathKey(ChannelId channel, bool inside)
{
    return inside ? ~channel : channel;
}

/// A message's immediate tells its receiver when its send started: in units of 2^16 ps, modulo
/// 2^32, some 281 s.
constexpr int UNIT_BITS = 16;

uint32_t
ImmediateOf(int64_t started)
{
    return static_cast<uint32_t>(started >> UNIT_BITS);
}

/// \param now of the arrival, less than 281 s later
int64_t
StartOf(uint32_t immediate, int64_t now)
{
    const uint32_t age = ImmediateOf(now) - immediate;
    return std::max<int64_t>(0, ((now >> UNIT_BITS) - int64_t{age}) << UNIT_BITS);
}

/// Two ranks. \param servers 1 or 2
coll::Placement
PairIn(uint32_t servers)
{
    return coll::UniformPlacement(servers, 2 / servers);
}

} // namespace

std::vector<MessageRunner::PairRates>
MessageRunner::RatesOf(const scenario::CollectiveOptions& options)
{
    std::vector<PairRates> rates;
    const auto add = [&rates](const coll::Machine& machine) {
        rates.push_back({coll::ExchangeRates(PairIn(1), machine),
                         coll::ExchangeRates(PairIn(2), machine).Outside().bps});
    };
    for (const coll::Machine& machine : options.machines)
    {
        add(machine);
    }
    if (rates.empty())
    {
        add(options.machine);
    }
    return rates;
}

const MessageRunner::PairRates&
MessageRunner::RatesAt(uint32_t server) const
{
    return m_rates[m_kindOf.empty() ? 0 : m_kindOf[server]];
}

MessageRunner::MessageRunner(Interconnect& interconnect,
                             const scenario::CollectiveOptions& options,
                             MessageUser& user,
                             uint32_t job)
    : m_interconnect(interconnect),
      m_times(LibraryTimes::Of(options,
                               options.machine,
                               options.machine.hasLibrary ? std::optional(topo::Protocol::kExchange)
                                                          : std::nullopt,
                               false)),
      m_rates(RatesOf(options)),
      m_kindOf(options.machineOfServer),
      m_ownNics(options.ownNics),
      m_peersRail(options.peersRail),
      m_user(user),
      m_job(job)
{
    m_inside = m_times.launch + options.stepLatency.ps;
    m_outside = m_times.launch + m_times.outside;
    m_interconnect.AddUser(*this);
    for (uint32_t server = 0; server < interconnect.GetPlaces().GetNServers(); ++server)
    {
        m_servers.emplace_back(this);
    }
    if (options.recall)
    {
        m_recall = std::make_unique<RecallTransport>(
            interconnect,
            coll::RecallSettings{options.recall->error,
                                 options.recall->checks,
                                 2 * interconnect.Fabric().GetDecisionDelay()});
    }
}

MessageRunner::~MessageRunner() = default;

MessageRunner::Server&
MessageRunner::ServerOf(Rank rank, const char* what)
{
    const Places& places = m_interconnect.GetPlaces();
    ns3::RdmaOwner::Check(places.ContextOf(rank), what);
    return m_servers[places.ServerOf(rank)];
}

MessageRunner::Sending&
MessageRunner::GetSending(Server& server, const MessageOrder& order)
{
    const auto number = static_cast<uint32_t>(server.sending.size());
    const auto [found, isNew] = server.sendingOf.try_emplace(order, number);
    if (isNew)
    {
        Sending& sending = server.sending.emplace_back();
        sending.order = order;
        sending.number = number;
    }
    return server.sending[found->second];
}

void
MessageRunner::Send(const MessageOrder& order,
                    uint64_t bytes,
                    uint32_t name,
                    uint64_t cookie,
                    int64_t now)
{
    Server& server = ServerOf(order.from, "sends a message of a rank");
    Sending& sending = GetSending(server, order);
    sending.sent.push_back({bytes, cookie, name}); // whose order is that of their posts
    if (m_aborted)
    {
        return; // kept for TakeOver
    }
    const CollectivePaths::Path path =
        m_paths ? m_paths->Enter(order.from, name, now) : CollectivePaths::NONE;
    const EventPayload send{&sending, order.from, name, path, bytes, cookie, now};
    const Places& places = m_interconnect.GetPlaces();
    const bool inside = places.ServerOf(order.from) == places.ServerOf(order.to);
    const int64_t wait = inside ? m_inside : m_outside;
    if (wait)
    {
        server.events.Schedule(now + wait, places.ContextOf(order.from), send);
        return;
    }
    Post(send);
}

void
MessageRunner::Post(const EventPayload& send)
{
    Sending& sending = *send.send;
    const MessageOrder& order = sending.order;
    const Places& places = m_interconnect.GetPlaces();
    if (!sending.transport)
    {
        ChannelName name;
        name.job = static_cast<uint16_t>(m_job);
        name.communicator = order.group;
        if (!m_priorities.empty())
        {
            name.priority = m_priorities[order.group];
        }
        name.from = order.from;
        name.to = order.to;
        name.lane = static_cast<uint16_t>(FIRST_LANE + order.tag);
        name.rail = static_cast<uint16_t>(places.GpuOf(order.from));
        name.turn = static_cast<uint8_t>(order.tag);
        if (m_times.nics)
        {
            name.rail = static_cast<uint16_t>(name.rail % m_times.nics);
        }
        if (m_ownNics)
        {
            name.rail = places.NicBeside(m_peersRail ? order.to : order.from);
            name.railThere = places.NicBeside(order.to);
        }
        const uint32_t server = places.ServerOf(order.from);
        sending.inside = server == places.ServerOf(order.to);
        sending.transport = m_recall && !sending.inside
                                ? static_cast<Transport*>(m_recall.get())
                                : &m_interconnect.Serving(name.from, name.to);
        sending.channel = sending.transport->Open(name,
                                                  *this,
                                                  CookieOf(server, sending.number),
                                                  sending.inside ? 0 : RatesAt(server).outsideBps);
    }
    m_servers[places.ServerOf(order.from)].bytes += send.bytes;
    TransportPost post;
    post.bytes = sending.inside ? send.bytes : m_times.wire.BytesOnWire(send.bytes);
    if (sending.inside)
    {
        post.how = m_times.how;
        post.mostBps = RatesAt(places.ServerOf(order.from)).inside.Inside(send.bytes).bps;
    }
    post.id = send.name;
    post.hasImmediate = true;
    post.immediate = ImmediateOf(send.started);
    post.cause = send.path; // held until it arrives
    sending.transport->Post(sending.channel, post);
}

void
MessageRunner::Receive(const MessageOrder& order, uint64_t cookie, int64_t now)
{
    Server& server = ServerOf(order.to, "receives a message for a rank");
    Receiving& receiving = server.receiving[order];
    if (receiving.arrived.empty() || m_aborted)
    {
        receiving.cookies.push_back(cookie);
        return;
    }
    // It waits for nothing, so its end has no path of a message; and is told through the event
    // loop, never from within its start.
    if (m_paths)
    {
        m_paths->Drop(receiving.arrived.front());
    }
    receiving.arrived.pop_front();
    EndSoon(order.to, cookie, now);
}

void
MessageRunner::EndSoon(Rank rank, uint64_t cookie, int64_t now)
{
    const Places& places = m_interconnect.GetPlaces();
    Server& server = m_servers[places.ServerOf(rank)];
    server.ending.emplace_back(rank, cookie);
    server.events.Schedule(now,
                           places.ContextOf(rank),
                           {nullptr, rank, 0, CollectivePaths::NONE, 0, cookie, now});
}

uint64_t
MessageRunner::TakeOver(const MessageRunner& other, int64_t now)
{
    const Places& places = m_interconnect.GetPlaces();
    uint64_t again = 0;
    for (const Server& server : other.m_servers)
    {
        for (const auto& [rank, cookie] : server.ending)
        {
            EndSoon(rank, cookie, now);
        }
        for (const auto& [order, old] : server.receiving)
        {
            Receiving& receiving = m_servers[places.ServerOf(order.to)].receiving[order];
            receiving.arrived.assign(old.arrived.size(), CollectivePaths::NONE);
            receiving.cookies = old.cookies;
            while (!receiving.arrived.empty() && !receiving.cookies.empty())
            {
                EndSoon(order.to, receiving.cookies.front(), now);
                receiving.arrived.pop_front();
                receiving.cookies.pop_front();
            }
        }
    }
    for (const Server& server : other.m_servers)
    {
        for (const Sending& old : server.sending)
        {
            const auto& receivers = other.m_servers[places.ServerOf(old.order.to)].receiving;
            const auto receiving = receivers.find(old.order);
            uint64_t number = old.acknowledged;
            const uint64_t there = receiving == receivers.end() ? 0 : receiving->second.delivered;
            for (const Sent& sent : old.sent)
            {
                if (number++ < there)
                {
                    EndSoon(old.order.from, sent.cookie, now);
                    continue;
                }
                Send(old.order, sent.bytes, sent.name, sent.cookie, now);
                ++again;
            }
        }
    }
    return again;
}

void
MessageRunner::OnEvent(const EventPayload& e, int64_t now)
{
    if (m_aborted)
    {
        return;
    }
    if (e.send)
    {
        Post(e);
        return;
    }
    m_servers[m_interconnect.GetPlaces().ServerOf(e.rank)].ending.pop_front();
    End(e.rank, e.cookie, e.path, now);
}

void
MessageRunner::End(Rank rank,
                   uint64_t cookie,
                   CollectivePaths::Path path,
                   int64_t now,
                   int64_t sent)
{
    m_user.OnMessageDone(rank, cookie, now, sent, path);
    if (m_paths)
    {
        m_paths->Drop(path);
    }
}

void
MessageRunner::OnDelivered(const Delivery& delivery, int64_t now)
{
    if (m_aborted)
    {
        return;
    }
    const ChannelName& name = delivery.name;
    const MessageOrder order{name.communicator,
                             name.from,
                             name.to,
                             static_cast<uint16_t>(name.lane - FIRST_LANE)};
    Server& server = ServerOf(order.to, "delivers a message to a rank");
    Receiving& receiving = server.receiving[order];
    ++receiving.delivered;
    CollectivePaths::Path path = CollectivePaths::NONE;
    if (m_paths)
    {
        const bool inside = delivery.posted >= 0;
        path =
            inside
                ? m_paths->ArriveInside(delivery.cause, order.from, order.to, delivery.posted, now)
                : m_paths->Arrive(delivery.cause, order.from, order.to, delivery.parts, now);
        m_paths->Keep(PathKey(delivery.channel, inside), path);
    }
    if (receiving.cookies.empty())
    {
        receiving.arrived.push_back(path);
        return;
    }
    const uint64_t cookie = receiving.cookies.front();
    receiving.cookies.pop_front();
    End(order.to, cookie, path, now, StartOf(delivery.immediate, now));
}

void
MessageRunner::OnSent(ChannelId channel, uint64_t cookie, uint64_t, bool failed, int64_t now)
{
    if (m_aborted)
    {
        return;
    }
    Sending& sending = m_servers[cookie >> 32].sending[static_cast<uint32_t>(cookie)];
    ServerOf(sending.order.from, "ends a send of a rank");
    if (failed)
    {
        const bool first = sending.failed.empty();
        sending.failed = sending.transport->Describe(channel);
        if (m_onFailure && first)
        {
            m_onFailure(NameOf(sending.order.from) + "'s for " + NameOf(sending.order.to) + " (" +
                        sending.failed + ")");
        }
        return;
    }
    const uint64_t sent = sending.sent.front().cookie;
    sending.sent.pop_front();
    ++sending.acknowledged;
    const CollectivePaths::Path path =
        m_paths ? m_paths->TakeKept(PathKey(channel, sending.inside)) : CollectivePaths::NONE;
    End(sending.order.from, sent, path, now);
}

std::string
MessageRunner::NameOf(Rank rank) const
{
    return m_nameOf ? m_nameOf(rank) : "rank " + std::to_string(rank);
}

uint64_t
MessageRunner::GetBytes() const
{
    uint64_t bytes = 0;
    for (const Server& server : m_servers)
    {
        bytes += server.bytes;
    }
    return bytes;
}

std::vector<std::string>
MessageRunner::Describe(const MessageOrder& order,
                        const Sending* sending,
                        const Receiving* receiving) const
{
    std::vector<std::string> lines;
    const std::string from = NameOf(order.from);
    const std::string to = NameOf(order.to);
    const std::string tag = order.tag ? " with tag " + std::to_string(order.tag) : std::string();
    const std::size_t waiting = receiving ? receiving->cookies.size() : 0;
    const std::size_t unasked = receiving ? receiving->arrived.size() : 0;
    const std::size_t sent = sending ? sending->sent.size() : 0;
    const std::string under = sent == 0
                                  ? ", which has sent all it wanted to"
                                  : ", " + topo::Counted(sent, "message") + " not acknowledged";
    if (waiting)
    {
        const bool any = sending && sending->transport;
        const bool known = m_interconnect.GetPlaces().IsHere(order.from);
        lines.push_back(to + " waits for " + topo::Counted(waiting, "message") + tag + " of " +
                        from +
                        (any     ? under
                         : known ? std::string(", which has sent it none")
                                 : std::string(", of another process")));
    }
    else if (sent)
    {
        lines.push_back(from + " sends to " + to + tag + under);
    }
    if (unasked)
    {
        lines.push_back(to + " has not received " + topo::Counted(unasked, "message") + tag +
                        " that " + from + " sent it");
    }
    if (sending && !sending->failed.empty())
    {
        lines.push_back("messages of " + from + " to " + to + " failed on " + sending->failed);
    }
    return lines;
}

std::vector<std::string>
MessageRunner::DescribeUnfinished() const
{
    std::map<MessageOrder, std::pair<const Sending*, const Receiving*>> orders;
    for (const Server& server : m_servers)
    {
        for (const Sending& sending : server.sending)
        {
            orders[sending.order].first = &sending;
        }
        for (const auto& [order, receiving] : server.receiving)
        {
            orders[order].second = &receiving;
        }
    }
    std::vector<std::string> lines;
    for (const auto& [order, halves] : orders)
    {
        const auto more = Describe(order, halves.first, halves.second);
        lines.insert(lines.end(), more.begin(), more.end());
    }
    return lines;
}

} // namespace dltrain
