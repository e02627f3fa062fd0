/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * A run, and its configuration as run.
 */
#include "contrib/rdma/core/shown-text.h"
#include "scenarios/asked/collective.h"
#include "scenarios/asked/fabric.h"
#include "scenarios/asked/network.h"
#include "scenarios/asked/run.h"
#include "scenarios/asked/training.h"
#include "scenarios/launch/launcher.h"
#include "scenarios/launch/ns3-environment.h"
#include "scenarios/network/capture-options.h"
#include "scenarios/network/fault-options.h"
#include "scenarios/network/network-kinds.h"
#include "scenarios/network/processes.h"
#include "scenarios/network/transport-options.h"
#include "scenarios/network/validate.h"
#include "scenarios/network/watch-options.h"
#include "scenarios/network/wiring-check.h"
#include "scenarios/placement/queue-pair-pattern.h"
#include "topologies/family.h"

#include <algorithm>

namespace scenario
{

namespace
{

bool
IsOfPackets(const Validation& v)
{
    FabricSpec fabric;
    fabric.network = v.values.Get(&asked::Fabric::network);
    return HasPackets(fabric);
}

/// Attributes are devices': without packets none of them would do anything.
void
RefuseAttributes(Validation* v, const RunOptions& run)
{
    if (IsOfPackets(*v))
    {
        return;
    }
    std::string first = run.attributes.empty() ? "" : run.attributes.front().first;
    for (const std::string& argument : run.ns3Arguments)
    {
        first = first.empty() && argument.rfind("--ns3::", 0) == 0 ? argument : first;
    }
    if (!first.empty())
    {
        v->errors.push_back(
            {"",
             "",
             first +
                 ": an attribute has no meaning without packets; allowed: with --network=packet",
             ""});
    }
}

/// An option of the command line, and the attribute there that it sets. (A configuration as run has
/// both: there the attribute is what counts.)
void
RefuseTwice(Validation* v, const RunOptions& run)
{
    for (const Option& option : v->table.options)
    {
        if (!v->values.Given(option.name) || v->values.Where(option.name).rfind("--", 0) != 0)
        {
            continue;
        }
        for (const std::string& attribute : option.attributes)
        {
            const auto also = std::find_if(run.ns3Arguments.begin(),
                                           run.ns3Arguments.end(),
                                           [begin = "--" + attribute + "="](const auto& argument) {
                                               return argument.rfind(begin, 0) == 0;
                                           });
            if (also != run.ns3Arguments.end())
            {
                v->Fail(option.name,
                        "is the attribute of " + rdma::Shown(*also, 100) +
                            ", too; allowed: one of them");
                break;
            }
        }
    }
}

} // namespace

/// Networks of files and of dimensions say the delays of their links.
void
NoteIdleDelay(Validation* v, const topo::Topology& topology)
{
    const Values& values = v->values;
    // (A configuration as run has all defaults.)
    const bool given = values.Given(&asked::Network::linkDelay) && v->errors.empty() &&
                       values.Where(&asked::Network::linkDelay).rfind("--", 0) == 0;
    const rdma::Duration delay = values.Get(&asked::Network::linkDelay);
    if (given && std::none_of(topology.Links().begin(),
                              topology.Links().end(),
                              [&](const topo::Link& link) { return link.delay == delay; }))
    {
        v->notes.push_back(values.Where(&asked::Network::linkDelay) +
                           " has no effect: the network says the delays of all its links");
    }
}

RunOptions
MakeRun(Validation* v, const ReadResult& read, const topo::Topology* topology)
{
    RunOptions run;
    v->Fill(&run);
    if (topology)
    {
        NoteIdleDelay(v, *topology);
    }
    const Launcher launcher = FindLauncher();
    const uint64_t ranks = v->values.Get(&asked::Run::mpiRanks);
    if (launcher.started && ranks > 1 && ranks != launcher.ranks)
    {
        const std::string size = std::to_string(launcher.ranks);
        v->Fail(&asked::Run::mpiRanks,
                "mpirun -np " + size + " has started " + size +
                    (launcher.ranks == 1 ? " process" : " processes") +
                    " already; allowed: one of the two");
    }
    std::vector<MpiHost> hosts;
    std::string job;
    if (const std::string problem = FindHosts(v->values, &hosts, &job); !problem.empty())
    {
        v->values.Given(&asked::Run::mpiHosts) ? v->Fail(&asked::Run::mpiHosts, problem)
                                               : v->Fail(&asked::Run::mpiRanks, problem);
    }
    run.processes = ProcessesOf(v->values);
    const bool several = run.processes.Several();
    run.engine =
        v->values.Given(&asked::Run::engine) ? v->values.Get(&asked::Run::engine) : "windows";
    run.threads = v->values.Given(&asked::Run::threads)
                      ? static_cast<uint32_t>(v->values.Get(&asked::Run::threads))
                  : run.engine == "windows" && !several ? 0
                                                        : 1;
    if (run.threads > 1 && run.engine != "windows")
    {
        v->Fail(&asked::Run::threads,
                "ns-3's engine has one thread; allowed: 1, or with --engine=windows");
    }
    else if (run.threads > 1 && !IsOfPackets(*v))
    {
        v->Fail(&asked::Run::threads,
                "a network without packets has one thread; allowed: 1, or with --network=packet");
    }
    if (!IsOfPackets(*v))
    {
        run.threads = 1;
    }
    if (run.threads > 1 && !run.pcap.empty())
    {
        v->Fail(&asked::Run::threads,
                "captures are written by one thread; allowed: 1, or without --pcap");
    }
    if (!run.pcap.empty())
    {
        run.threads = 1;
    }
    run.capture = MakeCapture(v, topology);
    run.watch = MakeWatch(v, topology);
    run.environment = ReadNs3Environment(&v->errors);
    if (topology)
    {
        CheckQueuePairPatterns(v, &asked::Run::traceQps, *topology);
        CheckQueuePairPatterns(v, &asked::Run::tracePaths, *topology);
    }
    if (!run.tracePaths.empty() && !run.attribution && IsOfPackets(*v))
    {
        v->Fail(&asked::Run::tracePaths,
                "ways are known with --attribution; allowed: with --attribution=1");
    }
    if (!run.tracePaths.empty() && several)
    {
        v->Fail(&asked::Run::tracePaths,
                "a frame's journey does not cross processes; allowed: without " + run.processes.by);
    }
    if (v->values.Given(&asked::Run::attribution) && run.attribution && several)
    {
        v->Fail(&asked::Run::attribution,
                "a frame's journey does not cross processes; allowed: 0, or without " +
                    run.processes.by);
    }
    run.processes.noAttribution = several && run.attribution;
    run.attribution &= !several;
    run.inputs = FilesOf(v->table, v->values);
    run.optionAttributes = AttributesOf(v->table, v->values);
    Append(&run.optionAttributes, TransportAttributes(*v));
    run.ns3Arguments = read.ns3Arguments;
    run.attributes = read.attributes;
    RefuseAttributes(v, run);
    RefuseTwice(v, run);
    run.faults = MakeFaults(v, topology, several ? run.processes.by : "");
    if (topology)
    {
        CheckWiring(v, *topology, several ? run.processes.by : "", Ns3SettingsOf(run));
        CheckCaptureNames(v, *topology);
    }
    return run;
}

nlohmann::json
AsRun(const Validation& v, const RunOptions& run, bool networkFromFile)
{
    // Where results go, and what does not change them.
    std::vector<std::string> except{"out", "progress", "engine", "threads"};
    for (const Member option : {Member(&asked::Run::report),
                                Member(&asked::Run::timeline),
                                Member(&asked::Training::exports),
                                Member(&asked::Run::mpiRanks)})
    {
        if (v.table.Find(option) && !v.values.Given(option))
        {
            except.push_back(v.values.NameOf(option));
        }
    }
    if (v.table.Find(&asked::Collective::tunerCache))
    {
        except.emplace_back("tuner-cache"); // a place, as --out
    }
    if (networkFromFile)
    {
        except.insert(except.end(), {"nic", "link-delay", "bit-error-rate"});
        for (const auto& shared : topo::AllParameters())
        {
            if (shared.parameter.always)
            {
                except.push_back(shared.parameter.name);
            }
        }
    }
    if (IsOfPackets(v))
    {
        except.push_back("network"); // what every configuration means
    }
    for (std::string& option : v.Hidden())
    {
        except.push_back(std::move(option));
    }
    nlohmann::json json = ToJson(v.table, v.values, except);
    json["given"] = GivenOf(v.table, v.values, except);
    if (run.processes.Several() || !IsOfPackets(v))
    {
        json["run"]["attribution"] = false; // so that it can be given to --scenario
    }
    // A configuration has them as the "ns3" object.
    for (const auto& [name, value] : Ns3SettingsOf(run))
    {
        json["ns3"][name] = value;
    }
    return json;
}

} // namespace scenario
