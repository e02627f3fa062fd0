/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Congestion controls that compare what the switches of a packet's way say with what they said to
 * the packet before. If packets of a connection go several ways that is of other switches, and says
 * nothing. Each such law's header says it of itself:
 *
 *   inline const ComparesHops kHpccComparesHops{"hpcc"};
 */
#ifndef RDMA_CORE_HOP_COMPARISON_H
#define RDMA_CORE_HOP_COMPARISON_H

#include <set>
#include <string>
#include <utility>

namespace rdma
{

/// Makes it known of a congestion control while it lives.
class ComparesHops
{
  public:
    explicit ComparesHops(std::string control)
        : m_control(std::move(control))
    {
        All().insert(m_control);
    }

    ComparesHops(const ComparesHops&) = delete;
    ComparesHops& operator=(const ComparesHops&) = delete;

    ~ComparesHops()
    {
        All().erase(m_control);
    }

    /// \return whether the congestion control of this name does
    static bool Is(const std::string& control)
    {
        return All().count(control) > 0;
    }

  private:
    static std::set<std::string>& All()
    {
        // Never destroyed: laws of several shared libraries leave it, in whatever order these end.
        static auto& all = *new std::set<std::string>;
        return all;
    }

    std::string m_control;
};

} // namespace rdma

#endif // RDMA_CORE_HOP_COMPARISON_H
