/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "topologies/family.h"

#include "contrib/rdma/core/regular-file.h"
#include "topologies/fat-tree.h"
#include "topologies/graph.h"
#include "topologies/hpcc-format.h"
#include "topologies/leaf-spine.h"
#include "topologies/names.h"
#include "topologies/single-switch.h"
#include "topologies/torus.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <fstream>

namespace topo
{

const std::vector<Family>&
Families()
{
    static const std::vector<Family> families = {
        {"fat-tree",
         "k-ary fat-tree of three layers, k^3/4 server ports (k, oversubscription)",
         {"fabricRate", "k", "oversubscription", "bitErrorRate"},
         MakeFatTree},
        {"leaf-spine",
         "two layers, every leaf wired to every spine (leaves, spines, hosts per leaf, "
         "oversubscription)",
         {"fabricRate", "oversubscription", "leaves", "spines", "hostsPerLeaf", "bitErrorRate"},
         MakeLeafSpine},
        {"single-switch", "all servers on one switch", {"bitErrorRate"}, MakeSingleSwitch},
        {"torus",
         "rings, tori and meshes of any number of dimensions (torus, hosts per switch, wrap)",
         {"fabricRate", "torus", "hostsPerSwitch", "wrap", "bitErrorRate"},
         MakeTorus},
        {"graph", "any network, from a JSON file of nodes and links", {"file"}, MakeGraph},
        {"hpcc",
         "any network, from a topology file of HPCC's ns-3 code and its descendants",
         {"file"},
         MakeFromHpccFile},
    };
    return families;
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

namespace
{

std::string
Number(double v)
{
    char text[32];
    std::snprintf(text, sizeof text, "%g", v);
    return text;
}

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
                          Number(r.bitErrorRate),
                          std::string("is not a number from 0 to ") + kMostBitErrorsText,
                          ""});
    }
    if (!(r.oversubscription >= 1 && r.oversubscription <= 1000))
    {
        errors.push_back({"oversubscription",
                          Number(r.oversubscription),
                          "is not a number from 1 (none) to 1000",
                          ""});
    }

    const auto unused = [&](const char* field, bool set, const std::string& value) {
        if (!set ||
            std::find(family.fields.begin(), family.fields.end(), field) != family.fields.end())
        {
            return;
        }
        std::vector<std::string> users;
        for (const Family& other : Families())
        {
            if (std::find(other.fields.begin(), other.fields.end(), field) != other.fields.end())
            {
                users.emplace_back(other.name);
            }
        }
        errors.push_back({field,
                          value,
                          std::string("has no meaning for ") + family.name + "; it belongs to " +
                              JoinNames(users),
                          ""});
    };
    const TopologyRequest standard;
    unused("fabricRate", r.fabricRate.bps != 0, rdma::ToString(r.fabricRate));
    unused("k", r.k != 0, std::to_string(r.k));
    unused("oversubscription",
           r.oversubscription != standard.oversubscription,
           Number(r.oversubscription));
    unused("leaves", r.leaves != 0, std::to_string(r.leaves));
    unused("spines", r.spines != 0, std::to_string(r.spines));
    unused("hostsPerLeaf", r.hostsPerLeaf != 0, std::to_string(r.hostsPerLeaf));
    unused("torus", !r.torus.empty(), Quoted(TorusSizesText(r.torus)));
    unused("hostsPerSwitch", r.hostsPerSwitch != 0, std::to_string(r.hostsPerSwitch));
    unused("wrap", !r.wrap, "0");
    unused("bitErrorRate", r.bitErrorRate != 0, Number(r.bitErrorRate));
    unused("file", !r.file.empty(), Quoted(r.file));
}

} // namespace

TopologyResult
MakeTopology(const TopologyRequest& request)
{
    TopologyResult result;
    const auto& families = Families();
    const auto family = std::find_if(families.begin(), families.end(), [&](const Family& f) {
        return f.name == request.family;
    });
    if (family == families.end())
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
        result = family->make(request);
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
    errno = 0;
    std::ifstream in(path, std::ios::binary);
    std::string text;
    std::vector<char> block(1u << 16);
    while (in.read(block.data(), static_cast<std::streamsize>(block.size())), in.gcount() > 0)
    {
        text.append(block.data(), static_cast<size_t>(in.gcount()));
        if (text.size() > kLargest)
        {
            errors.push_back({"file", Quoted(path), "is larger than 256 MiB", ""});
            return std::nullopt;
        }
    }
    if (in.bad() || !in.is_open())
    {
        errors.push_back(
            {"file", Quoted(path), std::string("cannot be read: ") + std::strerror(errno), ""});
        return std::nullopt;
    }
    return text;
}

namespace detail
{

rdma::BitRate
Scaled(rdma::BitRate rate, double factor)
{
    return rdma::BitRate(
        static_cast<uint64_t>(std::llround(static_cast<double>(rate.bps) * factor)));
}

void
CheckFromFile(const Topology& topology, const TopologyRequest& request, std::vector<Error>& errors)
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
        else if (i < needed && ports < request.nicsPerServer)
        {
            errors.push_back({"nicsPerServer",
                              std::to_string(request.nicsPerServer),
                              "is more than the " + std::to_string(ports) +
                                  (ports == 1 ? " link" : " links") + " of host " +
                                  nodes[hosts[i]].name + " in " + Quoted(request.file),
                              ""});
        }
    }
}

} // namespace detail

} // namespace topo
