/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/network/background.h"

#include "contrib/rdma/core/nearest-name.h"
#include "scenarios/asked/fabric.h"
#include "scenarios/asked/run.h"
#include "scenarios/asked/traffic.h"
#include "scenarios/job/parse-result.h"
#include "scenarios/network/processes.h"
#include "scenarios/network/protocol-options.h"
#include "scenarios/network/traffic-flows.h"
#include "scenarios/network/transport-options.h"
#include "scenarios/options/options-detail.h"
#include "scenarios/traffic/random.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <numeric>
#include <set>

namespace scenario
{

namespace
{

/// Options of traffic that choose the flows, without those about the end of a run and about
/// measuring.
const std::vector<std::string>&
Keys()
{
    static const std::vector<std::string> keys = {
        "pattern",         "offset",       "fan-in",      "target",        "bytes",
        "sizes",           "start-jitter", "load",        "load-of",       "on-time",
        "off-time",        "on-off-times", "incast-load", "incast-fan-in", "incast-bytes",
        "incast-arrivals", "priority",     "flow-class",  "operation",     "protocol",
        "tcp-control",     "packet-mtu",   "rate"};
    return keys;
}

constexpr const char* kHostsKey = "hosts";
constexpr const char* kTwice = "stands there twice; allowed: once";

using Settings = std::vector<std::pair<std::string, std::string>>;

/// "a=1,b=2,3" is a = "1", b = "2,3": a piece without '=' goes on with the value before it.
Settings
SettingsOf(Validation* v, Member option)
{
    Settings settings;
    const std::string& text = v->values.At(option).text;
    for (std::size_t at = 0; at <= text.size();)
    {
        const std::size_t comma = std::min(text.find(',', at), text.size());
        const std::string piece = text.substr(at, comma - at);
        const std::size_t equals = piece.find('=');
        if (equals != std::string::npos)
        {
            settings.emplace_back(piece.substr(0, equals), piece.substr(equals + 1));
        }
        else if (!settings.empty() && !piece.empty())
        {
            settings.back().second += "," + piece;
        }
        else
        {
            v->errors.push_back({v->values.Where(option),
                                 piece,
                                 "allowed: KEY=VALUE,KEY=VALUE,..., as pattern=random,load=0.3",
                                 ""});
            return {};
        }
        at = comma + 1;
    }
    return settings;
}

/// "0-3,8": hosts of a network; nothing after an error.
std::vector<uint32_t>
HostsOf(const std::string& text, uint32_t hosts, std::string* problem)
{
    std::vector<uint32_t> list;
    std::set<uint32_t> seen;
    const auto number = [](const char* begin, const char* end, uint32_t* to) {
        const auto [after, bad] = std::from_chars(begin, end, *to);
        return bad == std::errc() && after == end;
    };
    for (std::size_t at = 0; at <= text.size();)
    {
        const std::size_t comma = std::min(text.find(',', at), text.size());
        const char* const begin = text.data() + at;
        const char* const end = text.data() + comma;
        const char* const dash = std::find(begin, end, '-');
        uint32_t first = 0;
        uint32_t last = 0;
        const bool ok = dash == end ? number(begin, end, &first) && number(begin, end, &last)
                                    : number(begin, dash, &first) && number(dash + 1, end, &last);
        if (!ok || first > last || last >= hosts)
        {
            *problem = "allowed: hosts 0 to " + std::to_string(hosts - 1) + ", as 0-3,8";
            return {};
        }
        for (uint32_t host = first; host <= last; ++host)
        {
            if (!seen.insert(host).second)
            {
                *problem = "names host " + std::to_string(host) + " twice; allowed: once";
                return {};
            }
            list.push_back(host);
        }
        at = comma + 1;
    }
    return list;
}

/// "--load" as "load" where it is a key of these flows, and no option of the program.
std::string
WithKeys(const std::string& text)
{
    std::string words;
    for (std::size_t at = 0; at < text.size();)
    {
        const auto isName = [](unsigned char c) { return std::islower(c) || c == '-'; };
        const auto end = static_cast<std::size_t>(
            std::find_if_not(text.begin() + static_cast<std::ptrdiff_t>(at), text.end(), isName) -
            text.begin());
        const std::string word = text.substr(at, std::max<std::size_t>(end - at, 1));
        const bool isOption =
            word.rfind("--", 0) == 0 &&
            std::find(Keys().begin(), Keys().end(), word.substr(2)) != Keys().end();
        words += isOption ? word.substr(2) : word;
        at += word.size();
    }
    return words;
}

/// Those hosts alone, on one switch: patterns ask for hosts, their ports and rates only.
topo::Topology
Among(const topo::Topology& topology, const std::vector<uint32_t>& hosts)
{
    topo::Topology some;
    const topo::NodeId hub = some.AddSwitch("hub", 1);
    for (const uint32_t host : hosts)
    {
        const topo::Node& node = topology.Nodes()[topology.Hosts()[host]];
        const topo::NodeId copy = some.AddHost(node.name);
        for (const topo::LinkId link : node.ports)
        {
            some.Connect(copy, hub, topology.Links()[link].rate, topology.Links()[link].delay);
        }
    }
    topo::Description about;
    about.partPorts = topology.About().partPorts;
    some.Describe(about);
    return some;
}

/// Makes the flows of each epoch.
struct Maker
{
    explicit Maker(Validation validation)
        : v(std::move(validation))
    {
    }

    Validation v;
    Network network;
    FabricSpec fabric;
    /// Endpoints of the whole network, by those of `network`
    std::vector<topo::EndpointId> endpoints;
    uint64_t seed = 1;

    TrafficScenario Make(uint32_t number)
    {
        TrafficScenario s;
        s.fabric = fabric;
        s.queuePairs = QueuePairUse::kReused;
        v.errors.clear();
        Value& drawn = v.values.Slot(&asked::Run::seed);
        drawn.present = drawn.given = true;
        // Another one each time, and another one than that of the job's own draws.
        drawn.integer = SeedOf(seed, kBackgroundStream + number);
        MakePatternFlows(&v, network, &s);
        for (Flow& flow : s.flows)
        {
            flow.src = endpoints[flow.src];
            flow.dst = endpoints[flow.dst];
        }
        return s;
    }
};

} // namespace

std::vector<Option>
BackgroundOptionRows()
{
    return {
        Section{"/run", "Run"}
            .Text("background",
                  "flows beside the job until it ends: options of traffic (pattern, load, sizes, "
                  "bytes, "
                  "...) and hosts=0-7,9; flows without a load repeat")
            .As(&asked::Run::background)
            .Shows("KEY=VALUE,...")
            .Otherwise("none")
            .Example("pattern=random,load=0.3"),
    };
}

void
SettleBackground(Validation* v, RunOptions* run)
{
    if (run->background && run->background->protocol.IsOrdinary()) // else a job may be
    {
        run->protocol = run->background->protocol;
        SettleThreads(v, run->protocol, run);
    }
}

std::string
BackgroundText(const Background& background)
{
    return background.pattern +
           (background.protocol.IsOrdinary() ? " by " + background.protocol.Text() : "") +
           " among " + std::to_string(background.hosts) + " hosts, " +
           (background.repeats ? "each flow again and again"
                               : "load " + detail::RealText(background.offered.load));
}

std::shared_ptr<const Background>
MakeFlowsAmong(const Settings& settings,
               const std::string& where,
               const topo::Topology& topology,
               const std::vector<uint32_t>& hosts,
               const FabricSpec& fabric,
               uint64_t seed,
               rdma::Duration epoch,
               const std::string& callers,
               std::vector<Error>* errors)
{
    const std::size_t before = errors->size();
    const OptionTable& table = TrafficOptionTable();
    ReadResult read;
    detail::SetDefaults(table, &read);
    std::set<std::string> seen;
    for (const auto& [key, text] : settings)
    {
        std::string name = key;
        std::replace(name.begin(), name.end(), '_', '-');
        const std::string at = where + key;
        const auto& keys = Keys();
        if (std::find(keys.begin(), keys.end(), name) == keys.end())
        {
            std::vector<std::string> allowed = keys;
            allowed.push_back(callers);
            errors->push_back({at,
                               text,
                               "unknown key; allowed: " + Join(allowed, ", "),
                               rdma::NearestName(name, allowed)});
            continue;
        }
        if (!seen.insert(name).second)
        {
            errors->push_back({at, text, kTwice, ""});
            continue;
        }
        Error error;
        if (!ParseValue(*table.Find(name), text, at, &read.values.Slot(name), &error))
        {
            errors->push_back(std::move(error));
        }
    }
    if (errors->size() != before)
    {
        return nullptr;
    }

    const auto maker = std::make_shared<Maker>(Validation{table, read.values, {}, {}});
    maker->fabric = fabric;
    maker->seed = seed;
    maker->network.topology = Among(topology, hosts);
    maker->network.valid = true;
    for (const uint32_t host : hosts)
    {
        const std::size_t ports = topology.Nodes()[topology.Hosts()[host]].ports.size();
        for (std::size_t port = 0; port < ports; ++port)
        {
            maker->endpoints.push_back(topology.EndpointOf(host, static_cast<topo::PortId>(port)));
        }
    }
    Validation& v = maker->v;
    const std::string pattern = v.values.Given(&asked::Traffic::pattern)
                                    ? v.values.Get(&asked::Traffic::pattern)
                                    : "permutation";
    if (HasLoad(pattern))
    {
        v.Decide(&asked::Traffic::duration, rdma::Duration(epoch.ps));
        v.values.Slot(&asked::Traffic::duration).given =
            true; // or the pattern decides on its own default
    }
    const ProtocolSpec protocol = ApplyProtocol(&v, fabric);
    std::vector<Error> ofProtocol;
    ofProtocol.swap(v.errors); // those of a part are forgotten when it is made
    const TrafficScenario first = maker->Make(0);
    v.errors.insert(v.errors.begin(), ofProtocol.begin(), ofProtocol.end());
    for (Error& error : v.errors)
    {
        if (first.flows.empty() && error.where == "--duration" &&
            error.problem.find("no flow starts") != std::string::npos)
        {
            continue; // a later epoch has some
        }
        if (error.where.rfind("--", 0) == 0 && error.where.rfind(where, 0) != 0)
        {
            error.where = where + error.where.substr(2);
        }
        error.problem = WithKeys(error.problem);
        errors->push_back(error);
    }
    if (errors->size() != before)
    {
        return nullptr;
    }
    auto background = std::make_shared<Background>();
    background->pattern = pattern;
    background->protocol = protocol;
    background->repeats = !HasLoad(pattern);
    background->queuePairs = background->repeats ? QueuePairUse::kPerPair : QueuePairUse::kReused;
    const std::string& operation = v.values.Get(&asked::Traffic::operation);
    background->operation = operation == "read"   ? FlowOperation::kRead
                            : operation == "send" ? FlowOperation::kSend
                                                  : FlowOperation::kWrite;
    if (background->operation == FlowOperation::kRead)
    {
        // Among READs on one queue pair it is not known which one has ended.
        background->queuePairs = QueuePairUse::kReused;
    }
    for (const Flow& flow : first.flows)
    {
        if (background->operation == FlowOperation::kSend && flow.bytes > 1ULL << 31)
        {
            errors->push_back({where + "operation",
                               operation,
                               "a flow of " + std::to_string(flow.bytes) +
                                   " B is no SEND; allowed: at most 2^31 B, or write",
                               ""});
            return nullptr;
        }
    }
    background->priority = static_cast<uint8_t>(
        v.values.Has(&asked::Traffic::priority) ? v.values.Get(&asked::Traffic::priority) : 3);
    background->trafficClass = first.flows.empty() ? 0 : first.flows.front().trafficClass;
    if (protocol.IsOrdinary() && seen.count("flow-class") > 0)
    {
        errors->push_back({where + "flow-class",
                           v.values.Get(&asked::Traffic::flowClass),
                           "is of RDMA's queue pairs, and these flows are by " + protocol.Name() +
                               "; allowed with it: priority",
                           ""});
        return nullptr;
    }
    const std::string& transport = background->trafficClass
                                       ? fabric.classes[background->trafficClass - 1].transport
                                       : fabric.transport.name;
    if (const std::string refusal = RefusalOfPriorities(transport);
        !refusal.empty() && !protocol.IsOrdinary() && seen.count("priority") > 0)
    {
        errors->push_back({where + "priority",
                           std::to_string(background->priority),
                           refusal + "; allowed with --transport=rc or irn",
                           ""});
        return nullptr;
    }
    if (!HasReads(fabric.transport) && !protocol.IsOrdinary() &&
        background->operation == FlowOperation::kRead)
    {
        errors->push_back({where + "operation",
                           operation,
                           "has no meaning with --transport=" + fabric.transport.name +
                               ": a READ's packets are sent by who is asked; allowed with it: "
                               "write, send",
                           ""});
        return nullptr;
    }
    if (background->repeats && background->operation == FlowOperation::kRead)
    {
        errors->push_back(
            {where + "operation",
             operation,
             "flows of a pattern without a load are no READs; allowed: write, send, or "
             "a pattern with a load",
             ""});
        return nullptr;
    }
    background->epoch = epoch;
    background->offered = first.offered;
    background->hosts = static_cast<uint32_t>(hosts.size());
    for (const topo::Link& link : maker->network.topology.Links())
    {
        background->rateBps += link.rate.bps;
    }
    background->flows = [maker](uint32_t epoch) { return maker->Make(epoch).flows; };
    return background;
}

std::shared_ptr<const Background>
MakeBackground(Validation* v, const topo::Topology& topology, const FabricSpec& fabric)
{
    if (!v->values.Given(&asked::Run::background))
    {
        return nullptr;
    }
    const std::size_t before = v->errors.size();
    if (v->values.Get(&asked::Fabric::network) != "packet")
    {
        v->Fail(&asked::Run::background,
                "meets others in queues, which are of packets; allowed: with --network=packet");
        return nullptr;
    }
    Settings settings = SettingsOf(v, &asked::Run::background);
    const std::string where = v->values.Where(&asked::Run::background) + ": ";
    std::vector<uint32_t> hosts;
    for (uint32_t host = 0; host < topology.Hosts().size(); ++host)
    {
        if (!topology.Nodes()[topology.Hosts()[host]].isUnit)
        {
            hosts.push_back(host);
        }
    }
    const auto some = std::find_if(settings.begin(), settings.end(), [](const auto& setting) {
        return setting.first == kHostsKey;
    });
    if (some != settings.end())
    {
        std::string problem;
        const std::string text = some->second;
        hosts = HostsOf(text, static_cast<uint32_t>(hosts.size()), &problem);
        if (hosts.empty())
        {
            v->errors.push_back({where + kHostsKey, text, problem, ""});
        }
        settings.erase(some);
        for (const auto& [key, again] : settings)
        {
            if (key == kHostsKey)
            {
                v->errors.push_back({where + kHostsKey, again, kTwice, ""});
            }
        }
    }
    const Processes processes = ProcessesOf(v->values);
    if (processes.Several())
    {
        v->Fail(&asked::Run::background, "is one process; allowed without " + processes.by);
    }
    if (v->errors.size() == before && hosts.size() < 2)
    {
        v->Fail(&asked::Run::background,
                "has " + std::to_string(hosts.size()) + " host; a flow needs two");
    }
    if (v->errors.size() != before)
    {
        return nullptr;
    }
    const auto background = MakeFlowsAmong(settings,
                                           where,
                                           topology,
                                           hosts,
                                           fabric,
                                           v->values.Get(&asked::Run::seed),
                                           rdma::Duration(kBackgroundEpochPs),
                                           kHostsKey,
                                           &v->errors);
    return background;
}

} // namespace scenario
