/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/collective/network-choices.h"

#include "collectives/core/placement.h"
#include "collectives/core/registry.h"
#include "collectives/tuner/possible-choices.h"
#include "contrib/rdma/core/unit-strings.h"
#include "scenarios/collective/collective-options.h"
#include "scenarios/network/cluster-options.h"
#include "scenarios/network/infiniband.h"
#include "scenarios/network/rail-options.h"
#include "scenarios/options/format.h"

#include <algorithm>
#include <functional>
#include <set>
#include <unordered_map>

namespace scenario
{

namespace
{

/// A replay of so many takes some 20 ms.
constexpr uint64_t kMostMessagesReplayed = 60000;
/// A line of advice says which is slower than this; and it looks at so many sizes. Both assumed.
constexpr double kMuchSlower = 1.3;
constexpr std::size_t kMostSizesCompared = 8;
/// A line about gains names so many collectives.
constexpr std::size_t kMostGains = 3;
/// A smaller gain is no reason to leave the usual choice: a replay knows no queues, and choices
/// that fill several links at once have more of them. Assumed.
constexpr double kAlike = 1.1;
/// The most peers that a rank sends to. With more, the messages in flight to one port and their
/// cost to a GPU matter, not links alone. Assumed.
constexpr std::size_t kMostPeers = 64;
/// With fewer bytes a schedule is another one: chunks are as small as they get. Assumed.
constexpr uint64_t kLeastBytesReplayed = 1 << 20;

/// No schedule is as fast: its latencies in series, and its bytes out of a server over all NICs.
double
LeastSeconds(const CollectiveOptions& options,
             const coll::Collective& what,
             const coll::Placement& placement,
             const coll::Choice& choice,
             const coll::ReplayTimes& times)
{
    const std::optional<coll::Cost> cost =
        choice.algorithm->CostOf(what, placement, options.OptionsFor(what.op, choice));
    if (!cost)
    {
        return times.launch;
    }
    const coll::Machine& machine = options.machine;
    const bool several = coll::HasSeveralServers(placement);
    const uint64_t outside = several ? std::min(cost->chain, cost->chainOutside) : 0;
    double inside = machine.insideLatency;
    if (choice.protocol)
    {
        inside = machine.library.Of(*choice.protocol).inside.Seconds() +
                 (several ? machine.library.PostInside(*choice.protocol).Seconds() : 0);
    }
    const double chain = (cost->chain - outside) * inside + outside * times.outside;
    const double links =
        several ? cost->outOfServer / times.wire.outsideShare / (machine.nicRate * machine.nics)
                : 0;
    // The formulas are for ranks that are laid out evenly; the factor keeps this a lower bound.
    return times.launch + 0.9 * std::max(chain, links);
}

/// Whether a rank sends to more than kMostPeers others; by its first steps.
bool
HasManyPeers(const coll::Schedule& schedule)
{
    std::set<coll::Rank> peers;
    for (coll::Lane lane = 0; lane < schedule.Lanes(0); ++lane)
    {
        const coll::StepIndex steps = schedule.Steps(0, lane);
        for (coll::StepIndex k = 0; k < steps && k < 4 * kMostPeers; ++k)
        {
            const coll::Rank peer = schedule.At(0, lane, k).sendPeer;
            if (peer != coll::kNoRank && peers.insert(peer).second && peers.size() > kMostPeers)
            {
                return true;
            }
        }
    }
    return false;
}

} // namespace

NetworkChoices::NetworkChoices(const ClusterSpec& cluster, const FabricSpec& fabric)
    : m_topology(cluster.topology),
      m_server(cluster.server),
      m_hostOfServer(cluster.hostOfServer),
      m_links(m_topology)
{
    m_network.server = &m_server;
    m_network.topology = &m_topology;
    m_network.links = &m_links;
    m_network.hostOfServer = &m_hostOfServer;
    m_network.cable = fabric.linkDelay.Seconds() + FecDelay(fabric, fabric.nicRate).Seconds();
    m_network.pipeline = fabric.switchLatency.Seconds();
    m_network.stores = !fabric.infiniBand;
    m_network.mtu = fabric.mtu;
    m_network.header = fabric.frames.FullWire(fabric.mtu) - fabric.mtu;
}

std::string
NetworkChoices::ShapeOf(const coll::Placement& placement) const
{
    const bool several = coll::HasSeveralServers(placement);
    const uint32_t planes = std::max(1U, m_topology.About().planes);
    std::unordered_map<uint32_t, std::size_t> servers;
    std::unordered_map<uint32_t, std::size_t> switches;
    const auto endpoint = [&](uint32_t server, uint32_t nic) {
        return m_topology.EndpointOf(m_hostOfServer[server],
                                     static_cast<topo::PortId>(nic * planes));
    };
    std::string shape;
    for (std::size_t i = 0; i < placement.serverOf.size(); ++i)
    {
        const uint32_t server = placement.serverOf[i];
        const auto [found, isNew] = servers.try_emplace(server, servers.size());
        shape += std::to_string(found->second) + "." + std::to_string(placement.gpuOf[i]);
        // Where its NICs hang, and how far from the first server's.
        for (uint32_t nic = 0; isNew && several && nic < m_server.nics; ++nic)
        {
            const topo::EndpointId at = endpoint(server, nic);
            const auto number =
                switches.try_emplace(m_links.AttachmentOf(at), switches.size()).first->second;
            const auto& path = i > 0
                                   ? m_links.Between(endpoint(placement.serverOf.front(), nic), at)
                                   : topo::SharedLinks::Path();
            shape += "@" + std::to_string(number) + "/" + std::to_string(path.links);
        }
        shape += " ";
    }
    return shape;
}

coll::ReplayTimes
NetworkChoices::TimesOf(const CollectiveOptions& options,
                        const coll::Collective& what,
                        const coll::Placement& placement,
                        const coll::Choice& choice) const
{
    // As LibraryTimes and CollectiveRunner::MakePlan have it.
    coll::ReplayTimes times;
    times.ownNics = OwnNics(options, *choice.algorithm, what.op);
    times.peersRail = options.peersRail;
    times.ownNic = times.ownNics || (choice.protocol && what.op == coll::Op::kSendRecv);
    if (choice.protocol)
    {
        const topo::LibraryModel& library = options.machine.library;
        const topo::ProtocolTimes& protocol = library.Of(*choice.protocol);
        const bool exchange = *choice.protocol == topo::Protocol::kExchange;
        times.launch =
            ((exchange ? library.exchangeLaunch : library.launch) + protocol.base).Seconds();
        times.outside = protocol.outside.Seconds();
        times.wire = protocol;
        times.post = exchange ? library.post.Seconds() : 0;
        times.how = topo::WayNumber(*choice.protocol, coll::HasSeveralServers(placement));
        times.nics = exchange && !times.ownNics ? library.exchangeNics : 0;
        if (exchange)
        {
            times.rates = coll::ExchangeRates(placement, options.machine);
            times.limited = coll::MaySlowDown(times.rates,
                                              *choice.algorithm,
                                              what.op,
                                              placement,
                                              options.machine);
        }
    }
    times.inside = options.stepLatency.Seconds();
    times.outside += options.stepLatency.Seconds();
    return times;
}

std::optional<double>
NetworkChoices::Seconds(const CollectiveOptions& options,
                        const coll::Collective& what,
                        const coll::Placement& placement,
                        const coll::Choice& choice,
                        double limit) const
{
    const coll::AlgorithmOptions knobs = options.OptionsFor(what.op, choice);
    const coll::ReplayTimes times = TimesOf(options, what, placement, choice);
    const auto make = [&](uint64_t bytes) {
        coll::Collective less = what;
        less.bytes = bytes;
        return choice.algorithm->Make(less, placement, knobs);
    };
    const std::unique_ptr<coll::Schedule> whole = make(what.bytes);
    if (!coll::IsExchange(what.op) && HasManyPeers(*whole))
    {
        return std::nullopt;
    }
    if (coll::CountMessages(*whole) <= kMostMessagesReplayed)
    {
        return coll::ReplaySeconds(*whole,
                                   placement,
                                   times,
                                   m_network,
                                   {kMostMessagesReplayed, limit});
    }
    // Half as many bytes have half as many chunks, or as many messages as before.
    uint64_t bytes = what.bytes / 2;
    uint64_t before = coll::CountMessages(*whole);
    while (bytes / 2 >= kLeastBytesReplayed)
    {
        const uint64_t messages = coll::CountMessages(*make(bytes));
        if (messages <= kMostMessagesReplayed)
        {
            const auto more = coll::ReplaySeconds(*make(bytes),
                                                  placement,
                                                  times,
                                                  m_network,
                                                  {kMostMessagesReplayed});
            const auto less = coll::ReplaySeconds(*make(bytes / 2),
                                                  placement,
                                                  times,
                                                  m_network,
                                                  {kMostMessagesReplayed});
            if (!more || !less)
            {
                return std::nullopt;
            }
            const double each = (*more - *less) / static_cast<double>(bytes - bytes / 2);
            return *more + each * static_cast<double>(what.bytes - bytes);
        }
        if (messages > before * 3 / 4)
        {
            break;
        }
        before = messages;
        bytes /= 2;
    }
    const std::optional<double> formula =
        coll::PlainSeconds(*choice.algorithm,
                           choice.protocol.value_or(topo::Protocol::kSimple),
                           what,
                           placement,
                           knobs,
                           options.machine);
    const std::optional<double> links =
        coll::BusiestLinkSeconds(*whole, placement, times, m_network);
    if (!formula || !links)
    {
        return std::nullopt;
    }
    return std::max(*formula, times.launch + *links);
}

std::optional<double>
NetworkChoices::SecondsOf(const CollectiveOptions& options,
                          const coll::Collective& what,
                          const coll::Placement& placement,
                          const coll::Choice& choice) const
{
    const std::lock_guard<std::mutex> lock(m_mutex);
    const bool can =
        choice.algorithm->WhyNot(what, placement, options.OptionsFor(what.op, choice)).empty() &&
        WhyNotOnRails(options, *choice.algorithm, placement, what.op).empty();
    return can ? Seconds(options, what, placement, choice, coll::ReplayLimits().seconds)
               : std::nullopt;
}

coll::Choice
NetworkChoices::Search(const CollectiveOptions& options,
                       const coll::Collective& what,
                       const coll::Placement& placement,
                       const coll::Fixed& fixed) const
{
    std::vector<coll::Choice> all =
        coll::AllPossible(what, placement, options.OptionsFor(what.op), options.machine, fixed);
    // The most promising first, so that others need not be followed to their ends.
    std::stable_sort(all.begin(), all.end(), [](const coll::Choice& a, const coll::Choice& b) {
        return (a.seconds > 0 ? a.seconds : 1e30) < (b.seconds > 0 ? b.seconds : 1e30);
    });
    coll::Choice best;
    double least = coll::ReplayLimits().seconds;
    for (const coll::Choice& choice : all)
    {
        if (!WhyNotOnRails(options, *choice.algorithm, placement, what.op).empty())
        {
            continue;
        }
        const coll::ReplayTimes times = TimesOf(options, what, placement, choice);
        if (LeastSeconds(options, what, placement, choice, times) >= least)
        {
            continue;
        }
        const std::optional<double> seconds = Seconds(options, what, placement, choice, least);
        if (seconds && *seconds < least)
        {
            best = choice;
            least = *seconds;
            best.seconds = least;
        }
    }
    // Among choices with about the same time in the replay, take NCCL's kind: its rings go from
    // neighbour to neighbour, so fewer messages collide.
    coll::Choice usual =
        coll::Choose(what, placement, options.OptionsFor(what.op), options.machine, fixed);
    if (best.algorithm && usual.algorithm &&
        WhyNotOnRails(options, *usual.algorithm, placement, what.op).empty())
    {
        const double limit = kAlike * least;
        const std::optional<double> seconds = Seconds(options, what, placement, usual, limit);
        if (seconds && *seconds <= limit)
        {
            usual.seconds = *seconds;
            return usual;
        }
    }
    return best;
}

coll::Choice
NetworkChoices::Best(const CollectiveOptions& options,
                     const coll::Collective& what,
                     const coll::Placement& placement,
                     const coll::Fixed& fixed) const
{
    const std::lock_guard<std::mutex> lock(m_mutex);
    std::string key = coll::OpName(what.op) + " " + std::to_string(what.bytes) + " " +
                      std::to_string(what.root) + " ";
    key += fixed.protocol ? topo::ToString(*fixed.protocol) : "";
    for (const coll::Algorithm* one : fixed.among)
    {
        key += "," + one->Name();
    }
    for (const std::string& one : fixed.except)
    {
        key += "^" + one;
    }
    key += ": " + ShapeOf(placement);
    const auto [found, isNew] = m_best.try_emplace(std::move(key));
    if (isNew)
    {
        found->second = Search(options, what, placement, fixed);
    }
    return found->second;
}

std::vector<NetworkChoice>
ChoicesByNetwork(const NetworkChoices& network,
                 const CollectiveOptions& options,
                 const ClusterSpec& cluster,
                 const std::vector<UsedBy>& groups)
{
    std::vector<NetworkChoice> all;
    std::set<std::string> known;
    for (const UsedBy& group : groups)
    {
        const coll::Placement placement =
            group.ranks.empty() ? RankPlacement(cluster) : PlacementOf(cluster, group.ranks);
        for (const coll::Collective& what : group.collectives)
        {
            const std::string name = coll::OpName(what.op) + " " + std::to_string(what.bytes) +
                                     " " + std::to_string(what.ranks) + " " +
                                     std::to_string(what.root) +
                                     (coll::HasSeveralServers(placement) ? " between" : " inside");
            const bool byFormula = options.insideByFormula &&
                                   (options.allByFormula || !coll::HasSeveralServers(placement));
            if (byFormula || !IsLeftToTuner(options, what, placement) || !known.insert(name).second)
            {
                continue;
            }
            NetworkChoice one;
            one.what = what;
            one.model = ModelChoiceOf(options, what, placement);
            one.best = network.Best(options, what, placement, FixedFor(options, what, placement));
            one.modelSeconds = network.SecondsOf(options, what, placement, one.model).value_or(0);
            if (one.best.algorithm)
            {
                all.push_back(one);
            }
        }
    }
    return all;
}

namespace
{

/// "all_reduce of 1 MiB by tree, ll128 takes 0.54 of the time of ring, simple"
std::string
GainText(const NetworkChoice& one)
{
    return coll::OpName(one.what.op) + " of " + rdma::ToString(rdma::Bytes(one.what.bytes)) +
           " by " + ChoiceText(one.best) + " takes " +
           Format("%.2f", one.best.seconds / one.modelSeconds) + " of the time of " +
           ChoiceText(one.model);
}

/// The text about the largest gains of --tuner=network, kMostGains of them.
std::string
GainsText(std::vector<NetworkChoice> all)
{
    all.erase(std::remove_if(
                  all.begin(),
                  all.end(),
                  [](const NetworkChoice& one) { return one.modelSeconds <= one.best.seconds; }),
              all.end());
    std::stable_sort(all.begin(), all.end(), [](const NetworkChoice& a, const NetworkChoice& b) {
        return a.best.seconds * b.modelSeconds < b.best.seconds * a.modelSeconds;
    });
    std::string text;
    for (std::size_t i = 0; i < std::min(all.size(), kMostGains); ++i)
    {
        text += (i ? "; " : "by formula, against auto: ") + GainText(all[i]);
    }
    if (all.empty())
    {
        return "by formula nothing on this network is faster by a tenth than what auto takes";
    }
    return text + (all.size() > kMostGains
                       ? "; so in " + std::to_string(all.size() - kMostGains) + " more, by less"
                       : std::string());
}

} // namespace

std::string
NetworkAdvice(const CollectiveOptions& options,
              const ClusterSpec& cluster,
              const FabricSpec& fabric,
              const std::vector<UsedBy>& groups)
{
    if (options.measured && options.measured->Network())
    {
        return GainsText(ChoicesByNetwork(*options.measured->Network(), options, cluster, groups));
    }
    // (Who limits the choice by NCCL's variables has made it.)
    // A replay does not know the NIC for each link of a network of dimensions.
    if (!cluster.topology.About().dimensions.empty() || options.measured || options.protocol ||
        !options.nccl.text.empty() || cluster.servers * cluster.server.gpus > kMostAdvised)
    {
        return {};
    }
    // Those with most bytes.
    std::vector<uint64_t> sizes;
    for (const UsedBy& group : groups)
    {
        for (const coll::Collective& what : group.collectives)
        {
            sizes.push_back(what.bytes);
        }
    }
    std::sort(sizes.begin(), sizes.end(), std::greater<>());
    sizes.erase(std::unique(sizes.begin(), sizes.end()), sizes.end());
    const uint64_t least = sizes.size() > kMostSizesCompared ? sizes[kMostSizesCompared - 1] : 0;
    std::vector<UsedBy> some = groups;
    for (UsedBy& group : some)
    {
        auto& whats = group.collectives;
        whats.erase(
            std::remove_if(whats.begin(),
                           whats.end(),
                           [least](const coll::Collective& what) { return what.bytes < least; }),
            whats.end());
    }
    const NetworkChoices network(cluster, fabric);
    std::optional<NetworkChoice> most;
    double times = kMuchSlower;
    for (const NetworkChoice& one : ChoicesByNetwork(network, options, cluster, some))
    {
        if (one.modelSeconds > times * one.best.seconds)
        {
            times = one.modelSeconds / one.best.seconds;
            most = one;
        }
    }
    if (!most)
    {
        return {};
    }
    return "--tuner=network: " + GainText(*most) + ", by formula";
}

} // namespace scenario
