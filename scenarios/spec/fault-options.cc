/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/spec/fault-options.h"

#include "contrib/rdma/core/nearest-name.h"
#include "contrib/rdma/core/port-selector.h"
#include "contrib/rdma/core/shown-text.h"
#include "contrib/rdma/core/unit-strings.h"
#include "scenarios/spec/capture-options.h"
#include "scenarios/spec/recovery-options.h"
#include "scenarios/spec/scenario.h"
#include "scenarios/training/speed-profile.h"
#include "topologies/limits.h"
#include "topologies/names.h"

#include <algorithm>
#include <charconv>
#include <functional>
#include <map>
#include <optional>
#include <set>

namespace scenario
{

namespace
{

/// What a place may be named by.
enum Place : uint8_t
{
    kCables = 1, ///< a link a-b, the cable at a port, all
    kOneWay = 2, ///< and a->b, a direction
    kPorts = 4,  ///< a port
    kHosts = 8,  ///< a host, all its NICs
    kSwitches = 16,
    kGpus = 32,
};

/// One thing that can go wrong: all that is known of it.
struct Known
{
    const char* name;
    FaultKind kind;
    uint8_t places;
    const char* keys; ///< beside at and on; with '!' those that have to be there
    const char* toAllowed;
    const char* help;
};

constexpr Known kKnown[] = {
    {"link-down", FaultKind::kLinkDown, kCables, "for", "", "a cable is cut"},
    {"port-down",
     FaultKind::kPortDown,
     kPorts,
     "for",
     "",
     "a port is dead: its own switch knows at once, the other one as of a cut cable"},
    {"switch-down",
     FaultKind::kSwitchDown,
     kSwitches,
     "for",
     "",
     "a switch is dead, all its ports"},
    {"nic-down", FaultKind::kNicDown, kHosts | kPorts, "for", "", "all NICs of a host, or one"},
    {"flap",
     FaultKind::kFlap,
     kCables,
     "for! period! duty",
     "",
     "a cable is cut and whole in turn: every period=, for the share duty= of it (0.5)"},
    {"rate",
     FaultKind::kRate,
     kCables,
     "for to!",
     "a rate such as 50Gbps, at least 1Mbps and at most that of the link",
     "a link is slower, both ways: to=50Gbps"},
    {"lane-down",
     FaultKind::kLaneDown,
     kCables,
     "for to!",
     "1, 2 or 3, the lanes of 4 that are left",
     "of the four lanes of a link to=1, 2 or 3 are left, which are so much slower"},
    {"ber",
     FaultKind::kBitErrors,
     kCables | kOneWay,
     "for to!",
     "a number above 0, at most 0.001",
     "a link has bit errors: to=1e-9 of them"},
    {"drop",
     FaultKind::kDrop,
     kCables | kOneWay,
     "for to!",
     "a number above 0, at most 1",
     "frames that have come are dropped without a word: to=0.01 of them"},
    {"pause-storm",
     FaultKind::kPauseStorm,
     kPorts | kHosts,
     "for!",
     "",
     "a port (or a host's) pauses its peer all the time"},
    {"gpu-slow",
     FaultKind::kGpuSlow,
     kGpus,
     "for to!",
     "a number from 1 to 1000",
     "a GPU computes to=2 times as long"},
    {"gpu-stop", FaultKind::kGpuStop, kGpus, "for", "", "a GPU computes and sends nothing"},
};

/// Slower ones would make frames as long as time-outs.
constexpr rdma::BitRate kSlowest{1000000};
constexpr double kMostCycles = 1e6; ///< of one flapping link

const std::vector<std::string>&
Keys()
{
    static const std::vector<std::string> keys =
        {"what", "at", "on", "for", "to", "period", "duty"};
    return keys;
}

const Known*
Find(const std::string& name)
{
    for (const Known& known : kKnown)
    {
        if (topo::SameName(name, known.name))
        {
            return &known;
        }
    }
    return nullptr;
}

/// Whether a list of words has this one, with or without '!'.
bool
Has(const std::string& words, const std::string& key)
{
    return (" " + words + " ").find(" " + key + " ") != std::string::npos ||
           (" " + words + " ").find(" " + key + "! ") != std::string::npos;
}

bool
Needs(const std::string& words, const std::string& key)
{
    return (" " + words + " ").find(" " + key + "! ") != std::string::npos;
}

/// "all of a port", as errors say it.
std::string
PlacesText(uint8_t places)
{
    std::vector<std::string> words;
    const auto add = [&](uint8_t place, const char* word) {
        if (places & place)
        {
            words.emplace_back(word);
        }
    };
    add(kCables, "a link (a-b), the one at a port (a:2), all");
    add(kOneWay, "one direction (a->b)");
    add(kPorts, "a port (a:2)");
    add(kHosts, "a host");
    add(kSwitches, "a switch");
    add(kGpus, "a GPU (gpu-3, server-0:gpu-3)");
    return topo::JoinNames(words);
}

std::optional<double>
ParseReal(const std::string& text)
{
    double value = 0;
    const char* end = text.data() + text.size();
    const auto [p, bad] = std::from_chars(text.data(), end, value);
    return bad != std::errc() || p != end || !(value - value == 0) ? std::nullopt
                                                                   : std::optional(value);
}

/// Makes faults of the entries of --fault, one by one.
class Reader
{
  public:
    explicit Reader(Validation* v)
        : m_v(v)
    {
    }

    /// One entry without its place. \return nothing after an error
    std::optional<Fault> Read(std::size_t index, const Known** known)
    {
        const Value& value = m_v->values["fault"];
        m_entry = value.entries[index];
        m_where = value.where;
        if (m_where.find(": /") != std::string::npos)
        {
            m_where += "/" + std::to_string(index);
        }
        const std::string name = Get("what");
        const Known* found = *known = Find(name);
        if (!found)
        {
            std::vector<std::string> names;
            for (const Known& one : kKnown)
            {
                names.emplace_back(one.name);
            }
            Fail("",
                 name + " is nothing that goes wrong; allowed: " + Join(names, ", "),
                 rdma::NearestName(name, names));
            return std::nullopt;
        }
        m_name = found->name;
        for (const auto& [key, text] : m_entry)
        {
            if (key != "what" && key != "at" && key != "on" && !Has(found->keys, key))
            {
                Fail(key,
                     std::string(found->name) + " takes no " + key + "=; allowed: at, on" +
                         KeysText(found->keys));
                return std::nullopt;
            }
        }
        for (const std::string key : {"at", "on", "for", "to", "period"})
        {
            if (Get(key).empty() && (key == "at" || key == "on" || Needs(found->keys, key)))
            {
                Fail("", std::string(found->name) + " needs " + key + "=" + What(key, *found));
                return std::nullopt;
            }
        }
        Fault fault;
        fault.kind = found->kind;
        fault.what = found->name;
        fault.where = Get("on");
        const bool good = ReadTime("at", 0, &fault.at) && ReadTime("for", 1, &fault.length) &&
                          ReadTo(*found, &fault) && ReadFlap(&fault);
        return good ? std::optional(fault) : std::nullopt;
    }

    /// \param key of the entry; empty: of all of it
    void Fail(const std::string& key, std::string problem, std::string nearest = "")
    {
        m_v->errors.push_back({m_where + (key.empty() ? "" : ": " + key),
                               key.empty() ? EntryText() : Get(key),
                               std::move(problem),
                               std::move(nearest)});
    }

    std::string Get(const std::string& key) const
    {
        const auto found = std::find_if(m_entry.begin(), m_entry.end(), [&](const auto& e) {
            return e.first == key;
        });
        return found == m_entry.end() ? "" : found->second;
    }

  private:
    static std::string KeysText(const std::string& keys)
    {
        std::string text;
        for (const std::string& key : Keys())
        {
            text += Has(keys, key) ? ", " + key : "";
        }
        return text;
    }

    static std::string What(const std::string& key, const Known& known)
    {
        return key == "on"   ? "WHERE: " + PlacesText(known.places)
               : key == "to" ? std::string("VALUE: ") + known.toAllowed
                             : "TIME";
    }

    std::string EntryText() const
    {
        std::string text;
        for (const auto& [key, value] : m_entry)
        {
            text += (text.empty() ? "" : ",") + (key == "what" ? value : key + "=" + value);
        }
        return text;
    }

    bool ReadTime(const std::string& key, int64_t least, rdma::Duration* to)
    {
        const std::string text = Get(key);
        if (text.empty())
        {
            return true;
        }
        const auto time = rdma::ParseDuration(text);
        constexpr int64_t most = 1000000000000000000; // 10^6 s
        if (!time || time->ps < least || time->ps > most)
        {
            Fail(key,
                 std::string("allowed: ") + (least ? "more than 0" : "a time from 0") +
                     " to 1000000s, such as 500ns, 10us or 2ms");
            return false;
        }
        *to = *time;
        return true;
    }

    bool ReadTo(const Known& known, Fault* fault)
    {
        const std::string text = Get("to");
        if (!Has(known.keys, "to"))
        {
            return true;
        }
        bool good = false;
        if (known.kind == FaultKind::kRate)
        {
            const auto rate = rdma::ParseBitRate(text);
            good = rate && rate->bps >= kSlowest.bps;
            fault->rate = rate.value_or(rdma::BitRate(0));
        }
        else if (const auto real = ParseReal(text))
        {
            fault->value = *real;
            good = known.kind == FaultKind::kLaneDown ? *real == 1 || *real == 2 || *real == 3
                   : known.kind == FaultKind::kBitErrors
                       ? *real > 0 && *real <= topo::kMostBitErrors
                   : known.kind == FaultKind::kDrop ? *real > 0 && *real <= 1
                                                    : *real >= 1 && *real <= 1000;
            fault->value /= known.kind == FaultKind::kLaneDown ? 4 : 1;
        }
        if (!good)
        {
            Fail("to", std::string("allowed: ") + known.toAllowed);
        }
        return good;
    }

    bool ReadFlap(Fault* fault)
    {
        if (fault->kind != FaultKind::kFlap)
        {
            return true;
        }
        if (!ReadTime("period", 1, &fault->period))
        {
            return false;
        }
        const std::string text = Get("duty");
        const auto duty = text.empty() ? std::optional(0.5) : ParseReal(text);
        if (!duty || *duty <= 0 || *duty >= 1)
        {
            Fail("duty",
                 "allowed: a number above 0 and below 1, the share of the period in which "
                 "the link is down");
            return false;
        }
        fault->duty = *duty;
        if (static_cast<double>(fault->length.ps) / static_cast<double>(fault->period.ps) >
            kMostCycles)
        {
            Fail("period",
                 "comes more than a million times in for=; allowed: a longer period, or "
                 "a shorter time");
            return false;
        }
        return true;
    }

    Validation* m_v;
    std::vector<std::pair<std::string, std::string>> m_entry;
    std::string m_where;
    std::string m_name;
};

uint32_t
EndOf(const topo::Topology& topology, topo::NodeId node, uint32_t port)
{
    const topo::LinkId link = topology.Nodes()[node].ports[port];
    const topo::Link& l = topology.Links()[link];
    return 2 * link + !(l.a == node && l.portA == port);
}

/// Finds the place of a fault.
class Placer
{
  public:
    Placer(const topo::Topology& topology, Reader* reader, const Known& known, Fault* fault)
        : m_topology(topology),
          m_reader(*reader),
          m_known(known),
          m_fault(*fault)
    {
    }

    void Place()
    {
        std::string nearest;
        const std::string wrong = CheckCaptureName(m_topology, m_fault.where, &nearest);
        if (!wrong.empty())
        {
            m_reader.Fail("on", wrong, nearest);
            return;
        }
        std::set<uint32_t> ends;
        std::set<topo::NodeId> nodes;
        rdma::Selection how = rdma::Selection::kNo;
        for (topo::NodeId n = 0; n < m_topology.Nodes().size(); ++n)
        {
            const topo::Node& node = m_topology.Nodes()[n];
            for (uint32_t port = 0; port < node.ports.size(); ++port)
            {
                const topo::NodeId peer = m_topology.Peer(n, static_cast<topo::PortId>(port));
                const rdma::Selection one = rdma::SelectsPort(m_fault.where,
                                                              node.name,
                                                              port,
                                                              m_topology.Nodes()[peer].name);
                if (one != rdma::Selection::kNo)
                {
                    how = one;
                    nodes.insert(n);
                    ends.insert(EndOf(m_topology, n, port));
                }
            }
        }
        if (!Check(how, *nodes.begin()))
        {
            return;
        }
        for (const uint32_t end : ends)
        {
            Take(end);
        }
        const auto tidy = [](std::vector<uint32_t>& list) {
            std::sort(list.begin(), list.end());
            list.erase(std::unique(list.begin(), list.end()), list.end());
        };
        tidy(m_fault.ends);
        tidy(m_fault.dead);
        CheckRate();
    }

  private:
    bool IsOneWay() const
    {
        // As it is no port, "->" stands between two nodes.
        return m_how == rdma::Selection::kLink &&
               m_topology.FindNode(m_fault.where.substr(0, m_fault.where.find("->"))) &&
               m_fault.where.find("->") != std::string::npos;
    }

    bool Check(rdma::Selection how, topo::NodeId node)
    {
        m_how = how;
        const bool host = m_topology.Nodes()[node].kind == topo::NodeKind::kHost;
        const uint8_t place = how == rdma::Selection::kAll    ? kCables
                              : how == rdma::Selection::kLink ? IsOneWay() ? kOneWay : kCables
                              : how == rdma::Selection::kPort ? kCables | kPorts
                              : host                          ? kHosts
                                                              : kSwitches;
        const bool isHosts =
            m_known.kind != FaultKind::kNicDown || how != rdma::Selection::kPort || host;
        if (!(m_known.places & place) || !isHosts)
        {
            m_reader.Fail("on",
                          std::string(how == rdma::Selection::kNode
                                          ? host ? "is a host" : "is a switch"
                                      : how == rdma::Selection::kPort ? "is a port of a switch"
                                      : how == rdma::Selection::kAll  ? "is every link"
                                      : IsOneWay()                    ? "is one direction"
                                                                      : "is a link") +
                              "; allowed for " + m_known.name + ": " + PlacesText(m_known.places));
            return false;
        }
        return true;
    }

    /// \param end that the name selects
    void Take(uint32_t end)
    {
        switch (m_fault.kind)
        {
        case FaultKind::kPauseStorm:
            m_fault.ends.push_back(end);
            return;
        case FaultKind::kPortDown:
        case FaultKind::kSwitchDown:
        case FaultKind::kNicDown:
            m_fault.dead.push_back(end);
            break;
        default:
            break;
        }
        if (IsOneWay())
        {
            m_fault.ends.push_back(end ^ 1); // who receives
            return;
        }
        m_fault.ends.push_back(end);
        m_fault.ends.push_back(end ^ 1);
    }

    void CheckRate()
    {
        for (const uint32_t end : m_fault.ends)
        {
            const rdma::BitRate rate = m_topology.Links()[end / 2].rate;
            if (m_fault.kind == FaultKind::kRate && m_fault.rate.bps > rate.bps)
            {
                m_reader.Fail("to",
                              "is faster than " + m_topology.LinkName(end / 2, end % 2 == 0) +
                                  "; allowed: at most its " + rdma::ToString(rate));
                return;
            }
        }
    }

    const topo::Topology& m_topology;
    Reader& m_reader;
    const Known& m_known;
    Fault& m_fault;
    rdma::Selection m_how = rdma::Selection::kNo;
};

/// What the fault does to the GPU's speed.
training::SpeedProfile::Span
SpanOf(const Fault& fault)
{
    return {fault.at.ps,
            fault.length.ps ? fault.at.ps + fault.length.ps : INT64_MAX,
            fault.kind == FaultKind::kGpuStop ? 0 : 1 / fault.value};
}

/// Each fault of a GPU, in their order. \param take whose number and place these are
void
ForEachOfGpus(
    Validation* v,
    const ClusterSpec& cluster,
    const std::function<void(std::size_t number, const Fault& fault, const GpuPlace& place)>& take)
{
    Reader reader(v);
    const std::vector<uint32_t> spares = SpareHosts(*v, cluster);
    for (std::size_t i = 0; i < v->values["fault"].entries.size(); ++i)
    {
        const std::size_t before = v->errors.size();
        const Known* known = nullptr;
        const std::optional<Fault> fault = reader.Read(i, &known);
        v->errors.resize(before); // MakeFaults tells
        if (!fault || fault->IsOfNetwork())
        {
            continue;
        }
        GpuPlace place;
        const std::string wrong = FindGpu(cluster, spares, fault->where, &place);
        if (!wrong.empty())
        {
            reader.Fail("on", wrong);
            continue;
        }
        take(i, *fault, place);
    }
}

} // namespace

std::vector<NamedItem>
FaultItems()
{
    std::vector<NamedItem> items;
    for (const Known& known : kKnown)
    {
        items.push_back({known.name, known.help});
    }
    return items;
}

std::vector<Option>
FaultOptionRows()
{
    const std::string group = "Faults";
    std::vector<std::string> names;
    for (const Known& known : kKnown)
    {
        names.emplace_back(known.name);
    }
    return {
        Opt("fault",
            Kind::kEntries,
            "",
            group,
            "something that goes wrong, at a time from the run's beginning, for ever or for=TIME; "
            "may be given several times. WHAT: " +
                Join(names, ", ") + " (--list=faults). WHERE as with --pcap, or gpu-N, HOST:gpu-N")
            .At("/faults")
            .Shows("WHAT,at=TIME,on=WHERE[,for=TIME][,to=VALUE]")
            .Keys(Keys())
            .Otherwise("none")
            .Example("ber,at=10us,on=all,to=1e-9"),
        Opt("fault-detection",
            Kind::kDuration,
            "/network",
            group,
            "until a switch knows that the link at its port is dead, and takes other ways if it "
            "has some; what is sent to it until then is lost")
            .Otherwise("10us with a fault that cuts links; assumed")
            .Range(0, 1e15)
            .Example("1ms"),
        Opt("convergence",
            Kind::kDuration,
            "/network",
            group,
            "from then until all switches have new tables (InfiniBand: the sweep of the subnet "
            "manager)")
            .Otherwise("10ms with a fault that cuts links; assumed")
            .Range(0, 1e15)
            .Example("100ms"),
    };
}

FaultPlan
MakeFaults(Validation* v, const topo::Topology* topology, const std::string& several)
{
    FaultPlan plan;
    Reader reader(v);
    const std::size_t before = v->errors.size();
    for (std::size_t i = 0; i < v->values["fault"].entries.size(); ++i)
    {
        const Known* known = nullptr;
        std::optional<Fault> fault = reader.Read(i, &known);
        if (!fault)
        {
            continue;
        }
        if (!several.empty())
        {
            reader.Fail("", "faults are of one process; allowed: without " + several);
        }
        else if (!fault->IsOfNetwork())
        {
            const bool sends = v->table.program == "collperf"; // its GPUs do nothing else
            if (v->table.program != "dltrain" && !(sends && fault->kind == FaultKind::kGpuStop))
            {
                reader.Fail("",
                            fault->what +
                                " has no meaning without GPUs that compute; allowed: "
                                "with dltrain" +
                                (sends ? "; gpu-stop here" : ""));
            }
            else if (!sends && (v->values.Given("trace") || v->values.Given("launch")))
            {
                reader.Fail("",
                            fault->what + " is of GPUs that compute by a model; a recorded step "
                                          "has its own times; allowed: without --trace, --launch");
            }
            else if (!sends && v->values.Given("jobs"))
            {
                reader.Fail("",
                            fault->what + " does not say of which job; allowed: without --jobs");
            }
        }
        else if (v->values.Text("network") != "packet")
        {
            reader.Fail("",
                        fault->what + " has no meaning without packets; allowed: with "
                                      "--network=packet");
        }
        else if (fault->kind == FaultKind::kPauseStorm && v->values.Text("fabric") == "ib")
        {
            reader.Fail("", "only Ethernet's links have pauses; allowed: with --fabric=roce");
        }
        else if (fault->kind == FaultKind::kPauseStorm && !v->values.Flag("pfc"))
        {
            reader.Fail("",
                        "has no meaning with --no-pfc, when nobody pauses; allowed: with --pfc");
        }
        else if (topology)
        {
            Placer(*topology, &reader, *known, &*fault).Place();
        }
        plan.faults.push_back(std::move(*fault));
    }
    const bool cuts = std::any_of(plan.faults.begin(), plan.faults.end(), [](const Fault& f) {
        return f.IsCut();
    });
    if (!cuts && v->errors.size() == before)
    {
        v->MustNotBeSet({"fault-detection", "convergence"},
                        "has no meaning without a fault that cuts links; allowed: with "
                        "--fault=link-down, port-down, switch-down, nic-down or flap");
    }
    if (cuts)
    {
        // Assumed, both; the help says so.
        v->DecideUnlessGiven("fault-detection", "10us");
        v->DecideUnlessGiven("convergence", "10ms");
        plan.detection = v->values.Duration("fault-detection");
        plan.convergence = v->values.Duration("convergence");
    }
    return plan;
}

void
MakeGpuFaults(Validation* v, const ClusterSpec& cluster, training::TrainingPlan* plan)
{
    const std::vector<uint32_t>& hosts = cluster.hostOfServer;
    ForEachOfGpus(v, cluster, [&](std::size_t, const Fault& fault, const GpuPlace& place) {
        const auto server = std::find(hosts.begin(), hosts.end(), place.host);
        if (server != hosts.end())
        {
            const auto number = static_cast<uint32_t>(server - hosts.begin());
            plan->speeds[number * cluster.server.gpus + place.gpu].Add(SpanOf(fault));
        }
    });
}

void
PlaceGpuFaults(Validation* v, const ClusterSpec& cluster, RecoverySpec* spec)
{
    ForEachOfGpus(v, cluster, [&](std::size_t i, const Fault& fault, const GpuPlace& place) {
        spec->faultyGpus[i] = place;
        if (std::find(spec->spares.begin(), spec->spares.end(), place.host) != spec->spares.end())
        {
            spec->spareSpeeds[place].Add(SpanOf(fault));
        }
    });
}

} // namespace scenario
