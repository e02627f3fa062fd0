/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/training/options/jobs.h"

#include "scenarios/asked/cluster.h"
#include "scenarios/asked/fabric.h"
#include "scenarios/asked/modes.h"
#include "scenarios/asked/network.h"
#include "scenarios/asked/run.h"
#include "scenarios/asked/training.h"
#include "scenarios/job/job-seat.h"
#include "scenarios/job/serving-scenario.h"
#include "scenarios/network/background.h"
#include "scenarios/network/cluster-options.h"
#include "scenarios/network/fault-options.h"
#include "scenarios/network/network-kinds.h"
#include "scenarios/network/parse-detail.h"
#include "scenarios/network/processes.h"
#include "scenarios/network/protocol-options.h"
#include "scenarios/network/recovery-options.h"
#include "scenarios/network/traffic-classes.h"
#include "scenarios/options/format.h"
#include "scenarios/placement/placement.h"
#include "scenarios/traffic/random.h"
#include "scenarios/training/options/job-validation.h"
#include "scenarios/training/options/jobs-reader.h"
#include "scenarios/training/options/launch-options.h"
#include "scenarios/training/options/training-options.h"
#include "topologies/family.h"
#include "topologies/names.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>

namespace scenario
{

namespace
{

/// Options of a section that no job of the file has a use for are mistakes.
void
CheckSections(Validation* v, const std::vector<JobText>& texts)
{
    const auto count = [&](JobKind kind) {
        return std::count_if(texts.begin(), texts.end(), [&](const JobText& text) {
            return text.job.kind == kind;
        });
    };
    const bool train = count(JobKind::kTraining) > 0;
    const bool communicate =
        train || count(JobKind::kCollective) > 0 || count(JobKind::kServing) > 0;
    v->Settle(when::TrainingJob(), train);
    v->Settle(when::CommunicatingJob(), communicate);
}

/// Where alone is long: the whole network is set up for each job.
void
NoteAlone(const JobSet& set, const topo::Topology& topology, std::vector<std::string>* notes)
{
    // 100 jobs on 432 hosts are set up in 3 s: assumed to be the longest time that needs no
    // message.
    constexpr uint64_t kManyLinks = 200000;
    const uint64_t links = set.jobs.size() * topology.Links().size();
    if (set.alone && links > kManyLinks)
    {
        notes->push_back("--alone simulates each of the " + std::to_string(set.jobs.size()) +
                         " jobs by itself first, each time with the whole network of " +
                         std::to_string(topology.Links().size()) +
                         " links; --alone=0 leaves that out");
    }
}

/// Problems of a job's validation, with its place in the file.
void
TakeErrors(const JobText& text, const std::vector<Error>& from, std::vector<Error>* errors)
{
    for (Error error : from)
    {
        if (error.where.rfind(text.where, 0) != 0)
        {
            error.where = text.where + (error.where.empty() ? "" : ": " + error.where);
        }
        errors->push_back(std::move(error));
    }
}

/// Why --layers is refused: steps with few blocks and with more meet different things.
constexpr const char* kNoLayers =
    "extrapolates from steps with few blocks, beside which other jobs do not stand still; allowed: "
    "without it, all blocks";

/// Puts the jobs of a file on one network.
class JobsOnNetwork
{
  public:
    explicit JobsOnNetwork(const ReadResult& read)
        : m_read(read),
          m_v{TrainingOptionTable(), read.values, {}, {}},
          m_set(std::make_shared<JobSet>())
    {
    }

    ParseResult<TrainingScenario> Validate();

  private:
    bool CheckOptions();
    bool CountServers();
    bool TakeHosts();
    bool Add(JobText& text);
    bool AddFlows(const JobText& text, const TrainingScenario& s, Job* job);
    bool AddServers(const JobText& text, const TrainingScenario& s);
    bool AddClass(const JobText& text, TrainingScenario* s, Job* job);
    bool Finish();
    bool Fail(const std::string& where, const std::string& value, const std::string& problem);

    /// The seed of the job that is added next: with equal seeds jobs would not be independent.
    uint64_t Seed() const
    {
        const uint64_t seed = m_read.values.Get(&asked::Run::seed);
        const std::size_t number = m_set->jobs.size();
        return number == 0 ? seed : SeedOf(seed, kJobStream + number);
    }

    /// Whether there were no problems. Those of m_v become those of the result.
    bool IsFine()
    {
        m_result.errors = m_v.errors;
        return m_result.errors.empty();
    }

    const ReadResult& m_read;
    Validation m_v;
    ParseResult<TrainingScenario> m_result;
    std::vector<JobText> m_texts;
    uint32_t m_together = 0;   ///< servers or, if there are more, hosts that jobs name
    std::vector<bool> m_taken; ///< by host: whether a job stands there
    TrainingScenario m_whole;
    std::shared_ptr<JobSet> m_set;
    ClassUses m_uses;                        ///< of jobs over RDMA
    std::optional<std::string> m_ofOrdinary; ///< name of the job of TCP
};

bool
JobsOnNetwork::Fail(const std::string& where, const std::string& value, const std::string& problem)
{
    m_result.errors.push_back({where, value, problem, ""});
    return false;
}

/// Options that do not go with --jobs.
bool
JobsOnNetwork::CheckOptions()
{
    m_v.Settle(&asked::Run::jobs);
    if (const Processes processes = ProcessesOf(m_v.values); processes.Several())
    {
        m_v.Fail(&asked::Run::jobs, "is one process; allowed without " + processes.by);
    }
    return IsFine();
}

/// A network for all of them, unless its size is said.
bool
JobsOnNetwork::CountServers()
{
    uint64_t servers = 0;
    uint32_t last = 0;
    for (const JobText& text : m_texts)
    {
        servers += text.servers;
        for (const uint32_t host : text.hosts)
        {
            last = std::max(last, host + 1);
        }
    }
    const uint64_t needed = std::max<uint64_t>(servers, last);
    if (m_read.values.Given(&asked::Cluster::servers) &&
        m_read.values.Get(&asked::Cluster::servers) < needed)
    {
        m_v.Fail(&asked::Cluster::servers,
                 "are too few for the jobs, which need " + std::to_string(needed) +
                     "; allowed: at least that");
    }
    m_together = static_cast<uint32_t>(needed);
    m_whole.cluster.servers = static_cast<uint32_t>(servers);
    return IsFine();
}

/// Jobs with a list of hosts come first: the others choose among the remaining hosts.
bool
JobsOnNetwork::TakeHosts()
{
    for (const JobText& text : m_texts)
    {
        for (std::size_t i = 0; i < text.hosts.size(); ++i)
        {
            const uint32_t host = text.hosts[i];
            m_taken.resize(std::max<std::size_t>(m_taken.size(), host + 1), false);
            if (m_taken[host])
            {
                return Fail(text.where + "/hosts/" + std::to_string(i),
                            std::to_string(host),
                            "another job stands there; allowed: hosts of no other job");
            }
            m_taken[host] = true;
        }
    }
    return true;
}

/// The flows of a job, which are among its servers.
bool
JobsOnNetwork::AddFlows(const JobText& text, const TrainingScenario& s, Job* job)
{
    if (text.servers < 2)
    {
        return Fail(text.where + (text.hosts.empty() ? "/servers" : "/hosts"),
                    text.hosts.empty() ? "1" : "",
                    "is one server, a flow needs two; allowed: 2 or more");
    }
    const auto flows = MakeFlowsAmong(text.flows,
                                      text.where + "/flows/",
                                      s.cluster.topology,
                                      s.cluster.hostOfServer,
                                      s.fabric,
                                      text.read.seat->seed,
                                      text.duration.value_or(rdma::Duration(kBackgroundEpochPs)),
                                      "duration",
                                      &m_result.errors);
    if (!flows)
    {
        return false;
    }
    if (flows->repeats && text.duration)
    {
        return Fail(text.where + "/flows/duration",
                    CanonicalDuration(text.duration->ps),
                    "is of flows with a load; pattern " + flows->pattern +
                        " has each of its flows once; allowed: without");
    }
    if (flows->protocol.IsOrdinary() && m_ofOrdinary)
    {
        // Ports count ordinary packets together.
        return Fail(text.where + "/flows/protocol",
                    flows->protocol.Name(),
                    "job " + *m_ofOrdinary +
                        " is by TCP or UDP, too, and at ports it is not told whose such packets "
                        "are; allowed: one such job, with the servers of both");
    }
    if (flows->protocol.IsOrdinary())
    {
        m_ofOrdinary = job->name;
    }
    job->protocol = flows->protocol;
    job->flows = flows->flows(0);
    job->pattern = flows->pattern;
    job->operation = flows->operation;
    if (job->flows.empty())
    {
        return Fail(text.where + "/flows/duration",
                    "",
                    "is too short: at this load no flow starts in this time; allowed: a longer "
                    "one, or more load");
    }
    for (Flow& flow : job->flows)
    {
        flow.start.ps += job->start.ps;
    }
    return true;
}

/// Servers and network are the first job's; the others have to have the same.
bool
JobsOnNetwork::AddServers(const JobText& text, const TrainingScenario& s)
{
    if (m_set->jobs.empty())
    {
        m_whole.run = s.run;
        m_whole.fabric = s.fabric;
        m_whole.cluster.server = s.cluster.server;
        m_whole.cluster.topology = s.cluster.topology;
        m_whole.cluster.topologyName = s.cluster.topologyName;
        m_whole.gpu = s.gpu;
    }
    else if (s.cluster.server.nics != m_whole.cluster.server.nics ||
             s.fabric.nic != m_whole.fabric.nic ||
             s.cluster.server.gpus != m_whole.cluster.server.gpus)
    {
        return Fail(text.where,
                    "",
                    "has other servers than the first job; allowed: one --server, --nic, "
                    "--nics-per-server and --gpus-per-server for all");
    }
    m_whole.plan.ranks += s.cluster.servers * s.cluster.server.gpus;
    return true;
}

/// The traffic class of a job's messages.
bool
JobsOnNetwork::AddClass(const JobText& text, TrainingScenario* s, Job* job)
{
    if (!text.wish.Said().empty() && job->protocol.IsOrdinary())
    {
        return Fail(text.where + "/" + text.wish.Said().front().first,
                    text.wish.Said().front().second,
                    "is of RDMA's queue pairs, and the job's flows are by " + job->protocol.Name() +
                        "; allowed with it: flows/priority");
    }
    ClassProblem problem;
    const auto found = FindTrafficClass(&m_whole.fabric, text.wish, &problem);
    if (!found)
    {
        m_result.errors.push_back(
            {text.where + "/" + problem.key, problem.value, problem.problem, problem.nearest});
        return false;
    }
    if (!HasPackets(m_whole.fabric) && !text.wish.Said().empty())
    {
        return Fail(text.where + "/" + text.wish.Said().front().first,
                    text.wish.Said().front().second,
                    "is of packets; allowed with --network=" + m_whole.fabric.network +
                        ": without");
    }
    if (m_whole.fabric.infiniBand && !text.wish.Said().empty())
    {
        return Fail(text.where + "/" + text.wish.Said().front().first,
                    text.wish.Said().front().second,
                    "is of Ethernet; allowed with --fabric=ib: without");
    }
    s->cluster.channelClass = *found;
    for (Flow& flow : job->flows)
    {
        flow.trafficClass = found->trafficClass ? found->trafficClass : flow.trafficClass;
        flow.priority = found->priority.value_or(flow.priority);
    }
    if (job->kind != JobKind::kFlows)
    {
        m_uses.emplace(found->trafficClass, found->priority.value_or(kJobPriority));
    }
    else if (!job->protocol.IsOrdinary())
    {
        m_uses.emplace(job->flows.front().trafficClass, job->flows.front().priority);
    }
    return true;
}

bool
JobsOnNetwork::Add(JobText& text)
{
    if (text.job.kind != JobKind::kServing && text.read.values.Given(&asked::Training::layers))
    {
        return Fail(text.where + "/training/layers",
                    std::to_string(text.read.values.Get(&asked::Training::layers)),
                    kNoLayers);
    }
    auto seat = std::make_shared<JobSeat>();
    seat->servers = text.servers;
    seat->together = m_together;
    seat->hosts = text.hosts;
    seat->taken = m_taken;
    seat->seed = Seed();
    text.read.seat = seat;
    std::shared_ptr<ServingScenario> serving;
    ParseResult<TrainingScenario> made =
        text.job.kind == JobKind::kTraining  ? ValidateTraining(text.read)
        : text.job.kind == JobKind::kServing ? ValidateServed(text.read, &serving)
                                             : ValidateServers(text);
    TakeErrors(text, made.errors, &m_result.errors);
    if (!m_result.errors.empty())
    {
        return false;
    }
    TrainingScenario& s = *made.scenario;
    if (m_result.notes.empty())
    {
        m_result.notes = made.notes; // notes about the network, the same for all
    }
    for (const uint32_t host : s.cluster.hostOfServer)
    {
        m_taken.resize(std::max<std::size_t>(m_taken.size(), host + 1), false);
        m_taken[host] = true;
        m_whole.cluster.hostOfServer.push_back(host);
    }
    if (s.cluster.aggregators)
    {
        return Fail(text.where,
                    "",
                    "switches between servers add up for one job only; allowed: other algorithms");
    }
    Append(&m_whole.run.inputs, s.run.inputs);
    Job job = std::move(text.job);
    if ((job.kind == JobKind::kFlows && !AddFlows(text, s, &job)) || !AddServers(text, s) ||
        !AddClass(text, &s, &job))
    {
        return false;
    }
    s.cluster.topology = m_whole.cluster.topology; // the same, kept but once
    if (serving)
    {
        serving->cluster = s.cluster;
        job.serving = std::move(serving);
    }
    job.scenario = std::make_shared<const TrainingScenario>(std::move(s));
    m_set->jobs.push_back(std::move(job));
    return true;
}

/// Settles the events beside the jobs.
bool
JobsOnNetwork::Finish()
{
    RunOptions& run = m_whole.run;
    run.background = MakeBackground(&m_v, m_whole.cluster.topology, m_whole.fabric);
    bool several = run.background && run.background->priority != kJobPriority;
    for (const Job& job : m_set->jobs)
    {
        const uint8_t own = job.scenario->cluster.channelClass.priority.value_or(kJobPriority);
        const bool other = (job.flows.empty() ? own : job.flows.front().priority) != kJobPriority;
        several |= other;
        if (!job.protocol.IsOrdinary())
        {
            continue;
        }
        if (run.background && run.background->protocol.IsOrdinary())
        {
            m_v.Fail(&asked::Run::background,
                     "is by " + run.background->protocol.Text() + ", and job " + job.name + " by " +
                         job.protocol.Text() +
                         ": at ports it is not told whose such packets are; allowed: one of them");
        }
        run.protocol = job.protocol;
        SettleThreads(&m_v, job.protocol, &run);
    }
    SettleBackground(&m_v, &run);
    const auto told = static_cast<std::ptrdiff_t>(m_v.notes.size()); // by the jobs, too
    if (run.background && !run.background->protocol.IsOrdinary())
    {
        m_uses.emplace(run.background->trafficClass, run.background->priority);
    }
    SettleTrafficClasses(&m_v, m_whole.fabric, m_uses, &run);
    m_v.Settle(when::SeveralPriorities(), several);
    run.faults = MakeFaults(&m_v, &m_whole.cluster.topology, "");
    m_result.notes.insert(m_result.notes.end(), m_v.notes.begin() + told, m_v.notes.end());
    NoteAlone(*m_set, m_whole.cluster.topology, &m_result.notes);
    const bool fromFile = !topo::FamilyOfParameters(m_read.values.Get(&asked::Network::topology));
    nlohmann::json settled = AsRun(m_v, run, fromFile);
    LeaveToJobs(m_v, &settled);
    // Classes of several jobs decide it, not the first job.
    const nlohmann::json::json_pointer naks(m_v.table.Find(&asked::Fabric::nakInterval)->path);
    const nlohmann::json interval = settled.value(naks, nlohmann::json());
    run.asRun = AsRunTogether(std::move(settled), run.asRun);
    if (m_v.values.Get(&asked::Fabric::nakInterval).ps > 0)
    {
        run.asRun[naks] = interval;
    }
    return IsFine();
}

ParseResult<TrainingScenario>
JobsOnNetwork::Validate()
{
    if (!CheckOptions())
    {
        return std::move(m_result);
    }
    m_texts = ReadJobs(m_read, m_v.values.Get(&asked::Run::jobs), &m_result.errors);
    if (!m_result.errors.empty())
    {
        return std::move(m_result);
    }
    CheckSections(&m_v, m_texts);
    if (!IsFine() || !CountServers() || !TakeHosts())
    {
        return std::move(m_result);
    }
    m_set->alone = m_read.values.Get(&asked::Run::alone);
    for (JobText& text : m_texts)
    {
        if (!Add(text))
        {
            return std::move(m_result);
        }
    }
    m_whole.jobs = m_set;
    if (Finish())
    {
        m_result.scenario = std::move(m_whole);
    }
    return std::move(m_result);
}

} // namespace

std::vector<Option>
JobsOptionRows()
{
    return {
        Section{"/run", "Run"}
            .File("jobs",
                  "several jobs on this network: a JSON file {\"jobs\": [...]}, each with its "
                  "servers and a model that is trained or served, a collective or flows")
            .As(&asked::Run::jobs)
            .Otherwise("one job, as the options say"),
        Section{"/run", "Run"}
            .Flag("alone",
                  "jobs: simulate each of them by itself as well, on the same servers, and tell "
                  "how much "
                  "slower it is with the others")
            .As(&asked::Run::alone)
            .Default("1")
            .Only(when::With("jobs")),
    };
}

ParseResult<TrainingScenario>
ValidateJobs(const ReadResult& read)
{
    return JobsOnNetwork(read).Validate();
}

} // namespace scenario
