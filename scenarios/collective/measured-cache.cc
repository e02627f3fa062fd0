/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/collective/measured-cache.h"

#include "collectives/core/registry.h"
#include "contrib/rdma/core/regular-file.h"
#include "scenarios/network/common-options.h"
#include "topologies/family.h"
#include "topologies/json-text.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <sys/stat.h>
#include <unistd.h>

namespace scenario
{

namespace
{

constexpr const char* kFormat = "dltrain measured collectives";
constexpr uint32_t kFormatVersion = 1;

/// FNV-1a, 64 bits (Fowler, Noll & Vo; RFC 9923): for names of files, and to check that a file is
/// unchanged. The source text is compared as well, except for contents.
class Digest
{
  public:
    Digest& Add(const std::string& text)
    {
        for (const char c : text)
        {
            Take(static_cast<unsigned char>(c));
        }
        Take(0);
        return *this;
    }

    Digest& Add(uint64_t number)
    {
        for (int i = 0; i < 8; ++i)
        {
            Take(static_cast<unsigned char>(number >> 8 * i));
        }
        return *this;
    }

    std::string Text() const
    {
        char text[17];
        std::snprintf(text, sizeof(text), "%016llx", static_cast<unsigned long long>(m_hash));
        return text;
    }

  private:
    void Take(unsigned char byte)
    {
        m_hash = (m_hash ^ byte) * 0x100000001b3ULL;
    }

    uint64_t m_hash = 0xcbf29ce484222325ULL;
};

std::string
DigestOf(const topo::Topology& topology)
{
    Digest digest;
    for (const topo::Node& node : topology.Nodes())
    {
        digest.Add(node.name).Add(node.kind == topo::NodeKind::kSwitch).Add(node.isUnit);
    }
    for (const topo::Link& link : topology.Links())
    {
        uint64_t errors = 0;
        std::memcpy(&errors, &link.bitErrorRate, sizeof(errors));
        digest.Add(link.a).Add(link.b).Add(link.portA).Add(link.portB);
        digest.Add(link.rate.bps).Add(static_cast<uint64_t>(link.delay.ps)).Add(errors);
    }
    return digest.Text();
}

std::string
DigestOf(const std::vector<std::vector<coll::Rank>>& groups)
{
    Digest digest;
    for (const std::vector<coll::Rank>& ranks : groups)
    {
        digest.Add(ranks.size());
        for (const coll::Rank rank : ranks)
        {
            digest.Add(rank);
        }
    }
    return digest.Text();
}

nlohmann::json
ToJson(const coll::Machine& machine)
{
    nlohmann::json json = {{"inside_rate", machine.insideRate},
                           {"between_rate", machine.betweenRate},
                           {"island", machine.island},
                           {"bridge_rate", machine.bridgeRate},
                           {"nic_rate", machine.nicRate},
                           {"nics", machine.nics}};
    if (!machine.hasLibrary)
    {
        json["inside_latency"] = machine.insideLatency;
        return json;
    }
    const topo::LibraryModel& library = machine.library;
    json["library"] = {library.launch.ps,
                       library.exchangeLaunch.ps,
                       library.exchangeNics,
                       library.channels.inside.bps,
                       library.channels.outside.bps,
                       library.channels.inServer,
                       library.channels.aNic,
                       library.channels.most,
                       library.post.ps};
    for (const topo::ProtocolTimes& times : library.protocols)
    {
        json["protocols"].push_back({times.base.ps,
                                     times.inside.ps,
                                     times.outside.ps,
                                     times.insideShare,
                                     times.outsideShare,
                                     times.betweenServers});
        if (times.bulkFrom != 0)
        {
            json["protocols"].back().push_back(times.bulkFrom);
            json["protocols"].back().push_back(times.bulkShare);
        }
    }
    if (library.expects.nicRate.bps != 0) // the list of tried choices begins with the library's own
    {
        json["expects"] = {library.expects.nicRate.bps,
                           library.expects.netLatency.ps,
                           library.expects.netOverhead.ps};
    }
    return json;
}

nlohmann::json
ToJson(const topo::ScaleUp& links)
{
    nlohmann::json json = {static_cast<int>(links.kind),
                           links.perGpu.bps,
                           links.hostBridge.bps,
                           links.latency.ps,
                           links.bulkLatency.ps,
                           links.efficiency,
                           links.adds,
                           links.island,
                           links.rack,
                           links.spineShare};
    if (links.between)
    {
        json.push_back(ToJson(*links.between));
    }
    return json;
}

/// Digests of the files that options name: their contents may change.
void
AddFiles(const nlohmann::json& options, nlohmann::json* files)
{
    if (options.is_structured())
    {
        for (const auto& one : options)
        {
            AddFiles(one, files);
        }
        return;
    }
    if (!options.is_string())
    {
        return;
    }
    const std::string name = options.get<std::string>();
    if (name.empty() || !rdma::IsReadable(name))
    {
        return;
    }
    std::vector<topo::Error> errors;
    if (const auto text = topo::ReadWholeFile(name, errors))
    {
        (*files)[name] = Digest().Add(*text).Text();
    }
}

/// The digest of a whole measurement, without parts that follow from the rest.
std::string
DigestOfMeasurement(nlohmann::json one)
{
    one.erase("digest");
    for (nlohmann::json& tried : one["tried"])
    {
        tried.erase("formula_us");
    }
    return Digest().Add(one.dump()).Text();
}

nlohmann::json
ToJson(const MeasuredCollective& one)
{
    nlohmann::json json = {{"op", coll::OpName(one.what.op)},
                           {"root", one.what.root},
                           // in format 1: the size at which it was measured
                           {"from_bytes", one.range.at},
                           {"ranks", one.what.ranks},
                           {"groups", one.groups.size()},
                           {"groups_digest", DigestOf(one.groups)},
                           {"tried", nlohmann::json::array()}};
    for (const TriedChoice& tried : one.tried)
    {
        const coll::Choice& choice = tried.choice;
        json["tried"].push_back({{"algorithm", choice.algorithm->Name()},
                                 {"protocol",
                                  choice.protocol ? nlohmann::json(topo::ToString(*choice.protocol))
                                                  : nlohmann::json()},
                                 {"channels", choice.channels},
                                 {"formula_us", choice.seconds * 1e6},
                                 {"time_ps", tried.ps}});
    }
    json["digest"] = DigestOfMeasurement(json);
    return json;
}

/// The key of a measurement: everything but its times.
nlohmann::json
NameOf(nlohmann::json one)
{
    one.erase("digest"); // it covers the times, too
    for (nlohmann::json& tried : one["tried"])
    {
        tried.erase("time_ps");
        tried.erase("formula_us"); // follows from the rest; a decimal that may end otherwise
    }
    return one;
}

/// \return why it is none, or nothing
std::string
WhyNoMeasurement(const nlohmann::json& one)
{
    if (!one.is_object() || !one.contains("tried") || !one["tried"].is_array())
    {
        return "is no measurement";
    }
    for (const nlohmann::json& tried : one["tried"])
    {
        if (!tried.is_object() || !tried.contains("time_ps") ||
            !tried["time_ps"].is_number_integer() || tried["time_ps"].get<int64_t>() < 0)
        {
            return "has no time_ps of whole picoseconds in each of tried";
        }
    }
    if (one.value("digest", nlohmann::json()) != DigestOfMeasurement(one))
    {
        return "is not what was measured: its digest would be \"" + DigestOfMeasurement(one) + "\"";
    }
    return {};
}

} // namespace

nlohmann::json
MeasurementKey(const RunOptions& run, const ClusterSpec& cluster, const coll::Machine& machine)
{
    nlohmann::json key = {{"program_version", kVersion},
                          {"measurement_version", kMeasurementVersion},
                          {"seed", run.seed},
                          {"topology", DigestOf(cluster.topology)},
                          {"servers", cluster.servers},
                          {"gpus", cluster.server.gpus},
                          {"hosts", cluster.hostOfServer},
                          {"machine", ToJson(machine)},
                          {"scale_up", ToJson(cluster.server.scaleUp)},
                          {"options", nlohmann::json::object()},
                          {"files", nlohmann::json::object()}};
    // The other parts of a run (its model, sizes, outputs, faults, background) are absent in a
    // measurement, or only choose the work.
    for (const char* section : {"cluster", "collectives", "network", "fabric", "ns3"})
    {
        if (run.asRun.contains(section))
        {
            key["options"][section] = run.asRun[section];
        }
    }
    nlohmann::json& options = key["options"];
    if (options.contains("collectives"))
    {
        options["collectives"].erase("algorithm");
        options["collectives"].erase("tuner");
    }
    if (options.contains("cluster"))
    {
        // As computed above; programs call them differently.
        for (const char* count : {"gpus", "ranks", "servers", "gpus_per_server"})
        {
            options["cluster"].erase(count);
        }
    }
    AddFiles(options, &key["files"]);
    return key;
}

MeasuredCache::MeasuredCache(const std::string& folder, nlohmann::json key)
    : m_folder(folder),
      m_key(std::move(key)),
      m_file(
          (std::filesystem::path(folder) / (Digest().Add(m_key.dump()).Text() + ".json")).string())
{
}

std::string
MeasuredCache::Read(MeasuredChoices* choices)
{
    struct stat about = {};
    if (::stat(m_file.c_str(), &about) != 0 && (errno == ENOENT || errno == ENOTDIR))
    {
        return {}; // Prepare reports that it is no folder
    }
    const std::string remedy = "; allowed: a file that this program wrote there, or none: what is "
                               "removed is measured anew";
    std::vector<topo::Error> errors;
    const auto text = topo::ReadWholeFile(m_file, errors);
    if (!text)
    {
        const std::string problem = errors.empty() ? "cannot be read" : errors[0].problem;
        const bool says = problem.find("; allowed: ") != std::string::npos;
        return m_file + ": " + problem + (says ? "" : remedy);
    }
    const nlohmann::json file = topo::JsonOrDiscarded(*text);
    if (file.is_discarded() || !file.is_object())
    {
        return m_file + ": is no JSON object" + remedy;
    }
    if (file.value("format", nlohmann::json()) != kFormat ||
        file.value("format_version", nlohmann::json()) != kFormatVersion)
    {
        return m_file + ": /format: is not \"" + kFormat + "\" of version " +
               std::to_string(kFormatVersion) + remedy;
    }
    if (file.value("network", nlohmann::json()) != m_key)
    {
        return m_file + ": /network: is not the network of this run" + remedy;
    }
    const nlohmann::json measured = file.value("measured", nlohmann::json());
    if (!measured.is_array())
    {
        return m_file + ": /measured: is no array" + remedy;
    }
    for (std::size_t i = 0; i < measured.size(); ++i)
    {
        const std::string why = WhyNoMeasurement(measured[i]);
        if (!why.empty())
        {
            return m_file + ": /measured/" + std::to_string(i) + ": " + why + remedy;
        }
    }
    m_measured = measured;
    for (MeasuredCollective& one : choices->All())
    {
        const nlohmann::json name = NameOf(ToJson(one));
        for (const nlohmann::json& known : m_measured)
        {
            if (NameOf(known) == name)
            {
                for (std::size_t i = 0; i < one.tried.size(); ++i)
                {
                    one.tried[i].ps = known["tried"][i]["time_ps"].get<int64_t>();
                }
            }
        }
    }
    return {};
}

std::string
MeasuredCache::Prepare() const
{
    std::error_code failed;
    std::filesystem::create_directories(m_folder, failed);
    if (failed)
    {
        return m_folder + ": cannot be made: " + failed.message();
    }
    if (::access(m_folder.c_str(), W_OK | X_OK) != 0)
    {
        return m_folder + ": cannot be written: " + std::strerror(errno);
    }
    return {};
}

std::string
MeasuredCache::Write(const MeasuredChoices& choices)
{
    // By name, so that the same measurements are the same bytes, whoever made them first.
    std::map<std::string, nlohmann::json> all;
    for (const nlohmann::json& known : m_measured)
    {
        all[NameOf(known).dump()] = known;
    }
    for (const MeasuredCollective& one : choices.All())
    {
        if (one.IsKnown())
        {
            const nlohmann::json json = ToJson(one);
            all[NameOf(json).dump()] = json;
        }
    }
    nlohmann::json measured = nlohmann::json::array();
    for (const auto& [name, one] : all)
    {
        measured.push_back(one);
    }
    const nlohmann::json file = {{"format", kFormat},
                                 {"format_version", kFormatVersion},
                                 {"network", m_key},
                                 {"measured", measured}};
    const std::string text = file.dump(1) + "\n";
    const std::string beside = m_file + ".tmp-" + std::to_string(::getpid());
    std::string why;
    std::FILE* out = rdma::OpenForWriting(beside, &why);
    if (!out)
    {
        return beside + ": cannot be written: " + why;
    }
    bool good = std::fwrite(text.data(), 1, text.size(), out) == text.size();
    good = std::fflush(out) == 0 && good;
    good = ::fsync(::fileno(out)) == 0 && good;
    int error = good ? 0 : errno;
    if (std::fclose(out) != 0 || !good)
    {
        error = error ? error : errno;
        ::unlink(beside.c_str());
        return beside + ": cannot be written: " + std::strerror(error);
    }
    if (std::rename(beside.c_str(), m_file.c_str()) != 0)
    {
        error = errno;
        ::unlink(beside.c_str());
        return m_file + ": cannot be written: " + std::strerror(error);
    }
    m_measured = measured;
    return {};
}

} // namespace scenario
