/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/spec/jobs.h"

#include "collectives/registry.h"
#include "contrib/rdma/core/nearest-name.h"
#include "contrib/rdma/core/shown-text.h"
#include "contrib/rdma/core/unit-strings.h"
#include "scenarios/spec/background.h"
#include "scenarios/spec/cluster-options.h"
#include "scenarios/spec/collective-options.h"
#include "scenarios/spec/format.h"
#include "scenarios/spec/nccl-environment.h"
#include "scenarios/spec/options-detail.h"
#include "scenarios/spec/parse-detail.h"
#include "scenarios/spec/placement.h"
#include "scenarios/spec/processes.h"
#include "scenarios/spec/protocol-options.h"
#include "scenarios/spec/recovery-options.h"
#include "scenarios/spec/training-options.h"
#include "topologies/family.h"
#include "topologies/json-reader.h"
#include "topologies/json-text.h"
#include "topologies/names.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <set>

namespace scenario
{

using nlohmann::json;

namespace
{

constexpr std::size_t kMostJobs = 1000;
constexpr uint64_t kMostIterations = 1000000;

/// Sections of a scenario that are a job's own; the others are the network's and the run's.
const std::vector<std::string> kSections = {"training", "collectives"};

/// Options in these that are no job's own: its servers say how many GPUs it has.
const std::vector<std::string> kNotOfJobs = {"gpus"};

/// What a job's text gave, before the network is known.
struct JobText
{
    Job job;
    std::string where; ///< "jobs.json: /jobs/0"
    uint32_t servers = 0;
    std::vector<uint32_t> hosts; ///< empty: the policy chooses
    ReadResult read;
    // kCollective
    uint32_t iterations = 1;
    uint32_t warmup = 0;
    // kFlows
    std::vector<std::pair<std::string, std::string>> flows;
    std::optional<rdma::Duration> duration; ///< nothing: not said
};

/// Reads one file; mistakes are collected with their place in it.
class JobsReader
{
  public:
    JobsReader(const ReadResult& base, std::string file, std::vector<Error>* errors)
        : m_base(base),
          m_file(std::move(file)),
          m_errors(errors)
    {
    }

    std::vector<JobText> Read()
    {
        std::vector<topo::Error> errors;
        const auto text = topo::ReadWholeFile(m_file, errors);
        if (!text)
        {
            for (const topo::Error& e : errors)
            {
                m_errors->push_back({m_base.values.Where("jobs"), m_file, e.problem, ""});
            }
            return {};
        }
        const topo::JsonText parsed = topo::ParseJsonText(*text, m_file);
        if (parsed.error)
        {
            m_errors->push_back({"", "", parsed.error.Sentence(), ""});
            return {};
        }
        const json& root = parsed.value;
        if (!root.is_object() || !root.contains("jobs") || !root["jobs"].is_array() ||
            root["jobs"].empty() || root["jobs"].size() > kMostJobs)
        {
            Fail("/jobs",
                 root.is_object() && root.contains("jobs") ? root["jobs"] : json(),
                 "allowed: {\"jobs\": [{\"servers\": 2, ...}, ...]}, a list of 1 to " +
                     std::to_string(kMostJobs) + " jobs");
            return {};
        }
        Known("", root, {"jobs", "description"});
        std::vector<JobText> jobs;
        std::set<std::string> names;
        for (std::size_t i = 0; i < root["jobs"].size() && m_errors->empty(); ++i)
        {
            const std::string path = "/jobs/" + std::to_string(i);
            jobs.push_back(ReadJob(path, root["jobs"][i], i));
            if (m_errors->empty() && !names.insert(jobs.back().job.name).second)
            {
                Fail(path + "/name",
                     jobs.back().job.name,
                     "is another job's name; allowed: a new one");
            }
        }
        return jobs;
    }

  private:
    void Fail(const std::string& path,
              const json& value,
              const std::string& problem,
              const std::string& nearest = "")
    {
        m_errors->push_back(
            {m_file + ": " + path,
             value.is_null() ? "" : value.dump(-1, ' ', false, json::error_handler_t::replace),
             problem,
             nearest});
    }

    /// All keys of an object are among these.
    bool Known(const std::string& path, const json& object, const std::vector<std::string>& keys)
    {
        for (const auto& [key, value] : object.items())
        {
            if (std::find(keys.begin(), keys.end(), key) == keys.end())
            {
                Fail(path + "/" + key,
                     json(),
                     "unknown key; allowed in " + (path.empty() ? "the file" : path) + ": " +
                         Join(keys, ", "),
                     rdma::NearestName(key, keys));
                return false;
            }
        }
        return true;
    }

    /// A whole number of an object, or `usual` if it is not there.
    uint64_t Number(const std::string& path,
                    const json& object,
                    const std::string& key,
                    uint64_t usual,
                    uint64_t least,
                    uint64_t most)
    {
        const auto found = object.find(key);
        if (found == object.end())
        {
            return usual;
        }
        if (!found->is_number_unsigned() || found->get<uint64_t>() < least ||
            found->get<uint64_t>() > most)
        {
            Fail(path + "/" + key,
                 *found,
                 "allowed: a whole number, " + std::to_string(least) + " to " +
                     std::to_string(most));
            return usual;
        }
        return found->get<uint64_t>();
    }

    rdma::Duration Time(const std::string& path, const json& object, const std::string& key)
    {
        const auto found = object.find(key);
        if (found == object.end())
        {
            return {};
        }
        const auto time = found->is_string() ? rdma::ParseDuration(found->get<std::string>())
                                             : std::optional<rdma::Duration>();
        if (!time || time->ps > 1000000000000000)
        {
            Fail(path + "/" + key,
                 *found,
                 std::string(found->is_string() ? "" : "must be a string; ") +
                     "allowed: " + rdma::kDurationHelp + ", up to 1000s");
            return {};
        }
        return *time;
    }

    JobText ReadJob(const std::string& path, const json& object, std::size_t number)
    {
        JobText job;
        job.where = m_file + ": " + path;
        if (!object.is_object())
        {
            Fail(path, object, "must be an object such as {\"servers\": 2, \"training\": {...}}");
            return job;
        }
        std::vector<std::string> keys = {"name",
                                         "description",
                                         "servers",
                                         "hosts",
                                         "placement",
                                         "occupied",
                                         "start",
                                         "collective",
                                         "flows"};
        keys.insert(keys.end(), kSections.begin(), kSections.end());
        if (!Known(path, object, keys))
        {
            return job;
        }
        job.job.name = "job-" + std::to_string(number);
        if (const auto name = object.find("name"); name != object.end())
        {
            const std::string text = name->is_string() ? name->get<std::string>() : "";
            const bool plain = !text.empty() && text.size() <= 100 &&
                               std::all_of(text.begin(), text.end(), [](unsigned char c) {
                                   return std::isalnum(c) || c == '-' || c == '_' || c == '.';
                               });
            if (!plain)
            {
                Fail(path + "/name",
                     *name,
                     "allowed: letters, digits, '-', '_' and '.', at most 100 of them");
                return job;
            }
            job.job.name = text;
        }
        job.job.start = Time(path, object, "start");
        ReadServers(path, object, &job);
        if (object.contains("collective") && object.contains("flows"))
        {
            Fail(path + "/flows", json(), "stands beside collective; allowed: one of the two");
            return job;
        }
        if (object.contains("collective"))
        {
            ReadCollective(path + "/collective", object["collective"], &job);
        }
        if (object.contains("flows"))
        {
            ReadFlows(path + "/flows", object["flows"], &job);
        }
        if (job.job.kind != JobKind::kTraining && object.contains("training"))
        {
            Fail(path + "/training",
                 json(),
                 "has no meaning for a job of kind " + JobKindName(job.job.kind));
        }
        if (job.job.kind == JobKind::kFlows && object.contains("collectives"))
        {
            Fail(path + "/collectives", json(), "has no meaning for a job of kind flows");
        }
        ReadOptions(path, object, &job);
        return job;
    }

    void ReadServers(const std::string& path, const json& object, JobText* job)
    {
        const auto list = object.find("hosts");
        if (list == object.end())
        {
            if (!object.contains("servers"))
            {
                Fail(path + "/servers",
                     json(),
                     "must be there: how many, or hosts, a list of numbers");
                return;
            }
            job->servers = static_cast<uint32_t>(Number(path, object, "servers", 1, 1, 1000000));
            return;
        }
        for (const char* other : {"servers", "placement", "occupied"})
        {
            if (object.contains(other))
            {
                Fail(path + "/" + other, object[other], "has no meaning beside hosts");
                return;
            }
        }
        std::set<uint32_t> seen;
        if (!list->is_array() || list->empty() || list->size() > 1000000)
        {
            Fail(path + "/hosts", *list, "allowed: a list of the numbers of hosts, as [0, 2, 4]");
            return;
        }
        for (std::size_t i = 0; i < list->size(); ++i)
        {
            const json& host = (*list)[i];
            const std::string at = path + "/hosts/" + std::to_string(i);
            if (!host.is_number_unsigned() || host.get<uint64_t>() >= 1000000)
            {
                Fail(at, host, "allowed: the number of a host, from 0");
                return;
            }
            if (!seen.insert(host.get<uint32_t>()).second)
            {
                Fail(at, host, "stands there twice; allowed: once");
                return;
            }
            job->hosts.push_back(host.get<uint32_t>());
        }
        job->servers = static_cast<uint32_t>(job->hosts.size());
    }

    static std::string SizesAllowed()
    {
        return std::string(rdma::kBytesHelp) + ", from 1 to 10^15 bytes";
    }

    void ReadCollective(const std::string& path, const json& object, JobText* job)
    {
        job->job.kind = JobKind::kCollective;
        if (!object.is_object())
        {
            Fail(path,
                 object,
                 "must be an object such as {\"op\": \"all_reduce\", \"bytes\": \"64MB\"}");
            return;
        }
        if (!Known(path, object, {"op", "bytes", "iterations", "warmup"}))
        {
            return;
        }
        std::vector<std::string> ops;
        for (const coll::Op op : coll::AllOps())
        {
            if (op != coll::Op::kAllToAllV && op != coll::Op::kBarrier)
            {
                ops.push_back(coll::OpName(op));
            }
        }
        for (const char* key : {"op", "bytes"})
        {
            if (!object.contains(key))
            {
                Fail(path + "/" + key,
                     json(),
                     std::string("must be there; allowed: ") +
                         (key == std::string("op") ? Join(ops, ", ") : SizesAllowed()));
                return;
            }
        }
        const json& op = object["op"];
        const std::string name = op.is_string() ? op.get<std::string>() : "";
        if (std::find(ops.begin(), ops.end(), name) == ops.end())
        {
            Fail(path + "/op", op, "allowed: " + Join(ops, ", "), rdma::NearestName(name, ops));
            return;
        }
        job->job.op = *coll::ParseOp(name);
        const json& bytes = object["bytes"];
        const auto size = bytes.is_number_unsigned()
                              ? std::optional<rdma::Bytes>(rdma::Bytes(bytes.get<uint64_t>()))
                          : bytes.is_string() ? rdma::ParseBytes(bytes.get<std::string>())
                                              : std::nullopt;
        if (!size || size->value == 0 || size->value > 1000000000000000ULL)
        {
            Fail(path + "/bytes", bytes, "allowed: " + SizesAllowed());
            return;
        }
        job->job.bytes = size->value;
        job->iterations =
            static_cast<uint32_t>(Number(path, object, "iterations", 1, 1, kMostIterations));
        job->warmup = static_cast<uint32_t>(Number(path, object, "warmup", 0, 0, kMostIterations));
    }

    void ReadFlows(const std::string& path, const json& object, JobText* job)
    {
        job->job.kind = JobKind::kFlows;
        if (!object.is_object())
        {
            Fail(path,
                 object,
                 "must be an object such as {\"pattern\": \"incast\", \"bytes\": \"1MB\"}");
            return;
        }
        for (const auto& [key, value] : object.items())
        {
            if (key == "duration")
            {
                job->duration = Time(path, object, key);
                if (m_errors->empty() && job->duration->ps == 0)
                {
                    Fail(path + "/duration", value, "allowed: more than 0");
                }
            }
            else if (value.is_string())
            {
                job->flows.emplace_back(key, value.get<std::string>());
            }
            else if (value.is_number())
            {
                job->flows.emplace_back(key, value.dump());
            }
            else
            {
                Fail(path + "/" + key, value, "must be a string or a number");
                return;
            }
        }
    }

    /// The options that are the job's own, over those of the command line.
    void ReadOptions(const std::string& path, const json& object, JobText* job)
    {
        job->read = m_base;
        for (const char* option :
             {"jobs", "alone", "background", "fault", "fault-detection", "convergence"})
        {
            job->read.values.Slot(option) = Value();
        }
        json own = json::object();
        for (const std::string& section : kSections)
        {
            if (object.contains(section))
            {
                own[section] = object[section];
            }
        }
        for (const char* key : {"placement", "occupied"})
        {
            if (object.contains(key))
            {
                own["cluster"][key] = object[key];
            }
        }
        const OptionTable& table = TrainingOptionTable();
        ReadResult read;
        detail::SetDefaults(table, &read);
        detail::ReadJson(table, own.dump(), m_file, &read);
        for (Error& error : read.errors)
        {
            error.where = InFile(error.where, path);
            m_errors->push_back(error);
        }
        for (const Option& option : table.options)
        {
            if (!read.values.Given(option.name))
            {
                continue;
            }
            if (std::find(kNotOfJobs.begin(), kNotOfJobs.end(), option.name) != kNotOfJobs.end())
            {
                Fail(path + option.path,
                     json(),
                     "has no meaning in a job, which says servers or hosts");
                return;
            }
            Value value = read.values[option.name];
            value.where = InFile(value.where, path);
            job->read.values.Slot(option.name) = std::move(value);
        }
    }

    /// "jobs.json: /training/zero" is "jobs.json: /jobs/0/training/zero".
    std::string InFile(const std::string& where, const std::string& path) const
    {
        const std::string begin = m_file + ": /";
        if (where.rfind(begin, 0) != 0)
        {
            return where;
        }
        std::string rest = where.substr(begin.size() - 1);
        for (const char* key : {"placement", "occupied"})
        {
            const std::string inCluster = std::string("/cluster/") + key;
            rest = rest == inCluster ? std::string("/") + key : rest;
        }
        return m_file + ": " + path + rest;
    }

    const ReadResult& m_base;
    std::string m_file;
    std::vector<Error>* m_errors;
};

/// Servers on the network, as all jobs have them: what ValidateTraining does of a model it does not
/// need. \param collectives null: there are none
ParseResult<TrainingScenario>
ValidateServers(const JobText& text)
{
    Validation v{TrainingOptionTable(), text.read.values, {}, {}, text.read.seat};
    TrainingScenario s;
    const auto server = ChosenServer(&v);
    ApplyServer(&v, server);
    const NcclLimits nccl = ApplyNcclVariables(&v);
    s.fabric = MakeFabric(&v);
    Cluster cluster = MakeCluster(&v, TrainingClusterDefaults(), server, &s.fabric);
    CollectivesOfRun used;
    if (cluster.valid && text.job.kind == JobKind::kCollective)
    {
        const uint32_t ranks = cluster.spec.servers * cluster.spec.server.gpus;
        training::TrainingPlan& plan = s.plan;
        plan.ranks = ranks;
        plan.roleOf.assign(ranks, 0);
        std::vector<coll::Rank> all(ranks);
        std::iota(all.begin(), all.end(), 0);
        plan.groupKinds = {{"world", {all}}};
        training::Task task;
        task.kind = training::TaskKind::kCollective;
        task.stream = 1;
        task.op = text.job.op;
        task.bytes = text.job.bytes;
        task.name = coll::OpName(text.job.op);
        plan.roles = {{{"compute", "communication"}, {task}}};
        s.steps = text.iterations;
        s.warmupSteps = text.warmup;
        used.groups = {{all, {{task.op, task.bytes, ranks, 0, nullptr}}}};
    }
    s.collectives =
        MakeCollectives(&v, cluster.valid ? &cluster.spec : nullptr, s.fabric, nccl, used);
    return FinishedOn(std::move(cluster), text.read, std::move(v), std::move(s));
}

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
    const bool communicate = train || count(JobKind::kCollective) > 0;
    for (const Option& option : v->table.options)
    {
        if (!train && option.path.rfind("/training/", 0) == 0)
        {
            v->MustNotBeSet({option.name}, "has no meaning where no job of --jobs trains a model");
        }
        if (!communicate && option.path.rfind("/collectives/", 0) == 0)
        {
            v->MustNotBeSet({option.name}, "has no meaning where all jobs of --jobs are flows");
        }
    }
}

/// Where alone is long: the whole network is set up for each job.
void
NoteAlone(const JobSet& set, const topo::Topology& topology, std::vector<std::string>* notes)
{
    // 100 jobs on 432 hosts are set up in 3 s: assumed to be the longest that nobody asks about.
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

} // namespace

std::vector<Option>
JobsOptionRows()
{
    return {
        Opt("jobs",
            Kind::kFile,
            "/run",
            "Run",
            "several jobs on this network: a JSON file {\"jobs\": [...]}, each with its servers "
            "and "
            "a model, a collective or flows")
            .Otherwise("one job, as the options say"),
        Opt("alone",
            Kind::kFlag,
            "/run",
            "Run",
            "jobs: simulate each of them by itself as well, on the same servers, and tell how much "
            "slower it is with the others")
            .Default("1"),
    };
}

std::string
JobKindName(JobKind kind)
{
    return kind == JobKind::kTraining     ? "training"
           : kind == JobKind::kCollective ? "collective"
                                          : "flows";
}

ParseResult<TrainingScenario>
ValidateJobs(const ReadResult& read)
{
    ParseResult<TrainingScenario> result;
    std::vector<Error>& errors = result.errors;
    Validation v{TrainingOptionTable(), read.values, {}, {}};
    v.MustNotBeGiven({"gpus"}, "has no meaning with --jobs; each job says its servers");
    for (const Option& option : RecoveryOptionRows(Checkpoints::kOfModel))
    {
        v.MustNotBeSet({option.name}, "is of a job that is alone; allowed: without --jobs");
    }
    if (const Processes processes = ProcessesOf(v.values); processes.Several())
    {
        v.Fail("jobs", "is one process; allowed without " + processes.by);
    }
    errors = v.errors;
    if (!errors.empty())
    {
        return result;
    }
    std::vector<JobText> texts = JobsReader(read, v.values.Text("jobs"), &errors).Read();
    if (!errors.empty())
    {
        return result;
    }

    CheckSections(&v, texts);
    errors = v.errors;
    if (!errors.empty())
    {
        return result;
    }

    // A network for all of them, unless its size is said.
    uint64_t servers = 0;
    uint32_t last = 0;
    for (const JobText& text : texts)
    {
        servers += text.servers;
        for (const uint32_t host : text.hosts)
        {
            last = std::max(last, host + 1);
        }
    }
    const bool sized = read.values.Given("servers");
    const bool fromFile = !topo::FamilyOfParameters(read.values.Text("topology"));
    const uint64_t needed = std::max<uint64_t>(servers, last);
    if (sized && read.values.Integer("servers") < needed)
    {
        v.Fail("servers",
               "are too few for the jobs, which need " + std::to_string(needed) +
                   "; allowed: at least that");
        errors = v.errors;
        return result;
    }

    TrainingScenario whole;
    auto set = std::make_shared<JobSet>();
    set->alone = read.values.Flag("alone");
    std::optional<std::string> ofOrdinary; // name of the job of TCP
    std::vector<bool> taken;
    // Those with a list first: the others choose among what is left.
    for (const JobText& text : texts)
    {
        for (std::size_t i = 0; i < text.hosts.size(); ++i)
        {
            const uint32_t host = text.hosts[i];
            taken.resize(std::max<std::size_t>(taken.size(), host + 1), false);
            if (taken[host])
            {
                errors.push_back({text.where + "/hosts/" + std::to_string(i),
                                  std::to_string(host),
                                  "another job stands there; allowed: hosts of no other job",
                                  ""});
                return result;
            }
            taken[host] = true;
        }
    }
    whole.cluster.servers = static_cast<uint32_t>(servers);
    for (JobText& text : texts)
    {
        auto seat = std::make_shared<JobSeat>();
        seat->servers = text.servers;
        seat->together = static_cast<uint32_t>(needed);
        seat->hosts = text.hosts;
        seat->taken = taken;
        text.read.seat = seat;
        ParseResult<TrainingScenario> made = text.job.kind == JobKind::kTraining
                                                 ? ValidateTraining(text.read)
                                                 : ValidateServers(text);
        TakeErrors(text, made.errors, &errors);
        if (!errors.empty())
        {
            return result;
        }
        TrainingScenario& s = *made.scenario;
        if (result.notes.empty())
        {
            result.notes = made.notes; // of the network, the same for all
        }
        for (const uint32_t host : s.cluster.hostOfServer)
        {
            taken.resize(std::max<std::size_t>(taken.size(), host + 1), false);
            taken[host] = true;
            whole.cluster.hostOfServer.push_back(host);
        }
        if (s.cluster.aggregators)
        {
            errors.push_back({text.where,
                              "",
                              "switches between servers add up for one job only; allowed: other "
                              "algorithms",
                              ""});
            return result;
        }
        Job job = std::move(text.job);
        if (job.kind == JobKind::kFlows)
        {
            if (text.servers < 2)
            {
                errors.push_back({text.where + (text.hosts.empty() ? "/servers" : "/hosts"),
                                  text.hosts.empty() ? "1" : "",
                                  "is one server, a flow needs two; allowed: 2 or more",
                                  ""});
                return result;
            }
            const auto flows =
                MakeFlowsAmong(text.flows,
                               text.where + "/flows/",
                               s.cluster.topology,
                               s.cluster.hostOfServer,
                               s.fabric,
                               read.values.Integer("seed"),
                               text.duration.value_or(rdma::Duration(kBackgroundEpochPs)),
                               "duration",
                               &errors);
            if (!flows)
            {
                return result;
            }
            if (flows->repeats && text.duration)
            {
                errors.push_back({text.where + "/flows/duration",
                                  CanonicalDuration(text.duration->ps),
                                  "is of flows with a load; pattern " + flows->pattern +
                                      " has each of its flows once; allowed: without",
                                  ""});
                return result;
            }
            if (flows->protocol.IsOrdinary() && ofOrdinary)
            {
                // Ports count ordinary packets together.
                errors.push_back({text.where + "/flows/protocol",
                                  flows->protocol.Name(),
                                  "job " + *ofOrdinary +
                                      " is by TCP or UDP, too, and at ports it is not told whose "
                                      "such packets are; allowed: one such job, with the servers "
                                      "of both",
                                  ""});
                return result;
            }
            if (flows->protocol.IsOrdinary())
            {
                ofOrdinary = job.name;
            }
            job.protocol = flows->protocol;
            job.flows = flows->flows(0);
            job.pattern = flows->pattern;
            job.operation = flows->operation;
            job.priorities = flows->priorities;
            if (job.flows.empty())
            {
                errors.push_back(
                    {text.where + "/flows/duration",
                     "",
                     "is too short: at this load no flow starts in this time; allowed: a "
                     "longer one, or more load",
                     ""});
                return result;
            }
            for (Flow& flow : job.flows)
            {
                flow.start.ps += job.start.ps;
            }
        }
        if (set->jobs.empty())
        {
            whole.run = s.run;
            whole.fabric = s.fabric;
            whole.cluster.server = s.cluster.server;
            whole.cluster.topology = s.cluster.topology;
            whole.cluster.topologyName = s.cluster.topologyName;
            whole.gpu = s.gpu;
        }
        else if (s.cluster.server.nics != whole.cluster.server.nics ||
                 s.fabric.nic != whole.fabric.nic ||
                 s.cluster.server.gpus != whole.cluster.server.gpus)
        {
            errors.push_back({text.where,
                              "",
                              "has other servers than the first job; allowed: one --server, --nic, "
                              "--nics-per-server and --gpus-per-server for all",
                              ""});
            return result;
        }
        s.cluster.topology = whole.cluster.topology; // the same, kept but once
        whole.plan.ranks += s.cluster.servers * s.cluster.server.gpus;
        job.scenario = std::make_shared<const TrainingScenario>(std::move(s));
        set->jobs.push_back(std::move(job));
    }
    whole.jobs = set;
    whole.run.background = MakeBackground(&v, whole.cluster.topology, whole.fabric);
    for (const Job& job : set->jobs)
    {
        if (!job.protocol.IsOrdinary())
        {
            continue;
        }
        if (whole.run.background && whole.run.background->protocol.IsOrdinary())
        {
            v.Fail("background",
                   "is by " + whole.run.background->protocol.Text() + ", and job " + job.name +
                       " by " + job.protocol.Text() +
                       ": at ports it is not told whose such packets are; allowed: one of them");
        }
        whole.run.protocol = job.protocol;
        SettleThreads(&v, job.protocol, &whole.run);
    }
    SettleBackground(&v, &whole.run);
    whole.run.faults = MakeFaults(&v, &whole.cluster.topology, "");
    NoteAlone(*set, whole.cluster.topology, &result.notes);
    whole.run.asRun = AsRun(v, whole.run, fromFile);
    errors = v.errors;
    if (errors.empty())
    {
        result.scenario = std::move(whole);
    }
    return result;
}

std::string
JobsText(const JobSet& jobs)
{
    std::string text =
        Format("%-16s %-34s %7s  %-10s %s\n", "Job", "what", "servers", "start", "hosts");
    for (const Job& job : jobs.jobs)
    {
        const TrainingScenario& s = *job.scenario;
        const std::string what =
            job.kind == JobKind::kTraining ? s.model + ", ZeRO-" + std::to_string(s.zero)
            : job.kind == JobKind::kCollective
                ? coll::OpName(job.op) + " of " + CanonicalBytes(job.bytes)
                : job.pattern +
                      (job.protocol.IsOrdinary() ? " by " + job.protocol.Text() + ", " : ", ") +
                      topo::Counted(job.flows.size(), "flow");
        std::string hosts;
        constexpr std::size_t kShown = 8;
        for (std::size_t i = 0; i < std::min(kShown, s.cluster.hostOfServer.size()); ++i)
        {
            hosts += (i ? " " : "") + std::to_string(s.cluster.hostOfServer[i]);
        }
        hosts += s.cluster.hostOfServer.size() > kShown ? " ..." : "";
        text += Format("%-16s %-34s %7u  %-10s %s\n",
                       job.name.c_str(),
                       what.c_str(),
                       s.cluster.servers,
                       CanonicalDuration(job.start.ps).c_str(),
                       hosts.c_str());
    }
    return text;
}

} // namespace scenario
