/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef DLTRAIN_RANK_LINK_H
#define DLTRAIN_RANK_LINK_H

#include "part.h"

#include <cstdint>
#include <string>
#include <vector>

namespace ns3
{
class RdmaFabric;
}

namespace dltrain
{

/// The communication of processes: MPI. Ranks uses it.
class RankLink
{
  public:
    static constexpr const char* PART = "mpi";

    virtual ~RankLink() = default;

    /// \param ns3 by ns-3's MpiInterface, which its own engine needs
    virtual void Begin(int& argc, char**& argv, bool ns3) = 0;
    virtual void End() = 0;
    /// \return whether Begin was called, and End was not
    virtual bool IsOpen() const = 0;
    /// \pre IsOpen(), as of all that follow
    virtual uint32_t Rank() const = 0;
    virtual uint32_t Size() const = 0;

    virtual void SendText(const std::string& text, uint32_t to) = 0;
    virtual std::string ReceiveText(uint32_t from) = 0;
    /// As ns3::NodeWindowRanks::Transport has it.
    virtual void Exchange(const std::vector<std::vector<uint8_t>>& to,
                          std::vector<std::vector<uint8_t>>& from) = 0;

    /// \return everywhere the sum, or the largest
    virtual uint64_t Sum(uint64_t value) = 0;
    virtual double Sum(double value) = 0;
    virtual int64_t Max(int64_t value) = 0;
    virtual double Max(double value) = 0;

    /// Connects the fabric's gateways by ns-3's MpiInterface. \return the problem, or nothing
    virtual std::string Connect(ns3::RdmaFabric& fabric) = 0;
};

template <>
RankLink*& Part<RankLink>::Current();

} // namespace dltrain

#endif /* DLTRAIN_RANK_LINK_H */
