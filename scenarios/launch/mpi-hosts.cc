/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/launch/mpi-hosts.h"

#include "contrib/rdma/core/shown-text.h"

#include <algorithm>
#include <arpa/inet.h>
#include <boost/program_options/parsers.hpp>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <ifaddrs.h>
#include <netdb.h>
#include <numeric>
#include <set>
#include <unistd.h>

namespace scenario
{

namespace
{

/// One process of each core at most is of use, and 64 is what --mpi-ranks takes.
constexpr uint32_t MOST_RANKS = 64;

bool
IsHostName(const std::string& name)
{
    const auto fits = [](char c) {
        return std::isalnum(static_cast<unsigned char>(c)) || std::strchr("-._@", c);
    };
    return !name.empty() && name[0] != '-' && std::all_of(name.begin(), name.end(), fits);
}

std::string
Environment(const char* name)
{
    const char* const text = std::getenv(name);
    return text ? text : "";
}

} // namespace

std::string
ReadHosts(const std::vector<std::string>& texts, std::vector<MpiHost>* hosts)
{
    std::set<std::string> names;
    for (const std::string& text : texts)
    {
        const std::size_t colon = text.find(':');
        MpiHost host{text.substr(0, colon), 0};
        if (!IsHostName(host.name))
        {
            return rdma::Shown(text, 100) +
                   " names no host; allowed: names or IPv4 addresses, each with its ranks or "
                   "without: node1,node2 or node1:4,node2:4";
        }
        if (colon != std::string::npos)
        {
            const std::string count = text.substr(colon + 1);
            const bool digits = !count.empty() && count.size() < 4 &&
                                std::all_of(count.begin(), count.end(), [](unsigned char c) {
                                    return std::isdigit(c);
                                });
            host.ranks = digits ? static_cast<uint32_t>(std::stoul(count)) : 0;
            if (host.ranks < 1 || host.ranks > MOST_RANKS)
            {
                return rdma::Shown(text, 100) + ": ranks of a host are 1 to " +
                       std::to_string(MOST_RANKS);
            }
        }
        if (!names.insert(host.name).second)
        {
            return host.name + " is there twice; allowed: once, with all its ranks: " + host.name +
                   ":2";
        }
        hosts->push_back(std::move(host));
    }
    return "";
}

uint32_t
RanksOf(const std::vector<MpiHost>& hosts)
{
    return std::accumulate(hosts.begin(), hosts.end(), 0U, [](uint32_t sum, const MpiHost& host) {
        return sum + std::max(host.ranks, 1U);
    });
}

std::string
SpreadRanks(uint32_t ranks, std::vector<MpiHost>* hosts)
{
    const auto said = static_cast<std::size_t>(
        std::count_if(hosts->begin(), hosts->end(), [](const MpiHost& host) {
            return host.ranks != 0;
        }));
    const auto count = static_cast<uint32_t>(hosts->size());
    if (said != 0 && said != count)
    {
        return "some hosts have a number of ranks; allowed: all, or none";
    }
    if (said != 0)
    {
        return RanksOf(*hosts) == ranks ? ""
                                        : "hosts have " + std::to_string(RanksOf(*hosts)) +
                                              " ranks together, and " + std::to_string(ranks) +
                                              " are asked for; allowed: one of the two, or the "
                                              "same number";
    }
    if (count > ranks)
    {
        return std::to_string(count) + " hosts for " + std::to_string(ranks) +
               (ranks == 1 ? " process" : " processes") + "; allowed: no more hosts than processes";
    }
    for (uint32_t i = 0; i < count; ++i)
    {
        (*hosts)[i].ranks = ranks / count + (i < ranks % count ? 1 : 0);
    }
    return "";
}

std::string
HostList(const std::vector<MpiHost>& hosts)
{
    std::string list;
    for (const MpiHost& host : hosts)
    {
        list += (list.empty() ? "" : ",") + host.name + ":" + std::to_string(host.ranks);
    }
    return list;
}

std::string
HostText(const std::vector<MpiHost>& hosts)
{
    std::string text;
    for (std::size_t i = 0; i < hosts.size(); ++i)
    {
        text += (i == 0                  ? ""
                 : i + 1 == hosts.size() ? " and "
                                         : ", ") +
                hosts[i].name + " (" + std::to_string(hosts[i].ranks) + ")";
    }
    return text;
}

std::string
RanksText(const std::vector<MpiHost>& hosts, const std::string& name)
{
    uint32_t first = 0;
    for (const MpiHost& host : hosts)
    {
        // A daemon of MPI calls its host by the short name.
        const std::string bare = host.name.substr(host.name.find('@') + 1);
        if (bare == name || bare.substr(0, bare.find('.')) == name)
        {
            const uint32_t last = first + host.ranks - 1;
            return last == first
                       ? "rank " + std::to_string(first)
                       : "ranks " + std::to_string(first) + (last == first + 1 ? " and " : " to ") +
                             std::to_string(last);
        }
        first += host.ranks;
    }
    return "";
}

Allocation
FindAllocation()
{
    Allocation found;
    found.job = Environment("SLURM_JOB_ID");
    const std::string tasks = Environment("SLURM_STEP_NUM_TASKS");
    if (found.job.empty() || (!tasks.empty() && tasks != "1"))
    {
        return {};
    }
    const int nodes = std::atoi(Environment("SLURM_JOB_NUM_NODES").c_str());
    found.nodes = nodes > 1 ? static_cast<uint32_t>(nodes) : 0;
    return found;
}

std::string
NodesOf(const Allocation& allocation, std::vector<MpiHost>* nodes)
{
    const std::string list = Environment("SLURM_JOB_NODELIST");
    std::FILE* const pipe =
        ::popen(("scontrol show hostnames " + QuotedForShell(list) + " 2>/dev/null").c_str(), "r");
    char line[1024];
    while (pipe && std::fgets(line, sizeof line, pipe))
    {
        const std::string name(line, std::strcspn(line, "\n"));
        if (IsHostName(name))
        {
            nodes->push_back({name, 0});
        }
    }
    if (!pipe || ::pclose(pipe) != 0 || nodes->size() != allocation.nodes)
    {
        return "scontrol does not tell the nodes of Slurm's job " + allocation.job;
    }
    return "";
}

bool
IsThisMachine(const std::string& host)
{
    const std::string bare = host.substr(host.find('@') + 1);
    char own[256] = {};
    ::gethostname(own, sizeof own - 1);
    if (bare == own || bare == "localhost")
    {
        return true;
    }
    addrinfo* found = nullptr;
    ifaddrs* interfaces = nullptr;
    addrinfo hints{};
    hints.ai_family = AF_INET;
    if (::getaddrinfo(bare.c_str(), nullptr, &hints, &found) != 0)
    {
        return false;
    }
    bool same = false;
    if (::getifaddrs(&interfaces) == 0)
    {
        for (const ifaddrs* one = interfaces; one; one = one->ifa_next)
        {
            for (const addrinfo* at = found; at; at = at->ai_next)
            {
                same |= one->ifa_addr && one->ifa_addr->sa_family == AF_INET &&
                        reinterpret_cast<const sockaddr_in*>(one->ifa_addr)->sin_addr.s_addr ==
                            reinterpret_cast<const sockaddr_in*>(at->ai_addr)->sin_addr.s_addr;
            }
        }
        ::freeifaddrs(interfaces);
    }
    ::freeaddrinfo(found);
    return same;
}

std::vector<std::string>
ScriptOnHost(const std::string& host, bool allocated, const std::string& script)
{
    if (allocated)
    {
        return {"srun",
                "--overlap",
                "--nodes=1",
                "--ntasks=1",
                "--quiet",
                "--unbuffered",
                "--mem=0",
                "--nodelist=" + host,
                "sh",
                "-c",
                script};
    }
    std::vector<std::string> words =
        boost::program_options::split_unix(Environment("OMPI_MCA_plm_rsh_agent"));
    if (words.empty())
    {
        words = {"ssh"};
    }
    if (std::filesystem::path(words[0]).filename() == "ssh")
    {
        for (const char* setting : {"BatchMode=yes", // asks for no password
                                    "ConnectTimeout=10",
                                    // A host without power answers nothing: it is lost after 6 s.
                                    "ServerAliveInterval=2",
                                    "ServerAliveCountMax=3"})
        {
            words.insert(words.end(), {"-o", setting});
        }
    }
    words.push_back(host);
    words.push_back("sh -c " + QuotedForShell(script)); // whatever shell the user has there
    return words;
}

std::string
QuotedForShell(const std::string& word)
{
    std::string quoted = "'";
    for (const char c : word)
    {
        quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
    }
    return quoted + "'";
}

} // namespace scenario
