/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "topologies/family.h"

#include "contrib/rdma/core/regular-file.h"
#include "contrib/rdma/core/unit-strings.h"
#include "topologies/files-read.h"
#include "topologies/names.h"
#include "topologies/planes.h"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <fcntl.h>
#include <fstream>
#include <stdexcept>
#include <unistd.h>
#include <utility>

namespace topo
{

namespace
{

/// In a function, so that it exists before the first file registers, and until the last one is
/// gone.
std::list<Family>&
Registry()
{
    static std::list<Family> families;
    return families;
}

bool
SameParameter(const Parameter& a, const Parameter& b)
{
    return a.kind == b.kind && a.help == b.help && a.min == b.min && a.max == b.max &&
           a.standard == b.standard && a.chosen == b.chosen && a.usual == b.usual &&
           a.example == b.example && a.recorded == b.recorded && a.always == b.always;
}

} // namespace

RegisteredFamily::RegisteredFamily(Family family)
    : m_name(family.name)
{
    if (FindFamily(m_name))
    {
        throw std::logic_error("two families of networks are called " + m_name);
    }
    for (const SharedParameter& known : AllParameters())
    {
        for (const Parameter& p : family.parameters)
        {
            if (p.name == known.parameter.name && !SameParameter(p, known.parameter))
            {
                throw std::logic_error("the parameter " + p.name + " of " + m_name +
                                       " is another one of " + JoinNames(known.families));
            }
        }
    }
    const auto key = [](const Family& f) { return std::make_pair(!f.file.empty(), f.name); };
    auto& families = Registry();
    families.insert(std::find_if(families.begin(),
                                 families.end(),
                                 [&](const Family& f) { return key(family) < key(f); }),
                    std::move(family));
}

RegisteredFamily::~RegisteredFamily()
{
    Registry().remove_if([this](const Family& f) { return f.name == m_name; });
}

const std::list<Family>&
Families()
{
    return Registry();
}

std::vector<std::string>
FamilyNames()
{
    std::vector<std::string> names;
    for (const Family& family : Families())
    {
        names.emplace_back(family.name);
    }
    return names;
}

const Family*
FindFamily(const std::string& name)
{
    const auto& families = Families();
    const auto family = std::find_if(families.begin(), families.end(), [&](const Family& f) {
        return f.name == name || (f.answersTo && f.answersTo(name));
    });
    return family == families.end() ? nullptr : &*family;
}

const Family*
FamilyOfParameters(const std::string& name)
{
    const Family* family = FindFamily(name);
    return family && family->file.empty() ? family : nullptr;
}

const Family&
FamilyOfFile(const std::string& path)
{
    const Family* other = nullptr;
    for (const Family& family : Families())
    {
        if (family.reads && family.reads(path))
        {
            return family;
        }
        other = !family.file.empty() && !family.reads ? &family : other;
    }
    if (!other)
    {
        throw std::logic_error("no family of networks reads a file such as " + path);
    }
    return *other;
}

std::vector<SharedParameter>
AllParameters()
{
    std::vector<SharedParameter> all;
    for (const Family& family : Families())
    {
        for (const Parameter& p : family.parameters)
        {
            auto known = std::find_if(all.begin(), all.end(), [&](const SharedParameter& s) {
                return s.parameter.name == p.name;
            });
            known = known == all.end() ? all.insert(all.end(), {p, {}}) : known;
            known->families.push_back(family.name);
        }
    }
    return all;
}

namespace
{

void
CheckRequest(const TopologyRequest& r, const Family& family, std::vector<Error>& errors)
{
    const auto checkRate = [&](const char* field, rdma::BitRate rate) {
        if (rate < kSlowestLink || rate > kFastestLink)
        {
            errors.push_back(
                {field, rdma::ToString(rate), "is not a rate from " + RateLimitsText(), ""});
        }
    };
    checkRate("linkRate", r.linkRate);
    if (r.fabricRate.bps)
    {
        checkRate("fabricRate", r.fabricRate);
    }
    if (r.linkDelay.ps < 0 || r.linkDelay > kLongestDelay)
    {
        errors.push_back({"linkDelay",
                          rdma::ToString(r.linkDelay),
                          std::string("is not a time from 0 to ") + kLongestDelayText,
                          ""});
    }
    if (r.nicsPerServer < 1 || r.nicsPerServer > kMostNics)
    {
        errors.push_back({"nicsPerServer",
                          std::to_string(r.nicsPerServer),
                          "is not a number from 1 to " + std::to_string(kMostNics),
                          ""});
    }
    if (r.hosts > detail::kMostNodes)
    {
        errors.push_back({"hosts",
                          std::to_string(r.hosts),
                          "is more than the " + std::to_string(detail::kMostNodes) +
                              " servers that can be simulated",
                          ""});
    }
    if (!(r.bitErrorRate >= 0 && r.bitErrorRate <= kMostBitErrors))
    {
        errors.push_back({"bitErrorRate",
                          ValueText(r.bitErrorRate),
                          std::string("is not a number from 0 to ") + kMostBitErrorsText,
                          ""});
    }

    const auto unused = [&](const std::string& field,
                            const std::string& value,
                            const std::vector<std::string>& users) {
        errors.push_back(
            {field,
             value,
             "has no meaning for " + family.name + "; it belongs to " + JoinNames(users),
             ""});
    };
    const auto unusedOption =
        [&](const char* field, bool set, const std::string& value, auto hasIt) {
            std::vector<std::string> users;
            for (const Family& other : Families())
            {
                if (hasIt(other))
                {
                    users.push_back(other.name);
                }
            }
            if (set && !hasIt(family))
            {
                unused(field, value, users);
            }
        };
    unusedOption("fabricRate",
                 r.fabricRate.bps != 0,
                 rdma::ToString(r.fabricRate),
                 [](const Family& f) { return f.fabricLinks && f.file.empty(); });
    std::vector<std::string> known;
    for (const SharedParameter& shared : AllParameters())
    {
        const Parameter& p = shared.parameter;
        known.push_back(p.name);
        if (!r.parameters.Has(p.name))
        {
            continue;
        }
        const ParameterValue& value = r.parameters.All().at(p.name);
        const std::string text = p.kind == ParameterKind::kSizes || p.kind == ParameterKind::kText
                                     ? Quoted(ValueText(value))
                                     : ValueText(value);
        if (const std::string why = WhyNotValue(p, value); !why.empty())
        {
            errors.push_back({p.name, text, why, ""});
        }
        else if (ValueText(value) != p.standard &&
                 std::find(shared.families.begin(), shared.families.end(), family.name) ==
                     shared.families.end())
        {
            unused(p.name, text, shared.families);
        }
    }
    for (const auto& [name, value] : r.parameters.All())
    {
        if (std::find(known.begin(), known.end(), name) == known.end())
        {
            errors.push_back(
                {name, ValueText(value), "is of no family" + DidYouMean(name, known), ""});
        }
    }
    unusedOption("bitErrorRate",
                 r.bitErrorRate != 0,
                 ValueText(r.bitErrorRate),
                 [](const Family& f) { return f.file.empty(); });
    unusedOption("file", !r.file.empty(), Quoted(r.file), [](const Family& f) {
        return !f.file.empty();
    });
}

/// The request with the standard values of parameters that were not given.
TopologyRequest
Completed(TopologyRequest r, const Family& family)
{
    for (const Parameter& p : family.parameters)
    {
        std::string allowed;
        if (p.standard.empty() || r.parameters.Has(p.name))
        {
            continue;
        }
        const auto value = ParseParameter(p, p.standard, &allowed);
        if (!value)
        {
            throw std::logic_error("the standard value of " + p.name + " is not " + allowed);
        }
        r.parameters.Set(p.name, *value);
    }
    return r;
}

} // namespace

TopologyResult
MakeTopology(const TopologyRequest& request)
{
    TopologyResult result;
    const Family* family = FindFamily(request.family);
    if (!family)
    {
        const auto names = FamilyNames();
        result.errors.push_back(
            {"topology",
             Quoted(request.family),
             "is not one of " + JoinNames(names) + DidYouMean(request.family, names),
             ""});
        return result;
    }
    CheckRequest(request, *family, result.errors);
    if (result.errors.empty())
    {
        const TopologyRequest completed = Completed(request, *family);
        result = detail::MakePlanes(completed, *family);
        for (Error& error : result.errors)
        {
            // Of what the file says, not of the file itself.
            const bool ofLine = error.where.rfind(request.file + ":", 0) == 0;
            const bool ofText = !request.file.empty() && (ofLine || error.file == request.file);
            error.problem += ofText ? "; read as " + family->file : "";
        }
        if (result.topology)
        {
            Description about = result.topology->About();
            about.family = about.family.empty() ? family->name : about.family; // that made the file
            about.part = family->part;
            about.tiers = family->tiers.empty() ? about.tiers : family->tiers;
            for (const auto& [name, value] : completed.parameters.All())
            {
                if (!about.parameters.Has(name))
                {
                    about.parameters.Set(name, value);
                }
            }
            result.topology->Describe(std::move(about));
        }
    }
    if (!result.errors.empty())
    {
        result.topology.reset();
    }
    return result;
}

std::optional<std::string>
ReadWholeFile(const std::string& path, std::vector<Error>& errors)
{
    constexpr size_t kLargest = 256u << 20;
    if (path.empty())
    {
        errors.push_back({"file", "", "the path of a file is missing", ""});
        return std::nullopt;
    }
    if (const std::string why = rdma::WhyUnreadable(path); !why.empty())
    {
        errors.push_back({"file", Quoted(path), why, ""});
        return std::nullopt;
    }
    // Some files of /proc (kmsg) look regular, and wait for what may come.
    const int file = ::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    std::string text;
    std::vector<char> block(1u << 16);
    ssize_t got = file < 0 ? -1 : 0;
    while (file >= 0 && (got = ::read(file, block.data(), block.size())) > 0)
    {
        text.append(block.data(), static_cast<size_t>(got));
        if (text.size() > kLargest)
        {
            ::close(file);
            errors.push_back({"file", Quoted(path), "is larger than 256 MiB", ""});
            return std::nullopt;
        }
    }
    const int error = errno;
    if (file >= 0)
    {
        ::close(file);
    }
    if (got < 0)
    {
        errors.push_back(
            {"file", Quoted(path), std::string("cannot be read: ") + std::strerror(error), ""});
        return std::nullopt;
    }
    FilesRead::Note(path, text);
    return text;
}

std::string
BeginOfFile(const std::string& path)
{
    std::string text;
    if (rdma::IsReadable(path))
    {
        text.resize(4096);
        std::ifstream in(path, std::ios::binary);
        in.read(text.data(), static_cast<std::streamsize>(text.size()));
        text.resize(static_cast<std::size_t>(in.gcount()));
    }
    return text;
}

namespace detail
{

TopologyResult
Made(TopologyResult result, Topology topology, Description about)
{
    topology.Describe(std::move(about));
    result.topology = std::move(topology);
    return result;
}

Parameter
Oversubscription()
{
    return FactorParameter("oversubscription", "server to uplink capacity of an edge switch")
        .Range(1, 1000)
        .Standard("1")
        .Always()
        .OfSharing()
        .Example("4");
}

Parameter
Planes()
{
    return CountParameter("planes", "separate networks alike, each with a port of every NIC")
        .Range(1, kMostPlanes)
        .Chosen("1; 2 of dual-plane")
        .Example("2");
}

Parameter
Bond()
{
    return CountParameter("bond",
                          "ports of a NIC, at neighbouring switches, that stand in for "
                          "each other; each has its share of the rate")
        .Range(1, kMostPlanes)
        .Chosen("1")
        .Example("2");
}

std::string
LargestNetwork()
{
    return std::to_string(kMostNodes) + " nodes or " + std::to_string(kMostLinks) + " links";
}

std::string
ServersNeed(const TopologyRequest& request)
{
    return Counted(request.hosts, "server") + (request.hosts == 1 ? " needs " : " need ") +
           std::to_string(uint64_t(request.hosts) * request.nicsPerServer);
}

std::string
OversubscriptionText(double oversubscription)
{
    return oversubscription > 1 ? ", oversubscription " + ValueText(oversubscription) : "";
}

std::string
RatioText(double ratio)
{
    return ValueText(ratio);
}

void
AddServers(Topology* topology, uint64_t servers)
{
    for (uint64_t s = 0; s < servers; ++s)
    {
        topology->AddHost("server-" + std::to_string(s));
    }
}

rdma::BitRate
Scaled(rdma::BitRate rate, double factor)
{
    return rdma::BitRate(
        static_cast<uint64_t>(std::llround(static_cast<double>(rate.bps) * factor)));
}

namespace
{

void
CheckHosts(const Topology& topology, const TopologyRequest& request, std::vector<Error>& errors)
{
    const auto& nodes = topology.Nodes();
    const auto& hosts = topology.Hosts();
    if (hosts.empty())
    {
        errors.push_back({"file", Quoted(request.file), "has no host", ""});
        return;
    }
    if (hosts.size() < request.hosts)
    {
        errors.push_back({"hosts",
                          std::to_string(request.hosts),
                          std::string(request.hosts == 1 ? "server is" : "servers are") +
                              " needed, but " + Quoted(request.file) + " has " +
                              std::to_string(hosts.size()) +
                              (hosts.size() == 1 ? " host" : " hosts"),
                          ""});
    }
    const size_t needed =
        request.hosts == 0 ? hosts.size() : std::min<size_t>(request.hosts, hosts.size());
    constexpr size_t kMostErrors = 20;
    bool fewLinks = false; // of the first such host: one value, one error
    for (size_t i = 0; i < hosts.size() && errors.size() < kMostErrors; ++i)
    {
        const size_t ports = nodes[hosts[i]].ports.size();
        if (ports == 0)
        {
            errors.push_back({"file",
                              Quoted(request.file),
                              "host " + nodes[hosts[i]].name + " has no link",
                              ""});
        }
        else if (i < needed && ports < request.nicsPerServer && !fewLinks)
        {
            fewLinks = true;
            errors.push_back({"nicsPerServer",
                              std::to_string(request.nicsPerServer),
                              "is more than the " + std::to_string(ports) +
                                  (ports == 1 ? " link" : " links") + " of host " +
                                  nodes[hosts[i]].name + " in " + Quoted(request.file) +
                                  ", which a server takes its NICs from; allowed: at most " +
                                  std::to_string(ports),
                              ""});
        }
    }
}

} // namespace

TopologyResult
MakeFromFile(
    const TopologyRequest& request,
    const std::function<TopologyResult(const std::string& text, const std::string& name)>& read)
{
    TopologyResult result;
    const auto text = ReadWholeFile(request.file, result.errors);
    if (!text)
    {
        return result;
    }
    result = read(*text, request.file);
    if (result.topology)
    {
        TopologyRequest ports = request;
        ports.nicsPerServer *=
            result.topology->About().bonded ? result.topology->About().planes : 1;
        CheckHosts(*result.topology, ports, result.errors);
    }
    return result;
}

} // namespace detail

} // namespace topo
