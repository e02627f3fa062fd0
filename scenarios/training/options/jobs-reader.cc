/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/training/options/jobs-reader.h"

#include "collectives/core/registry.h"
#include "contrib/rdma/core/nearest-name.h"
#include "contrib/rdma/core/unit-strings.h"
#include "scenarios/asked/cluster.h"
#include "scenarios/asked/collperf.h"
#include "scenarios/asked/network.h"
#include "scenarios/asked/recovery.h"
#include "scenarios/asked/run.h"
#include "scenarios/asked/traffic.h"
#include "scenarios/network/parse-detail.h"
#include "scenarios/options/options-detail.h"
#include "scenarios/training/options/training-options.h"
#include "topologies/json-reader.h"
#include "topologies/json-text.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

namespace scenario
{

using nlohmann::json;

namespace
{

constexpr std::size_t kMostJobs = 1000;
constexpr uint64_t kMostIterations = 1000000;

/// Sections of a scenario that are a job's own; the others are the network's and the run's.
const std::vector<std::string> kSections = {"training", "serving", "collectives"};

/// Options in these that are no job's own.
const std::map<std::string, const char*> kNotOfJobs = {
    {"gpus", "has no meaning in a job, which says servers or hosts"},
    {"find-rate", "is many runs, and jobs are one; allowed: dlserve --find-rate"},
    {"sweep-rate", "is many runs, and jobs are one; allowed: dlserve --sweep-rate"}};
/// Keys of a job that belong to the cluster in a scenario.
constexpr std::array<const char*, 2> kOfCluster = {"placement", "occupied"};

std::string
SizesAllowed()
{
    return std::string(rdma::kBytesHelp) + ", from 1 to 10^15 bytes";
}

/// What the command line and the scenario say of all jobs, for one that serves: servers, network,
/// collectives and the run. Which model is trained, and how, is none of these.
ReadResult
ServingBase(const ReadResult& base)
{
    ReadResult read;
    detail::SetDefaults(ServingOptionTable(), &read);
    for (const Option& option : ServingOptionTable().options)
    {
        const bool own = option.path.rfind("/serving/", 0) == 0 && option.name != "gpu";
        if (!own && TrainingOptionTable().Find(option.name) && base.values.Given(option.name))
        {
            read.values.Slot(option.name) = base.values[option.name];
        }
    }
    read.ns3Arguments = base.ns3Arguments;
    read.attributes = base.attributes;
    return read;
}

/// Reads one file.
class JobsReader
{
  public:
    JobsReader(const ReadResult& base, std::string file, std::vector<Error>* errors)
        : m_base(base),
          m_file(std::move(file)),
          m_errors(errors)
    {
    }

    std::vector<JobText> Read();

  private:
    void Fail(const std::string& path,
              const json& value,
              const std::string& problem,
              const std::string& nearest = "");

    /// All keys of an object are among these.
    bool Known(const std::string& path, const json& object, const std::vector<std::string>& keys);

    /// A whole number of an object, or `usual` if it is not there.
    uint64_t Number(const std::string& path,
                    const json& object,
                    const std::string& key,
                    uint64_t usual,
                    uint64_t least,
                    uint64_t most);

    rdma::Duration Time(const std::string& path, const json& object, const std::string& key);
    JobText ReadJob(const std::string& path, const json& object, std::size_t number);
    void ReadServers(const std::string& path, const json& object, JobText* job);
    void ReadCollective(const std::string& path, const json& object, JobText* job);
    void ReadFlows(const std::string& path, const json& object, JobText* job);
    bool ReadKind(const std::string& path, const json& object, JobText* job);

    /// The options that are the job's own, over those of the command line.
    void ReadOptions(const std::string& path, const json& object, JobText* job);

    const ReadResult& m_base;
    std::string m_file;
    std::vector<Error>* m_errors;
};

std::vector<JobText>
JobsReader::Read()
{
    std::vector<topo::Error> errors;
    const auto text = topo::ReadWholeFile(m_file, errors);
    if (!text)
    {
        for (const topo::Error& e : errors)
        {
            m_errors->push_back({m_base.values.Where(&asked::Run::jobs), m_file, e.problem, ""});
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
    std::map<std::string, std::size_t> names; // and whose they are
    for (std::size_t i = 0; i < root["jobs"].size() && m_errors->empty(); ++i)
    {
        const std::string path = "/jobs/" + std::to_string(i);
        jobs.push_back(ReadJob(path, root["jobs"][i], i));
        if (!m_errors->empty())
        {
            continue;
        }
        const auto [taken, isNew] = names.emplace(jobs.back().job.name, i);
        if (!isNew && root["jobs"][i].contains("name"))
        {
            Fail(path + "/name", jobs.back().job.name, "is another job's name; allowed: a new one");
        }
        else if (!isNew)
        {
            Fail("/jobs/" + std::to_string(taken->second) + "/name",
                 jobs.back().job.name,
                 "is what " + path + " is called, which has no name; allowed: another one");
        }
    }
    return jobs;
}

void
JobsReader::Fail(const std::string& path,
                 const json& value,
                 const std::string& problem,
                 const std::string& nearest)
{
    m_errors->push_back(
        {m_file + ": " + path,
         value.is_null() ? "" : value.dump(-1, ' ', false, json::error_handler_t::replace),
         problem,
         nearest});
}

bool
JobsReader::Known(const std::string& path, const json& object, const std::vector<std::string>& keys)
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

uint64_t
JobsReader::Number(const std::string& path,
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
             "allowed: a whole number, " + std::to_string(least) + " to " + std::to_string(most));
        return usual;
    }
    return found->get<uint64_t>();
}

rdma::Duration
JobsReader::Time(const std::string& path, const json& object, const std::string& key)
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

JobText
JobsReader::ReadJob(const std::string& path, const json& object, std::size_t number)
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
    keys.insert(keys.end(), ClassKeys().begin(), ClassKeys().end());
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
    for (const std::string& key : ClassKeys())
    {
        const auto found = object.find(key);
        if (found == object.end())
        {
            continue;
        }
        const bool number = key == "priority" && found->is_number_unsigned();
        if (!number && (!found->is_string() || found->get<std::string>().empty()))
        {
            Fail(path + "/" + key,
                 *found,
                 key == "priority" ? "allowed: 0 to 7" : "must be a string that is not empty");
            return job;
        }
        *job.wish.Find(key) = number ? found->dump() : found->get<std::string>();
    }
    ReadServers(path, object, &job);
    if (ReadKind(path, object, &job))
    {
        ReadOptions(path, object, &job);
    }
    return job;
}

/// What the job does. \return whether its options can be read
bool
JobsReader::ReadKind(const std::string& path, const json& object, JobText* job)
{
    std::string first;
    for (const char* kind : {"collective", "flows", "serving"})
    {
        if (!object.contains(kind))
        {
            continue;
        }
        if (!first.empty())
        {
            Fail(path + "/" + kind, json(), "stands beside " + first + "; allowed: one of the two");
            return false;
        }
        first = kind;
    }
    if (first == "collective")
    {
        ReadCollective(path + "/collective", object["collective"], job);
    }
    else if (first == "flows")
    {
        ReadFlows(path + "/flows", object["flows"], job);
    }
    else if (first == "serving")
    {
        job->job.kind = JobKind::kServing;
    }
    if (job->job.kind != JobKind::kTraining && object.contains("training"))
    {
        Fail(path + "/training",
             json(),
             "has no meaning for a job of kind " + JobKindName(job->job.kind));
    }
    if (job->job.kind == JobKind::kFlows && object.contains("collectives"))
    {
        Fail(path + "/collectives", json(), "has no meaning for a job of kind flows");
    }
    return true;
}

void
JobsReader::ReadServers(const std::string& path, const json& object, JobText* job)
{
    const auto list = object.find("hosts");
    if (list == object.end())
    {
        if (!object.contains("servers"))
        {
            Fail(path + "/servers", json(), "must be there: how many, or hosts, a list of numbers");
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

void
JobsReader::ReadCollective(const std::string& path, const json& object, JobText* job)
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

void
JobsReader::ReadFlows(const std::string& path, const json& object, JobText* job)
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

void
JobsReader::ReadOptions(const std::string& path, const json& object, JobText* job)
{
    const bool serves = job->job.kind == JobKind::kServing;
    const OptionTable& table = serves ? ServingOptionTable() : TrainingOptionTable();
    job->read = serves ? ServingBase(m_base) : m_base;
    for (const Member option : {Member(&asked::Run::jobs),
                                Member(&asked::Run::alone),
                                Member(&asked::Run::background),
                                Member(&asked::Recovery::fault),
                                Member(&asked::Network::faultDetection),
                                Member(&asked::Network::convergence)})
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
    for (const char* key : kOfCluster)
    {
        if (object.contains(key))
        {
            own["cluster"][key] = object[key];
        }
    }
    ReadResult read;
    detail::SetDefaults(table, &read);
    detail::ReadJson(table, own.dump(), m_file, path, &read);
    // Keys that were moved into a section stand in the job itself in the file.
    const auto inFile = [&](const std::string& where) {
        for (const char* key : kOfCluster)
        {
            if (where == m_file + ": " + path + "/cluster/" + key)
            {
                return m_file + ": " + path + "/" + key;
            }
        }
        return where;
    };
    for (Error& error : read.errors)
    {
        error.where = inFile(error.where);
        m_errors->push_back(error);
    }
    for (const Option& option : table.options)
    {
        if (!read.values.Given(option.name))
        {
            continue;
        }
        if (const auto other = kNotOfJobs.find(option.name); other != kNotOfJobs.end())
        {
            Fail(path + option.path, json(), other->second);
            return;
        }
        Value value = read.values[option.name];
        value.where = inFile(value.where);
        job->read.values.Slot(option.name) = std::move(value);
    }
}

} // namespace

std::vector<JobText>
ReadJobs(const ReadResult& base, const std::string& file, std::vector<Error>* errors)
{
    return JobsReader(base, file, errors).Read();
}

} // namespace scenario
