/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "completion-file.h"

#include "contrib/dltrain/ranks/ranks.h"
#include "flow-runner.h"
#include "scenarios/traffic/hpcc-times.h"

#include <algorithm>
#include <cstdio>
#include <utility>

namespace dltrain
{

namespace
{

bool
IsAskedFor(const scenario::TrafficScenario& scenario)
{
    const nlohmann::json& asRun = scenario.run.asRun;
    const nlohmann::json::json_pointer path("/traffic/flows");
    return !(Ranks::OfHosts().IsFirst() && scenario.run.out.empty()) && asRun.contains(path) &&
           asRun[path].is_string();
}

} // namespace

int64_t
IdealCompletionPs(const scenario::TrafficScenario& scenario,
                  ns3::RdmaFabric& fabric,
                  const scenario::Flow& flow)
{
    const ns3::RdmaOperation verb = VerbOf(scenario.operation);
    const bool read = verb == ns3::RdmaOperation::READ;
    return fabric.GetIdealCompletion(read ? flow.dst : flow.src,
                                     read ? flow.src : flow.dst,
                                     flow.bytes,
                                     false,
                                     verb,
                                     scenario.completionAtSender,
                                     flow.trafficClass);
}

CompletionFile::CompletionFile(const scenario::TrafficScenario& scenario, ns3::RdmaFabric& fabric)
    : m_scenario(scenario),
      m_fabric(fabric),
      m_wanted(IsAskedFor(scenario))
{
    if (m_wanted && Ranks::OfHosts().IsFirst())
    {
        m_log.Open(scenario.run.out + "/fct.txt");
    }
    if (m_wanted && scenario.fabric.compat == "hpcc")
    {
        std::vector<uint16_t> next(scenario.topology.Nodes().size(), 10000);
        for (const scenario::Flow& flow : scenario.flows)
        {
            m_portsThere.push_back(next[scenario.topology.Endpoints()[flow.src].host]++);
        }
    }
}

/// The last column: the time alone, exactly; where completion is HPCC's own, as that code estimates
/// it.
void
CompletionFile::Write(uint32_t index, uint16_t sourcePort, int64_t now)
{
    const bool atSender = m_scenario.completionAtSender;
    const scenario::FabricSpec& fabric = m_scenario.fabric;
    const scenario::Flow& flow = m_scenario.flows[index];
    const auto address = [this](uint32_t endpoint) {
        const uint32_t node = m_scenario.topology.Endpoints()[endpoint].host;
        return 0x0b000001U + (node / 256 << 16) + (node % 256 << 8);
    };
    const auto ns = [](int64_t ps) { return static_cast<long long>((ps + 500) / 1000); };
    const long long alone = fabric.compat == "hpcc" && atSender
                                ? static_cast<long long>(scenario::HpccStandaloneNs(
                                      m_fabric.GetPath(flow.src, flow.dst),
                                      flow.bytes,
                                      fabric.mtu))
                                : ns(IdealCompletionPs(m_scenario, m_fabric, flow));
    const bool atSource = atSender && m_scenario.operation != scenario::FlowOperation::kRead;
    Line line{now, atSource ? flow.src : flow.dst, {}};
    std::snprintf(line.text,
                  sizeof(line.text),
                  "%08x %08x %u %u %llu %lld %lld %lld",
                  address(flow.src),
                  address(flow.dst),
                  m_portsThere.empty() ? sourcePort : m_portsThere[index],
                  flow.dport,
                  static_cast<unsigned long long>(flow.bytes),
                  ns(flow.start.ps),
                  ns(now - flow.start.ps),
                  alone);
    if (Ranks::OfHosts().Several())
    {
        m_lines.push_back(line);
        return;
    }
    m_log.Write(line.text);
}

void
CompletionFile::Close()
{
    // In the order of one process: see TraceCollector::Finish.
    std::vector<Line> lines = Ranks::OfHosts().GatherAll(m_lines);
    std::stable_sort(lines.begin(), lines.end(), [](const Line& a, const Line& b) {
        return std::make_pair(a.time, a.endpoint) < std::make_pair(b.time, b.endpoint);
    });
    for (const Line& line : lines)
    {
        m_log.Write(line.text);
    }
    m_log.Close();
}

} // namespace dltrain
