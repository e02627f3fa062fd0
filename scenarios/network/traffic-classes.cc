/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/network/traffic-classes.h"

#include "contrib/rdma/core/congestion-control.h"
#include "contrib/rdma/core/nearest-name.h"
#include "contrib/rdma/core/no-congestion-control.h"
#include "contrib/rdma/core/unit-strings.h"
#include "scenarios/asked/fabric.h"
#include "scenarios/asked/modes.h"
#include "scenarios/job/load-balancing.h"
#include "scenarios/network/common-options.h"
#include "scenarios/network/traffic-class-checks.h"
#include "scenarios/network/transport-options.h"
#include "scenarios/options/format.h"
#include "topologies/limits.h"

#include <algorithm>
#include <cctype>
#include <cmath>

namespace scenario
{

namespace
{

/// As ns3::RdmaNic::MOST_CLASSES.
constexpr std::size_t kMostClasses = 100;
constexpr const char* kDefaultName = "default";
constexpr rdma::BitRate kLeastRate{1000000}; ///< slower ones make frames as long as time-outs

/// The member of each key, in the order of ClassKeys().
using Part = std::pair<const char*, std::string ClassWish::*>;
constexpr Part kParts[] = {{"class", &ClassWish::name},
                           {"cc", &ClassWish::cc},
                           {"preset", &ClassWish::ccPreset},
                           {"transport", &ClassWish::transport},
                           {"priority", &ClassWish::priority},
                           {"rate", &ClassWish::rate}};

std::string
NamesOf(const FabricSpec& fabric)
{
    std::string names = kDefaultName;
    for (const TrafficClass& of : fabric.classes)
    {
        names += ", " + of.name;
    }
    return names;
}

/// Ultra Ethernet's own window goes by marks, too.
bool
HearsMarks(const TrafficClass& of)
{
    return rdma::FindCongestionControl(of.cc)->needsMarks || of.transport == "uet";
}

/// Makes one class of a wish.
class ClassMaker
{
  public:
    ClassMaker(const FabricSpec& fabric, const ClassWish& wish, ClassProblem* to)
        : m_fabric(fabric),
          m_wish(wish),
          m_to(to)
    {
    }

    /// \param of the class that the wish goes over
    bool Apply(TrafficClass* of)
    {
        if (!SetLaw(of) || !SetTransport(of) || !SetPriority(of) || !SetRate(of) ||
            !FitsTransport(*of))
        {
            return false;
        }
        of->hearsMarks = HearsMarks(*of);
        return true;
    }

  private:
    bool Fail(const char* key, const std::string& problem, const std::string& nearest = "")
    {
        std::string value;
        for (const auto& [name, text] : m_wish.Said())
        {
            value = name == key ? text : value;
        }
        *m_to = {key, value, problem, nearest};
        return false;
    }

    bool SetLaw(TrafficClass* of)
    {
        if (!m_wish.cc.empty())
        {
            std::vector<NamedItem> items;
            for (const NamedItem& item : CongestionItems())
            {
                if (item.name != "ib-cc") // of InfiniBand, and its switches
                {
                    items.push_back(item);
                }
            }
            const std::string name = MatchName(m_wish.cc, items);
            if (name.empty())
            {
                return Fail("cc", "allowed: " + JoinNames(items), NearestName(m_wish.cc, items));
            }
            if (name != of->cc)
            {
                of->cc = name;
                const auto& presets = rdma::FindCongestionControl(name)->presets;
                of->ccPreset = presets.empty() ? "" : presets.front().name;
                of->marking = rdma::MarkingOf(of->cc, of->ccPreset);
            }
        }
        const rdma::CongestionControl& control = *rdma::FindCongestionControl(of->cc);
        if (!m_wish.ccPreset.empty())
        {
            if (!control.Find(m_wish.ccPreset))
            {
                std::vector<std::string> names;
                for (const auto& preset : control.presets)
                {
                    names.push_back(preset.name);
                }
                return Fail(
                    "preset",
                    "is no preset of " + of->cc +
                        (names.empty() ? ", which has none" : "; allowed: " + Join(names, ", ")),
                    rdma::NearestName(m_wish.ccPreset, names));
            }
            if (of->ccPreset != m_wish.ccPreset)
            {
                of->ccPreset = m_wish.ccPreset;
                of->marking = rdma::MarkingOf(of->cc, of->ccPreset);
            }
        }
        return true;
    }

    bool SetTransport(TrafficClass* of)
    {
        if (m_wish.transport.empty())
        {
            return true;
        }
        const std::string& network = m_fabric.transport.name;
        const std::string& name = m_wish.transport;
        if (name != network && name != "rc" && name != "irn")
        {
            const bool known = IsTrimming(name);
            const std::vector<std::string> allowed = {"rc", "irn", network};
            return Fail("transport",
                        known ? "needs switches that trim, and these are the whole network's; "
                                "allowed: rc, irn; or --transport=" +
                                    name + ", and classes of rc or irn for what is not"
                              : "allowed: rc, irn" +
                                    (network == "rc" || network == "irn" ? "" : ", " + network),
                        known ? "" : rdma::NearestName(name, allowed));
        }
        of->transport = name;
        of->lossy = name == "irn";
        of->lossRecovery = "";
        if (name != network)
        {
            const LoadBalancer* scheme = FindLoadBalancer(m_fabric.balancing.name);
            // As ApplyLoadBalancing has it for the network.
            const bool reorders = scheme && (scheme->order == LoadBalancer::Order::kLost ||
                                             m_fabric.balancing.name == "plb");
            of->lossRecovery = name == "irn" ? "selective-repeat"
                               : reorders    ? "out-of-order"
                                             : "go-back-n";
        }
        return true;
    }

    /// The network's checks of --cc and --priority with a transport that chooses these itself.
    bool FitsTransport(const TrafficClass& of)
    {
        const std::string allowed = "; allowed with transport " + of.transport + ": ";
        const std::string law = RefusalOfLaws(of.transport);
        const bool chosen = !m_wish.cc.empty() || !m_wish.transport.empty();
        if (!law.empty() && chosen && of.cc != rdma::kNoCongestionControl.name)
        {
            return Fail(m_wish.cc.empty() ? "transport" : "cc",
                        (m_wish.cc.empty() ? "needs a class without " + of.cc + ", which " : "") +
                            law + allowed + rdma::kNoCongestionControl.name +
                            "; others with transport rc or irn");
        }
        const std::string priority = RefusalOfPriorities(of.transport);
        if (!priority.empty() && of.priority)
        {
            const bool own = !m_wish.priority.empty();
            return Fail(own ? "priority" : "transport",
                        (own ? "" : "needs a class without a priority, which ") + priority +
                            "; allowed with transport rc or irn");
        }
        return true;
    }

    bool SetPriority(TrafficClass* of)
    {
        const std::string& text = m_wish.priority;
        if (text.empty())
        {
            return true;
        }
        if (text.size() != 1 || text[0] < '0' || text[0] > '7')
        {
            return Fail("priority", "allowed: 0 to 7");
        }
        of->priority = static_cast<uint8_t>(text[0] - '0');
        return true;
    }

    bool SetRate(TrafficClass* of)
    {
        if (m_wish.rate.empty())
        {
            return true;
        }
        const auto rate = rdma::ParseBitRate(m_wish.rate);
        if (!rate || *rate < kLeastRate || topo::kFastestLink < *rate)
        {
            return Fail("rate",
                        std::string("allowed: ") + rdma::kBitRateHelp + ", from 1Mbps to " +
                            CanonicalRate(topo::kFastestLink.bps));
        }
        of->rate = *rate;
        return true;
    }

    const FabricSpec& m_fabric;
    const ClassWish& m_wish;
    ClassProblem* m_to;
};

/// What class 0 is.
TrafficClass
DefaultClass(const FabricSpec& fabric)
{
    TrafficClass of;
    of.name = kDefaultName;
    of.cc = fabric.cc;
    of.ccPreset = fabric.ccPreset;
    of.transport = fabric.transport.name;
    of.hearsMarks = HearsMarks(of);
    of.marking = {fabric.ecnKmin, fabric.ecnKmax, fabric.ecnPmax};
    return of;
}

bool
IsSame(const rdma::EcnParameters& a, const rdma::EcnParameters& b)
{
    // --ecn-pmax has six places.
    return a.kmin == b.kmin && a.kmax == b.kmax && std::abs(a.pmax - b.pmax) < 1e-6;
}

/// The user says where switches mark: for all priorities.
bool
IsMarkingGiven(const Validation& v)
{
    const auto given = [&v](Member option) {
        return v.values.Given(option) && v.usual.count(v.values.NameOf(option)) == 0;
    };
    return given(&asked::Fabric::ecnKmin) || given(&asked::Fabric::ecnKmax) ||
           given(&asked::Fabric::ecnPmax);
}

/// \return whether they differ in their names alone
bool
IsSame(const TrafficClass& a, const TrafficClass& b)
{
    return a.cc == b.cc && a.ccPreset == b.ccPreset && a.transport == b.transport &&
           a.priority == b.priority && a.rate == b.rate && IsSame(a.marking, b.marking);
}

std::string
MarkingText(const rdma::EcnParameters& ecn)
{
    return CanonicalBytes(ecn.kmin.value) + "-" + CanonicalBytes(ecn.kmax.value) + "-" +
           Format("%g", ecn.pmax);
}

} // namespace

std::vector<std::pair<std::string, std::string>>
ClassWish::Said() const
{
    std::vector<std::pair<std::string, std::string>> said;
    for (const auto& [key, member] : kParts)
    {
        if (!(this->*member).empty())
        {
            said.emplace_back(key, this->*member);
        }
    }
    return said;
}

std::string*
ClassWish::Find(const std::string& key)
{
    for (const auto& [known, member] : kParts)
    {
        if (key == known)
        {
            return &(this->*member);
        }
    }
    return nullptr;
}

const std::vector<std::string>&
ClassKeys()
{
    static const std::vector<std::string> keys = [] {
        std::vector<std::string> all;
        for (const auto& [key, member] : kParts)
        {
            all.emplace_back(key);
        }
        return all;
    }();
    return keys;
}

std::vector<Option>
TrafficClassRows()
{
    std::vector<std::string> keys = ClassKeys();
    keys.front() = "name";
    return {
        Section{"/fabric", "Fabric"}
            .Entries("class",
                     "a traffic class, which flows and jobs name: messages of a congestion "
                     "control, preset, transport (rc, irn), priority and rate of their own; may "
                     "be given several times")
            .As(&asked::Fabric::trafficClasses)
            .At("/fabric/classes")
            .Shows("NAME:cc=NAME[,preset=NAME][,transport=NAME][,priority=P][,rate=RATE]")
            .Keys(keys)
            .Otherwise("none")
            .Example("bulk,cc=hpcc,priority=4")
            .Only(when::Packets())
            .Only(when::Ethernet())
            .IdleUnless(when::Rdma()),
    };
}

void
ApplyTrafficClasses(Validation* v, FabricSpec* fabric)
{
    if (!v->values.Given(&asked::Fabric::trafficClasses))
    {
        return;
    }
    const Value& value = v->values.At(&asked::Fabric::trafficClasses);
    for (std::size_t i = 0; i < value.entries.size(); ++i)
    {
        std::string where = value.where;
        if (where.find(": /") != std::string::npos)
        {
            where += "/" + std::to_string(i);
        }
        ClassWish wish;
        std::string name;
        for (const auto& [key, text] : value.entries[i])
        {
            (key == "name" ? name : *wish.Find(key)) = text;
        }
        const bool plain = !name.empty() && name.size() <= 60 &&
                           std::all_of(name.begin(), name.end(), [](unsigned char c) {
                               return std::isalnum(c) || c == '-' || c == '_' || c == '.';
                           });
        const bool taken = name == kDefaultName ||
                           std::any_of(fabric->classes.begin(),
                                       fabric->classes.end(),
                                       [&name](const auto& of) { return of.name == name; });
        if (!plain || taken)
        {
            v->errors.push_back({where,
                                 name,
                                 plain ? "is another class's name; allowed: a new one"
                                       : "allowed: a name of letters, digits, '-', '_' and '.', at "
                                         "most 60 of them",
                                 ""});
            return;
        }
        if (fabric->classes.size() == kMostClasses)
        {
            v->errors.push_back(
                {where, name, "allowed: at most " + std::to_string(kMostClasses) + " classes", ""});
            return;
        }
        TrafficClass of = DefaultClass(*fabric);
        of.name = name;
        ClassProblem problem;
        if (!ClassMaker(*fabric, wish, &problem).Apply(&of))
        {
            v->errors.push_back(
                {where + ": " + problem.key, problem.value, problem.problem, problem.nearest});
            return;
        }
        fabric->classes.push_back(of);
    }
}

std::optional<ChannelClass>
FindTrafficClass(FabricSpec* fabric, const ClassWish& wish, ClassProblem* problem)
{
    TrafficClass of = DefaultClass(*fabric);
    uint8_t number = 0;
    for (std::size_t i = 0; i < fabric->classes.size(); ++i)
    {
        if (fabric->classes[i].name == wish.name)
        {
            of = fabric->classes[i];
            number = static_cast<uint8_t>(i + 1);
        }
    }
    if (number == 0 && !wish.name.empty() && wish.name != kDefaultName)
    {
        std::vector<std::string> names = {kDefaultName};
        for (const TrafficClass& known : fabric->classes)
        {
            names.push_back(known.name);
        }
        *problem = {"class",
                    wish.name,
                    "is no class of --class; allowed: " + NamesOf(*fabric),
                    rdma::NearestName(wish.name, names)};
        return std::nullopt;
    }
    if (!ClassMaker(*fabric, wish, problem).Apply(&of))
    {
        return std::nullopt;
    }
    if (wish.cc.empty() && wish.ccPreset.empty() && wish.transport.empty() && wish.rate.empty())
    {
        return ChannelClass{number, of.priority};
    }
    // One of its own, named by what it is: several flows with one wish are of one class.
    std::string name = wish.name;
    for (const auto& [key, text] : wish.Said())
    {
        if (key != "class" && key != "priority")
        {
            name += (name.empty() ? "" : "-") + text;
        }
    }
    // The name may be that of another class, of --class or of another wish: then hpcc-2.
    of.name = name;
    for (std::size_t i = 0, twins = 1; i < fabric->classes.size();)
    {
        if (fabric->classes[i].name != of.name)
        {
            ++i;
            continue;
        }
        if (IsSame(fabric->classes[i], of))
        {
            return ChannelClass{static_cast<uint8_t>(i + 1), of.priority};
        }
        of.name = name + "-" + std::to_string(++twins);
        i = 0;
    }
    if (fabric->classes.size() == kMostClasses)
    {
        *problem = {wish.Said().back().first,
                    wish.Said().back().second,
                    "makes one class more than a NIC has; allowed: at most " +
                        std::to_string(kMostClasses) + " with other laws, transports and rates",
                    ""};
        return std::nullopt;
    }
    fabric->classes.push_back(of);
    return ChannelClass{static_cast<uint8_t>(fabric->classes.size()), of.priority};
}

void
SettleTrafficClasses(Validation* v,
                     const FabricSpec& fabric,
                     const ClassUses& uses,
                     RunOptions* run)
{
    std::vector<const TrafficClass*> classes;
    const TrafficClass usual = DefaultClass(fabric);
    classes.push_back(&usual);
    for (const TrafficClass& of : fabric.classes)
    {
        classes.push_back(&of);
    }
    CheckUsedClasses(v, fabric, classes, uses, run);
    const bool several = std::any_of(uses.begin(), uses.end(), [&uses](const auto& use) {
        return use.second != uses.begin()->second;
    });
    if (!fabric.classes.empty() && several)
    {
        // Else a law that looks at the whole port gives way to all others there.
        run->optionAttributes.emplace_back("ns3::RdmaSwitch::TelemetryOfQueue", "true");
    }
    if (!fabric.ecn || fabric.classes.empty() || IsMarkingGiven(*v))
    {
        return;
    }
    std::string marks;
    for (uint8_t priority = 0; priority < 8; ++priority)
    {
        const TrafficClass* first = nullptr;
        for (const auto& [number, at] : uses)
        {
            const TrafficClass* of = at == priority ? classes[number] : nullptr;
            if (!of || !of->hearsMarks)
            {
                continue;
            }
            const bool differ = first && !IsSame(first->marking, of->marking);
            if (!fabric.marker.empty() && (differ || !IsSame(of->marking, usual.marking)))
            {
                v->Fail(&asked::Fabric::marker,
                        "marks all priorities alike, and " + of->cc + " of class " + of->name +
                            " wants ECN thresholds of its own at priority " +
                            std::to_string(priority) + ": " + MarkingText(of->marking) +
                            " (Kmin, Kmax, Pmax); allowed: without --marker, or with --ecn-kmin, "
                            "--ecn-kmax or --ecn-pmax for all classes");
                return;
            }
            if (differ)
            {
                v->errors.push_back(
                    {"",
                     "",
                     "classes " + first->name + " and " + of->name + " share priority " +
                         std::to_string(priority) + ", and want other ECN thresholds there: " +
                         MarkingText(first->marking) + " and " + MarkingText(of->marking) +
                         " (Kmin, Kmax, Pmax); allowed: a priority each, or --ecn-kmin, "
                         "--ecn-kmax and --ecn-pmax for both",
                     ""});
                return;
            }
            first = of;
        }
        if (first && !IsSame(first->marking, usual.marking))
        {
            marks += (marks.empty() ? "" : ",") + std::to_string(priority) + ":" +
                     MarkingText(first->marking);
        }
    }
    if (!marks.empty())
    {
        run->optionAttributes.emplace_back("ns3::RdmaSwitch::EcnOfPriority", marks);
    }
}

std::vector<TrafficClass>
TrafficClassesOf(const FabricSpec& fabric)
{
    std::vector<TrafficClass> all;
    if (!fabric.classes.empty())
    {
        all.push_back(DefaultClass(fabric));
        all.insert(all.end(), fabric.classes.begin(), fabric.classes.end());
    }
    return all;
}

std::string
TrafficClassText(const TrafficClass& of)
{
    // Presets of none are where switches mark, which none does not hear of.
    const bool preset = !of.ccPreset.empty() && of.cc != rdma::kNoCongestionControl.name;
    return of.name + ": " + of.cc + (preset ? " (" + of.ccPreset + ")" : "") + ", " + of.transport +
           (of.priority ? ", priority " + std::to_string(*of.priority) : "") +
           (of.rate.bps ? ", at most " + CanonicalRate(of.rate.bps) : "");
}

} // namespace scenario
