/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "tuner-measurement.h"

#include "collectives/core/registry.h"
#include "contrib/dltrain/base/console.h"
#include "contrib/dltrain/base/quiet-run.h"
#include "contrib/rdma/core/unit-strings.h"
#include "reports/base/human-text.h"
#include "scenarios/asked/collective.h"
#include "scenarios/collective/collective-options.h"
#include "scenarios/collective/measured-cache.h"
#include "scenarios/launch/interruption.h"
#include "scenarios/launch/output-folder.h"
#include "scenarios/options/member.h"
#include "simulate.h"
#include "topologies/names.h"

#include "ns3/node-windows.h"
#include "ns3/simulator.h"

#include <algorithm>
#include <iostream>

namespace dltrain
{

namespace
{

/// The options of a run's network alone, without events and outputs.
scenario::RunOptions
Alone(const scenario::RunOptions& run)
{
    scenario::RunOptions alone = WithoutOutputs(run);
    alone.progress = false;
    alone.attribution = false;
    alone.faults = {};
    alone.recovery = nullptr;
    alone.background = nullptr;
    return alone;
}

/// Those of a run, with one choice for one collective.
scenario::CollectiveOptions
With(scenario::CollectiveOptions options, coll::Op op, const coll::Choice& choice)
{
    options.measured = nullptr;
    options.algorithms = {{op, choice.algorithm->Name()}};
    // Others are not chosen: they follow from operation and algorithm.
    const auto& choosable = topo::kChoosableProtocols;
    options.protocol.reset();
    if (choice.protocol &&
        std::find(choosable.begin(), choosable.end(), *choice.protocol) != choosable.end() &&
        coll::ProtocolsInSwitches(*choice.algorithm).empty())
    {
        options.protocol = choice.protocol;
    }
    options.options.channels = choice.channels != 0 ? choice.channels : options.options.channels;
    return options;
}

} // namespace

TunerMeasurement::TunerMeasurement(const std::string& program,
                                   const scenario::RunOptions& run,
                                   const scenario::FabricSpec& fabric,
                                   const scenario::ClusterSpec& cluster,
                                   const scenario::CollectiveOptions& options,
                                   const scenario::MeasuredCollective& one,
                                   const coll::Choice& choice)
    : m_runOptions(Alone(run)),
      m_options(With(options, one.what.op, choice)),
      m_cluster(cluster),
      m_one(one),
      m_run(program,
            m_runOptions,
            fabric,
            {cluster.topology, cluster.topologyName, cluster.hostOfServer},
            {false, false, 0, NoOutput()})
{
}

std::optional<int64_t>
TunerMeasurement::Run()
{
    const int status = m_run.Run(*this);
    if (IsDone())
    {
        return m_last;
    }
    // A part that cannot be built reports it, and will do so for the run itself.
    return status == 2 ? std::nullopt : std::optional<int64_t>(0);
}

std::string
TunerMeasurement::Populate()
{
    m_interconnect = m_run.Connect(m_cluster);
    m_runner = std::make_unique<CollectiveRunner>(m_cluster, m_options, *m_interconnect, this);
    for (const std::vector<Rank>& ranks : m_one.groups)
    {
        m_communicators.push_back(m_runner->AddCommunicator(ranks));
        m_runner->Prepare(m_communicators.back(), m_one.what);
        m_ranks += ranks.size();
    }
    m_tag = m_run.Collector().Tag(coll::OpName(m_one.what.op));
    ns3::Simulator::ScheduleNow(&TunerMeasurement::EnterAll, this);
    return {};
}

void
TunerMeasurement::EnterAll()
{
    for (std::size_t g = 0; g < m_communicators.size(); ++g)
    {
        for (Rank position = 0; position < m_one.groups[g].size(); ++position)
        {
            m_runner->Start(m_communicators[g], position, m_one.what, m_tag, 0, 0);
        }
    }
}

void
TunerMeasurement::OnRankDone(const reports::CollectivePart& part, uint64_t, reports::PathRecord*)
{
    ns3::NodeWindows::Note<&TunerMeasurement::Hear>(this, part.left);
}

void
TunerMeasurement::Hear(const int64_t& left)
{
    m_last = std::max(m_last, left);
    if (++m_done == m_ranks)
    {
        m_run.Decide([this] { m_run.End(); });
    }
}

double
TunerMeasurement::GetShareDone() const
{
    return static_cast<double>(m_done) / static_cast<double>(m_ranks);
}

bool
TunerMeasurement::IsDone() const
{
    return m_ranks > 0 && m_done == m_ranks;
}

std::string
TunerMeasurement::DescribeUnfinished() const
{
    return {};
}

nlohmann::ordered_json
TunerMeasurement::GetStatistics() const
{
    return nlohmann::ordered_json::object();
}

void
TunerMeasurement::PrintSummary(std::ostream&, const reports::RunStats&) const
{
}

namespace
{

/// "all_reduce of 1 MiB, 16 ranks".
std::string
TextOf(const scenario::MeasuredCollective& one)
{
    return coll::OpName(one.what.op) + " of " + rdma::ToString(rdma::Bytes(one.range.at)) + ", " +
           topo::Counted(one.what.ranks, "rank") +
           (one.groups.size() > 1 ? " in each of " + std::to_string(one.groups.size()) + " groups"
                                  : "");
}

/// \return 0, or the exit status
int
Measure(const scenario::RunOptions& run,
        const scenario::FabricSpec& fabric,
        const scenario::ClusterSpec& cluster,
        const scenario::CollectiveOptions& collectives,
        scenario::MeasuredCollective& one)
{
    for (scenario::TriedChoice& tried : one.tried)
    {
        TunerMeasurement
            measurement(ProgramName(), run, fabric, cluster, collectives, one, tried.choice);
        const std::optional<int64_t> ps = measurement.Run();
        if (const int signal = scenario::Interruption())
        {
            scenario::DropOutput(run);
            return 128 + signal; // the code that keeps the measurements reports it
        }
        if (!ps)
        {
            scenario::DropOutput(run);
            return 2;
        }
        if (*ps == 0)
        {
            std::cerr << ProgramName()
                      << ": note: " + scenario::Spell(&scenario::asked::Collective::tuner) + ": "
                      << TextOf(one) << ": " << scenario::ChoiceText(tried.choice)
                      << " did not come to an end\n";
        }
        tried.ps = *ps;
    }
    return 0;
}

} // namespace

int
Tune(const scenario::RunOptions& run,
     const scenario::FabricSpec& fabric,
     const scenario::ClusterSpec& cluster,
     const scenario::CollectiveOptions& collectives)
{
    if (!collectives.measured)
    {
        return 0;
    }
    scenario::MeasuredChoices& choices = *collectives.measured;
    scenario::MeasuredCache cache(collectives.measuredFolder,
                                  scenario::MeasurementKey(run, cluster, collectives.machine));
    std::string problem = cache.Read(&choices);
    std::vector<scenario::MeasuredCollective*> unknown;
    std::size_t simulations = 0;
    for (scenario::MeasuredCollective& one : choices.All())
    {
        if (!one.IsKnown())
        {
            unknown.push_back(&one);
            simulations += one.tried.size();
        }
    }
    const auto fail = [&](const std::string& why) {
        return SayError(ProgramName(),
                        scenario::Spell(&scenario::asked::Collective::tunerCache) + ": " + why,
                        &run);
    };
    if (!problem.empty())
    {
        return fail(problem);
    }
    const std::size_t known = choices.All().size() - unknown.size();
    if (known > 0)
    {
        std::cerr << ProgramName()
                  << ": note: " + scenario::Spell(&scenario::asked::Collective::tuner) + ": "
                  << known << " of " << topo::Counted(choices.All().size(), "choice")
                  << " read from " << cache.File() << "\n";
    }
    if (unknown.empty())
    {
        return 0;
    }
    problem = scenario::WhyNotWritable(collectives.measuredFolder);
    if (!problem.empty())
    {
        return fail(collectives.measuredFolder + ": cannot be written: " + problem);
    }
    if (run.dryRun)
    {
        std::cerr << ProgramName()
                  << ": note: " + scenario::Spell(&scenario::asked::Collective::tuner) + ": "
                  << topo::Counted(unknown.size(), "choice")
                  << " would be measured first; here the formula's stand for them\n";
        return 0;
    }
    if (run.processes.Several())
    {
        return SayError(ProgramName(),
                        scenario::Spell(&scenario::asked::Collective::tuner) +
                            "=measured: " + topo::Counted(unknown.size(), "choice") +
                            " not measured yet, which one process does; allowed: with " +
                            run.processes.by + " what a run without has kept in " +
                            scenario::Spell(&scenario::asked::Collective::tunerCache),
                        &run);
    }
    problem = cache.Prepare();
    if (!problem.empty())
    {
        return fail(problem);
    }
    std::cerr << ProgramName()
              << ": note: " + scenario::Spell(&scenario::asked::Collective::tuner) + ": measuring "
              << topo::Counted(unknown.size(), "choice") << " ("
              << topo::Counted(simulations, "simulation") << ") for " << cache.File() << std::endl;
    std::size_t measured = 0;
    for (scenario::MeasuredCollective* one : unknown)
    {
        const int status = Measure(run, fabric, cluster, collectives, *one);
        if (scenario::Interruption() != 0)
        {
            std::cerr << ProgramName()
                      << ": interrupted while " +
                             scenario::Spell(&scenario::asked::Collective::tuner) + " measured: "
                      << topo::Counted(measured, "choice") << " of " << unknown.size()
                      << (measured ? " kept in " + cache.File() + "; the next run goes on there"
                                   : " kept")
                      << std::endl;
            return status;
        }
        if (status != 0)
        {
            return status;
        }
        ++measured;
        if (run.progress)
        {
            std::cerr << ProgramName() << ": " << TextOf(*one) << ": "
                      << scenario::ChoiceText(one->Best().choice) << ", "
                      << reports::HumanTime(reports::Us(one->Best().ps)) << std::endl;
        }
        // After each, so that nothing is lost of a run that is ended.
        problem = cache.Write(choices);
        if (!problem.empty())
        {
            fail(problem);
            return 1; // as of any file that could not be written
        }
    }
    return 0;
}

} // namespace dltrain
