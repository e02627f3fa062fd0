/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * What stats.json has of each job.
 */
#include "jobs-member.h"
#include "reports/programs/serving-results.h"
#include "reports/schema/quantiles.h"
#include "reports/stats/loss-counts.h"

namespace dltrain
{

namespace
{

uint32_t
GpusOf(const scenario::Job& job)
{
    const scenario::ClusterSpec& cluster = job.scenario->cluster;
    return cluster.servers * cluster.server.gpus;
}

} // namespace

struct JobsSimulation::Told
{
    const Member& of;
    const Measured& alone;

    const scenario::ClusterSpec& Cluster() const
    {
        return of.m_job.scenario->cluster;
    }
};

const reports::Object<JobsSimulation::Told>&
JobsSimulation::JobKeys()
{
    using T = Told;
    using reports::Key;
    static const reports::Object<T> keys{
        {"name: Name in the file, else job-N", [](const T& t) { return t.of.m_job.name; }},
        {"kind: training, collective, flows or serving",
         [](const T& t) { return scenario::JobKindName(t.of.m_job.kind); }},
        {"start_us (us): When it begins",
         [](const T& t) { return static_cast<double>(t.of.m_job.start.ps) * 1e-6; }},
        Key<T>("end_us (us): When its last step or flow had ended, and others could know",
               [](const T& t) { return static_cast<double>(t.of.m_end) * 1e-6; })
            .NullUnless([](const T& t) { return t.of.m_end != 0; }),
        Key<T>("model: The model that is trained or served",
               [](const T& t) { return t.of.m_job.scenario->model; })
            .Only([](const T& t) { return t.of.m_training || t.of.m_serving; }),
        {"servers (count): Servers that it stands on",
         [](const T& t) { return t.Cluster().servers; }},
        {"gpus (count): GPUs of these", [](const T& t) { return GpusOf(t.of.m_job); }},
        {"hosts: Hosts of the network at which its servers stand",
         [](const T& t) { return t.Cluster().hostOfServer; }},
        {"time_us (us): Mean time of a measured step or repetition; flows: until the last has "
         "arrived; serving: of a request, from its arrival to its last token",
         [](const T& t) { return t.of.GetTime(); }},
        {"time_alone_us (us): The same simulated without other jobs and background",
         [](const T& t) { return t.alone.us; }},
        {"slower_by_others (ratio): time_us over time_alone_us; 1: others do not touch it",
         [](const T& t) {
             const std::optional<double> time = t.of.GetTime();
             return time && t.alone.us && *t.alone.us > 0
                        ? std::optional<double>(*time / *t.alone.us)
                        : std::nullopt;
         }},
        {"messages (count): Its messages between servers that arrived",
         [](const T& t) { return t.of.Totals().fct.Count(); }},
        {"bytes (B): Size of these messages", [](const T& t) { return t.of.Totals().bytes; }},
        {"fct_us (us): Completion time of its messages",
         [](const T& t) { return reports::ToJson(reports::QuantilesOf(t.of.Totals().fct, 1e6)); },
         reports::QuantileWords()},
        {"fct_slowdown (ratio): Completion time over that on the idle network",
         [](const T& t) { return reports::ToJson(reports::QuantilesOf(t.of.Totals().slowdown)); },
         reports::QuantileWords()},
        {"interference: What its messages waited for in switches; null: not known",
         [](const T& t) { return t.of.Interference(); },
         reports::Interference::Words()},
        Key<T>("waited_longest: What its messages waited for longest, and whom they meet, in "
               "words; null: not known",
               [](const T& t) { return t.of.WaitedWords(); })
            .NullUnless([](const T& t) { return !t.of.Interference().is_null(); })};
    return keys;
}

const reports::Object<JobsSimulation::Told>&
JobsSimulation::FlowKeys()
{
    using T = Told;
    using reports::Key;
    static const reports::Object<T> keys{
        {"pattern: Flows: who sends to whom", [](const T& t) { return t.of.m_job.pattern; }},
        Key<T>("protocol: Flows: protocol, if not RDMA",
               [](const T& t) { return t.of.m_job.protocol.Name(); })
            .Only([](const T& t) { return t.of.m_job.protocol.IsOrdinary(); }),
        {"flows (count): Flows: number", [](const T& t) { return t.of.m_job.flows.size(); }},
        {"flows_arrived (count): Flows: arrived",
         [](const T& t) { return t.of.m_flows->GetCounts().arrived; }},
        {"flows_failed (count): Flows: senders gave up",
         [](const T& t) { return t.of.m_flows->GetCounts().failed; }}};
    return keys;
}

namespace
{

/// A latency of a job that serves, when it is alone.
template <typename Told>
auto
AloneMs(reports::Quantiles reports::ServingStatistics::*latency)
{
    return [latency](const Told& t) {
        return t.alone.served ? reports::ToJson(*t.alone.served.*latency) : reports::Json();
    };
}

} // namespace

const reports::Object<JobsSimulation::Told>&
JobsSimulation::ServingKeys()
{
    using reports::QuantileWords;
    using reports::ServingStatistics;
    static const reports::Object<Told> keys{
        {"ttft_alone_ms (ms): Serving: time to the first token when the job is alone; null: not "
         "known",
         AloneMs<Told>(&ServingStatistics::ttftMs),
         QuantileWords()},
        {"tpot_alone_ms (ms): Serving: time of a token after it when the job is alone; null: not "
         "known",
         AloneMs<Told>(&ServingStatistics::tpotMs),
         QuantileWords()},
        {"e2e_alone_ms (ms): Serving: from the arrival to the last token when the job is alone; "
         "null: not known",
         AloneMs<Told>(&ServingStatistics::e2eMs),
         QuantileWords()}};
    return keys;
}

const reports::Object<JobsSimulation>&
JobsSimulation::Keys()
{
    static const reports::JoinedKeys words({&JobKeys(),
                                            &reports::TrainingResults::StepWords(),
                                            &FlowKeys(),
                                            &ServingKeys(),
                                            &reports::ServingShape(),
                                            &reports::LossWords()});
    using J = JobsSimulation;
    static const reports::Object<J> keys{
        {"gpus (count): GPUs, one rank each", [](const J& j) { return j.m_scenario.plan.ranks; }},
        {"servers (count): Servers", [](const J& j) { return j.m_scenario.cluster.servers; }},
        reports::Key<J>(
            "jobs: With --jobs: the jobs",
            [](const J& j) {
                reports::Json jobs = reports::Json::array();
                for (std::size_t i = 0; i < j.m_members.size(); ++i)
                {
                    jobs.push_back(j.m_members[i]->GetStatistics(j.AloneOf(i)));
                }
                return jobs;
            },
            static_cast<const reports::Shape&>(words))
            .List()};
    return keys;
}

const reports::RegisteredKeys JobsSimulation::g_keys(reports::Section::kOthers,
                                                     JobsSimulation::Keys());

nlohmann::ordered_json
JobsSimulation::Member::GetStatistics(const Measured& alone) const
{
    const Told told{*this, alone};
    reports::Json json = JobKeys().ToJson(told);
    if (m_serving)
    {
        ServingKeys().AddTo(json, told);
        reports::AddServing(json, Served());
    }
    else if (m_training)
    {
        json.update(m_training->GetStepStatistics());
    }
    else
    {
        FlowKeys().AddTo(json, told);
        AddLosses(*m_transport, json);
    }
    return json;
}

} // namespace dltrain
