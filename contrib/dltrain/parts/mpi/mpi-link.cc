/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * The part "mpi".
 */
#include "contrib/dltrain/ranks/rank-link.h"
#include "contrib/rdma/mpi/rdma-mpi.h"

#include "ns3/abort.h"
#include "ns3/mpi-interface.h"

#include <algorithm>
#include <mpi.h>
#include <type_traits>

namespace dltrain
{

namespace
{

/// MPI counts in int.
constexpr std::size_t PIECE = std::size_t{1} << 30;

class MpiLink : public RankLink
{
  public:
    void Begin(int& argc, char**& argv, bool ns3) override
    {
        m_ofNs3 = ns3;
        if (m_ofNs3)
        {
            ns3::MpiInterface::Enable(&argc, &argv);
        }
        else
        {
            int provided; // by one thread alone: whichever MPI there is can do that
            MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);
        }
        MPI_Comm_rank(MPI_COMM_WORLD, &m_rank);
        MPI_Comm_size(MPI_COMM_WORLD, &m_size);
        MPI_Comm_dup(MPI_COMM_WORLD, &m_communicator);
    }

    void End() override
    {
        MPI_Comm_free(&m_communicator); // is MPI_COMM_NULL then
        if (m_ofNs3)
        {
            ns3::MpiInterface::Disable();
        }
        else
        {
            MPI_Finalize();
        }
    }

    bool IsOpen() const override
    {
        return m_communicator != MPI_COMM_NULL;
    }

    uint32_t Rank() const override
    {
        return static_cast<uint32_t>(m_rank);
    }

    uint32_t Size() const override
    {
        return static_cast<uint32_t>(m_size);
    }

    void SendText(const std::string& text, uint32_t to) override
    {
        const int peer = static_cast<int>(to);
        const uint64_t size = text.size();
        MPI_Send(&size, 1, MPI_UINT64_T, peer, TEXT, m_communicator);
        for (std::size_t at = 0; at < text.size(); at += PIECE)
        {
            const int count = static_cast<int>(std::min(PIECE, text.size() - at));
            MPI_Send(text.data() + at, count, MPI_BYTE, peer, TEXT, m_communicator);
        }
    }

    std::string ReceiveText(uint32_t from) override
    {
        const int peer = static_cast<int>(from);
        uint64_t size = 0;
        MPI_Recv(&size, 1, MPI_UINT64_T, peer, TEXT, m_communicator, MPI_STATUS_IGNORE);
        std::string text(size, '\0');
        for (std::size_t at = 0; at < text.size(); at += PIECE)
        {
            const int count = static_cast<int>(std::min(PIECE, text.size() - at));
            MPI_Recv(text.data() + at,
                     count,
                     MPI_BYTE,
                     peer,
                     TEXT,
                     m_communicator,
                     MPI_STATUS_IGNORE);
        }
        return text;
    }

    void Exchange(const std::vector<std::vector<uint8_t>>& to,
                  std::vector<std::vector<uint8_t>>& from) override
    {
        // Messages to one process arrive in order, so one window's cannot be taken for another's.
        std::vector<MPI_Request> sent;
        for (int rank = 0; rank < m_size; ++rank)
        {
            if (rank != m_rank)
            {
                NS_ABORT_MSG_IF(to[rank].size() > INT32_MAX,
                                "more than 2 GiB for another process in one window");
                MPI_Isend(to[rank].data(),
                          static_cast<int>(to[rank].size()),
                          MPI_BYTE,
                          rank,
                          FRAMES,
                          m_communicator,
                          &sent.emplace_back());
            }
        }
        for (int rank = 0; rank < m_size; ++rank)
        {
            if (rank == m_rank)
            {
                continue;
            }
            MPI_Message message;
            MPI_Status status;
            int size = 0;
            MPI_Mprobe(rank, FRAMES, m_communicator, &message, &status);
            MPI_Get_count(&status, MPI_BYTE, &size);
            from[rank].resize(static_cast<std::size_t>(size));
            MPI_Mrecv(from[rank].data(), size, MPI_BYTE, &message, MPI_STATUS_IGNORE);
        }
        MPI_Waitall(static_cast<int>(sent.size()), sent.data(), MPI_STATUSES_IGNORE);
    }

    uint64_t Sum(uint64_t value) override
    {
        return Reduce(value, MPI_UINT64_T, MPI_SUM);
    }

    double Sum(double value) override
    {
        return Reduce(value, MPI_DOUBLE, MPI_SUM);
    }

    int64_t Max(int64_t value) override
    {
        return Reduce(value, MPI_INT64_T, MPI_MAX);
    }

    double Max(double value) override
    {
        return Reduce(value, MPI_DOUBLE, MPI_MAX);
    }

    std::string Connect(ns3::RdmaFabric& fabric) override
    {
        return ns3::ConnectRanksByMpi(fabric);
    }

  private:
    static constexpr int TEXT = 0; // tags
    static constexpr int FRAMES = 1;

    template <class T>
    T Reduce(T value, MPI_Datatype type, MPI_Op op)
    {
        T result{};
        MPI_Allreduce(&value, &result, 1, type, op, m_communicator);
        return result;
    }

    MPI_Comm m_communicator = MPI_COMM_NULL; //!< our own: ns-3's has receives pending
    bool m_ofNs3 = false;                    //!< ns-3 has initialized MPI, and ends it
    int m_rank = 0;
    int m_size = 1;
};

const Part<RankLink>::Registered<MpiLink> g_part;

} // namespace

} // namespace dltrain
