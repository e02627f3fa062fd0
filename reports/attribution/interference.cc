/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "reports/attribution/interference.h"

#include "reports/base/human-text.h"

#include <algorithm>
#include <array>
#include <bitset>
#include <iterator>
#include <numeric>

namespace reports
{

namespace
{

/// Reasons in the sender that may be other jobs' doing: keys of ToJson. (Its own earlier messages,
/// and turns of its other queue pairs, are not.)
using Held = std::pair<const char*, TimeShare>; ///< key of ToJson
constexpr std::array<Held, 3> HELD = {{{"throttled_us", TimeShare::THROTTLED},
                                       {"window_us", TimeShare::WINDOW},
                                       {"nic_paused_us", TimeShare::NIC_PAUSED}}};

/// Time that an owner waited for a job, ps.
struct Waited
{
    std::string job;
    double ps;
};

/// A port where an owner waited, ps.
struct WaitedAt
{
    std::string link;
    double waited;
    double forOthers;
    std::string slowedBy;
};

/// A port that others' bytes passed.
struct Meeting
{
    std::string link;
    std::string job;
    double share;
};

/// Whom an owner met, ps.
struct MetTraffic
{
    double messages;
    double all;
    double forOthers;
    int64_t slot;
    TimeParts held;
    std::vector<Waited> waitedFor;
    std::vector<Waited> behind;
    std::vector<WaitedAt> links;
    std::optional<Meeting> shares;
    std::optional<std::pair<std::string, std::string>> sharesSwitch; ///< its name, the job
};

/// Time in the sender.
Key<MetTraffic>
HeldKey(std::size_t i)
{
    return {
        Words(HELD[i].first, "us", "Time of its messages " + GetTimeShareMeaning(HELD[i].second)),
        [i](const MetTraffic& met) {
            return static_cast<double>(met.held[At(HELD[i].second)]) * 1e-6;
        }};
}

const Object<MetTraffic>&
MetKeys()
{
    static const Object<Waited> waited{
        {"job: The job", &Waited::job},
        {"waited_us (us): Time waited for it", [](const auto& w) { return w.ps * 1e-6; }}};
    static const Object<WaitedAt> link{
        {"link: from->to", &WaitedAt::link},
        {"waited_us (us): Time waited there", [](const auto& w) { return w.waited * 1e-6; }},
        {"waited_for_others_us (us): Of it: others' part",
         [](const auto& w) { return w.forOthers * 1e-6; }},
        {"slowed_by: The other job with most bytes there", &WaitedAt::slowedBy},
        {"share_of_bytes_of_others (0 to 1): Others' share of the bytes there",
         [](const auto& w) { return w.forOthers / w.waited; }}};
    static const Object<Meeting> meeting{
        {"link: from->to", &Meeting::link},
        {"job: The other job with most bytes there", &Meeting::job},
        {"share_of_bytes_of_others (0 to 1): Others' share of the bytes that passed there",
         &Meeting::share}};
    static const Object<std::pair<std::string, std::string>> atSwitch{
        {"switch: Name of the switch", [](const auto& s) { return s.first; }},
        {"job: The other job with most bytes there", [](const auto& s) { return s.second; }}};
    static const Object<MetTraffic> keys(
        "Interference",
        {{"messages_us (us): Time of its messages from post to end, sum",
          [](const auto& m) { return m.messages * 1e-6; }},
         {"waited_us (us): Of it in switches, queued or at paused ports",
          [](const auto& m) { return m.all * 1e-6; }},
         {"waited_for_others_us (us): Of that: others' part, by their share of the bytes at each "
          "port",
          [](const auto& m) { return m.forOthers * 1e-6; }},
         {"named_from_share (0 to 1): Least share of messages_us in waited_for_others_us at which "
          "text names another job",
          [](const auto&) { return Interference::NAMED_FROM_SHARE; }},
         {"slot_us (us): What happens within one such slot counts as at one time",
          [](const auto& m) { return static_cast<double>(m.slot) * 1e-6; }},
         HeldKey(0),
         HeldKey(1),
         HeldKey(2),
         {"waited_for: waited_us by job", &MetTraffic::waitedFor, waited},
         {"behind: Time queued, by the job of the packet right in front: a sample of one packet a "
          "message",
          &MetTraffic::behind,
          waited},
         {"links: Links where it waited longest for others", &MetTraffic::links, link},
         {"shares: The link of its own messages that most bytes of others pass; null: none",
          &MetTraffic::shares,
          meeting},
         {"shares_switch: If it shares no link: the switch that most bytes of others pass at the "
          "same time; null: none",
          &MetTraffic::sharesSwitch,
          atSwitch}});
    return keys;
}

} // namespace

void
Interference::AddOwner(const std::string& name)
{
    m_owners.emplace_back().name = name;
}

void
Interference::Add(const FlowRecord& record,
                  const MessageParts& parts,
                  uint32_t owner,
                  const std::function<uint32_t(uint32_t tag)>& ownerOf,
                  uint32_t ordinary)
{
    Owner& mine = m_owners[owner];
    mine.time += record.end - record.start;
    for (std::size_t i = 0; i < TIME_SHARES; ++i)
    {
        mine.held[i] += parts.parts[i];
    }
    AddPassing({record.start, record.end, record.bytes}, parts, owner, true);
    int64_t left = record.end; // when the last packet came to the next one; from behind
    for (std::size_t i = parts.hops.size(); i-- > 1;) // not at the sender's own NIC
    {
        const MessageParts::Hop& hop = parts.hops[i];
        const int64_t came = left - hop.time;
        Port& port = mine.ports[hop.port];
        const int64_t waited = std::max<int64_t>(0, hop.waited);
        const int64_t queued = std::max<int64_t>(0, hop.waited - hop.paused);
        port.waited += waited;
        Spread(port, came, left, waited, &Slot::waited);
        if (queued > 0 &&
            (hop.behind.ordinary || (hop.behind.known && hop.behind.tag != UINT32_MAX)))
        {
            const uint32_t other = hop.behind.ordinary ? ordinary : ownerOf(hop.behind.tag);
            port.behind.resize(std::max<std::size_t>(port.behind.size(), other + 1), 0);
            port.behind[other] += queued;
        }
        left = came;
    }
}

void
Interference::AddUnmeasured(const Passing& message, const MessageParts& parts, uint32_t owner)
{
    AddPassing(message, parts, owner, false);
}

void
Interference::AddPassing(const Passing& message,
                         const MessageParts& parts,
                         uint32_t owner,
                         bool measured)
{
    Widen(message.end);
    const int64_t begin = message.start + parts.parts[At(TimeShare::BACKLOG)];
    int64_t left = message.end;
    for (std::size_t i = parts.hops.size(); i-- > 0;)
    {
        const MessageParts::Hop& hop = parts.hops[i];
        Port& port = m_owners[owner].ports[hop.port];
        port.isNic = i == 0;
        Spread(port, std::min(begin, left), left, message.bytes, &Slot::bytes);
        if (measured)
        {
            Spread(port, std::min(begin, left), left, message.bytes, &Slot::measured);
        }
        left -= hop.time;
    }
}

Interference::Slot&
Interference::SlotOf(Port& port, int64_t number)
{
    auto at = port.slots.end();
    while (at != port.slots.begin() && std::prev(at)->number >= number)
    {
        --at; // messages end about in order
    }
    if (at == port.slots.end() || at->number != number)
    {
        at = port.slots.insert(at, {number, 0, 0, 0});
    }
    return *at;
}

template <typename Amount>
void
Interference::Spread(Port& port, int64_t begin, int64_t end, Amount amount, Amount Slot::*of)
{
    if (amount == 0)
    {
        return;
    }
    begin = std::max<int64_t>(0, begin - m_begin);
    end = std::max(begin, end - m_begin);
    const int64_t last = end >> m_shift;
    Amount before = 0; // amount in earlier slots
    for (int64_t number = begin >> m_shift; number <= last; ++number)
    {
        const int64_t until = std::min(end, (number + 1) << m_shift) - begin;
        const Amount so = number == last ? amount
                                         : static_cast<Amount>(static_cast<double>(amount) *
                                                               static_cast<double>(until) /
                                                               static_cast<double>(end - begin));
        if (so > before)
        {
            SlotOf(port, number).*of += so - before;
            before = so;
        }
    }
}

void
Interference::Widen(int64_t until)
{
    uint32_t by = 0;
    while ((until - m_begin) >> (m_shift + by) >= SLOTS)
    {
        ++by;
    }
    if (by == 0)
    {
        return;
    }
    m_shift += by;
    const auto widen = [by](Port& port) {
        std::size_t kept = 0;
        for (const Slot& slot : port.slots)
        {
            const int64_t wide = slot.number >> by;
            if (kept > 0 && port.slots[kept - 1].number == wide)
            {
                port.slots[kept - 1].bytes += slot.bytes;
                port.slots[kept - 1].measured += slot.measured;
                port.slots[kept - 1].waited += slot.waited;
            }
            else
            {
                port.slots[kept++] = {wide, slot.bytes, slot.measured, slot.waited};
            }
        }
        port.slots.resize(kept);
    };
    widen(m_ordinary);
    for (Owner& owner : m_owners)
    {
        for (auto& [number, port] : owner.ports)
        {
            widen(port);
        }
    }
}

void
Interference::Clear(int64_t now)
{
    for (Owner& owner : m_owners)
    {
        owner.ports.clear();
        owner.time = 0;
        owner.held = {};
    }
    m_ordinary.slots.clear();
    m_begin = now;
    m_shift = LEAST_SHIFT;
}

void
Interference::AddOrdinary(int64_t begin, int64_t end, uint64_t bytes)
{
    Widen(end);
    Spread(m_ordinary, begin, end, bytes, &Slot::bytes);
}

void
Interference::SetOrdinary(uint32_t owner, const std::vector<uint64_t>& bytes, int64_t now)
{
    Widen(now);
    double all = 0;
    for (const Slot& slot : m_ordinary.slots)
    {
        all += static_cast<double>(slot.bytes);
    }
    for (uint32_t number = 0; number < bytes.size(); ++number)
    {
        if (bytes[number] == 0)
        {
            continue;
        }
        Port& port = m_owners[owner].ports[number];
        if (all == 0)
        {
            Spread(port, m_begin, now, bytes[number], &Slot::bytes);
        }
        for (const Slot& slot : m_ordinary.slots)
        {
            const double share = static_cast<double>(slot.bytes) / all;
            SlotOf(port, slot.number).bytes +=
                static_cast<uint64_t>(share * static_cast<double>(bytes[number]));
        }
    }
}

const std::string&
Interference::NameOf(uint32_t owner, const std::string& nameless) const
{
    return owner == 0 ? nameless : m_owners[owner].name;
}

Interference::Shares
Interference::SharesAt(uint32_t owner, uint32_t port) const
{
    const std::vector<Slot>& mine = m_owners[owner].ports.at(port).slots;
    // Bytes by owner and slot of its own; by owner, of slots in which it has measured bytes itself.
    std::vector<std::vector<double>> bytes(m_owners.size(), std::vector<double>(mine.size(), 0));
    std::vector<double> beside(m_owners.size(), 0);
    for (uint32_t other = 0; other < m_owners.size(); ++other)
    {
        const auto found = m_owners[other].ports.find(port);
        if (found == m_owners[other].ports.end())
        {
            continue;
        }
        std::size_t i = 0;
        for (const Slot& slot : found->second.slots)
        {
            while (i < mine.size() && mine[i].number < slot.number)
            {
                ++i;
            }
            if (i < mine.size() && mine[i].number == slot.number)
            {
                bytes[other][i] = static_cast<double>(slot.bytes);
                beside[other] += mine[i].measured > 0 ? bytes[other][i] : 0;
            }
        }
    }
    Shares shares;
    shares.waitedFor.resize(m_owners.size(), 0);
    for (std::size_t i = 0; i < mine.size(); ++i)
    {
        double all = 0;
        for (const auto& of : bytes)
        {
            all += of[i];
        }
        const auto waited = static_cast<double>(mine[i].waited);
        for (uint32_t other = 0; other < m_owners.size(); ++other)
        {
            // Where no bytes are known to have passed, it waited for itself.
            const double share = all > 0 ? bytes[other][i] / all : other == owner;
            shares.waitedFor[other] += waited * share;
        }
    }
    shares.most = owner;
    for (uint32_t other = 0; other < m_owners.size(); ++other)
    {
        shares.passed += beside[other];
        if (other != owner && beside[other] > 0)
        {
            shares.others += beside[other];
            const bool more = shares.most == owner || beside[other] > beside[shares.most];
            shares.most = more ? other : shares.most;
        }
    }
    return shares;
}

std::optional<std::pair<std::string, std::string>>
Interference::SharedSwitch(uint32_t owner, const std::string& nameless) const
{
    const auto nodeOf = [this](uint32_t port) {
        return m_ports[port].substr(0, m_ports[port].find("->"));
    };
    std::map<std::string, std::bitset<SLOTS>> mine; // by switch, where measured bytes passed
    for (const auto& [number, port] : m_owners[owner].ports)
    {
        for (const Slot& slot : port.slots)
        {
            if (!port.isNic && slot.measured > 0)
            {
                mine[nodeOf(number)].set(static_cast<std::size_t>(slot.number));
            }
        }
    }
    std::map<std::pair<std::string, uint32_t>, uint64_t> beside; // bytes, by owner
    for (uint32_t other = 0; other < m_owners.size(); ++other)
    {
        for (const auto& [number, port] : m_owners[other].ports)
        {
            const auto found = other == owner ? mine.end() : mine.find(nodeOf(number));
            for (const Slot& slot : port.slots)
            {
                if (found != mine.end() && slot.bytes > 0 &&
                    found->second.test(static_cast<std::size_t>(slot.number)))
                {
                    beside[{found->first, other}] += slot.bytes;
                }
            }
        }
    }
    const auto most =
        std::max_element(beside.begin(), beside.end(), [](const auto& a, const auto& b) {
            return a.second < b.second;
        });
    if (most == beside.end())
    {
        return std::nullopt;
    }
    return std::make_pair(most->first.first, NameOf(most->first.second, nameless));
}

const Shape&
Interference::Words()
{
    return MetKeys();
}

nlohmann::ordered_json
Interference::ToJson(uint32_t owner, const std::string& nameless, std::size_t mostLinks) const
{
    struct Link
    {
        uint32_t port;
        double waited;    // ps
        double forOthers; // ps
        uint32_t most;    // the other owner with the largest part
    };

    const Owner& mine = m_owners[owner];
    std::vector<double> waitedFor(m_owners.size(), 0); // ps
    std::vector<int64_t> behind(m_owners.size(), 0);   // ps
    std::vector<Link> links;
    Shares best; // the port where most bytes of others passed beside its own
    uint32_t at = 0;
    for (const auto& [port, of] : mine.ports)
    {
        const Shares here = SharesAt(owner, port);
        double forOthers = 0;
        uint32_t most = owner;
        for (uint32_t other = 0; other < m_owners.size(); ++other)
        {
            const double waited = here.waitedFor[other];
            waitedFor[other] += waited;
            behind[other] += other < of.behind.size() ? of.behind[other] : 0;
            if (other != owner && waited > 0)
            {
                forOthers += waited;
                most = most == owner || waited > here.waitedFor[most] ? other : most;
            }
        }
        if (forOthers > 0)
        {
            links.push_back({port, static_cast<double>(of.waited), forOthers, most});
        }
        if (here.others > best.others)
        {
            best = here;
            at = port;
        }
    }
    std::sort(links.begin(), links.end(), [](const Link& a, const Link& b) {
        return a.forOthers != b.forOthers ? a.forOthers > b.forOthers : a.port < b.port;
    });
    links.resize(std::min(links.size(), mostLinks));

    MetTraffic met;
    met.all = std::accumulate(waitedFor.begin(), waitedFor.end(), 0.0);
    met.messages = static_cast<double>(mine.time);
    met.forOthers = met.all - waitedFor[owner];
    met.slot = int64_t{1} << m_shift;
    met.held = mine.held;
    for (uint32_t other = 0; other < m_owners.size(); ++other)
    {
        if (waitedFor[other] > 0)
        {
            met.waitedFor.push_back({NameOf(other, nameless), waitedFor[other]});
        }
        if (behind[other] > 0)
        {
            met.behind.push_back({NameOf(other, nameless), static_cast<double>(behind[other])});
        }
    }
    for (const Link& link : links)
    {
        met.links.push_back(
            {m_ports[link.port], link.waited, link.forOthers, NameOf(link.most, nameless)});
    }
    if (best.others > 0)
    {
        met.shares = Meeting{m_ports[at], NameOf(best.most, nameless), best.others / best.passed};
    }
    else
    {
        met.sharesSwitch = SharedSwitch(owner, nameless);
    }
    return MetKeys().ToJson(met);
}

std::string
WaitedLongest(const nlohmann::ordered_json& interference,
              const rdma::LinkWords& link,
              bool hasBuffer)
{
    if (interference.is_null() || interference["messages_us"].get<double>() <= 0)
    {
        return "-"; // no message has arrived, or nothing was noted
    }
    const auto at = [](const nlohmann::ordered_json& where, const char* who) {
        return where[who].get<std::string>() + " at " + where["link"].get<std::string>() +
               Format(" (%.0f%% of the bytes there are others')",
                      100 * where["share_of_bytes_of_others"].get<double>());
    };
    const auto all = interference["messages_us"].get<double>();
    const auto share = interference["named_from_share"].get<double>();
    const auto forOthers = interference["waited_for_others_us"].get<double>();
    const bool waited = !interference["links"].empty();
    const bool named = waited && forOthers >= share * all;
    const auto held = std::max_element(HELD.begin(), HELD.end(), [&](const Held& a, const Held& b) {
        return interference[a.first].get<double>() < interference[b.first].get<double>();
    });
    const auto heldUs = interference[held->first].get<double>();
    std::string text;
    if (heldUs >= share * all && !(named && forOthers >= heldUs))
    {
        text = Format("%.0f%% ", 100 * heldUs / all) + GetTimeShareWords(held->second, link) + "; ";
    }
    if (named)
    {
        return text + "for " + at(interference["links"][0], "slowed_by");
    }
    if (text.empty())
    {
        text = waited ? Format("for others below %g%% of its messages' time, ", 100 * share)
                      : "for nobody, ";
    }
    const nlohmann::ordered_json& shares = interference["shares"];
    if (!shares.is_null())
    {
        return text + "meets " + at(shares, "job");
    }
    const nlohmann::ordered_json& node = interference["shares_switch"];
    if (node.is_null())
    {
        return text + "shares no link with others' data at its measured time";
    }
    return text + (hasBuffer ? "shares the buffer of " : "shares the switch ") +
           node["switch"].get<std::string>() + " with " + node["job"].get<std::string>();
}

} // namespace reports
