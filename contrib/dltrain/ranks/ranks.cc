/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "ranks.h"

#include "rank-link.h"
#include "scenarios/asked/run.h"
#include "scenarios/launch/launcher.h"
#include "scenarios/options/member.h"

#include "ns3/node-windows.h"

#include <exception>
#include <stdexcept>
#include <string>

namespace dltrain
{

namespace
{

bool g_hostsTogether = false;

} // namespace

Ranks&
Ranks::Get()
{
    static Ranks ranks;
    return ranks;
}

const Ranks&
Ranks::OfHosts()
{
    static const Ranks alone = [] {
        Ranks ranks;
        ranks.m_rank = Get().m_rank;
        return ranks;
    }();
    return g_hostsTogether ? alone : Get();
}

void
Ranks::KeepHostsTogether()
{
    g_hostsTogether = Get().Several();
}

ns3::NodeWindowRanks*
Ranks::OfWindows()
{
    const ns3::NodeWindows* windows = ns3::NodeWindows::Active();
    return windows ? windows->GetRanks() : nullptr;
}

bool
Ranks::HasHosts()
{
    return !g_hostsTogether || Get().IsFirst();
}

Ranks::Session::Session(int& argc, char**& argv, bool windows)
    : m_exceptions(std::uncaught_exceptions())
{
    const scenario::Launcher launcher = scenario::FindLauncher();
    if (!launcher.Several())
    {
        return;
    }
    RankLink& link = Part<RankLink>::Get();
    link.Begin(argc, argv, !windows);
    const uint32_t rank = link.Rank();
    const uint32_t size = link.Size();
    if (size != launcher.ranks || rank != launcher.rank)
    {
        throw std::runtime_error("the environment tells of process " +
                                 std::to_string(launcher.rank) + " of " +
                                 std::to_string(launcher.ranks) + ", and MPI of process " +
                                 std::to_string(rank) + " of " + std::to_string(size) +

                                 ": start it by the mpirun of the MPI that it was built with (" +
                                 scenario::Spell(&scenario::asked::Run::mpiRanks) +
                                 " does), or "
                                 "without variables like OMPI_COMM_WORLD_SIZE and PMI_SIZE");
    }
    Ranks& ranks = Get();
    ranks.m_rank = rank;
    ranks.m_size = size;
}

Ranks::Session::~Session()
{
    if (std::uncaught_exceptions() == m_exceptions)
    {
        Leave();
    }
}

void
Ranks::Leave()
{
    if (Part<RankLink>::IsLoaded() && Part<RankLink>::Get().IsOpen())
    {
        Part<RankLink>::Get().End();
    }
}

std::vector<std::string>
Ranks::Gather(const std::string& text) const
{
    if (!Several())
    {
        return {text};
    }
    if (!IsFirst())
    {
        Part<RankLink>::Get().SendText(text, 0);
        return {};
    }
    RankLink& link = Part<RankLink>::Get();
    std::vector<std::string> all{text};
    for (uint32_t rank = 1; rank < m_size; ++rank)
    {
        all.push_back(link.ReceiveText(rank));
    }
    return all;
}

std::vector<std::string>
Ranks::Share(const std::string& text) const
{
    std::vector<std::string> all = Gather(text);
    if (!Several())
    {
        return all;
    }
    RankLink& link = Part<RankLink>::Get();
    if (IsFirst())
    {
        for (uint32_t rank = 1; rank < m_size; ++rank)
        {
            for (const std::string& one : all)
            {
                link.SendText(one, rank);
            }
        }
        return all;
    }
    for (uint32_t rank = 0; rank < m_size; ++rank)
    {
        all.push_back(link.ReceiveText(0));
    }
    return all;
}

std::string
Ranks::FirstText(const std::string& text) const
{
    for (const std::string& one : Share(text))
    {
        if (!one.empty())
        {
            return one;
        }
    }
    return {};
}

void
Ranks::Exchange(const std::vector<std::vector<uint8_t>>& to,
                std::vector<std::vector<uint8_t>>& from) const
{
    Part<RankLink>::Get().Exchange(to, from);
}

template <class T>
T
Ranks::Sum(T value) const
{
    return Several() ? Part<RankLink>::Get().Sum(value) : value;
}

template <class T>
T
Ranks::Max(T value) const
{
    return Several() ? Part<RankLink>::Get().Max(value) : value;
}

template uint64_t Ranks::Sum(uint64_t value) const;
template double Ranks::Sum(double value) const;
template int64_t Ranks::Max(int64_t value) const;
template double Ranks::Max(double value) const;

} // namespace dltrain
