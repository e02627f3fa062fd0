/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "topologies/scale-up/scale-up-model.h"

#include <algorithm>

namespace topo
{

bool
ScaleUpModel::Crosses(uint32_t fromGpu, uint32_t toGpu) const
{
    return m_island != 0 && fromGpu / m_island != toGpu / m_island;
}

uint8_t
ScaleUpModel::WayOf(uint64_t bytes, uint8_t first) const
{
    // LL: latency + 2 D; Simple: bulk latency + D. Where there is one latency, both are alike.
    const Way& small = m_ways[first + kSmall];
    const Way& bulk = m_ways[first + kBulk];
    const int64_t more = std::max<int64_t>(0, bulk.latency - small.latency);
    return static_cast<uint8_t>(
        first + (small.psPerByte != bulk.psPerByte && static_cast<Work>(bytes) * bulk.psPerByte >
                                                          static_cast<Work>(more) << kFractionBits
                     ? kBulk
                     : kSmall));
}

uint8_t
ScaleUpModel::WayOf(uint64_t bytes, uint64_t parts, uint8_t how, uint8_t first) const
{
    return how ? static_cast<uint8_t>(first + how + 1) : WayOf(bytes * parts, first);
}

ScaleUpModel::Work
ScaleUpModel::WorkOf(uint64_t bytes, uint8_t how) const
{
    return static_cast<Work>(bytes) * m_ways[how].psPerByte;
}

ScaleUpModel::Work
ScaleUpModel::WorkOf(const Message& message) const
{
    return WorkOf(message.bytes, message.how);
}

int64_t
ScaleUpModel::LatencyOf(const Message& message) const
{
    return m_ways[message.how].latency;
}

namespace
{

/// The ratio of a rate to the rate at which a byte takes psPerByte, at most 1.
uint64_t
MostShare(uint64_t psPerByte, rdma::BitRate rate, int fractionBits)
{
    const uint64_t full = uint64_t{1} << fractionBits;
    // bps / 8e12 bytes a ps, times ps a byte, which has the fraction.
    const unsigned __int128 share =
        static_cast<unsigned __int128>(psPerByte) * rate.bps / 8000000000000ULL;
    return share >= full ? full : std::max<uint64_t>(1, static_cast<uint64_t>(share));
}

} // namespace

rdma::Duration
ScaleUpModel::IdleTime(rdma::Bytes bytes) const
{
    const uint8_t how = WayOf(bytes.value, 0);
    return rdma::Duration(m_ways[how].latency + Rounded(WorkOf(bytes.value, how)));
}

uint32_t
ScaleUpModel::PairOf(uint32_t from, uint32_t to)
{
    const std::size_t gpus = m_switch;
    const bool isToSwitch = to >= m_switch;
    const bool isFromSwitch = from >= m_switch;
    std::vector<uint32_t>& pairs = isToSwitch || isFromSwitch ? m_switchPairOf : m_pairOf;
    if (pairs.empty())
    {
        pairs.assign(isToSwitch || isFromSwitch ? 4 * gpus * gpus : gpus * gpus, kNone);
    }
    const std::size_t at = isToSwitch     ? (from * 2 * gpus + (to - gpus)) * 2
                           : isFromSwitch ? (to * 2 * gpus + (from - gpus)) * 2 + 1
                                          : from * gpus + to;
    uint32_t& number = pairs[at];
    if (number == kNone)
    {
        number = static_cast<uint32_t>(m_pairs.size());
        const bool crosses = Crosses(from, to);
        Pair& pair = m_pairs.emplace_back();
        m_placeOf.push_back(kNone);
        pair.from = static_cast<uint16_t>(from + (crosses ? 3 * m_switch : 0));
        pair.to = static_cast<uint16_t>(to + (crosses ? 3 * m_switch : 0));
        pair.bridged = m_bridgeShare != 0 && (m_island == 0 || crosses);
    }
    return number;
}

uint32_t
ScaleUpModel::MakeMessage(uint64_t bytes, uint64_t cookie, uint8_t way)
{
    uint32_t number = m_freeMessage;
    if (number == kNone)
    {
        number = static_cast<uint32_t>(m_messages.size());
        m_messages.emplace_back();
    }
    else
    {
        m_freeMessage = m_messages[number].next;
    }
    ++m_underWay;
    Message& message = m_messages[number]; // part by part, as in Fly
    message.cookie = cookie;
    message.bytes = bytes;
    message.arrival = kNeverPs;
    message.pair = kNone;
    message.next = kNone;
    message.most = kFull;
    message.how = way;
    message.order = m_posts++;
    return number;
}

void
ScaleUpModel::FreeMessage(uint32_t number)
{
    m_messages[number].arrival = kNeverPs;
    m_messages[number].next = m_freeMessage;
    m_freeMessage = number;
    --m_underWay;
}

void
ScaleUpModel::Post(uint32_t fromGpu,
                   uint32_t toGpu,
                   rdma::Bytes bytes,
                   rdma::TimePoint now,
                   uint64_t cookie,
                   uint64_t parts,
                   uint8_t how,
                   rdma::BitRate most)
{
    Advance(now.ps);
    const uint8_t first = Crosses(fromGpu, toGpu) ? kWays : 0;
    const uint32_t number = MakeMessage(bytes.value, cookie, WayOf(bytes.value, parts, how, first));
    Message& message = m_messages[number];
    if (fromGpu == toGpu)
    {
        Fly(number, now.ps);
        return;
    }
    if (most.bps != 0)
    {
        message.most = MostShare(m_ways[message.how].psPerByte, most, kFractionBits);
    }
    m_bytes += bytes;
    const uint32_t pairNumber = PairOf(fromGpu, toGpu);
    Pair& pair = m_pairs[pairNumber];
    // A pair that was alone on these ports may be done.
    if (PairsAt(pair.from, m_ports[pair.from].egress) == 1)
    {
        CatchUp(m_ports[pair.from].egress.sum, now.ps);
    }
    if (PairsAt(pair.to, m_ports[pair.to].ingress) == 1)
    {
        CatchUp(m_ports[pair.to].ingress.sum, now.ps);
    }
    if (m_bridgeShare != 0 && m_active.size() == 1)
    {
        CatchUp(m_active[0], now.ps);
    }
    message.pair = pairNumber;
    if (pair.head != kNone)
    {
        m_messages[pair.tail].next = number;
        pair.tail = number;
        return;
    }
    if (bytes.value == 0)
    {
        pair.lastArrival = std::max(pair.lastArrival, now.ps + LatencyOf(message));
        Fly(number, pair.lastArrival);
        return;
    }
    pair.head = pair.tail = number;
    Activate(pairNumber, now.ps);
}

uint32_t
ScaleUpModel::PairsAt(uint32_t port, const Side& side) const
{
    return IsSwitch(port) ? 0 : side.pairs;
}

bool
ScaleUpModel::SharesPorts(const Pair& pair) const
{
    return PairsAt(pair.from, m_ports[pair.from].egress) > 1 ||
           PairsAt(pair.to, m_ports[pair.to].ingress) > 1 || (pair.bridged && m_active.size() > 1);
}

void
ScaleUpModel::Activate(uint32_t number, int64_t now)
{
    Pair& pair = m_pairs[number];
    Side& egress = m_ports[pair.from].egress;
    Side& ingress = m_ports[pair.to].ingress;
    // Pairs that were alone on these ports are so no longer.
    if (PairsAt(pair.from, egress) == 1)
    {
        Share(egress.sum, now);
    }
    if (PairsAt(pair.to, ingress) == 1)
    {
        Share(ingress.sum, now);
    }
    if (m_bridgeShare != 0 && m_active.size() == 1)
    {
        Share(m_active[0], now);
    }
    Join(number);
    pair.since = now;
    pair.left = WorkOf(m_messages[pair.head]);
    if (!SharesPorts(pair))
    {
        StartAlone(number, now);
        return;
    }
    pair.alone = false;
    pair.share = 0;
    pair.finish = kNeverPs;
    m_shareOutAt = now;
}

void
ScaleUpModel::Join(uint32_t number)
{
    const Pair& pair = m_pairs[number];
    Side& egress = m_ports[pair.from].egress;
    Side& ingress = m_ports[pair.to].ingress;
    ++egress.pairs;
    egress.sum ^= number;
    ++ingress.pairs;
    ingress.sum ^= number;
    m_placeOf[number] = static_cast<uint32_t>(m_active.size());
    m_active.push_back(number);
}

void
ScaleUpModel::Deactivate(uint32_t number)
{
    Pair& pair = m_pairs[number];
    Side& egress = m_ports[pair.from].egress;
    Side& ingress = m_ports[pair.to].ingress;
    --egress.pairs;
    egress.sum ^= number;
    --ingress.pairs;
    ingress.sum ^= number;
    const uint32_t last = m_active.back();
    const uint32_t place = m_placeOf[number];
    m_active[place] = last;
    m_placeOf[last] = place;
    m_active.pop_back();
    pair.finish = kNeverPs;
}

void
ScaleUpModel::StartAlone(uint32_t number, int64_t at)
{
    Pair& pair = m_pairs[number];
    pair.alone = true;
    pair.share = m_messages[pair.head].most;
    pair.since = at;
    pair.finish = at + (pair.share == kFull
                            ? Rounded(pair.left)
                            : static_cast<int64_t>((pair.left + pair.share - 1) / pair.share));
    // Known now, so nothing wakes up when it leaves.
    Fly(pair.head, std::max(pair.lastArrival, pair.finish + LatencyOf(m_messages[pair.head])));
}

void
ScaleUpModel::CatchUp(uint32_t number, int64_t now)
{
    while (m_pairs[number].alone && m_pairs[number].finish <= now)
    {
        Pair& pair = m_pairs[number];
        const int64_t finish = pair.finish;
        pair.lastArrival = m_messages[pair.head].arrival;
        pair.head = m_messages[pair.head].next;
        if (pair.head == kNone)
        {
            pair.alone = false;
            Deactivate(number);
            return;
        }
        pair.left = WorkOf(m_messages[pair.head]);
        StartAlone(number, finish);
    }
}

void
ScaleUpModel::Share(uint32_t number, int64_t now)
{
    Pair& pair = m_pairs[number];
    if (!pair.alone)
    {
        return;
    }
    const Work done = static_cast<Work>(now - pair.since) * pair.share;
    pair.left = pair.left > done ? pair.left - done : 0;
    pair.since = now;
    pair.alone = false;
    pair.share = 0;
    pair.finish = kNeverPs;
    m_messages[pair.head].arrival = kNeverPs; // recalled
    m_shareOutAt = now;
}

void
ScaleUpModel::Fly(uint32_t message, int64_t at)
{
    Message& flying = m_messages[message];
    flying.arrival = at;
    // Up the heap, and written where it stays: one that is put together elsewhere, and read at once
    // in other pieces, keeps the processor waiting.
    m_arrivals.emplace_back();
    Arrival* heap = m_arrivals.data();
    std::size_t place = m_arrivals.size() - 1;
    while (place > 0)
    {
        const std::size_t parent = (place - 1) / 2;
        if (at > heap[parent].time ||
            (at == heap[parent].time && flying.order > heap[parent].order))
        {
            break;
        }
        heap[place].Set(heap[parent]);
        place = parent;
    }
    heap[place].time = at;
    heap[place].order = flying.order;
    heap[place].message = message;
    heap[place].cookie = static_cast<uint32_t>(flying.cookie);
}

void
ScaleUpModel::Leave(Pair& pair, int64_t at)
{
    const uint32_t message = pair.head;
    pair.lastArrival = std::max(pair.lastArrival, at + LatencyOf(m_messages[message]));
    pair.head = m_messages[message].next;
    Fly(message, pair.lastArrival);
}

void
ScaleUpModel::Advance(int64_t now)
{
    while (true)
    {
        if (m_nextFinish <= now && m_nextFinish <= m_shareOutAt)
        {
            FinishShared(m_nextFinish);
        }
        // A moment is over once time goes on: rates are shared out once for all its posts.
        else if (m_shareOutAt < now)
        {
            ShareOut(m_shareOutAt);
        }
        else
        {
            return;
        }
    }
}

void
ScaleUpModel::FinishShared(int64_t at)
{
    m_nextFinish = kNeverPs;
    // From the end: a removed pair changes places with the last one, which has been looked at.
    for (std::size_t i = m_active.size(); i-- > 0;)
    {
        const uint32_t number = m_active[i];
        Pair& pair = m_pairs[number];
        if (pair.alone)
        {
            continue;
        }
        while (pair.finish <= at)
        {
            const uint64_t most = m_messages[pair.head].most;
            Leave(pair, at);
            if (pair.head == kNone)
            {
                Deactivate(number);
                m_shareOutAt = at;
                break;
            }
            pair.since = at;
            pair.left = WorkOf(m_messages[pair.head]);
            if (m_messages[pair.head].most != most)
            {
                pair.finish = kNeverPs;
                m_shareOutAt = at;
                break;
            }
            pair.finish = at + static_cast<int64_t>((pair.left + pair.share - 1) / pair.share);
        }
        m_nextFinish = std::min(m_nextFinish, pair.finish);
    }
}

void
ScaleUpModel::ShareOut(int64_t at)
{
    m_shareOutAt = kNeverPs;
    m_nextFinish = kNeverPs;
    m_unshared.clear();
    for (const uint32_t number : m_active)
    {
        Pair& pair = m_pairs[number];
        if (pair.alone)
        {
            continue;
        }
        const Work done = static_cast<Work>(at - pair.since) * pair.share;
        pair.left = pair.left > done ? pair.left - done : 0;
        pair.since = at;
        if (!SharesPorts(pair))
        {
            StartAlone(number, at);
            continue;
        }
        m_unshared.push_back(number);
    }
    if (m_unshared.empty())
    {
        return;
    }
    FindShares();
    for (const uint32_t number : m_active)
    {
        Pair& pair = m_pairs[number];
        if (!pair.alone)
        {
            pair.finish = at + static_cast<int64_t>((pair.left + pair.share - 1) / pair.share);
            m_nextFinish = std::min(m_nextFinish, pair.finish);
        }
    }
}

void
ScaleUpModel::FindShares()
{
    const auto ports = static_cast<uint32_t>(m_ports.size());
    const uint32_t bridge = 2 * ports;
    const auto forPorts = [&](const Pair& pair, auto&& what) {
        if (!IsSwitch(pair.from))
        {
            what(pair.from);
        }
        if (!IsSwitch(pair.to))
        {
            what(ports + pair.to);
        }
        if (pair.bridged)
        {
            what(bridge);
        }
    };
    m_free.assign(bridge + 1, kFull);
    m_free[bridge] = m_bridgeShare;
    m_waiting.assign(bridge + 1, 0);
    for (const uint32_t number : m_unshared)
    {
        forPorts(m_pairs[number], [&](uint32_t port) { ++m_waiting[port]; });
    }
    while (!m_unshared.empty())
    {
        uint64_t least = kFull;
        for (uint32_t port = 0; port <= bridge; ++port)
        {
            if (m_waiting[port] != 0)
            {
                least = std::min(least, m_free[port] / m_waiting[port]);
            }
        }
        for (const uint32_t number : m_unshared)
        {
            least = std::min(least, m_messages[m_pairs[number].head].most);
        }
        // A pair with a port that gives no more gets that share. First all of them are found, as
        // taking it changes the ports' shares.
        auto rest = std::partition(m_unshared.begin(), m_unshared.end(), [&](uint32_t number) {
            bool found = m_messages[m_pairs[number].head].most <= least;
            forPorts(m_pairs[number], [&](uint32_t port) {
                found = found || m_free[port] / m_waiting[port] <= least;
            });
            return !found;
        });
        for (auto it = rest; it != m_unshared.end(); ++it)
        {
            Pair& pair = m_pairs[*it];
            pair.share = least;
            forPorts(pair, [&](uint32_t port) {
                m_free[port] -= least;
                --m_waiting[port];
            });
        }
        m_unshared.erase(rest, m_unshared.end());
    }
}

void
ScaleUpModel::DropRecalled()
{
    while (!m_arrivals.empty())
    {
        const Arrival& first = m_arrivals.front();
        const Message& message = m_messages[first.message];
        if (message.order == first.order && message.arrival == first.time)
        {
            return;
        }
        std::pop_heap(m_arrivals.begin(), m_arrivals.end());
        m_arrivals.pop_back();
    }
}

rdma::TimePoint
ScaleUpModel::NextWake()
{
    DropRecalled();
    const int64_t arrival = m_arrivals.empty() ? kNeverPs : m_arrivals.front().time;
    return rdma::TimePoint(std::min({arrival, m_nextFinish, m_shareOutAt}));
}

bool
ScaleUpModel::Arrived(rdma::TimePoint now, uint64_t& cookie)
{
    Advance(now.ps);
    DropRecalled();
    while (m_arrivals.empty() || m_arrivals.front().time > now.ps)
    {
        if (m_shareOutAt > now.ps)
        {
            return false;
        }
        // After all that has arrived has been told, and has been answered by posts.
        ShareOut(m_shareOutAt);
        Advance(now.ps);
        DropRecalled();
    }
    const uint32_t number = m_arrivals.front().message;
    std::pop_heap(m_arrivals.begin(), m_arrivals.end());
    m_arrivals.pop_back();
    Message& message = m_messages[number];
    cookie = message.cookie;
    if (message.pair != kNone && m_pairs[message.pair].head == number)
    {
        CatchUp(message.pair, now.ps); // it was alone, and left a latency ago
    }
    FreeMessage(number);
    return true;
}

} // namespace topo
