/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "ranks.h"

#include "scenarios/spec/launcher.h"

#include "ns3/abort.h"
#include "ns3/mpi-interface.h"
#include "ns3/node-windows.h"

#include <algorithm>
#include <exception>
#include <mpi.h>
#include <stdexcept>
#include <string>
#include <type_traits>

namespace dltrain
{

namespace
{

MPI_Comm g_communicator = MPI_COMM_NULL; //!< our own: ns-3's has receives pending
bool g_ofNs3 = false;                    //!< ns-3 has initialized MPI, and ends it
bool g_hostsTogether = false;

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
    g_ofNs3 = !windows;
    if (g_ofNs3)
    {
        ns3::MpiInterface::Enable(&argc, &argv);
    }
    else
    {
        int provided; // by one thread alone: whichever MPI there is can do that
        MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);
    }
    int rank;
    int size;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (static_cast<uint32_t>(size) != launcher.ranks ||
        static_cast<uint32_t>(rank) != launcher.rank)
    {
        throw std::runtime_error(
            "the environment tells of process " + std::to_string(launcher.rank) + " of " +
            std::to_string(launcher.ranks) + ", and MPI of process " + std::to_string(rank) +
            " of " + std::to_string(size) +
            ": start it by the mpirun of the MPI that it was built with (--mpi-ranks does), or "
            "without variables like OMPI_COMM_WORLD_SIZE and PMI_SIZE");
    }
    Ranks& ranks = Get();
    ranks.m_rank = static_cast<uint32_t>(rank);
    ranks.m_size = static_cast<uint32_t>(size);
    MPI_Comm_dup(MPI_COMM_WORLD, &g_communicator);
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
    if (g_communicator != MPI_COMM_NULL)
    {
        MPI_Comm_free(&g_communicator); // is MPI_COMM_NULL then
        if (g_ofNs3)
        {
            ns3::MpiInterface::Disable();
        }
        else
        {
            MPI_Finalize();
        }
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
    if (!Several())
    {
        return all;
    }
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

void
Ranks::Exchange(const std::vector<std::vector<uint8_t>>& to,
                std::vector<std::vector<uint8_t>>& from) const
{
    constexpr int TAG = 1; // texts have 0
    // What goes to one process arrives in order, so a window's cannot be taken for another's.
    std::vector<MPI_Request> sent;
    for (uint32_t rank = 0; rank < m_size; ++rank)
    {
        if (rank != m_rank)
        {
            NS_ABORT_MSG_IF(to[rank].size() > INT32_MAX,
                            "more than 2 GiB for another process in one window");
            MPI_Isend(to[rank].data(),
                      static_cast<int>(to[rank].size()),
                      MPI_BYTE,
                      static_cast<int>(rank),
                      TAG,
                      g_communicator,
                      &sent.emplace_back());
        }
    }
    for (uint32_t rank = 0; rank < m_size; ++rank)
    {
        if (rank == m_rank)
        {
            continue;
        }
        MPI_Message message;
        MPI_Status status;
        int size = 0;
        MPI_Mprobe(static_cast<int>(rank), TAG, g_communicator, &message, &status);
        MPI_Get_count(&status, MPI_BYTE, &size);
        from[rank].resize(static_cast<std::size_t>(size));
        MPI_Mrecv(from[rank].data(), size, MPI_BYTE, &message, MPI_STATUS_IGNORE);
    }
    MPI_Waitall(static_cast<int>(sent.size()), sent.data(), MPI_STATUSES_IGNORE);
}

template <class T>
T
Ranks::Sum(T value) const
{
    return Several() ? Reduce(value, MPI_SUM) : value;
}

template <class T>
T
Ranks::Max(T value) const
{
    return Several() ? Reduce(value, MPI_MAX) : value;
}

template uint64_t Ranks::Sum(uint64_t value) const;
template double Ranks::Sum(double value) const;
template int64_t Ranks::Max(int64_t value) const;
template double Ranks::Max(double value) const;

} // namespace dltrain
