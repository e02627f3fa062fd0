/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Options of collectives: which algorithm and which protocol, and what a library takes of time.
 */
#include "scenarios/spec/collective-options.h"

#include "collectives/msccl-xml.h"
#include "collectives/placement.h"
#include "collectives/registry.h"
#include "contrib/rdma/core/nearest-name.h"
#include "contrib/rdma/core/unit-strings.h"
#include "scenarios/spec/aggregators.h"
#include "scenarios/spec/cluster-options.h"
#include "scenarios/spec/common-options.h"
#include "scenarios/spec/idle-rules.h"
#include "scenarios/spec/nccl-environment.h"
#include "scenarios/spec/rail-options.h"

#include <algorithm>
#include <set>

namespace scenario
{

std::vector<NamedItem>
AlgorithmItems()
{
    std::vector<NamedItem> items;
    for (const coll::Op op : coll::AllOps())
    {
        for (const coll::Algorithm* a : coll::AlgorithmsFor(op))
        {
            const std::string line = coll::OpName(op) + ": " + a->Description();
            const auto it = std::find_if(items.begin(), items.end(), [&](const NamedItem& i) {
                return i.name == a->Name();
            });
            if (it == items.end())
            {
                items.push_back({a->Name(), line});
            }
            else
            {
                it->description += "; " + line;
            }
        }
    }
    return items;
}

namespace
{

constexpr const char* kAuto = kAutoAlgorithm;

/// How a schedule's file ends (collectives/msccl-xml.h).
const std::string kFile = ".xml";

std::vector<NamedItem>
ProtocolItems()
{
    return {{kAuto, "the fastest by the machine's numbers, for each size"},
            {"ll", "4 bytes of data with 4 of flag: least latency"},
            {"ll128", "120 bytes of data with 8 of flag"},
            {"simple", "data alone: most bandwidth"}};
}

std::vector<NamedItem>
LibraryItems()
{
    return {{"nccl", "launch, protocols and latencies of the server's `library`"},
            {"none", "nothing takes time but links"}};
}

} // namespace

std::vector<Option>
CollectiveOptionRows()
{
    const std::string group = "Collectives";
    const std::string json = "/collectives";
    return {
        Opt("algorithm",
            Kind::kList,
            json,
            group,
            "an algorithm for all operations, or OP=NAME,OP=NAME; NAME@FROM-TO;NAME@TO- for sizes; "
            "auto: the fastest by the machine's numbers; FILE.xml: a schedule in MSCCL's format")
            .Shows("NAME|OP=NAME,...")
            .Otherwise("auto")
            .Example("all_reduce=ring"),
        Opt("protocol", Kind::kName, json, group, "how messages of a collective are sent")
            .Names("protocol", ProtocolItems)
            .Default(kAuto)
            .Example("ll128"),
        Opt("library",
            Kind::kName,
            json,
            group,
            "whose time it takes beyond the links: to launch, for each message, for flags")
            .Names("library", LibraryItems)
            .Default("nccl")
            .Example("none"),
        Opt("channels", Kind::kInteger, json, group, "channels of an algorithm that has several")
            .Otherwise("the algorithm's own, one a NIC for rings")
            .Range(1, coll::kMaxChannels)
            .Example("2"),
        Opt("pipeline",
            Kind::kBytes,
            json,
            group,
            "largest message of a pipelined algorithm; hierarchical ones choose it so that both "
            "levels work at once, others do not cut")
            .Otherwise("the algorithm's own")
            .Range(1, 9e15)
            .Example("512KiB"),
        Opt("radix",
            Kind::kInteger,
            json,
            group,
            "of k-nomial trees: a rank sends to at most one less of each size of subtree; 2 is the "
            "binomial tree")
            .Otherwise("4")
            .Range(2, 1e6)
            .Example("2"),
        Opt("levels",
            Kind::kList,
            json,
            group,
            "what hierarchical all_reduce does on each level, one after the other: an algorithm "
            "for "
            "reduce_scatter and all_gather in servers, more of them for racks and pods if wanted "
            "(of fewer names than levels the smallest groups are left out), one for all_reduce "
            "between what is left")
            .Shows("NAME,NAME")
            .Otherwise("rings on both, which overlap")
            .Example("ring,halving-doubling"),
        Opt("dimensions",
            Kind::kText,
            json,
            group,
            "torus: ranks along each dimension, the first between the nearest")
            .Shows("NxN")
            .Otherwise("the algorithm's own: GPUs of a server by servers")
            .Example("4x4"),
        Opt("parameter-servers",
            Kind::kInteger,
            json,
            group,
            "how many of the ranks are servers of a shard, too: of the algorithm parameter-server, "
            "and of a --strategy that has them")
            .Otherwise("1; with a --strategy of dltrain one a server")
            .Range(1, 1e6)
            .Example("2"),
        Opt("aggregation-delay",
            Kind::kDuration,
            json,
            group,
            "of switches that add up (sharp, collnet-*, nvls between servers): what a message "
            "takes to get to the unit that does, and from it again")
            .Default("100ns")
            .Range(1, 1e9)
            .Example("250ns"),
        Opt("aggregation-memory",
            Kind::kBytes,
            json,
            group,
            "bytes of one group that such a switch has room for")
            .Default("1MiB")
            .Range(1024, 9e15)
            .Example("256KiB"),
        Opt("aggregation-groups",
            Kind::kInteger,
            json,
            group,
            "groups of ranks that such a switch serves; those that come later do without")
            .Default("8")
            .Range(0, 1e6)
            .Example("2"),
        Opt("step-latency",
            Kind::kDuration,
            json,
            group,
            "time that software takes before every send of a schedule")
            .Default("0ns")
            .Range(0, 1e12)
            .Example("2us"),
        Opt("in-server", Kind::kName, json, group, "how collectives inside a server are simulated")
            .Names("in-server",
                   {{"messages", "every message over the links between its GPUs"},
                    {"formula",
                     "the time that --algorithm=auto compares by, from the last GPU's entry on; "
                     "they do not slow each other down"}})
            .Default("messages")
            .Example("formula"),
    };
}

namespace
{

/// An algorithm's operations that say the same, together.
struct Described
{
    std::string ops;
    const coll::Algorithm* algorithm;
};

bool
SaySame(const coll::Algorithm& a, const coll::Algorithm& b)
{
    return a.Description() == b.Description() && a.Facts().time == b.Facts().time;
}

std::vector<Described>
DescribedOperations(const std::string& name)
{
    std::vector<Described> all;
    for (const coll::Op op : coll::AllOps())
    {
        const coll::Algorithm* algorithm = coll::Find(op, name);
        if (!algorithm)
        {
            continue;
        }
        const auto same = std::find_if(all.begin(), all.end(), [&](const Described& d) {
            return SaySame(*d.algorithm, *algorithm);
        });
        if (same == all.end())
        {
            all.push_back({coll::OpName(op), algorithm});
        }
        else
        {
            same->ops += ", " + coll::OpName(op);
        }
    }
    return all;
}

/// "--channels, --pipeline; --levels of all_reduce".
std::string
ReadsText(const std::string& name)
{
    std::string text;
    for (const coll::Knob knob : coll::AllKnobs())
    {
        std::vector<std::string> readers;
        std::size_t ops = 0;
        for (const coll::Op op : coll::AllOps())
        {
            const coll::Algorithm* algorithm = coll::Find(op, name);
            ops += algorithm != nullptr;
            if (algorithm && algorithm->Reads(knob))
            {
                readers.push_back(coll::OpName(op));
            }
        }
        if (!readers.empty())
        {
            text += (text.empty() ? "--" : ", --") + coll::KnobName(knob) +
                    (readers.size() < ops ? " (" + Join(readers, ", ") + ")" : "");
        }
    }
    return text.empty() ? "no option" : text;
}

} // namespace

std::string
AlgorithmsText()
{
    static constexpr std::size_t kIndent = 17;
    std::string text;
    WrapText(&text,
             "Collective algorithms (--algorithm): for each its operations, what it does and its "
             "time by formula; the options that it reads; where it is from. n ranks on k servers "
             "of g GPUs, S bytes as nccl-tests counts them, alpha the latency of a message, beta "
             "the time of a byte.",
             0,
             0);
    const auto line = [&text](std::string left, const std::string& right) {
        left.resize(std::max(kIndent, left.size() + 1), ' ');
        text += left;
        WrapText(&text, right, left.size(), kIndent);
    };
    for (const NamedItem& item : AlgorithmItems())
    {
        text += "\n  " + item.name + "\n";
        std::set<std::string> sources;
        for (const Described& d : DescribedOperations(item.name))
        {
            line("    " + d.ops, d.algorithm->Description());
            line("", "time: " + d.algorithm->Facts().time);
            sources.insert(d.algorithm->Facts().source);
        }
        line("    reads", ReadsText(item.name));
        line("    source", Join({sources.begin(), sources.end()}, "; "));
    }
    return text;
}

NameList
AlgorithmList()
{
    return {"algorithms",
            "Collective algorithms (--algorithm) and the operations they do; with their times, "
            "options and sources: --help=algorithms",
            AlgorithmItems,
            AlgorithmsText};
}

coll::AlgorithmOptions
CollectiveOptions::OptionsFor(coll::Op op) const
{
    coll::AlgorithmOptions all = options;
    if (all.channels != 0)
    {
        return all;
    }
    if (machine.hasLibrary && op == coll::Op::kSendRecv)
    {
        all.channels = 1;
    }
    if (ownNics && coll::IsExchange(op))
    {
        all.maxChannels = 1; // from one NIC to one; pxn has a channel a rail all the same
    }
    // Channels of sends and receives are another matter: NCCL_MIN_P2P_NCHANNELS and the like.
    if (!coll::IsExchange(op))
    {
        all.minChannels = nccl.minChannels;
        all.maxChannels = nccl.maxChannels;
    }
    return all;
}

coll::Choice
ChoiceOf(const CollectiveOptions& options,
         const coll::Collective& what,
         const coll::Placement& placement)
{
    coll::Fixed fixed;
    fixed.protocol = options.protocol;
    fixed.except = options.nccl.except;
    if (const auto limit = options.nccl.ofOp.find(what.op); limit != options.nccl.ofOp.end())
    {
        for (const std::string& name : limit->second.only)
        {
            fixed.among.push_back(coll::Find(what.op, name));
        }
        const auto& except = limit->second.except;
        fixed.except.insert(fixed.except.end(), except.begin(), except.end());
        fixed.protocols = limit->second.protocols;
    }
    for (const AlgorithmRule& rule : options.algorithms)
    {
        if (rule.Covers(what))
        {
            fixed.algorithm = coll::Find(rule.op, rule.name); // null: auto
        }
    }
    if (!fixed.algorithm && fixed.among.empty() && TakesPxn(options, what.op, placement))
    {
        fixed.algorithm = coll::Find(what.op, "pxn");
    }
    return coll::Choose(what, placement, options.OptionsFor(what.op), options.machine, fixed);
}

std::string
ChoiceText(const coll::Choice& choice)
{
    return choice.algorithm->Name() +
           (choice.protocol && *choice.protocol != topo::Protocol::kExchange
                ? std::string(", ") + topo::ToString(*choice.protocol)
                : "");
}

std::string
ChoicesText(const CollectiveOptions& options,
            const std::vector<coll::Collective>& whats,
            const coll::Placement& placement)
{
    std::string text;
    std::string last;
    for (std::size_t i = 0; i < whats.size(); ++i)
    {
        const std::string one = ChoiceText(ChoiceOf(options, whats[i], placement));
        if (i > 0 && one != last)
        {
            text += last + " up to " + rdma::ToString(rdma::Bytes(whats[i - 1].bytes)) + "; ";
        }
        last = one;
    }
    return text + last;
}

namespace
{

/// The rules of one word of --algorithm.
class RuleReader
{
  public:
    /// `option`: whose words these are.
    RuleReader(Validation* v,
               const std::vector<coll::Collective>& used,
               std::string option = "algorithm")
        : m_v(v),
          m_used(used),
          m_option(std::move(option)),
          m_items(AlgorithmItems())
    {
        m_items.insert(m_items.begin(), {kAuto, ""});
    }

    /// \return the word as it is to be written; empty: there are errors
    std::string Read(const std::string& word, std::vector<AlgorithmRule>* rules)
    {
        const auto equals = word.find('=');
        std::vector<coll::Op> ops = coll::AllOps();
        std::string canonical;
        if (equals != std::string::npos)
        {
            const auto op = coll::ParseOp(word.substr(0, equals));
            if (!op)
            {
                return Fail(word,
                            "unknown operation; allowed: " + Join(OpNames(), ", "),
                            rdma::NearestName(word.substr(0, equals), OpNames()));
            }
            ops = {*op};
            canonical = coll::OpName(*op) + "=";
            if (!m_seen.insert(*op).second)
            {
                return Fail(word, "is a second algorithm for " + coll::OpName(*op), "");
            }
        }
        else if (m_all++)
        {
            return Fail(word, "is a second algorithm for all operations", "");
        }
        std::string rest = word.substr(equals == std::string::npos ? 0 : equals + 1);
        for (bool first = true; first || !rest.empty(); first = false)
        {
            const auto end = rest.find(';');
            const std::string part = rest.substr(0, end);
            rest = end == std::string::npos ? "" : rest.substr(end + 1);
            const std::string read = ReadPart(word, part, ops, equals != std::string::npos, rules);
            if (read.empty())
            {
                return "";
            }
            canonical += (first ? "" : ";") + read;
        }
        return canonical;
    }

  private:
    std::string Fail(const std::string& word,
                     const std::string& problem,
                     const std::string& nearest)
    {
        m_v->errors.push_back({m_v->values.Where(m_option), word, problem, nearest});
        return "";
    }

    static std::vector<std::string> OpNames()
    {
        std::vector<std::string> names;
        for (const coll::Op op : coll::AllOps())
        {
            names.push_back(coll::OpName(op));
        }
        return names;
    }

    /// NAME or NAME@FROM-TO.
    std::string ReadPart(const std::string& word,
                         const std::string& part,
                         const std::vector<coll::Op>& ops,
                         bool named,
                         std::vector<AlgorithmRule>* rules)
    {
        const auto at = part.find('@');
        const std::string wanted = part.substr(0, at);
        std::string name = MatchName(wanted, m_items);
        if (wanted.size() > kFile.size() &&
            wanted.compare(wanted.size() - kFile.size(), kFile.size(), kFile) == 0)
        {
            const std::string why = coll::RegisterMscclFile(wanted);
            if (!why.empty())
            {
                return Fail(word, why, "");
            }
            name = wanted;
        }
        if (name.empty())
        {
            std::vector<std::string> names;
            for (const NamedItem& item : m_items)
            {
                names.push_back(item.name);
            }
            return Fail(word,
                        "unknown algorithm; allowed: " + JoinNames(m_items) +
                            ", or a schedule's FILE.xml",
                        rdma::NearestName(wanted, names));
        }
        AlgorithmRule rule;
        rule.name = name;
        rule.ofAll = !named;
        std::string canonical = name;
        if (at != std::string::npos)
        {
            const std::string range = part.substr(at + 1);
            const auto dash = range.find('-');
            const auto from = rdma::ParseBytes(range.substr(0, dash));
            const std::string to = dash == std::string::npos ? "" : range.substr(dash + 1);
            const auto below = to.empty() ? rdma::Bytes(UINT64_MAX) : rdma::ParseBytes(to);
            if (dash == std::string::npos || !from || !below || from->value >= below->value)
            {
                return Fail(word,
                            "\"" + range +
                                "\" is no range of sizes; allowed: FROM-TO or FROM-, "
                                "from FROM on and below TO, as 0-64K and 64K-",
                            "");
            }
            rule.from = from->value;
            rule.below = below->value;
            canonical += "@" + CanonicalBytes(rule.from) + "-" +
                         (to.empty() ? "" : CanonicalBytes(rule.below));
        }
        if (name == kAuto)
        {
            for (const coll::Op op : ops) // in place of what came before
            {
                rule.op = op;
                rules->push_back(rule);
            }
            return canonical;
        }
        for (const coll::Op op : ops)
        {
            if (coll::Find(op, name))
            {
                rule.op = op;
                rules->push_back(rule);
            }
            else if (named)
            {
                return Fail(word,
                            "does not do " + coll::OpName(op) +
                                "; allowed for it: " + coll::AlgorithmNames(op),
                            "");
            }
        }
        for (const auto& collective : m_used)
        {
            if (!named && !coll::Find(collective.op, name))
            {
                return Fail(word,
                            "does not do " + coll::OpName(collective.op) +
                                ", which this run needs; allowed for it: " +
                                coll::AlgorithmNames(collective.op) +
                                "; choose by operation, OP=NAME",
                            "");
            }
        }
        return canonical;
    }

    Validation* m_v;
    const std::vector<coll::Collective>& m_used;
    std::string m_option;
    std::vector<NamedItem> m_items;
    std::set<coll::Op> m_seen;
    uint32_t m_all = 0;
};

/// --dimensions.
void
ReadDimensions(Validation* v, std::vector<uint32_t>* dimensions)
{
    const std::string& text = v->values.Text("dimensions");
    std::string rest = text;
    while (true)
    {
        const auto end = rest.find('x');
        const std::string one = rest.substr(0, end);
        // Seven digits are more than there can be ranks.
        if (one.empty() || one.size() > 7 ||
            one.find_first_not_of("0123456789") != std::string::npos || std::stoul(one) == 0)
        {
            v->Fail("dimensions", "allowed: whole numbers from 1 on with x between them, as 4x4x8");
            dimensions->clear();
            return;
        }
        dimensions->push_back(static_cast<uint32_t>(std::stoul(one)));
        if (end == std::string::npos)
        {
            return;
        }
        rest = rest.substr(end + 1);
    }
}

/// What the tuner knows.
coll::Machine
MachineOf(const ClusterSpec& cluster, const FabricSpec& fabric, bool hasLibrary)
{
    coll::Machine machine;
    const topo::ScaleUp& links = cluster.server.scaleUp;
    machine.insideRate = static_cast<double>(links.perGpu.bps) / 8 * links.efficiency;
    if (links.between)
    {
        machine.island = links.island;
        machine.betweenRate =
            static_cast<double>(links.between->perGpu.bps) / 8 * links.between->efficiency;
    }
    machine.nicRate = static_cast<double>(fabric.nicRate.bps) / 8;
    machine.nics = std::max(1u, cluster.server.nics);
    machine.hasLibrary = hasLibrary;
    machine.library = cluster.server.library;
    return machine;
}

/// Options that no algorithm of the run reads are refused: they would do nothing. Where some do and
/// others do not, it is told.
void
CheckKnobs(Validation* v,
           const std::vector<CollectiveOptions*>& choices,
           const std::vector<UsedBy>& groups,
           const std::vector<coll::Placement>& placements)
{
    const auto given = [v](coll::Knob knob) { return v->values.Given(coll::KnobName(knob)); };
    if (std::none_of(coll::AllKnobs().begin(), coll::AllKnobs().end(), given))
    {
        return;
    }
    std::map<std::string, std::set<const coll::Algorithm*>> chosen; // by operation and name
    for (const CollectiveOptions* c : choices)
    {
        for (std::size_t g = 0; g < groups.size(); ++g)
            for (const auto& what : groups[g].collectives)
            {
                const coll::Algorithm* algorithm = ChoiceOf(*c, what, placements[g]).algorithm;
                auto& all = chosen[coll::OpName(what.op) + " (" + algorithm->Name() + ")"];
                all.insert(algorithm);
                if (!algorithm->Reads(coll::Knob::kLevels))
                {
                    continue;
                }
                for (const std::string& level : c->options.levels)
                {
                    for (const coll::Op op : coll::AllOps())
                    {
                        if (const coll::Algorithm* ofLevel = coll::Find(op, level))
                        {
                            all.insert(ofLevel);
                        }
                    }
                }
            }
    }
    for (const coll::Knob knob : coll::AllKnobs())
    {
        const std::string option = coll::KnobName(knob);
        if (!given(knob) || chosen.empty())
        {
            continue;
        }
        std::vector<std::string> others;
        for (const auto& [name, algorithms] : chosen)
        {
            if (std::none_of(algorithms.begin(), algorithms.end(), [&](const auto* algorithm) {
                    return algorithm->Reads(knob);
                }))
            {
                others.push_back(name);
            }
        }
        if (others.size() == chosen.size())
        {
            v->Fail(option,
                    "has no meaning for " + Join(others, ", ") + "; it belongs to " +
                        Join(coll::AlgorithmsReading(knob), ", ") + " (--algorithm)");
        }
        else if (!others.empty())
        {
            v->notes.push_back(v->values.Where(option) + " has no meaning for " +
                               Join(others, ", ") + ", of what this run does");
        }
    }
}

/// Protocols that NCCL's variables leave, none of which these servers have.
void
CheckNcclProtocols(Validation* v,
                   const CollectiveOptions& c,
                   const std::vector<coll::Collective>& used,
                   const coll::Placement& placement)
{
    for (const auto& what : used)
    {
        const auto limit = c.nccl.ofOp.find(what.op);
        if (c.protocol || limit == c.nccl.ofOp.end() || coll::IsExchange(what.op))
        {
            continue;
        }
        const auto& protocols = limit->second.protocols;
        if (!protocols.empty() && c.machine.hasLibrary &&
            std::none_of(protocols.begin(), protocols.end(), [&](topo::Protocol protocol) {
                return coll::WhyNotProtocol(protocol, placement, c.machine).empty();
            }))
        {
            v->Fail("nccl-env",
                    "NCCL_PROTO: " + coll::WhyNotProtocol(protocols.front(), placement, c.machine));
            return;
        }
    }
}

/// Whether no switch joins all servers as some do not reach others. Two on one cable do.
bool
AreApart(const ClusterSpec& cluster)
{
    if (!cluster.aggregators || !cluster.aggregators->Trees().empty())
    {
        return false;
    }
    const topo::Topology& topology = cluster.topology;
    const topo::NodeId first = topology.Hosts()[cluster.hostOfServer.front()];
    const topo::NodeId last = topology.Hosts()[cluster.hostOfServer.back()];
    bool byCable = false;
    for (topo::PortId nic = 0; nic < cluster.server.nics && cluster.servers == 2; ++nic)
    {
        byCable = byCable || topology.Peer(first, nic) == last;
    }
    return !byCable;
}

/// Whether a collective of the run is done by switches between servers.
bool
AnySwitches(const std::vector<CollectiveOptions*>& choices,
            const std::vector<UsedBy>& groups,
            const std::vector<coll::Placement>& placements)
{
    for (const CollectiveOptions* choice : choices)
    {
        for (std::size_t g = 0; g < groups.size(); ++g)
        {
            for (const auto& what : groups[g].collectives)
            {
                if (ChoiceOf(*choice, what, placements[g]).algorithm->Uses().fabricSwitches)
                {
                    return true;
                }
            }
        }
    }
    return false;
}

/// What an algorithm itself cannot do with these ranks and options: said once an operation.
/// `option`: which has chosen it.
void
CheckChoices(Validation* v,
             const CollectiveOptions& c,
             const std::vector<coll::Collective>& used,
             const ClusterSpec& cluster,
             const coll::Placement& placement,
             const std::string& option)
{
    const auto& values = v->values;
    // Who does not reach whom is said by who checks the network.
    const bool apart = AreApart(cluster);
    std::set<coll::Op> refused;
    for (const auto& collective : used)
    {
        const coll::Algorithm& algorithm = *ChoiceOf(c, collective, placement).algorithm;
        std::string why = algorithm.WhyNot(collective, placement, c.OptionsFor(collective.op));
        why = why.empty() ? WhyNotOnRails(c, algorithm, placement, collective.op) : why;
        if (why.empty() && c.protocol && c.protocol != topo::Protocol::kSimple &&
            !coll::ProtocolsInSwitches(algorithm).empty())
        {
            why = std::string("goes with protocol simple only, not with ") +
                  topo::ToString(*c.protocol);
        }
        if (why.empty() || (apart && algorithm.Uses().fabricSwitches) ||
            !refused.insert(collective.op).second)
        {
            continue;
        }
        const std::string blamed =
            values.Given("channels") && why.find("channel") != std::string::npos   ? "channels"
            : values.Given("dimensions") && why.find("torus") != std::string::npos ? "dimensions"
            : values.Given("parameter-servers") && why.find("server") != std::string::npos
                ? "parameter-servers"
            : values.Given("levels") && why.find("level") != std::string::npos ? "levels"
            : values.Given(option)                                             ? option
                                                                               : "";
        const std::string text = algorithm.Name() + " " + coll::OpName(collective.op) + ": " + why;
        const auto limit = c.nccl.ofOp.find(collective.op);
        if (!NamedFor(c, collective) && limit != c.nccl.ofOp.end() && limit->second.limited &&
            (blamed.empty() || blamed == option))
        {
            v->errors.push_back(
                {values.Where("nccl-env"), NcclVariableAsSet(c.nccl, "NCCL_ALGO"), text, ""});
        }
        else if (blamed.empty())
        {
            v->errors.push_back({"", "", text, ""});
        }
        else
        {
            v->Fail(blamed, text);
        }
    }
}

/// --in-server=formula: that there is one.
void
CheckFormulas(Validation* v,
              const CollectiveOptions& c,
              const std::vector<coll::Collective>& used,
              const coll::Placement& placement)
{
    if (!c.insideByFormula || coll::HasSeveralServers(placement))
    {
        return;
    }
    for (const auto& collective : used)
    {
        const coll::Algorithm& algorithm = *ChoiceOf(c, collective, placement).algorithm;
        if (!algorithm.CostOf(collective, placement, c.OptionsFor(collective.op)))
        {
            v->Fail("in-server",
                    algorithm.Name() + " " + coll::OpName(collective.op) +
                        " has no formula; allowed: messages, or another algorithm");
            return;
        }
    }
}

/// The choices of --compare: as the table's, but for the algorithm. \return whether there is no
/// error
bool
ReadCompared(Validation* v,
             const CollectiveOptions& table,
             const std::vector<coll::Collective>& used,
             std::vector<Compared>* compared)
{
    for (Compared& other : *compared)
    {
        if (other.name.find_first_of("=@;") != std::string::npos)
        {
            v->errors.push_back({v->values.Where("compare"),
                                 other.name,
                                 "is no algorithm; allowed: " + coll::AlgorithmNames(used[0].op) +
                                     ", auto, or a schedule's FILE.xml",
                                 ""});
            return false;
        }
        other.collectives = table;
        other.collectives.algorithms.clear();
        RuleReader names(v, used, "compare");
        other.name = names.Read(other.name, &other.collectives.algorithms);
        if (other.name.empty())
        {
            return false;
        }
    }
    return true;
}

} // namespace

CollectiveOptions
MakeCollectives(Validation* v,
                ClusterSpec* cluster,
                const FabricSpec& fabric,
                const NcclLimits& nccl,
                const CollectivesOfRun& run,
                std::vector<Compared>* compared)
{
    const std::vector<UsedBy>& groups = run.groups;
    std::vector<coll::Collective> used;
    for (const UsedBy& group : groups)
    {
        used.insert(used.end(), group.collectives.begin(), group.collectives.end());
    }
    CollectiveOptions c;
    c.nccl = nccl;
    auto& values = v->values;
    c.options.channels = values.Present("channels") ? values.U32("channels") : 0;
    c.options.pipelineBytes = values.Present("pipeline") ? values.Integer("pipeline") : 0;
    c.options.radix = values.Present("radix") ? values.U32("radix") : 0;
    c.options.levels = values.List("levels");
    c.options.parameterServers =
        values.Present("parameter-servers") ? values.U32("parameter-servers") : 0;
    if (values.Present("dimensions"))
    {
        ReadDimensions(v, &c.options.dimensions);
    }
    c.stepLatency = values.Duration("step-latency");
    c.insideByFormula = values.Text("in-server") == "formula";
    if (c.insideByFormula && c.stepLatency.ps > 0)
    {
        v->Fail("step-latency", "is of messages; allowed with --in-server=formula: 0");
    }
    const bool hasLibrary = values.Text("library") != "none";
    const std::string& protocol = values.Text("protocol");
    if (protocol != kAuto)
    {
        if (!hasLibrary)
        {
            v->Fail("protocol",
                    "has no meaning with --library=none, where nothing takes time but "
                    "links; allowed there: auto");
        }
        for (const topo::Protocol one : topo::kChoosableProtocols)
        {
            if (protocol == topo::ToString(one))
            {
                c.protocol = one;
            }
        }
    }
    const size_t before = v->errors.size();
    RuleReader reader(v, used);
    std::vector<std::string> canonical;
    for (const auto& word : values.List("algorithm"))
    {
        canonical.push_back(reader.Read(word, &c.algorithms));
    }
    // What is said of an operation is said of it alone, wherever it stands.
    std::stable_sort(
        c.algorithms.begin(),
        c.algorithms.end(),
        [](const AlgorithmRule& a, const AlgorithmRule& b) { return a.ofAll && !b.ofAll; });
    if (v->errors.size() != before || !cluster)
    {
        return c;
    }
    if (!canonical.empty())
    {
        v->Decide("algorithm", Join(canonical, ","));
    }
    c.machine = MachineOf(*cluster, fabric, hasLibrary);
    std::vector<CollectiveOptions*> choices = {&c};
    if (compared && !used.empty())
    {
        if (!ReadCompared(v, c, used, compared))
        {
            return c;
        }
        for (Compared& other : *compared)
        {
            choices.push_back(&other.collectives);
        }
    }
    ApplyRails(v, *cluster, choices);
    // A list of NCCL's may name switches, and the tuner take something else of it for all that the
    // run does: then there are none.
    const topo::Topology without = c.nccl.ofOp.empty() ? topo::Topology() : cluster->topology;
    AddFabricSwitches(v, cluster, choices, run);
    coll::Placement all;
    std::vector<coll::Placement> placements;
    const auto place = [&] {
        all = RankPlacement(*cluster);
        placements.clear();
        for (const UsedBy& group : groups)
        {
            placements.push_back(group.ranks.empty() ? all : PlacementOf(*cluster, group.ranks));
        }
    };
    place();
    if (cluster->aggregators && !c.nccl.ofOp.empty() && !run.andOthers &&
        !AnySwitches(choices, groups, placements))
    {
        cluster->topology = without;
        cluster->aggregators = nullptr;
        place();
    }
    for (std::size_t g = 0; g < groups.size() && v->errors.size() == before; ++g)
    {
        CheckNcclLimits(v, c, groups[g].collectives, placements[g]);
    }
    if (v->errors.size() != before)
    {
        return c;
    }
    const auto checkChoices = [&](const CollectiveOptions& options, const char* option) {
        for (std::size_t g = 0; g < groups.size() && v->errors.size() == before; ++g)
        {
            CheckChoices(v, options, groups[g].collectives, *cluster, placements[g], option);
            CheckFormulas(v, options, groups[g].collectives, placements[g]);
        }
    };
    checkChoices(c, "algorithm");
    const std::string why = c.protocol ? coll::WhyNotProtocol(*c.protocol, all, c.machine) : "";
    if (!why.empty())
    {
        v->Fail("protocol", why);
    }
    for (std::size_t g = 0; g < groups.size() && v->errors.size() == before; ++g)
    {
        CheckNcclProtocols(v, c, groups[g].collectives, placements[g]);
    }
    for (std::size_t i = 1; i < choices.size(); ++i)
    {
        checkChoices(*choices[i], "compare");
    }
    if (v->errors.size() == before)
    {
        CheckKnobs(v, choices, groups, placements);
        if (!used.empty() && !run.andOthers)
        {
            NoteIdleRules(v, c, used);
        }
    }
    return c;
}

} // namespace scenario
