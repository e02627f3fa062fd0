/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "ranks.h"

#include "scenarios/spec/launcher.h"

#include "ns3/mpi-interface.h"

#include <algorithm>
#include <mpi.h>
#include <type_traits>

namespace dltrain
{

namespace
{

MPI_Comm g_communicator = MPI_COMM_NULL; //!< our own: ns-3's has receives pending

/// MPI counts in int.
constexpr std::size_t PIECE = std::size_t{1} << 30;

void
SendText(const std::string& text, int to)
{
    const uint64_t size = text.size();
    MPI_Send(&size, 1, MPI_UINT64_T, to, 0, g_communicator);
    for (std::size_t at = 0; at < text.size(); at += PIECE)
    {
        const int count = static_cast<int>(std::min(PIECE, text.size() - at));
        MPI_Send(text.data() + at, count, MPI_BYTE, to, 0, g_communicator);
    }
}

std::string
ReceiveText(int from)
{
    uint64_t size = 0;
    MPI_Recv(&size, 1, MPI_UINT64_T, from, 0, g_communicator, MPI_STATUS_IGNORE);
    std::string text(size, '\0');
    for (std::size_t at = 0; at < text.size(); at += PIECE)
    {
        const int count = static_cast<int>(std::min(PIECE, text.size() - at));
        MPI_Recv(text.data() + at, count, MPI_BYTE, from, 0, g_communicator, MPI_STATUS_IGNORE);
    }
    return text;
}

template <class T>
T
Reduce(T value, MPI_Op op)
{
    if (g_communicator == MPI_COMM_NULL)
    {
        return value;
    }
    const MPI_Datatype type = std::is_floating_point_v<T> ? MPI_DOUBLE
                              : std::is_signed_v<T>       ? MPI_INT64_T
                                                          : MPI_UINT64_T;
    T result{};
    MPI_Allreduce(&value, &result, 1, type, op, g_communicator);
    return result;
}

} // namespace

Ranks&
Ranks::Get()
{
    static Ranks ranks;
    return ranks;
}

Ranks::Session::Session(int& argc, char**& argv)
{
    if (!scenario::FindLauncher().Several())
    {
        return;
    }
    ns3::MpiInterface::Enable(&argc, &argv);
    Ranks& ranks = Get();
    ranks.m_rank = ns3::MpiInterface::GetSystemId();
    ranks.m_size = ns3::MpiInterface::GetSize();
    MPI_Comm_dup(MPI_COMM_WORLD, &g_communicator);
}

Ranks::Session::~Session()
{
    Leave();
}

void
Ranks::Leave()
{
    if (g_communicator != MPI_COMM_NULL)
    {
        MPI_Comm_free(&g_communicator); // is MPI_COMM_NULL then
        ns3::MpiInterface::Disable();
    }
}

std::vector<std::string>
Ranks::Gather(const std::string& text) const
{
    if (!IsFirst())
    {
        SendText(text, 0);
        return {};
    }
    std::vector<std::string> all{text};
    for (uint32_t rank = 1; rank < m_size; ++rank)
    {
        all.push_back(ReceiveText(static_cast<int>(rank)));
    }
    return all;
}

std::vector<std::string>
Ranks::Share(const std::string& text) const
{
    std::vector<std::string> all = Gather(text);
    if (IsFirst())
    {
        for (uint32_t rank = 1; rank < m_size; ++rank)
        {
            for (const std::string& one : all)
            {
                SendText(one, static_cast<int>(rank));
            }
        }
        return all;
    }
    for (uint32_t rank = 0; rank < m_size; ++rank)
    {
        all.push_back(ReceiveText(0));
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

template <class T>
T
Ranks::Sum(T value) const
{
    return Reduce(value, MPI_SUM);
}

template <class T>
T
Ranks::Max(T value) const
{
    return Reduce(value, MPI_MAX);
}

template uint64_t Ranks::Sum(uint64_t value) const;
template double Ranks::Sum(double value) const;
template int64_t Ranks::Max(int64_t value) const;
template double Ranks::Max(double value) const;

} // namespace dltrain
